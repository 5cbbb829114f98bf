//! Result of a test: each expectation that does not hold, with the location in the test that states it.

use crate::model::source::Span;

/// An expectation of a test that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct AssertionFailure {
    /// Location of the expectation in the test.
    pub(in crate::cli) span: Span,
    /// Expected and actual result, as a clause; not escaped.
    pub(in crate::cli) text: String,
}

impl AssertionFailure {
    pub(super) fn new(span: Span, text: impl Into<String>) -> Self {
        Self { span, text: text.into() }
    }
}
