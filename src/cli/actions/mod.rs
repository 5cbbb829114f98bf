//! `do`: from the tables' actions to requests, and from answers to what people see.

pub(super) mod answer;
pub(super) mod ask;
pub(super) mod known;
pub(super) mod kubeconfig;
pub(super) mod scene;
pub(super) mod send;
pub(super) mod target;
pub(super) mod values;
pub(super) mod wait;
