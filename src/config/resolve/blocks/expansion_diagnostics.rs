//! The diagnostics of the expansion: a wrong `for_each` or key, and a collection of plain entries that is no list.
//! In: the wrong value and its span. Out: a diagnostic with a hint how to write it.

use crate::config::codes;
use crate::config::syntax::document::Node;
use crate::config::syntax::quoting;
use crate::model::address::{Address, is_legal_segment};
use crate::model::diagnostic::Diagnostic;
use crate::model::expression::Expression;
use crate::model::source::Span;
use crate::model::values::value::Value;

/// Returns the problem of a single value where a collection of plain entries is expected.
pub(super) fn not_a_list(name: &str, node: &Node) -> Diagnostic {
    let problem = Diagnostic::error(codes::NOT_A_BLOCK, "a list was expected")
        .with_label(node.span, "")
        .detail(format!("Each entry of `{name}` is a resource with an address of its own."));
    match node.scalar().map(|scalar| scalar.text.as_str()) {
        Some(text) if text.starts_with('$') => problem.help(format!(
            "list the entries here; each may be a reference: `{name}: [$vars.one, $vars.two]`"
        )),
        Some(text) => {
            let right = format!("[{}]", quoting::quote_yaml(text, true));
            problem.help(format!("write `{name}: {right}`")).fix(node.span, right)
        }
        None => problem.help(format!("write `{name}: [ … ]`")),
    }
}

/// Describes what an expression waits for: at most five addresses.
pub(super) fn describe_wait(expression: &Expression) -> String {
    let names: Vec<&str> = expression.addresses().into_iter().take(5).map(Address::as_str).collect();
    match names.as_slice() {
        [] => "It depends on values that are known after apply.".to_owned(),
        names => format!("It depends on {}, known after apply.", names.join(", ")),
    }
}

pub(super) fn illegal_key(key: &str, span: Span) -> Diagnostic {
    // Keys are never changed silently: two of them could become one address.
    let lower = key.to_lowercase().replace([' ', '.'], "-");
    let problem = Diagnostic::error(codes::INSTANCE_KEY, "this key cannot be part of an address")
        .with_label(span, "")
        .detail(format!(
            "`{}` has characters other than a-z, 0-9, _ and -.",
            quoting::shorten_for_message(key)
        ));
    if is_legal_segment(&lower) {
        problem.help(format!(
            "write `{lower}`; put a text that must not change into the values of a map: `for_each: {{ {lower}: … }}`"
        ))
    } else {
        problem.help("use short keys, and put the text into the values of a map: `for_each: { KEY: … }`")
    }
}

pub(super) fn for_each_problem(value: &Value, span: Span) -> Diagnostic {
    let problem = Diagnostic::error(codes::FOR_EACH, "`for_each` needs a collection to iterate over");
    let problem = problem.with_label(span, "").detail(format!(
        "It takes a set, a list of texts, a map or a block, and this is {}.",
        value.type_name()
    ));
    match value {
        Value::Integer(_) => problem.help("name each of them: `for_each: [a, b]`"),
        Value::Map(_) => problem.help(
            "make the list a map with a key for each: `for_each: { a: { … }, b: { … } }`, then `$each.value.…`",
        ),
        _ => problem,
    }
}
