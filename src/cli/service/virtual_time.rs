//! Virtual time for tests: a clock that advances to the next sleeper when no task can run, so that a wait of minutes
//! takes no time and always ends in the same order.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use jiff::Timestamp;

use crate::model::clock::Clock;

/// Start time of every test: noon of 1 January 2026, UTC.
const START_TIME_SECS: i64 = 1_767_268_800;

/// The virtual time, with the pending sleeps; clones share it.
#[derive(Clone, Default)]
pub(in crate::cli) struct VirtualTime(Rc<TimerQueue>);

#[derive(Default)]
struct TimerQueue {
    now: Cell<Duration>,
    next: Cell<u64>,
    // Ordered by time, and by the order of the calls for equal times.
    wakers: RefCell<BTreeMap<(Duration, u64), Waker>>,
}

struct WakeFlag(AtomicBool);

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl VirtualTime {
    /// Advances the time to a moment, unless that is past.
    pub(super) fn not_before(&self, moment: Timestamp) {
        let ahead = Duration::try_from(moment.duration_since(self.now())).unwrap_or_default();
        self.0.now.set(self.0.now.get() + ahead);
    }

    /// Runs work to its end; `None` if it waits for an event that can never happen: no task can run, and none sleeps.
    pub(in crate::cli) fn run<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        let awake = Arc::new(WakeFlag(AtomicBool::new(true)));
        let waker = Waker::from(Arc::clone(&awake));
        loop {
            awake.0.store(false, Ordering::Relaxed);
            if let Poll::Ready(result) = work.as_mut().poll(&mut Context::from_waker(&waker)) {
                return Some(result);
            }
            if !awake.0.load(Ordering::Relaxed) {
                let first = self.0.wakers.borrow_mut().pop_first();
                let ((until, _), sleeper) = first?;
                self.0.now.set(self.0.now.get().max(until));
                sleeper.wake();
            }
        }
    }
}

impl Clock for VirtualTime {
    fn now(&self) -> Timestamp {
        let noon = Timestamp::from_second(START_TIME_SECS).unwrap_or(Timestamp::UNIX_EPOCH);
        noon.checked_add(self.0.now.get()).unwrap_or(Timestamp::MAX)
    }

    fn elapsed(&self) -> Duration {
        self.0.now.get()
    }

    async fn sleep(&self, duration: Duration) {
        let number = self.0.next.get();
        self.0.next.set(number + 1);
        VirtualSleep { time: self.clone(), until: (self.0.now.get() + duration, number) }.await;
    }
}

struct VirtualSleep {
    time: VirtualTime,
    until: (Duration, u64),
}

impl Future for VirtualSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let sleepers = &self.time.0;
        if sleepers.now.get() >= self.until.0 {
            return Poll::Ready(());
        }
        sleepers.wakers.borrow_mut().insert(self.until, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for VirtualSleep {
    fn drop(&mut self) {
        self.time.0.wakers.borrow_mut().remove(&self.until);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join;

    use super::*;

    #[test]
    fn virtual_sleepers_wake_in_order_without_real_time() {
        let (time, woken) = (VirtualTime::default(), RefCell::new(Vec::new()));
        let sleeper = async |seconds: u64| {
            time.sleep(Duration::from_secs(seconds)).await;
            woken.borrow_mut().push((seconds, time.elapsed().as_secs()));
        };
        time.run(join(sleeper(3_600), sleeper(5))).unwrap();
        assert_eq!(woken.take(), [(5, 5), (3_600, 3_600)]);
        assert!(time.run(std::future::pending::<()>()).is_none());
    }
}
