//! Reference pages for the functions and macros of expressions.

use serde::Serialize;

use crate::model::cel::{CelFunction, FUNCTIONS};

/// The reference page for a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FunctionPage {
    /// Name of the function.
    pub function: &'static str,
    /// What the function returns, as a sentence.
    pub summary: &'static str,
    /// Call syntax of the function.
    pub usage: &'static str,
    /// An example expression with a call, in `${…}`.
    pub example: String,
    /// The result of the example, in the syntax of the language; a test evaluates it.
    pub gives: &'static str,
}

/// Returns the page for a function, also with `()` behind its name; `None` if the function is unknown.
pub(super) fn function_page(name: &str) -> Option<FunctionPage> {
    let name = name.strip_suffix("()").unwrap_or(name);
    let CelFunction { name, usage, summary, example, gives } =
        FUNCTIONS.iter().find(|known| known.name == name)?;
    Some(FunctionPage { function: name, summary, usage, example: format!("${{{example}}}"), gives })
}

/// Returns all functions with their summaries, in the table's order.
pub(super) fn all_functions() -> Vec<(&'static str, &'static str)> {
    FUNCTIONS.iter().map(|function| (function.name, function.summary)).collect()
}
