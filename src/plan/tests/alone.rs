//! What the service refuses: two live objects of one kind that cannot stand beside each other.

use std::collections::BTreeMap;

use crate::model::schema::{Check, Kind};
use crate::model::snapshot::{Object, ObjectKey};
use crate::model::value::Value;
use crate::plan::replace::network;

/// Panics where another live object has what this one has and may not share.
pub fn assert_alone(live: &BTreeMap<ObjectKey, Object>, kind: &'static Kind, key: &ObjectKey) {
    let object = &live[key];
    let others = live.iter().filter(|(other, _)| *other != key && other.kind == kind.name);
    for other in others.map(|(_, other)| other) {
        for rule in kind.rules {
            let clash = match rule.check {
                Check::NoOverlap { attribute } => overlap(object, other, attribute),
                Check::Unique { attributes } => {
                    let home = (&object.project, &object.parent) == (&other.project, &other.parent);
                    home && attributes.iter().all(|name| shares(object, other, name))
                }
                _ => false,
            };
            assert!(!clash, "{} beside {}: {}", object.id, other.id, rule.says);
        }
    }
}

fn shares(one: &Object, other: &Object, name: &str) -> bool {
    let value = |object: &Object| object.attributes.get(name).cloned().unwrap_or_default();
    value(one) != Value::Null && value(one) == value(other)
}

fn overlap(one: &Object, other: &Object, name: &str) -> bool {
    let net = |object: &Object| object.attributes.get(name).and_then(network);
    net(one).zip(net(other)).is_some_and(|(a, b)| a.contains(&b) || b.contains(&a))
}
