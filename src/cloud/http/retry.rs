//! `RetryState`: the time to wait before a read, or a refused request, is sent again. The caller sleeps.

use std::time::Duration;

use super::rate_limit::backoff_delay;

/// Maximum number of attempts for one request.
const MAX_ATTEMPTS: u32 = 6;

/// Maximum number of attempts for a rate-limited request: each refusal is cheap and states when to retry.
const MAX_RATE_LIMITED_ATTEMPTS: u32 = 8;

/// Maximum time between the first attempt and the start of the last one.
const MAX_RETRY_TIME: Duration = Duration::from_mins(3);

/// Maximum wait that a response can request.
const MAX_RETRY_AFTER: Duration = Duration::from_mins(1);

/// The kind of failure of one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryReason {
    /// 429, and the time to wait. The rate limiter does the waiting.
    RateLimited(Duration),
    /// Any temporary failure: 5xx, no response, not sent, an incomplete body.
    Transient(Option<u32>),
}

/// The attempts of one request.
#[derive(Debug, Clone)]
pub struct RetryState {
    started: Duration,
    longest: Duration,
    tries: u32,
    limited: u32,
}

impl RetryState {
    /// Returns a new count for a request whose first attempt is now.
    #[must_use]
    pub fn new(now: Duration) -> Self {
        Self { started: now, longest: MAX_RETRY_TIME, tries: 0, limited: 0 }
    }

    /// Returns the same with a shorter time limit.
    #[must_use]
    pub fn with_time_limit(self, longest: Duration) -> Self {
        Self { longest, ..self }
    }

    /// Returns the time to wait before the next attempt; `None` to give up.
    pub fn next_delay(&mut self, failure: RetryReason, now: Duration, fraction: f64) -> Option<Duration> {
        let wait = match failure {
            RetryReason::RateLimited(held) => {
                self.limited += 1;
                (self.limited < MAX_RATE_LIMITED_ATTEMPTS).then_some(held)?
            }
            RetryReason::Transient(retry_after) => {
                let wait = backoff_delay(self.tries, fraction);
                self.tries += 1;
                let asked = Duration::from_secs(retry_after.unwrap_or(0).into());
                (self.tries < MAX_ATTEMPTS).then_some(wait.max(asked.min(MAX_RETRY_AFTER)))?
            }
        };
        (now + wait <= self.started + self.longest).then_some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transient_failures_back_off_until_a_limit() {
        let mut retry = RetryState::new(Duration::ZERO);
        let mut now = Duration::ZERO;
        let mut waits = Vec::new();
        while let Some(wait) = retry.next_delay(RetryReason::Transient(None), now, 0.0) {
            waits.push(wait.as_secs());
            now += wait;
        }
        assert_eq!(waits, [1, 2, 4, 8, 16]);
    }

    #[test]
    fn retry_after_extends_the_delay_up_to_a_limit() {
        let mut retry = RetryState::new(Duration::ZERO);
        assert_eq!(
            retry.next_delay(RetryReason::Transient(Some(30)), Duration::ZERO, 0.0),
            Some(Duration::from_secs(30))
        );
        assert_eq!(
            retry.next_delay(RetryReason::Transient(Some(86_400)), Duration::ZERO, 0.0),
            Some(Duration::from_mins(1))
        );
        assert_eq!(retry.next_delay(RetryReason::Transient(None), Duration::from_mins(3), 0.0), None);
    }

    #[test]
    fn rate_limit_refusals_are_counted_separately() {
        let mut retry = RetryState::new(Duration::ZERO);
        for _ in 0..7 {
            assert_eq!(
                retry.next_delay(RetryReason::RateLimited(Duration::ZERO), Duration::ZERO, 0.5),
                Some(Duration::ZERO)
            );
        }
        assert_eq!(retry.next_delay(RetryReason::RateLimited(Duration::ZERO), Duration::ZERO, 0.5), None);
    }
}
