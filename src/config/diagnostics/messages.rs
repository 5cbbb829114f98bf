//! Diagnostics that several modules report: unknown keywords, type mismatches, expressions that fail. One
//! function for each, so that one mistake has one wording.

use crate::config::codes;
use crate::config::keywords::{self, Keywords};
use crate::config::syntax::budget::too_large;
use crate::config::syntax::document::DocumentEntry;
use crate::config::syntax::quoting;
use crate::config::types::mismatch::TypeMismatch;
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::expression::EvaluationError;
use crate::model::source::Span;

/// Returns the diagnostic of a type mismatch at a span; one of a secret has no span and no detail.
pub(in crate::config) fn mismatch_diagnostic(mistake: &TypeMismatch, span: Span) -> Diagnostic {
    if mistake.code == codes::SENSITIVE {
        return sensitive_problem();
    }
    let mut problem = Diagnostic::error(mistake.code, mistake.summary)
        .with_label(span, "")
        .detail(mistake.detail.clone());
    problem.help.clone_from(&mistake.help);
    match &mistake.fix {
        Some(fix) => problem.fix(span, fix.clone()),
        None => problem,
    }
}

/// Returns the diagnostic of a key that is not among the keywords allowed in its context.
pub(in crate::config) fn unknown_word(entry: &DocumentEntry, words: Keywords) -> Diagnostic {
    unknown_key(entry, &keywords::word_names(words).collect::<Vec<_>>())
}

/// Returns the diagnostic of an expression that has no value; `source` is the expression's source text, if it is known.
pub(in crate::config) fn evaluation_problem(
    error: &EvaluationError,
    span: Span,
    source: Option<&str>,
) -> Diagnostic {
    let what =
        source.map(|source| format!(" (`{}`)", quoting::shorten_for_message(source))).unwrap_or_default();
    match error {
        EvaluationError::Failed(why) => {
            Diagnostic::error(codes::FAILED, "an expression has no value").with_label(span, "").detail(
                format!("The expression{what} fails: {why}{}", if why.ends_with('?') { "" } else { "." }),
            )
        }
        EvaluationError::Sensitive => sensitive_problem(),
        EvaluationError::TooLong(steps) => {
            Diagnostic::error(codes::TOO_LONG, "an expression takes too long")
                .with_label(span, "")
                .detail(format!("The expression{what} was stopped after {steps} steps."))
                .help("iterate over smaller lists, or nest fewer `map`, `filter`, `all` and `exists`")
        }
        EvaluationError::TooLarge => too_large(span),
    }
}

/// Returns the diagnostic of an unknown key.
pub(in crate::config) fn unknown_key(entry: &DocumentEntry, known: &[&str]) -> Diagnostic {
    let problem =
        Diagnostic::error(codes::UNKNOWN_KEY, "this key is not known").with_label(entry.key_span, "");
    match nearest_name(&entry.key, known.iter().copied()) {
        Some(near) => problem
            .detail(format!("There is no `{}` here.", entry.key))
            .help(format!("did you mean `{near}`?"))
            .fix(entry.key_span, near),
        None => problem
            .detail(format!("There is no `{}` here.", entry.key))
            .help(format!("keys are: {}", known.join(", "))),
    }
}

/// Returns the diagnostic of a failed expression over a secret. It has no span and is the same for all of
/// them: its location among many would reveal which of as many guesses is right.
pub(in crate::config) fn sensitive_problem() -> Diagnostic {
    Diagnostic::error(codes::SENSITIVE, "an expression over a secret fails")
        .detail(
            "An expression over a secret has the wrong type or no value. Which one, and why, is not shown, because that would reveal something about the secret.",
        )
        .help("try the expressions over secrets one by one: stead eval 'EXPRESSION'")
}
