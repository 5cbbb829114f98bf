//! Minimal edits: a file's text and what shall change → the new text, all else byte for byte as it was.
//!
//! `request` says what can be asked for, `yaml` and `kdl` find the bytes to replace, `apply` replaces
//! them and reads the result again: what it then means must be what was asked for, or nothing is done.

mod apply;
mod entry;
mod instance;
mod kdl;
mod lines;
mod literal;
mod meaning;
mod references;
mod refusals;
mod request;
mod settings;
mod yaml;

pub use apply::edit;
pub(super) use apply::meaning;
pub use entry::{entry_at, says};
pub use instance::{Instance, Key, instance};
pub use literal::Literal;
pub use refusals::Refusal;
pub(super) use refusals::unsure;
pub use request::{Edit, File, Path, Step};
pub(super) use request::{is_list, is_list_of_texts};
pub use settings::settings;

#[cfg(test)]
mod tests;
