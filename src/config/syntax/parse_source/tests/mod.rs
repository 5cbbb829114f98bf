//! Tests of both syntaxes, over the one tree that they give.

mod bad;
mod equal;
mod fuzz;
mod kdl;
mod render;
mod scale;
mod table;
mod yaml;
