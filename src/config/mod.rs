//! Text to `Stack`: files → `Document` → names, variables and expressions → checks.

mod budget;
pub mod document;
pub mod kdl;
pub mod load;
pub mod stack;
pub mod syntax;
pub mod text;
mod unique;
pub mod yaml;
