//! Variants of the delete protocol: the product's, those that show the use of each bound, and broken ones.

use super::delete::{Bug, Delete, Proof, Spell};
use super::explore::Fault::{Silent, Wrong};
use super::row::{Row, is_full};

/// Returns the rows.
pub fn rows() -> Vec<Row<Delete>> {
    let calm = Delete {
        proof: Proof::CanaryAround,
        spell: Spell::OutlastsAProof,
        spells: 0,
        effect_is_bounded: true,
        ids_return: false,
        is_strangers: false,
        bug: None,
        attempts: if is_full() { 3 } else { 2 },
        crashes: if is_full() { 2 } else { 1 },
        take_overs: 1,
    };
    // A spell multiplies everything: what processes do to each other is the row above.
    let few = Delete { attempts: 2, crashes: 1, take_overs: u8::from(is_full()), ..calm };
    let hiding = |proof, spell| Delete { proof, spell, spells: 1, ..few };
    let hidden = hiding(Proof::CanaryAround, Spell::OutlastsAProof);
    let small = Delete { crashes: 1, take_overs: 0, attempts: 2, ..calm };
    let broken = |bug| Delete { bug: Some(bug), ..small };
    let row = |name, protocol, faults| Row { name, protocol, faults };
    vec![
        row("A2, everything is shown", calm, &[]),
        row("A2, something is not shown for a while", hidden, &[]),
        row("the id names a stranger's object", Delete { is_strangers: true, ..calm }, &[]),
        row(
            "canary last, spells end outside of proofs",
            Delete { spells: 2, ..hiding(Proof::CanaryLast, Spell::EndsOutside) },
            &[],
        ),
        row(
            "canary last, a spell ends within the proof",
            hiding(Proof::CanaryLast, Spell::OutlastsAProof),
            &[Silent],
        ),
        row("no canary", hiding(Proof::NotListed, Spell::OutlastsAProof), &[Silent]),
        row("a 404 alone", hiding(Proof::NotFound, Spell::OutlastsAProof), &[Silent]),
        row("without A2", Delete { effect_is_bounded: false, ..small }, &[Wrong]),
        row("without A5: ids return", Delete { ids_return: true, ..small }, &[Wrong]),
        row("broken: no intent", broken(Bug::NoIntent), &[Wrong]),
        row("broken: what is unknown is taken for refused", broken(Bug::UnknownIsRefused), &[Wrong]),
        row("broken: a refusal closes an earlier request", broken(Bug::RefusalClosesAll), &[Wrong]),
        row(
            "broken: no certificate",
            Delete { is_strangers: true, ..broken(Bug::NoCertificate) },
            &[Wrong],
        ),
        row("broken: accepted is taken for gone", broken(Bug::AcceptedIsGone), &[Silent]),
        row(
            "broken: a paused holder's intent is closed",
            Delete { crashes: 0, take_overs: 1, ..broken(Bug::ForeignIsOwn) },
            &[Wrong],
        ),
        row("broken: no lease", broken(Bug::NoLease), &[Wrong]),
    ]
}
