//! The units of a repository for the commands: finds and loads them, reads each account once, and plans them together.
//! In: the settings of a command and the selection of units. Out: loaded units in order, and plans. One unit's failure
//! never hides that of another: each has its own result.

pub(super) mod accounts;
pub(super) mod blockers;
pub(super) mod edges;
pub(super) mod git;
pub(super) mod loaded_unit;
mod output_readers;
pub(super) mod outputs;
pub(super) mod planned_units;
pub(super) mod planning;
pub(super) mod problems;
mod removed_units;
pub(super) mod review;
pub(super) mod runs;
pub(super) mod unit_outputs;
pub(super) mod units;
