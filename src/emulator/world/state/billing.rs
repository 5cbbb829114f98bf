//! Billing: hourly charges, monthly subscriptions paid in advance, and billing validation.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::world::World;
use crate::emulator::world::Time;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::money::{self, MONTH_HOURS};
use crate::emulator::world::engine::status_timeline::time_after;
use crate::emulator::world::engine::table::{RecordKind, Table};
use crate::emulator::world::request::call::Call;

/// Values that the field `billing_type` can have.
pub(in crate::emulator::world) const BILLING_TYPES: &[&str] = &["payg", "subscription"];

const HOUR: i64 = 3_600;

/// How an object is billed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub(in crate::emulator::world) enum Billing {
    /// By the hour, in arrears.
    Payg,
    /// By the month, in advance.
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

    pub(in crate::emulator::world) fn extend(&mut self, until: Time) {
        if let Self::Subscription { paid_until, .. } = self {
            *paid_until = until;
        }
    }

    /// Returns the number of whole hours that are paid but not used yet.
    fn hours_left(self, now: Time) -> i64 {
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
    /// Exact price of one month.
    pub(in crate::emulator::world) month: Decimal,
    /// End of the paid period of a subscription.
    pub(in crate::emulator::world) paid_until: Option<Time>,
}

impl Charge {
    pub(in crate::emulator::world) fn hourly_price(self) -> Decimal {
        money::hourly_price(self.month)
    }
}

/// Total of the hourly charges. It is advanced before each change of prices.
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

    /// Returns the total at a time, given the rate since the last update.
    pub(in crate::emulator::world) fn amount_at(self, now: Time, rate: Decimal) -> Decimal {
        (self.usage_at(now, rate) / Decimal::from(HOUR * 1_000)).round_dp(8)
    }

    pub(in crate::emulator::world) fn run(&mut self, now: Time, rate: Decimal) {
        self.used = self.usage_at(now, rate);
        self.since = now.max(self.since);
    }
}

impl World {
    /// Pays the subscriptions that are due; the card pays what the balance does not cover.
    pub(in crate::emulator::world) fn settle_subscriptions(&mut self, now: Time) {
        let due = self.renew_all(now);
        if !due.is_zero() {
            self.account.balance = (self.account.balance - due).max(Decimal::ZERO);
        }
    }

    /// Refunds the unused part of a subscription, by whole hours.
    pub(in crate::emulator::world) fn refund(&mut self, billing: Billing, month: Decimal, now: Time) {
        self.account.balance += money::share_of_month(month, billing.hours_left(now));
    }
}

/// Renews the subscriptions that are due; returns their total cost.
pub(in crate::emulator::world) fn renew_subscriptions<T: RecordKind>(
    table: &mut Table<T>,
    now: Time,
) -> Decimal {
    let mut total = Decimal::ZERO;
    while let Some((time, id)) = table.due_subscription(now) {
        let months = now.duration_since(time).as_secs() / (MONTH_HOURS * HOUR) + 1;
        let until = time_after(time, months * MONTH_HOURS * HOUR);
        let month = table.get(id).and_then(T::charge).map_or(Decimal::ZERO, |charge| charge.month);
        total += money::round_to_cents(month) * Decimal::from(months);
        table.amend(id, |record| T::renew(record, until));
        if until <= now {
            // The end of time is reached: no renewal can follow.
            break;
        }
    }
    total
}

impl Call<'_> {
    /// Refuses a paid request if the account failed billing validation.
    pub(in crate::emulator::world) fn validate_billing(&self) -> Result<(), ErrorResponse> {
        if !self.world.account.banned {
            return Ok(());
        }
        let message = "billing validation failed: please update the payment method of the account";
        Err(ErrorResponse {
            reason: Some("banned"),
            ..ErrorResponse::new(403, "Billing validation failed", message)
        })
    }

    /// Reads the body's `billing_type`; `payg` if it is missing.
    pub(in crate::emulator::world) fn billing_type(&self) -> Result<&'static str, ErrorResponse> {
        let read = self.body.optional_field("billing_type", |field| field.one_of(BILLING_TYPES))?;
        Ok(read.unwrap_or("payg"))
    }

    /// Starts billing: a subscription's first month is charged to the balance.
    pub(in crate::emulator::world) fn begin_billing(
        &mut self,
        billing_type: &str,
        month: Decimal,
    ) -> Result<Billing, ErrorResponse> {
        if billing_type == "payg" {
            return Ok(Billing::Payg);
        }
        self.withdraw(money::round_to_cents(month))?;
        let paid_until = time_after(self.now, MONTH_HOURS * HOUR);
        Ok(Billing::Subscription { id: self.world.fresh_id(), paid_until })
    }

    /// Charges or credits a change of price for the rest of the paid month; returns the amount.
    pub(in crate::emulator::world) fn adjust_billing(
        &mut self,
        billing: Billing,
        old: Decimal,
        new: Decimal,
    ) -> Result<Decimal, ErrorResponse> {
        let amount = money::share_of_month(new - old, billing.hours_left(self.now));
        self.withdraw(amount)?;
        Ok(amount)
    }

    fn withdraw(&mut self, amount: Decimal) -> Result<(), ErrorResponse> {
        let balance = self.world.account.balance;
        if amount > balance {
            return Err(ErrorResponse::payment_required(format!(
                "insufficient balance: {amount:.2} USD are needed and {balance:.2} USD are left"
            )));
        }
        self.world.account.balance = balance - amount;
        Ok(())
    }
}
