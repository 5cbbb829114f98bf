//! The shared ledger on a shelf in memory: takings, displacement, lost answers, lax places, poison.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures_util::FutureExt;
use uuid::Uuid;

use super::*;
use crate::ledger::fixture::{create, identity, op};
use crate::ledger::memory_shelf::{Laxity, MemoryShelf};

/// A shelf with hands in between: slow, deaf, or someone else comes first.
#[derive(Clone, Default)]
struct Between {
    shelf: MemoryShelf,
    /// How long writing the lease takes.
    takes: Rc<Cell<Duration>>,
    /// Lines are written, and their writer is told that someone else was there.
    denies: Rc<Cell<bool>>,
    /// What happens right before the next line.
    before_line: Rc<RefCell<Option<Box<dyn FnOnce()>>>>,
    /// When the lease was written.
    renewals: Rc<RefCell<Vec<Duration>>>,
    /// Renewals after which the place goes down.
    lasts_for: Rc<Cell<Option<usize>>>,
}

impl Shelf for Between {
    fn place(&self) -> String {
        self.shelf.place()
    }

    async fn lease(&self) -> Result<Option<Stored>, ShelfError> {
        self.shelf.lease().await
    }

    async fn put_lease(&self, lease: &Lease, mark: Option<&Mark>) -> Result<Mark, ShelfError> {
        if self.lasts_for.get() == Some(self.renewals.borrow().len()) {
            self.shelf.0.down.set(true);
        }
        let written = self.shelf.put_lease(lease, mark).await;
        if written.is_ok() {
            self.renewals.borrow_mut().push(self.shelf.0.now.get());
        }
        self.pass(self.takes.get());
        written
    }

    async fn lines(&self, after: u64) -> Result<Vec<(u64, Vec<u8>)>, ShelfError> {
        self.shelf.lines(after).await
    }

    async fn put_line(&self, number: u64, epoch: u64, line: &[u8]) -> Result<(), ShelfError> {
        let meddle = self.before_line.borrow_mut().take();
        meddle.into_iter().for_each(|meddle| meddle());
        self.shelf.put_line(number, epoch, line).await?;
        if self.denies.get() { Err(ShelfError::Conflict) } else { Ok(()) }
    }

    async fn summaries(&self) -> Result<Vec<u64>, ShelfError> {
        self.shelf.summaries().await
    }

    async fn summary(&self, number: u64) -> Result<Option<Vec<u8>>, ShelfError> {
        self.shelf.summary(number).await
    }

    async fn put_summary(&self, number: u64, summary: &[u8]) -> Result<(), ShelfError> {
        self.shelf.put_summary(number, summary).await
    }

    async fn prune(&self, before: u64) -> Result<(), ShelfError> {
        self.shelf.prune(before).await
    }
}

impl Between {
    fn pass(&self, time: Duration) {
        let now = &self.shelf.0.now;
        now.set(now.get() + time);
    }

    fn ledger(&self) -> Ledger {
        now(SharedStore::<_, Hand>::read(self, "shop", "prod")).unwrap().unwrap()
    }
}

/// A clock that goes with the shelf's; whoever sleeps lets time pass.
impl Clock for Between {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + self.elapsed()
    }

    fn elapsed(&self) -> Duration {
        self.shelf.0.now.get()
    }

    async fn sleep(&self, duration: Duration) {
        self.pass(duration);
    }
}

type Hand = Between;
type Held = SharedStore<Between, Hand>;

const EFFECT: Duration = Duration::from_mins(1);

fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("memory answers at once")
}

fn holder(number: u32) -> Holder {
    let process = Process { boot: "b".into(), namespace: "n".into(), id: number, started: 1 };
    Holder {
        session: Uuid::from_u128(number.into()),
        who: format!("user{number}@host"),
        process: Some(process),
        since: Timestamp::UNIX_EPOCH,
    }
}

/// Opens as a process; those in `dead` are proven dead.
fn open_as(shelf: &Between, number: u32, dead: &[u32], force: Option<&str>) -> Result<Held, StoreError> {
    let is_dead = |process: &Process| dead.contains(&process.id);
    let identity = identity();
    let opening =
        Opening { identity: &identity, holder: holder(number), effect: EFFECT, is_dead: &is_dead, force };
    now(SharedStore::open(shelf.clone(), shelf.clone(), &opening))
}

fn open(shelf: &Between, number: u32) -> Held {
    open_as(shelf, number, &[], None).unwrap()
}

fn append(store: &Held, record: Record) -> Result<(), StoreError> {
    now(store.append(&[record]))
}

fn account() -> Record {
    Record::Account { account: "a".into() }
}

#[test]
fn one_has_it_until_it_is_given_back() {
    let shelf = Between::default();
    let first = open(&shelf, 1);
    let ledger = shelf.ledger();
    assert_eq!((ledger.epoch, ledger.holder), (1, Some(holder(1))));
    let Err(StoreError::Locked { holder: who }) = open_as(&shelf, 2, &[], None) else { panic!("two") };
    assert!(who.contains("user1@host, process 1"), "{who}");
    append(&first, account()).unwrap();
    now(first.release()).unwrap();
    assert_eq!(shelf.ledger().holder, None);
    let second = open(&shelf, 2);
    assert_eq!((shelf.ledger().epoch, shelf.ledger().holder), (2, Some(holder(2))));
    let Record::Took { proven, .. } = now(second.load()).unwrap().pop().unwrap() else {
        panic!("no taking")
    };
    assert!(proven);
}

#[test]
fn a_lease_runs_out_when_the_bound_of_effect_has_passed_too() {
    let shelf = Between::default();
    let _first = open(&shelf, 1);
    shelf.pass(LASTS + EFFECT - Duration::from_secs(1));
    assert!(matches!(open_as(&shelf, 2, &[], None), Err(StoreError::Locked { .. })));
    shelf.pass(Duration::from_secs(1));
    open(&shelf, 2);
}

#[test]
fn what_is_open_is_foreign_unless_its_holder_is_known_to_be_silent() {
    type Story = fn(&Between, Held) -> Held;
    let runs_out: Story = |shelf, _| {
        shelf.pass(LASTS + EFFECT);
        open(shelf, 2)
    };
    let dies: Story = |shelf, _| open_as(shelf, 2, &[1], None).unwrap();
    let is_broken: Story = |shelf, _| open_as(shelf, 2, &[], Some("it hangs")).unwrap();
    let says_so: Story = |shelf, first| {
        now(first.release()).unwrap();
        open(shelf, 2)
    };
    let gives_the_lease_back: Story = |shelf, first| {
        now(first.give_back()).unwrap();
        open(shelf, 2)
    };
    // Someone takes over, and gives back before the first line; the first one may still send.
    let another_gives_it_back: Story = |shelf, _| {
        let mark = now(shelf.lease()).unwrap().unwrap().mark;
        let free = Lease { epoch: 2, holder: None, lasts_seconds: 1 };
        now(shelf.put_lease(&free, Some(&mark))).unwrap();
        open(shelf, 3)
    };
    let another_dies: Story = |shelf, _| {
        let mark = now(shelf.lease()).unwrap().unwrap().mark;
        let another = Lease { epoch: 2, holder: Some(holder(2)), lasts_seconds: 180 };
        now(shelf.put_lease(&another, Some(&mark))).unwrap();
        open_as(shelf, 3, &[2], None).unwrap()
    };
    for (what, story, foreign) in [
        ("it ran out", runs_out, true),
        ("its holder is dead", dies, false),
        ("someone broke it", is_broken, true),
        ("its holder released it", says_so, false),
        ("its holder gave the lease back", gives_the_lease_back, false),
        ("another one gave it back", another_gives_it_back, true),
        ("another one died with it", another_dies, true),
    ] {
        let shelf = Between::default();
        let first = open(&shelf, 1);
        append(&first, create(1, 1, false)).unwrap();
        let _second = story(&shelf, first);
        assert_eq!(shelf.ledger().intents[&op(1)].foreign, foreign, "{what}");
    }
}

#[test]
fn what_is_foreign_stays_foreign_whoever_comes_next() {
    let shelf = Between::default();
    let first = open(&shelf, 1);
    append(&first, create(1, 1, false)).unwrap();
    open_as(&shelf, 2, &[], Some("it hangs")).unwrap();
    open_as(&shelf, 3, &[2], None).unwrap();
    assert!(shelf.ledger().intents[&op(1)].foreign);
}

#[test]
fn who_is_displaced_writes_nothing_more() {
    let shelf = Between::default();
    let first = open(&shelf, 1);
    let _second = open_as(&shelf, 2, &[], Some("it hangs")).unwrap();
    let lines = shelf.shelf.0.lines.borrow().clone();
    let Err(StoreError::Displaced { by }) = append(&first, account()) else { panic!("it wrote") };
    assert!(by.contains("user2@host"), "{by}");
    assert!(matches!(append(&first, account()), Err(StoreError::Poisoned)));
    assert!(matches!(now(first.keep()), StoreError::Displaced { .. }));
    assert!(matches!(now(first.release()), Err(StoreError::Displaced { .. })));
    assert_eq!(*shelf.shelf.0.lines.borrow(), lines);
    assert_eq!(shelf.ledger().holder, Some(holder(2)));
}

#[test]
fn what_a_displaced_holder_still_wrote_is_read_before_the_taking() {
    let shelf = Between::default();
    let first = Rc::new(open(&shelf, 1));
    let writer = Rc::clone(&first);
    *shelf.before_line.borrow_mut() = Some(Box::new(move || append(&writer, create(1, 1, false)).unwrap()));
    let _second = open_as(&shelf, 2, &[], Some("it hangs")).unwrap();
    assert!(shelf.ledger().intents[&op(1)].foreign);
    assert!(matches!(append(&first, account()), Err(StoreError::Displaced { .. })));
}

#[test]
fn a_line_whose_answer_is_lost_is_found_again() {
    let shelf = Between::default();
    let store = open(&shelf, 1);
    shelf.denies.set(true);
    append(&store, account()).unwrap();
    shelf.denies.set(false);
    append(&store, create(1, 1, false)).unwrap();
    assert_eq!(shelf.ledger().identity.account.as_deref(), Some("a"));
}

#[test]
fn a_place_that_does_not_keep_its_word_is_refused() {
    for laxity in [Laxity::Anew, Laxity::Stale, Laxity::Over] {
        let shelf = Between::default();
        now(open(&shelf, 1).release()).unwrap();
        shelf.shelf.0.lax.set(Some(laxity));
        let refused = open_as(&shelf, 2, &[], None);
        assert!(matches!(refused, Err(StoreError::Lax { .. })), "{laxity:?}");
    }
}

#[test]
fn another_stacks_ledger_is_refused_and_its_lease_given_back() {
    let shelf = Between::default();
    let identity = Identity { stack: "bakery".into(), ..identity() };
    let opening = Opening {
        identity: &identity,
        holder: holder(1),
        effect: EFFECT,
        is_dead: &|_| false,
        force: None,
    };
    now(now(Held::open(shelf.clone(), shelf.clone(), &opening)).unwrap().release()).unwrap();
    assert!(matches!(open_as(&shelf, 2, &[], None), Err(StoreError::Foreign { .. })));
    assert_eq!(now(shelf.lease()).unwrap().unwrap().lease.holder, None);
}

#[test]
fn a_renewal_counts_from_before_it_was_sent() {
    let shelf = Between::default();
    shelf.takes.set(Duration::from_secs(50));
    let store = open(&shelf, 1);
    let before = shelf.elapsed();
    now(store.renew(Some(&holder(1)))).unwrap();
    assert_eq!(shelf.elapsed(), before + Duration::from_secs(50));
    assert_eq!(store.held_for(), Some(LASTS - Duration::from_secs(50)));
    shelf.pass(LASTS);
    assert_eq!(store.held_for(), Some(Duration::ZERO));
}

#[test]
fn a_lease_is_renewed_in_time_until_the_place_is_lost() {
    let shelf = Between::default();
    let store = open(&shelf, 1);
    let begun = shelf.elapsed();
    shelf.renewals.borrow_mut().clear();
    shelf.lasts_for.set(Some(3));
    assert!(matches!(now(store.keep()), StoreError::Shared { .. }));
    let times: Vec<Duration> = (1..=3).map(|minute| begun + Duration::from_mins(minute)).collect();
    assert_eq!(*shelf.renewals.borrow(), times);
    assert_eq!(store.held_for(), Some(Duration::ZERO));
    assert_eq!(shelf.elapsed(), times[2] + LASTS, "while there is time, it is tried again");
}

#[test]
fn a_failed_write_poisons_and_the_lease_is_given_back_without_a_word() {
    let shelf = Between::default();
    let store = open(&shelf, 1);
    shelf.shelf.0.down.set(true);
    assert!(matches!(append(&store, account()), Err(StoreError::Shared { .. })));
    shelf.shelf.0.down.set(false);
    assert!(matches!(append(&store, account()), Err(StoreError::Poisoned)));
    now(store.release()).unwrap();
    assert_eq!(shelf.ledger().holder, Some(holder(1)));
    assert_eq!(now(shelf.lease()).unwrap().unwrap().lease.holder, None);
}

#[test]
fn summaries_shorten_what_is_read_and_ten_are_kept() {
    let shelf = Between::default();
    let store = open(&shelf, 1);
    for _ in 0..12 {
        append(&store, account()).unwrap();
        now(store.condense(&shelf.ledger())).unwrap();
    }
    assert_eq!(now(shelf.summaries()).unwrap().len(), KEPT);
    let whole = shelf.ledger();
    assert_eq!(now(store.load()).unwrap().len(), 1);
    append(&store, create(1, 1, false)).unwrap();
    assert_eq!(shelf.ledger().serial, whole.serial + 1);
    now(store.release()).unwrap();
    let line = *shelf.shelf.0.lines.borrow().keys().next_back().unwrap();
    shelf.shelf.0.lines.borrow_mut().remove(&(line - 1));
    assert!(matches!(open_as(&shelf, 2, &[], None), Err(StoreError::Corrupt { .. })));
}

#[test]
fn a_line_without_its_end_is_damage() {
    let shelf = Between::default();
    now(open(&shelf, 1).release()).unwrap();
    shelf.shelf.0.lines.borrow_mut().last_entry().unwrap().get_mut().pop();
    let Err(StoreError::Corrupt { reason, .. }) = open_as(&shelf, 2, &[], None) else { panic!("read") };
    assert_eq!(reason, "its end is missing");
}
