//! Why a value does not fit its type, before it is known where the value is written.

use crate::config::codes;

/// Why a value does not have a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) struct TypeMismatch {
    /// Code of the diagnostic.
    pub(in crate::config) code: &'static str,
    /// Summary of the diagnostic, without variable parts.
    pub(in crate::config) summary: &'static str,
    /// What was expected and what was found, in a sentence.
    pub(in crate::config) detail: String,
    /// Hint on what to write instead; `None` if none is known.
    pub(in crate::config) help: Option<String>,
    /// Replacement for the whole scalar; `None` if several meanings are possible.
    pub(in crate::config) fix: Option<String>,
}

impl TypeMismatch {
    /// Returns the mismatch of a value with the wrong type; both arguments are nouns with their articles.
    pub(in crate::config) fn wrong_type(expected: &str, found: &str) -> Self {
        Self::new(
            codes::WRONG_TYPE,
            "this value has the wrong type",
            format!("It takes {expected}, and this is {found}."),
        )
    }

    /// Returns the mismatch of a sensitive value, which reveals nothing about it.
    pub(in crate::config) fn from_sensitive() -> Self {
        Self::new(codes::SENSITIVE, "an expression over a secret fails", String::new())
    }

    /// Returns a mismatch without a hint.
    pub(in crate::config) fn new(code: &'static str, summary: &'static str, detail: String) -> Self {
        Self { code, summary, detail, help: None, fix: None }
    }

    /// Adds a hint on what to write instead.
    pub(in crate::config) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds the replacement for the whole scalar.
    pub(in crate::config) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}
