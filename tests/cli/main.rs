//! The real binary, run as a user runs it: stories from an empty directory to a destroyed stack.

mod bad_input;
mod case;
mod change;
mod examples;
mod first_steps;
mod saved;
