//! Configuration phase: source files to a `Stack`. Files are parsed to `Document`s, units are merged, names,
//! variables and expressions are resolved, and the result is checked. All problems are collected before the
//! phase fails, and nothing here reads the service.

pub mod edit;
pub mod load;

pub mod check;
pub mod codes;
pub mod convert;
pub mod diagnostics;
pub mod format;
pub mod input;
pub mod keywords;
mod merge;
pub mod resolve;
pub mod stack;
pub mod syntax;
pub mod test_file;
mod types;
