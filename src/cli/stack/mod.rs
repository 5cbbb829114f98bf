//! Loads the stack of a directory, and edits its files. `unit_profile` completes its settings, and `project` loads; the edits are made in memory, loaded again,
//! and written only after a prompt.

pub(super) mod lock_file;
pub(super) mod project;
pub(super) mod repository_walk;
pub(super) mod rewrite_files;
pub(super) mod secret_values;
pub(super) mod sink_checks;
pub(super) mod source_archives;
pub(super) mod source_edits;
pub(super) mod unit_header;
pub(super) mod unit_profile;
pub(super) mod unknown_addresses;
