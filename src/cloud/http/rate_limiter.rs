//! `RateLimiter`: the rate limiter with a first-in, first-out queue.

use std::cell::RefCell;
use std::time::Duration;

use tokio::sync::Mutex;

use super::message::HttpResponse;
use super::rate_limit::{RateLimit, SharedRateLimit};
use crate::model::clock::{Clock, Random};

/// A rate limiter on which many futures of one task wait.
#[derive(Default)]
pub(in crate::cloud) struct RateLimiter {
    /// Held by the first request in the queue; the lock is fair, in order of arrival.
    turn: Mutex<()>,
    limiter: RefCell<RateLimit>,
    /// The state shared with other processes that use the same key.
    shared: RefCell<Option<Box<dyn SharedRateLimit>>>,
}

impl RateLimiter {
    /// Waits until one more request may be sent. Calls `tell` before each wait; returns the time for which the limiter
    /// itself (not the queue) delayed the request.
    pub(in crate::cloud) async fn wait_for_slot(
        &self,
        clock: &impl Clock,
        tell: impl Fn(Duration),
    ) -> Duration {
        let _turn = self.turn.lock().await;
        let mut waited = Duration::ZERO;
        loop {
            let admitted = self.update_limiter(clock, RateLimit::admit);
            let Err(wait) = admitted else { return waited };
            tell(wait);
            clock.sleep(wait).await;
            waited += wait;
        }
    }

    /// Starts at a rate that the service admitted earlier.
    pub(in crate::cloud) fn start_at(&self, rate: u32) {
        self.limiter.borrow_mut().start_at(rate);
    }

    /// Uses the share of one of `machines` machines from now on.
    pub(in crate::cloud) fn share_with_machines(&self, machines: u32) {
        self.limiter.borrow_mut().share_with_machines(machines);
    }

    /// Updates the limiter from a response.
    pub(in crate::cloud) fn observe_answer(
        &self,
        answer: &HttpResponse,
        clock: &impl Clock,
        random: &impl Random,
    ) {
        let fraction = random.fraction();
        if self.limiter.borrow().is_news(answer) {
            self.update_limiter(clock, |limiter, now| limiter.observe_answer(answer, now, fraction));
        } else {
            self.limiter.borrow_mut().observe_answer(answer, clock.elapsed(), fraction);
        }
    }

    /// Shares the limiter with other processes from now on. They must use the same clock.
    pub(in crate::cloud) fn share_with(&self, shared: Box<dyn SharedRateLimit>) {
        *self.shared.borrow_mut() = Some(shared);
    }

    /// Changes the limiter: the shared one if there is one, otherwise this process's own.
    fn update_limiter<T>(&self, clock: &impl Clock, change: impl Fn(&mut RateLimit, Duration) -> T) -> T {
        let mut limiter = self.limiter.borrow_mut();
        let mut changed = None;
        if let Some(shared) = &*self.shared.borrow() {
            shared.update(&mut |state| {
                // Waiting for the lock may have taken a while.
                let now = clock.elapsed();
                if let Some(state) = state {
                    limiter.apply_shared_state(&state, now);
                }
                changed = Some(change(&mut limiter, now));
                limiter.state()
            });
        }
        changed.unwrap_or_else(|| change(&mut limiter, clock.elapsed()))
    }

    /// Returns the assumed limit of the service, in requests per second.
    pub(in crate::cloud) fn rate(&self) -> u32 {
        self.limiter.borrow().rate()
    }

    /// Returns the time for which no request is admitted, after a refusal.
    pub(in crate::cloud) fn blocked_for(&self, clock: &impl Clock) -> Duration {
        self.limiter.borrow().blocked_for(clock.elapsed())
    }
}
