//! The grouping itself: items are equal if they are the same once the key in their address, and the names made from it,
//! are replaced by `{key}`. In: items, each with an address, what must be equal as it is, and texts. Out: groups in the
//! order of their first members; each item is in exactly one. Time and memory are linear in the items.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use crate::model::address::Name;

/// Stands for the key of each member in the texts of a group.
pub(super) const KEY: &str = "{key}";

/// An item to group.
#[derive(Debug, Default)]
pub(super) struct GroupItem {
    /// Dotted address, whose segments may be the key; an item without one is equal only to the same item.
    pub(super) address: Name,
    /// What must be equal as it is.
    pub(super) exact: Name,
    /// What must be equal as it is, or once the key is replaced.
    pub(super) texts: Vec<Name>,
}

/// Which segments of an address may be the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyPosition {
    /// Any; the one that forms the largest group is the key.
    Any,
    /// The last one.
    Last,
}

/// Equal items.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KeyGroup {
    /// The numbers of the items, ascending.
    pub(super) members: Vec<usize>,
    /// The number of the segment that is the key.
    pub(super) position: usize,
    /// For each text: whether the members have it in common only once the key is replaced.
    pub(super) is_replaced: Vec<bool>,
}

/// Returns the groups of some items.
pub(super) fn group_items(items: &[GroupItem], allowed: KeyPosition) -> Vec<KeyGroup> {
    let positions = choose_positions(items, allowed);
    let mut numbers: HashMap<(&str, &str, &str, usize), usize> = HashMap::new();
    let mut buckets: Vec<Vec<usize>> = Vec::new();
    for (number, (item, position)) in items.iter().zip(&positions).enumerate() {
        let (before, _, after) = split_at(&item.address, *position);
        let next = buckets.len();
        let bucket = *numbers.entry((&item.exact, before, after, item.texts.len())).or_insert(next);
        if bucket == next {
            buckets.push(Vec::new());
        }
        buckets[bucket].push(number);
    }
    let mut groups: Vec<KeyGroup> =
        buckets.iter().flat_map(|bucket| split_bucket(items, &positions, bucket)).collect();
    groups.sort_by_key(|group| group.members.first().copied());
    groups
}

/// Returns the key's position in each address: the one that most other items share, and of several the last.
fn choose_positions(items: &[GroupItem], allowed: KeyPosition) -> Vec<usize> {
    let last = |item: &GroupItem| item.address.matches('.').count();
    if allowed == KeyPosition::Last {
        return items.iter().map(last).collect();
    }
    // A collision of these digests could only make a group smaller: what is equal is compared afterwards.
    let state = RandomState::new();
    let digest = |item: &GroupItem, position: usize| {
        let (before, _, after) = split_at(&item.address, position);
        state.hash_one((&item.exact, before, after))
    };
    let mut counts: HashMap<u64, usize> = HashMap::new();
    for item in items {
        for position in 0..=last(item) {
            *counts.entry(digest(item, position)).or_default() += 1;
        }
    }
    let count = |item: &GroupItem, position| counts.get(&digest(item, position)).copied().unwrap_or(0);
    items
        .iter()
        .map(|item| (0..=last(item)).max_by_key(|position| count(item, *position)).unwrap_or(0))
        .collect()
}

/// Returns the text before a segment, the segment, and the text after it.
pub(super) fn split_at(address: &str, position: usize) -> (&str, &str, &str) {
    let start = match position {
        0 => 0,
        position => address.match_indices('.').nth(position - 1).map_or(address.len(), |(dot, _)| dot + 1),
    };
    let (before, rest) = address.split_at(start);
    let (key, after) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
    (before, key, after)
}

/// Divides items that are equal but for their texts into groups whose texts are equal, too.
fn split_bucket(items: &[GroupItem], positions: &[usize], bucket: &[usize]) -> Vec<KeyGroup> {
    let text_count = bucket.first().map_or(0, |first| items[*first].texts.len());
    let mut chosen: Vec<Vec<Cow<'_, str>>> = vec![Vec::with_capacity(text_count); bucket.len()];
    for text in 0..text_count {
        let plain: Vec<Cow<'_, str>> =
            bucket.iter().map(|number| Cow::Borrowed(items[*number].texts[text].as_str())).collect();
        let distinct = count_distinct(&plain);
        let forms = if distinct == 1 {
            plain
        } else {
            let replaced: Vec<Cow<'_, str>> = bucket
                .iter()
                .map(|number| {
                    let (_, key, _) = split_at(&items[*number].address, positions[*number]);
                    replace_key(&items[*number].texts[text], key)
                })
                .collect();
            // A number that happens to be a key is no name made from it: the form with fewer values is the right one.
            if count_distinct(&replaced) < distinct { replaced } else { plain }
        };
        for (texts, form) in chosen.iter_mut().zip(forms) {
            texts.push(form);
        }
    }
    let mut numbers: HashMap<&[Cow<'_, str>], usize> = HashMap::new();
    let mut groups: Vec<KeyGroup> = Vec::new();
    for (texts, number) in chosen.iter().zip(bucket) {
        let next = groups.len();
        let group = *numbers.entry(texts).or_insert(next);
        if group == next {
            let is_replaced = vec![false; text_count];
            groups.push(KeyGroup { members: Vec::new(), position: positions[*number], is_replaced });
        }
        let group = &mut groups[group];
        let first = group.members.first().map_or(*number, |first| *first);
        for (text, replaced) in group.is_replaced.iter_mut().enumerate() {
            *replaced |= items[first].texts[text] != items[*number].texts[text];
        }
        group.members.push(*number);
    }
    groups
}

fn count_distinct(texts: &[Cow<'_, str>]) -> usize {
    texts.iter().collect::<HashSet<_>>().len()
}

/// Replaces a key in a text by `{key}` wherever it is a word of its own: `web-a` for the key `a`, but not `data`.
pub(super) fn replace_key<'t>(text: &'t str, key: &str) -> Cow<'t, str> {
    let mut out = String::new();
    let mut copied = 0;
    for (start, found) in text.match_indices(key) {
        let end = start + found.len();
        let before = text[..start].chars().next_back();
        let after = text[end..].chars().next();
        if key.is_empty()
            || before.is_some_and(char::is_alphanumeric)
            || after.is_some_and(char::is_alphanumeric)
        {
            continue;
        }
        out.push_str(&text[copied..start]);
        out.push_str(KEY);
        copied = end;
    }
    if copied == 0 && out.is_empty() {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// Returns the address of a group: `vm.web` where the key is an instance's, else with `{key}` in its place.
pub(super) fn group_address(address: &str, position: usize) -> String {
    let (before, _, after) = split_at(address, position);
    match before.strip_suffix('.') {
        Some(resource) if after.is_empty() && resource.contains('.') => resource.to_owned(),
        _ => format!("{before}{KEY}{after}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(address: &str, exact: &str, texts: &[&str]) -> GroupItem {
        let texts = texts.iter().map(Name::new).collect();
        GroupItem { address: address.into(), exact: exact.into(), texts }
    }

    fn groups(items: &[GroupItem]) -> Vec<Vec<usize>> {
        group_items(items, KeyPosition::Any).into_iter().map(|group| group.members).collect()
    }

    #[test]
    fn items_are_equal_once_the_key_is_replaced() {
        let items = [
            item("vm.web.a", "create", &["web-a", "cpu-1c"]),
            item("vm.web.1", "create", &["web-1", "cpu-1c"]),
            item("vm.web.2", "create", &["web-2", "cpu-2c"]),
            item("vm.db.a", "create", &["db-a", "cpu-1c"]),
            item("vm.web.3", "delete", &["web-3", "cpu-1c"]),
            item("vm.web.4", "create", &["web-5", "cpu-1c"]),
        ];
        assert_eq!(groups(&items), [vec![0, 1], vec![2], vec![3], vec![4], vec![5]]);
        let group = &group_items(&items, KeyPosition::Any)[0];
        assert_eq!((group.position, group.is_replaced.as_slice()), (2, [true, false].as_slice()));
    }

    #[test]
    fn the_key_is_the_segment_that_forms_the_largest_group() {
        let items = [
            item("shop.eu.vm.web", "x", &["shop-eu"]),
            item("shop.us.vm.web", "x", &["shop-us"]),
            item("shop.ap.vm.web", "x", &["shop-ap"]),
            item("shop.ap.vm.old", "x", &["old"]),
        ];
        assert_eq!(groups(&items), [vec![0, 1, 2], vec![3]]);
        assert_eq!(group_address("shop.eu.vm.web", 1), "shop.{key}.vm.web");
        assert_eq!(group_address("vm.web.a", 2), "vm.web");
        assert_eq!(group_address("vm.web", 1), "vm.{key}");
    }

    #[test]
    fn a_key_is_replaced_only_as_a_word() {
        assert_eq!(replace_key("web-a.data_a/a", "a"), "web-{key}.data_{key}/{key}");
        assert_eq!(replace_key("data", "a"), "data");
        assert_eq!(replace_key("x", ""), "x");
        assert_eq!(replace_key("éa", "a"), "éa");
    }

    #[test]
    fn every_item_is_in_one_group() {
        let items: Vec<GroupItem> = (0..200)
            .map(|number| {
                item(&format!("vm.n{}.k{}", number % 7, number), "x", &[&format!("{}", number % 3)])
            })
            .collect();
        let mut members: Vec<usize> = groups(&items).concat();
        members.sort_unstable();
        assert_eq!(members, (0..200).collect::<Vec<_>>());
    }
}
