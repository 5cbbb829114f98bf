//! CEL, bounded: the evaluation of `${…}`, with the language's added functions.
//!
//! Grammar, macros and their expansion are the `cel` crate's. The walk over its tree is our own, for
//! four reasons: it stops after a fixed number of steps, a value that is not known yet is a value, a
//! secret marks whatever it touches, and decimals are exact. It borrows what it reads, so that an
//! expression costs what it names and not what is bound.

mod access;
mod arithmetic;
mod comparison;
mod derivation;
mod evaluate;
mod evaluation;
mod functions;
mod item;
mod parse;
mod reference;
mod scope;
mod walk;

pub use evaluate::evaluate_program;
pub use evaluation::MAX_STEPS;
pub use item::{CelObject, CelValue};
pub use parse::{CelProgram, PathSegment, ReferencePath, SyntaxError};
pub use reference::{CelFunction, FUNCTIONS};
pub use scope::{ExpressionScope, FILES_BINDING, FileReader, bind_path};

#[cfg(test)]
mod law;
#[cfg(test)]
mod tests;
