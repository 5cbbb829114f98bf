//! Variants of the create protocol: the product's, those that show the use of each bound, and broken ones.

use super::create::{Budget, Bug, Create, Doubt, Mark};
use super::explore::Fault::{Duplicate, Silent, Wrong};
use super::row::{Row, is_full};

/// Returns the variants of the design, and the product's.
pub fn rows() -> Vec<Row<Create>> {
    let full = is_full();
    let attempts = if full { 3 } else { 2 };
    let small = Budget { attempts, crashes: 1, take_overs: 1 };
    let large = if full { Budget { attempts, crashes: 2, take_overs: 2 } } else { small };
    let bounded = Create {
        mark: Mark::Nonce,
        effect_is_bounded: true,
        listing_is_bounded: true,
        pauses: false,
        doubt: Doubt::Retry,
        bug: None,
        budget: small,
    };
    let nonce = Create { budget: large, ..bounded };
    let difference = Create { mark: Mark::Difference, ..nonce };
    let strict = Create {
        effect_is_bounded: false,
        listing_is_bounded: false,
        pauses: true,
        doubt: Doubt::Strict,
        ..bounded
    };
    let paused = |create, doubt| Create { pauses: true, doubt, ..create };
    let late = |create| Create { effect_is_bounded: false, budget: small, ..create };
    let bug = |create, bug| Create { bug: Some(bug), budget: small, ..create };
    let row = |name, protocol, faults| Row { name, protocol, faults };
    vec![
        row("nonce, A2 and A3", nonce, &[]),
        row("nonce, a paused holder, asks of others", paused(nonce, Doubt::AskOfOthers), &[]),
        row("nonce, a paused holder, asks of the unproven", paused(nonce, Doubt::AskOfUnproven), &[]),
        row("nonce, strict, no bound holds", strict, &[]),
        row("nonce, a paused holder, retries", paused(bounded, Doubt::Retry), &[Duplicate]),
        row("nonce, without A3", Create { listing_is_bounded: false, ..bounded }, &[Duplicate]),
        row("nonce, without A2", late(nonce), &[Duplicate]),
        row("difference, A2 and A3", difference, &[]),
        row("difference, strict, no bound holds", Create { mark: Mark::Difference, ..strict }, &[]),
        row(
            "difference, a paused holder, asks of others",
            paused(difference, Doubt::AskOfOthers),
            &[Wrong],
        ),
        row(
            "difference, a paused holder, asks of the unproven",
            paused(difference, Doubt::AskOfUnproven),
            &[Wrong],
        ),
        row("difference, without A2", late(difference), &[Duplicate, Wrong]),
        row("broken: no intent", bug(nonce, Bug::NoIntent), &[Duplicate, Silent]),
        row(
            "broken: what is unknown is taken for refused",
            bug(nonce, Bug::UnknownIsRefused),
            &[Duplicate],
        ),
        row("broken: no recovery", bug(nonce, Bug::NoRecovery), &[Duplicate]),
        row("broken: no lease", bug(nonce, Bug::NoLease), &[Duplicate]),
        row("broken: difference, binds early", bug(difference, Bug::BindsEarly), &[Wrong]),
        row("broken: difference, no baseline", bug(difference, Bug::NoBaseline), &[Wrong]),
    ]
}
