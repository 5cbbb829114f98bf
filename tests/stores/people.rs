//! Who opens ledgers in tests, and whose they are.

use std::cell::Cell;
use std::time::Duration;

use jiff::Timestamp;
use stead::ledger::state::entry::LedgerIdentity;
use stead::ledger::state::holder::LeaseHolder;
use stead::model::clock::Clock;
use stead::model::values::secret::FingerprintKey;
use uuid::Uuid;

/// A clock that stands still until someone waits.
#[derive(Debug, Default)]
pub struct TestClock(Cell<Duration>);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn elapsed(&self) -> Duration {
        self.0.get()
    }

    async fn sleep(&self, duration: Duration) {
        self.0.set(self.0.get() + duration);
        tokio::task::yield_now().await;
    }
}

pub fn holder(session: u128) -> LeaseHolder {
    LeaseHolder {
        session: Uuid::from_u128(session << 16),
        who: "ada@host".to_owned(),
        process: None,
        since: "2026-11-21T12:00:00Z".parse().unwrap(),
    }
}

pub fn identity() -> LedgerIdentity {
    LedgerIdentity {
        lineage: Uuid::from_u128(7),
        stack: "shop".into(),
        environment: "prod".into(),
        account: None,
        key: FingerprintKey([7; 32]),
    }
}
