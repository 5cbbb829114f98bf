//! `DueAmount`: what the service charges or refunds at once when it makes a step. Monthly figures never contain it. The
//! amount for the rest of a paid month depends on the time of the step, so a plan keeps what determines it.

use jiff::Timestamp;
use rust_decimal::{Decimal, RoundingStrategy};
use serde::{Deserialize, Serialize};

use crate::model::schema::MONTH_HOURS;

const HOUR_SECS: i64 = 3_600;

/// What is charged (positive) or refunded (negative) when a step is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DueAmount {
    /// The number of the step in the plan.
    pub step: usize,
    /// The exact amount for a whole month in USD; `None` where the service shows no rule, or the price is not known.
    pub month: Option<Decimal>,
    /// The beginning of the first paid month, if the amount is for the rest of the current one; `None` if it is for
    /// a whole month.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paid_since: Option<Timestamp>,
}

impl DueAmount {
    /// Returns the amount at a time in USD, rounded to cents as the service rounds: half to even.
    #[must_use]
    pub fn amount_at(&self, now: Timestamp) -> Option<Decimal> {
        let month = self.month?;
        let hours = self.paid_since.map_or(MONTH_HOURS, |since| paid_hours_left(since, now));
        let share = month.checked_mul(Decimal::from(hours))? / Decimal::from(MONTH_HOURS);
        let mut cents = share.round_dp_with_strategy(2, RoundingStrategy::MidpointNearestEven);
        cents.rescale(2);
        Some(cents)
    }
}

/// Returns the number of full hours that are left of the month that is paid at a time.
fn paid_hours_left(since: Timestamp, now: Timestamp) -> i64 {
    let month = i128::from(MONTH_HOURS * HOUR_SECS) * 1_000;
    let used = now.duration_since(since).as_millis().max(0) % month;
    i64::try_from((month - used) / i128::from(HOUR_SECS * 1_000)).unwrap_or(0)
}

/// Returns the sum of amounts at a time; `None` if one of them is not known, or the sum has too many digits.
#[must_use]
pub fn sum_due(amounts: &[DueAmount], now: Timestamp) -> Option<Decimal> {
    amounts.iter().try_fold(Decimal::ZERO, |sum, due| sum.checked_add(due.amount_at(now)?))
}

/// What is due for many changes together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DueTotal {
    /// The sum of the known amounts in USD: charged if positive, refunded if negative.
    pub amount: Decimal,
    /// Number of changes whose amount is not known: the sum lacks them.
    pub unknown: usize,
    /// The time for which the amounts are computed; `None` if nothing is due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

impl DueTotal {
    /// Returns whether nothing is due.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds the amounts of one change at a time. A change without amounts has no effect.
    pub fn add(&mut self, amounts: &[DueAmount], at: Timestamp) {
        self.add_each(amounts.iter().map(|due| (due, at)));
    }

    /// Adds the amounts of one change, each at the time of its step. If one of them is not known, the change counts as not known,
    /// as a whole. A change without amounts has no effect.
    pub fn add_each<'d>(&mut self, amounts: impl Iterator<Item = (&'d DueAmount, Timestamp)>) {
        let (mut sum, mut last) = (Some(Decimal::ZERO), None);
        for (due, at) in amounts {
            last = last.max(Some(at));
            sum = sum.zip(due.amount_at(at)).and_then(|(sum, amount)| sum.checked_add(amount));
        }
        if last.is_none() {
            return;
        }
        self.at = self.at.max(last);
        match sum.and_then(|amount| self.amount.checked_add(amount)) {
            Some(amount) => self.amount = amount,
            None => self.unknown += 1,
        }
    }

    /// Returns the sum of two totals.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self {
            amount: self.amount.saturating_add(other.amount),
            unknown: self.unknown + other.unknown,
            at: self.at.max(other.at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn only_full_hours_of_the_paid_month_count() {
        let begin = at("2026-07-01T12:00:00Z");
        let due = |month: &str, now: &str| {
            let due = DueAmount { step: 0, month: month.parse().ok(), paid_since: Some(begin) };
            due.amount_at(at(now)).unwrap().to_string()
        };
        assert_eq!(due("73.00", "2026-07-01T12:00:00Z"), "73.00");
        assert_eq!(due("73.00", "2026-07-01T12:00:01Z"), "72.90", "the first hour has begun");
        assert_eq!(due("73.00", "2026-07-01T13:00:00Z"), "72.90");
        assert_eq!(due("-73.00", "2026-07-31T21:59:59Z"), "0.00", "less than an hour is left");
        assert_eq!(due("73.00", "2026-07-31T22:00:00Z"), "73.00", "the next month has begun");
        assert_eq!(due("73.00", "2026-06-01T00:00:00Z"), "73.00", "the clocks differ");
        // 5.475 × 2 / 3 and 1.825 / 365 …: half a cent is rounded to the even cent.
        let whole = DueAmount { step: 0, month: "1.025".parse().ok(), paid_since: None };
        assert_eq!(whole.amount_at(begin).unwrap().to_string(), "1.02");
    }

    #[test]
    fn an_unknown_amount_is_counted_and_not_taken_as_zero() {
        let now = at("2026-07-01T12:00:00Z");
        let due =
            |month: Option<i64>| DueAmount { step: 0, month: month.map(Decimal::from), paid_since: None };
        let mut total = DueTotal::default();
        total.add(&[], now);
        assert_eq!(total, DueTotal::default());
        total.add(&[due(Some(5)), due(Some(-2))], now);
        total.add(&[due(Some(5)), due(None)], now);
        assert_eq!((total.amount, total.unknown, total.at), (Decimal::from(3), 1, Some(now)));
    }
}
