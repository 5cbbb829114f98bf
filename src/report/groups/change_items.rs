//! The items that changes are grouped by. In: a change, and what else must be equal. Out: an item whose exact part is a
//! number that equal shapes share, so that ten thousand changes need no text each, and whose texts are those that are set.

use std::borrow::Cow;

use foldhash::HashMap;
use rust_decimal::Decimal;
use smol_str::format_smolstr;

use super::key_groups::{GroupItem, mark_literal_key};
use super::key_values::value_text;
use crate::model::address::{Address, Name};
use crate::model::crypto::hex::encode_hex;
use crate::model::schema::Effect;
use crate::model::values::value::Value;
use crate::plan::model::change::{Action, AttributeChange, Cause, Change, ChangeEffect, PolicyStatus};
use crate::report::text::named_ids::value_with_addresses;
use crate::report::text::phrases;

/// Number of characters of an object's id in the name of its final snapshot.
const ID_MARK_CHARS: usize = 8;

/// What must be equal as it is in two changes of one group, and which of its texts there are.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct ChangeShape<'p> {
    kind: &'p Name,
    decided: (Action, Option<bool>, Cause),
    attributes: Vec<AttributeShape<'p>>,
    effects: Vec<Effect>,
    /// The steps that `due` names are never equal; their sum is.
    cost: [Option<Decimal>; 3],
    /// Whether it has a reason, and a previous address.
    texts: [bool; 2],
    verdicts: Vec<(&'p str, Option<PolicyStatus>)>,
    outcome: String,
}

/// What must be equal as it is in two changes of an attribute.
#[derive(PartialEq, Eq, Hash)]
struct AttributeShape<'p> {
    path: &'p Name,
    flags: (bool, bool, bool, Cause),
    /// Whether each of its values, what set it, and the names of its secrets are a text of the item.
    texts: [bool; 5],
}

/// Numbers of the shapes of changes: equal ones have the same.
pub(super) type ShapeNumbers<'p> = HashMap<ChangeShape<'p>, usize>;

/// Returns what must be equal in two changes of one group.
pub(super) fn change_item<'p>(
    change: &'p Change,
    context: (Vec<(&'p str, Option<PolicyStatus>)>, String),
    numbers: &mut ShapeNumbers<'p>,
) -> GroupItem {
    let mut item = shown_change_item(change, context, numbers);
    for text in &mut item.texts {
        if let Cow::Owned(marked) = mark_literal_key(text) {
            *text = marked.into();
        }
    }
    item
}

/// Returns the same for a change in which a key is `{key}` already.
pub(super) fn shown_change_item<'p>(
    change: &'p Change,
    (verdicts, outcome): (Vec<(&'p str, Option<PolicyStatus>)>, String),
    numbers: &mut ShapeNumbers<'p>,
) -> GroupItem {
    let attribute = |one: &'p AttributeChange| AttributeShape {
        path: &one.path,
        flags: (one.removed, one.forces_replacement, one.last_applied.is_some(), one.cause),
        texts: has_texts(one),
    };
    let cost = &change.cost;
    let shape = ChangeShape {
        kind: &change.kind,
        decided: (change.action, change.create_first, change.cause),
        attributes: change.attributes.iter().map(attribute).collect(),
        effects: change.effects.iter().map(|effect| effect.code).collect(),
        cost: [cost.monthly_before, cost.monthly_after, cost.due_now],
        texts: [change.reason.is_some(), change.was.is_some()],
        verdicts,
        outcome,
    };
    let next = numbers.len();
    let number = *numbers.entry(shape).or_insert(next);
    let mut texts: Vec<Name> = Vec::with_capacity(change.effects.len() + 2 * change.attributes.len());
    texts.extend(change.reason.as_deref().map(Name::new));
    texts.extend(change.was.as_ref().map(|was| Name::new(phrases::describe_previous_address(was))));
    texts.extend(change.effects.iter().map(|effect| Name::new(effect_text(change, effect))));
    for one in &change.attributes {
        let value = |value| value_text(&value_with_addresses(value, &one.names));
        texts.extend(set_values(one).into_iter().flatten().map(value));
        texts.extend(one.set_by.as_deref().cloned());
        texts.extend(has_texts(one)[4].then(|| secrets_text(one, &change.address)));
    }
    let mut segments = change.address.as_str().rsplit('.').skip(2);
    GroupItem {
        address: change.address.as_str().into(),
        exact: format_smolstr!("{number}"),
        texts,
        is_instance: segments.next() == Some(change.kind.as_str()),
    }
}

/// Returns the text of an effect, with `{id}` in place of the beginning of the object's id: the name of a final snapshot ends
/// with it.
pub(super) fn effect_text<'c>(change: &Change, effect: &'c ChangeEffect) -> Cow<'c, str> {
    let id = change.id.as_deref().unwrap_or_default();
    match id.get(..ID_MARK_CHARS).filter(|mark| effect.text.contains(mark)) {
        Some(mark) => Cow::Owned(effect.text.replace(mark, "{id}")),
        None => Cow::Borrowed(&effect.text),
    }
}

/// Returns whether the value before, the value after, the last applied value, what set the value and the names of secrets
/// without fingerprints are texts of an item.
pub(super) fn has_texts(one: &AttributeChange) -> [bool; 5] {
    let [before, after, last_applied] = set_values(one).map(|value| value.is_some());
    [before, after, last_applied, one.set_by.is_some(), one.after.lacks_fingerprint()]
}

/// Returns a text that is equal in two attributes if the secrets without fingerprints are: their names, or an address that no
/// other change has.
fn secrets_text(one: &AttributeChange, address: &Address) -> Name {
    if one.secrets.is_empty() || one.secrets.iter().any(Name::is_empty) {
        // Not one that the key of the address can be replaced in.
        return format_smolstr!("v{}", encode_hex(address.as_str().as_bytes()));
    }
    Name::new(one.secrets.join("\n"))
}

/// Returns the value before, the value after and the last applied value, as far as they are set.
fn set_values(one: &AttributeChange) -> [Option<&Value>; 3] {
    [Some(&one.before), Some(&one.after), one.last_applied.as_deref()]
        .map(|value| value.filter(|value| **value != Value::Null))
}
