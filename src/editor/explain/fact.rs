//! Reference pages for the facts that the condition of a policy can read, from the table of facts.

use std::borrow::Cow;

use serde::Serialize;

use crate::editor::facts;
use crate::model::cel::policy::{FACTS, FactSource, PolicyFact, fact_roots, find_fact};
use crate::model::diagnostic::nearest_name;
use crate::model::schema::{Attribute, Registry};

/// The facts that have the attributes of a kind.
const WITH_ATTRIBUTES: [&str; 4] = ["self", "self.before", "plan.changes[].after", "plan.changes[].before"];

/// The reference page for a fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FactPage {
    /// Path of the fact in a condition.
    pub fact: Cow<'static, str>,
    /// What it is, as a sentence.
    pub summary: Cow<'static, str>,
    /// Type of the fact.
    #[serde(rename = "type")]
    pub ty: Cow<'static, str>,
    /// When it is known, in sentences.
    pub known: &'static str,
    /// Whether it is only what the environment of the process claims.
    pub claimed: bool,
    /// The facts inside this one, each with its summary.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<(&'static str, &'static str)>,
}

/// Returns the page for a fact, as `policy.now` or `policy.self.effects`, or for an attribute below one, as
/// `policy.self.plan`; `None` for another subject.
pub(super) fn fact_page(registry: &Registry, subject: &str) -> Option<FactPage> {
    let path = subject.strip_prefix("policy.")?;
    let Some(fact) = find_fact(path) else { return attribute_page(registry, path) };
    let is_inside = |other: &&PolicyFact| {
        let rest = other
            .path
            .strip_prefix(fact.path)
            .and_then(|rest| rest.trim_start_matches("[]").strip_prefix('.'));
        rest.is_some_and(|name| !name.contains('.'))
    };
    Some(FactPage {
        fact: fact.path.into(),
        summary: fact.summary.into(),
        ty: fact.ty.into(),
        known: fact.known(),
        claimed: fact.source == FactSource::Environment,
        facts: FACTS.iter().filter(is_inside).map(|fact| (fact.path, fact.summary)).collect(),
    })
}

/// Returns the page for an attribute that a condition reads of a resource or a change; `None` if no kind has it.
fn attribute_page(registry: &Registry, path: &str) -> Option<FactPage> {
    let (whole, name) = path.rsplit_once('.')?;
    let fact = find_fact(whole).filter(|fact| WITH_ATTRIBUTES.contains(&fact.path))?;
    let found: Vec<(&str, &Attribute)> =
        registry.kinds.iter().filter_map(|kind| Some((kind.name, kind.attribute(name)?))).collect();
    let (first, attribute) = found.first()?;
    let kinds: Vec<&str> = found.iter().map(|(kind, _)| *kind).collect();
    let which = if fact.path.ends_with("before") { "live" } else { "planned" };
    let ty = facts::type_name(&attribute.ty);
    let is_one_type = found.iter().all(|(_, other)| facts::type_name(&other.ty) == ty);
    Some(FactPage {
        fact: format!("{}.{name}", fact.path).into(),
        summary: format!(
            "The {which} value of the attribute `{name}`, which these kinds have: {}. `stead explain {first}.{name}` describes it.",
            kinds.join(", ")
        )
        .into(),
        ty: if is_one_type { ty.into() } else { "that of the kind's attribute".into() },
        known: fact.known(),
        claimed: false,
        facts: Vec::new(),
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

/// Returns the subjects of the facts that a name without its path may mean: `due_now` is one of a resource, of a change and of
/// the plan.
pub(super) fn facts_named(name: &str) -> Vec<String> {
    let end = format!(".{name}");
    let named = |fact: &&PolicyFact| fact.path == name || fact.path.ends_with(&end);
    FACTS.iter().filter(named).map(|fact| format!("policy.{}", fact.path)).collect()
}

/// Returns the subjects of all facts, in the order of the table.
pub(super) fn fact_subjects() -> Vec<String> {
    FACTS.iter().map(|fact| format!("policy.{}", fact.path)).collect()
}
