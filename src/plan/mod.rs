//! Stack, ledger and snapshot → `Plan`. Pure.

pub mod change;
pub mod make;
