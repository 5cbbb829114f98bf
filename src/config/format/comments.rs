//! Comments and blank lines of a file, assigned to the values next to them. In: the file and the ranges of its
//! comments; out: notes for the outline. Invariant: each comment is used exactly once, in the order of the file.

use std::ops::Range;

use super::outline::{TrailingComment, TriviaLine};

/// Comment syntax of a file format.
#[derive(Clone, Copy)]
pub(super) struct CommentSyntax {
    /// Marker that begins a line comment.
    pub(super) comment: &'static str,
    /// Characters that may occur between a value and the comment after it.
    pub(super) separators: &'static [char],
}

/// The comments of a file, in order.
pub(super) struct CommentReader<'t> {
    text: &'t str,
    comments: &'t [Range<usize>],
    marks: CommentSyntax,
    /// Index of the first comment that is not yet assigned.
    next: usize,
    /// End offset of the last value or comment that was assigned.
    pub(super) at: usize,
}

impl<'t> CommentReader<'t> {
    /// Creates a reader at the beginning of a file.
    pub(super) fn new(text: &'t str, comments: &'t [Range<usize>], marks: CommentSyntax) -> Self {
        Self { text, comments, marks, next: 0, at: 0 }
    }

    fn note_at(&self, at: &Range<usize>) -> TriviaLine {
        let written = &self.text[at.clone()];
        match written.strip_prefix(self.marks.comment) {
            Some(text) => TriviaLine::Comment(text.trim_end().to_owned()),
            None => TriviaLine::Raw(written.to_owned()),
        }
    }

    /// Returns whether a blank line separates the last assigned element from an offset.
    fn is_blank_before(&self, to: usize) -> bool {
        self.text.get(self.at..to).is_some_and(|gap| gap.bytes().filter(|b| *b == b'\n').count() > 1)
    }

    /// Returns the comments that are not yet assigned.
    pub(super) fn unplaced_comments(&self) -> &'t [Range<usize>] {
        &self.comments[self.next..]
    }

    /// Assigns the next comment and returns it with its marker; `None` if it does not begin before an offset.
    pub(super) fn take_before(&mut self, to: usize) -> Option<&'t str> {
        let comment = self.comments.get(self.next).filter(|comment| comment.start < to)?;
        self.next += 1;
        Some(&self.text[comment.clone()])
    }

    /// Assigns the comments and blank lines up to an offset; `first` drops a blank line before them.
    pub(super) fn take_leading_notes(&mut self, to: usize, first: bool) -> Vec<TriviaLine> {
        let mut notes: Vec<TriviaLine> = Vec::new();
        while let Some(comment) = self.comments.get(self.next).filter(|comment| comment.start < to) {
            if self.is_blank_before(comment.start) && !(first && notes.is_empty()) {
                notes.push(TriviaLine::Blank);
            }
            notes.push(self.note_at(comment));
            self.at = comment.end;
            self.next += 1;
        }
        if to < self.text.len() && self.is_blank_before(to) && !(first && notes.is_empty()) {
            notes.push(TriviaLine::Blank);
        }
        self.at = self.at.max(to);
        notes
    }

    /// Assigns the comment on the same line as the element that begins at an offset; `None` if there is none,
    /// or if it is a block comment.
    pub(super) fn take_trailing_comment(&mut self, start: usize) -> Option<TrailingComment> {
        let comment = self.comments.get(self.next)?;
        let gap = self.text.get(self.at..comment.start)?;
        let TriviaLine::Comment(text) = self.note_at(comment) else { return None };
        let is_between = |c: char| c.is_whitespace() || self.marks.separators.contains(&c);
        if gap.contains('\n') || !gap.chars().all(is_between) {
            return None;
        }
        self.next += 1;
        self.at = comment.end;
        let line = self.text[..comment.start].rfind('\n').map_or(0, |n| n + 1);
        // After a value of several lines, the comment cannot keep its column.
        let column = if start >= line { self.text[start..comment.start].chars().count() } else { 0 };
        Some(TrailingComment { text, column })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_comment_is_claimed_once() {
        let text = "# a\n\n# b\nk: v, # c\n# d\n";
        let comments: Vec<_> = ["# a", "# b", "# c", "# d"]
            .map(|comment| text.find(comment).map(|at| at..at + comment.len()).unwrap())
            .into();
        let marks = CommentSyntax { comment: "#", separators: &[','] };
        let mut notes = CommentReader::new(text, &comments, marks);
        let comment = |text: &str| TriviaLine::Comment(text.to_owned());
        let key = text.find("k:").unwrap();
        assert_eq!(notes.take_leading_notes(key, true), [comment(" a"), TriviaLine::Blank, comment(" b")]);
        notes.at = key + 4;
        assert_eq!(
            notes.take_trailing_comment(key),
            Some(TrailingComment { text: " c".to_owned(), column: 6 })
        );
        assert_eq!(notes.take_trailing_comment(key), None);
        assert_eq!(notes.take_before(text.len()), Some("# d"));
        assert_eq!(notes.take_leading_notes(text.len(), false), []);
    }
}
