//! One file for each request of the protocol that reads or changes a text.

pub(super) mod code_actions;
pub(super) mod complete;
pub(super) mod describe;
pub(super) mod hover;
pub(super) mod navigate;
pub(super) mod rename;
