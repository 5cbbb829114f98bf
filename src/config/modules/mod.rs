//! Modules: files that are read from elsewhere, directories that are used as blocks, and what they
//! are given and give.

pub(super) mod call;
pub(super) mod gather;
pub(super) mod include;
pub(super) mod inputs;
