//! `stead do`: builds requests from the action tables, sends them, waits, and renders the responses.

pub(super) mod command_line;
pub(super) mod invocation;
pub(super) mod kubeconfig;
pub(super) mod output;
pub(super) mod parameters;
pub(super) mod registry;
pub(super) mod request;
pub(super) mod send;
pub(super) mod target;
pub(super) mod wait;
