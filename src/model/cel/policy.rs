//! The vocabulary of policies: their levels, and the facts that a condition can read, each with its type and the time
//! from which it is known. In: nothing; the table is a constant. Out: what the check of a configuration, the evaluation,
//! `explain` and completion derive from it. Invariant: a fact is readable exactly if it has a row.

use serde::{Deserialize, Serialize};

use crate::model::address::Name;

/// What a denial of a policy does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PolicyLevel {
    /// It warns, and never changes the exit code.
    Advisory,
    /// It blocks the plan, unless a person overrides it with a reason.
    #[default]
    Overridable,
    /// It blocks the plan, and nothing lifts it.
    Mandatory,
}

impl PolicyLevel {
    /// All levels, the mildest first.
    pub const ALL: [Self; 3] = [Self::Advisory, Self::Overridable, Self::Mandatory];

    /// Returns whether it is the level of a policy that names none.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the keyword of the language.
    #[must_use]
    pub const fn keyword(self) -> &'static str {
        match self {
            Self::Advisory => "advisory",
            Self::Overridable => "overridable",
            Self::Mandatory => "mandatory",
        }
    }

    /// Returns the level with a keyword; `None` for any other word.
    #[must_use]
    pub fn parse(keyword: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.keyword() == keyword)
    }
}

/// Keywords for the actions of a plan.
pub const CHANGE_ACTIONS: [&str; 8] =
    ["create", "update", "replace", "delete", "adopt", "move", "forget", "read"];

/// Where a fact comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactSource {
    /// The configuration.
    Files,
    /// The plan: the configuration, the ledger and the live objects.
    Plan,
    /// The clock of the service.
    Clock,
    /// The environment of the process, which anyone who starts it can set: a claim.
    Environment,
}

/// A fact that the condition of a policy can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PolicyFact {
    /// Its path in a condition; `[]` stands for an entry of a list.
    pub path: &'static str,
    /// Its type, as a noun.
    pub ty: &'static str,
    /// What it is, as a sentence.
    pub summary: &'static str,
    /// Where it comes from, which decides when it is known.
    pub source: FactSource,
}

impl PolicyFact {
    /// Returns whether a verdict over the fact stays out of the plan's fingerprint, because the same plan has another
    /// value at another time or for another person.
    #[must_use]
    pub const fn is_contextual(&self) -> bool {
        matches!(self.source, FactSource::Clock | FactSource::Environment)
    }

    /// Returns when the value is known, as a sentence.
    #[must_use]
    pub const fn known(&self) -> &'static str {
        match self.source {
            FactSource::Files => "Known while the configuration is read.",
            FactSource::Plan => {
                "Known when the plan is made; a part that depends on an object that does not exist yet is known before the step that uses it."
            }
            FactSource::Clock => {
                "Known when the plan is made, and read again at apply: the `Date` of the service, or the clock of this machine where no service answered. Not part of the fingerprint."
            }
            FactSource::Environment => {
                "Known when the plan is made, and read again at apply. It is a claim: who starts stead can set it. Not part of the fingerprint."
            }
        }
    }
}

const fn fact(
    path: &'static str,
    ty: &'static str,
    source: FactSource,
    summary: &'static str,
) -> PolicyFact {
    PolicyFact { path, ty, summary, source }
}

/// All facts, sorted by path.
pub const FACTS: &[PolicyFact] = &[
    fact("actor", "text", FactSource::Environment, "Who runs stead, as `user@host`; in CI with the job."),
    fact(
        "branch",
        "text",
        FactSource::Environment,
        "The branch of the CI job, or the checked out one; \"\" if there is none.",
    ),
    fact("env", "text", FactSource::Files, "The environment's name."),
    fact("locals", "map", FactSource::Files, "Locals that refer to no resource."),
    fact(
        "now",
        "text",
        FactSource::Clock,
        "The time in UTC, as `2026-12-24T10:00:00Z`: texts of this form are ordered by time.",
    ),
    fact("plan", "map", FactSource::Plan, "The plan as a whole, in a policy without `on`."),
    fact("plan.adopt", "whole number", FactSource::Plan, "How many objects are adopted."),
    fact("plan.changes", "list of maps", FactSource::Plan, "The changes, in the order of the plan."),
    fact(
        "plan.changes[].action",
        "text",
        FactSource::Plan,
        "`create`, `update`, `replace`, `delete`, `adopt`, `move`, `forget` or `read`.",
    ),
    fact("plan.changes[].address", "text", FactSource::Plan, "The address of the resource."),
    fact(
        "plan.changes[].after",
        "map",
        FactSource::Plan,
        "The planned value of each attribute. After a deletion, it equals null, and so does each attribute of it.",
    ),
    fact(
        "plan.changes[].before",
        "map",
        FactSource::Plan,
        "The live value of each attribute. Before a creation, it equals null, and so does each attribute of it.",
    ),
    fact(
        "plan.changes[].cause",
        "text",
        FactSource::Plan,
        "`config`, `drift`, `both`, `upstream`, `unfinished`, `unconfirmed` or `not_kept`.",
    ),
    fact(
        "plan.changes[].due_now",
        "number or null",
        FactSource::Plan,
        "What is charged (or refunded, if negative) at once, in USD at the time of the plan; null if it is not known. A verdict over it is not part of the fingerprint.",
    ),
    fact(
        "plan.changes[].effects",
        "list of texts",
        FactSource::Plan,
        "The codes of its side effects, such as `data_loss`; what it opens to others depends on the time. A verdict over it is not part of the fingerprint.",
    ),
    fact("plan.changes[].kind", "text", FactSource::Plan, "The kind of the resource."),
    fact(
        "plan.changes[].monthly_after",
        "number or null",
        FactSource::Plan,
        "Its price in USD a month after the apply; null if it is not known.",
    ),
    fact(
        "plan.changes[].monthly_before",
        "number or null",
        FactSource::Plan,
        "Its price in USD a month before the apply; null if it is not known.",
    ),
    fact(
        "plan.counts",
        "map",
        FactSource::Plan,
        "How many changes there are by kind and action: `plan.counts.vm.delete`.",
    ),
    fact("plan.create", "whole number", FactSource::Plan, "How many objects are created."),
    fact("plan.delete", "whole number", FactSource::Plan, "How many objects are deleted."),
    fact("plan.destroy", "true or false", FactSource::Plan, "Whether the command deletes the whole stack."),
    fact(
        "plan.due_now",
        "number",
        FactSource::Plan,
        "What is charged (or refunded, if negative) at once, in USD at the time of the plan; amounts that are not known are left out. A verdict over it is not part of the fingerprint.",
    ),
    fact("plan.env", "text", FactSource::Files, "The environment's name."),
    fact("plan.forget", "whole number", FactSource::Plan, "How many objects are forgotten."),
    fact("plan.monthly_after", "number", FactSource::Plan, "The monthly cost in USD after the apply."),
    fact("plan.monthly_before", "number", FactSource::Plan, "The monthly cost in USD before the apply."),
    fact("plan.monthly_delta", "number", FactSource::Plan, "The difference of the two, in USD a month."),
    fact("plan.move", "whole number", FactSource::Plan, "How many resources get another address."),
    fact("plan.replace", "whole number", FactSource::Plan, "How many objects are replaced."),
    fact("plan.stack", "text", FactSource::Files, "The stack's name."),
    fact("plan.unchanged", "whole number", FactSource::Plan, "How many resources do not change."),
    fact(
        "plan.unpriced",
        "whole number",
        FactSource::Plan,
        "How many billed objects have no known price: the sums lack them.",
    ),
    fact("plan.update", "whole number", FactSource::Plan, "How many objects are changed in place."),
    fact(
        "self",
        "map",
        FactSource::Plan,
        "A resource of a kind that `on` names, with the planned value of each of its attributes.",
    ),
    fact(
        "self.action",
        "text",
        FactSource::Plan,
        "`create`, `update`, `replace`, `delete`, `adopt`, `forget` or `none`.",
    ),
    fact("self.address", "text", FactSource::Files, "Its address."),
    fact(
        "self.before",
        "map",
        FactSource::Plan,
        "The live value of each attribute: `self.before.plan`. Without an object, it equals null, and so does each attribute of it.",
    ),
    fact(
        "self.cause",
        "text or null",
        FactSource::Plan,
        "Why it changes: `config`, `drift`, `both`, `upstream`, `unfinished`, `unconfirmed` or `not_kept`; null without a change.",
    ),
    fact(
        "self.due_now",
        "number or null",
        FactSource::Plan,
        "What is charged (or refunded, if negative) at once, in USD at the time of the plan; null if it is not known. A verdict over it is not part of the fingerprint.",
    ),
    fact(
        "self.effects",
        "list of texts",
        FactSource::Plan,
        "The codes of the side effects of its change, such as `data_loss`; what it opens to others depends on the time. A verdict over it is not part of the fingerprint.",
    ),
    fact("self.id", "text or null", FactSource::Plan, "The id of its object; null if there is none."),
    fact("self.key", "text or null", FactSource::Files, "Its key in `for_each`; null without one."),
    fact("self.kind", "text", FactSource::Files, "Its kind."),
    fact(
        "self.monthly_after",
        "number or null",
        FactSource::Plan,
        "Its price in USD a month after the apply; null if it is not known.",
    ),
    fact(
        "self.monthly_before",
        "number or null",
        FactSource::Plan,
        "Its price in USD a month before the apply; null if it is not known.",
    ),
    fact("stack", "text", FactSource::Files, "The stack's name."),
    fact("unit", "text", FactSource::Files, "The stack and its environment: `shop/prod`."),
    fact("vars", "map", FactSource::Files, "The values of variables."),
];

/// Returns the names of the facts directly below a path: `plan`, `self`, or `plan.changes[]`.
pub fn facts_below(root: &str) -> impl Iterator<Item = &'static str> + Clone {
    let below = format!("{root}.");
    FACTS.iter().filter_map(move |fact| {
        fact.path.strip_prefix(below.as_str()).filter(|name| !name.contains(['.', '[']))
    })
}

/// Returns the fact with a path, without the `[]` of a list; `None` if there is none.
#[must_use]
pub fn find_fact(path: &str) -> Option<&'static PolicyFact> {
    FACTS.iter().find(|fact| fact.path == path || fact.path.replace("[]", "") == path)
}

/// Returns the roots that a condition can name, of a policy on kinds and of one over the plan.
pub fn fact_roots() -> impl Iterator<Item = &'static PolicyFact> + Clone {
    FACTS.iter().filter(|fact| !fact.path.contains('.'))
}

/// Returns the contextual facts among the roots that a condition names, sorted.
#[must_use]
pub fn contextual_facts<'n>(roots: impl Iterator<Item = &'n Name>) -> Vec<&'static PolicyFact> {
    let named: Vec<&Name> = roots.collect();
    let is_named = |fact: &&PolicyFact| named.iter().any(|root| *root == fact.path);
    FACTS.iter().filter(|fact| fact.is_contextual()).filter(is_named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_sorted_and_documented() {
        assert!(FACTS.is_sorted_by(|a, b| a.path < b.path));
        for fact in FACTS {
            assert!(fact.summary.ends_with(['.', '`']) && !fact.ty.is_empty(), "{}", fact.path);
            assert!(find_fact(fact.path).is_some() && fact.known().ends_with('.'));
            let root = fact.path.split('.').next().unwrap();
            assert!(fact_roots().any(|fact| fact.path == root), "{root}");
        }
        assert_eq!(find_fact("plan.changes.cause").map(|fact| fact.path), Some("plan.changes[].cause"));
    }

    #[test]
    fn only_the_clock_and_the_environment_are_contextual() {
        let contextual: Vec<&str> =
            FACTS.iter().filter(|fact| fact.is_contextual()).map(|fact| fact.path).collect();
        assert_eq!(contextual, ["actor", "branch", "now"]);
        let named = [Name::new("now"), Name::new("self")];
        assert_eq!(contextual_facts(named.iter()).len(), 1);
    }

    #[test]
    fn the_keyword_of_a_level_is_read_back() {
        for level in PolicyLevel::ALL {
            assert_eq!(PolicyLevel::parse(level.keyword()), Some(level));
        }
        assert_eq!(PolicyLevel::parse("strict"), None);
    }
}
