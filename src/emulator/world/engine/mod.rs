//! Tables, messages, time, money and the catalog: the base of all kinds. It does not know `World`, and names kinds only
//! where the catalog has their plans.

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
