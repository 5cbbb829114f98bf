//! Files of a configuration: discovery, includes, units of stack and modules, and directories of sources. In:
//! the stack's own files and access to others; out: parsed documents by unit. Shorthands are expanded here, so
//! that no later phase sees them.

pub(super) mod config_path;
pub mod discovery;
pub mod files;
pub(super) mod gather;
pub(super) mod include;
pub(super) mod list_shorthand;
pub(super) mod nested_children;
pub mod parse_file;
pub(super) mod parsed_files;
pub(super) mod redact_sources;
pub mod request;
pub(super) mod sink_path;
pub mod source_dir;
pub(super) mod source_loader;
