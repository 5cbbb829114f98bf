//! Parsing of a large YAML file in parts, each a job of its own. A part begins with a block of the second level, such as a resource.
//!
//! If the parts could affect each other, or one has errors, the whole file is parsed at once. Invariant: the document equals
//! that of a complete parse.

use std::collections::BTreeSet;
use std::ops::Range;

use foldhash::{HashSet, HashSetExt};

use super::incremental::{PARENT_LINE, ends_empty, indent_before};
use super::read::{self, ParseFacts};
use crate::config::syntax::budget::ValueBudget;
use crate::config::syntax::document::{Document, DocumentEntry, NodeValue};
use crate::config::syntax::jobs::{InTurn, JobRunner, map_jobs};
use crate::model::diagnostic::Diagnostic;
use crate::model::source::{Source, SourceId};

/// Minimum length of a part in bytes: a shorter one is parsed almost as fast as a job begins.
const MIN_PART_BYTES: usize = 64 * 1024;

/// Parses a YAML file. An empty one is an empty mapping.
///
/// # Errors
/// All problems that do not follow from each other, ending with the first after which parsing cannot continue;
/// likely mistakes have the correction.
pub fn parse(id: SourceId, source: &Source) -> Result<Document, Vec<Diagnostic>> {
    parse_with(&InTurn, id, source)
}

/// Number of parts for each worker. Parts of equal length are not equally much work: the worker that ends first takes another.
const PARTS_PER_WORKER: usize = 4;

/// Parses a YAML file, a large one in several parts for each worker.
///
/// # Errors
/// Those of `parse`.
pub(in crate::config) fn parse_with(
    jobs: &dyn JobRunner,
    id: SourceId,
    source: &Source,
) -> Result<Document, Vec<Diagnostic>> {
    let parts = if jobs.workers() > 1 { jobs.workers() * PARTS_PER_WORKER } else { 1 };
    let count = parts.min(source.text.len() / MIN_PART_BYTES);
    match parse_in_parts(jobs, id, &source.text, count) {
        Some(document) => Ok(document),
        None => read::parse_whole(id, source),
    }
}

/// Parses a text in up to `count` parts of about the same length. `None` if only a complete parse can decide.
fn parse_in_parts(jobs: &dyn JobRunner, id: SourceId, text: &str, count: usize) -> Option<Document> {
    if count < 2 || may_have_documents(text) {
        return None;
    }
    let indent = second_level_indent(text)?;
    let mut begins = vec![0];
    for number in 1..count {
        let Some(begin) = find_block(text, text.len() / count * number, indent) else { break };
        if begins.last().is_some_and(|last| *last < begin) {
            begins.push(begin);
        }
    }
    if begins.len() < 2 {
        return None;
    }
    let ends = begins[1..].iter().copied().chain([text.len()]);
    let ranges: Vec<Range<usize>> = begins.iter().zip(ends).map(|(begin, end)| *begin..end).collect();
    let parsed = map_jobs(jobs, &ranges, |range| parse_part(id, text, range));
    let mut parts = parsed.into_iter();
    let (mut document, mut values) = parts.next()??;
    let mut continued = BTreeSet::new();
    for (part, begin) in parts.zip(&begins[1..]) {
        let (part, more) = part?;
        // The span of a last value may depend on what follows: that of a missing one, or of a block of text.
        let written = text.get(..*begin)?.trim_end().len();
        if document.root.last()?.value.span.end as usize > written {
            return None;
        }
        continued.insert(document.root.len() - 1);
        join_part(&mut document, part, text, indent)?;
        values += more;
    }
    let is_unique = |number: &usize| match &document.root[*number].value.value {
        NodeValue::Mapping(entries) => are_unique(entries),
        _ => false,
    };
    if !are_unique(&document.root) || !continued.iter().all(is_unique) {
        return None;
    }
    ValueBudget::new(text.len()).try_spend(values).then_some(document)
}

/// Returns whether a line may end a document or begin another one.
fn may_have_documents(text: &str) -> bool {
    text.starts_with(['%', '-', '.']) || ["\n---", "\n...", "\n%"].iter().any(|mark| text.contains(mark))
}

/// Returns the number of spaces before the first line that has any; `None` if there is none.
fn second_level_indent(text: &str) -> Option<usize> {
    let first = text.lines().find(|line| line.starts_with(' '))?;
    Some(first.len() - first.trim_start_matches(' ').len())
}

/// Returns the offset of the first line at or after another offset that may be the key of a block of the second level.
fn find_block(text: &str, from: usize, indent: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut begin = bytes.get(from..)?.iter().position(|byte| *byte == b'\n')? + from + 1;
    loop {
        let line = bytes.get(begin..)?;
        let is_indented = line.len() > indent && line[..indent].iter().all(|byte| *byte == b' ');
        if is_indented && (line[indent].is_ascii_alphanumeric() || line[indent] == b'_') {
            return Some(begin);
        }
        begin += line.iter().position(|byte| *byte == b'\n')? + 1;
    }
}

/// Parses a part; one that is not the first is put below a key, and so has its entries there. Returns its document with the
/// offsets of the whole text, and the number of its values. `None` if it has errors or an anchor.
fn parse_part(id: SourceId, text: &str, range: &Range<usize>) -> Option<(Document, usize)> {
    let written = text.get(range.clone())?;
    let alone = match range.start {
        0 => Source::new("", written),
        _ => Source::new("", format!("{PARENT_LINE}{written}")),
    };
    let (mut document, ParseFacts { values, has_anchors }) = read::parse_counted(id, &alone).ok()?;
    if has_anchors {
        return None;
    }
    if range.start > 0 {
        let delta = i64::try_from(range.start).ok()? - i64::try_from(PARENT_LINE.len()).ok()?;
        // The key in front of it has no place in the whole text.
        document.root.first_mut()?.value.shift(0, delta);
        document.root.iter_mut().skip(1).for_each(|entry| entry.shift(0, delta));
    }
    Some((document, values))
}

/// Appends a part: its first entry has those that continue the last mapping of the document. `None` if that is not certain. A
/// key may occur twice then.
fn join_part(document: &mut Document, part: Document, text: &str, indent: usize) -> Option<()> {
    if ends_empty(&document.root) {
        return None;
    }
    let mut new = part.root.into_iter();
    let continued = new.next()?;
    let last = document.root.last_mut()?;
    let (NodeValue::Mapping(entries), NodeValue::Mapping(more)) =
        (&mut last.value.value, continued.value.value)
    else {
        return None;
    };
    let is_written = |entry: &DocumentEntry| entry.value.through.is_none();
    let in_line = |entry: &DocumentEntry| indent_before(text, entry.key_span.start) == Some(indent);
    if indent_before(text, last.key_span.start) != Some(0)
        || !entries.iter().chain(&more).all(is_written)
        || !entries.last().is_some_and(in_line)
        || !more.first().is_some_and(in_line)
    {
        return None;
    }
    entries.extend(more);
    last.value.span.end = continued.value.span.end;
    document.root.extend(new);
    Some(())
}

fn are_unique(entries: &[DocumentEntry]) -> bool {
    let mut known = HashSet::with_capacity(entries.len());
    entries.iter().all(|entry| known.insert(entry.key.as_str()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::syntax::jobs::Job;

    const TEXT: &str = "stead: 1\nvm:\n  a:\n    x: 1 # c\n    y: [p, q]\n  # about b\n  b: { x: 2 }\n\n  c:\n    t: |\n      z\n    u: 'v'\n  d: \"w\n    w\"\nvpc:\n  e: { f: 1 }\n  g: h\n    h\n  i: j\nlocals:\n  k: \"l\"\n  m:\n    - n\n    - o: 1\n  p: {}\noutputs:\n  q: r\n  s: t\n";

    /// Has several workers in name: the parts are the same.
    #[derive(Debug)]
    struct Several;

    impl JobRunner for Several {
        fn workers(&self) -> usize {
            4
        }

        fn run(&self, jobs: Vec<Job<'_>>) {
            InTurn.run(jobs);
        }
    }

    fn read(text: &str) -> Option<Document> {
        read::parse_whole(SourceId(0), &Source::new("a.yaml", text)).ok()
    }

    #[test]
    fn a_file_in_any_number_of_parts_is_the_whole_file() {
        let whole = read(TEXT);
        assert!(whole.is_some());
        let mut in_parts = 0;
        for count in 2..40 {
            let parts = parse_in_parts(&Several, SourceId(0), TEXT, count);
            in_parts += usize::from(parts.is_some());
            assert!(parts.is_none() || parts == whole, "{count} {parts:?}");
        }
        assert!(in_parts > 0);
    }

    #[test]
    fn a_large_file_is_parsed_in_parts_and_has_the_errors_of_the_whole() {
        let block = |number: usize| format!("  d{number}: {{ size: 10, vm: $vm.m{number} }} # a comment\n");
        let text = |last: &str| {
            let blocks: String = (0..8_000).map(block).collect();
            format!("stead: 1\nvolume:\n{blocks}{last}")
        };
        let sound = text("");
        assert_eq!(parse_in_parts(&Several, SourceId(0), &sound, 4), read(&sound));
        assert!(parse_in_parts(&Several, SourceId(0), &sound, 4).is_some());
        for last in ["  d7: {}\n", "  e: [\n", "  e: *x\n", "---\n", "volume: {}\n", " f: 1\n"] {
            let source = Source::new("a.yaml", text(last));
            assert_eq!(parse_in_parts(&Several, SourceId(0), &source.text, 4), None, "{last}");
            assert_eq!(
                parse_with(&Several, SourceId(0), &source),
                read::parse_whole(SourceId(0), &source),
                "{last}"
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// Whatever is written wherever: the parts are the whole.
        #[test]
        fn parts_equal_the_whole(
            at in 0..TEXT.len(), gone in 0_usize..8, typed in "[ab:#'\"&*<\\[\\]{},|>?%.\n -]{0,8}", count in 2_usize..9,
        ) {
            let mut new = TEXT.to_owned();
            new.replace_range(at..(at + gone).min(TEXT.len()), &typed);
            let parts = parse_in_parts(&Several, SourceId(0), &new, count);
            if parts.is_some() {
                prop_assert_eq!(parts, read(&new), "{:?}", new);
            }
        }
    }
}
