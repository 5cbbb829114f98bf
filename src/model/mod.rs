//! The vocabulary of the program: pure types that every other layer uses.

pub mod address;
pub mod budget;
pub mod catalog;
pub mod cel;
pub mod clock;
pub mod derived;
pub mod diagnostic;
pub mod digest;
pub mod evaluate;
pub mod expression;
pub mod graph;
pub mod hex;
pub mod meaning;
pub mod page;
pub mod reading;
pub mod recipient;
pub mod redact;
pub mod roots;
pub mod schema;
pub mod secret;
pub mod secret_look;
pub mod snapshot;
pub mod source;
pub mod value;
