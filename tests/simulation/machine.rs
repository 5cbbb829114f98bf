//! One thread in virtual time: a clock whose sleepers the machine wakes when nothing else can run.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use jiff::Timestamp;
use stead::model::clock::{Clock, Random};
use uuid::Uuid;

/// Virtual time and who sleeps in it. A restarted process gets a new machine at the old one's time.
#[derive(Default)]
pub struct Machine {
    now: Cell<Duration>,
    sleepers: RefCell<BTreeMap<(Duration, u64), Waker>>,
    next: Cell<u64>,
    /// The process is dead: nothing that it still holds has any effect.
    pub killed: Cell<bool>,
}

struct Awake(AtomicBool);

impl Wake for Awake {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Machine {
    pub fn at(now: Duration) -> Rc<Self> {
        let machine = Self::default();
        machine.now.set(now);
        Rc::new(machine)
    }

    pub fn elapsed(&self) -> Duration {
        self.now.get()
    }

    /// The machine sleeps: its clock goes on, and nobody notices.
    pub fn skip(&self, duration: Duration) {
        self.now.set(self.now.get() + duration);
    }

    /// Runs a process to its end, or until it is killed.
    pub fn run<T>(&self, process: impl Future<Output = T>) -> Option<T> {
        let mut process = pin!(process);
        let awake = Arc::new(Awake(AtomicBool::new(true)));
        let waker = Waker::from(Arc::clone(&awake));
        loop {
            awake.0.store(false, Ordering::Relaxed);
            if let Poll::Ready(result) = process.as_mut().poll(&mut Context::from_waker(&waker)) {
                return Some(result);
            }
            if self.killed.get() {
                return None;
            }
            if !awake.0.load(Ordering::Relaxed) {
                self.advance();
            }
        }
    }

    fn advance(&self) {
        let first = self.sleepers.borrow_mut().pop_first();
        let Some(((until, _), waker)) = first else { panic!("the process waits for nothing") };
        self.now.set(self.now.get().max(until));
        waker.wake();
    }

    /// Returns when the first sleeper wakes.
    pub fn first(&self) -> Option<Duration> {
        self.sleepers.borrow().first_key_value().map(|((until, _), _)| *until)
    }

    /// Moves the time on, and wakes everyone whose time has come.
    pub fn advance_to(&self, now: Duration) {
        self.now.set(self.now.get().max(now));
        while self.first().is_some_and(|first| first <= self.now.get()) {
            let first = self.sleepers.borrow_mut().pop_first();
            if let Some((_, waker)) = first {
                waker.wake();
            }
        }
    }

    pub fn sleep(self: &Rc<Self>, duration: Duration) -> Sleep {
        let number = self.next.get();
        self.next.set(number + 1);
        Sleep { machine: Rc::clone(self), until: (self.now.get() + duration, number) }
    }
}

pub struct Sleep {
    machine: Rc<Machine>,
    until: (Duration, u64),
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.machine.now.get() >= self.until.0 {
            return Poll::Ready(());
        }
        self.machine.sleepers.borrow_mut().insert(self.until, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.machine.sleepers.borrow_mut().remove(&self.until);
    }
}

/// The machine's clock. Wall time starts at a fixed noon.
#[derive(Clone)]
pub struct SimClock(pub Rc<Machine>);

/// Returns the wall time of a moment.
pub fn wall(elapsed: Duration) -> Timestamp {
    // Noon of 21 November 2026; it is asked for with every request.
    const NOON: Timestamp = Timestamp::constant(1_795_262_400, 0);
    NOON + elapsed
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        wall(self.0.elapsed())
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    async fn sleep(&self, duration: Duration) {
        self.0.sleep(duration).await;
    }
}

/// Chance that repeats: SplitMix64.
pub struct SimRandom(pub Cell<u64>);

impl SimRandom {
    pub fn new(seed: u64) -> Self {
        Self(Cell::new(seed))
    }

    /// Returns a number below a bound.
    pub fn below(&self, bound: u64) -> u64 {
        self.number() % bound.max(1)
    }

    /// Says yes once in so many times.
    pub fn once_in(&self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// Returns one of several.
    pub fn pick<'a, T>(&self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }

    pub fn number(&self) -> u64 {
        self.0.set(self.0.get().wrapping_add(0x9E37_79B9_7F4A_7C15));
        let mut z = self.0.get();
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

impl Random for SimRandom {
    fn uuid(&self) -> Uuid {
        Uuid::from_u64_pair(self.number(), self.number())
    }

    #[expect(clippy::cast_precision_loss, reason = "a fraction needs no more")]
    fn fraction(&self) -> f64 {
        (self.number() >> 11) as f64 / (1u64 << 53) as f64
    }
}
