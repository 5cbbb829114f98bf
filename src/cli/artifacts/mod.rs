//! Files that commands write: plans, reports, drift history and templates.

pub(super) mod ci_templates;
pub(super) mod drift_history;
pub(super) mod plan_file;
pub(super) mod report_files;
pub mod templates;
