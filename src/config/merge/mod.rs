//! Merge phase: blocks of all files of one unit, the selected environment, and its overrides. In: parsed
//! documents; out: entries by keyword and name, which the resolve phase reads. Nothing is evaluated here.

pub(super) mod blocks;
pub(super) mod config;
pub(super) mod header;
pub(super) mod overrides;
