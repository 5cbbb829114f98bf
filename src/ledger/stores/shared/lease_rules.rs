//! Who may take a lease, and what is known of the holder before. Pure.

use std::time::Duration;

use super::super::shared::backend::Stored;
use super::super::shared::lease::{Standing, lease_status};
use crate::ledger::journal::error::StoreError;
use crate::ledger::journal::mac::SealKey;
use crate::ledger::state::entry::Identity;
use crate::ledger::state::holder::{Holder, Process};
use crate::ledger::state::ledger::Ledger;

/// Says whether a lease may be taken; `true`: only because it is forced.
pub(super) fn check_takeable(found: Option<&Stored>, opening: &Opening<'_>) -> Result<bool, StoreError> {
    let Some(Stored { lease, age, .. }) = found else { return Ok(false) };
    match lease_status(lease, *age, opening.effect, opening.is_dead) {
        Standing::Held(_) if opening.force.is_some() => Ok(true),
        Standing::Held(left) => {
            let holder = lease.holder.as_ref().map(Holder::in_words).unwrap_or_default();
            let left = left.as_secs();
            Err(StoreError::Locked { holder: format!("{holder}; at the latest it runs out in {left} s") })
        }
        Standing::Free | Standing::Dead | Standing::RunOut => Ok(false),
    }
}

/// Tells whether the last one who wrote the ledger is known to send nothing any more: it said so, gave
/// its own lease back, or is proven dead. A lease that is free says nothing by itself: someone may have
/// taken it over, and given it back before the first line.
pub(super) fn is_silent(ledger: &Ledger, before: Option<&Stored>, opening: &Opening<'_>) -> bool {
    let Some(holder) = &ledger.holder else { return true };
    let gave_back =
        before.is_some_and(|before| before.lease.holder.is_none() && before.lease.epoch == ledger.epoch);
    gave_back || holder.process.as_ref().is_some_and(opening.is_dead)
}

/// What opening a shared ledger for writing needs to know.
pub struct Opening<'a> {
    /// Whose ledger it is, if it is not there yet; else stack and environment must agree.
    pub identity: &'a Identity,
    /// Who opens it.
    pub holder: Holder,
    /// The bound within which a request of a displaced holder has its effect.
    pub effect: Duration,
    /// Says of a process that it is proven dead.
    pub is_dead: &'a dyn Fn(&Process) -> bool,
    /// Takes the lease from whoever has it, for this reason.
    pub force: Option<&'a str>,
    /// The key that seals it.
    pub seal: Option<&'a SealKey>,
}
