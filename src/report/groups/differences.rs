//! Groups of resources that two plans decide differently: those whose parts differ in the same way become one.

use std::borrow::Cow;

use smol_str::format_smolstr;

use super::key_groups::{GroupItem, KeyPosition, group_items, split_at};
use super::key_values::{replace_in_value, value_text};
use super::problems::describe_members;
use crate::model::values::value::Value;
use crate::plan::artifact::difference::{PartDifference, ResourceDifference};

/// Resources whose parts differ in the same way, but for the key of their address.
#[derive(Debug)]
pub(in crate::report) struct DifferenceGroup<'d> {
    /// The address, or the common one with the number of resources and the first of them.
    pub(in crate::report) title: String,
    /// The parts, with `{key}` in the values that differ.
    pub(in crate::report) parts: Cow<'d, [PartDifference]>,
}

/// Returns the resources, equal ones as one.
pub(in crate::report) fn group_differences(resources: &[ResourceDifference]) -> Vec<DifferenceGroup<'_>> {
    let item = |one: &ResourceDifference| GroupItem {
        address: one.address.as_str().into(),
        exact: format_smolstr!(
            "{:?}",
            one.parts.iter().map(|part| (&part.part, &part.moved)).collect::<Vec<_>>()
        ),
        texts: one.parts.iter().flat_map(|part| [&part.old, &part.new].map(value_text)).collect(),
    };
    let items: Vec<GroupItem> = resources.iter().map(item).collect();
    let groups = group_items(&items, KeyPosition::Any).into_iter().map(|group| {
        let first = &resources[group.members[0]];
        if group.members.len() == 1 {
            return DifferenceGroup {
                title: first.address.to_string(),
                parts: Cow::Borrowed(&first.parts),
            };
        }
        let (_, key, _) = split_at(first.address.as_str(), group.position);
        let mut flags = group.is_replaced.iter().copied();
        let mut value = |value: &Value| {
            if flags.next().unwrap_or(false) { replace_in_value(value, key) } else { value.clone() }
        };
        let parts = first.parts.iter().map(|part| PartDifference {
            old: value(&part.old),
            new: value(&part.new),
            ..part.clone()
        });
        let parts = Cow::Owned(parts.collect());
        DifferenceGroup { title: describe_members(&group, &items), parts }
    });
    groups.collect()
}
