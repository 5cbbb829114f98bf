//! Variants of the update protocol: the product's, those that show the use of each bound, and broken ones.

use super::explore::Fault::{Duplicate, Silent, Wrong};
use super::row::{Row, is_full};
use super::update::{Bug, HUMANS, TARGET, Update};

/// Returns the rows.
pub fn rows() -> Vec<Row<Update>> {
    let full = is_full();
    let calls = Update {
        once: false,
        effect_is_bounded: true,
        ignores: false,
        edit: Some(HUMANS),
        bug: None,
        requests: if full { 4 } else { 2 },
        crashes: 1,
        take_overs: 0,
    };
    let paused = if full {
        Update { requests: 3, take_overs: 1, ..calls }
    } else {
        Update { crashes: 0, take_overs: 1, ..calls }
    };
    let small = Update { requests: 2, edit: None, ..calls };
    let broken = |bug| Update { bug: Some(bug), ..small };
    let taken_over = |bug| Update { crashes: 0, take_overs: 1, ..broken(bug) };
    let row = |name, protocol, faults| Row { name, protocol, faults };
    vec![
        row("A2", calls, &[]),
        row("A2, a paused holder", paused, &[]),
        row("A2, the service accepts what it does not do", Update { ignores: true, ..calls }, &[]),
        row("A2, a call without a target", Update { once: true, ..calls }, &[]),
        row("without A2", Update { effect_is_bounded: false, ..small }, &[Silent]),
        row("broken: no intent", broken(Bug::NoIntent), &[Silent]),
        row("broken: another target at once", broken(Bug::NoWait), &[Silent]),
        row("broken: what is unknown is taken for refused", broken(Bug::UnknownIsRefused), &[Silent]),
        row(
            "broken: no read before a call",
            Update { edit: Some(HUMANS), ..broken(Bug::NoRead) },
            &[Wrong],
        ),
        row(
            "broken: accepted is taken for done",
            Update { ignores: true, requests: 3, ..broken(Bug::AcceptedIsDone) },
            &[Silent],
        ),
        row("broken: a paused holder's call is closed", taken_over(Bug::ForeignIsOwn), &[Silent]),
        row(
            "broken: a paused holder's call is done",
            Update { edit: Some(TARGET), ..taken_over(Bug::ForeignIsDone) },
            &[Silent],
        ),
        row(
            "broken: a call without a target is repeated",
            Update { once: true, requests: 3, ..broken(Bug::Repeats) },
            &[Duplicate],
        ),
        row("broken: no lease", broken(Bug::NoLease), &[Silent]),
    ]
}
