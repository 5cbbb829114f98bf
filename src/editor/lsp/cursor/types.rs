//! A position in a text as the completion sees it: the keys above it, what is written there, and the word.

use std::ops::Range;

/// What stands at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::editor::lsp) enum CursorContext {
    /// A key.
    Key,
    /// The value of the path's last key.
    Value,
    /// An argument of a KDL node, the path's last key: a value, or a property.
    Argument,
    /// Nothing that can be completed.
    Text,
}

/// A place in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::editor::lsp) struct Cursor {
    /// The keys above it, from the top: `vm`, `web`.
    pub(in crate::editor::lsp) path: Vec<String>,
    /// What stands there.
    pub(in crate::editor::lsp) at: CursorContext,
    /// The word there.
    pub(in crate::editor::lsp) word: Range<usize>,
}

/// Tells whether a character belongs to a key, a word or a path.
pub(in crate::editor::lsp) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '$')
}

/// Returns where the word begins that ends with a text.
pub(in crate::editor::lsp) fn word_start(text: &str) -> usize {
    text.trim_end_matches(is_word).len()
}
