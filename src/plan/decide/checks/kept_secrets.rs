//! Kept secrets in a plan: the recipients that an apply pins, and what blocks it. Pure.
//!
//! In: the stack's recipients, the ledger's, and the secrets that cannot be decrypted here. Out: blockers, notes, and
//! the ledger update that pins. Invariant: a lost secret never gets another value silently;
//! only `secret rotate` does that.

use std::collections::BTreeSet;

use super::guards;
use crate::ledger::state::kept_secrets::VARIABLE_PREFIX;
use crate::model::address::Name;
use crate::model::diagnostic::blocker_code;
use crate::model::expression::Expression;
use crate::model::values::secret::Secret;
use crate::model::values::value::Value;
use crate::plan::blockers::Blockers;
use crate::plan::decision::{Decision, DecisionKind};
use crate::plan::join::joined_state::{JoinedState, ResourceState};
use crate::plan::model::note::{NoteCode, PlanNote};
use crate::plan::model::step::LedgerUpdate;

/// Adds the blockers about kept secrets.
pub(in crate::plan) fn check<'a>(
    joined: &JoinedState<'a>,
    decisions: &[Decision<'a>],
    blocks: &mut Blockers<'_, 'a>,
) {
    if joined.inputs.options.destroy {
        return;
    }
    check_recipients(joined, blocks);
    let stack = joined.inputs.stack;
    for name in &joined.inputs.options.lost_secrets {
        let text = format!(
            "The value of {VARIABLE_PREFIX}{name} is lost: neither its sink nor the ledger has a value with the recorded fingerprint."
        );
        let span = stack.deferred_secrets.get(name).map(|deferred| deferred.span);
        let way_out = ways_out(&format!("{VARIABLE_PREFIX}{name}"), "the same value", "");
        blocks.at_place(blocker_code::SECRET_LOST, span, text, way_out);
    }
    if joined.inputs.options.locked_secrets.is_empty() {
        return;
    }
    for (subject, decision) in joined.subjects.iter().zip(decisions) {
        let delivers = decision.act == DecisionKind::Update
            && subject.entry.is_some_and(|entry| entry.secret_lost)
            && joined.inputs.options.locked_secrets.contains(subject.address.as_str());
        let locked = &joined.inputs.options.locked_secrets;
        if delivers || needs_plaintext(subject, decision, locked) {
            let text = format!(
                "{} needs the text of a kept secret, and no identity that can decrypt it is available.",
                subject.address
            );
            let help = "Set STEAD_AGE_IDENTITY to the identity's file, or `age_identity` in the settings. \
                        A plan that sends no kept secret needs none."
                .to_owned();
            blocks.add_for_subject(blocker_code::IDENTITY_MISSING, subject, None, text, help);
        }
    }
}

/// Returns the remedies for a lost secret. `value` says what to give to `secret set`; `rotation` are further
/// arguments of `secret rotate`, empty or with a leading space.
fn ways_out(address: &str, value: &str, rotation: &str) -> String {
    format!(
        "Restore the file that held it; or give {value}: stead secret set {address} < FILE; or replace it: stead secret \
         rotate {address}{rotation}."
    )
}

fn check_recipients(joined: &JoinedState<'_>, blocks: &mut Blockers<'_, '_>) {
    let (stack, pinned) = (joined.inputs.stack, &joined.inputs.ledger.secrets.recipients);
    let nobody = BTreeSet::new();
    let declared = stack.recipients.as_ref().map_or(&nobody, |recipients| &recipients.names);
    let span = stack.recipients.as_ref().map(|recipients| recipients.span);
    if let Some(allowed) = &joined.inputs.options.allowed_recipients {
        for name in declared.difference(allowed) {
            let text = format!("The recipient {name} is not one of the settings' `allowed_recipients`.");
            let help =
                "Remove it from the stack, or add it to your own settings if it is intended.".to_owned();
            blocks.at_place(blocker_code::RECIPIENT_REFUSED, span, text, help);
        }
    }
    if pinned.is_empty() || declared == pinned {
        return;
    }
    let listed =
        |names: &mut dyn Iterator<Item = &Name>| names.map(Name::as_str).collect::<Vec<_>>().join(", ");
    let (added, removed) =
        (listed(&mut declared.difference(pinned)), listed(&mut pinned.difference(declared)));
    let said = [("added", added), ("removed", removed)].into_iter().filter(|(_, names)| !names.is_empty());
    let said: Vec<String> = said.map(|(what, names)| format!("{what} {names}")).collect();
    let text = format!(
        "The recipients of kept secrets are not those that the ledger has pinned: {}.",
        said.join("; ")
    );
    let help = if declared.is_empty() {
        "Restore the `secrets` block: the ledger keeps secrets for these recipients."
    } else {
        "Nothing is encrypted to other recipients until someone with a pinned identity runs: stead secret rekey."
    };
    blocks.at_place(blocker_code::RECIPIENTS_CHANGED, span, text, help.to_owned());
}

/// Adds the blocker of a resource whose shown-once secret is lost: the user decides whether its object is
/// replaced or kept without a delivery.
pub(in crate::plan) fn skip_lost_secret(subject: &ResourceState<'_>, blocks: &mut Blockers<'_, '_>) {
    let text = format!(
        "The secret of {} was shown once, and neither its sink nor the ledger has it.",
        subject.address
    );
    // A rotation deletes the object, so an unconfirmed one must be adopted with the same command.
    let adoption = guards::unconfirmed_object(subject)
        .map(|owned| format!(" --adopt {}={}", subject.address, owned.id))
        .unwrap_or_default();
    let way_out = ways_out(subject.address.as_str(), "it, where somebody has it", &adoption);
    let id = subject.owned_object().map_or("ID", |owned| owned.id.as_str());
    let way_out = format!(
        "{way_out} To keep it without a delivery: stead resolve {} adopt {id}. Until then, it and its dependents are not changed.",
        subject.address
    );
    blocks.add_for_subject(blocker_code::SECRET_LOST, subject, None, text, way_out);
}

/// Returns the ledger update that pins the stack's recipients; `None` if the stack declares none, if some are
/// pinned already, or for a destroy.
pub(in crate::plan) fn pin_recipients(joined: &JoinedState<'_>) -> Option<LedgerUpdate> {
    let recipients = joined.inputs.stack.recipients.as_ref()?;
    let unpinned = joined.inputs.ledger.secrets.recipients.is_empty() && !joined.inputs.options.destroy;
    unpinned.then(|| LedgerUpdate::PinRecipients(recipients.names.clone()))
}

/// Returns notes about the recipients that an apply pins, and about an unfinished rekey or rotation.
pub(in crate::plan) fn recipient_notes(joined: &JoinedState<'_>) -> Vec<PlanNote> {
    let stack = joined.inputs.stack;
    let source =
        stack.recipients.as_ref().and_then(|recipients| stack.sources.location_of(recipients.span));
    let note = |text: String, help: &str| PlanNote {
        code: NoteCode::Recipients,
        text,
        help: help.to_owned(),
        source: source.clone(),
        address: None,
    };
    let mut notes = Vec::new();
    if let Some(LedgerUpdate::PinRecipients(names)) = pin_recipients(joined) {
        let listed: Vec<&str> = names.iter().map(Name::as_str).collect();
        notes.push(note(
            format!("pins recipients: kept secrets are encrypted to {}", listed.join(", ")),
            "later, only `stead secret rekey` changes them",
        ));
    }
    let kept = &joined.inputs.ledger.secrets;
    let outdated = kept.outdated_addresses().count();
    if outdated > 0 {
        notes.push(note(
            format!("{outdated} kept secrets are still encrypted to the previous recipients"),
            "finish it: stead secret rekey",
        ));
    }
    let pending = kept.values.iter().filter(|(_, one)| one.pending.is_some()).map(|(address, _)| address);
    for address in pending.chain(&kept.rotating) {
        notes.push(note(
            format!("a rotation of {address} has begun: this plan applies the new value"),
            "an apply finishes it",
        ));
    }
    notes
}

/// Returns whether a step of a resource sends the plain text of a secret that cannot be decrypted here.
fn needs_plaintext(subject: &ResourceState<'_>, decision: &Decision<'_>, locked: &BTreeSet<Name>) -> bool {
    let Some(resource) = subject.resource else { return false };
    let makes = matches!(decision.act, DecisionKind::Create | DecisionKind::Replace { .. });
    let changes =
        |name: &str| decision.differences.iter().any(|difference| difference.attribute.name == name);
    resource.attributes.iter().any(|(name, setting)| {
        (makes || (decision.act == DecisionKind::Update && changes(name)))
            && (is_withheld(&setting.expression) || is_locked(&setting.expression, locked))
    })
}

/// Returns whether an expression contains a secret that cannot be decrypted here.
#[must_use]
pub fn is_withheld(expression: &Expression) -> bool {
    holds_secret(expression, &Secret::is_withheld)
}

/// Returns whether an expression contains a secret whose text this run knows, and an apply cannot read where it is kept.
fn is_locked(expression: &Expression, locked: &BTreeSet<Name>) -> bool {
    holds_secret(expression, &|secret| secret.source_names().into_iter().any(|name| locked.contains(name)))
}

fn holds_secret(expression: &Expression, is_it: &dyn Fn(&Secret) -> bool) -> bool {
    let in_value =
        |value: &Value| value.any(&|part| matches!(part, Value::Secret(secret) if is_it(secret)));
    let in_part = |part: &Expression| holds_secret(part, is_it);
    match expression {
        Expression::Value(value) => in_value(value),
        Expression::Reference(_) => false,
        Expression::Text(parts) | Expression::List(parts) => parts.iter().any(in_part),
        Expression::Map(parts) => parts.values().any(in_part),
        Expression::Cel(cel) => cel.bindings.values().any(in_value) || cel.waiting.values().any(in_part),
    }
}
