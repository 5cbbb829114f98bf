//! Text to `Stack`: files → `Document` → names, variables and expressions → checks.

pub mod edit;
pub mod load;

pub mod check;
pub mod convert;
pub mod diagnostics;
pub mod format;
pub mod input;
pub mod keywords;
mod merge;
pub mod request;
pub mod resolve;
pub mod stack;
pub mod syntax;
pub mod test_file;
mod types;
