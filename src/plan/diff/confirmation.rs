//! Confirmation of differences by earlier readings. In: the ledger's verification of an entry, and a difference between
//! the applied and the live value. Out: its cause, the differences of attributes that the service does not keep, and
//! the notes about them. Invariant: "changed outside stead" is reported only where an earlier reading showed another
//! value than the present one, and no object is replaced for a value that the service did not keep before.

use crate::ledger::state::entry::Entry;
use crate::ledger::state::verification::{ValueVerification, Verification};
use crate::model::address::Address;
use crate::model::live::reading::AttributeReading;
use crate::model::live::snapshot::Object;
use crate::model::schema::meaning::in_words;
use crate::model::schema::{Attribute, Type, UpdateStrategy};
use crate::model::source::SourceLocation;
use crate::model::values::value::Value;
use crate::plan::decision::{AttributeDiff, Decision, DecisionKind, DesiredAttribute};
use crate::plan::join::joined_state::{JoinedState, ResourceState};
use crate::plan::model::change::{Cause, Plan};
use crate::plan::model::compare::are_equivalent;
use crate::plan::model::note::{NoteCode, PlanNote};

/// Returns the cause of a difference between the applied and the live value, as far as the ledger shows it.
/// `live` has fingerprints in place of secrets, as in the ledger.
pub(in crate::plan) fn confirmed_cause(
    entry: &Entry,
    (attribute, ty): (&Attribute, &Type),
    path: &str,
    live: &Value,
    cause: Cause,
) -> Cause {
    let never_changes = matches!(attribute.change, UpdateStrategy::Replace | UpdateStrategy::Never);
    match (cause, entry.confirmation(path)) {
        (Cause::Drift, ValueVerification::Different(shown)) if are_equivalent(ty, shown, live) => {
            Cause::NotKept
        }
        // The service accepted this value in an unverified creation, and no call can change it.
        (Cause::Drift, ValueVerification::Unknown) if entry.unfinished && never_changes => Cause::NotKept,
        (Cause::Drift, ValueVerification::Unknown) => Cause::Unconfirmed,
        (Cause::Both, ValueVerification::Different(shown)) if are_equivalent(ty, shown, live) => {
            Cause::Config
        }
        (Cause::Both, ValueVerification::Unknown) => Cause::Config,
        (cause, _) => cause,
    }
}

/// Removes and returns the differences about which nothing is done: the service did not keep these values before, and
/// resending them would replace, restart or roll out the object for nothing.
pub(in crate::plan) fn take_not_kept<'a>(
    differences: &mut Vec<AttributeDiff<'a>>,
) -> Vec<AttributeDiff<'a>> {
    let stays =
        |difference: &AttributeDiff<'_>| difference.cause == Cause::NotKept && !is_sent_again(difference);
    let (not_kept, rest) = std::mem::take(differences).into_iter().partition(stays);
    *differences = rest;
    not_kept
}

/// Returns whether a value that the service did not keep is resent: only where its call has no other effect.
fn is_sent_again(difference: &AttributeDiff<'_>) -> bool {
    difference.attribute.at_once && !difference.forces_replacement()
}

/// Returns whether a path belongs to an attribute value that the service does not keep.
pub(in crate::plan) fn is_not_kept(decision: &Decision<'_>, path: &str) -> bool {
    let all = decision.not_kept.iter().chain(&decision.differences);
    all.into_iter().any(|difference| difference.cause == Cause::NotKept && difference.path == path)
}

/// Returns the verification of an adopted object: which written attributes it does not show.
pub(in crate::plan) fn observe_written(wants: &[DesiredAttribute<'_>], object: &Object) -> Verification {
    let is_hidden = |want: &&DesiredAttribute<'_>| {
        want.setting.is_some()
            && want.attribute.is_readable()
            && AttributeReading::new(want.attribute, object).comparable_value().is_none()
    };
    let not_shown = wants.iter().filter(is_hidden).map(|want| want.attribute.name.into()).collect();
    Verification { not_shown, ..Verification::default() }
}

/// Returns the verification of an entry after this reading, where no write follows; `None` for an update, after
/// which the apply reads the object again. An attribute counts as shown only if the object `shows` the written
/// value or an earlier reading did: a difference under `ignore_drift` is left alone, which confirms nothing.
pub(in crate::plan) fn renew_verification(
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
    shows: impl Fn(&DesiredAttribute<'_>) -> bool,
) -> Option<Verification> {
    if decision.act == DecisionKind::Update {
        return None;
    }
    let entry = subject.entry.filter(|_| subject.adoption.is_none());
    let mut seen = Verification::default();
    let is_open = |want: &&DesiredAttribute<'_>| {
        want.setting.is_some() && want.attribute.is_readable() && !shows(want)
    };
    for name in decision.wants.iter().filter(is_open).map(|want| want.attribute.name) {
        let not_kept: Vec<_> = decision.not_kept.iter().filter(|one| one.attribute.name == name).collect();
        if not_kept.is_empty() {
            seen.take_over(entry.and_then(|entry| entry.verified.as_ref()), name);
        }
        for difference in not_kept {
            if let Some(ValueVerification::Different(shown)) =
                entry.map(|e| e.confirmation(&difference.path))
            {
                seen.not_kept.insert(difference.path.clone(), shown.clone());
            }
        }
    }
    Some(seen)
}

/// Returns a note for each attribute value that the service does not keep and that is not sent again.
pub(in crate::plan) fn not_kept_notes(
    joined: &JoinedState<'_>,
    decisions: &[Decision<'_>],
) -> Vec<PlanNote> {
    let mut notes = Vec::new();
    for (subject, decision) in joined.subjects.iter().zip(decisions) {
        notes.extend(
            decision.not_kept.iter().map(|difference| unkept_difference_note(joined, subject, difference)),
        );
    }
    notes
}

/// Returns the notes of a drift check: values that the service does not keep, including those that an apply resends,
/// attributes that it does not show, rights of the API key that it does not show, and a lock that another process holds.
#[must_use]
pub fn notes_of_look(plan: &Plan) -> Vec<PlanNote> {
    let is_of_reading = |note: &&PlanNote| {
        matches!(
            note.code,
            NoteCode::NotKept | NoteCode::Unverified | NoteCode::UnknownRight | NoteCode::LockHeld
        )
    };
    let sent_again = plan.changes.iter().flat_map(|change| {
        let not_kept = change.attributes.iter().filter(|one| one.cause == Cause::NotKept);
        not_kept.map(|one| {
            not_kept_note(&change.address, &one.path, (&one.after, &one.before), one.source.clone())
        })
    });
    sent_again.chain(plan.notes.iter().filter(is_of_reading).cloned()).collect()
}

fn unkept_difference_note(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    difference: &AttributeDiff<'_>,
) -> PlanNote {
    let span = difference.setting.map(|setting| setting.origin(&difference.path).0);
    let source = span.and_then(|span| joined.inputs.stack.sources.location_of(span));
    not_kept_note(subject.address, &difference.path, (&difference.after, &difference.before), source)
}

fn not_kept_note(
    address: &Address,
    path: &str,
    (sent, shown): (&Value, &Value),
    source: Option<SourceLocation>,
) -> PlanNote {
    let shown = in_words(shown);
    let name = path.split_once('.').map_or(path, |(name, _)| name);
    PlanNote {
        code: NoteCode::NotKept,
        text: format!(
            "the service does not keep `{address}.{path}`: `{sent}` was sent, and the object shows {shown}"
        ),
        help: format!(
            "write the value that the service keeps, list `{name}` under `lifecycle.ignore_drift`, or remove the \
             attribute"
        ),
        source,
        address: Some(address.clone()),
    }
}
