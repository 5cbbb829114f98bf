//! The stack of a directory, loaded, and edits of its sources.

pub(super) mod lock_file;
pub(super) mod project;
pub(super) mod rewrite_files;
pub(super) mod secret_values;
pub(super) mod source_archives;
pub(super) mod source_edits;
pub(super) mod unknown_addresses;
