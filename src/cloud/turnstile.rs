//! `Turnstile`: the limiter with a queue in front: first come, first served.

use std::cell::RefCell;
use std::time::Duration;

use tokio::sync::Mutex;

use super::exchange::Answer;
use super::limiter::Limiter;
use crate::model::clock::{Clock, Random};

/// A limiter that many futures of one task wait at.
#[derive(Default)]
pub(super) struct Turnstile {
    /// Held by whoever is first in the queue; the lock hands itself on in order of arrival.
    turn: Mutex<()>,
    limiter: RefCell<Limiter>,
}

impl Turnstile {
    /// Waits until one more request may be sent. Tells of each wait before it starts; returns how
    /// long the limiter itself (not the queue) held the request.
    pub(super) async fn pass(&self, clock: &impl Clock, tell: impl Fn(Duration)) -> Duration {
        let _turn = self.turn.lock().await;
        let mut waited = Duration::ZERO;
        loop {
            let admitted = self.limiter.borrow_mut().admit(clock.elapsed());
            let Err(wait) = admitted else { return waited };
            tell(wait);
            clock.sleep(wait).await;
            waited += wait;
        }
    }

    /// Begins at a rate that the service was seen to admit.
    pub(super) fn start_at(&self, rate: u32) {
        self.limiter.borrow_mut().start_at(rate);
    }

    /// Learns from an answer.
    pub(super) fn learn(&self, answer: &Answer, clock: &impl Clock, random: &impl Random) {
        self.limiter.borrow_mut().learn(answer, clock.elapsed(), random.fraction());
    }

    /// Returns the requests a second that the service is taken to admit.
    pub(super) fn rate(&self) -> u32 {
        self.limiter.borrow().rate()
    }

    /// Returns how long nothing will pass, after a refusal.
    pub(super) fn held(&self, clock: &impl Clock) -> Duration {
        self.limiter.borrow().held(clock.elapsed())
    }
}
