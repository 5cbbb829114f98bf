//! Secrets in what the service shows: a live object may repeat a secret of the stack in any field, such as its name. In: a
//! finished plan, and a function that redacts the secrets of this run in a text. Out: the plan with such live values as
//! secrets, and such sentences redacted. What the plan does stays the same; its steps have no live value.

use crate::model::values::secret::Secret;
use crate::model::values::value::{Attributes, Value};
use crate::plan::artifact::fingerprint::with_fingerprint;
use crate::plan::model::change::{Change, LiveNames, Plan};
use crate::plan::model::resource_values::PlanValues;

/// Returns a text in which the secrets of this run are redacted; the same text without any.
type RedactText<'r> = &'r dyn Fn(&str) -> String;

/// Returns a plan that repeats no secret from a live object, and redacts the values of all resources, too.
#[must_use]
pub fn redact_plan(mut plan: Plan, values: &mut PlanValues, redact: RedactText<'_>) -> Plan {
    redact_values(values, redact);
    let mut has_changed = redact_outputs(&mut plan, redact);
    for change in &mut plan.changes {
        has_changed |= redact_change(change, redact);
    }
    for drift in &mut plan.drift {
        if hide_secrets(&mut drift.live, redact) {
            // The configuration is no place for a secret.
            drift.acceptable = false;
        }
    }
    let texts = plan
        .blocks
        .iter_mut()
        .flat_map(|block| [&mut block.text, &mut block.help])
        .chain(plan.notes.iter_mut().flat_map(|note| [&mut note.text, &mut note.help]))
        .chain(plan.policy.iter_mut().map(|result| &mut result.message));
    for text in texts {
        let redacted = redact(text);
        has_changed |= redacted != *text;
        *text = redacted;
    }
    if has_changed { with_fingerprint(plan) } else { plan }
}

/// Redacts the outputs: a live value may repeat a secret, which an apply does not record either. An output that is the
/// recorded one then does not change. Returns whether there was such a value.
fn redact_outputs(plan: &mut Plan, redact: RedactText<'_>) -> bool {
    let mut has_changed = false;
    for output in plan.planned_outputs.iter_mut().filter(|output| output.is_live) {
        let Some(after) = &output.after else { continue };
        let redacted = after.to_redacted(redact);
        // A secret without a fingerprint equals none, so that only texts are compared.
        if after.is_secret() || redacted == *after {
            continue;
        }
        has_changed = true;
        if output.before.as_ref() == Some(&redacted) {
            (output.cause, output.because) = (None, Vec::new());
        }
        output.after = Some(redacted);
    }
    has_changed
}

/// Replaces live values that repeat a secret in the values of all resources.
fn redact_values(values: &mut PlanValues, redact: RedactText<'_>) {
    let all = values.resources.values_mut();
    let objects = all.flat_map(|resource| resource.before.iter_mut().chain(&mut resource.after));
    objects.for_each(|attributes: &mut Attributes| {
        for value in attributes.values_mut() {
            hide_secrets(value, redact);
        }
    });
}

/// Redacts the live values of a change. Returns whether a part of its fingerprint changed.
fn redact_change(change: &mut Change, redact: RedactText<'_>) -> bool {
    let mut has_changed = false;
    for one in &mut change.attributes {
        has_changed |= hide_secrets(&mut one.before, redact);
        drop_secret_names(&mut one.live_names, redact);
    }
    change.rest.iter_mut().for_each(|one| drop_secret_names(&mut one.live_names, redact));
    has_changed
}

/// Removes the live names that repeat a secret: the ids alone are shown.
fn drop_secret_names(names: &mut LiveNames, redact: RedactText<'_>) {
    if let Some(all) = names {
        all.retain(|_, name| redact(name) == name.as_str());
    }
    names.take_if(|all| all.is_empty());
}

/// Replaces the texts in a value that repeat a secret. Returns whether there was one.
fn hide_secrets(value: &mut Value, redact: RedactText<'_>) -> bool {
    match value {
        Value::Text(text) if redact(text) != text.as_str() => {
            *value = Value::Secret(Secret::new_withheld());
            true
        }
        Value::List(items) => hide_secrets_of(items.iter_mut(), redact),
        Value::Map(map) => hide_secrets_of(map.values_mut(), redact),
        _ => false,
    }
}

fn hide_secrets_of<'v>(values: impl Iterator<Item = &'v mut Value>, redact: RedactText<'_>) -> bool {
    let mut any = false;
    for value in values {
        any |= hide_secrets(value, redact);
    }
    any
}
