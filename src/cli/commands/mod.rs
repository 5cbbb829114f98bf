//! One file a command.

pub(super) mod act;
pub(super) mod apply;
pub(super) mod catalog;
pub(super) mod completions;
pub(super) mod destroy;
pub(super) mod drift;
pub(super) mod emulator;
pub(super) mod get;
pub(super) mod history;
pub(super) mod import;
pub(super) mod init;
pub(super) mod lock;
pub(super) mod login;
pub(super) mod ls;
pub(super) mod migrate;
pub(super) mod mv;
pub(super) mod plan;
pub(super) mod recover;
pub(super) mod repair;
pub(super) mod resolve;
pub(super) mod rm;
pub(super) mod schema;
pub(super) mod show;
pub(super) mod state;
pub(super) mod validate;
pub(super) mod version;
