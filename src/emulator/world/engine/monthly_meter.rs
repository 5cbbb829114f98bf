//! `MonthMeter`: the exact amount used in the current calendar month (UTC) and in the previous one. The spend cap of
//! apps is checked against it ("Other state").

use jiff::ToSpan;
use jiff::tz::TimeZone;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::emulator::world::Time;

/// Milliseconds per hour: amounts are stored multiplied by this, so that hourly rates stay exact.
const HOUR: i64 = 3_600_000;

/// Amounts by month. They are sums of rates times whole milliseconds, without rounding, so that one long step
/// gives the same result as many short ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct MonthMeter {
    since: Time,
    current: Decimal,
    previous: Decimal,
}

/// Returns the first moment of the month that contains `time` (UTC).
pub(in crate::emulator::world) fn month_start(time: Time) -> Time {
    let first = time.to_zoned(TimeZone::UTC).date().first_of_month();
    first.to_zoned(TimeZone::UTC).map_or(time, |zoned| zoned.timestamp())
}

/// Returns the first moment of the month after the one that contains `time` (UTC); the end of time if there is none.
pub(in crate::emulator::world) fn next_month(time: Time) -> Time {
    let first = time.to_zoned(TimeZone::UTC).date().first_of_month();
    let next = first.checked_add(1.month()).and_then(|date| date.to_zoned(TimeZone::UTC));
    next.map_or(Time::MAX, |zoned| zoned.timestamp())
}

/// Returns the amount that a rate per hour accrues between two times, in units of `1 / HOUR`.
fn accrued_amount(rate: Decimal, from: Time, to: Time) -> Decimal {
    rate.saturating_mul(Decimal::from((to.as_millisecond() - from.as_millisecond()).max(0)))
}

impl MonthMeter {
    /// Returns a meter that starts now, with amounts of zero.
    pub(in crate::emulator::world) fn new(now: Time) -> Self {
        Self { since: now, ..Self::default() }
    }

    /// Advances the meter to a time, at the rate per hour that applied since the last call. It may cross any number of
    /// months, of which it keeps the last two.
    pub(in crate::emulator::world) fn run(&mut self, now: Time, rate: Decimal) {
        let start = month_start(now);
        if self.since >= start {
            self.current = self.current.saturating_add(accrued_amount(rate, self.since, now));
        } else {
            let earlier = month_start(Time::from_millisecond(start.as_millisecond() - 1).unwrap_or(start));
            let carried = if self.since >= earlier { self.current } else { Decimal::ZERO };
            self.previous = carried.saturating_add(accrued_amount(rate, self.since.max(earlier), start));
            self.current = accrued_amount(rate, start, now);
        }
        self.since = self.since.max(now);
    }

    /// Returns the amount of the month of the last `run`, in the currency of the rate.
    pub(in crate::emulator::world) fn current_amount(&self) -> Decimal {
        self.current / Decimal::from(HOUR)
    }

    /// Returns the amount of the month before that.
    pub(in crate::emulator::world) fn previous_amount(&self) -> Decimal {
        self.previous / Decimal::from(HOUR)
    }

    /// Returns when this month's amount reaches a limit at a constant rate per hour; `None` if that is not within the
    /// month. A limit that is already reached gives the time of the last `run`.
    pub(in crate::emulator::world) fn limit_reached_at(
        &self,
        limit: Decimal,
        rate: Decimal,
    ) -> Option<Time> {
        let missing = limit.checked_mul(Decimal::from(HOUR))?.checked_sub(self.current)?;
        if missing <= Decimal::ZERO {
            return Some(self.since);
        }
        let steps = missing.checked_div(rate)?.ceil();
        let at = i64::try_from(steps).ok()?.checked_add(self.since.as_millisecond())?;
        Time::from_millisecond(at).ok().filter(|at| *at < next_month(self.since))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::emulator::world::engine::status_timeline::time_after;

    fn at(text: &str) -> Time {
        text.parse().unwrap()
    }

    #[test]
    fn amounts_are_metered_per_month() {
        let mut meter = MonthMeter::new(at("2026-01-31T22:00:00Z"));
        let rate = Decimal::from(2);
        meter.run(at("2026-02-01T03:00:00Z"), rate);
        assert_eq!((meter.previous_amount(), meter.current_amount()), (4.into(), 6.into()));
        meter.run(at("2026-02-01T04:00:00Z"), rate);
        assert_eq!((meter.previous_amount(), meter.current_amount()), (4.into(), 8.into()));
        // A whole month without a reading: February is over, and March is the month before.
        meter.run(at("2026-04-01T00:00:00Z"), rate);
        assert_eq!((meter.previous_amount(), meter.current_amount()), ((2 * 31 * 24).into(), 0.into()));
        assert_eq!(next_month(at("2026-12-31T23:59:59Z")), at("2027-01-01T00:00:00Z"));
        assert_eq!(next_month(Time::MAX), Time::MAX);
    }

    #[test]
    fn a_limit_is_reached_within_the_month_or_not_at_all() {
        let meter = MonthMeter::new(at("2026-03-01T00:00:00Z"));
        let hourly = Decimal::new(1, 1);
        assert_eq!(meter.limit_reached_at(Decimal::from(1), hourly), Some(at("2026-03-01T10:00:00Z")));
        assert_eq!(meter.limit_reached_at(Decimal::from(75), hourly), None);
        assert_eq!(meter.limit_reached_at(Decimal::from(1), Decimal::ZERO), None);
        assert_eq!(meter.limit_reached_at(Decimal::ZERO, Decimal::ZERO), Some(at("2026-03-01T00:00:00Z")));
    }

    proptest! {
        #[test]
        fn one_step_equals_many_steps(steps in prop::collection::vec(0i64..5_000_000, 1..20), rate in 0i64..100_000) {
            let begin = at("2026-01-20T00:00:00Z");
            let rate = Decimal::new(rate, 4);
            let mut many = MonthMeter::new(begin);
            let mut now = begin;
            for step in steps {
                now = time_after(now, step);
                many.run(now, rate);
            }
            let mut one = MonthMeter::new(begin);
            one.run(now, rate);
            prop_assert_eq!(many, one);
        }
    }
}
