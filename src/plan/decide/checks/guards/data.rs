//! Approval to lose data: an object that contains data and that no block declares any more is deleted only with
//! an approval for this very object. In: its decision; out: the blocker, with what is lost and what survives.

use crate::config::stack::declarations::RemovedAction;
use crate::model::diagnostic::blocker_code;
use crate::model::live::snapshot::Object;
use crate::model::schema::Kind;
use crate::model::values::value::Value;
use crate::plan::blockers::Blockers;
use crate::plan::decide::deposed::has_older_object;
use crate::plan::decide::{byproducts, final_snapshot};
use crate::plan::decision::{Decision, DecisionKind};
use crate::plan::join::joined_state::{JoinedState, ResourceState};
use crate::plan::model::change::Cause;
use crate::plan::model::note::{NoteCode, PlanNote};

/// The limit on copies that a message names.
const MAX_LISTED_SNAPSHOTS: usize = 3;

/// The limit on objects with a note of their own; the others are counted in one more note.
const MAX_NOTES: usize = 20;

/// Returns whether the objects of a kind contain data that is deleted with them.
pub(in crate::plan) const fn kind_holds_data(kind: &Kind) -> bool {
    kind.data_bearing || kind.local_data
}

/// Returns whether an object with a local disk is replaced although nothing that was edited in its block asks for that. A value
/// that a lookup or another stack gave was not edited here.
pub(super) fn goes_unedited(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
) -> bool {
    let mut forcing = decision.differences.iter().filter(|one| one.forces_replacement()).peekable();
    let edited = match forcing.peek() {
        None => matches!(decision.cause, Cause::Config | Cause::Both),
        Some(_) => forcing.any(|one| {
            let is_read = one.setting.is_some_and(|setting| setting.is_read);
            matches!(one.cause, Cause::Config | Cause::Both) && !is_read
        }),
    };
    subject.kind.local_data && !edited && !final_snapshot::is_copied(joined, subject)
}

/// Returns whether the loss of an object's data is approved: by a destroy, by `--delete-data`, by a `removed`
/// entry, or by the block that last declared it.
fn consents_to_loss(joined: &JoinedState<'_>, subject: &ResourceState<'_>) -> bool {
    let options = joined.inputs.options;
    let declared = joined.declared.removal_action(subject.address) == Some(RemovedAction::Delete);
    let remembered = subject.entry.is_some_and(|entry| entry.delete_on_remove);
    options.destroy || options.may_delete_data(subject.address) || declared || remembered
}

/// Returns whether no object of a resource ever got data: no apply has seen it ready. The older object, which it is to replace, has.
fn never_had_data(joined: &JoinedState<'_>, subject: &ResourceState<'_>) -> bool {
    subject.entry.is_some_and(|entry| entry.unfinished) && !has_older_object(joined, subject)
}

/// Blocks a deletion that loses data without approval.
pub(super) fn would_be_lost(
    joined: &JoinedState<'_>,
    decisions: &[Decision<'_>],
    (subject, decision): (&ResourceState<'_>, &Decision<'_>),
    blocks: &mut Blockers<'_, '_>,
) {
    let options = joined.inputs.options;
    if options.is_rehearsal || decision.act != DecisionKind::Delete || !kind_holds_data(subject.kind) {
        return;
    }
    if never_had_data(joined, subject)
        || consents_to_loss(joined, subject)
        || final_snapshot::is_copied(joined, subject)
    {
        return;
    }
    let address = subject.address;
    let reason = decision.reason.as_deref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let text = format!(
        "{address} holds data and would be deleted with it{reason}. {}",
        describe_surviving_copies(joined, decisions, subject)
            .unwrap_or_else(|| "No copy of it survives.".to_owned())
    );
    let entry = if joined.takes_removal(address) {
        let line = format!("`removed: [{{ from: {address}, action: delete }}]`");
        format!("{}, or ", joined.render_help(None, &format!("write {line}")))
    } else {
        String::new()
    };
    let help =
        format!("Declare it again; or approve the deletion of its data: {entry}--delete-data {address}.");
    blocks.add_for_subject(blocker_code::HOLDS_DATA, subject, None, text, help);
}

/// Describes the copies of an object's data that survive a plan, newest first, and their age; `None` if none
/// does. A copy that is not ready does not count.
fn describe_surviving_copies(
    joined: &JoinedState<'_>,
    decisions: &[Decision<'_>],
    subject: &ResourceState<'_>,
) -> Option<String> {
    let id = subject.owned_object().map(|owned| Value::Text(owned.id.clone()));
    let goes = |object: &Object| {
        let mut all = joined.subjects.iter().zip(decisions);
        all.any(|(one, decision)| {
            decision.removes() && one.object().is_some_and(|gone| gone.key() == object.key())
        })
    };
    let is_copy = |object: &&Object| {
        let kind = joined.inputs.registry.kind(&object.kind);
        kind.is_some_and(|kind| {
            let names = kind.copy_of.iter().any(|name| object.attributes.get(*name) == id.as_ref());
            names && kind.api.ready.is_some() && final_snapshot::is_ready(kind, object)
        })
    };
    let mut copies: Vec<&Object> =
        joined.inputs.snapshot.objects.values().filter(is_copy).filter(|object| !goes(object)).collect();
    copies.sort_by(|a, b| (&b.created_at, &b.id).cmp(&(&a.created_at, &a.id)));
    if copies.is_empty() {
        return None;
    }
    let named: Vec<String> =
        copies.iter().take(MAX_LISTED_SNAPSHOTS).map(|copy| describe_dated_copy(joined, copy)).collect();
    let more = match copies.len().saturating_sub(MAX_LISTED_SNAPSHOTS) {
        0 => String::new(),
        count => format!(" and {count} older"),
    };
    Some(format!("Remaining copies: {}{more}.", named.join(", ")))
}

fn describe_dated_copy(joined: &JoinedState<'_>, copy: &Object) -> String {
    let name = copy.attributes.get("name").and_then(Value::as_text).unwrap_or(&copy.id);
    let age = byproducts::describe_age(copy, joined.inputs.service_time());
    // What its own plan does to it is not known here.
    let owner = joined.inputs.options.foreign.get(&copy.key());
    let owner = owner.map(|owner| format!(", if {owner} keeps it")).unwrap_or_default();
    format!("the {} {name} ({age}{owner})", copy.kind)
}

/// Returns a note for each object whose data is deleted with approval, or by a destroy: the copies that survive.
pub(in crate::plan) fn data_loss_notes(
    joined: &JoinedState<'_>,
    decisions: &[Decision<'_>],
) -> Vec<PlanNote> {
    let is_lost = |(subject, decision): &(&ResourceState<'_>, &Decision<'_>)| {
        let goes = decision.act == DecisionKind::Delete
            && kind_holds_data(subject.kind)
            && (subject.object().is_some() || has_older_object(joined, subject));
        // A byproduct is reported together with its source.
        let is_told = joined.declared.added.get(subject.address).is_some_and(|one| !one.reason.is_empty());
        goes && !never_had_data(joined, subject)
            && !is_told
            && consents_to_loss(joined, subject)
            && !final_snapshot::is_copied(joined, subject)
    };
    let note = |text: String| PlanNote {
        code: NoteCode::DataLost,
        text,
        help: "to keep an object, declare it with `lifecycle: { protect: true }`".to_owned(),
        source: None,
        address: None,
    };
    // The change line itself states that data is lost for good.
    let told = |(subject, _): (&ResourceState<'_>, &Decision<'_>)| {
        let id = subject.owned_object().map(|owned| owned.id.as_str()).unwrap_or_default();
        let surviving = describe_surviving_copies(joined, decisions, subject)?;
        Some(format!("{} ({id}) is deleted with the data that it holds. {surviving}", subject.address))
    };
    let mut notes: Vec<String> =
        joined.subjects.iter().zip(decisions).filter(is_lost).filter_map(told).collect();
    let more = notes.len().saturating_sub(MAX_NOTES);
    notes.truncate(MAX_NOTES);
    notes.extend(
        (more > 0)
            .then(|| format!("copies of {more} more objects remain that are deleted with their data")),
    );
    notes.into_iter().map(note).collect()
}
