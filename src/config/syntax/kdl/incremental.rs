//! Incremental parsing of a KDL file that changed in one location: only the top-level node around the
//! change is parsed again.
//!
//! If the change could affect anything outside of that node, the result is `None`, and the caller parses the
//! whole file. Invariant: the updated document equals that of a complete parse.

use std::ops::Range;

use super::read;
use crate::config::syntax::document::{Document, DocumentEntry, NodeValue};
use crate::model::source::{SourceId, Span, shared_ends};

/// Sentinel node that is appended to a piece which is not the last: if it is parsed as a node of its own,
/// the piece ends with its last line and leaves nothing open.
const SENTINEL_NODE: &str = "_";

/// Updates the document of `old` to that of `new`. `None` if only a complete parse can decide, or if the new
/// file has errors; then the document is unchanged.
pub(in crate::config) fn reparse_kdl(
    document: &mut Document,
    old: &str,
    new: &str,
    is_kind: &dyn Fn(&str) -> bool,
) -> Option<()> {
    let changed = changed_node_range(document, old, new)?;
    let delta = i64::try_from(new.len()).ok()? - i64::try_from(old.len()).ok()?;
    let end = usize::try_from(i64::try_from(changed.end).ok()? + delta).ok()?;
    let is_last = changed.end == old.len();
    let only = |text: &str| parse_only_word(document.source, text, is_last, is_kind);
    let (was, was_named) = only(&old[changed.clone()])?;
    let (mut word, named) = only(new.get(changed.start..end)?)?;
    let at = document.root.iter().position(|entry| entry.key == was.key)?;
    if word.key != was.key || named != was_named {
        return None;
    }
    word.shift(0, i64::try_from(changed.start).ok()?);
    let piece = Span {
        source: document.source,
        start: u32::try_from(changed.start).ok()?,
        end: u32::try_from(changed.end).ok()?,
    };
    if named {
        replace_blocks(document, at, word, piece, delta)
    } else {
        replace_word_value(document, at, word, piece, delta)
    }
}

/// Returns the byte range in `old` of the top-level node that contains the whole change, up to the next node;
/// `None` if no node certainly does.
fn changed_node_range(document: &Document, old: &str, new: &str) -> Option<Range<usize>> {
    let (from, tail) = shared_ends(old.as_bytes(), new.as_bytes());
    let to = old.len() - tail;
    let (mut start, mut end) = (None, old.len());
    for begin in document.root.iter().flat_map(|word| node_starts(word, old)) {
        if begin <= from {
            start = start.max(Some(begin));
        } else {
            end = end.min(begin);
        }
    }
    let start = start?;
    // A byte order mark counts at the beginning of a file only.
    let is_plain = !new.get(start..)?.starts_with('\u{feff}');
    // A change that touches the end may join what follows it.
    (is_plain && (to < end || end == old.len())).then_some(start..end)
}

/// Returns the offsets at which nodes of a top-level keyword begin, if they certainly begin a line.
fn node_starts<'d>(word: &'d DocumentEntry, text: &'d str) -> impl Iterator<Item = usize> + 'd {
    let line = |at: u32| {
        let before = text.get(..at as usize)?;
        let start = before.rfind('\n').map_or(0, |n| n + 1);
        Some((start, &before[start..]))
    };
    let own = line(word.key_span.start).filter(|(_, before)| before.is_empty());
    let named = mapping_entries(word).unwrap_or_default().iter().filter_map(move |entry| {
        let (start, before) = line(entry.key_span.start)?;
        let rest = before.strip_prefix(word.key.as_str())?;
        (!rest.is_empty() && rest.bytes().all(|b| b == b' ')).then_some(start)
    });
    own.map(|(start, _)| start).into_iter().chain(named)
}

fn mapping_entries(word: &DocumentEntry) -> Option<&[DocumentEntry]> {
    match &word.value.value {
        NodeValue::Mapping(entries) => Some(entries),
        _ => None,
    }
}

/// Returns the only keyword of a piece, and whether its nodes are named blocks; `None` if the piece has errors,
/// several keywords or list items.
fn parse_only_word(
    id: SourceId,
    text: &str,
    is_last: bool,
    is_kind: &dyn Fn(&str) -> bool,
) -> Option<(DocumentEntry, bool)> {
    let behind = if is_last { "" } else { SENTINEL_NODE };
    let mut words = read::parse_words(id, &format!("{text}{behind}"), is_kind).ok()?;
    if !is_last {
        let last = words.pop()?.into_entry();
        if last.key != SENTINEL_NODE || last.value.value != NodeValue::Bare {
            return None;
        }
    }
    let word = words.pop().filter(|_| words.is_empty())?;
    let named = word.names_blocks()?;
    Some((word.into_entry(), named))
}

/// Replaces the blocks of a piece in the document; `None` if a name would occur twice.
fn replace_blocks(
    document: &mut Document,
    at: usize,
    word: DocumentEntry,
    piece: Span,
    delta: i64,
) -> Option<()> {
    let NodeValue::Mapping(new) = word.value.value else { return None };
    let known = mapping_entries(document.root.get(at)?)?;
    let first = known.partition_point(|entry| entry.key_span.start < piece.start);
    let last = known.partition_point(|entry| entry.key_span.start < piece.end);
    let same = known[first..last].iter().map(|entry| &entry.key).eq(new.iter().map(|entry| &entry.key));
    let mut others = known[..first].iter().chain(&known[last..]);
    if !same && others.any(|entry| new.iter().any(|new| new.key == entry.key)) {
        return None;
    }
    move_on(document, piece.end, delta);
    let place = document.root.get_mut(at)?;
    // The span of a keyword is that of its first block.
    if place.key_span.start >= piece.start && place.key_span.start < piece.end {
        (place.key_span, place.value.span) = (word.key_span, word.value.span);
    }
    let NodeValue::Mapping(entries) = &mut place.value.value else { return None };
    entries.splice(first..last, new);
    Some(())
}

/// Replaces the single value of a keyword.
fn replace_word_value(
    document: &mut Document,
    at: usize,
    word: DocumentEntry,
    piece: Span,
    delta: i64,
) -> Option<()> {
    move_on(document, piece.end, delta);
    *document.root.get_mut(at)? = word;
    Some(())
}

/// Moves all spans after a piece.
fn move_on(document: &mut Document, from: u32, delta: i64) {
    if delta != 0 {
        document.root.iter_mut().for_each(|entry| entry.shift(from, delta));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::syntax::kdl::parse;
    use crate::model::source::Source;

    const TEXT: &str = "stead 1\nvars {\n  s default=a\n}\n// about a\nvm a x=1 /* c */ {\n  y p q\n}\nvpc d e=1; vpc f\nvm b x=2\n\nvm {\n  c { t \"\"\"\n    z\n    \"\"\"; u v }\n  g\n}\nvpc h e=1 \\\n  i=2\n/- vm z\nmoved from=a to=b\nvm k\nmoved from=c to=d\npolicy l deny=x\n";

    fn is_kind(word: &str) -> bool {
        ["vm", "vpc"].contains(&word)
    }

    fn read(text: &str) -> Option<Document> {
        parse(SourceId(0), &Source::new("a.kdl", text), &is_kind).ok()
    }

    #[test]
    fn only_the_changed_node_is_parsed_again() {
        for (from, to) in [
            ("x=1", "xy=100"),
            ("vm b", "vm bb"),
            ("vm a", "vm aa"),
            ("/* c */", ""),
            ("  y p q\n", "  y p q r\n  yy #true\n"),
            ("vm b x=2\n", "vm b x=2\nvm bb x=3\n"),
            ("    z\n", "    z\n    zz\n"),
            ("i=2", "i=22"),
            ("default=a", "default=ab"),
            ("stead 1", "stead 2"),
            ("deny=x", "deny=xx"),
        ] {
            let new = TEXT.replacen(from, to, 1);
            assert_ne!(new, TEXT);
            let mut found = read(TEXT).unwrap();
            assert!(reparse_kdl(&mut found, TEXT, &new, &is_kind).is_some(), "{from} → {to}");
            assert_eq!(Some(found), read(&new), "{from} → {to}");
        }
        for (from, to) in [
            ("vm b", "vm a"),
            ("vm b", "vpc b"),
            ("x=2", "x=2 {"),
            ("vpc f\n", "vpc f \\\n"),
            ("vpc f\n", "vpc f /-\n"),
            ("moved from=a", "moved from=b"),
            ("vm k", "vm k /*"),
            // The second `moved` is read with what stands above it.
            ("vm k", "vm k x=1"),
        ] {
            let new = TEXT.replacen(from, to, 1);
            assert_ne!(new, TEXT);
            let mut kept = read(TEXT).unwrap();
            assert_eq!(reparse_kdl(&mut kept, TEXT, &new, &is_kind), None, "{from} → {to}");
            assert_eq!(Some(kept), read(TEXT));
        }
    }

    proptest! {
        /// Whatever is typed wherever: what is given is what reading the whole gives.
        #[test]
        fn incremental_parsing_equals_full_parsing(
            at in 0..TEXT.len(), gone in 0_usize..8, typed in "[abv#'\"{};=/*\\\\\\-\n \u{feff}-]{0,6}",
        ) {
            let mut new = TEXT.to_owned();
            new.replace_range(at..(at + gone).min(TEXT.len()), &typed);
            let mut found = read(TEXT).unwrap();
            let wanted =
                if reparse_kdl(&mut found, TEXT, &new, &is_kind).is_some() { read(&new) } else { read(TEXT) };
            prop_assert_eq!(Some(found), wanted, "{:?}", new);
        }
    }
}
