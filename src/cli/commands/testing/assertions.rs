//! Compares the results of a test with its expectations. Each function returns the expectations that do not hold;
//! empty or `None` means that all do. Pure.

use std::collections::{BTreeMap, BTreeSet};

use rust_decimal::Decimal;

use super::outcome::AssertionFailure;
use crate::apply::event::Outcome;
use crate::cli::stack::project::LoadedStack;
use crate::config::load::LoadFailure;
use crate::config::test_file::{
    ApplyExpectation, MonthlyCostExpectation, PlanExpectation, Spanned, StackTest,
};
use crate::kinds::REGISTRY;
use crate::model::address::Name;
use crate::model::diagnostic::blocker_code::POLICY;
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::live::snapshot::Snapshot;
use crate::model::values::value::Value;
use crate::plan::model::block::Blocker;
use crate::plan::model::change::{Plan, PolicyStatus};
use crate::report::text::phrases;

/// Maximum number of missing or unexpected names in one message.
const MAX_LISTED_DIFFERENCES: usize = 20;
/// Maximum number of expected or actual names in one message.
const MAX_LISTED_NAMES: usize = 5;

/// File name, without its extension, for the variables that a test gives; no such file exists on disk.
pub(super) const GIVEN_VARS_STEM: &str = "given.vars";
/// File name, without its extension, for the variables of the initial state.
pub(super) const GIVEN_APPLIED_VARS_STEM: &str = "given.applied.vars";

/// Compares the errors of a stack with those that a test expects; a stack with errors fails a test that expects none.
pub(super) fn check_rejected(test: &StackTest, rejected: &LoadFailure) -> Vec<AssertionFailure> {
    if let Some(wanted) = test.plan.as_ref().and_then(|plan| plan.problems.as_ref()) {
        return check_problems(wanted, &rejected.diagnostics).into_iter().collect();
    }
    let first = rejected.diagnostics.iter().map(|problem| describe_problem(problem, rejected)).next();
    let span = test.plan.as_ref().map_or(test.span, |plan| plan.span);
    let count = rejected.diagnostics.len();
    let many = match count {
        1 => "a problem".to_owned(),
        _ => format!("{count} problems, first"),
    };
    let text = format!("expected a plan; the stack has {many}: {}", first.unwrap_or_default());
    vec![AssertionFailure::new(span, text)]
}

fn describe_problem(problem: &Diagnostic, rejected: &LoadFailure) -> String {
    let place = problem.span().and_then(|span| rejected.sources.location_of(span));
    // The variables of a test are parsed as a file that does not exist on disk.
    let given = place.as_ref().and_then(|place| Some((&place.file, place.file.rsplit_once('.')?.0)));
    let given = given.filter(|(_, name)| [GIVEN_VARS_STEM, GIVEN_APPLIED_VARS_STEM].contains(name));
    let at = match (&place, given) {
        (_, Some((_, name))) => format!(" in the test's {name}"),
        (Some(place), None) => format!(" at {}:{}:{}", place.file, place.line, place.column),
        (None, None) => String::new(),
    };
    let said = [&problem.detail, &problem.help].into_iter().flatten();
    let said = said.map(|text| text.trim_end_matches('.')).collect::<Vec<_>>().join(": ");
    let said = given.map_or(said.clone(), |(file, name)| said.replace(file.as_str(), name));
    let colon = if said.is_empty() { "" } else { ": " };
    format!("{} {}{at}{colon}{said}", problem.code, problem.summary)
}

fn check_problems(wanted: &Spanned<Vec<Name>>, found: &[Diagnostic]) -> Option<AssertionFailure> {
    let found: Vec<Name> = found.iter().map(|problem| Name::new(problem.code)).collect();
    compare_names("problems", wanted, &found)
}

/// Returns the difference between expected and actual names, in any order and without duplicates.
fn compare_names(what: &str, wanted: &Spanned<Vec<Name>>, found: &[Name]) -> Option<AssertionFailure> {
    let (want, have): (BTreeSet<&Name>, BTreeSet<&Name>) =
        (wanted.value.iter().collect(), found.iter().collect());
    let list = |names: &BTreeSet<&Name>, most: usize| match names.len() {
        0 => "none".to_owned(),
        n if n > most => format!("{n} of them"),
        _ => names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", "),
    };
    let only = |a: &BTreeSet<&Name>, b: &BTreeSet<&Name>, word: &str| {
        let names: BTreeSet<&Name> = a.difference(b).copied().collect();
        if names.is_empty() {
            String::new()
        } else {
            format!("; {word}: {}", list(&names, MAX_LISTED_DIFFERENCES))
        }
    };
    (want != have).then(|| {
        let (missing, besides) = (only(&want, &have, "missing"), only(&have, &want, "not expected"));
        AssertionFailure::new(
            wanted.span,
            format!(
                "{what}: expected {}, got {}{missing}{besides}",
                list(&want, MAX_LISTED_NAMES),
                list(&have, MAX_LISTED_NAMES)
            ),
        )
    })
}

/// Compares a plan with the expectations. An unexpected blocker is always reported, even by a test without any.
pub(super) fn check_plan(test: &StackTest, project: &LoadedStack, plan: &Plan) -> Vec<AssertionFailure> {
    let nothing = PlanExpectation::new_empty(test.span);
    let wanted = test.plan.as_ref().unwrap_or(&nothing);
    let mut missed = Vec::new();
    missed.extend(wanted.problems.as_ref().and_then(|wanted| check_problems(wanted, &project.warnings)));
    let mut by_action: BTreeMap<&str, Vec<Name>> = BTreeMap::new();
    for change in &plan.changes {
        by_action
            .entry(phrases::action_keyword(change.action))
            .or_default()
            .push(Name::new(change.address.as_str()));
    }
    for (action, wanted) in &wanted.actions {
        let found = by_action.get(action).map_or(&[][..], Vec::as_slice);
        missed.extend(compare_names(action, wanted, found));
    }
    for (action, wanted) in &wanted.count {
        let found = match action.as_str() {
            "unchanged" => plan.unchanged,
            action => by_action.get(action).map_or(0, Vec::len),
        };
        missed.extend(check_count(action, wanted, found));
    }
    missed.extend(
        wanted.monthly.as_ref().and_then(|wanted| check_monthly_cost(wanted, plan.cost.monthly_after)),
    );
    missed.extend(check_policy_results(wanted, project, plan));
    missed.extend(check_blockers(wanted, plan));
    missed
}

fn check_count(what: &str, wanted: &Spanned<i64>, found: usize) -> Option<AssertionFailure> {
    let differs = usize::try_from(wanted.value).ok() != Some(found);
    differs.then(|| {
        AssertionFailure::new(wanted.span, format!("{what}: expected {}, got {found}", wanted.value))
    })
}

fn check_monthly_cost(
    wanted: &Spanned<MonthlyCostExpectation>,
    found: Decimal,
) -> Option<AssertionFailure> {
    let amount = |text: &Name| text.parse::<Decimal>().unwrap_or_default();
    let (fits, text) = match &wanted.value {
        MonthlyCostExpectation::Exactly(text) => (amount(text) == found, text.to_string()),
        MonthlyCostExpectation::Within(min, max) => {
            let fits = min.as_ref().is_none_or(|min| found >= amount(min))
                && max.as_ref().is_none_or(|max| found <= amount(max));
            let bound =
                |word: &str, bound: &Option<Name>| bound.as_ref().map(|bound| format!("{word} {bound}"));
            let bounds: Vec<String> =
                [bound("at least", min), bound("at most", max)].into_iter().flatten().collect();
            (fits, bounds.join(" and "))
        }
    };
    (!fits).then(|| AssertionFailure::new(wanted.span, format!("monthly: expected {text}, got {found}")))
}

fn check_policy_results(
    wanted: &PlanExpectation,
    project: &LoadedStack,
    plan: &Plan,
) -> Vec<AssertionFailure> {
    let built_in = || REGISTRY.kinds.iter().flat_map(|kind| kind.exposures).map(|exposure| exposure.code);
    let known = || project.stack.policies.iter().map(|policy| policy.name.as_str()).chain(built_in());
    let one = |(name, wanted): (&Name, &Spanned<Name>)| {
        if !known().any(|known| known == name.as_str()) {
            let near = nearest_name(name, known())
                .map(|near| format!("; did you mean {near}?"))
                .unwrap_or_default();
            return Some(AssertionFailure::new(
                wanted.span,
                format!("policy: the stack has no policy {name}{near}"),
            ));
        }
        let rulings = plan.policy.iter().filter(|ruling| ruling.name == *name);
        let found = match rulings.map(|ruling| ruling.verdict).max() {
            None | Some(PolicyStatus::Pass | PolicyStatus::Allowed) => "pass",
            Some(PolicyStatus::Warn) => "warn",
            Some(PolicyStatus::Unknown) => "unknown",
            Some(PolicyStatus::Overridden | PolicyStatus::Deny) => "deny",
        };
        let text = format!("policy {name}: expected {}, got {found}", wanted.value);
        (wanted.value != found).then(|| AssertionFailure::new(wanted.span, text))
    };
    wanted.policy.iter().filter_map(one).collect()
}

fn check_blockers(wanted: &PlanExpectation, plan: &Plan) -> Option<AssertionFailure> {
    if let Some(wanted) = &wanted.blocks {
        let found: Vec<Name> = plan.blocks.iter().map(|block| block.code.clone()).collect();
        return compare_names("blocks", wanted, &found);
    }
    let denied = wanted.policy.values().any(|said| said.value == "deny");
    let expected = |block: &&Blocker| block.only_freezes() || denied && block.code == POLICY.code;
    let block = plan.blocks.iter().find(|block| !expected(block))?;
    let address = block.address.as_ref().map(|address| format!(" {address}")).unwrap_or_default();
    let text = format!("expected nothing to block the plan; {}{address}: {}", block.code, block.text);
    Some(AssertionFailure::new(wanted.span, text))
}

/// Returns the messages of the errors of an apply: failed and skipped resources, and ambiguous intents.
pub(super) fn failure_messages(outcome: &Outcome) -> Vec<String> {
    let failed = outcome.failed.iter().map(|(address, error)| format!("{address} failed: {error}"));
    let skipped = outcome.skipped.iter().map(|address| format!("{address} was skipped"));
    let asked = outcome.questions.iter().map(|question| format!("an ambiguous intent is open: {question}"));
    failed.chain(skipped).chain(asked).collect()
}

/// Compares an apply with the expectations. An error of the apply is always reported.
pub(super) fn check_apply_outcome(wanted: &ApplyExpectation, outcome: &Outcome) -> Vec<AssertionFailure> {
    let mut missed: Vec<AssertionFailure> = failure_messages(outcome)
        .into_iter()
        .map(|text| AssertionFailure::new(wanted.span, text))
        .collect();
    for (name, wanted) in &wanted.outputs {
        let text = match outcome.outputs.get(name) {
            Some(found) if is_same_value(&wanted.value, found) => continue,
            Some(found) => format!("output {name}: expected {}, got {found}", wanted.value),
            None => {
                let near = nearest_name(name, outcome.outputs.keys().map(Name::as_str));
                let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
                format!("output {name}: expected {}, got none{near}", wanted.value)
            }
        };
        missed.push(AssertionFailure::new(wanted.span, text));
    }
    missed
}

/// Returns whether two values are equal as displayed: a test does not distinguish `2` from `"2"`.
fn is_same_value(wanted: &Value, found: &Value) -> bool {
    wanted == found || wanted.to_string() == found.to_string()
}

/// Compares the live objects after an apply with the expectations; the next plan must be empty.
pub(super) fn check_after_apply(
    wanted: &ApplyExpectation,
    plan: &Plan,
    snapshot: &Snapshot,
) -> Vec<AssertionFailure> {
    let mut missed = Vec::new();
    for (kind, wanted) in &wanted.objects {
        if REGISTRY.kind(kind).is_none() {
            let near = nearest_name(kind, REGISTRY.kinds.iter().map(|kind| kind.name));
            let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            missed.push(AssertionFailure::new(
                wanted.span,
                format!("objects: there is no kind {kind}{near}"),
            ));
            continue;
        }
        let found = snapshot.objects.keys().filter(|key| key.kind == *kind).count();
        missed.extend(check_count(kind, wanted, found));
    }
    if !plan.changes.is_empty() {
        let told = plan.changes.iter().take(MAX_LISTED_DIFFERENCES);
        let told: Vec<String> = told
            .map(|change| format!("{} {}", phrases::action_keyword(change.action), change.address))
            .collect();
        let text = format!("expected an empty plan after the apply; got {}", told.join(", "));
        missed.push(AssertionFailure::new(wanted.span, text));
    }
    missed
}
