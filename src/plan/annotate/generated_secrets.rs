//! Generated secrets: finds existing ones in live objects by their fingerprints, and reports those that
//! an apply would generate. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::outputs::generates;
use crate::config::stack::model::{DeferredSecret, SecretOrigin, SecretSink};
use crate::ledger::state::kept_secrets::VARIABLE_PREFIX;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::Name;
use crate::model::live::snapshot::{RefreshRequest, Snapshot};
use crate::model::schema::Registry;
use crate::model::values::secret::{Secret, fingerprint_prefix, is_same_fingerprint};
use crate::model::values::value::Value;
use crate::plan::decision::{Decision, DecisionKind};
use crate::plan::join::joined_state::JoinedState;
use crate::plan::model::note::{NoteCode, PlanNote};

/// Returns the fingerprint of the generated secret that was used last; `None` if the secret is not a generated
/// one, was never generated, or was generated with another length than declared.
#[must_use]
pub fn last_used_fingerprint<'l>(
    ledger: &'l Ledger,
    variable: &str,
    deferred: &DeferredSecret,
) -> Option<&'l Name> {
    let SecretOrigin::Generated { length, .. } = &deferred.origin else { return None };
    let known = ledger.generated.get(variable).filter(|generated| generated.length == *length)?;
    Some(&known.fingerprint)
}

/// Returns the fingerprint of the value that a generated secret must have; `None` if the apply must generate one: for
/// the first time, with another length, or because its rotation has begun.
#[must_use]
pub fn desired_fingerprint<'l>(
    ledger: &'l Ledger,
    variable: &str,
    deferred: &DeferredSecret,
) -> Option<&'l Name> {
    let address = format!("{VARIABLE_PREFIX}{variable}");
    let kept = ledger.secrets.values.get(address.as_str());
    if ledger.secrets.rotating.contains(address.as_str()) && kept.is_none_or(|kept| kept.pending.is_none())
    {
        return None;
    }
    match last_used_fingerprint(ledger, variable, deferred) {
        Some(print) => Some(kept.map_or(print, |kept| &kept.effective_version().fingerprint)),
        // The ledger keeps the secret, but its delivery was not recorded.
        None if !ledger.generated.contains_key(variable) => {
            kept.map(|kept| &kept.effective_version().fingerprint)
        }
        None => None,
    }
}

/// Adds the objects that contain a generated secret according to the ledger, so that they are read: they show it again.
pub fn look_for(wanted: &mut RefreshRequest, registry: Registry, ledger: &Ledger) {
    let prints: BTreeSet<&str> =
        ledger.generated.values().map(|generated| fingerprint_prefix(&generated.fingerprint)).collect();
    for entry in ledger.entries.values().filter(|_| !prints.is_empty()) {
        let is_generated =
            |part| secret_fingerprint(part).is_some_and(|p| prints.contains(fingerprint_prefix(p)));
        let held = |value| value_parts(value, None).any(|(part, _)| is_generated(part));
        let Some(owned) = entry.current.as_ref().filter(|_| entry.applied.values().any(held)) else {
            continue;
        };
        let Some(kind) = registry.kind(&entry.kind) else { continue };
        if kind.child_of().is_none() && kind.api.read.is_some() {
            wanted.kinds.insert(kind.name.into());
            wanted.details.insert(owned.key(kind.name));
            wanted.owned.push(owned.key(kind.name));
        }
    }
}

/// Returns the generated secrets that live objects show, by the paths of their variables.
#[must_use]
pub fn find_live_secrets(ledger: &Ledger, snapshot: &Snapshot) -> BTreeMap<Name, Secret> {
    // Compared by prefix: an earlier version recorded no more of a fingerprint.
    let mut names: BTreeMap<&str, Vec<(&Name, &Name)>> = BTreeMap::new();
    for (variable, generated) in &ledger.generated {
        let same = names.entry(fingerprint_prefix(&generated.fingerprint)).or_default();
        same.push((variable, &generated.fingerprint));
    }
    let mut found = BTreeMap::new();
    for entry in ledger.entries.values().filter(|_| !names.is_empty()) {
        let object = entry.current.as_ref().map(|owned| owned.key(&entry.kind));
        let Some(object) = object.and_then(|key| snapshot.objects.get(&key)) else { continue };
        for (attribute, applied) in &entry.applied {
            for (part, live) in value_parts(applied, object.attributes.get(attribute)) {
                let Some(variables) =
                    secret_fingerprint(part).and_then(|print| names.get(fingerprint_prefix(print)))
                else {
                    continue;
                };
                let Some(secret) = live.and_then(as_secret) else { continue };
                let Some(print) = secret.fingerprint(&ledger.identity.key) else { continue };
                // Prefixes select candidates only: the value is accepted if its whole fingerprint
                // matches the recorded one.
                let same = variables.iter().filter(|(_, recorded)| is_same_fingerprint(recorded, &print));
                found.extend(same.map(|(name, _)| ((*name).clone(), secret.clone())));
            }
        }
    }
    found
}

/// Returns whether an object that the ledger owns shows a secret in plain text.
#[must_use]
pub fn is_shown(ledger: &Ledger, snapshot: &Snapshot, wanted: &Secret) -> bool {
    let objects = ledger
        .entries
        .values()
        .filter_map(|entry| snapshot.objects.get(&entry.current.as_ref()?.key(&entry.kind)));
    let mut values = objects.flat_map(|object| object.attributes.values());
    values.any(|value| value_parts(value, None).any(|(part, _)| as_secret(part).as_ref() == Some(wanted)))
}

/// Returns a value, or the entries of a map, each with the live value at the same position; `None` there if the
/// live object has none.
fn value_parts<'v>(
    value: &'v Value,
    live: Option<&'v Value>,
) -> Box<dyn Iterator<Item = (&'v Value, Option<&'v Value>)> + 'v> {
    match value {
        Value::Map(map) => Box::new(map.iter().map(move |(key, part)| {
            let live = match live {
                Some(Value::Map(live)) => live.get(key),
                _ => None,
            };
            (part, live)
        })),
        value => Box::new(std::iter::once((value, live))),
    }
}

fn secret_fingerprint(value: &Value) -> Option<&Name> {
    match value {
        Value::Secret(Secret::Fingerprint(print)) => print.as_ref(),
        _ => None,
    }
}

fn as_secret(live: &Value) -> Option<Secret> {
    match live {
        Value::Secret(secret) => Some(secret.clone()),
        Value::Text(text) => Some(Secret::new(text.as_str())),
        _ => None,
    }
}

/// Returns a note for each secret that an apply would generate, and for each that a program gives while the ledger has no
/// key: its value has no fingerprint then, so that its program is all that a review can compare. None when the plan creates
/// or updates nothing and no output has such a secret, because an apply needs no secret then.
pub(in crate::plan) fn generation_notes(
    joined: &JoinedState<'_>,
    decisions: &[Decision<'_>],
) -> Vec<PlanNote> {
    let makes = |decision: &Decision<'_>| {
        matches!(decision.act, DecisionKind::Create | DecisionKind::Update | DecisionKind::Replace { .. })
    };
    let stack = joined.inputs.stack;
    let mut in_output = false;
    for output in stack.outputs.values() {
        output.expression.each_value(&mut |value| in_output |= generates(value));
    }
    if !in_output && !decisions.iter().any(makes) {
        return Vec::new();
    }
    let is_unknown =
        |deferred: &DeferredSecret| deferred.value.is_deferred() && !deferred.value.is_withheld();
    let note = |(name, deferred): (&Name, &DeferredSecret)| {
        let (length, deliver) = match &deferred.origin {
            SecretOrigin::Generated { length, deliver } if is_unknown(deferred) => (length, deliver),
            SecretOrigin::Source(program) if joined.inputs.ledger.identity.key.is_none() => {
                return Some(PlanNote {
                    code: NoteCode::SecretSource,
                    text: format!("vars.{name} is given by the program {program}"),
                    help: "its value is not compared before the first apply".to_owned(),
                    source: stack.sources.location_of(deferred.span),
                    address: None,
                });
            }
            SecretOrigin::Generated { .. } | SecretOrigin::Source(_) => return None,
        };
        let to = match deliver {
            None => String::new(),
            Some(SecretSink::File(path)) => format!(", and kept in {path}"),
            Some(SecretSink::EnvFile { path, variable }) => format!(", and kept in {path} as {variable}"),
            Some(SecretSink::Program(name)) => format!(", and delivered to the sink {name}"),
        };
        let kept = if stack.recipients.is_some() { ", and kept in the ledger, encrypted" } else { "" };
        Some(PlanNote {
            code: NoteCode::Generated,
            text: format!("vars.{name} is generated by the apply: {length} characters{kept}{to}"),
            help: "later applies keep it; a changed length generates a new one".to_owned(),
            source: stack.sources.location_of(deferred.span),
            address: None,
        })
    };
    stack.deferred_secrets.iter().filter_map(note).collect()
}
