//! Merge phase. In: parsed documents. Out: one set of blocks for each unit, the header, the chosen
//! environment, and documents in which its overrides are applied. Overrides edit documents, so they are
//! applied before the merge borrows them.

pub(super) mod blocks;
pub(super) mod config;
pub(super) mod header;
pub(super) mod overrides;
