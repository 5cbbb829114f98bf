//! Incremental parsing of a YAML file that changed in one location: only the block around the change is parsed again.
//!
//! If the change could affect anything outside of that block, the result is `None`, and the caller parses the
//! whole file. Invariant: the updated document equals that of a complete parse.

use std::ops::Range;

use super::read;
use crate::config::syntax::document::{Document, DocumentEntry, Node, NodeValue, shift_offset, shift_span};
use crate::model::source::{Source, Span, shared_ends};

/// Prefix for a block that is parsed alone, so that its depth is the same as in its file.
pub(super) const PARENT_LINE: &str = "_:\n";

/// Updates the document of `old` to that of `new`. `None` if only a complete parse can decide, or if the new
/// file has errors; then the document is unchanged.
pub(in crate::config) fn reparse_yaml(document: &mut Document, old: &str, new: &str) -> Option<()> {
    let (place, changed) = changed_block_range(document, old, new)?;
    let delta = i64::try_from(new.len()).ok()? - i64::try_from(old.len()).ok()?;
    let written =
        new.get(changed.start..usize::try_from(i64::try_from(changed.end).ok()? + delta).ok()?)?;
    let is_shared = |text: &str| text.contains(['&', '*']) || text.contains("<<");
    // A line without indentation may end the document.
    let is_inner = |line: &str| line.trim_end().is_empty() || line.starts_with([' ', '#']);
    if is_shared(written) || is_shared(&old[changed.clone()]) || !written.lines().all(is_inner) {
        return None;
    }
    let alone = Source::new("", format!("{PARENT_LINE}{written}"));
    let mut block = read::parse_whole(document.source, &alone).ok()?;
    let [DocumentEntry { value: Node { value: NodeValue::Mapping(entries), span, .. }, .. }] =
        block.root.as_mut_slice()
    else {
        return None;
    };
    // The span of a missing value at the end is where the next token begins, which this block does not contain.
    let indent = indent_before(old, place.key.start)?;
    let in_line = |entry: &DocumentEntry| indent_before(&alone.text, entry.key_span.start) == Some(indent);
    if !entries.iter().all(in_line)
        || span.end as usize > alone.text.trim_end().len()
        || ends_empty(entries)
    {
        return None;
    }
    let there = i64::try_from(changed.start).ok()? - i64::try_from(PARENT_LINE.len()).ok()?;
    let (mut span, mut entries) = (*span, std::mem::take(entries));
    shift_span(&mut span, 0, there);
    for entry in &mut entries {
        entry.shift(0, there);
    }
    splice_piece(
        document,
        &place,
        BlockReplacement { entries, span, end: u32::try_from(changed.end).ok()?, delta },
    )
}

/// Position of a block: index of the top-level entry, index of the entry in it, and the key.
struct BlockPosition {
    top: usize,
    inner: usize,
    key: Span,
}

/// Replacement of a block.
struct BlockReplacement {
    entries: Vec<DocumentEntry>,
    span: Span,
    /// End offset of the old block.
    end: u32,
    /// Difference between the lengths of the new and the old block.
    delta: i64,
}

/// Returns the second-level block that contains the whole change, with the byte range of its lines in `old`;
/// `None` if no block certainly does.
fn changed_block_range(document: &Document, old: &str, new: &str) -> Option<(BlockPosition, Range<usize>)> {
    let (from, tail) = shared_ends(old.as_bytes(), new.as_bytes());
    let to = old.len() - tail;
    let begins = |entry: &DocumentEntry| entry.key_span.start as usize;
    let top = document.root.partition_point(|entry| begins(entry) <= from).checked_sub(1)?;
    let NodeValue::Mapping(entries) = &document.root[top].value.value else { return None };
    let inner = entries.partition_point(|entry| begins(entry) <= from).checked_sub(1)?;
    let key = entries[inner].key_span;
    let start = key_line_start(old, key)?;
    let end = match (entries.get(inner + 1), document.root.get(top + 1)) {
        (Some(next), _) => key_line_start(old, next.key_span)?,
        (None, Some(next)) => begins(next),
        (None, None) => old.len(),
    };
    let is_plain = indent_before(old, document.root[top].key_span.start) == Some(0)
        && document.root.iter().chain(entries).all(|entry| entry.value.through.is_none())
        && start > document.root[top].key_span.end as usize;
    // A change that touches the end may join what follows it.
    let inside = from >= start && to < end && end <= old.len() && old[..end].ends_with('\n');
    (is_plain && inside).then_some((BlockPosition { top, inner, key }, start..end))
}

/// Returns the beginning of a key's line; `None` if something other than spaces precedes the key, or nothing does.
fn key_line_start(text: &str, key: Span) -> Option<usize> {
    let column = indent_before(text, key.start)?;
    (column > 0).then(|| key.start as usize - column)
}

/// Returns the number of spaces before an offset on its line; `None` if there is anything else.
pub(super) fn indent_before(text: &str, at: u32) -> Option<usize> {
    let before = text.get(..at as usize)?;
    let spaces = before.len() - before.trim_end_matches(' ').len();
    let rest = &before[..before.len() - spaces];
    (rest.is_empty() || rest.ends_with('\n')).then_some(spaces)
}

/// Returns whether the last value, at any depth, is missing; true for no entries.
pub(super) fn ends_empty(entries: &[DocumentEntry]) -> bool {
    entries.last().is_none_or(|last| match &last.value.value {
        NodeValue::Mapping(entries) => ends_empty(entries),
        NodeValue::Sequence(items) => items.last().is_none_or(|item| item.value == NodeValue::Null),
        value => *value == NodeValue::Null,
    })
}

/// Replaces a block in the document; `None` if a name would occur twice.
fn splice_piece(document: &mut Document, place: &BlockPosition, piece: BlockReplacement) -> Option<()> {
    let BlockReplacement { entries: new, span, end, delta } = piece;
    let NodeValue::Mapping(entries) = &mut document.root[place.top].value.value else { return None };
    let mut others = entries.iter().enumerate().filter(|(n, _)| *n != place.inner);
    let is_new = |key: &str| new.iter().all(|entry| entry.key != key);
    let same_key = matches!(new.as_slice(), [only] if only.key == entries[place.inner].key);
    if !same_key && !others.all(|(_, entry)| is_new(&entry.key)) {
        return None;
    }
    let count = new.len();
    entries.splice(place.inner..=place.inner, new);
    let is_last = place.inner + count == entries.len();
    for entry in entries.iter_mut().skip(place.inner + count) {
        entry.shift(end, delta);
    }
    let value = &mut document.root[place.top].value;
    if place.inner == 0 {
        value.span.start = span.start;
    }
    if is_last {
        value.span.end = span.end;
    } else {
        value.span.end = shift_offset(value.span.end, delta);
    }
    for entry in document.root.iter_mut().skip(place.top + 1) {
        entry.shift(end, delta);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::syntax::yaml::parse;
    use crate::model::source::SourceId;

    const TEXT: &str = "stead: 1\nvm:\n  a:\n    x: 1 # c\n    y: [p, q]\n  # about b\n  b: { x: 2 }\n\n  c:\n    t: |\n      z\n    u: 'v'\nvpc:\n  d: &n { e: 1 }\n  f: *n\n  g:\nlocals:\n  h: \"i\"\n  j:\n    - k\n    - l: 1\n";

    fn read(text: &str) -> Option<Document> {
        parse(SourceId(0), &Source::new("a.yaml", text)).ok()
    }

    #[test]
    fn only_the_changed_block_is_parsed_again() {
        for (from, to) in [
            ("x: 1", "xy: 100"),
            ("b: {", "bb: {"),
            ("# about b", "# b"),
            ("[p, q]", "[p, q, r]"),
            ("  b: { x: 2 }\n", "  b: { x: 3 }\n  n: { x: 2 }\n"),
            ("      z\n", "      z\n      zz\n"),
            ("\"i\"", "\"${i}\""),
        ] {
            let new = TEXT.replacen(from, to, 1);
            assert_ne!(new, TEXT);
            let mut found = read(TEXT).unwrap();
            assert!(reparse_yaml(&mut found, TEXT, &new).is_some(), "{from} → {to}");
            assert_eq!(Some(found), read(&new), "{from} → {to}");
        }
        for (from, to) in
            [("b: {", "a: {"), ("stead: 1", "stead: 2"), ("vpc:", "vpcs:"), ("'v'", "'v"), ("g:", "gg:")]
        {
            let mut kept = read(TEXT).unwrap();
            assert_eq!(reparse_yaml(&mut kept, TEXT, &TEXT.replacen(from, to, 1)), None, "{from} → {to}");
            assert_eq!(Some(kept), read(TEXT));
        }
    }

    proptest! {
        /// Whatever is typed wherever: what is given is what reading the whole gives.
        #[test]
        fn incremental_parsing_equals_full_parsing(
            at in 0..TEXT.len(), gone in 0_usize..8, typed in "[ab:#'\"&*\\[\\]{},|>%\n -]{0,6}",
        ) {
            let mut new = TEXT.to_owned();
            new.replace_range(at..(at + gone).min(TEXT.len()), &typed);
            let mut found = read(TEXT).unwrap();
            let wanted = if reparse_yaml(&mut found, TEXT, &new).is_some() { read(&new) } else { read(TEXT) };
            prop_assert_eq!(Some(found), wanted, "{:?}", new);
        }
    }
}
