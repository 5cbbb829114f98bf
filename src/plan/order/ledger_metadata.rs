//! What the ledger records of a resource besides its object and its attributes: dependencies and lifecycle
//! settings, which a later plan needs once the block is removed.

use std::collections::BTreeSet;

use crate::config::stack::model::OnRemove;
use crate::model::address::Name;
use crate::model::address::name_map::NameMap;
use crate::model::expression::Expression;
use crate::model::schema::Attribute;
use crate::model::values::value::Value;
use crate::plan::decision::{Decision, DesiredAttribute};
use crate::plan::diff::attributes::{AttributeDiffer, ignores_drift};
use crate::plan::join::joined_state::{JoinedState, ResourceState};
use crate::plan::model::step::LedgerMetadata;

/// Returns the part of a declared resource's ledger entry besides objects and attributes.
pub(in crate::plan) fn build_remember(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
) -> LedgerMetadata {
    let depends_on = subject.needs.iter().map(|need| joined.subjects[*need].address.clone()).collect();
    let lifecycle = subject.resource.map(|resource| &resource.lifecycle);
    LedgerMetadata {
        depends_on,
        protect: lifecycle.is_some_and(|lifecycle| lifecycle.protect),
        keep_on_remove: lifecycle.is_some_and(|lifecycle| lifecycle.on_remove == OnRemove::Keep),
        delete_on_remove: lifecycle.is_some_and(|lifecycle| lifecycle.on_remove == OnRemove::Delete),
        final_snapshot: lifecycle.is_some_and(|lifecycle| lifecycle.final_snapshot),
        unverified: unverified_attributes(joined, subject),
        let_go: false,
    }
}

/// Returns the attributes whose live values are not compared with the sent ones: those with
/// a valid `ignore_drift` entry.
fn unverified_attributes(joined: &JoinedState<'_>, subject: &ResourceState<'_>) -> BTreeSet<Name> {
    let ignored = |attribute: &&Attribute| ignores_drift(joined, subject, attribute.name);
    subject.kind.attributes.iter().filter(ignored).map(|attribute| attribute.name.into()).collect()
}

/// Returns the written attributes of an object that show another value and that its update leaves as they are, because no
/// call can set them back: nothing was sent for them.
pub(super) fn attributes_left_alone(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
) -> Vec<Name> {
    let Some(diff) = AttributeDiffer::new(joined, subject) else { return Vec::new() };
    let is_changed = |name: &str| decision.differences.iter().any(|one| one.attribute.name == name);
    let is_left = |want: &&DesiredAttribute<'_>| {
        // The keys of a map can always be set back.
        let is_whole = !matches!(want.value, Value::Null | Value::Map(_)) && !want.value.is_unknown();
        let is_compared = is_whole && want.setting.is_some();
        is_compared
            && !is_changed(want.attribute.name)
            && diff.shows(want.attribute)
            && !diff.shows_written(want)
    };
    decision.wants.iter().filter(is_left).map(|want| want.attribute.name.into()).collect()
}

/// Returns the dependencies and lifecycle settings of the present ledger entry, unchanged; the defaults if
/// there is no entry.
pub(super) fn as_before(subject: &ResourceState<'_>) -> LedgerMetadata {
    let remember = subject.entry.map(|entry| LedgerMetadata {
        depends_on: entry.depends_on.clone(),
        protect: entry.protect,
        keep_on_remove: entry.keep_on_remove,
        delete_on_remove: entry.delete_on_remove,
        final_snapshot: entry.final_snapshot,
        unverified: BTreeSet::new(),
        let_go: false,
    });
    remember.unwrap_or_default()
}

pub(super) fn remembered_attributes(subject: &ResourceState<'_>) -> NameMap<Expression> {
    let applied = subject.entry.into_iter().flat_map(|entry| &entry.applied);
    applied.map(|(name, value)| (name.clone(), Expression::Value(value.clone()))).collect()
}
