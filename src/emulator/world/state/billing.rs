//! Billing: what is used by the hour, what is paid by the month in advance, and who may spend.

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

/// The words of `billing_type`.
pub(in crate::emulator::world) const BILLING_TYPES: &[&str] = &["payg", "subscription"];

const HOUR: i64 = 3_600;

/// How an object is paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub(in crate::emulator::world) enum Billing {
    /// By the hour, afterwards.
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

    /// Returns the subscription's id, or nothing.
    pub(in crate::emulator::world) fn subscription_id(self) -> Option<Uuid> {
        match self {
            Self::Payg => None,
            Self::Subscription { id, .. } => Some(id),
        }
    }

    /// Returns the charge of an object that costs so much a month.
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

    /// Returns the whole hours that are paid and not used yet.
    fn hours_left(self, now: Time) -> i64 {
        match self {
            Self::Payg => 0,
            Self::Subscription { paid_until, .. } => {
                (paid_until.duration_since(now).as_secs() / HOUR).max(0)
            }
        }
    }
}

/// What an object costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::emulator::world) struct Charge {
    /// The exact price of a month.
    pub(in crate::emulator::world) month: Decimal,
    /// Up to when a subscription is paid.
    pub(in crate::emulator::world) paid_until: Option<Time>,
}

impl Charge {
    pub(in crate::emulator::world) fn hourly_price(self) -> Decimal {
        money::hourly_price(self.month)
    }
}

/// What was used by the hour so far. It runs with the clock, so each change of prices finds it current.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::emulator::world) struct UsageMeter {
    /// Prices of an hour times milliseconds: exact, so that the bill is the same however often one looks.
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

    /// Returns the amount at a time, at one rate since the last look.
    pub(in crate::emulator::world) fn amount_at(self, now: Time, rate: Decimal) -> Decimal {
        (self.usage_at(now, rate) / Decimal::from(HOUR * 1_000)).round_dp(8)
    }

    pub(in crate::emulator::world) fn run(&mut self, now: Time, rate: Decimal) {
        self.used = self.usage_at(now, rate);
        self.since = now.max(self.since);
    }
}

impl World {
    /// Pays what is due; money that the balance lacks comes from the card.
    pub(in crate::emulator::world) fn settle_subscriptions(&mut self, now: Time) {
        let due = self.renew_all(now);
        if !due.is_zero() {
            self.account.balance = (self.account.balance - due).max(Decimal::ZERO);
        }
    }

    /// Gives back what a subscription paid for and did not use, by whole hours.
    pub(in crate::emulator::world) fn refund(&mut self, billing: Billing, month: Decimal, now: Time) {
        self.account.balance += money::share_of_month(month, billing.hours_left(now));
    }
}

/// Extends the subscriptions that are due; returns what they cost.
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
            // The end of time: nothing is due after it.
            break;
        }
    }
    total
}

impl Call<'_> {
    /// Refuses what costs money to an account that failed billing validation.
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

    /// Reads `billing_type`.
    pub(in crate::emulator::world) fn billing_type(&self) -> Result<&'static str, ErrorResponse> {
        let read = self.body.optional_field("billing_type", |field| field.one_of(BILLING_TYPES))?;
        Ok(read.unwrap_or("payg"))
    }

    /// Begins to bill: a subscription pays its first month from the balance.
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
