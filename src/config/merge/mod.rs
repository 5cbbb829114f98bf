//! Blocks of all files of one unit joined by name, with the chosen environment and the overrides.

pub(super) mod blocks;
pub(super) mod header;
pub(super) mod overrides;
