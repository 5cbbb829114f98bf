//! Tests with repositories that the real Git makes.
#![allow(clippy::disallowed_methods, reason = "builds repositories to compare")]

mod bases;
mod edits;
mod fixture;
mod generated;
mod hostile;
mod layouts;
mod speed;
mod working_tree;
