//! The application platform: apps, their deployments, previews, links, domains and jobs, and functions. Path
//! parameters take an app's id or short id.

pub(super) mod actions;
pub(super) mod app;
pub(super) mod database_link;
pub(super) mod deployment;
pub(super) mod domain;
pub(super) mod events;
pub(super) mod function;
pub(super) mod input;
pub(super) mod job_run;
pub(super) mod options;
pub(super) mod preview;
pub(super) mod scaling;
pub(super) mod upload;
pub(super) mod usage;
