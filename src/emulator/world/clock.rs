//! The clock: advances the world's time, and handles the events of all kinds that are due by then. Each request moves
//! the clock first, so that a handler never sees a state that time has overtaken.

use rust_decimal::Decimal;

use super::Time;
use super::account::spend_cap::next_spend_event;
use super::engine::table::Table;
use super::request::handlers::{Handlers, ScheduledEvent};
use super::state::account::to_millisecond;
use super::state::world::{World, for_each_kind};

/// Advances the world's clock and handles all events that are due by then, in order of time. Returns the world's
/// time: `now` in whole milliseconds, or the latest time seen if that is later.
pub(super) fn tick(world: &mut World, now: Time) -> Time {
    let now = to_millisecond(now).max(world.account.latest);
    while let Some(due) = next_due(world).filter(|due| due.at <= now) {
        // Up to the event the old prices apply: it may create, resize or delete what is billed.
        advance(world, due.at);
        (due.happen)(world, due.id, due.at, now);
    }
    advance(world, now);
    now
}

/// Advances the meters to a time. No price may have changed since the last call.
fn advance(world: &mut World, now: Time) {
    world.account.latest = now.max(world.account.latest);
    world.account.meter.run(now, world.hourly_rate());
    world.account.app_spend.run(now, world.apps.hourly_rate());
    settle_subscriptions(world, now);
}

/// Pays the subscriptions that are due; the card pays what the balance does not cover.
fn settle_subscriptions(world: &mut World, now: Time) {
    let due = world.renew_all(now);
    if !due.is_zero() {
        world.account.balance = (world.account.balance - due).max(Decimal::ZERO);
    }
}

/// Declares the search for the next event of all tables.
macro_rules! next_events {
    ($($field:ident: $body:ty,)*) => {
        /// Returns the earliest scheduled event; `None` if nothing is scheduled.
        fn next_due(world: &World) -> Option<ScheduledEvent> {
            let all = [$(next_table_event::<$body>(&world.$field)),*, next_spend_event(world)];
            all.into_iter().flatten().min_by_key(|due| due.at)
        }
    };
}

for_each_kind!(next_events);

fn next_table_event<T: Handlers>(table: &Table<T>) -> Option<ScheduledEvent> {
    table.next().map(|(at, id)| ScheduledEvent { at, id, happen: T::happen })
}
