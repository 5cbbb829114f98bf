//! `Diagnostic`: one problem with its reason, its remedy and its source location.
//!
//! Every phase of the configuration and of the plan returns diagnostics; the reports show them as text or JSON. They
//! contain no secret: the code that makes one leaves secret values out.

pub mod blocker_code;

use serde::Serialize;

use super::address::Name;
use super::source::Span;

/// The severity of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Blocks the command until it is corrected.
    Error,
    /// Deserves attention; the command continues.
    Warning,
}

/// A source span and the text shown at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The source range that the label underlines.
    pub span: Span,
    /// A few words shown at the span; empty for a bare underline.
    pub text: String,
}

/// An edit that corrects the problem and changes nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuggestedEdit {
    /// The source range that the edit replaces.
    pub span: Span,
    /// The text that replaces the text of the span; empty to delete it.
    pub replacement: String,
    /// Whether the intent is certain: then the program may apply the edit without a prompt.
    pub sure: bool,
}

/// One problem. The first label is the main one.
///
/// `summary` is a constant sentence without full stop; `detail` states what happened and why in
/// sentences; `help` states the correction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable code, such as `S0201`.
    pub code: &'static str,
    /// Whether the problem is an error or a warning.
    pub severity: Severity,
    /// One line that summarizes the problem.
    pub summary: String,
    /// Sentences that explain what happened and why; `None` where the summary suffices.
    pub detail: Option<String>,
    /// The source spans; the first is the main one. Empty for a problem without a place in a file.
    pub labels: Vec<Label>,
    /// What the user can do about it; `None` where the summary already says it.
    pub help: Option<String>,
    /// A safe edit that corrects the problem; `None` where only the user can decide.
    pub fix: Option<SuggestedEdit>,
    /// The secret variable that has no value: the program can prompt for it on a terminal. `None`
    /// for any other problem.
    pub asks: Option<Name>,
}

impl Diagnostic {
    /// Returns the diagnostic for `Sources` to which its own were appended: their first file has the number `first` there.
    #[must_use]
    pub fn in_appended(mut self, first: u32) -> Self {
        let spans = self.labels.iter_mut().map(|label| &mut label.span);
        for span in spans.chain(self.fix.as_mut().map(|fix| &mut fix.span)) {
            span.source.0 += first;
        }
        self
    }

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

    /// Adds a label after the existing ones. The first label of a diagnostic is the main one.
    #[must_use]
    pub fn with_label(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// Inserts a label without text before the existing labels and so makes its span the main one.
    #[must_use]
    pub fn first_at(mut self, span: Span) -> Self {
        self.labels.insert(0, Label { span, text: String::new() });
        self
    }

    /// Sets the sentences that explain what happened and why.
    #[must_use]
    pub fn detail(mut self, text: impl Into<String>) -> Self {
        self.detail = Some(text.into());
        self
    }

    /// Sets the sentence that tells the user what to do.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// Sets a safe edit whose intent is certain; it replaces an earlier one.
    #[must_use]
    pub fn fix(mut self, span: Span, replacement: impl Into<String>) -> Self {
        self.fix = Some(SuggestedEdit { span, replacement: replacement.into(), sure: true });
        self
    }

    /// Marks the problem as one that a prompt for the value of a variable can solve.
    #[must_use]
    pub fn asks(mut self, variable: Name) -> Self {
        self.asks = Some(variable);
        self
    }

    /// Returns the main span; `None` for a problem without a place in a file.
    #[must_use]
    pub fn span(&self) -> Option<Span> {
        self.labels.first().map(|label| label.span)
    }
}

/// Joins items for a sentence, the last with a conjunction: `a, b and c`. One item stands alone; none give an empty string.
#[must_use]
pub fn join_list<T: AsRef<str>>(items: &[T], conjunction: &str) -> String {
    let names: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [names @ .., last] if !names.is_empty() => format!("{} {conjunction} {last}", names.join(", ")),
        names => names.join(", "),
    }
}

/// Maximum number of candidates for `nearest_name` where a stack may have any number: the comparison with each takes
/// time.
pub const MAX_CANDIDATES: usize = 1_000;

/// Returns the candidate that is nearest to a mistyped name; `None` when none is near enough to suggest. Of equally
/// near ones it is the first by name, so that messages do not depend on the order of the candidates.
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
    fn only_a_similar_name_is_suggested() {
        assert_eq!(nearest_name("mian", ["main", "other"]), Some("main"));
        assert_eq!(nearest_name("storage", ["storage_gb", "name"]), Some("storage_gb"));
        assert_eq!(nearest_name("zzz", ["main", "a"]), None);
    }
}
