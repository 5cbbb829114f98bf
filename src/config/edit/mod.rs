//! Minimal edits of a file: everything else stays byte for byte as it was.
//!
//! In: a file and the requested edits (`request`). `yaml` and `kdl` find the bytes to replace; `apply` replaces them
//! and parses the result. The invariant: the result means exactly what was requested, or nothing is changed.

mod apply;
mod bracketed_entry;
mod content;
mod instance;
mod kdl;
mod kdl_target;
mod lines;
mod list_entry;
mod literal;
mod overrides;
mod references;
mod refusals;
mod request;
mod yaml;

pub use apply::apply_edits;
pub(super) use apply::read_content;
pub use bracketed_entry::bracketed_entry;
pub use instance::{InstanceKeyPath, InstanceSource, find_instance};
pub use list_entry::{entry_at, has_path};
pub use literal::ConfigLiteral;
pub use overrides::override_path_edits;
pub use refusals::EditError;
pub(super) use refusals::unexpected_result;
pub use request::{Edit, EditPath, EditPathStep, EditableFile};
pub(super) use request::{is_list, is_list_of_texts};

#[cfg(test)]
mod tests;
