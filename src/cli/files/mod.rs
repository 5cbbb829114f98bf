//! File access: stack files, atomic writes, watching, Git metadata, and an overlay for edited files. Reads of
//! configuration are confined below a root and never follow links, because the files of a stack may be untrusted;
//! the user's own files may be links. Only these modules call the file system.

pub(super) mod file_watcher;
pub(super) mod git_config;
pub(super) mod git_dir;
pub(super) mod git_ignored;
pub(super) mod git_origin;
pub(super) mod git_refs;
pub(super) mod job_threads;
pub(super) mod output_path;
pub(super) mod overlay_fs;
pub(super) mod recorded_files;
pub(super) mod shell_path;
pub(super) mod stack_files;
pub(super) mod write_files;
