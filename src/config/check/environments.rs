//! Diagnostics of a stack in several environments. In: the diagnostics of each environment. Out: each problem once,
//! with the names of the environments that have it unless all do. An environment that cannot differ from another
//! one is not checked.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::codes;
use crate::config::merge::blocks::NamedEntries;
use crate::config::merge::header::is_plain;
use crate::config::syntax::document::DocumentEntry;
use crate::model::address::Name;
use crate::model::diagnostic::{Diagnostic, Severity};
use crate::model::source::{Sources, Span};

/// Root of the expression that reads the name of the environment.
const ENV: &str = "env";

/// Identity of a problem across environments: code and span; without a span, code and summary.
type ProblemIdentity = (&'static str, Option<Span>, String);

fn problem_key(problem: &Diagnostic) -> ProblemIdentity {
    let words = if problem.labels.is_empty() { problem.summary.clone() } else { String::new() };
    (problem.code, problem.span(), words)
}

/// Returns the problems of another environment, `there`, that the chosen one, `own`, does not have.
#[must_use]
pub fn only_there(own: &[Diagnostic], there: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let known: BTreeSet<ProblemIdentity> = own.iter().map(problem_key).collect();
    there.into_iter().filter(|problem| !known.contains(&problem_key(problem))).collect()
}

/// Returns all problems of the chosen environment, followed by the errors of the others that it does not have. An
/// error that not all environments have names those that do.
///
/// A missing variable is never merged, and is left out for the other environments: a value that is given for one run
/// need not exist there. Where no environment is chosen, `chosen` is empty, and its own errors name no environment.
#[must_use]
pub fn merge_problems(
    chosen: &Name,
    own: Vec<Diagnostic>,
    others: &[(Name, Vec<Diagnostic>)],
) -> Vec<Diagnostic> {
    if others.is_empty() {
        return own;
    }
    let count = others.len() + 1;
    let is_told = |problem: &Diagnostic| {
        problem.severity == Severity::Error && problem.code != codes::MISSING_VARIABLE
    };
    let mut having: BTreeMap<ProblemIdentity, Vec<&Name>> = BTreeMap::new();
    let errors =
        |found: &[Diagnostic]| found.iter().filter(|one| is_told(one)).map(problem_key).collect::<Vec<_>>();
    let all = std::iter::once((chosen, errors(&own)));
    for (name, found) in all.chain(others.iter().map(|(name, found)| (name, errors(found)))) {
        for key in found {
            let names = having.entry(key).or_default();
            if names.last() != Some(&name) {
                names.push(name);
            }
        }
    }
    let others = others.iter().flat_map(|(_, found)| found).filter(|one| is_told(one)).cloned();
    let first = own.len();
    let mut all = Vec::new();
    for (n, problem) in own.into_iter().chain(others).enumerate() {
        let having =
            if n < first && !is_told(&problem) { None } else { having.get_mut(&problem_key(&problem)) };
        match having {
            None => all.push(problem),
            // An empty list marks a problem that was already reported.
            Some(names) if names.is_empty() => {}
            Some(names) if names.len() == count || (n < first && chosen.is_empty()) => {
                names.clear();
                all.push(problem);
            }
            Some(names) => all.push(with_environment_names(problem, &std::mem::take(names))),
        }
    }
    all
}

/// Adds to the detail of a problem the names of the environments that have it.
fn with_environment_names(mut problem: Diagnostic, names: &[&Name]) -> Diagnostic {
    let word = if names.len() == 1 { "environment" } else { "environments" };
    let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    let detail = problem.detail.take().unwrap_or_else(|| format!("{}.", problem.summary));
    problem.detail(format!("In the {word} {}: {detail}", names.join(", ")))
}

/// Returns the environments besides the chosen one that must be checked, and those that are certainly identical to
/// another one, paired with that one: neither sets a variable or overrides a value, and no file mentions `env`.
pub(in crate::config) fn environments_to_check(
    environments: &NamedEntries<'_>,
    sources: &Sources,
    chosen: &Name,
) -> (Vec<Name>, Vec<(Name, Name)>) {
    let asks = sources.iter().any(|(_, source)| mentions_env(&source.text));
    let plain = |entry: &&DocumentEntry| !asks && is_plain(entry);
    let mut first = environments.get(chosen).filter(|entry| plain(entry)).map(|_| chosen.clone());
    let (mut others, mut alike) = (Vec::new(), Vec::new());
    for entry in environments.values().filter(|entry| entry.key != *chosen) {
        match &first {
            Some(like) if plain(entry) => alike.push((entry.key.clone(), like.clone())),
            _ => {
                others.push(entry.key.clone());
                first = first.or_else(|| plain(entry).then(|| entry.key.clone()));
            }
        }
    }
    (others, alike)
}

/// Returns whether a file contains `env` as a whole word. It may be in a comment: then the environments are checked
/// without need, which is only slower.
fn mentions_env(text: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(ENV)
        .any(|(at, _)| !text[..at].ends_with(is_name) && !text[at + ENV.len()..].starts_with(is_name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::syntax::limits::byte_span;
    use crate::model::source::SourceId;

    #[test]
    fn equal_diagnostics_are_merged_with_their_environments() {
        let problem = |code, at| {
            Diagnostic::error(code, "x").with_label(byte_span(SourceId(0), at, at), "").detail("Y.")
        };
        let warning = Diagnostic::warning("W", "w");
        let own =
            vec![problem("A", 1), problem("B", 2), problem(codes::MISSING_VARIABLE, 7), warning.clone()];
        let prod = vec![problem("A", 1), problem("C", 3), problem(codes::MISSING_VARIABLE, 8)];
        let test = vec![problem("A", 1), problem("C", 3), warning];
        let all = merge_problems(&"dev".into(), own, &[("prod".into(), prod), ("test".into(), test)]);
        let told: Vec<_> = all.iter().map(|one| (one.code, one.detail.as_deref().unwrap_or("-"))).collect();
        assert_eq!(
            told,
            [
                ("A", "Y."),
                ("B", "In the environment dev: Y."),
                (codes::MISSING_VARIABLE, "Y."),
                ("W", "-"),
                ("C", "In the environments prod, test: Y."),
            ]
        );
    }

    #[test]
    fn only_a_use_of_env_requires_the_environment() {
        for (text, asks) in [
            ("name: shop-${env}", true),
            ("x: $env", true),
            ("environments: { prod: {} }\nenv_vars: {}", false),
            ("x: ${vars.env2}", false),
        ] {
            assert_eq!(mentions_env(text), asks, "{text}");
        }
    }
}
