//! `Lease`: the right to write a shared ledger, and the rules for taking it over. Pure.
//!
//! A holder renews its lease while it works. Another process may take over when the holder released it, is proven dead,
//! or let it expire: in the last case its requests may still be in progress, and their outcome
//! must be resolved, never guessed.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ledger::state::holder::{LeaseHolder, ProcessIdentity};

/// The duration of a lease after its last renewal. Longer than a request and its margin, so that a holder which renews
/// it in time can always send.
pub const LEASE_DURATION: Duration = Duration::from_mins(3);

/// The interval between two renewals: two may fail before the lease is about to expire.
pub const LEASE_RENEWAL_INTERVAL: Duration = Duration::from_mins(1);

/// The right to write a shared ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The fencing token: counts how often the lease was taken; writes with an earlier one are refused.
    pub epoch: u64,
    /// The holder; `None` after a release.
    pub holder: Option<LeaseHolder>,
    /// Seconds for which it is valid after a renewal.
    pub lasts_seconds: u64,
}

/// The status of a lease for another process that requests it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseStatus {
    /// The lease has no holder.
    Free,
    /// Its holder is proven dead and sends no more requests.
    HolderDead,
    /// It expired, and so did the time within which a request of its holder could take effect.
    Expired,
    /// Another process holds it: without a renewal it expires after this duration.
    Held(Duration),
}

/// Classifies a lease by its age since the last renewal, according to the store's own clock.
///
/// `effect` is the maximum time until a request takes effect. `is_dead` returns whether a process is proven dead: one
/// on another machine never is.
pub fn lease_status(
    lease: &Lease,
    age: Duration,
    effect: Duration,
    is_dead: impl FnOnce(&ProcessIdentity) -> bool,
) -> LeaseStatus {
    let Some(holder) = &lease.holder else { return LeaseStatus::Free };
    if holder.process.as_ref().is_some_and(is_dead) {
        return LeaseStatus::HolderDead;
    }
    let end = Duration::from_secs(lease.lasts_seconds) + effect;
    match end.checked_sub(age) {
        None | Some(Duration::ZERO) => LeaseStatus::Expired,
        Some(left) => LeaseStatus::Held(left),
    }
}

/// The holder of a ledger, as far as an inspection shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseInfo {
    /// The holder of the lease or lock.
    pub holder: LeaseHolder,
    /// The status for another process that requests the lease.
    pub standing: LeaseStatus,
    /// The time since the lease was renewed; `None` where a lock lasts as long as its process.
    pub renewed: Option<Duration>,
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_lease_is_free_dead_expired_or_held() {
        let process = ProcessIdentity { boot: "b".into(), namespace: "n".into(), id: 7, started: 1 };
        let holder = |process: Option<ProcessIdentity>| LeaseHolder {
            session: Uuid::nil(),
            who: "ada@host".to_owned(),
            process,
            since: "2026-11-21T12:00:00Z".parse().unwrap(),
        };
        let secs = Duration::from_secs;
        for (holder, age, dead, wanted) in [
            (None, 0, false, LeaseStatus::Free),
            (Some(holder(Some(process.clone()))), 0, true, LeaseStatus::HolderDead),
            (Some(holder(None)), 0, true, LeaseStatus::Held(secs(240))),
            (Some(holder(Some(process.clone()))), 239, false, LeaseStatus::Held(secs(1))),
            (Some(holder(Some(process.clone()))), 240, false, LeaseStatus::Expired),
            (Some(holder(None)), 9_999, false, LeaseStatus::Expired),
        ] {
            let lease = Lease { epoch: 1, holder, lasts_seconds: 180 };
            assert_eq!(lease_status(&lease, secs(age), secs(60), |_| dead), wanted, "{lease:?} {age}");
        }
        let words = holder(Some(process)).in_words();
        assert_eq!(words, "ada@host, process 7, since 2026-11-21 12:00:00 UTC");
    }
}
