//! `Source` and `Span`: the source positions of values, so that every message can point at them.
//!
//! In: the files that a run reads. Out: line, column and excerpt of a span. Invariant: hiding or withholding a
//! text keeps its length in bytes and its line breaks, so that spans that were made before stay valid.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::model::address::Name;

/// The number of a source within its `Sources`, counted from 0 in the order in which they were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SourceId(pub u32);

/// A half-open byte range within one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Span {
    /// The number of the source file.
    pub source: SourceId,
    /// The offset of the first byte in the file, counted from 0.
    pub start: u32,
    /// The offset after the last byte.
    pub end: u32,
}

impl Span {
    /// Returns the smallest span that covers both; the other's file must be the same.
    #[must_use]
    pub fn cover_with(self, other: Span) -> Span {
        Span { source: self.source, start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// A source position for display: path, and line and column counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SourceLocation {
    /// Path as the user would type it, with `/` as the separator.
    pub file: Name,
    /// Line number, counted from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// One file as it was read.
#[derive(Debug, Clone)]
pub struct Source {
    /// Path as the user would type it, with `/` as the separator.
    pub path: String,
    /// The whole text of the file, after `Sources::hide` or `blank_source` with the secret parts replaced.
    pub text: Arc<str>,
    /// The path, shared by all locations in the file.
    shared_path: Name,
    line_starts: Vec<u32>,
    /// The text is not shown: positions in it are whole lines.
    withheld: bool,
}

impl Source {
    /// Returns a source, with its lines indexed once.
    #[must_use]
    pub fn new(path: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        let line_starts =
            std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| clamp_to_u32(i + 1))).collect();
        let path = path.into();
        Self { shared_path: Name::new(&path), path, text, line_starts, withheld: false }
    }

    /// Returns whether the text is withheld: not even its length is shown.
    #[must_use]
    pub const fn is_withheld(&self) -> bool {
        self.withheld
    }

    /// Returns line and column (from 1, in characters) of a byte offset. The column is 1 for a withheld file, and
    /// for an offset beyond the end or inside a character.
    #[must_use]
    pub fn line_column(&self, offset: u32) -> (u32, u32) {
        let line = self.line_starts.partition_point(|start| *start <= offset).max(1);
        if self.withheld {
            return (clamp_to_u32(line), 1);
        }
        let start = self.line_starts[line - 1] as usize;
        let upto = self.text.get(start..offset as usize).unwrap_or_default();
        (clamp_to_u32(line), clamp_to_u32(upto.chars().count() + 1))
    }
}

impl Source {
    /// Replaces the characters at the chosen offsets by stars; blanks and line breaks stay.
    fn hide(&mut self, mut chosen: impl FnMut(usize) -> bool) {
        let mut hidden = String::with_capacity(self.text.len());
        for (at, c) in self.text.char_indices() {
            // The closure is called for each character in order, because it may keep a position in the text.
            let choice = chosen(at);
            if choice && !c.is_ascii_whitespace() {
                hidden.extend(std::iter::repeat_n('*', c.len_utf8()));
            } else {
                hidden.push(c);
            }
        }
        self.text = hidden.into();
    }
}

fn clamp_to_u32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// All files of one run.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    all: Vec<Source>,
}

impl Sources {
    /// Adds a file and returns its number.
    pub fn add(&mut self, source: Source) -> SourceId {
        self.all.push(source);
        SourceId(clamp_to_u32(self.all.len() - 1))
    }

    /// Returns the number that the next file added will have.
    #[must_use]
    pub fn next(&self) -> SourceId {
        SourceId(clamp_to_u32(self.all.len()))
    }

    /// Adds all files of other `Sources`; returns the number that their first file has now.
    pub fn append(&mut self, other: &Self) -> u32 {
        let first = self.next().0;
        self.all.extend(other.all.iter().cloned());
        first
    }

    /// Returns the file of a number; `None` for a number of other `Sources`.
    #[must_use]
    pub fn get(&self, id: SourceId) -> Option<&Source> {
        self.all.get(id.0 as usize)
    }

    /// Returns all files in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = (SourceId, &Source)> {
        self.all.iter().enumerate().map(|(i, s)| (SourceId(clamp_to_u32(i)), s))
    }

    /// Replaces the characters of these spans by stars of the same length in bytes, so that every other span still
    /// fits. The spans may overlap and be in any order.
    pub fn hide(&mut self, spans: &[Span]) {
        for (number, source) in self.all.iter_mut().enumerate() {
            let inside = spans.iter().filter(|span| span.source.0 as usize == number);
            let mut parts: Vec<_> = inside.map(|span| (span.start as usize, span.end as usize)).collect();
            if parts.is_empty() {
                continue;
            }
            parts.sort_unstable();
            let mut parts = parts.into_iter().peekable();
            source.hide(|at| {
                while parts.next_if(|(_, end)| *end <= at).is_some() {}
                parts.peek().is_some_and(|(start, _)| *start <= at)
            });
        }
    }

    /// Withholds the text of a file: each character becomes a blank, so that every other span still fits. Positions in
    /// it are whole lines, because a column would reveal the length of a value.
    pub fn blank_source(&mut self, id: SourceId) {
        let Some(source) = self.all.get_mut(id.0 as usize) else { return };
        let blank = |byte| if byte == b'\n' { '\n' } else { ' ' };
        source.text = source.text.bytes().map(blank).collect::<String>().into();
        source.withheld = true;
    }

    /// Returns the empty span at the beginning of the line on which a span starts; offset 0 for an unknown file.
    #[must_use]
    pub fn line_of(&self, span: Span) -> Span {
        let starts = self.get(span.source).map_or(&[][..], |source| &source.line_starts);
        let line = starts.partition_point(|start| *start <= span.start).max(1);
        let start = starts.get(line - 1).copied().unwrap_or_default();
        Span { start, end: start, ..span }
    }

    /// Returns the start of a span as path, line and column; `None` for a span of other `Sources`.
    #[must_use]
    pub fn location_of(&self, span: Span) -> Option<SourceLocation> {
        let source = self.get(span.source)?;
        let (line, column) = source.line_column(span.start);
        Some(SourceLocation { file: source.shared_path.clone(), line, column })
    }
}

/// Returns the number of items that two sequences share at the beginning, and of the remaining ones at the end: the
/// items between them are the changed ones.
#[must_use]
pub fn shared_ends<T: PartialEq>(old: &[T], new: &[T]) -> (usize, usize) {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let most = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    (head, tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redacted_spans_keep_their_length() {
        let mut sources = Sources::default();
        let id = sources.add(Source::new("a.yaml", "a: 'sécret'\nb: |\n  x y\nc: 1\n"));
        let span = |start, end| Span { source: id, start, end };
        sources.hide(&[span(16, 24), span(3, 12)]);
        assert_eq!(&*sources.get(id).unwrap().text, "a: *********\nb: *\n  * *\nc: 1\n");
    }

    #[test]
    fn a_withheld_source_shows_only_line_numbers() {
        let mut sources = Sources::default();
        let id = sources.add(Source::new("v.yaml", "a: é\nb: x\n"));
        let span = Span { source: id, start: 9, end: 10 };
        assert_eq!(sources.line_of(span), Span { source: id, start: 6, end: 6 });
        sources.blank_source(id);
        assert_eq!(&*sources.get(id).unwrap().text, "     \n    \n");
        let place = sources.location_of(span).unwrap();
        assert_eq!((place.line, place.column), (2, 1));
    }

    #[test]
    fn columns_count_characters_not_bytes() {
        let mut sources = Sources::default();
        let id = sources.add(Source::new("a.yaml", "é: 1\nbb: ü x\n"));
        let place = |start| sources.location_of(Span { source: id, start, end: start + 1 }).unwrap();
        assert_eq!((place(0).line, place(0).column), (1, 1));
        assert_eq!((place(2).line, place(2).column), (1, 2));
        assert_eq!((place(6).line, place(6).column), (2, 1));
        assert_eq!((place(13).line, place(13).column), (2, 7));
    }
}
