//! Lines around a byte range of a file: which comments belong to it, its indentation, and the line ending in use. In:
//! the file's bytes and the ranges of its comments; out: offsets and patches, which both syntaxes share.

use std::ops::Range;

use super::literal::IndentStyle;

/// Byte order mark that some editors write at the beginning of a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Content of a file with the byte ranges of its comments.
#[derive(Clone, Copy)]
pub(super) struct CommentedText<'t> {
    pub(super) text: &'t str,
    /// Byte ranges of the comments, in order.
    pub(super) comments: &'t [Range<usize>],
}

/// A byte range of a file and its replacement; an empty range is an insertion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextPatch {
    /// Byte range to replace.
    pub(super) range: Range<usize>,
    /// Replacement for the range.
    pub(super) text: String,
}

impl TextPatch {
    pub(super) fn new(range: Range<usize>, text: impl Into<String>) -> Self {
        Self { range, text: text.into() }
    }

    /// Returns an insertion at an offset.
    pub(super) fn new_insertion(at: usize, text: impl Into<String>) -> Self {
        Self::new(at..at, text)
    }
}

impl<'t> CommentedText<'t> {
    /// Returns the offset of the first line, after a byte order mark, if there is one.
    fn first_line_start(self) -> usize {
        if self.text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 }
    }

    /// Returns the offset at which the line of an offset begins.
    pub(super) fn line_start(self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(self.first_line_start().min(at), |n| n + 1)
    }

    /// Returns the offset at which the line of an offset ends, its line ending not included.
    pub(super) fn line_end(self, at: usize) -> usize {
        let end = self.text[at..].find('\n').map_or(self.text.len(), |n| at + n);
        if end > at && self.text[..end].ends_with('\r') { end - 1 } else { end }
    }

    /// Returns the offset at which the next line begins, or the end of the file.
    pub(super) fn next(self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |n| at + n + 1)
    }

    /// Returns whether only white space precedes an offset on its line.
    pub(super) fn is_first(self, at: usize) -> bool {
        self.text[self.line_start(at)..at].trim().is_empty()
    }

    /// Returns the indentation that aligns a line with an offset.
    pub(super) fn indent_at(self, at: usize) -> String {
        let before = &self.text[self.line_start(at)..at];
        let blank = |c: char| if c == '\t' { '\t' } else { ' ' };
        before.chars().map(blank).collect()
    }

    /// Returns the indentation step and the line ending that the file uses; two spaces and `\n` where it shows none.
    pub(super) fn layout(self) -> IndentStyle<'t> {
        let end = match self.text.find('\n') {
            Some(n) if self.text[..n].ends_with('\r') => "\r\n",
            _ => "\n",
        };
        let indented = self.text.lines().take(1000).find_map(|line| {
            let text = line.trim_start_matches([' ', '\t']);
            let width = line.len() - text.len();
            let counts = !text.is_empty() && !text.starts_with(['#', '/', '*']) && (1..=8).contains(&width);
            counts.then(|| &line[..width])
        });
        IndentStyle { step: indented.unwrap_or("  "), end }
    }

    /// Returns the end of the comment that follows an offset on its line; the offset
    /// itself if there is none.
    pub(super) fn trailing_comment_end(self, at: usize) -> usize {
        let next = self.comments.partition_point(|comment| comment.start < at);
        let comment = self.comments.get(next).filter(|comment| {
            let gap = &self.text[at..comment.start];
            gap.trim().is_empty()
                && !gap.contains('\n')
                && self.text[comment.end..self.line_end(comment.end)].trim().is_empty()
        });
        comment.map_or(at, |comment| comment.end)
    }

    /// Returns the beginning of the comment lines directly above a line that have its indentation; the line
    /// itself if there are none.
    fn leading_comments_start(self, line: usize, indent: &str) -> usize {
        let mut from = line;
        while from > self.first_line_start() {
            let before = &self.text[..from - 1];
            let end = before.trim_end_matches([' ', '\t', '\r']).len();
            let last = self.comments.partition_point(|comment| comment.end < end);
            let Some(comment) = self.comments.get(last).filter(|comment| comment.end == end) else { break };
            if !self.is_first(comment.start) || self.indent_at(comment.start) != indent {
                break;
            }
            from = self.line_start(comment.start);
        }
        from
    }

    /// Returns the whole lines of a range, with its comments above and after it and, between two blank lines,
    /// one of them; `None` when something else is on these lines. With `bare`, comments above are not included:
    /// above the first entry they are about the file.
    pub(super) fn whole_lines(self, part: Range<usize>, bare: bool) -> Option<Range<usize>> {
        let after = self.trailing_comment_end(part.end);
        if !self.is_first(part.start) || !self.text[after..self.line_end(after)].trim().is_empty() {
            return None;
        }
        let first = self.line_start(part.start);
        let from =
            if bare { first } else { self.leading_comments_start(first, &self.indent_at(part.start)) };
        let to =
            if after > part.start && self.text[..after].ends_with('\n') { after } else { self.next(after) };
        if to == self.text.len() && !self.text.ends_with('\n') {
            let before = self.text[..from].strip_suffix('\n').map_or(from, str::len);
            let before = self.text[..before].strip_suffix('\r').map_or(before, str::len);
            return Some(before..to);
        }
        let blank = |line: &str| line.trim().is_empty();
        let blank_before =
            from == self.first_line_start() || blank(&self.text[self.line_start(from - 1)..from]);
        let next = self.next(to);
        if blank_before && next > to && blank(&self.text[to..next]) {
            return Some(from..next);
        }
        Some(from..to)
    }

    /// Returns the offset at which a line can be inserted after a range and the comments below it that are
    /// indented deeper than `indent`: the end of a line, or the beginning of one.
    pub(super) fn insertion_point(self, end: usize, indent: &str) -> usize {
        let mut at = self.line_end(self.trailing_comment_end(end));
        loop {
            let next = self.next(at);
            let line = self.text[next..].split('\n').next().unwrap_or_default();
            let inner = line.trim_start();
            let deeper = line.len() - inner.len() > indent.len();
            let is_comment =
                self.comments.binary_search_by_key(&(next + line.len() - inner.len()), |c| c.start);
            match is_comment {
                Ok(comment) if deeper && next > at => at = self.line_end(self.comments[comment].end),
                _ => return at,
            }
        }
    }

    /// Returns the insertion of a line at an offset that `insertion_point` returned.
    pub(super) fn insert_line(self, at: usize, line: &str) -> TextPatch {
        let end = self.layout().end;
        let starts = at == 0 || self.text[..at].ends_with('\n');
        TextPatch::new_insertion(at, if starts { format!("{line}{end}") } else { format!("{end}{line}") })
    }
}

/// Returns `text` with the patches applied; `None` when two of them overlap. Insertions at one offset keep their order.
pub(super) fn apply_patches(text: &str, mut patches: Vec<TextPatch>) -> Option<String> {
    patches.sort_by_key(|patch| (patch.range.start, patch.range.end));
    let mut out = String::with_capacity(text.len() + 64);
    let mut at = 0;
    for patch in patches {
        out.push_str(text.get(at..patch.range.start)?);
        out.push_str(&patch.text);
        at = patch.range.end;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_blank_lines_move_with_their_lines() {
        let text = "a: 1\n\n# one\n# two\nb: 2 # three\n\nc: 3";
        let comments: Vec<_> = ["# one", "# two", "# three"]
            .map(|comment| text.find(comment).map(|at| at..at + comment.len()).unwrap())
            .into();
        let lines = CommentedText { text, comments: &comments };
        let b = text.find("b: 2").unwrap();
        let whole = lines.whole_lines(b..b + 4, false).unwrap();
        assert_eq!(&text[whole], "# one\n# two\nb: 2 # three\n\n");
        let c = text.find("c: 3").unwrap();
        assert_eq!(&text[lines.whole_lines(c..c + 4, false).unwrap()], "\nc: 3");
        assert_eq!(lines.whole_lines(b + 3..b + 4, false), None);
    }

    #[test]
    fn patches_do_not_overlap() {
        let patch = |range, text: &str| TextPatch::new(range, text);
        assert_eq!(apply_patches("abcd", vec![patch(2..3, "X"), patch(0..1, "")]).unwrap(), "bXd");
        assert_eq!(apply_patches("abcd", vec![patch(0..2, "X"), patch(1..3, "")]), None);
    }
}
