//! Billing: hourly charges, monthly subscriptions paid in advance, and billing validation.

use rust_decimal::Decimal;

use super::world::World;
use crate::emulator::world::Time;
use crate::emulator::world::engine::billing::{Billing, HOUR};
use crate::emulator::world::engine::money::{self, MONTH_HOURS};
use crate::emulator::world::engine::status_timeline::time_after;
use crate::emulator::world::engine::table::{RecordKind, Table};

impl World {
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
