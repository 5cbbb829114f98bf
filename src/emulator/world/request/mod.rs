//! One request being handled: who sends it, what it may do, and the state that it changes.

pub(super) mod call;
