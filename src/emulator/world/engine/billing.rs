//! `Billing` and `Charge`: how an object is billed, and its price; and `UsageMeter`, the total of the hourly charges.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::money;
use crate::emulator::world::Time;

/// Values that the field `billing_type` can have.
pub(in crate::emulator::world) const BILLING_TYPES: &[&str] = &["payg", "subscription"];

/// Seconds in an hour.
pub(in crate::emulator::world) const HOUR: i64 = 3_600;

/// How an object is billed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub(in crate::emulator::world) enum Billing {
    /// By the hour, in arrears.
    Payg,
    /// By the month of 730 hours, in advance and from the balance; `paid_until` is the end of the paid period.
    Subscription { id: Uuid, paid_until: Time },
}

impl Billing {
    pub(in crate::emulator::world) fn as_str(self) -> &'static str {
        match self {
            Self::Payg => "payg",
            Self::Subscription { .. } => "subscription",
        }
    }

    /// Returns the subscription's id; `None` for hourly billing.
    pub(in crate::emulator::world) fn subscription_id(self) -> Option<Uuid> {
        match self {
            Self::Payg => None,
            Self::Subscription { id, .. } => Some(id),
        }
    }

    /// Returns the charge of an object with the given monthly price.
    pub(in crate::emulator::world) fn charge(self, month: Decimal) -> Charge {
        let paid_until = match self {
            Self::Payg => None,
            Self::Subscription { paid_until, .. } => Some(paid_until),
        };
        Charge { month, paid_until }
    }

    /// Moves the end of the paid period; no effect on hourly billing.
    pub(in crate::emulator::world) fn extend(&mut self, until: Time) {
        if let Self::Subscription { paid_until, .. } = self {
            *paid_until = until;
        }
    }

    /// Returns the number of whole hours that are paid but not used yet; 0 for hourly billing.
    pub(in crate::emulator::world) fn hours_left(self, now: Time) -> i64 {
        match self {
            Self::Payg => 0,
            Self::Subscription { paid_until, .. } => {
                (paid_until.duration_since(now).as_secs() / HOUR).max(0)
            }
        }
    }
}

/// The price of an object, and how far it is paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::emulator::world) struct Charge {
    /// Exact monthly price in USD, before rounding.
    pub(in crate::emulator::world) month: Decimal,
    /// End of the paid period of a subscription; `None` for hourly billing.
    pub(in crate::emulator::world) paid_until: Option<Time>,
}

impl Charge {
    pub(in crate::emulator::world) fn hourly_price(self) -> Decimal {
        money::hourly_price(self.month)
    }
}

/// Total of the hourly charges. `run` must be called before each change of prices, because it applies one rate to
/// the whole time since the last call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::emulator::world) struct UsageMeter {
    /// Hourly prices times milliseconds: exact, so that the bill does not depend on how often it is computed.
    used: Decimal,
    since: Time,
}

impl UsageMeter {
    pub(in crate::emulator::world) fn new(now: Time) -> Self {
        Self { used: Decimal::ZERO, since: now }
    }

    fn usage_at(self, now: Time, rate: Decimal) -> Decimal {
        let elapsed = now.duration_since(self.since).as_millis().max(0);
        let elapsed = Decimal::try_from_i128_with_scale(elapsed, 0).unwrap_or_default();
        (self.used + rate * elapsed).normalize()
    }

    /// Returns the total in USD at a time, given the rate per hour since the last update.
    pub(in crate::emulator::world) fn amount_at(self, now: Time, rate: Decimal) -> Decimal {
        (self.usage_at(now, rate) / Decimal::from(HOUR * 1_000)).round_dp(8)
    }

    /// Adds the charges up to `now` at the rate per hour that applied since the last call.
    pub(in crate::emulator::world) fn run(&mut self, now: Time, rate: Decimal) {
        self.used = self.usage_at(now, rate);
        self.since = now.max(self.since);
    }
}
