//! Evaluation of `${…}`: CEL with bounds and the language's additional functions.
//!
//! The `cel` crate provides the grammar, the macros and their expansion. This module has its own tree walk, for four
//! reasons: it stops after a fixed number of steps, an unknown is a value, a result that depends on a secret is
//! sensitive, and decimals are exact. It borrows the bound values, so that the cost of an expression depends on the
//! values that it names and not on all bindings. `policy` lists the facts that the condition of a policy can read.

mod access;
mod arithmetic;
mod comparison;
mod derivation;
mod evaluate;
mod evaluation;
mod functions;
mod item;
mod parse;
pub mod policy;
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
