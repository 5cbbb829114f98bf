//! The grouping itself: items are equal if they are the same once the key in their address, and the names made from it,
//! are replaced by `{key}`. In: items, each with an address, what must be equal as it is, and texts. Out: groups in the
//! order of their first members; each item is in exactly one. Time and memory are linear in the items.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use foldhash::{HashMap, HashMapExt, HashSet};

use crate::model::address::Name;

/// Stands for the key of each member in the texts of a group.
pub(super) const KEY: &str = "{key}";

/// Marks a `{key}` that is not the key of a member.
const MARK: char = '\u{3}';

/// How many forms of a text are compared with all texts.
const MAX_FORMS: usize = 8;

/// An item to group.
#[derive(Debug, Default)]
pub(super) struct GroupItem {
    /// Dotted address, whose segments may be the key; an item without one is equal only to the same item.
    pub(super) address: Name,
    /// What must be equal as it is.
    pub(super) exact: Name,
    /// What must be equal as it is, or once the key is replaced.
    pub(super) texts: Vec<Name>,
    /// Whether the last segment is known to be the key of an instance: where instances of one block are equal, it is the key.
    pub(super) is_instance: bool,
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
    /// For each text of the first member: which occurrences of its key are `{key}` in the common text; empty if the members
    /// have the text in common as it is.
    pub(super) replaced: Vec<KeyMask>,
}

/// Which occurrences of a key in a text are replaced, in their order.
pub(super) type KeyMask = Vec<bool>;

/// Returns the groups of some items. Instances of one block are a group before anything else is; then the segment that most
/// items share is the key. What is equal to nothing so is compared by its last segment: the instances of several blocks with
/// the same keys share another segment with more items, but their values differ.
pub(super) fn group_items(items: &[GroupItem], allowed: KeyPosition) -> Vec<KeyGroup> {
    let mut open: Vec<usize> = (0..items.len()).collect();
    let mut groups: Vec<KeyGroup> = Vec::new();
    if allowed == KeyPosition::Any {
        let instances: Vec<usize> =
            open.iter().copied().filter(|number| items[*number].is_instance).collect();
        take_groups(items, &instances, KeyPosition::Last, (&mut groups, &mut open));
        take_groups(items, &open.clone(), KeyPosition::Any, (&mut groups, &mut open));
    }
    groups.extend(group_by_position(items, &open, KeyPosition::Last));
    groups.sort_by_key(|group| group.members.first().copied());
    groups
}

/// Adds the groups of several items, and removes these from those that are in no group yet.
fn take_groups(
    items: &[GroupItem],
    candidates: &[usize],
    allowed: KeyPosition,
    (groups, open): (&mut Vec<KeyGroup>, &mut Vec<usize>),
) {
    let found = group_by_position(items, candidates, allowed);
    let mut is_taken = vec![false; items.len()];
    for group in found.into_iter().filter(|group| group.members.len() > 1) {
        group.members.iter().for_each(|member| is_taken[*member] = true);
        groups.push(group);
    }
    open.retain(|number| !is_taken[*number]);
}

/// Returns the groups of the items with these numbers.
fn group_by_position(items: &[GroupItem], numbers: &[usize], allowed: KeyPosition) -> Vec<KeyGroup> {
    let chosen = choose_positions(numbers.iter().map(|number| &items[*number]), allowed);
    let mut positions = vec![0; items.len()];
    for (number, position) in numbers.iter().zip(chosen) {
        positions[*number] = position;
    }
    let mut known: HashMap<(&str, &str, &str, usize), usize> = HashMap::new();
    let mut buckets: Vec<Vec<usize>> = Vec::new();
    for number in numbers {
        let item = &items[*number];
        let (before, _, after) = split_at(&item.address, positions[*number]);
        let next = buckets.len();
        let bucket = *known.entry((&item.exact, before, after, item.texts.len())).or_insert(next);
        if bucket == next {
            buckets.push(Vec::new());
        }
        buckets[bucket].push(*number);
    }
    buckets.iter().flat_map(|bucket| split_bucket(items, &positions, bucket)).collect()
}

/// Returns the key's position in each address: the one that most other items share, and of several the last.
fn choose_positions<'i>(
    items: impl Iterator<Item = &'i GroupItem> + Clone,
    allowed: KeyPosition,
) -> Vec<usize> {
    let last = |item: &GroupItem| item.address.matches('.').count();
    if allowed == KeyPosition::Last {
        return items.map(last).collect();
    }
    // A collision of these digests could only make a group smaller: what is equal is compared afterwards.
    let state = RandomState::default();
    let digest = |item: &GroupItem, position: usize| {
        let (before, _, after) = split_at(&item.address, position);
        state.hash_one((&item.exact, before, after))
    };
    let digests: Vec<u64> = items
        .clone()
        .flat_map(|item| (0..=last(item)).map(|position| digest(item, position)).collect::<Vec<_>>())
        .collect();
    let mut counts: HashMap<u64, usize> = HashMap::with_capacity(digests.len());
    for digest in &digests {
        *counts.entry(*digest).or_default() += 1;
    }
    let mut digests = digests.iter();
    let mut next_count = || digests.next().and_then(|digest| counts.get(digest)).copied();
    let choose = |item| (0..=last(item)).max_by_key(|_| next_count()).unwrap_or(0);
    items.map(choose).collect()
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
    let key_of = |number: usize| split_at(&items[number].address, positions[number]).1;
    let forms_of = |text: usize| {
        let own: Vec<(&str, &str)> =
            bucket.iter().map(|number| (key_of(*number), items[*number].texts[text].as_str())).collect();
        Some((text, common_forms(&own)?))
    };
    // Most texts are the same in all items, or have one form: they divide no group.
    let differing: Vec<(usize, Vec<Cow<'_, str>>)> = (0..text_count).filter_map(forms_of).collect();
    let dividing: Vec<&[Cow<'_, str>]> =
        differing.iter().map(|(_, forms)| forms.as_slice()).filter(|forms| !are_equal(forms)).collect();
    let mut numbers: HashMap<Vec<&str>, usize> = HashMap::new();
    let mut groups: Vec<KeyGroup> = Vec::new();
    for (place, number) in bucket.iter().enumerate() {
        let next = groups.len();
        let forms: Vec<&str> = dividing.iter().map(|forms| &*forms[place]).collect();
        let group = *numbers.entry(forms).or_insert(next);
        if group == next {
            let replaced = vec![KeyMask::new(); text_count];
            groups.push(KeyGroup { members: Vec::new(), position: positions[*number], replaced });
        }
        let group = &mut groups[group];
        let first = group.members.first().map_or(*number, |first| *first);
        for (text, forms) in &differing {
            let (own, mask) = (&items[first].texts[*text], &mut group.replaced[*text]);
            if mask.is_empty() && *own != items[*number].texts[*text] {
                *mask = key_mask(own, key_of(first), &forms[place]);
            }
        }
        group.members.push(*number);
    }
    groups
}

/// Returns the form of each text, with `{key}` for the key with which it stands: the texts of a group have one form; `None`
/// if all texts are the same. A key can also be a word of the text that every member has, as `w` in `w-w-1`. So where the
/// texts with every key replaced differ, the form that fits most of them is the right one. It is that of at least one text.
fn common_forms<'t>(texts: &[(&str, &'t str)]) -> Option<Vec<Cow<'t, str>>> {
    let (_, first) = texts.first()?;
    if texts.iter().all(|(_, text)| text == first) {
        return None;
    }
    let mut forms: Vec<Cow<'t, str>> = texts.iter().map(|(key, text)| replace_key(text, key)).collect();
    if are_equal(&forms) {
        return Some(forms);
    }
    for form in fitting_forms(texts, &forms) {
        let parts: Vec<&str> = form.split(KEY).collect();
        let fits = texts.iter().map(|(key, text)| is_form_of(&parts, key, text)).collect::<Vec<_>>();
        for (own, _) in forms.iter_mut().zip(fits).filter(|(own, fits)| *fits && **own != *form) {
            *own = Cow::Owned(form.clone());
        }
    }
    // A number that happens to be a key is no name made from it: the form with fewer values is the right one.
    let plain: Vec<Cow<'t, str>> = texts.iter().map(|(_, text)| Cow::Borrowed(*text)).collect();
    Some(if count_distinct(&forms) < count_distinct(&plain) { forms } else { plain })
}

/// Returns the most frequent forms, the one that fits most texts last.
fn fitting_forms(texts: &[(&str, &str)], forms: &[Cow<'_, str>]) -> Vec<String> {
    let mut counts: HashMap<&str, (usize, usize)> = HashMap::new();
    for (number, form) in forms.iter().enumerate() {
        counts.entry(form).or_insert((0, number)).0 += 1;
    }
    let mut frequent: Vec<(&str, (usize, usize))> = counts.into_iter().collect();
    frequent.sort_by_key(|(_, (count, first))| (Reverse(*count), *first));
    frequent.truncate(MAX_FORMS);
    let fit = |form: &str| {
        let parts: Vec<&str> = form.split(KEY).collect();
        texts.iter().filter(|(key, text)| is_form_of(&parts, key, text)).count()
    };
    let mut rated: Vec<(usize, Reverse<usize>, &str)> =
        frequent.into_iter().map(|(form, (_, first))| (fit(form), Reverse(first), form)).collect();
    rated.sort_unstable();
    rated.into_iter().map(|(_, _, form)| form.to_owned()).collect()
}

/// Returns whether a text is a form with the key in place of each `{key}`, except for those that the text has itself: in a
/// module, the key of the instance is replaced before. The form is given by its parts between them.
fn is_form_of(parts: &[&str], key: &str, text: &str) -> bool {
    let mut rest = Some(text);
    for (number, part) in parts.iter().enumerate() {
        if number > 0 {
            rest = rest.and_then(|rest| rest.strip_prefix(KEY).or_else(|| rest.strip_prefix(key)));
        }
        rest = rest.and_then(|rest| rest.strip_prefix(part));
    }
    rest == Some("")
}

/// Returns which occurrences of a key in a text are `{key}` in its form.
fn key_mask(text: &str, key: &str, form: &str) -> KeyMask {
    let mut mask = KeyMask::new();
    // The same place in both: where the key begins, or after it.
    let (mut in_text, mut in_form) = (0, 0);
    for start in key_words(text, key) {
        in_form += start - in_text;
        in_text = start;
        let is_replaced = form.get(in_form..).is_some_and(|rest| rest.starts_with(KEY));
        if is_replaced {
            (in_text, in_form) = (in_text + key.len(), in_form + KEY.len());
        }
        mask.push(is_replaced);
    }
    mask
}

fn are_equal(texts: &[Cow<'_, str>]) -> bool {
    texts.windows(2).all(|pair| pair[0] == pair[1])
}

fn count_distinct(texts: &[Cow<'_, str>]) -> usize {
    texts.iter().collect::<HashSet<_>>().len()
}

/// Marks each `{key}` that a text has itself, so that it is no key that was replaced; no other text has the same marks.
pub(super) fn mark_literal_key(text: &str) -> Cow<'_, str> {
    if !text.contains(KEY) && !text.contains(MARK) {
        return Cow::Borrowed(text);
    }
    let marked = text.replace(MARK, &MARK.to_string().repeat(2));
    Cow::Owned(marked.replace(KEY, &format!("{{{MARK}key}}")))
}

/// Replaces a key in a text by `{key}` wherever it is a word of its own: `web-a` for the key `a`, but not `data`.
pub(super) fn replace_key<'t>(text: &'t str, key: &str) -> Cow<'t, str> {
    replace_some(text, key, &mut std::iter::repeat(true))
}

/// Replaces the occurrences of a key in a text that the mask takes; an occurrence beyond its end stays. Takes as much of the
/// mask as the text has occurrences.
pub(super) fn replace_some<'t>(
    text: &'t str,
    key: &str,
    mask: &mut dyn Iterator<Item = bool>,
) -> Cow<'t, str> {
    let mut out = String::new();
    let mut copied = 0;
    for start in key_words(text, key) {
        if mask.next() == Some(true) {
            out.push_str(&text[copied..start]);
            out.push_str(KEY);
            copied = start + key.len();
        }
    }
    if copied == 0 && out.is_empty() {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// Returns where a key is a word of its own in a text.
fn key_words<'t>(text: &'t str, key: &'t str) -> impl Iterator<Item = usize> + 't {
    let is_word = move |start: &usize| {
        let before = text[..*start].chars().next_back();
        let after = text[*start + key.len()..].chars().next();
        let is_inside = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        !key.is_empty() && !is_inside(before) && !is_inside(after)
    };
    text.match_indices(key).map(|(start, _)| start).filter(is_word)
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
        GroupItem { address: address.into(), exact: exact.into(), texts, is_instance: false }
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
        assert_eq!((group.position, group.replaced.as_slice()), (2, [vec![true], vec![]].as_slice()));
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
    fn instances_of_several_blocks_with_the_same_keys_are_a_group_each() {
        let of = |instance: bool, form: &dyn Fn(&str, &str) -> String| -> Vec<Vec<usize>> {
            let all = ["api", "web", "job"].iter().flat_map(|block| ["eu", "us"].map(|key| (*block, key)));
            let one = |(block, key)| GroupItem {
                is_instance: instance,
                ..item(&format!("app.{block}.{key}"), "x", &[&form(block, key)])
            };
            groups(&all.map(one).collect::<Vec<_>>())
        };
        let by_block = [vec![0, 1], vec![2, 3], vec![4, 5]];
        // The second segment has more items, and the values of the blocks differ.
        let port = |block: &str, _: &str| format!("{}", block.bytes().map(u32::from).sum::<u32>());
        assert_eq!(of(true, &port), by_block);
        assert_eq!(of(false, &port), by_block);
        // Where they do not, the instances of a block are the group.
        let name = |block: &str, key: &str| format!("{block}-{key}");
        assert_eq!(of(true, &name), by_block);
        assert_eq!(of(false, &name), [vec![0, 2, 4], vec![1, 3, 5]]);
    }

    #[test]
    fn a_text_that_has_the_marker_itself_is_no_text_with_a_key() {
        let made = |texts: [&str; 2]| {
            let text = |text: &str| mark_literal_key(text).into_owned();
            groups(&[item("vm.web.a", "x", &[&text(texts[0])]), item("vm.web.b", "x", &[&text(texts[1])])])
        };
        assert_eq!(made(["x-{key}", "x-b"]), [vec![0], vec![1]]);
        assert_eq!(made(["x-{key}", "x-{\u{3}key}"]), [vec![0], vec![1]]);
        assert_eq!(made(["x-{key}", "x-{key}"]), [vec![0, 1]]);
        assert_eq!(made(["x-{key}-a", "x-{key}-b"]), [vec![0, 1]]);
    }

    #[test]
    fn a_key_is_replaced_only_as_a_word() {
        assert_eq!(replace_key("web-a.data_a/a", "a"), "web-{key}.data_{key}/{key}");
        assert_eq!(replace_key("data", "a"), "data");
        assert_eq!(replace_key("x", ""), "x");
        assert_eq!(replace_key("éa", "a"), "éa");
    }

    /// Names made from keys: the names by key, and the common form if they are one group.
    #[test]
    fn names_made_from_a_key_are_one_group_whatever_the_key_is() {
        let made = |form: &str, keys: &[&str]| -> Vec<GroupItem> {
            let one = |key: &&str| item(&format!("vm.web.{key}"), "x", &[&form.replace(KEY, key), "same"]);
            keys.iter().map(one).collect()
        };
        let forms = ["w", "w-{key}", "{key}", "w-{key}-{key}", "{key}-w-{key}", "w-{key}-x", "1-{key}-10"];
        let keys: [&[&str]; 7] = [
            &["a", "b", "c"],
            // A key that is a fixed part of a name, first, in the middle and last.
            &["w", "x", "y"],
            &["a", "w", "x"],
            &["a", "b", "w"],
            &["1", "10", "2"],
            &["w", "10"],
            &["production-eu-1", "production-eu-2"],
        ];
        for form in forms {
            for keys in keys {
                let items = made(form, keys);
                let all = group_items(&items, KeyPosition::Any);
                assert_eq!(all.len(), 1, "{form} {keys:?} {all:?}");
                let mut mask = all[0].replaced[0].iter().copied();
                let shown = replace_some(&items[0].texts[0], keys[0], &mut mask);
                assert_eq!(shown, form, "{keys:?} {all:?}");
                assert_eq!(all[0].replaced[1], KeyMask::new());
            }
        }
        // Another name is another group, although its parts are keys.
        let mut items = made("w-{key}-x", &["a", "b", "w", "x"]);
        items[1] = item("vm.web.b", "x", &["w-a-x", "same"]);
        assert_eq!(groups(&items), [vec![0, 2, 3], vec![1]]);
    }

    #[test]
    fn a_group_has_one_text_for_all_of_its_members() {
        let words = ["a", "b", "1", "10", "w", "w-a", "é"];
        for seed in 0_usize..3_000 {
            let pick =
                |place: usize| words[(seed / words.len().pow(u32::try_from(place).unwrap())) % words.len()];
            let items: Vec<GroupItem> = words
                .iter()
                .enumerate()
                .map(|(number, key)| {
                    let fixed = if number % 3 == seed % 3 { pick(0) } else { key };
                    item(
                        &format!("m.{key}.vm.w"),
                        "x",
                        &[&format!("{}-{fixed}-{key}-{}", pick(1), pick(2))],
                    )
                })
                .collect();
            for group in group_items(&items, KeyPosition::Any) {
                let key = |member: usize| split_at(&items[member].address, group.position).1;
                let first = group.members[0];
                let mut mask = group.replaced[0].iter().copied();
                let form = replace_some(&items[first].texts[0], key(first), &mut mask).into_owned();
                for member in &group.members {
                    let text = &items[*member].texts[0];
                    let parts: Vec<&str> = form.split(KEY).collect();
                    assert!(is_form_of(&parts, key(*member), text), "{form} {text} {group:?}");
                }
            }
        }
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
