//! `stead do`: builds requests from the action tables, sends them, waits, and renders the responses. Order:
//! `command_line` parses the arguments, `target` finds the object, `request` builds the request, `send` sends it,
//! `wait` waits until the action is complete, and `output` prints or stores the response.

pub(super) mod command_line;
pub(super) mod documents;
pub(super) mod invocation;
pub(super) mod kubeconfig;
pub(super) mod output;
pub(super) mod parameters;
pub(super) mod registry;
pub(super) mod request;
pub(super) mod send;
pub(super) mod target;
pub(super) mod wait;
