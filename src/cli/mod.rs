//! The commands: each wires the floors below and prints.

pub mod args;
pub mod consent;
pub mod exit;
pub mod scaffold;
pub mod settings;
pub mod term;
