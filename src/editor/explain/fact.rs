//! Reference pages for the facts that the condition of a policy can read, from the table of facts.

use serde::Serialize;

use crate::model::cel::policy::{FACTS, FactSource, PolicyFact, fact_roots, find_fact};
use crate::model::diagnostic::nearest_name;

/// The reference page for a fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FactPage {
    /// Path of the fact in a condition.
    pub fact: &'static str,
    /// What it is, as a sentence.
    pub summary: &'static str,
    /// Type of the fact.
    #[serde(rename = "type")]
    pub ty: &'static str,
    /// When it is known, in sentences.
    pub known: &'static str,
    /// Whether it is only what the environment of the process claims.
    pub claimed: bool,
    /// The facts inside this one, each with its summary.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<(&'static str, &'static str)>,
}

/// Returns the page for a fact, as `policy.now` or `policy.self.effects`; `None` for another subject.
pub(super) fn fact_page(subject: &str) -> Option<FactPage> {
    let fact = find_fact(subject.strip_prefix("policy.")?)?;
    let is_inside = |other: &&PolicyFact| {
        let rest = other
            .path
            .strip_prefix(fact.path)
            .and_then(|rest| rest.trim_start_matches("[]").strip_prefix('.'));
        rest.is_some_and(|name| !name.contains('.'))
    };
    Some(FactPage {
        fact: fact.path,
        summary: fact.summary,
        ty: fact.ty,
        known: fact.known(),
        claimed: fact.source == FactSource::Environment,
        facts: FACTS.iter().filter(is_inside).map(|fact| (fact.path, fact.summary)).collect(),
    })
}

/// Returns the facts that are inside no other one, each with its summary.
pub(super) fn root_facts() -> Vec<(&'static str, &'static str)> {
    fact_roots().map(|fact| (fact.path, fact.summary)).collect()
}

/// Returns the subject of the fact whose name is nearest to that of a subject; `None` if none is near.
pub(super) fn nearest_fact(subject: &str) -> Option<String> {
    let name = subject.strip_prefix("policy.")?;
    nearest_name(name, FACTS.iter().map(|fact| fact.path)).map(|near| format!("policy.{near}"))
}

/// Returns the subjects of all facts, in the order of the table.
pub(super) fn fact_subjects() -> Vec<String> {
    FACTS.iter().map(|fact| format!("policy.{}", fact.path)).collect()
}
