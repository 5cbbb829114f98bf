//! Reasons why an edit is refused: one diagnostic each, with the location and what to change instead.

use crate::config::codes;
use crate::model::diagnostic::Diagnostic;
use crate::model::source::Span;

/// Reason why an edit is refused, as a diagnostic for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditError(pub Box<Diagnostic>);

impl From<Diagnostic> for EditError {
    fn from(problem: Diagnostic) -> Self {
        Self(Box::new(problem))
    }
}

/// Returns the refusal for a file that does not parse, before or after the edit.
pub(super) fn unreadable_text(problem: Diagnostic) -> EditError {
    problem.into()
}

/// Returns the refusal for a path that does not exist.
pub(super) fn missing_path(path: &str) -> EditError {
    Diagnostic::error(codes::EDIT_MISSING, "this path does not exist")
        .detail(format!("The file has no `{path}`."))
        .help("check the path; the value may be in another file of the stack, or be a default")
        .into()
}

/// Returns the refusal for a key that already exists.
pub(super) fn name_taken(name: &str, at: Span) -> EditError {
    Diagnostic::error(codes::EDIT_TAKEN, "this name is taken")
        .with_label(at, "")
        .detail(format!("`{name}` exists here already."))
        .help("choose another name, or remove this one first")
        .into()
}

/// Returns the refusal for a path that continues inside a value that is not a map.
pub(super) fn no_map(at: Span) -> EditError {
    Diagnostic::error(codes::EDIT_MISSING, "nothing can be written below this value")
        .with_label(at, "this is not a map")
        .help("change the file by hand")
        .into()
}

/// Returns the refusal for a computed value.
pub(super) fn computed_value(text: &str, at: Span) -> EditError {
    let from = match text.strip_prefix('$').filter(|rest| !rest.contains(['{', '$'])) {
        Some(path) => format!("`{path}`"),
        None => "an expression".to_owned(),
    };
    let help = match text.strip_prefix("$vars.") {
        Some(name) => {
            format!("change the variable `{name}`: its default, or what an environment sets it to")
        }
        None if text.starts_with("$locals.") => {
            format!("change the local `{}`", text.trim_start_matches("$locals."))
        }
        None => "change what it is computed from, or write the value here by hand".to_owned(),
    };
    Diagnostic::error(codes::EDIT_COMPUTED, "this value is computed")
        .with_label(at, "")
        .detail(format!("It comes from {from}: a plain value would no longer follow that source."))
        .help(help)
        .into()
}

/// Returns the refusal for a value that is written elsewhere and shared through an alias; `at` is where,
/// if that is known.
pub(super) fn shared_value(through: Span, at: Option<Span>) -> EditError {
    let problem = Diagnostic::error(codes::EDIT_SHARED, "this value is shared")
        .with_label(through, "repeats a value that is defined elsewhere")
        .detail(
            "The value of an anchor is used in several locations, so a change here would change the others, too.",
        );
    let problem = match at {
        Some(at) => problem.with_label(at, "it is defined here"),
        None => problem,
    };
    problem.help("change the anchored block itself by hand, or write the value out here").into()
}

/// Returns the refusal for an indexed path, because it is unknown which entry the index selects.
pub(super) fn unclear_index(at: Span) -> EditError {
    Diagnostic::error(codes::EDIT_UNSURE, "this expression cannot be rewritten safely")
        .with_label(at, "")
        .detail("It refers to the name through an index in brackets.")
        .help("write the path with dots, or change it by hand")
        .into()
}

/// Returns the refusal for a result that would not mean what was requested; `what` describes the request.
pub(in crate::config) fn unexpected_result(what: &str) -> EditError {
    let detail = format!(
        "The edited file would not contain exactly the requested change ({what}), so the file was not changed."
    );
    Diagnostic::error(codes::EDIT_UNSURE, "this file cannot be changed safely")
        .detail(detail)
        .help("change the file by hand")
        .into()
}
