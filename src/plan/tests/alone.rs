//! What the service refuses: two live objects of one kind that cannot stand beside each other.

use std::collections::BTreeMap;

use crate::kinds::REGISTRY;
use crate::ledger::state::ledger::Ledger;
use crate::model::live::snapshot::{Object, ObjectKey};
use crate::model::schema::{Kind, RuleCheck};
use crate::model::values::value::Value;
use crate::plan::decide::replacement_order::parse_network;

/// Panics where another live object has what this one has and may not share.
pub fn assert_alone(live: &BTreeMap<ObjectKey, Object>, kind: &'static Kind, key: &ObjectKey) {
    let object = &live[key];
    let others = live.iter().filter(|(other, _)| *other != key && other.kind == kind.name);
    for other in others.map(|(_, other)| other) {
        for rule in kind.rules {
            let clash = match rule.check {
                RuleCheck::NoOverlap { attribute } => overlap(object, other, attribute),
                RuleCheck::Unique { attributes } => {
                    let home = (&object.project, &object.parent) == (&other.project, &other.parent);
                    home && attributes.iter().all(|name| shares(object, other, name))
                }
                _ => false,
            };
            assert!(!clash, "{} beside {}: {}", object.id, other.id, rule.says);
        }
    }
}

/// Removes the children that the service removes with an object.
pub fn take_along(live: &mut BTreeMap<ObjectKey, Object>, ledger: &mut Ledger, id: &str) {
    let goes = |kind: &str| REGISTRY.kind(kind).is_some_and(|kind| kind.goes_with_parent);
    live.retain(|_, object| object.parent.as_deref() != Some(id) || !goes(&object.kind));
    for entry in ledger.entries.values_mut().filter(|entry| goes(&entry.kind)) {
        entry.deposed.retain(|owned| owned.parent.as_deref() != Some(id));
        entry.current.take_if(|owned| owned.parent.as_deref() == Some(id));
    }
    ledger
        .entries
        .retain(|_, entry| entry.current.is_some() || !entry.deposed.is_empty() || !goes(&entry.kind));
}

fn shares(one: &Object, other: &Object, name: &str) -> bool {
    let value = |object: &Object| object.attributes.get(name).cloned().unwrap_or_default();
    value(one) != Value::Null && value(one) == value(other)
}

fn overlap(one: &Object, other: &Object, name: &str) -> bool {
    let net = |object: &Object| object.attributes.get(name).and_then(parse_network);
    net(one).zip(net(other)).is_some_and(|(a, b)| a.contains(&b) || b.contains(&a))
}
