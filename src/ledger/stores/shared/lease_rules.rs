//! Who may take a lease, and what is known of the holder before. Pure.

use std::time::Duration;

use super::super::shared::backend::StoredLease;
use super::super::shared::lease::{LeaseStatus, lease_status};
use crate::ledger::journal::error::StoreError;
use crate::ledger::journal::mac::MacKey;
use crate::ledger::state::entry::LedgerIdentity;
use crate::ledger::state::holder::{LeaseHolder, ProcessIdentity};
use crate::ledger::state::ledger::Ledger;

/// Says whether a lease may be taken; `true`: only because it is forced.
pub(super) fn check_takeable(
    found: Option<&StoredLease>,
    opening: &SharedStoreOptions<'_>,
) -> Result<bool, StoreError> {
    let Some(StoredLease { lease, age, .. }) = found else { return Ok(false) };
    match lease_status(lease, *age, opening.effect, opening.is_dead) {
        LeaseStatus::Held(_) if opening.force.is_some() => Ok(true),
        LeaseStatus::Held(left) => {
            let holder = lease.holder.as_ref().map(LeaseHolder::in_words).unwrap_or_default();
            let left = left.as_secs();
            Err(StoreError::Locked { holder: format!("{holder}; at the latest it runs out in {left} s") })
        }
        LeaseStatus::Free | LeaseStatus::HolderDead | LeaseStatus::Expired => Ok(false),
    }
}

/// Tells whether the last one who wrote the ledger is known to send nothing any more: it said so, gave
/// its own lease back, or is proven dead. A lease that is free says nothing by itself: someone may have
/// taken it over, and given it back before the first line.
pub(super) fn is_silent(
    ledger: &Ledger,
    before: Option<&StoredLease>,
    opening: &SharedStoreOptions<'_>,
) -> bool {
    let Some(holder) = &ledger.holder else { return true };
    let gave_back =
        before.is_some_and(|before| before.lease.holder.is_none() && before.lease.epoch == ledger.epoch);
    gave_back || holder.process.as_ref().is_some_and(opening.is_dead)
}

/// What opening a shared ledger for writing needs to know.
pub struct SharedStoreOptions<'a> {
    /// Whose ledger it is, if it is not there yet; else stack and environment must agree.
    pub identity: &'a LedgerIdentity,
    /// Who opens it.
    pub holder: LeaseHolder,
    /// The bound within which a request of a displaced holder has its effect.
    pub effect: Duration,
    /// Says of a process that it is proven dead.
    pub is_dead: &'a dyn Fn(&ProcessIdentity) -> bool,
    /// Takes the lease from whoever has it, for this reason.
    pub force: Option<&'a str>,
    /// The key that seals it.
    pub seal: Option<&'a MacKey>,
}
