//! Variants of the replace protocol, for both orders: the product's, those that show the use of each bound, and broken
//! ones.

use super::explore::Fault::{Duplicate, Silent, Wrong};
use super::replace::{Bug, Order, Replace};
use super::row::{Row, is_full};

/// Returns the rows.
pub fn rows() -> Vec<Row<Replace>> {
    let crashes = if is_full() { 3 } else { 1 };
    let first = Replace { order: Order::CreateFirst, effect_is_bounded: true, bug: None, crashes };
    let last = Replace { order: Order::DeleteFirst, ..first };
    let late = |replace| Replace { effect_is_bounded: false, crashes: 1, ..replace };
    let broken = |bug| Replace { bug: Some(bug), crashes: 1, ..first };
    let broken_last = |bug| Replace { bug: Some(bug), crashes: 1, ..last };
    let row = |name, protocol, faults| Row { name, protocol, faults };
    vec![
        row("create first, A2 and A3", first, &[]),
        row("delete first, A2 and A3", last, &[]),
        row("create first, without bounds", late(first), &[Duplicate]),
        row("delete first, without bounds", late(last), &[Duplicate]),
        row("broken: create first, no intent", broken(Bug::NoIntent), &[Duplicate, Silent]),
        row("broken: create first, the old one is dropped", broken(Bug::DropsOld), &[Silent]),
        row("broken: create first, bound in two records", broken(Bug::TwoRecords), &[Silent]),
        row("broken: create first, the old one goes first", broken(Bug::OldGoesFirst), &[Wrong]),
        row("broken: create first, dependents are left", broken(Bug::LeavesDependents), &[Wrong]),
        row("broken: create first, the old one is a candidate", broken(Bug::OldIsCandidate), &[Wrong]),
        row("broken: create first, a 404 is enough", broken(Bug::NotFoundIsGone), &[Silent]),
        row("broken: delete first, a 404 is enough", broken_last(Bug::NotFoundIsGone), &[Silent]),
        row("broken: delete first, unknown is taken for gone", broken_last(Bug::UnknownIsGone), &[Silent]),
    ]
}
