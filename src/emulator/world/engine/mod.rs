//! Tables, messages, time and money: the base of all kinds. Nothing in this folder names a kind.

pub(super) mod age_order;
pub(super) mod app_sizes;
pub(super) mod billing;
pub(super) mod catalog;
pub(super) mod child_index;
pub(super) mod cron;
pub(super) mod json_writer;
pub(super) mod kubernetes_versions;
pub(super) mod message;
pub(super) mod money;
pub(super) mod monthly_meter;
pub(super) mod request_body;
pub(super) mod status_timeline;
pub(super) mod table;
