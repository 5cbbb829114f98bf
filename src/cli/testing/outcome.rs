//! What a test finds: each expectation that does not hold, with the place in the test that states it.

use crate::model::source::Span;

/// Something that is not as the test wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct AssertionFailure {
    /// Where the test says it.
    pub(in crate::cli) span: Span,
    /// What is wanted, and what is there.
    pub(in crate::cli) text: String,
}

impl AssertionFailure {
    pub(super) fn new(span: Span, text: impl Into<String>) -> Self {
        Self { span, text: text.into() }
    }
}
