//! Rules for taking a lease: whether it may be taken, and whether the previous holder may still send requests. Pure.

use super::super::shared::backend::StoredLease;
use super::super::shared::lease::{LeaseStatus, lease_status};
use crate::ledger::journal::error::StoreError;
use crate::ledger::state::holder::LeaseHolder;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::stores::open_options::OpenOptions;

/// Checks whether a lease may be taken; `true`: only because it is forced.
pub(super) fn check_takeable(
    found: Option<&StoredLease>,
    opening: &OpenOptions<'_>,
) -> Result<bool, StoreError> {
    let Some(StoredLease { lease, age, .. }) = found else { return Ok(false) };
    match lease_status(lease, *age, opening.effect, opening.is_dead) {
        LeaseStatus::Held(_) if opening.force.is_some() => Ok(true),
        LeaseStatus::Held(left) => {
            let holder = lease.holder.as_ref().map(LeaseHolder::in_words).unwrap_or_default();
            let left = left.as_secs();
            Err(StoreError::Locked {
                holder: format!("{holder}; the lock expires in {left} s at the latest"),
            })
        }
        LeaseStatus::Free | LeaseStatus::HolderDead | LeaseStatus::Expired => Ok(false),
    }
}

/// Returns whether the last writer of the ledger is known to send no more requests: it recorded that, released its own
/// lease, or is proven dead. A free lease alone proves nothing: another process may have taken it over and released it
/// before its first line.
pub(super) fn is_silent(ledger: &Ledger, before: Option<&StoredLease>, opening: &OpenOptions<'_>) -> bool {
    let Some(holder) = &ledger.holder else { return true };
    let gave_back =
        before.is_some_and(|before| before.lease.holder.is_none() && before.lease.epoch == ledger.epoch);
    gave_back || holder.process.as_ref().is_some_and(opening.is_dead)
}
