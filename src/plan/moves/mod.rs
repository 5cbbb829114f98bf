//! Moves: which entry of the ledger gets which new address. In: the declarations of a stack and the ledger. Out: the
//! resolved moves, or why one is impossible. Invariant: no two entries get one address.

pub mod ledger_moves;
pub(super) mod resolve;
pub mod resolved;
