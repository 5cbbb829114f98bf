//! Groups of blockers, notes and drift: those that say the same of several resources become one, which
//! counts them and names the first. What says something of one resource stays as it is.

use std::borrow::Cow;

use smol_str::format_smolstr;

use super::key_groups::{
    GroupItem, KEY, KeyGroup, KeyMask, KeyPosition, group_address, group_items, mark_literal_key,
    replace_some, split_at,
};
use super::key_values::{literal_value_text, replace_in_value};
use crate::model::address::{Address, Name};
use crate::model::values::value::Value;
use crate::plan::model::block::Blocker;
use crate::plan::model::change::Drift;
use crate::plan::model::note::PlanNote;
use crate::report::text::phrases;

/// How many members a group names.
const MAX_NAMED: usize = 3;

/// Differences that are equal but for the key of their address.
#[derive(Debug)]
pub(in crate::report) struct DriftGroup<'p> {
    /// The first one; in a group with `{key}` in the values that differ. Its address is that of the first, so that a remedy
    /// that names it works.
    pub(in crate::report) shown: Cow<'p, Drift>,
    /// The common address, with `{key}` for the key.
    pub(in crate::report) address: String,
    /// The first one, as it is.
    pub(in crate::report) first: &'p Drift,
    /// How many there are, and the first of them; empty for a single one.
    pub(in crate::report) members: String,
}

/// Returns the blockers, equal ones as one.
pub(in crate::report) fn group_blockers<'p>(
    blocks: impl Iterator<Item = &'p Blocker>,
) -> Vec<Cow<'p, Blocker>> {
    let blocks: Vec<&Blocker> = blocks.collect();
    let item = |block: &&Blocker| GroupItem {
        address: address_text(block.address.as_ref()),
        exact: block.code.clone(),
        texts: [&block.text, &block.help].map(|text| mark_literal_key(text).into()).into(),
        is_instance: false,
    };
    group_parts(&blocks, item, |first, parts| Blocker {
        address: None,
        text: parts.prefix(&first.text, 0),
        help: parts.help(&first.help, 1),
        ..first.clone()
    })
}

/// Returns the notes, equal ones as one.
pub(in crate::report) fn group_notes<'p>(
    notes: impl Iterator<Item = &'p PlanNote>,
) -> Vec<Cow<'p, PlanNote>> {
    let notes: Vec<&PlanNote> = notes.collect();
    let item = |note: &&PlanNote| GroupItem {
        address: address_text(note.address.as_ref()),
        exact: format_smolstr!("{:?}", note.code),
        texts: [&note.text, &note.help].map(|text| mark_literal_key(text).into()).into(),
        is_instance: false,
    };
    group_parts(&notes, item, |first, parts| PlanNote {
        address: None,
        text: parts.prefix(&first.text, 0),
        help: parts.help(&first.help, 1),
        ..first.clone()
    })
}

/// Returns the differences, equal ones as one. `context` is what else must be equal, such as when it was first seen.
pub(in crate::report) fn group_drift<'p>(
    drift: &[&'p Drift],
    context: impl Fn(&Drift) -> Option<String>,
) -> Vec<DriftGroup<'p>> {
    let item = |one: &&'p Drift| GroupItem {
        address: one.address.as_str().into(),
        exact: format_smolstr!(
            "{:?}",
            (
                &one.path,
                one.class,
                &one.leave,
                one.acceptable,
                one.unconfirmed,
                &one.blocked_by,
                context(one)
            )
        ),
        // The last applied value of a lost object is its id.
        texts: match &one.path {
            Some(_) => [&one.last_applied, &one.live].map(literal_value_text).into(),
            None => Vec::new(),
        },
        is_instance: false,
    };
    let items: Vec<GroupItem> = drift.iter().map(item).collect();
    let groups = group_items(&items, KeyPosition::Any);
    let group = |group: KeyGroup| {
        let first = drift[group.members[0]];
        if group.members.len() == 1 {
            let address = first.address.to_string();
            return DriftGroup { shown: Cow::Borrowed(first), address, first, members: String::new() };
        }
        let parts = GroupParts::new(&group, &items);
        let (before, _, after) = split_at(first.address.as_str(), group.position);
        let address = format!("{before}{KEY}{after}");
        let shown = Drift {
            last_applied: parts.replace_value(&first.last_applied, 0),
            live: parts.replace_value(&first.live, 1),
            ..first.clone()
        };
        DriftGroup { shown: Cow::Owned(shown), address, first, members: parts.members }
    };
    groups.into_iter().map(group).collect()
}

fn address_text(address: Option<&Address>) -> Name {
    address.map(|address| Name::new(address.as_str())).unwrap_or_default()
}

/// Groups parts of a plan, and makes one part of each group; a part that is like no other, or that concerns no resource,
/// stays as it is.
fn group_parts<'p, T: Clone>(
    parts: &[&'p T],
    item: impl Fn(&&'p T) -> GroupItem,
    merge: impl Fn(&T, &GroupParts) -> T,
) -> Vec<Cow<'p, T>> {
    let items: Vec<GroupItem> = parts.iter().map(item).collect();
    let mut found: Vec<(usize, Cow<'p, T>)> = Vec::with_capacity(parts.len());
    for group in group_items(&items, KeyPosition::Any) {
        let first = group.members[0];
        if group.members.len() == 1 || items[first].address.is_empty() {
            found.extend(group.members.iter().map(|member| (*member, Cow::Borrowed(parts[*member]))));
        } else {
            found.push((first, Cow::Owned(merge(parts[first], &GroupParts::new(&group, &items)))));
        }
    }
    found.sort_by_key(|(number, _)| *number);
    found.into_iter().map(|(_, part)| part).collect()
}

/// What the members of a group have in common, for its text.
pub(super) struct GroupParts {
    key: String,
    first: Name,
    replaced: Vec<KeyMask>,
    /// Address, number and first members: `vm.web (40 instances): vm.web.a, vm.web.b, vm.web.c and 37 more`.
    pub(super) members: String,
}

impl GroupParts {
    pub(super) fn new(group: &KeyGroup, items: &[GroupItem]) -> Self {
        let first = &items[group.members[0]].address;
        let address = group_address(first, group.position);
        let noun = if address.contains(KEY) { "resource" } else { "instance" };
        let names: Vec<&str> = group.members.iter().map(|member| items[*member].address.as_str()).collect();
        let count = phrases::count_noun(names.len(), noun);
        Self {
            key: split_at(first, group.position).1.to_owned(),
            first: first.clone(),
            replaced: group.replaced.clone(),
            members: format!("{address} ({count}): {}", phrases::join_words(names.iter(), MAX_NAMED)),
        }
    }

    fn mask(&self, text: usize) -> impl Iterator<Item = bool> {
        self.replaced.get(text).into_iter().flatten().copied()
    }

    fn replace(&self, own: &str, text: usize) -> String {
        replace_some(own, &self.key, &mut self.mask(text)).into_owned()
    }

    /// Returns the value that is the text of this number, with `{key}` where the members differ in it.
    pub(super) fn replace_value(&self, own: &Value, text: usize) -> Value {
        replace_in_value(own, &self.key, &mut self.mask(text))
    }

    /// Returns the text of the group, with its members before it.
    fn prefix(&self, own: &str, text: usize) -> String {
        format!("{}: {}", self.members, self.replace(own, text))
    }

    /// Returns the remedy. One that names the resource stays a command that works: that of the first member.
    fn help(&self, own: &str, text: usize) -> String {
        let is_replaced = self.mask(text).any(|is_replaced| is_replaced);
        if is_replaced { format!("For {}: {own}", self.first) } else { own.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::source::SourceLocation;

    fn blocker(address: Option<&str>, text: &str, help: &str) -> Blocker {
        let place = SourceLocation { file: "a.yaml".into(), line: 1, column: 1 };
        Blocker {
            code: "protected".into(),
            address: address.map(|address| Address::parse(address).unwrap()),
            text: text.into(),
            help: help.into(),
            source: Some(place),
        }
    }

    #[test]
    fn equal_blockers_are_one_with_a_remedy_that_works() {
        let blocks = [
            blocker(Some("vm.web.a"), "It is protected.", "Run stead x vm.web.a."),
            blocker(None, "Too many.", "Look."),
            blocker(Some("vm.web.b"), "It is protected.", "Run stead x vm.web.b."),
            blocker(None, "Too many.", "Look."),
            blocker(Some("vm.db"), "It is protected.", "Run stead x vm.db."),
        ];
        let groups = group_blockers(blocks.iter());
        let texts: Vec<(&str, &str)> =
            groups.iter().map(|one| (one.text.as_str(), one.help.as_str())).collect();
        assert_eq!(
            texts,
            [
                (
                    "vm.web (2 instances): vm.web.a, vm.web.b: It is protected.",
                    "For vm.web.a: Run stead x vm.web.a."
                ),
                ("Too many.", "Look."),
                ("Too many.", "Look."),
                ("It is protected.", "Run stead x vm.db."),
            ]
        );
    }
}
