//! Merge phase: blocks of all files of one unit, the selected environment, and its overrides.

pub(super) mod blocks;
pub(super) mod config;
pub(super) mod header;
pub(super) mod overrides;
