//! `ServerRateLimiter`: the service's rate limit ("Rate limiting (per key)"), a sliding window of one second and a
//! burst budget that is restored in full a minute after its first use. Pure: the caller passes in the time and
//! carries out the decision.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use super::world::RateTier;

/// Length of the sliding window.
const WINDOW: Duration = Duration::from_secs(1);
/// Time after which the burst budget is full again.
const REFILL: Duration = Duration::from_mins(1);
/// Number of callers from which on idle ones are forgotten. Active ones are kept, even above this number.
const MAX_REMEMBERED_CALLERS: usize = 1_024;

/// The limiter's decision on one request, with the numbers for the rate limit headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimitStatus {
    /// Whether the request is within the limit.
    pub allowed: bool,
    /// Requests per second that the tier allows.
    pub limit: usize,
    /// How many more requests the current window allows without the burst budget.
    pub remaining: usize,
}

impl RateLimitStatus {
    /// What responses say without a limiter: as high a rate as any client accepts from a header, so that none keeps to
    /// the standard tier's.
    pub const UNLIMITED: Self = Self { allowed: true, limit: 1_000, remaining: 1_000 };
}

/// The window and the burst budget of one caller. Times are real and passed in by the caller.
#[derive(Debug, Default)]
struct CallerBudget {
    /// Times of the requests that were admitted within the last second.
    recent: VecDeque<Duration>,
    /// When the burst window began, and how many requests above the limit were admitted since; `None`
    /// before the first request.
    burst: Option<(Duration, usize)>,
}

impl CallerBudget {
    fn admit(&mut self, tier: RateTier, now: Duration) -> RateLimitStatus {
        let (limit, budget) = tier.bounds();
        while self.recent.front().is_some_and(|time| now.saturating_sub(*time) >= WINDOW) {
            self.recent.pop_front();
        }
        let (start, spent) = match self.burst {
            Some((start, spent)) if now.saturating_sub(start) < REFILL => (start, spent),
            _ => (now, 0),
        };
        let above = self.recent.len() >= limit;
        let allowed = !above || spent < budget;
        // A refused request uses up nothing; the very first request starts the burst window.
        self.burst = Some((start, spent + usize::from(above && allowed)));
        if allowed {
            self.recent.push_back(now);
        }
        RateLimitStatus { allowed, limit, remaining: limit.saturating_sub(self.recent.len()) }
    }

    fn is_idle(&self, now: Duration) -> bool {
        self.burst.is_none_or(|(start, _)| now.saturating_sub(start) >= REFILL)
            && self.recent.back().is_none_or(|time| now.saturating_sub(*time) >= WINDOW)
    }
}

/// The limiters of all callers: one per API key, and one per peer address for requests without a valid key.
#[derive(Debug, Default)]
pub struct ServerRateLimiter {
    callers: HashMap<String, CallerBudget>,
}

impl ServerRateLimiter {
    /// Decides on one request of a caller, and counts it if it is admitted. `now` counts from some fixed
    /// moment and never decreases.
    pub fn admit(&mut self, caller: &str, tier: RateTier, now: Duration) -> RateLimitStatus {
        if let Some(known) = self.callers.get_mut(caller) {
            return known.admit(tier, now);
        }
        // Clients without a key are distinguished by address, so their number is not bounded by the keys.
        if self.callers.len() >= MAX_REMEMBERED_CALLERS {
            self.callers.retain(|_, caller| !caller.is_idle(now));
        }
        self.callers.entry(caller.to_owned()).or_default().admit(tier, now)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn allowed(limiter: &mut ServerRateLimiter, tier: RateTier, millis: u64) -> bool {
        limiter.admit("key", tier, Duration::from_millis(millis)).allowed
    }

    #[test]
    fn a_burst_is_limited_to_the_window_plus_the_burst_size() {
        for (tier, most) in [(RateTier::Standard, 90), (RateTier::High, 300)] {
            let mut limiter = ServerRateLimiter::default();
            assert_eq!((0..1_000).filter(|_| allowed(&mut limiter, tier, 0)).count(), most);
        }
    }

    #[test]
    fn the_budget_is_restored_a_minute_after_the_first_request() {
        let mut limiter = ServerRateLimiter::default();
        let mut storm = |at| (0..200).filter(|_| allowed(&mut limiter, RateTier::Standard, at)).count();
        assert_eq!([storm(0), storm(1_000), storm(59_999), storm(60_999)], [90, 30, 30, 90]);
    }

    #[test]
    fn each_caller_has_its_own_limit() {
        let mut limiter = ServerRateLimiter::default();
        while allowed(&mut limiter, RateTier::Standard, 0) {}
        assert!(limiter.admit("other", RateTier::Standard, Duration::ZERO).allowed);
    }

    #[test]
    fn the_remaining_count_decreases_and_idle_callers_are_removed() {
        let mut limiter = ServerRateLimiter::default();
        let first = limiter.admit("key", RateTier::Standard, Duration::ZERO);
        assert_eq!((first.limit, first.remaining), (30, 29));
        for n in 0..5_000 {
            limiter.admit(&n.to_string(), RateTier::Standard, Duration::from_secs(n * 61));
        }
        assert!(limiter.callers.len() <= MAX_REMEMBERED_CALLERS + 1);
    }

    proptest! {
        #[test]
        fn no_minute_exceeds_its_limit(steps in prop::collection::vec(0u64..200, 1..2_000)) {
            let mut limiter = ServerRateLimiter::default();
            let mut now = 0;
            let mut passed = Vec::new();
            for step in steps {
                now += step;
                if allowed(&mut limiter, RateTier::Standard, now) {
                    passed.push(now);
                }
            }
            for (index, start) in passed.iter().enumerate() {
                let second = passed[index..].iter().take_while(|time| *time - start < 1_000).count();
                // Two budgets can meet at the border of two minutes.
                prop_assert!(second <= 30 + 60 + 60, "{second} in the second from {start}");
            }
            // Who keeps to 30 in each second is never refused.
            let mut steady = ServerRateLimiter::default();
            prop_assert!((0..3_000).all(|n| allowed(&mut steady, RateTier::Standard, n * 34)));
        }
    }
}
