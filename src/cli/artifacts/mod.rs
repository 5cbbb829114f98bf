//! Files that commands write: saved plans, reports, drift history, CI pipelines and example stacks. None is needed
//! to apply a stack: the ledger and the secrets have folders of their own.

pub(super) mod ci_templates;
pub(super) mod drift_history;
pub(super) mod plan_file;
pub(super) mod plan_set;
pub(super) mod report_files;
pub(super) mod reviewed_plan;
pub mod templates;
