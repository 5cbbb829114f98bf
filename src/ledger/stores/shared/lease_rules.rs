//! Rules for taking a lease: whether it may be taken, and whether the previous holder may still send requests. Pure.

use std::time::Duration;

use super::super::shared::backend::StoredLease;
use super::super::shared::lease::{LeaseStatus, lease_status};
use crate::ledger::journal::error::StoreError;
use crate::ledger::journal::mac::MacKey;
use crate::ledger::state::entry::LedgerIdentity;
use crate::ledger::state::holder::{LeaseHolder, ProcessIdentity};
use crate::ledger::state::ledger::Ledger;

/// Checks whether a lease may be taken; `true`: only because it is forced.
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

/// The parameters for opening a shared ledger for writing.
pub struct SharedStoreOptions<'a> {
    /// The identity for a new ledger; for an existing one stack and environment must match.
    pub identity: &'a LedgerIdentity,
    /// The holder that opens it.
    pub holder: LeaseHolder,
    /// The maximum time until a request of a displaced holder takes effect.
    pub effect: Duration,
    /// Returns whether a process is proven dead.
    pub is_dead: &'a dyn Fn(&ProcessIdentity) -> bool,
    /// The reason for taking the lease from its holder, if that is requested.
    pub force: Option<&'a str>,
    /// The MAC key of the ledger, if it has one.
    pub seal: Option<&'a MacKey>,
}
