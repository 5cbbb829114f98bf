//! `PolicyProgram`: a policy with its parsed condition. In: the values of the facts. Out: what the condition says of them.
//! A policy never sees a secret's value.

use std::collections::BTreeSet;

use crate::config::stack::model::Policy;
use crate::model::address::{Address, Name};
use crate::model::cel::policy::{PolicyFact, contextual_facts};
use crate::model::cel::{CelProgram, CelValue, ExpressionScope, ReferencePath, evaluate_program};
use crate::model::expression::EvaluationError;
use crate::model::values::value::Value;

/// The result of one evaluation.
pub(in crate::plan) enum PolicyEvaluation {
    /// The expression is false.
    Pass,
    /// The expression is true.
    Deny,
    /// The result depends on values that are known after apply: up to three addresses, joined with commas.
    Unknown(String),
    /// The result depends on values that no step waits for, so that an apply does not decide it either; as for `Unknown`.
    Undecidable(String),
    /// The expression cannot be evaluated: the reason as a phrase. It counts as a denial.
    Failed(String),
}

impl PolicyEvaluation {
    /// Returns the result for a condition that an apply evaluates again, before a step that waits for what it needs or not.
    pub fn for_steps(self, is_decided_there: bool) -> Self {
        match self {
            Self::Unknown(waits) if !is_decided_there => Self::Undecidable(waits),
            said => said,
        }
    }

    /// Returns what the value of a condition says.
    pub fn from_value(value: Result<Value, EvaluationError>) -> Self {
        match value {
            Err(error) => Self::Failed(error.to_string()),
            Ok(Value::Bool(true)) => Self::Deny,
            Ok(Value::Bool(false)) => Self::Pass,
            Ok(Value::Unknown(unknown)) => {
                let names: Vec<&str> = unknown.waits_for.iter().take(3).map(Address::as_str).collect();
                Self::Unknown(names.join(", "))
            }
            // Whether the policy passes would reveal something about the secret.
            Ok(Value::Secret(_)) => Self::Failed("it reads a secret, which a policy cannot do".to_owned()),
            Ok(other) => Self::Failed(format!("it is {}, and not true or false", other.type_name())),
        }
    }
}

/// A policy with its parsed condition.
pub(in crate::plan) struct PolicyProgram<'p> {
    pub policy: &'p Policy,
    pub named: NamedFacts,
    /// The facts of the moment and of the environment that it names: a verdict over them is not part of the fingerprint.
    pub context: Vec<&'static PolicyFact>,
    program: CelProgram,
}

impl<'p> PolicyProgram<'p> {
    /// Returns a policy, ready to be evaluated; `None` if its condition does not parse, which loading the configuration
    /// reported.
    pub fn new(policy: &'p Policy) -> Option<Self> {
        let program = CelProgram::parse(&policy.deny.source).ok()?;
        let paths = program.paths();
        // What is due depends on the time, and so does an exposure, which is an effect.
        let now = Name::new_static("now");
        let named = NamedFacts::new(&paths, &policy.deny.source);
        let is_of_time = |fact: &&str| policy.deny.source.contains(*fact) || named.covers_name(fact);
        let of_time = ["due_now", "effects"].iter().any(is_of_time).then_some(&now);
        let context = contextual_facts(paths.iter().map(|path| &path.root).chain(of_time));
        Some(Self { policy, named, context, program })
    }

    /// Evaluates it with the given root values (`self` or `plan`, `now` …) and the policy's own bindings.
    pub fn evaluate<'v>(
        &self,
        roots: impl IntoIterator<Item = (&'static str, &'v Value)>,
    ) -> PolicyEvaluation {
        let mut scope = ExpressionScope::default();
        for (name, value) in &self.policy.deny.bindings {
            scope.roots.insert(name.clone(), CelValue::from_borrowed(value));
        }
        for (name, value) in roots {
            scope.roots.insert(Name::new_static(name), CelValue::from_borrowed(value));
        }
        PolicyEvaluation::from_value(evaluate_program(&self.program, &scope))
    }
}

/// What a condition reads below its root (`self` or `plan`).
pub(in crate::plan) struct NamedFacts {
    /// The first names; `None` if it reads the whole root.
    names: Option<BTreeSet<Name>>,
    /// The text of the condition: the attributes of `before` and `after` are looked for in it.
    source: String,
    /// Whether it may read any attribute of `before` or `after`.
    reads_all: bool,
    /// Whether it compares `before` as a whole with null, and `after`: then they are null where there are no values.
    compares_null: (bool, bool),
}

impl NamedFacts {
    fn new(paths: &[ReferencePath], source: &str) -> Self {
        let rooted = paths.iter().filter(|path| matches!(path.root.as_str(), "self" | "plan"));
        let names = rooted.map(|path| path.segment_name(0).cloned()).collect();
        let is_whole = |word: &str| {
            source.match_indices(word).any(|(start, _)| {
                let is_end_of_name = source[..start].ends_with('_');
                let rest = source[start + word.len()..].trim_start();
                !is_end_of_name && !rest.starts_with('.')
            })
        };
        let reads_all = is_whole("before") || is_whole("after");
        let compares_null = (compares_with_null(source, "before"), compares_with_null(source, "after"));
        Self { names, source: source.to_owned(), reads_all, compares_null }
    }

    /// Returns what any of several conditions reads; `None` for none.
    pub fn merge<'n>(all: impl Iterator<Item = &'n Self>) -> Option<Self> {
        all.map(|one| Self { names: one.names.clone(), source: one.source.clone(), ..*one }).reduce(
            |mut merged, one| {
                merged.names = merged.names.zip(one.names).map(|(a, b)| a.union(&b).cloned().collect());
                merged.source.extend(["\n", one.source.as_str()]);
                merged.reads_all |= one.reads_all;
                merged
            },
        )
    }

    /// Returns whether the condition compares `before` as a whole with null.
    pub const fn compares_before_with_null(&self) -> bool {
        self.compares_null.0
    }

    /// Returns whether the condition compares `after` as a whole with null.
    pub const fn compares_after_with_null(&self) -> bool {
        self.compares_null.1
    }

    /// Returns whether the condition names a fact itself, not only the whole root.
    pub fn names_explicitly(&self, name: &str) -> bool {
        self.names.as_ref().is_some_and(|names| names.contains(name))
    }

    /// Returns whether the condition may read a fact.
    pub fn covers_name(&self, name: &str) -> bool {
        self.names.as_ref().is_none_or(|names| names.contains(name))
    }

    /// Returns whether the condition may read any attribute of `before` or `after`.
    pub const fn reads_all(&self) -> bool {
        self.reads_all || self.names.is_none()
    }

    /// Returns whether the condition may read an attribute of `before` or `after`.
    pub fn covers_attribute(&self, name: &str) -> bool {
        self.reads_all() || self.source.contains(name)
    }
}

/// Returns whether a condition compares a fact as a whole with null, as in `self.before == null`. An attribute of it can be
/// read without a value, which null does not allow, so it is null only where it is compared so.
fn compares_with_null(source: &str, word: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let operators = ["==", "!="];
    source.match_indices(word).any(|(start, _)| {
        let (before, after) = (&source[..start], source[start + word.len()..].trim_start());
        let path = before.trim_end_matches(is_name);
        let follows = operators.iter().filter_map(|operator| after.strip_prefix(operator));
        let precedes = operators.iter().filter_map(|operator| path.trim_end().strip_suffix(operator));
        let is_null = |text: &str| {
            text.trim_start().strip_prefix("null").is_some_and(|rest| !rest.starts_with(is_name))
        };
        let ends_null =
            |text: &str| text.trim_end().strip_suffix("null").is_some_and(|rest| !rest.ends_with(is_name));
        let is_whole = before.ends_with('.') && !after.starts_with(['.', '[']);
        is_whole && (follows.into_iter().any(is_null) || precedes.into_iter().any(ends_null))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_is_compared_with_null_as_a_whole() {
        for (source, compares) in [
            ("self.before == null", true),
            ("null != self.before", true),
            ("self.before!=null && self.before.size > 3", true),
            ("plan.changes.exists(c, c.before == null)", true),
            ("self.before.size == null", false),
            ("null == self.before.size", false),
            ("self.before['size'] == null", false),
            ("self.monthly_before == null", false),
            ("self.before == nullable", false),
            ("self.size == null", false),
        ] {
            assert_eq!(compares_with_null(source, "before"), compares, "{source}");
        }
    }
}
