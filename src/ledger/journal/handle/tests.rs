//! Commits: legal or nothing, durable or poisoned.

use std::rc::Rc;

use futures_util::FutureExt;
use proptest::prelude::*;

use super::*;
use crate::ledger::fixture::*;
use crate::ledger::journal::error::IllegalRecord;
use crate::ledger::journal::record::IntentResolution;
use crate::ledger::journal::replay::apply_record;
use crate::ledger::journal::replay::tests::any_record;
use crate::ledger::stores::memory::{AppendFault, MemoryStore};

/// Runs a future that never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("memory does not wait")
}

fn journal(store: &MemoryStore) -> Journal<&MemoryStore> {
    now(Journal::open(store)).unwrap()
}

#[test]
fn a_commit_is_atomic() {
    let store = MemoryStore::new(&identity());
    let journal = journal(&store);
    let illegal = now(journal.commit(&[create(1, 1, false), bound(1, "x"), bound(1, "y")]));
    let reason = "there is no such open intent";
    assert!(
        matches!(illegal, Err(StoreError::Illegal(IllegalRecord { serial: 4, reason: r })) if r == reason)
    );
    assert_eq!((store.durable_records().len(), journal.ledger().entries.len()), (1, 0));
    now(journal.commit(&[create(1, 1, false), bound(1, "x")])).unwrap();
    assert_eq!((store.durable_records().len(), journal.ledger().entries.len()), (3, 1));
}

/// An answer to an old request is judged by what is open at its address now: a line that no later reader
/// takes must not be written.
#[test]
fn an_illegal_record_is_not_written() {
    let store = MemoryStore::new(&identity());
    let journal = journal(&store);
    let answered = |answer| Record::Answered { op: op(1), answer };
    now(journal.commit(&[create(1, 1, false), answered(IntentResolution::Nothing)])).unwrap();
    now(journal.commit(&[create(2, 1, false)])).unwrap();
    for answer in
        [IntentResolution::Surplus { object: owned("x") }, IntentResolution::Made { object: owned("x") }]
    {
        let refused = now(journal.commit(&[answered(answer)]));
        assert!(matches!(refused, Err(StoreError::Illegal(_))), "{refused:?}");
    }
    assert_eq!(load_ledger(store.durable_records()).unwrap(), *journal.ledger());
    now(journal.commit(&[bound(2, "y")])).unwrap();
}

#[test]
fn a_failed_write_poisons_the_journal() {
    for (fault, durable) in [(AppendFault::BeforeWrite, 1), (AppendFault::AfterWrite, 2)] {
        let store = MemoryStore::new(&identity());
        let journal = journal(&store);
        store.fail_at(0, fault);
        assert!(matches!(now(journal.commit(&[create(1, 1, false)])), Err(StoreError::Io { .. })));
        assert!(journal.ledger().intents.is_empty(), "what is not surely durable is not believed");
        assert!(matches!(now(journal.commit(&[create(2, 2, false)])), Err(StoreError::Poisoned)));
        assert_eq!(store.after_restart().durable_records().len(), durable);
    }
}

/// A store that is slow enough for commits to meet.
struct Slow<'a>(&'a MemoryStore);

impl Store for Slow<'_> {
    async fn load(&self) -> Result<Vec<Record>, StoreError> {
        self.0.load().await
    }

    async fn append(&self, records: &[Record]) -> Result<(), StoreError> {
        tokio::task::yield_now().await;
        self.0.append(records).await
    }
}

#[test]
fn a_commit_dropped_halfway_poisons_the_journal() {
    let store = MemoryStore::new(&identity());
    let journal = Journal::new(Slow(&store), load_ledger(store.durable_records()).unwrap());
    assert!(journal.commit(&[adopted(1, "x")]).now_or_never().is_none());
    assert!(matches!(now(journal.commit(&[adopted(2, "y")])), Err(StoreError::Poisoned)));
    assert!(journal.ledger().entries.is_empty());
}

#[test]
fn a_commit_in_progress_does_not_lose_the_lease() {
    let store = MemoryStore::new(&identity());
    let journal = Journal::new(Slow(&store), load_ledger(store.durable_records()).unwrap());
    let one = [adopted(1, "x")];
    let mut commit = std::pin::pin!(journal.commit(&one));
    assert!((&mut commit).now_or_never().is_none());
    assert_eq!(journal.held_for(), None, "another step's request may leave meanwhile");
    now(commit).unwrap();
}

#[test]
fn a_lease_lost_during_a_commit_stays_lost() {
    let store = MemoryStore::new(&identity());
    let journal = Journal::new(Slow(&store), load_ledger(store.durable_records()).unwrap());
    let one = [adopted(1, "x")];
    let mut commit = std::pin::pin!(journal.commit(&one));
    assert!((&mut commit).now_or_never().is_none());
    now(journal.abandon());
    now(commit).unwrap();
    assert_eq!(journal.held_for(), Some(Duration::ZERO), "its end takes nothing back");
    assert!(matches!(now(journal.commit(&[adopted(2, "y")])), Err(StoreError::Poisoned)));
}

/// A place that is held for a while, lost at once when it is kept, and given back.
#[derive(Default)]
struct Borrowed {
    given_back: Rc<Cell<bool>>,
}

impl Store for Borrowed {
    async fn load(&self) -> Result<Vec<Record>, StoreError> {
        Ok(vec![Record::birth(&identity())])
    }

    async fn append(&self, _records: &[Record]) -> Result<(), StoreError> {
        Ok(())
    }

    fn held_for(&self) -> Option<Duration> {
        Some(Duration::from_mins(3))
    }

    async fn keep_lease(&self) -> StoreError {
        StoreError::Displaced { by: "someone".to_owned() }
    }

    async fn release(&self) -> Result<(), StoreError> {
        self.given_back.set(true);
        Ok(())
    }
}

#[test]
fn after_a_lost_lease_nothing_is_written_or_sent() {
    let journal = now(Journal::open(Borrowed::default())).unwrap();
    assert_eq!(journal.held_for(), Some(Duration::from_mins(3)));
    now(journal.commit(&[create(1, 1, false)])).unwrap();
    assert!(matches!(now(journal.keep_lease()), StoreError::Displaced { .. }));
    assert_eq!(journal.held_for(), Some(Duration::ZERO));
    assert!(matches!(now(journal.commit(&[bound(1, "x")])), Err(StoreError::Poisoned)));
}

#[test]
fn a_closed_journal_releases_its_lease() {
    let store = Borrowed::default();
    let given_back = Rc::clone(&store.given_back);
    now(now(Journal::open(store)).unwrap().close()).unwrap();
    assert!(given_back.get());
}

#[tokio::test]
async fn concurrent_commits_are_serialized() {
    let store = MemoryStore::new(&identity());
    let journal = Journal::open(Slow(&store)).await.unwrap();
    let records: Vec<_> = (0..20).map(|n| adopted(n, "x")).collect();
    let commits = records.iter().map(|record| journal.commit(std::slice::from_ref(record)));
    for result in futures_util::future::join_all(commits).await {
        result.unwrap();
    }
    assert_eq!(store.durable_records()[1..], records[..], "in the order in which they came");
    assert_eq!(*journal.ledger(), load_ledger(store.durable_records()).unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// A commit that is tried on an excerpt of the ledger has the same result as on the whole ledger.
    #[test]
    fn an_excerpt_validates_like_the_whole_ledger(batches in prop::collection::vec(prop::collection::vec(any_record(), 1..4), 0..24)) {
        let store = MemoryStore::new(&identity());
        let journal = journal(&store);
        let mut whole = journal.ledger().clone();
        for batch in batches {
            let mut trial = whole.clone();
            let verdict = batch.iter().try_for_each(|record| apply_record(&mut trial, record));
            match now(journal.commit(&batch)) {
                Ok(()) => {
                    prop_assert_eq!(verdict, Ok(()));
                    whole = trial;
                }
                Err(StoreError::Illegal(illegal)) => prop_assert_eq!(verdict, Err(illegal)),
                Err(error) => prop_assert!(false, "{}", error),
            }
            prop_assert_eq!(&*journal.ledger(), &whole);
        }
        prop_assert_eq!(&load_ledger(store.durable_records()).unwrap(), &whole);
    }
}
