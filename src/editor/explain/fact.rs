//! Reference pages for the facts that the condition of a policy can read, from the table of facts.

use serde::Serialize;

use crate::model::cel::policy::{FACTS, FactSource, find_fact};
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
}

/// Returns the page for a fact, as `policy.now` or `policy.self.effects`; `None` for another subject.
pub(super) fn fact_page(subject: &str) -> Option<FactPage> {
    let fact = find_fact(subject.strip_prefix("policy.")?)?;
    let claimed = fact.source == FactSource::Environment;
    Some(FactPage { fact: fact.path, summary: fact.summary, ty: fact.ty, known: fact.known(), claimed })
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
