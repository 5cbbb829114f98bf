//! One file for each request of the protocol that reads or changes a text, and the descriptions that they share. In: a
//! `Workspace`, a text and a byte offset. Out: the result in the protocol's form.

pub(super) mod code_actions;
pub(super) mod complete;
pub(super) mod describe;
pub(super) mod hover;
pub(super) mod navigate;
pub(super) mod rename;
