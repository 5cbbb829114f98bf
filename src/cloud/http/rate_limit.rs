//! `RateLimit`: the service's rate limit as a pure model of the client.
//!
//! The service admits a number of requests in any sliding second, takes further ones from a burst budget per minute,
//! and returns 429 when both are used up. It counts on arrival. So the client stays a little below each figure, counts
//! every request in both ways that the service might, and spaces requests evenly once it has to wait: then network
//! jitter cannot bunch them into a 429.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::message::HttpResponse;

/// Requests per second of the standard tier.
const STANDARD_RATE: u32 = 30;

/// Maximum rate that is accepted from a header.
const MAX_RATE: u32 = 1_000;

/// The service's window.
const SECOND: Duration = Duration::from_secs(1);

/// The same, plus a margin for differences in arrival times.
const RATE_WINDOW: Duration = Duration::from_millis(1_020);

/// The service's window of a minute, plus a margin for differences in arrival times.
const BURST_WINDOW: Duration = Duration::from_secs(61);

/// Over how many requests the even spacing holds on average: a timer is a little late each time, and the next requests make
/// up for it.
const AVERAGED_REQUESTS: u32 = 8;

/// Maximum wait after repeated refusals.
const MAX_PENALTY: Duration = Duration::from_mins(1);

/// Maximum hold that is accepted from another process.
const MAX_HOLD: Duration = Duration::from_hours(1);

/// A limit on requests per second plus a burst budget, as a value.
#[derive(Debug, Clone)]
pub struct RateLimit {
    rate: u32,
    /// Times at which the requests of the last window were admitted.
    sent: VecDeque<Duration>,
    /// Times at which the burst budget was used, within the last minute.
    spent: VecDeque<Duration>,
    /// A request had to wait: requests are spaced until half of the window is free again.
    paced: bool,
    /// No request is admitted before this time.
    hold: Duration,
    /// The number of consecutive refusals.
    refusals: u32,
    /// Machines that share the limit evenly, this one included. Processes of one machine share a state instead.
    machines: u32,
}

/// The state of a limiter for exchange between processes: times in nanoseconds of a common clock.
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

/// Storage through which processes with one key share the service's limit.
pub trait SharedRateLimit {
    /// Calls `change` once with the stored state of the other processes and stores its result, under mutual exclusion.
    /// Does not call it when sharing is impossible at the moment.
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
            machines: 1,
        }
    }
}

impl RateLimit {
    /// Returns the assumed limit of the service, in requests per second.
    #[must_use]
    pub fn rate(&self) -> u32 {
        self.rate
    }

    /// Starts at a rate that the service admitted earlier; the next response may correct it.
    pub fn start_at(&mut self, rate: u32) {
        if (1..=MAX_RATE).contains(&rate) {
            self.rate = rate;
        }
    }

    /// Uses an even share of the service's limit from now on: that of one of `machines` machines with the same key.
    pub fn share_with_machines(&mut self, machines: u32) {
        self.machines = machines.clamp(1, MAX_RATE);
    }

    /// Returns the state to share with other processes.
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

    /// Continues from the state of other processes. False: the state is impossible and was ignored.
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
                machines: self.machines,
            };
        }
        is_sound
    }

    /// Returns whether a response has information that other processes need.
    #[must_use]
    pub fn is_news(&self, answer: &HttpResponse) -> bool {
        let other_rate = answer.limit.is_some_and(|limit| limit != self.rate);
        answer.status == 429 || other_rate || answer.remaining == Some(0) || self.refusals > 0
    }

    /// Admits one request now, or returns the time to wait before the next attempt.
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
        let limit =
            if self.paced && self.has_budget() { self.share() as usize } else { self.window_limit() };
        if self.sent.len() >= limit {
            if self.spent.len() >= self.burst_limit() {
                self.paced = true;
                return Err(self.room_at(now, limit).saturating_sub(now));
            }
            self.spent.push_back(now);
        }
        self.sent.push_back(now);
        Ok(())
    }

    /// Updates the limiter from a response's headers and status.
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

    /// Returns the time for which no request is admitted after a refusal; zero otherwise.
    #[must_use]
    pub fn blocked_for(&self, now: Duration) -> Duration {
        self.hold.saturating_sub(now)
    }

    /// Starts a back-off: refusals of concurrent requests count once.
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
        // Another user of the key has used up the burst budget.
        self.spent.clear();
        self.spent.extend(std::iter::repeat_n(now, self.burst_limit()));
    }

    /// Returns the remaining time of the even spacing, while it is in force.
    fn spacing_left(&self, now: Duration) -> Option<Duration> {
        let last = self.sent.back().filter(|_| self.paced)?;
        let window = if self.has_budget() { SECOND } else { RATE_WINDOW };
        let spacing = window / u32::try_from(self.window_limit()).unwrap_or(1);
        let earliest = match self.sent.len().checked_sub(AVERAGED_REQUESTS as usize) {
            Some(first) => {
                let average = self.sent[first] + spacing * AVERAGED_REQUESTS;
                average.max(*last + spacing * 4 / 5)
            }
            None => *last + spacing,
        };
        earliest.checked_sub(now).filter(|wait| !wait.is_zero())
    }

    /// Returns the time at which the window or the budget has room again.
    fn room_at(&self, now: Duration, limit: usize) -> Duration {
        let beyond = self.sent.len() - limit;
        let window = self.sent.get(beyond).map_or(now, |at| *at + RATE_WINDOW);
        let budget = self.spent.front().map_or(window, |at| *at + BURST_WINDOW);
        window.min(budget)
    }

    /// Returns whether the burst budget can pay for evenly spaced requests that arrive too close to each other: then the window
    /// needs no margin.
    fn has_budget(&self) -> bool {
        self.spent.len() * 2 < self.burst_limit()
    }

    /// Returns the requests per second that the service allows to this machine.
    fn share(&self) -> u32 {
        (self.rate / self.machines).max(1)
    }

    /// Returns the requests per window: one in thirty below the service's figure.
    fn window_limit(&self) -> usize {
        with_safety_margin(self.share())
    }

    /// Returns the burst budget per minute, also below the service's figure.
    fn burst_limit(&self) -> usize {
        with_safety_margin(self.rate.saturating_mul(2) / self.machines)
    }
}

/// Returns 1, 2, 4 … 60 seconds and up to half as much again.
#[must_use]
pub fn backoff_delay(times: u32, fraction: f64) -> Duration {
    let seconds = Duration::from_secs(1 << times.min(6)).min(MAX_PENALTY);
    seconds + seconds.mul_f64(fraction.clamp(0.0, 1.0) / 2.0)
}

fn with_safety_margin(figure: u32) -> usize {
    figure.saturating_sub(figure.div_ceil(30)).max(1) as usize
}

fn drop_expired(times: &mut VecDeque<Duration>, now: Duration, window: Duration) {
    while times.front().is_some_and(|at| *at + window <= now) {
        times.pop_front();
    }
}

#[cfg(test)]
mod tests;
