//! The commands: each wires the floors below and prints.
