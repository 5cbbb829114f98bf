//! `Cursor`: a position in a text as completion and hover see it: the keys above it, its role, and the word there.

use std::ops::Range;

/// The syntactic role of a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::editor::lsp) enum CursorContext {
    /// The position of a key.
    Key,
    /// The value of the path's last key.
    Value,
    /// An argument of a KDL node, which is the path's last key: a value or a property.
    Argument,
    /// A position without completion, such as a comment.
    Text,
}

/// The syntactic context of a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::editor::lsp) struct Cursor {
    /// The enclosing keys, outermost first: `vm`, `web`.
    pub(in crate::editor::lsp) path: Vec<String>,
    /// Syntactic role of the position.
    pub(in crate::editor::lsp) at: CursorContext,
    /// Byte range of the word at the position; empty if there is none.
    pub(in crate::editor::lsp) word: Range<usize>,
}

/// Returns whether a character can be part of a key, a keyword or a path.
pub(in crate::editor::lsp) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '$')
}

/// Returns the byte offset at which the word at the end of a text starts; the text's length if there is no word.
pub(in crate::editor::lsp) fn word_start(text: &str) -> usize {
    text.trim_end_matches(is_word).len()
}
