//! Values of attributes: plain values (`Value`), secrets (`Secret`), and values that are computed from secrets
//! (`DerivedSecret`). The three types contain each other, so their modules and the one that reads a value depend
//! on each other; no module outside of this folder is part of that cycle.

pub mod derived;
pub mod secret;
pub mod value;
mod value_visitor;
