//! Shared ledgers: taking and losing leases, places that do not keep their word, lost answers.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use futures_util::FutureExt;
use jiff::Timestamp;
use uuid::Uuid;

use super::*;
use crate::ledger::fixture::*;
use crate::ledger::journal::line;
use crate::ledger::state::entry::LedgerIdentity;
use crate::ledger::state::holder::ProcessIdentity;
use crate::ledger::state::run_history::RunOrigin;
use crate::ledger::stores::shared::memory_backend::{BrokenGuarantee, MemoryBackend};

mod interleaved;
mod sealed;

/// Clock that the backend and all holders share. Its time advances when one of them sleeps, at most `naps` times.
#[derive(Clone)]
struct Hand {
    backend: MemoryBackend,
    naps: std::rc::Rc<Cell<usize>>,
}

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + self.elapsed()
    }

    fn elapsed(&self) -> Duration {
        self.backend.0.now.get()
    }

    async fn sleep(&self, duration: Duration) {
        if self.naps.get() == 0 {
            std::future::pending::<()>().await;
        }
        self.naps.set(self.naps.get() - 1);
        self.backend.0.now.set(self.elapsed() + duration);
    }
}

/// What becomes of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Done,
    NoEffect,
    AnswerLost,
    /// Its answer takes ten seconds.
    Slow,
}

/// A backend whose next writes have their fates.
#[derive(Clone, Default)]
struct Lossy {
    inner: MemoryBackend,
    fates: std::rc::Rc<RefCell<VecDeque<Fate>>>,
    /// What the next listings of summaries saw a while ago.
    stale: std::rc::Rc<RefCell<VecDeque<Vec<u64>>>>,
}

impl Lossy {
    fn next(&self, fates: impl IntoIterator<Item = Fate>) {
        self.fates.borrow_mut().extend(fates);
    }

    async fn write<T>(
        &self,
        write: impl Future<Output = Result<T, BackendError>>,
    ) -> Result<T, BackendError> {
        let lost = || BackendError::Failed { action: "write".to_owned(), reason: "no answer".to_owned() };
        let fate = self.fates.borrow_mut().pop_front().unwrap_or(Fate::Done);
        match fate {
            Fate::Done => write.await,
            Fate::NoEffect => Err(lost()),
            Fate::AnswerLost => write.await.and_then(|_| Err(lost())),
            Fate::Slow => {
                let done = write.await;
                let now = &self.inner.0.now;
                now.set(now.get() + Duration::from_secs(10));
                done
            }
        }
    }
}

impl SharedBackend for Lossy {
    fn display_location(&self) -> String {
        self.inner.display_location()
    }

    async fn lease(&self) -> Result<Option<StoredLease>, BackendError> {
        self.inner.lease().await
    }

    async fn put_lease(
        &self,
        lease: &Lease,
        mark: Option<&LeaseVersion>,
    ) -> Result<LeaseVersion, BackendError> {
        self.write(self.inner.put_lease(lease, mark)).await
    }

    async fn lines(&self, after: u64) -> Result<Vec<(u64, Vec<u8>)>, BackendError> {
        self.inner.lines(after).await
    }

    async fn put_line(&self, number: u64, epoch: u64, line: &[u8]) -> Result<(), BackendError> {
        self.write(self.inner.put_line(number, epoch, line)).await
    }

    async fn summaries(&self) -> Result<Vec<u64>, BackendError> {
        let stale = self.stale.borrow_mut().pop_front();
        if let Some(stale) = stale { Ok(stale) } else { self.inner.summaries().await }
    }

    async fn summary(&self, number: u64) -> Result<Option<Vec<u8>>, BackendError> {
        self.inner.summary(number).await
    }

    async fn put_summary(&self, number: u64, summary: &[u8]) -> Result<(), BackendError> {
        self.write(self.inner.put_summary(number, summary)).await
    }

    async fn prune(&self, before: u64) -> Result<(), BackendError> {
        self.write(self.inner.prune(before)).await
    }
}

type Kept = SharedStore<Lossy, Hand>;

/// One backend, and who opens it how.
#[derive(Clone)]
struct World {
    backend: Lossy,
    clock: Hand,
    is_dead: bool,
    force: Option<&'static str>,
}

fn world() -> World {
    let backend = Lossy::default();
    let clock = Hand { backend: backend.inner.clone(), naps: std::rc::Rc::default() };
    World { backend, clock, is_dead: false, force: None }
}

fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("it waits")
}

fn holder(n: u8) -> LeaseHolder {
    let process = ProcessIdentity { boot: "b".into(), namespace: "n".into(), id: n.into(), started: 1 };
    LeaseHolder {
        session: Uuid::from_u128(n.into()),
        who: format!("user{n}@host"),
        process: Some(process),
        since: Timestamp::UNIX_EPOCH,
    }
}

impl World {
    fn try_open(&self, n: u8) -> Result<Kept, StoreError> {
        let opening = OpenOptions {
            seal: None,
            identity: &identity(),
            holder: holder(n),
            effect: Duration::from_mins(1),
            is_dead: &|_| self.is_dead,
            force: self.force,
        };
        now(SharedStore::open(self.backend.clone(), self.clock.clone(), &opening))
    }

    fn open(&self, n: u8) -> Kept {
        self.try_open(n).unwrap_or_else(|error| panic!("{error}"))
    }

    fn pass(&self, seconds: u64) {
        self.clock.backend.0.now.set(self.clock.elapsed() + Duration::from_secs(seconds));
    }

    fn ledger(&self) -> Ledger {
        now(Kept::read(&self.backend, "shop", "prod", None)).unwrap().unwrap()
    }

    fn records(&self) -> Vec<Record> {
        now(SharedStoreContents::read(&self.backend, None)).unwrap().records
    }

    /// Whether the last taker found the one before silent.
    fn was_proven(&self) -> bool {
        let took = |record: &Record| match record {
            Record::Took { proven, .. } => Some(*proven),
            _ => None,
        };
        self.records().iter().rev().find_map(took).unwrap()
    }

    fn lease(&self) -> StoredLease {
        now(self.backend.lease()).unwrap().unwrap()
    }

    fn forcing(&self) -> Self {
        Self { force: Some("the runner is gone"), ..self.clone() }
    }
}

fn begin(n: u8) -> Record {
    Record::Begin {
        run: op(n),
        plan: op(n),
        who: "ada".into(),
        at: Timestamp::UNIX_EPOCH,
        origin: RunOrigin::default(),
    }
}

fn append(store: &Kept, records: &[Record]) -> Result<(), StoreError> {
    now(store.append(records))
}

#[test]
fn a_lease_is_taken_renewed_and_released() {
    let world = world();
    assert!(
        now(Kept::read(&world.backend, "shop", "prod", None)).unwrap().is_none(),
        "reading makes nothing"
    );
    assert_eq!(now(world.backend.lease()).unwrap(), None);
    let one = world.open(1);
    assert_eq!(now(one.load()).unwrap(), vec![Record::Condensed(Box::new(world.ledger()))]);
    append(&one, &[begin(1)]).unwrap();
    let error = world.try_open(2).err().unwrap().to_string();
    assert!(error.contains("user1@host, process 1"), "{error}");
    assert!(error.contains("expires in 240 s"), "{error}");
    now(one.release()).unwrap();
    assert_eq!(one.held_for(), Some(Duration::ZERO));
    assert!(matches!(append(&one, &[begin(2)]), Err(StoreError::Poisoned)), "after the release");

    let two = world.open(2);
    assert!(world.was_proven());
    assert_eq!((world.ledger().epoch, world.ledger().history.len()), (2, 1));
    assert_eq!(world.ledger().holder, Some(holder(2)));
    now(two.release()).unwrap();
    assert_eq!(world.ledger().holder, None);
}

#[test]
fn a_takeover_is_proven_only_if_the_previous_holder_has_ended() {
    type Before = fn(&World, Kept);
    let ran_out: Before = |world, _| world.pass(240);
    let taken_and_given_back: Before = |world, _| {
        // The second one takes the lease and fails before its first line.
        world.pass(240);
        let strange = LedgerIdentity { stack: "other".into(), ..identity() };
        let opening = OpenOptions {
            seal: None,
            identity: &strange,
            holder: holder(9),
            effect: Duration::ZERO,
            is_dead: &|_| false,
            force: None,
        };
        let opened = now(SharedStore::open(world.backend.clone(), world.clock.clone(), &opening));
        assert!(matches!(opened, Err(StoreError::Foreign { .. })));
        assert_eq!((world.lease().lease.epoch, world.lease().lease.holder), (2, None));
    };
    let table: [(&str, Before, bool, bool, bool); 8] = [
        ("released", |_, one| now(one.release()).unwrap(), false, false, true),
        ("given back after a failure", |_, one| now(one.give_back()).unwrap(), false, false, true),
        ("ran out", ran_out, false, false, false),
        ("ran out, and is dead", ran_out, true, false, true),
        ("is dead", |_, _| (), true, false, true),
        ("is forced out", |_, _| (), false, true, false),
        ("taken over, given back before the first line", taken_and_given_back, false, false, false),
        ("the same, and is dead", taken_and_given_back, true, false, true),
    ];
    for (what, before, is_dead, forced, proven) in table {
        let mut world = world();
        let one = world.open(1);
        append(&one, &[create(1, 1, false)]).unwrap();
        before(&world, one);
        world.is_dead = is_dead;
        if forced {
            world = world.forcing();
        }
        let _two = world.open(2);
        assert_eq!(world.was_proven(), proven, "{what}");
        assert_eq!(world.ledger().intents[&op(1)].foreign, !proven, "{what}");
        let reason = world.records().into_iter().rev().find_map(|record| match record {
            Record::Took { reason, .. } => Some(reason),
            _ => None,
        });
        assert_eq!(reason.flatten().is_some(), forced, "{what}");
    }
}

#[test]
fn an_unnecessary_force_records_no_reason() {
    let world = world();
    now(world.open(1).release()).unwrap();
    let _two = world.forcing().open(2);
    assert!(world.was_proven());
    assert!(!format!("{:?}", world.records()).contains("the runner is gone"));
}

#[test]
fn a_displaced_holder_can_do_nothing() {
    let world = world();
    let one = world.open(1);
    append(&one, &[begin(1)]).unwrap();
    let two = world.forcing().open(2);
    append(&two, &[begin(2)]).unwrap();
    let lines = world.backend.inner.0.lines.borrow().clone();

    let error = append(&one, &[begin(3)]).unwrap_err().to_string();
    assert!(error.contains("taken over by user2@host"), "{error}");
    assert!(matches!(append(&one, &[begin(3)]), Err(StoreError::Poisoned)));
    assert!(matches!(now(one.condense(&world.ledger())), Err(StoreError::Poisoned)));
    world.clock.naps.set(1);
    assert!(matches!(now(one.keep_lease()), StoreError::Displaced { .. }));
    assert_eq!(one.held_for(), Some(Duration::ZERO));
    assert!(matches!(now(one.release()), Err(StoreError::Displaced { .. })));
    assert_eq!(*world.backend.inner.0.lines.borrow(), lines);
    assert_eq!(world.lease().lease.holder, Some(holder(2)));
    append(&two, &[begin(4)]).unwrap();
}

/// The numbers that a sleeper counts on may have been written, summed up and removed.
#[test]
fn a_paused_holder_is_displaced_even_if_its_line_number_is_free() {
    for (forced, seconds) in [(false, 240), (true, 10)] {
        let world = world();
        let one = world.open(1);
        world.pass(seconds);
        let two = if forced { world.forcing().open(2) } else { world.open(2) };
        for n in 0..12 {
            append(&two, &[begin(n)]).unwrap();
            now(two.condense(&world.ledger())).unwrap();
        }
        let ledger = world.ledger();
        assert!(!world.backend.inner.0.lines.borrow().contains_key(&2), "the test's own premise");
        let error = append(&one, &[begin(99)]);
        assert!(matches!(error, Err(StoreError::Displaced { .. })), "{seconds} s: {error:?}");
        assert!(matches!(append(&one, &[begin(99)]), Err(StoreError::Poisoned)));
        assert_eq!(world.ledger(), ledger, "{seconds} s");
    }
}

#[test]
fn the_checkpoint_of_a_displaced_holder_covers_its_own_lines_only() {
    let world = world();
    let one = world.open(1);
    append(&one, &[begin(1)]).unwrap();
    let known = world.ledger();
    let two = world.forcing().open(2);
    append(&two, &[begin(2)]).unwrap();
    let before = world.ledger();
    now(one.condense(&known)).unwrap();
    assert_eq!(world.ledger(), before);
    now(two.condense(&before)).unwrap();
    assert_eq!(world.ledger(), before);
}

#[test]
fn every_broken_guarantee_is_rejected_and_the_lease_released() {
    for laxity in [
        BrokenGuarantee::CreateIfAbsent,
        BrokenGuarantee::ReplaceIfUnchanged,
        BrokenGuarantee::LineIfAbsent,
    ] {
        for opened_before in [false, true] {
            let world = world();
            if opened_before {
                now(world.open(1).release()).unwrap();
            }
            world.backend.inner.0.lax.set(Some(laxity));
            let error = world.try_open(2).err();
            assert!(matches!(error, Some(StoreError::Lax { .. })), "{laxity:?} {opened_before} {error:?}");
            assert_eq!(world.lease().lease.holder, None, "{laxity:?} {opened_before}");
            world.backend.inner.0.lax.set(None);
            now(world.open(3).release()).unwrap();
        }
    }
}

#[test]
fn a_write_with_a_lost_response_is_recognized_as_its_own() {
    use Fate::{AnswerLost, Done, NoEffect};
    let world = world();
    world.backend.next([AnswerLost]);
    let one = world.open(1);
    world.clock.naps.set(99);
    for (n, fates) in (1..).zip([
        vec![AnswerLost],
        vec![NoEffect],
        vec![NoEffect, AnswerLost],
        vec![NoEffect, NoEffect, NoEffect, Done],
    ]) {
        world.backend.next(fates.clone());
        append(&one, &[begin(n)]).unwrap_or_else(|error| panic!("{fates:?}: {error}"));
        assert_eq!(world.ledger().history.len(), usize::from(n), "{fates:?}");
    }
    world.backend.next([AnswerLost]);
    assert!(now(one.renew(Some(&one.holder))).is_err());
    now(one.renew(Some(&one.holder))).unwrap();
    world.backend.next([AnswerLost]);
    assert!(now(one.give_back()).is_err());
    now(one.give_back()).unwrap();
    assert_eq!(world.lease().lease.holder, None);
}

#[test]
fn a_failed_write_poisons_the_store_and_the_lease_is_released() {
    let world = world();
    let one = world.open(1);
    world.clock.naps.set(99);
    world.backend.next([Fate::NoEffect; 4]);
    assert!(matches!(append(&one, &[begin(1)]), Err(StoreError::Shared { .. })));
    assert!(matches!(append(&one, &[begin(1)]), Err(StoreError::Poisoned)));
    now(one.release()).unwrap();
    assert!(!matches!(world.records().last(), Some(Record::Released { .. })));
    assert_eq!(world.lease().lease.holder, None);
    let _two = world.open(2);
    assert!(world.was_proven());
}

#[test]
fn an_append_dropped_halfway_poisons_the_store() {
    let world = world();
    let one = world.open(1);
    world.backend.next([Fate::NoEffect]);
    // It waits to try again, and is not waited for.
    assert!(one.append(&[begin(1)]).now_or_never().is_none());
    assert!(matches!(append(&one, &[begin(1)]), Err(StoreError::Poisoned)));
}

#[test]
fn a_release_whose_line_fails_still_releases_the_lease() {
    let world = world();
    let one = world.open(1);
    world.clock.naps.set(99);
    world.backend.next([Fate::NoEffect; 4]);
    assert!(now(one.release()).is_err());
    assert_eq!(world.lease().lease.holder, None);
}

#[test]
fn a_renewal_counts_from_its_send_time() {
    let world = world();
    let one = world.open(1);
    world.clock.naps.set(1);
    world.backend.next([Fate::Slow]);
    assert!(one.keep_lease().now_or_never().is_none());
    assert_eq!(world.clock.elapsed(), LEASE_RENEWAL_INTERVAL + Duration::from_secs(10));
    assert_eq!(one.held_for(), Some(LEASE_DURATION.saturating_sub(Duration::from_secs(10))));
}

#[test]
fn a_holder_renews_its_lease_as_long_as_possible() {
    let world = world();
    let one = world.open(1);
    world.clock.naps.set(100);
    assert!(one.keep_lease().now_or_never().is_none());
    assert_eq!(world.clock.elapsed(), LEASE_RENEWAL_INTERVAL * 100);
    assert_eq!((one.held_for(), world.lease().age), (Some(LEASE_DURATION), Duration::ZERO));
    // Tries that fail come soon again, and end when the lease does.
    world.clock.naps.set(100);
    world.backend.inner.0.down.set(true);
    assert!(matches!(now(one.keep_lease()), StoreError::Shared { action: "lock", .. }));
    let tries = 100 - world.clock.naps.get();
    assert!((10..20).contains(&tries), "{tries}");
    // Nobody came: a lease that ran out is renewed before anything is written.
    world.backend.inner.0.down.set(false);
    append(&one, &[begin(1)]).unwrap();
    assert_eq!(one.held_for(), Some(LEASE_DURATION));
}

#[test]
fn after_a_lost_lease_record_the_epoch_continues_from_the_lines() {
    let world = world();
    for n in 1..4 {
        now(world.open(n).release()).unwrap();
    }
    *world.backend.inner.0.lease.borrow_mut() = None;
    let one = world.open(9);
    assert_eq!((world.ledger().epoch, world.lease().lease.epoch), (4, 4));
    append(&one, &[begin(1)]).unwrap();
    now(one.release()).unwrap();
}

#[test]
fn ten_checkpoints_are_kept_and_reading_starts_at_the_newest() {
    let world = world();
    let one = world.open(1);
    for n in 0..30 {
        append(&one, &[begin(n)]).unwrap();
        now(one.condense(&world.ledger())).unwrap();
    }
    append(&one, &[begin(99)]).unwrap();
    let contents = &world.backend.inner.0;
    assert_eq!(contents.summaries.borrow().len(), 10);
    let oldest = *contents.summaries.borrow().keys().next().unwrap();
    assert_eq!(*contents.lines.borrow().keys().next().unwrap(), oldest + 1);
    let ledger = load_ledger(now(one.load()).unwrap()).unwrap();
    assert_eq!(ledger, world.ledger());
    assert!(ledger.history.iter().any(|run| run.run == op(99)));
    // A place that cannot remove is good enough.
    world.backend.next([Fate::Done, Fate::Done, Fate::NoEffect]);
    append(&one, &[begin(100)]).unwrap();
    now(one.condense(&world.ledger())).unwrap();
    now(one.release()).unwrap();
}

#[test]
fn a_line_removed_during_a_read_is_read_again() {
    let world = world();
    let one = world.open(1);
    for n in 0..12 {
        append(&one, &[begin(n)]).unwrap();
        now(one.condense(&world.ledger())).unwrap();
    }
    let ledger = world.ledger();
    world.backend.stale.borrow_mut().extend(vec![vec![2]; 3]);
    assert_eq!(world.ledger(), ledger);
    world.backend.stale.borrow_mut().extend(vec![vec![2]; 4]);
    let error = now(Kept::read(&world.backend, "shop", "prod", None)).unwrap_err().to_string();
    assert!(error.contains("summary 2 is damaged: it is gone"), "{error}");
}

#[test]
fn applies_without_changes_are_compacted_too() {
    let world = world();
    for _ in 0..200 {
        now(world.open(1).release()).unwrap();
    }
    let lines = now(SharedStoreContents::read(&world.backend, None)).unwrap().lines;
    assert!(lines <= CHECKPOINT_AFTER_LINES + 2, "{lines}");
    assert_eq!(world.ledger().epoch, 200);
}

#[test]
fn damage_is_reported_and_nothing_is_written() {
    type Damage = fn(&MemoryBackend);
    let cases: [(&str, Damage); 4] = [
        ("line 2 is damaged: its digest", |backend| {
            let mut lines = backend.0.lines.borrow_mut();
            let byte = lines.get_mut(&2).unwrap().iter_mut().rev().nth(5).unwrap();
            *byte ^= 1;
        }),
        ("line 3 is damaged: the line before it", |backend| {
            backend.0.lines.borrow_mut().remove(&2);
        }),
        ("line 2 is damaged: its end", |backend| {
            backend.0.lines.borrow_mut().get_mut(&2).unwrap().truncate(90);
        }),
        ("summary 3 is damaged: its digest", |backend| {
            backend.0.summaries.borrow_mut().insert(3, b"{}".to_vec());
        }),
    ];
    for (wanted, damage) in cases {
        let world = world();
        let one = world.open(1);
        append(&one, &[begin(1)]).unwrap();
        now(one.release()).unwrap();
        damage(&world.backend.inner);
        let lines = world.backend.inner.0.lines.borrow().clone();
        let error = world.try_open(2).err().unwrap().to_string();
        assert!(error.contains(wanted), "{error}");
        assert_eq!(*world.backend.inner.0.lines.borrow(), lines);
        assert_eq!(world.lease().lease.holder, None);
    }
}
