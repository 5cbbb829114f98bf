//! The change lines of a plan: what the user reads about each resource that changes. In: a resource, its
//! decision and the plan's steps; out: at most one `Change`. Nothing here decides: actions, causes and values
//! are those of the decision.

use std::collections::BTreeMap;

use foldhash::{HashMap, HashSet};

use crate::config::stack::model::AttributeSetting;
use crate::model::address::{Address, Name};
use crate::model::live::snapshot::ObjectKey;
use crate::model::schema::{Attribute, Effect, Kind, Type};
use crate::model::source::{SourceLocation, Span};
use crate::model::values::derived::Derivation;
use crate::model::values::value::Value;
use crate::plan::decision::{AttributeDiff, Decision, DecisionKind, DesiredAttribute};
use crate::plan::diff::attributes::display_value;
use crate::plan::diff::lost_values::lost_values;
use crate::plan::join::joined_state::{AdoptionReason, JoinedState, ResourceState};
use crate::plan::model::change::{
    Action, AttributeChange, Cause, Change, ChangeCost, ChangeEffect, IdNames, LiveNames, ModuleMove,
    PreviousAddress, UnchangedAttribute,
};
use crate::plan::model::compare::fingerprint_secrets;
use crate::plan::model::step::{Operation, Step};

/// The details of a change line that the decision does not contain.
pub(in crate::plan) struct ChangeDetails {
    /// Indexes into the plan's steps, in the order of execution.
    pub steps: Vec<usize>,
    pub cost: ChangeCost,
    pub effects: Vec<ChangeEffect>,
}

/// Returns the change line of a resource; `None` when neither the object nor its address changes. `facts.steps`
/// are indexes into `all`.
pub(in crate::plan) fn change_line(
    joined: &JoinedState<'_>,
    n: usize,
    decision: Decision<'_>,
    facts: ChangeDetails,
    all: &[Step],
) -> Option<Change> {
    let subject = &joined.subjects[n];
    let was = previous_address(joined, subject);
    let action =
        change_action(subject, &decision, &facts).or_else(|| was.as_ref().map(|_| Action::Move))?;
    let left_over = action == Action::Delete && decision.act != DecisionKind::Delete;
    // An update may precede the deletion, to undo the object's links.
    let goes = facts.steps.iter().find_map(|step| match &all[*step].operation {
        Operation::Delete { object, .. } => Some(object.id.clone()),
        _ => None,
    });
    let id = goes.filter(|_| left_over).or_else(|| subject.object().map(|object| object.id.clone()));
    let create_first = match decision.act {
        DecisionKind::Replace { create_first } => Some(create_first),
        _ => None,
    };
    Some(Change {
        address: subject.address.clone(),
        kind: subject.kind.name.into(),
        id,
        was: was.map(Box::new),
        action,
        create_first: create_first.filter(|_| action == Action::Replace),
        cause: if left_over { Cause::Unfinished } else { decision.cause },
        reason: change_reason(subject, &decision, left_over),
        seconds: facts.steps.iter().map(|step| all[*step].seconds).sum(),
        hits: affected_resources(joined, n, &decision),
        source: decision_location(joined, subject),
        effects: facts.effects,
        cost: facts.cost,
        steps: facts.steps,
        rest: unchanged_attributes(joined, &decision),
        attributes: attribute_changes(joined, subject, decision),
    })
}

/// Returns the location of a resource's block, or of the condition that leaves it out; `None` when no file
/// mentions the resource any more.
fn decision_location(joined: &JoinedState<'_>, subject: &ResourceState<'_>) -> Option<SourceLocation> {
    let left_out = || joined.left_out(subject.address).map(|(_, span)| span);
    subject.block.map(|block| block.span).or_else(left_out).and_then(|span| source_location(joined, span))
}

fn previous_address(joined: &JoinedState<'_>, subject: &ResourceState<'_>) -> Option<PreviousAddress> {
    let before = joined.declared.was.get(subject.address)?;
    Some(PreviousAddress {
        address: before.address.clone(),
        source: before.span.and_then(|span| source_location(joined, span)),
        module: before.module.clone().map(|(from, to)| ModuleMove { from, to }),
        stack: before.stack.clone(),
    })
}

fn change_action(
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
    facts: &ChangeDetails,
) -> Option<Action> {
    match decision.act {
        DecisionKind::Keep | DecisionKind::Update if subject.adoption.is_some() => Some(Action::Adopt),
        DecisionKind::Replace { .. }
            if matches!(
                subject.adoption,
                Some(AdoptionReason::Requested | AdoptionReason::Recovered(_))
            ) =>
        {
            Some(Action::Adopt)
        }
        DecisionKind::Keep => (!facts.steps.is_empty()).then_some(Action::Delete),
        DecisionKind::Frozen => None,
        DecisionKind::Create => Some(Action::Create),
        DecisionKind::Update => Some(Action::Update),
        DecisionKind::Replace { .. } => Some(Action::Replace),
        DecisionKind::Delete => Some(Action::Delete),
        DecisionKind::Forget => Some(Action::Forget),
    }
}

/// Adds the names of the objects whose ids the values of references contain: a reader knows a name, not an id.
pub(in crate::plan) fn name_references(joined: &JoinedState<'_>, changes: &mut [Change]) {
    let ids: HashSet<Name> =
        changes.iter().flat_map(|change| referenced_ids(joined, change)).cloned().collect();
    if ids.is_empty() {
        return;
    }
    let named = |subject: &ResourceState<'_>| {
        Some((ids.get(&subject.object()?.id)?.clone(), subject.address.clone()))
    };
    let addresses: HashMap<Name, Address> = joined.subjects.iter().filter_map(named).collect();
    let names = |values: &[&Value]| -> IdNames {
        let named = |id: &Name| Some((id.clone(), addresses.get(id)?.clone()));
        let names: BTreeMap<_, _> = texts_of(values).into_iter().filter_map(named).collect();
        (!names.is_empty()).then(|| Box::new(names))
    };
    let live_names = |target: &str, values: &[&Value]| -> LiveNames {
        let others = texts_of(values).into_iter().filter(|id| !addresses.contains_key(*id));
        let named = |id: &Name| Some((id.clone(), live_name(joined, target, id)?));
        let names: BTreeMap<_, _> = others.filter_map(named).collect();
        (!names.is_empty()).then(|| Box::new(names))
    };
    for change in changes {
        let Some(kind) = joined.inputs.registry.kind(&change.kind) else { continue };
        for one in &mut change.attributes {
            let Some(target) = reference_target(kind, &one.path) else { continue };
            let last_applied = one.last_applied.as_deref().unwrap_or(&Value::Null);
            let values = [&one.before, &one.after, last_applied];
            (one.names, one.live_names) = (names(&values), live_names(target, &values));
        }
        for one in &mut change.rest {
            let Some(target) = reference_target(kind, &one.path) else { continue };
            (one.names, one.live_names) = (names(&[&one.value]), live_names(target, &[&one.value]));
        }
    }
}

/// Returns the name of a live object that is no child; `None` if it was not read, or shows none.
fn live_name(joined: &JoinedState<'_>, kind: &str, id: &Name) -> Option<Name> {
    let key = ObjectKey { kind: kind.into(), parent: None, id: id.clone() };
    let object = joined.inputs.snapshot.objects.get(&key)?;
    object.attributes.get("name").and_then(Value::as_text).map(Name::new)
}

/// Returns the ids of other objects in the values of a change.
fn referenced_ids<'c>(joined: &JoinedState<'_>, change: &'c Change) -> Vec<&'c Name> {
    let Some(kind) = joined.inputs.registry.kind(&change.kind) else { return Vec::new() };
    let changed = change.attributes.iter().filter(|one| reference_target(kind, &one.path).is_some());
    let unchanged = change.rest.iter().filter(|one| reference_target(kind, &one.path).is_some());
    let changed =
        changed.flat_map(|one| [&one.before, &one.after].into_iter().chain(one.last_applied.as_deref()));
    let values = changed.chain(unchanged.map(|one| &one.value));
    texts_of(&values.collect::<Vec<_>>())
}

/// Returns the kind of the objects whose ids an attribute, or the one that a path leads into, contains; `None` if it contains
/// no ids.
fn reference_target(kind: &Kind, path: &str) -> Option<&'static str> {
    let (name, _) = path.split_once('.').unwrap_or((path, ""));
    match kind.attribute(name)?.ty.innermost() {
        Type::Reference(target) => Some(target),
        _ => None,
    }
}

fn texts_of<'v>(values: &[&'v Value]) -> Vec<&'v Name> {
    let mut texts = Vec::new();
    for value in values {
        collect_texts(value, &mut texts);
    }
    texts
}

fn collect_texts<'v>(value: &'v Value, into: &mut Vec<&'v Name>) {
    match value {
        Value::Text(text) => into.push(text),
        Value::List(items) => items.iter().for_each(|item| collect_texts(item, into)),
        Value::Map(map) => map.values().for_each(|item| collect_texts(item, into)),
        _ => {}
    }
}

fn change_reason(subject: &ResourceState<'_>, decision: &Decision<'_>, left_over: bool) -> Option<String> {
    if left_over {
        return Some("an earlier replacement did not delete the old object".to_owned());
    }
    match subject.adoption {
        Some(AdoptionReason::Recovered(_)) => {
            Some("an earlier apply created it but could not record it".to_owned())
        }
        Some(AdoptionReason::Requested) => Some("it exists already and is adopted".to_owned()),
        Some(AdoptionReason::Confirmed) if !decision.removes() => {
            Some("it is confirmed to be this resource's".to_owned())
        }
        Some(AdoptionReason::Confirmed) | None => decision.reason.clone(),
    }
}

fn attribute_changes<'a>(
    joined: &JoinedState<'a>,
    subject: &ResourceState<'a>,
    decision: Decision<'a>,
) -> Vec<AttributeChange> {
    match decision.act {
        DecisionKind::Create => {
            let mut created = Vec::with_capacity(decision.wants.len());
            created.extend(decision.wants.into_iter().filter_map(|want| created_attribute(joined, want)));
            created
        }
        DecisionKind::Update | DecisionKind::Replace { .. } => {
            let lost = lost_values(joined, subject, &decision);
            // They do not cause the replacement, but follow from it.
            let lost = lost.into_iter().map(|difference| AttributeChange {
                removed: difference.after == Value::Null && has_no_default(difference.attribute),
                forces_replacement: false,
                ..changed_attribute(joined, difference)
            });
            let written = decision.differences.into_iter();
            written.map(|difference| changed_attribute(joined, difference)).chain(lost).collect()
        }
        DecisionKind::Keep | DecisionKind::Frozen | DecisionKind::Delete | DecisionKind::Forget => {
            Vec::new()
        }
    }
}

/// Returns the attributes that a block writes and that an update or a replacement does not change; empty
/// for every other decision.
fn unchanged_attributes(joined: &JoinedState<'_>, decision: &Decision<'_>) -> Vec<UnchangedAttribute> {
    if !matches!(decision.act, DecisionKind::Update | DecisionKind::Replace { .. }) {
        return Vec::new();
    }
    let stays = |want: &&DesiredAttribute<'_>| {
        want.value != Value::Null && !decision.changes(&[want.attribute.name])
    };
    let all = decision.wants.iter().filter(stays).filter_map(|want| Some((want, want.setting?)));
    all.map(|(want, setting)| UnchangedAttribute {
        path: want.attribute.name.into(),
        value: match want.id {
            Some(_) => want.value.clone(),
            None => display_value(
                want.attribute,
                &fingerprint_secrets(&want.value, joined.key()),
                &joined.names,
            ),
        },
        source: source_location(joined, setting.span),
        names: None,
        live_names: None,
    })
    .collect()
}

fn created_attribute(joined: &JoinedState<'_>, want: DesiredAttribute<'_>) -> Option<AttributeChange> {
    if want.value == Value::Null {
        return None;
    }
    let (source, set_by) = value_origin(joined, want.setting, want.attribute.name);
    let mut secrets = Vec::new();
    let after = match want.value.is_secret() {
        true => {
            let after = fingerprint_secrets(&want.value, joined.key());
            secrets = secret_names(&after, |see| see(&want.value));
            after
        }
        false if want.id.is_some() => want.value,
        false => display_value(want.attribute, &want.value, &joined.names),
    };
    let after = after.mark_secret(want.attribute.secret);
    Some(AttributeChange {
        path: want.attribute.name.into(),
        before: Value::Null,
        after,
        secrets,
        removed: false,
        forces_replacement: false,
        source,
        set_by: set_by.map(Box::new),
        cause: Cause::Config,
        last_applied: None,
        names: None,
        live_names: None,
    })
}

fn changed_attribute(joined: &JoinedState<'_>, difference: AttributeDiff<'_>) -> AttributeChange {
    let (source, set_by) = value_origin(joined, difference.setting, &difference.path);
    AttributeChange {
        removed: difference.after == Value::Null && is_taken_away(&difference),
        forces_replacement: difference.forces_replacement(),
        secrets: secret_names(&difference.after, |see| {
            difference.setting.into_iter().for_each(|setting| setting.expression.each_value(see));
        }),
        path: difference.path,
        before: difference.before,
        after: difference.after,
        source,
        set_by: set_by.map(Box::new),
        cause: difference.cause,
        last_applied: difference.last_applied.map(Box::new),
        names: None,
        live_names: None,
    }
}

/// Returns the names of the secrets in some values, if the planned one has a secret without a fingerprint; of a text of the
/// configuration, the digest.
fn secret_names(after: &Value, each: impl FnOnce(&mut dyn FnMut(&Value))) -> Vec<Name> {
    let mut names = Vec::new();
    if after.lacks_fingerprint() {
        each(&mut |value| push_secret_names(value, &mut names));
    }
    names
}

fn push_secret_names(value: &Value, into: &mut Vec<Name>) {
    match value {
        Value::Secret(secret) => {
            let names = secret.source_names();
            into.extend(if names.is_empty() {
                // What has neither a name nor a text is equal to nothing else.
                vec![
                    Derivation::literal_digest(secret)
                        .map_or_else(Name::default, |digest| format!("literal {digest}").into()),
                ]
            } else {
                names.into_iter().cloned().collect()
            });
        }
        Value::List(items) => items.iter().for_each(|item| push_secret_names(item, into)),
        Value::Map(map) => map.values().for_each(|part| push_secret_names(part, into)),
        _ => {}
    }
}

/// Returns whether removing a value takes something away: a key of an open map, a link, a collection. A removed
/// scalar only resets to the service's default.
fn is_taken_away(difference: &AttributeDiff<'_>) -> bool {
    matches!(difference.attribute.ty, Type::Map(_) | Type::Reference(_) | Type::List(_) | Type::Set { .. })
}

/// Returns whether an attribute of a new object has no value where the configuration sets none.
fn has_no_default(attribute: &Attribute) -> bool {
    attribute.ty.can_be_emptied() || matches!(attribute.ty, Type::Text { .. })
}

/// Returns where a value was written and what set it; for an entry of a map, the entry's own location. The location is
/// `None` when no block writes the value, the setter when the file that declares the block writes it.
fn value_origin(
    joined: &JoinedState<'_>,
    setting: Option<&AttributeSetting>,
    path: &str,
) -> (Option<SourceLocation>, Option<Name>) {
    let Some((span, set_by)) = setting.map(|setting| setting.origin(path)) else { return (None, None) };
    (source_location(joined, span), set_by.cloned())
}

fn source_location(joined: &JoinedState<'_>, span: Span) -> Option<SourceLocation> {
    joined.inputs.stack.sources.location_of(span)
}

/// Returns the resources that a change affects: those that refer to the object, in address order and without
/// duplicates. Empty when the change neither removes the object nor interrupts it.
fn affected_resources(joined: &JoinedState<'_>, n: usize, decision: &Decision<'_>) -> Vec<Address> {
    let disturbs = |effect: Effect| {
        matches!(effect, Effect::Restart | Effect::BriefOutage | Effect::AddressChange | Effect::Stops)
    };
    let effects = |difference: &AttributeDiff<'_>| {
        difference.attribute.effects_of(&difference.before, &difference.after).any(disturbs)
    };
    let felt = match decision.act {
        DecisionKind::Replace { .. } | DecisionKind::Delete => true,
        DecisionKind::Update => decision.differences.iter().any(effects),
        _ => false,
    };
    if !felt {
        return Vec::new();
    }
    let both = joined.users[n].iter().chain(&joined.holders[n]);
    let mut found: Vec<Address> = both.map(|m| joined.subjects[*m].address.clone()).collect();
    found.sort_unstable();
    found.dedup();
    found
}
