//! What the reports show of many units: the list of `stacks`, and the review of plans and applies with `--all`.

pub mod list;
pub mod review;
