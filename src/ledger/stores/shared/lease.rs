//! `Lease`: who may write a shared ledger, and when another may take its place. Pure.
//!
//! A holder renews its lease while it works. Whoever finds it takes over when the holder gave it back,
//! is proven dead, or let it run out: then its requests may still be under way, and what became of them
//! is asked, never guessed.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ledger::state::holder::{LeaseHolder, ProcessIdentity};

/// How long a lease lasts after its last renewal. Longer than a request and its margin, so that a
/// holder which renews it in time can always send.
pub const LEASE_DURATION: Duration = Duration::from_mins(3);

/// Time between two renewals: two may fail before the lease runs short.
pub const LEASE_RENEWAL_INTERVAL: Duration = Duration::from_mins(1);

/// Who may write a shared ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Counts the takings: what an earlier one writes is refused.
    pub epoch: u64,
    /// Who has it; `None` when it was given back.
    pub holder: Option<LeaseHolder>,
    /// How long it lasts after a renewal.
    pub lasts_seconds: u64,
}

/// What a lease means for someone else who wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseStatus {
    /// Nobody has it.
    Free,
    /// Its holder is proven dead, and sends nothing any more.
    HolderDead,
    /// It ran out, and so did the bound within which a request of its holder could have an effect.
    Expired,
    /// Someone has it for so long at least.
    Held(Duration),
}

/// Judges a lease by its age since the last renewal, which the store's own clock told.
///
/// `effect` is the bound within which a request has its effect. `is_dead` says whether a process is
/// proven dead: one on another machine never is.
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

/// Who holds a ledger, as far as someone who only looks can tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseInfo {
    /// Who.
    pub holder: LeaseHolder,
    /// What that means for someone else who wants it.
    pub standing: LeaseStatus,
    /// How long ago the lease was renewed; `None` where a lock lasts as long as its process.
    pub renewed: Option<Duration>,
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_lease_is_free_dead_run_out_or_held() {
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
