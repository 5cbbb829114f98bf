//! What the reports show of many units: the list of `stacks`, and the review of plans and applies with `--all`.

pub mod accounts;
pub mod drawing;
pub mod graph;
pub mod list;
pub mod matrix;
pub mod review;
pub mod runs;
pub mod title;
pub mod unit_run;
