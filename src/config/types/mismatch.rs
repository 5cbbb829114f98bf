//! Why a value does not fit its type, before it is known where the value is written.

use crate::config::diagnostics::codes;

/// Why a value does not have a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) struct TypeMismatch {
    /// The diagnostic's code.
    pub(in crate::config) code: &'static str,
    /// A constant summary.
    pub(in crate::config) summary: &'static str,
    /// What was expected and what is there, in a sentence.
    pub(in crate::config) detail: String,
    /// What to write instead.
    pub(in crate::config) help: Option<String>,
    /// The text that mends it, in place of the whole scalar.
    pub(in crate::config) fix: Option<String>,
}

impl TypeMismatch {
    /// Returns a wrong type.
    pub(in crate::config) fn wrong_type(expected: &str, found: &str) -> Self {
        Self::new(
            codes::WRONG_TYPE,
            "this value has the wrong type",
            format!("It takes {expected}, and this is {found}."),
        )
    }

    /// Returns the mismatch of what was computed from a secret: it says nothing of it.
    pub(in crate::config) fn from_sensitive() -> Self {
        Self::new(codes::SENSITIVE, "an expression over a secret fails", String::new())
    }

    /// Returns a mismatch.
    pub(in crate::config) fn new(code: &'static str, summary: &'static str, detail: String) -> Self {
        Self { code, summary, detail, help: None, fix: None }
    }

    /// Says what to write instead.
    pub(in crate::config) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Gives the text that mends it.
    pub(in crate::config) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}
