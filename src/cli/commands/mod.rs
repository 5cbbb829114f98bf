//! One file a command.

pub(super) mod apply;
pub(super) mod completions;
pub(super) mod destroy;
pub(super) mod drift;
pub(super) mod emulator;
pub(super) mod get;
pub(super) mod init;
pub(super) mod login;
pub(super) mod ls;
pub(super) mod plan;
pub(super) mod resolve;
pub(super) mod show;
pub(super) mod validate;
pub(super) mod version;
