//! File access: stack files, atomic writes, watching, Git metadata, and an overlay for edited files.

pub(super) mod file_watcher;
pub(super) mod git_ignored;
pub(super) mod git_origin;
pub(super) mod output_path;
pub(super) mod overlay_fs;
pub(super) mod stack_files;
pub(super) mod write_files;
