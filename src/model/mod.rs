//! The vocabulary of the program: pure types that every other layer uses.

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
