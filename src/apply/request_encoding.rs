//! Encoding of attribute values: request bodies, the values that a response must show, and the values that the
//! ledger may store. Pure. Invariant: no value for the ledger contains the plain text of a secret.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};

use super::event::StepError;
use super::step::StepContext;
use crate::cloud::http::message::JsonBody;
use crate::ledger::state::entry::Entry;
use crate::model::address::{Address, Name};
use crate::model::live::snapshot::Object;
use crate::model::redact::SentSecrets;
use crate::model::schema::{ApiCall, Attribute, Kind, Literal, Presence, Type, UpdateStrategy, meaning};
use crate::model::values::secret::{FingerprintKey, Secret, is_same_fingerprint};
use crate::model::values::value::{Attributes, Value};
use crate::plan::model::step::LedgerMetadata;

/// The name of an attribute whose value cannot be sent: a part of it is unknown, or is a secret of which only
/// the fingerprint is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnsendableValue(pub(super) Name);

/// Returns the body of a creation: every attribute that is set and that a creation accepts.
pub(super) fn create_body(kind: &Kind, values: &Attributes) -> Result<JsonBody, UnsendableValue> {
    let (mut body, mut secrets) = (Map::new(), SentSecrets::default());
    for attribute in kind.attributes.iter().filter(|attribute| attribute.at_creation) {
        match values.get(attribute.name) {
            None | Some(Value::Null) => {}
            Some(value) => write_attribute((&mut body, &mut secrets), attribute, attribute.wire, value)?,
        }
    }
    // An object that is absent when this attribute is off is created by switching it on.
    if let Some((attribute, Literal::Bool(off))) = kind.api.absent_when {
        body.entry(attribute).or_insert(Json::Bool(!off));
    }
    Ok(JsonBody { json: Json::Object(body), secrets })
}

/// Returns the body of a call: the attributes that it changes, those that it always contains, and its fixed
/// fields. `standing` returns the value of an attribute that does not change; `None` if it is not known.
pub(super) fn call_body(
    kind: &Kind,
    call: &ApiCall,
    targets: &Attributes,
    standing: impl Fn(&str) -> Option<Value>,
) -> Result<JsonBody, UnsendableValue> {
    let (mut body, mut secrets) = (Map::new(), SentSecrets::default());
    let names: BTreeSet<&str> =
        targets.keys().map(Name::as_str).chain(call.always.iter().copied()).collect();
    for attribute in names.into_iter().filter_map(|name| kind.attribute(name)) {
        let Some(field) = body_field(attribute, call) else { continue };
        let value = targets.get(attribute.name).cloned().or_else(|| standing(attribute.name));
        if let Some(value) = value {
            write_attribute((&mut body, &mut secrets), attribute, field, &or_default(attribute, value))?;
        }
    }
    let holds = |name: &str, wanted: Literal| {
        let value = targets.get(name).cloned().or_else(|| standing(name));
        let start = || kind.attribute(name).map_or(Value::Null, |a| or_default(a, Value::Null));
        value.unwrap_or_else(start) == wanted.value()
    };
    let more = call.fixed_when.filter(|(name, wanted, _)| holds(name, *wanted));
    for (field, literal) in call.fixed.iter().chain(more.map_or(&[][..], |(_, _, fields)| fields)) {
        let fixed = literal.value().to_wire().unwrap_or_default();
        body.insert((*field).to_owned(), fixed);
    }
    Ok(JsonBody { json: Json::Object(body), secrets })
}

/// Writes an attribute into a body: a record without a field of its own key by key.
fn write_attribute(
    (body, secrets): (&mut Map<String, Json>, &mut SentSecrets),
    attribute: &Attribute,
    field: &str,
    value: &Value,
) -> Result<(), UnsendableValue> {
    if attribute.spread.is_empty() {
        body.insert(field.to_owned(), request_value(attribute, value, secrets)?);
        return Ok(());
    }
    let opened = value.expose_secrets();
    let Value::Map(map) = opened.as_ref() else { return Ok(()) };
    for (key, field) in attribute.spread {
        if let Some(part) = map.get(*key) {
            let part = part.to_body(secrets).ok_or_else(|| UnsendableValue(attribute.name.into()))?;
            body.insert((*field).to_owned(), part);
        }
    }
    Ok(())
}

/// Returns the field of a call's body for an attribute; `None` if the call's path alone says what it does.
fn body_field(attribute: &Attribute, call: &ApiCall) -> Option<&'static str> {
    match attribute.change {
        UpdateStrategy::Patch { call: own, body } if own.name == call.name => Some(body),
        UpdateStrategy::Link { set, body, .. } if set.name == call.name => Some(body),
        UpdateStrategy::Upload { deliver, body, .. } if deliver.name == call.name => Some(body),
        // No call changes an attribute that identifies the object, but a call may carry it.
        _ => call.always.contains(&attribute.name).then_some(attribute.wire),
    }
}

/// Replaces `null`, which means the default in a configuration, by the default that is sent.
fn or_default(attribute: &Attribute, value: Value) -> Value {
    match (attribute.presence, value) {
        (Presence::Default(literal), Value::Null) => literal.value(),
        (_, value) => value,
    }
}

fn request_value(
    attribute: &Attribute,
    value: &Value,
    secrets: &mut SentSecrets,
) -> Result<Json, UnsendableValue> {
    note_texts(attribute, value, secrets);
    let labelled = match (attribute.ty, value.as_text()) {
        (Type::Labelled(labels), Some(text)) => labels.iter().find(|(label, _)| *label == text),
        _ => None,
    };
    match labelled {
        Some((_, number)) => Ok((*number).into()),
        None => meaning::without_unset_keys(&attribute.ty, value)
            .to_body(secrets)
            .ok_or_else(|| UnsendableValue(attribute.name.into())),
    }
}

/// Notes the strings of an attribute that the kind's table declares secret, or that may be secret because
/// another writer may have set them (values of an environment): responses are redacted by them. A
/// `Value::Secret` notes its own plain text.
fn note_texts(attribute: &Attribute, value: &Value, secrets: &mut SentSecrets) {
    match value {
        Value::Text(text) if attribute.secret => secrets.push(text),
        Value::Text(text) if attribute.private => secrets.push_private(text),
        Value::List(items) => items.iter().for_each(|item| note_texts(attribute, item, secrets)),
        Value::Map(map) => map.values().for_each(|part| note_texts(attribute, part, secrets)),
        _ => {}
    }
}

/// Returns the attributes that the created object must show: those that were sent, that lists contain, and that
/// are not secret. Only what a list shows can be compared when a response was lost.
pub(super) fn expected_attributes(kind: &Kind, values: &Attributes) -> Attributes {
    kind.attributes
        .iter()
        .filter(|attribute| attribute.at_creation && attribute.listed && attribute.is_readable())
        .filter(|attribute| !attribute.secret)
        .filter_map(|attribute| Some((attribute, values.get(attribute.name)?)))
        .filter(|(_, value)| !matches!(value, Value::Null) && !value.is_secret())
        .map(|(attribute, value)| (attribute.name.into(), intent_value(attribute, value)))
        .collect()
}

/// Returns the form in which an intent records a sent value.
fn intent_value(attribute: &Attribute, value: &Value) -> Value {
    match (attribute.ty, value) {
        // The service writes ids of the same catalog as numbers in some places and as strings in others.
        (Type::Catalog(_), Value::Text(text)) => {
            text.parse().map_or_else(|_| value.clone(), Value::Integer)
        }
        (Type::Catalog(_), _) => value.clone(),
        (ty, value) => meaning::to_canonical(&ty, value),
    }
}

/// Returns the attribute that best distinguishes the objects of a kind: the first that is required and that
/// lists show; `None` if there is none. Two objects that differ in it cannot result from the same request.
pub(super) fn distinguishing_attribute(kind: &Kind) -> Option<&'static Attribute> {
    kind.attributes.iter().find(|attribute| {
        attribute.presence == Presence::Required && attribute.listed && attribute.at_creation
    })
}

/// Returns whether the service generates the ids of a kind. Where the name is the id, or there is only one object, an
/// id proves nothing: it was sent, and may be used again.
pub(super) fn gives_ids(kind: &Kind) -> bool {
    kind.api.absent_when.is_none() && kind.attribute(kind.api.id).is_none_or(|own| !own.at_creation)
}

/// Returns the first attribute that an object shows with another value than was sent; `None` if there is none.
/// An attribute that the object does not show proves nothing: responses may omit fields.
pub(super) fn first_mismatch<'a>(kind: &Kind, sent: &'a Attributes, object: &Object) -> Option<&'a Name> {
    sent.iter()
        .find(|(name, value)| {
            let Some(attribute) = kind.attribute(name) else { return false };
            let live = object.attributes.get(*name).filter(|live| !matches!(live, Value::Null));
            live.is_some_and(|live| !is_equivalent(attribute, value, live))
        })
        .map(|(name, _)| name)
}

/// Returns whether the service treats two values of an attribute as equal.
pub(super) fn is_equivalent(attribute: &Attribute, one: &Value, other: &Value) -> bool {
    meaning::same_of(attribute, one, other)
}

/// Returns whether two values are equal, also where one has a secret's plain text and the other
/// its fingerprint under `key`.
pub(super) fn same_sealed(attribute: &Attribute, one: &Value, other: &Value, key: &FingerprintKey) -> bool {
    let comparable = |value| canonical_value(attribute, &fingerprint_value(attribute, value, key));
    is_equal_by_fingerprint(&comparable(one), &comparable(other), key)
}

/// Returns whether two values are equal, as far as fingerprints can show. A secret without a fingerprint, from a plan
/// that was made before there was a ledger, equals any other.
pub(super) fn is_equal_by_fingerprint(one: &Value, other: &Value, key: &FingerprintKey) -> bool {
    match (one, other) {
        (Value::Secret(one), Value::Secret(other)) => {
            let prints = one.fingerprint(key).zip(other.fingerprint(key));
            prints.is_none_or(|(one, other)| is_same_fingerprint(&one, &other))
        }
        (Value::Secret(secret), Value::Text(text)) | (Value::Text(text), Value::Secret(secret)) => {
            let prints = secret.fingerprint(key).zip(Secret::new(text.as_str()).fingerprint(key));
            prints.is_none_or(|(one, other)| is_same_fingerprint(&one, &other))
        }
        (Value::Map(one), Value::Map(other)) => {
            let same = |(name, part)| {
                other.get(name).is_some_and(|other| is_equal_by_fingerprint(part, other, key))
            };
            one.len() == other.len() && one.iter().all(same)
        }
        (Value::List(one), Value::List(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_equal_by_fingerprint(one, other, key))
        }
        (one, other) => one == other,
    }
}

/// Removes the keys of open maps that a call only sent along: other writers set them, and a key that the ledger
/// stores would count as stead's own.
pub(super) fn keep_own(kind: &Kind, changed: &mut Attributes, before: &Attributes, applied: &Attributes) {
    for (name, value) in changed {
        let open = kind.attribute(name).is_some_and(|attribute| matches!(attribute.ty, Type::Map(_)));
        let (Value::Map(map), Some(Value::Map(before)), true) = (value, before.get(name), open) else {
            continue;
        };
        let own = |key: &Name| matches!(applied.get(name), Some(Value::Map(map)) if map.contains_key(key));
        map.retain(|key, part| before.get(key) != Some(part) || own(key));
    }
}

/// Normalizes a value to the form in which values of its attribute are compared.
fn canonical_value(attribute: &Attribute, value: &Value) -> Value {
    let value = or_default(attribute, value.clone());
    if meaning::is_unset(&value) { Value::Null } else { meaning::to_comparable(&attribute.ty, &value) }
}

/// Returns values in the form that the ledger stores: secrets as fingerprints only, and unset values left out.
pub(super) fn fingerprint_secrets(kind: &Kind, values: &Attributes, key: &FingerprintKey) -> Attributes {
    values
        .iter()
        .filter(|(_, value)| !matches!(value, Value::Null))
        .map(|(name, value)| match kind.attribute(name) {
            Some(attribute) => (name.clone(), fingerprint_value(attribute, value, key)),
            None => (name.clone(), seal_parts(value, key)),
        })
        .collect()
}

/// Returns a value of an attribute with fingerprints in place of secrets; a string of a secret attribute counts as one.
pub(super) fn fingerprint_value(attribute: &Attribute, value: &Value, key: &FingerprintKey) -> Value {
    match value {
        Value::Text(text) if attribute.secret => Value::Secret(Secret::new(text.as_str()).to_recorded(key)),
        value => seal_parts(&meaning::without_unset_keys(&attribute.ty, value), key),
    }
}

/// Returns a value with fingerprints in place of secrets, at any depth.
pub(super) fn seal_parts(value: &Value, key: &FingerprintKey) -> Value {
    value.map_secrets(&|secret| secret.to_recorded(key))
}

/// Returns values in the form of `Merged` records and intents: as `fingerprint_secrets`, but with `Null`
/// for a reset attribute.
pub(super) fn sealed_all(kind: &Kind, values: &Attributes, key: &FingerprintKey) -> Attributes {
    let mut sealed = fingerprint_secrets(kind, values, key);
    for (name, _) in values.iter().filter(|(_, value)| matches!(value, Value::Null)) {
        sealed.insert(name.clone(), Value::Null);
    }
    sealed
}

/// Returns the calls that change an attribute from one value to another, in the order of sending, each with its
/// own start and target value; empty if no call can change it.
pub(super) fn calls_between(
    attribute: &'static Attribute,
    live: &Value,
    wanted: &Value,
) -> Vec<(&'static ApiCall, Value, Value)> {
    match attribute.change {
        UpdateStrategy::Patch { call, .. } => vec![(call, live.clone(), wanted.clone())],
        UpdateStrategy::Switch(choices) => {
            let wanted = or_default(attribute, wanted.clone());
            let chosen = choices.iter().find(|(choice, _)| wanted.as_text() == Some(*choice));
            chosen.map(|(_, call)| (call, live.clone(), wanted.clone())).into_iter().collect()
        }
        UpdateStrategy::Link { set, unset, .. } => {
            let off = (!matches!(live, Value::Null)).then(|| (unset, live.clone(), Value::Null));
            let on = (!matches!(wanted, Value::Null)).then(|| (set, Value::Null, wanted.clone()));
            off.into_iter().chain(on).collect()
        }
        UpdateStrategy::Upload { deliver, .. } => vec![(deliver, live.clone(), wanted.clone())],
        UpdateStrategy::Replace | UpdateStrategy::Never => Vec::new(),
    }
}

/// Returns the ledger entry of a resource, without its objects.
pub(super) fn ledger_entry(
    job: &StepContext<'_>,
    parent: Option<&Address>,
    applied: Attributes,
    remember: &LedgerMetadata,
    unfinished: bool,
) -> Entry {
    Entry {
        kind: job.kind.name.into(),
        current: None,
        deposed: Vec::new(),
        parent: parent.cloned(),
        applied,
        depends_on: remember.depends_on.clone(),
        protect: remember.protect,
        keep_on_remove: remember.keep_on_remove,
        delete_on_remove: remember.delete_on_remove,
        unfinished,
        secret_lost: false,
        secret_origin: None,
        final_snapshot: remember.final_snapshot,
        verified: None,
    }
}

/// Returns the step's error for a value that cannot be sent.
pub(super) fn missing_value_error(UnsendableValue(name): UnsendableValue) -> StepError {
    StepError::Failed(format!(
        "the value of {name} is not known here: a secret's text, or a dependency's value"
    ))
}

#[cfg(test)]
mod tests;
