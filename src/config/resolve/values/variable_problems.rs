//! The diagnostics of a variable: an unknown type, a value that `one_of` does not list, a `check` that is no
//! condition. In: the node or the value. Out: a diagnostic that does not contain a confidential value.

use crate::config::codes;
use crate::config::diagnostics::hints::other_tools;
use crate::config::keywords;
use crate::config::syntax::document::Node;
use crate::config::syntax::quoting;
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::source::Span;
use crate::model::values::value::Value;

/// Completes the problem of a value that `one_of` does not list. `shown` is the value as a message may show it;
/// `None` if it is confidential. The allowed values of a secret are only counted: they are secrets, too.
pub(super) fn none_of(
    mut problem: Diagnostic,
    one_of: &[Value],
    value: &Value,
    shown: Option<&str>,
) -> Diagnostic {
    let words: Vec<String> = one_of.iter().map(Value::to_string).collect();
    let listed = match words.len() {
        // The allowed values of a secret are secrets as well.
        many if value.is_secret() => format!("the {many} that its `one_of` lists"),
        _ => words.join(", "),
    };
    let near = shown.and_then(|shown| nearest_name(shown, words.iter().map(String::as_str)));
    problem.help = near.map(|near| format!("did you mean `{near}`?"));
    problem.detail = problem.detail.map(|by| match shown {
        Some(shown) => format!("{by} is `{shown}`; it takes one of {listed}."),
        None => format!("{by} is none of {listed}."),
    });
    problem
}

/// Returns the diagnostic of an unknown type.
pub(super) fn no_type(node: &Node) -> Diagnostic {
    let text = node.scalar().map(|scalar| scalar.text.as_str()).unwrap_or_default();
    let known: Vec<&str> = keywords::word_names(keywords::TYPES).collect();
    let problem = Diagnostic::error(codes::VARIABLE_DECLARATION, "a variable's declaration is wrong")
        .with_label(node.span, "")
        .detail(format!(
            "`{}` is not a type. Types are: {}.",
            quoting::shorten_for_message(text),
            known.join(", ")
        ));
    match other_tools::variable_type(text) {
        Some(right) => problem.help(format!("write `type: {right}`")),
        None => match nearest_name(text, known.iter().copied()) {
            Some(near) => problem.help(format!("did you mean `{near}`?")).fix(node.span, near),
            None => problem.help("write one of these"),
        },
    }
}

/// Returns the problem of a `check` that is no condition. `gives` is the value that it results in, of which only
/// the type is named; `None` if it is no expression.
pub(super) fn no_condition(span: Span, gives: Option<&Value>) -> Diagnostic {
    let detail = match gives {
        Some(value) => {
            format!("`check` must result in true or false, and this one results in {}.", value.type_name())
        }
        None => "`check` is an expression over `self`.".to_owned(),
    };
    Diagnostic::error(codes::VARIABLE_DECLARATION, "a variable's declaration is wrong")
        .with_label(span, "")
        .detail(detail)
        .help("write, for example, `check: \"${self >= 1}\"`")
}
