//! Integrity of stored ledgers: checks of bytes and invariants, repair, export and comparison.

pub mod check_bytes;
pub mod export;
pub(super) mod fragments;
pub mod invariants;
pub mod repair;
pub mod verify;
