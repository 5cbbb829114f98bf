//! What the ledger records of a resource besides its object and its attributes: dependencies and lifecycle
//! settings, which a later plan needs once the block is removed.

use std::collections::BTreeSet;

use crate::config::stack::model::OnRemove;
use crate::model::address::Name;
use crate::model::address::name_map::NameMap;
use crate::model::expression::Expression;
use crate::model::schema::Attribute;
use crate::plan::diff::attributes::ignores_drift;
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
