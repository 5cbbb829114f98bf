//! Whether a stored ledger is whole: checks of its bytes and of its meaning, repair, export and comparison.

pub mod check_bytes;
pub mod export;
pub(super) mod fragments;
pub mod invariants;
pub mod repair;
pub mod verify;
