//! Values of attributes: plain values, secrets, and values that are derived from secrets. The three types contain each
//! other, so their modules and the one that reads a value are one recursion, and stand alone in this folder.

pub mod derived;
pub mod secret;
pub mod value;
mod value_visitor;
