//! Groups of resources that two plans decide differently: those whose parts differ in the same way become one.

use std::borrow::Cow;

use smol_str::format_smolstr;

use super::key_groups::{GroupItem, KeyPosition, group_items};
use super::key_values::literal_value_text;
use super::problems::GroupParts;
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
        texts: one.parts.iter().flat_map(|part| [&part.old, &part.new].map(literal_value_text)).collect(),
        is_instance: false,
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
        let common = GroupParts::new(&group, &items);
        let parts = first.parts.iter().enumerate().map(|(number, part)| PartDifference {
            old: common.replace_value(&part.old, 2 * number),
            new: common.replace_value(&part.new, 2 * number + 1),
            ..part.clone()
        });
        DifferenceGroup { parts: Cow::Owned(parts.collect()), title: common.members }
    });
    groups.collect()
}
