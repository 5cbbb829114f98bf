//! `RateLimit`: the service's rate limit as the client sees it, pure; and the turnstile that waits.
//!
//! The service admits so many requests in any sliding second, pays for more out of a burst budget
//! that lasts a minute, and answers 429 when both are used up. It counts at arrival. So the client
//! keeps a little below each figure, counts every request in both ways that the service might, and
//! spaces requests evenly once it has to wait: then network jitter cannot bunch them into a 429.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::message::HttpResponse;

/// Requests a second of the standard tier.
const STANDARD_RATE: u32 = 30;

/// No tier is believed to be faster than this, whatever a header says.
const MAX_RATE: u32 = 1_000;

/// The service's second, and what arrival times can differ by.
const RATE_WINDOW: Duration = Duration::from_millis(1_020);

/// The service's minute, and what arrival times can differ by.
const BURST_WINDOW: Duration = Duration::from_secs(61);

/// Longest wait after repeated refusals.
const MAX_PENALTY: Duration = Duration::from_mins(1);

/// No hold of another process is believed to last longer.
const MAX_HOLD: Duration = Duration::from_hours(1);

/// A request limit of so many a second plus a burst budget, as a value.
#[derive(Debug, Clone)]
pub struct RateLimit {
    rate: u32,
    /// When the requests of the last window were admitted.
    sent: VecDeque<Duration>,
    /// When the budget was spent, within the last minute.
    spent: VecDeque<Duration>,
    /// Someone had to wait: requests are spaced until half of the window is free again.
    paced: bool,
    /// Nothing is admitted before this.
    hold: Duration,
    /// Refusals in a row.
    refusals: u32,
}

/// A limiter as processes hand it on: times in nanoseconds of a clock that they share.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateLimitState {
    rate: u32,
    hold: u64,
    #[serde(default)]
    paced: bool,
    #[serde(default)]
    refusals: u32,
    #[serde(default)]
    sent: Vec<u64>,
    #[serde(default)]
    spent: Vec<u64>,
}

/// Where processes that use one key share what the service admits.
pub trait SharedRateLimit {
    /// Calls `change` once with what the others left, and keeps what it returns, while no other process does the same.
    /// It is not called where nothing can be shared now.
    fn update(&self, change: &mut dyn FnMut(Option<RateLimitState>) -> RateLimitState);
}

impl Default for RateLimit {
    fn default() -> Self {
        Self {
            rate: STANDARD_RATE,
            sent: VecDeque::new(),
            spent: VecDeque::new(),
            paced: false,
            hold: Duration::ZERO,
            refusals: 0,
        }
    }
}

impl RateLimit {
    /// Returns the requests a second that the service is taken to admit.
    #[must_use]
    pub fn rate(&self) -> u32 {
        self.rate
    }

    /// Begins at a rate that the service was seen to admit: its next answer may say otherwise.
    pub fn start_at(&mut self, rate: u32) {
        if (1..=MAX_RATE).contains(&rate) {
            self.rate = rate;
        }
    }

    /// Returns what other processes are told.
    #[must_use]
    pub fn state(&self) -> RateLimitState {
        let nanos = |time: &Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        RateLimitState {
            rate: self.rate,
            hold: nanos(&self.hold),
            paced: self.paced,
            refusals: self.refusals,
            sent: self.sent.iter().map(nanos).collect(),
            spent: self.spent.iter().map(nanos).collect(),
        }
    }

    /// Goes on from what other processes have done. False: it says what cannot be, and counts as nothing.
    pub fn apply_shared_state(&mut self, state: &RateLimitState, now: Duration) -> bool {
        let time = |nanos: &u64| Duration::from_nanos(*nanos);
        let is_past =
            |times: &[u64]| times.is_sorted() && times.last().is_none_or(|last| time(last) <= now);
        let most = MAX_RATE as usize * 2;
        let is_sound = (1..=MAX_RATE).contains(&state.rate)
            && is_past(&state.sent)
            && is_past(&state.spent)
            && state.sent.len().max(state.spent.len()) <= most
            && time(&state.hold) <= now + MAX_HOLD;
        if is_sound {
            *self = Self {
                rate: state.rate,
                sent: state.sent.iter().map(time).collect(),
                spent: state.spent.iter().map(time).collect(),
                paced: state.paced,
                hold: time(&state.hold),
                refusals: state.refusals,
            };
        }
        is_sound
    }

    /// Tells whether an answer says anything that others should know.
    #[must_use]
    pub fn is_news(&self, answer: &HttpResponse) -> bool {
        let other_rate = answer.limit.is_some_and(|limit| limit != self.rate);
        answer.status == 429 || other_rate || answer.remaining == Some(0) || self.refusals > 0
    }

    /// Admits one request now, or says how long to wait before asking again.
    ///
    /// # Errors
    /// The time to wait.
    pub fn admit(&mut self, now: Duration) -> Result<(), Duration> {
        drop_expired(&mut self.sent, now, RATE_WINDOW);
        drop_expired(&mut self.spent, now, BURST_WINDOW);
        if now < self.hold {
            self.paced = true;
            return Err(self.hold.saturating_sub(now));
        }
        if self.sent.len() < self.window_limit() / 2 {
            self.paced = false;
        }
        if let Some(wait) = self.spacing_left(now) {
            return Err(wait);
        }
        if self.sent.len() >= self.window_limit() {
            if self.spent.len() >= self.burst_limit() {
                self.paced = true;
                return Err(self.room_at(now).saturating_sub(now));
            }
            self.spent.push_back(now);
        }
        self.sent.push_back(now);
        Ok(())
    }

    /// Learns from an answer's headers and status.
    ///
    /// `fraction` in `0.0..1.0` spreads the waits of many clients.
    pub fn observe_answer(&mut self, answer: &HttpResponse, now: Duration, fraction: f64) {
        if let Some(limit) = answer.limit.filter(|limit| (1..=MAX_RATE).contains(limit)) {
            self.rate = limit;
        }
        if answer.status == 429 {
            self.back_off(answer.retry_after, now, fraction);
        } else if now >= self.hold {
            self.refusals = 0;
            let room = self.sent.len() < self.window_limit() / 2;
            self.paced |= answer.remaining == Some(0) && room;
        }
    }

    /// Returns how long nothing will be admitted after a refusal; zero otherwise.
    #[must_use]
    pub fn blocked_for(&self, now: Duration) -> Duration {
        self.hold.saturating_sub(now)
    }

    /// Everyone backs off: answers to requests that were under way together count once.
    fn back_off(&mut self, retry_after: Option<u32>, now: Duration, fraction: f64) {
        let asked = Duration::from_secs(retry_after.unwrap_or(1).into());
        if now < self.hold {
            self.hold = self.hold.max(now + asked);
            return;
        }
        let penalty = backoff_delay(self.refusals, fraction).max(asked);
        self.refusals = self.refusals.saturating_add(1);
        self.hold = now + penalty;
        self.paced = true;
        // Whoever shares the key has spent the budget.
        self.spent.clear();
        self.spent.extend(std::iter::repeat_n(now, self.burst_limit()));
    }

    /// Returns the rest of the even spacing, while it is in force.
    fn spacing_left(&self, now: Duration) -> Option<Duration> {
        let last = self.sent.back().filter(|_| self.paced)?;
        let spacing = RATE_WINDOW / u32::try_from(self.window_limit()).unwrap_or(1);
        (*last + spacing).checked_sub(now).filter(|wait| !wait.is_zero())
    }

    /// Returns when the window or the budget has room again.
    fn room_at(&self, now: Duration) -> Duration {
        let beyond = self.sent.len() - self.window_limit();
        let window = self.sent.get(beyond).map_or(now, |at| *at + RATE_WINDOW);
        let budget = self.spent.front().map_or(window, |at| *at + BURST_WINDOW);
        window.min(budget)
    }

    /// Requests of a window: one in thirty below the service's figure.
    fn window_limit(&self) -> usize {
        with_safety_margin(self.rate)
    }

    /// The burst budget of a minute, likewise below the service's figure.
    fn burst_limit(&self) -> usize {
        with_safety_margin(self.rate.saturating_mul(2))
    }
}

/// Returns 1, 2, 4 … 60 seconds and up to half as much again.
#[must_use]
pub fn backoff_delay(times: u32, fraction: f64) -> Duration {
    let seconds = Duration::from_secs(1 << times.min(6)).min(MAX_PENALTY);
    seconds + seconds.mul_f64(fraction.clamp(0.0, 1.0) / 2.0)
}

fn with_safety_margin(figure: u32) -> usize {
    (figure - figure.div_ceil(30)).max(1) as usize
}

fn drop_expired(times: &mut VecDeque<Duration>, now: Duration, window: Duration) {
    while times.front().is_some_and(|at| *at + window <= now) {
        times.pop_front();
    }
}

#[cfg(test)]
mod tests;
