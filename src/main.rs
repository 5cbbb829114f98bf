//! The `stead` command.

fn main() {}
