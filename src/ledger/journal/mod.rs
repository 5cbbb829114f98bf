//! The journal: records, their lines, digests and MACs, and the replay that builds a ledger from them. In: records in
//! order. Out: a `OtherLedger`, or the first record that is illegal. Invariant: replay is pure, and the same records
//! give the same ledger.

pub(super) mod chain;
pub(super) mod checkpoint;
pub mod error;
pub(super) mod excerpt;
pub mod handle;
pub mod intent_candidates;
pub mod legal;
pub(super) mod line;
pub mod mac;
pub mod record;
pub mod recovered_facts;
pub mod replay;
pub mod store;
pub mod trail;
