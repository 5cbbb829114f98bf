//! Two or three holders at the same time, in any order of their steps, with pauses, thefts and crashes:
//! what is left is one legal journal, and nobody writes after someone else took over.

use std::collections::BTreeMap;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use proptest::prelude::*;

use super::*;
use crate::ledger::journal::chain;
use crate::ledger::journal::mac::MacVerifier;
use crate::ledger::journal::replay::apply_record;

/// A backend that lets another holder go on before each of its steps, and between a step and its answer.
#[derive(Clone)]
struct Stepwise(MemoryBackend);

async fn step() {
    let mut waited = false;
    std::future::poll_fn(|_| {
        if std::mem::replace(&mut waited, true) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

impl Stepwise {
    /// Every step takes its time.
    async fn stepwise<T>(&self, work: impl Future<Output = T>) -> T {
        step().await;
        let done = work.await;
        self.0.0.now.set(self.0.0.now.get() + Duration::from_millis(500));
        step().await;
        done
    }
}

impl SharedBackend for Stepwise {
    fn display_location(&self) -> String {
        self.0.display_location()
    }

    async fn lease(&self) -> Result<Option<StoredLease>, BackendError> {
        self.stepwise(self.0.lease()).await
    }

    async fn put_lease(
        &self,
        lease: &Lease,
        mark: Option<&LeaseVersion>,
    ) -> Result<LeaseVersion, BackendError> {
        self.stepwise(self.0.put_lease(lease, mark)).await
    }

    async fn lines(&self, after: u64) -> Result<Vec<(u64, Vec<u8>)>, BackendError> {
        self.stepwise(self.0.lines(after)).await
    }

    async fn put_line(&self, number: u64, epoch: u64, line: &[u8]) -> Result<(), BackendError> {
        self.stepwise(self.0.put_line(number, epoch, line)).await
    }

    async fn summaries(&self) -> Result<Vec<u64>, BackendError> {
        self.stepwise(self.0.summaries()).await
    }

    async fn summary(&self, number: u64) -> Result<Option<Vec<u8>>, BackendError> {
        self.stepwise(self.0.summary(number)).await
    }

    async fn put_summary(&self, number: u64, summary: &[u8]) -> Result<(), BackendError> {
        self.stepwise(self.0.put_summary(number, summary)).await
    }

    async fn prune(&self, before: u64) -> Result<(), BackendError> {
        self.stepwise(self.0.prune(before)).await
    }
}

/// One event of the test: a holder acts or crashes, or time passes.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// A holder does a step.
    Step(usize),
    /// A holder does many steps.
    Run(usize),
    /// A holder is gone, and begins anew.
    Crash(usize),
    /// The given time passes.
    Pass(u64),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        12 => (0..3_usize).prop_map(Event::Step),
        4 => (0..3_usize).prop_map(Event::Run),
        1 => (0..3_usize).prop_map(Event::Crash),
        1 => prop_oneof![Just(30), Just(100), Just(181), Just(300)].prop_map(Event::Pass),
    ]
}

/// What all holders share.
#[derive(Clone)]
struct Stage {
    backend: MemoryBackend,
    clock: Hand,
    /// Records whose append was acknowledged.
    acknowledged: Rc<RefCell<Vec<Uuid>>>,
    count: Rc<Cell<u128>>,
}

impl Stage {
    /// A holder's life: it opens the ledger, by force every third time, writes, sums up, gives back.
    async fn live(self, n: u8) {
        loop {
            self.count.set(self.count.get() + 1);
            let count = self.count.get();
            let opening = OpenOptions {
                seal: None,
                identity: &identity(),
                holder: LeaseHolder { session: Uuid::from_u128(count), ..holder(n) },
                effect: Duration::from_secs(1),
                is_dead: &|_| false,
                force: count.is_multiple_of(3).then_some("a test"),
            };
            let opened =
                SharedStore::open(Stepwise(self.backend.clone()), self.clock.clone(), &opening).await;
            match opened {
                Ok(store) => self.write(&store).await,
                Err(StoreError::Locked { .. } | StoreError::Displaced { .. }) => step().await,
                Err(error) => panic!("{error}"),
            }
        }
    }

    async fn write(&self, store: &SharedStore<Stepwise, Hand>) {
        let epoch = u128::from(store.state.borrow().epoch);
        let mut ledger = load_ledger(store.load().await.unwrap()).unwrap();
        for _ in 0..3 {
            self.count.set(self.count.get() + 1);
            // The epoch, in the name of what is written under it.
            let run = Uuid::from_u128(self.count.get() << 64 | epoch);
            let Record::Begin { who, at, origin, .. } = begin(1) else { return };
            let record = Record::Begin { run, plan: run, who, at, origin };
            if store.append(std::slice::from_ref(&record)).await.is_err() {
                return;
            }
            self.acknowledged.borrow_mut().push(run);
            apply_record(&mut ledger, &record).unwrap();
        }
        if store.condense(&ledger).await.is_ok() {
            let _ = store.release().await;
        }
    }
}

/// Remembers every line that ever was there: also those that are summed up and removed. A
/// number holds one line forever.
fn watch(backend: &MemoryBackend, seen: &mut BTreeMap<u64, Vec<u8>>) {
    for (number, line) in backend.0.lines.borrow().iter() {
        // What is left of a writer that was displaced before these lines were removed is never read.
        let is_read = backend.0.summaries.borrow().keys().next().is_none_or(|first| number > first);
        let known = seen.entry(*number).or_insert_with(|| line.clone());
        assert!(known == line || !is_read, "line {number} changed");
    }
}

/// Every record of every line, from the first.
fn all_records(lines: &BTreeMap<u64, Vec<u8>>) -> Vec<Record> {
    let mut head = chain::first_head();
    let mut records = Vec::new();
    for (number, (at, text)) in (1..).zip(lines) {
        assert_eq!(*at, number, "a gap");
        let lines = line::decode_lines(text, head, &mut MacVerifier::new(None)).unwrap();
        records.extend(lines.records);
        head = lines.head;
    }
    records
}

fn check(stage: &Stage, lines: &BTreeMap<u64, Vec<u8>>) {
    let records = all_records(lines);
    if records.is_empty() {
        return;
    }
    let from_lines = load_ledger(records.clone()).unwrap();
    let from_summary =
        now(SharedStore::<_, Hand>::read(&stage.backend, "shop", "prod", None)).unwrap().unwrap();
    assert_eq!(from_lines, from_summary);
    let mut epoch = 0;
    let mut written = Vec::new();
    for record in &records {
        match record {
            Record::Took { epoch: next, .. } => {
                assert!(*next > epoch, "epoch {next} after {epoch}");
                epoch = *next;
            }
            Record::Begin { run, .. } => {
                assert_eq!(run.as_u64_pair().1, epoch, "someone wrote who was displaced");
                written.push(*run);
            }
            _ => {}
        }
    }
    for run in stage.acknowledged.borrow().iter() {
        let times = written.iter().filter(|other| *other == run).count();
        assert_eq!(times, 1, "an acknowledged record is there {times} times");
    }
}

fn play(events: &[Event]) {
    let backend = MemoryBackend::default();
    let clock = Hand { backend: backend.clone(), naps: Rc::default() };
    let stage = Stage { backend, clock, acknowledged: Rc::default(), count: Rc::default() };
    let born = |n: usize| -> Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(stage.clone().live(u8::try_from(n).unwrap()))
    };
    let mut holders: Vec<_> = (0..3).map(born).collect();
    let mut seen = BTreeMap::new();
    let mut context = Context::from_waker(Waker::noop());
    for event in events {
        match *event {
            Event::Step(n) => assert!(holders[n].as_mut().poll(&mut context).is_pending()),
            Event::Run(n) => {
                for _ in 0..25 {
                    assert!(holders[n].as_mut().poll(&mut context).is_pending());
                }
            }
            Event::Crash(n) => holders[n] = born(n),
            Event::Pass(seconds) => {
                stage.backend.0.now.set(stage.backend.0.now.get() + Duration::from_secs(seconds));
            }
        }
        watch(&stage.backend, &mut seen);
    }
    check(&stage, &seen);
}

/// Opens the ledger by force, as a holder that can be told from all others.
async fn taken<H: SharedBackend>(
    backend: H,
    clock: Hand,
    n: u8,
) -> Result<SharedStore<H, Hand>, StoreError> {
    let opening = OpenOptions {
        seal: None,
        identity: &identity(),
        holder: holder(n),
        effect: Duration::from_secs(1),
        is_dead: &|_| false,
        force: Some("a test"),
    };
    SharedStore::open(backend, clock, &opening).await
}

/// Lets nobody else go on.
fn in_steps<T>(mut future: Pin<&mut impl Future<Output = T>>) -> T {
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return result;
        }
    }
}

/// Whoever sleeps anywhere between taking the lease and its first line, and is overtaken, writes none:
/// its epoch is older than the last one of the ledger.
#[test]
fn a_new_holder_displaced_before_its_first_line_writes_nothing() {
    let mut overtaken = 0;
    for steps in 0.. {
        let backend = MemoryBackend::default();
        let clock = Hand { backend: backend.clone(), naps: Rc::default() };
        let mut context = Context::from_waker(Waker::noop());
        let mut first = Box::pin(taken(Stepwise(backend.clone()), clock.clone(), 1));
        let opened = (0..steps).any(|_| first.as_mut().poll(&mut context).is_ready());
        if opened {
            break;
        }
        let had_lease = backend.0.lease.borrow().is_some();
        let second = now(taken(backend.clone(), clock.clone(), 2)).unwrap();
        now(second.append(&[begin(2)])).unwrap();
        let lines = backend.0.lines.borrow().clone();
        let result = in_steps(first.as_mut());
        if !had_lease {
            continue;
        }
        overtaken += 1;
        // Whose first line was there already learns it with the second.
        let writes = result.is_ok_and(|first| in_steps(pin!(first.append(&[begin(4)]))).is_ok());
        assert!(!writes, "after {steps} steps");
        assert_eq!(*backend.0.lines.borrow(), lines, "after {steps} steps");
        now(second.append(&[begin(3)])).unwrap();
    }
    assert!(overtaken >= 8, "{overtaken}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_displaced_holder_writes_nothing_in_any_interleaving(events in prop::collection::vec(event(), 1..200)) {
        play(&events);
    }
}
