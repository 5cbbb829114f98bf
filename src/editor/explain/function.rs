//! Functions and macros of expressions.

use serde::Serialize;

use crate::model::cel::{CelFunction, FUNCTIONS};

/// What is known of a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FunctionPage {
    /// Its name.
    pub function: &'static str,
    /// What it gives.
    pub summary: &'static str,
    /// How it is called.
    pub usage: &'static str,
    /// An expression that calls it.
    pub example: String,
    /// What that gives.
    pub gives: &'static str,
}

/// Returns what is known of a function.
pub(super) fn function_page(name: &str) -> Option<FunctionPage> {
    let name = name.strip_suffix("()").unwrap_or(name);
    let CelFunction { name, usage, summary, example, gives } =
        FUNCTIONS.iter().find(|known| known.name == name)?;
    Some(FunctionPage { function: name, summary, usage, example: format!("${{{example}}}"), gives })
}

/// Returns every function with its sentence.
pub(super) fn all_functions() -> Vec<(&'static str, &'static str)> {
    FUNCTIONS.iter().map(|function| (function.name, function.summary)).collect()
}
