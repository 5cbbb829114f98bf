//! `Diagnostic`: one problem, said once: what, why, how to mend it, and where.

use super::address::Name;
use super::source::Span;

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Nothing is done while it stands.
    Error,
    /// Worth a look; work goes on.
    Warning,
}

/// A place and what to say about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// A few words shown at the place; empty for a bare underline.
    pub text: String,
}

/// An edit that mends the problem without changing anything else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuggestedEdit {
    /// The text to replace.
    pub span: Span,
    /// What takes its place.
    pub replacement: String,
    /// It is surely what was meant: it may be made unasked.
    pub sure: bool,
}

/// One problem. The first label is the main one.
///
/// `summary` is a constant sentence without full stop; `detail` says what and why in sentences;
/// `help` says what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable code, such as `S0201`.
    pub code: &'static str,
    /// Error or warning.
    pub severity: Severity,
    /// One line.
    pub summary: String,
    /// More lines, when the summary is not enough.
    pub detail: Option<String>,
    /// Where; the first is the main place.
    pub labels: Vec<Label>,
    /// What to do.
    pub help: Option<String>,
    /// A safe edit, where there is one.
    pub fix: Option<SuggestedEdit>,
    /// The secret variable that has no value: a person who is there can be asked for it.
    pub asks: Option<Name>,
}

impl Diagnostic {
    /// Returns an error with a code and a summary.
    #[must_use]
    pub fn error(code: &'static str, summary: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            summary: summary.into(),
            detail: None,
            labels: Vec::new(),
            help: None,
            fix: None,
            asks: None,
        }
    }

    /// Returns a warning with a code and a summary.
    #[must_use]
    pub fn warning(code: &'static str, summary: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, summary) }
    }

    /// Points at a place, with a few words.
    #[must_use]
    pub fn with_label(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// Makes a place the main one, before those that are there.
    #[must_use]
    pub fn first_at(mut self, span: Span) -> Self {
        self.labels.insert(0, Label { span, text: String::new() });
        self
    }

    /// Adds sentences that say what and why.
    #[must_use]
    pub fn detail(mut self, text: impl Into<String>) -> Self {
        self.detail = Some(text.into());
        self
    }

    /// Adds what to do.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// Adds a safe edit that is surely what was meant.
    #[must_use]
    pub fn fix(mut self, span: Span, replacement: impl Into<String>) -> Self {
        self.fix = Some(SuggestedEdit { span, replacement: replacement.into(), sure: true });
        self
    }

    /// Says that a person can be asked for a variable's value.
    #[must_use]
    pub fn asks(mut self, variable: Name) -> Self {
        self.asks = Some(variable);
        self
    }

    /// Returns the main place, if there is one.
    #[must_use]
    pub fn span(&self) -> Option<Span> {
        self.labels.first().map(|label| label.span)
    }
}

/// Returns the candidate nearest to a mistyped name, when one is near enough to suggest.
#[must_use]
pub fn nearest_name<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).max(1) + 1;
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= limit && *distance < candidate.chars().count())
        .min_by_key(|(distance, candidate)| (*distance, *candidate))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest_name;

    #[test]
    fn suggests_only_what_is_near() {
        assert_eq!(nearest_name("mian", ["main", "other"]), Some("main"));
        assert_eq!(nearest_name("storage", ["storage_gb", "name"]), Some("storage_gb"));
        assert_eq!(nearest_name("zzz", ["main", "a"]), None);
    }
}
