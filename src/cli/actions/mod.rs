//! `do`: from the tables' actions to requests, and from answers to what people see.

pub(super) mod invocation;
pub(super) mod kubeconfig;
pub(super) mod output;
pub(super) mod parameters;
pub(super) mod registry;
pub(super) mod request;
pub(super) mod send;
pub(super) mod target;
pub(super) mod wait;
