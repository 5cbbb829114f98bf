//! The types that every other layer uses: addresses, values, expressions, the schema of the kinds, live
//! objects, diagnostics and redaction.
//!
//! Invariant: nothing in here reads files, the environment, the network or the clock; callers pass such input in.

pub mod address;
pub mod budget;
pub mod cel;
pub mod clock;
pub mod crypto;
pub mod diagnostic;
pub mod evaluate;
pub mod expression;
pub mod graph;
pub mod live;
pub mod page;
pub mod redact;
pub mod schema;
pub mod source;
pub mod values;
