//! JUnit XML report: findings as failed tests. The XML itself is written in `text::junit_xml`.

use crate::model::address::Address;
use crate::plan::model::change::PolicyStatus;
use crate::report::review::finding::{
    FindingLevel, ReviewDiagnostics, ReviewFinding, policy_rule, problem_findings,
};
use crate::report::review::view::PlanReview;
use crate::report::run_report::{ResourceOutcome, RunReport};
use crate::report::text::junit_xml::{self, JunitCase, JunitSuite};
use crate::report::text::phrases;
use crate::report::text::policy_results::ShownResult;
use crate::report::views::drift;

/// Returns the report of a plan: blockers, drift and policies are the tests. A policy fails if it denies the plan and
/// the denial is not overridden. Unmanaged objects and resolved findings are passed tests.
pub(super) fn plan_junit(of: &PlanReview<'_>) -> String {
    junit_xml::junit_document(&[plan_suite(of)])
}

/// Returns the suite of a unit that has no plan.
pub(super) fn failed_suite(unit: &str, why: &str) -> JunitSuite {
    let cases = vec![failed_case("plan", why)];
    JunitSuite { name: format!("stead {unit}"), unit: Some(unit.to_owned()), cases }
}

/// Returns a test that failed for this reason.
pub(super) fn failed_case(name: &str, why: &str) -> JunitCase {
    JunitCase { failures: vec![(why.to_owned(), String::new())], ..JunitCase::new_passed(name) }
}

/// Returns the suite of a plan, a drift check or an apply.
pub(super) fn plan_suite(of: &PlanReview<'_>) -> JunitSuite {
    if let Some(ran) = of.run_report() {
        return apply_suite(of, ran);
    }
    let fails = |finding: &&ReviewFinding| {
        let is_of_policy = ["policy/", "exposure/"].iter().any(|start| finding.rule.starts_with(start));
        finding.level == FindingLevel::Error || !is_of_policy
    };
    let mut cases: Vec<JunitCase> = problem_findings(of).iter().filter(fails).map(finding_case).collect();
    cases.extend(policy_cases(of, |shown| shown.result.verdict != PolicyStatus::Deny));
    if let Some(found) = of.drift_result() {
        let unmanaged = found.unmanaged.iter().map(|one| format!("unmanaged {}", drift::object_name(one)));
        let resolved = found.memory.resolved.iter().map(|gone| format!("resolved {}", gone.name));
        cases.extend(unmanaged.chain(resolved).map(|name| JunitCase::new_passed(&name)));
    }
    suite_of((&format!("stead {}", of.title()), Some(of.title())), cases, "nothing to decide")
}

/// Returns the tests of these policies.
fn policy_cases<'a>(
    of: &PlanReview<'a>,
    is_case: impl Fn(&ShownResult<'a>) -> bool,
) -> impl Iterator<Item = JunitCase> {
    of.policy_results().filter(is_case).map(|shown| policy_case(of, &shown))
}

/// Returns the test of a policy: it fails if the policy denies. One that is not decided is no success.
fn policy_case(of: &PlanReview<'_>, shown: &ShownResult<'_>) -> JunitCase {
    let ruling = shown.result;
    let subject = ruling.address.as_ref().map(|address| format!(" {address}")).unwrap_or_default();
    let place = ruling.source.as_ref().map(|place| (of.root.repository_path(&place.file), place.line));
    let skipped = (ruling.verdict == PolicyStatus::Unknown).then(|| ruling.message.clone());
    let denies = ruling.verdict == PolicyStatus::Deny;
    let failures = denies.then(|| (shown.describe_message(), String::new())).into_iter().collect();
    let output = (ruling.verdict > PolicyStatus::Unknown).then(|| shown.describe_message());
    let name = format!("{}{subject}", policy_rule(of, ruling));
    // An evaluation takes no time that is measured; without a figure the suite of an apply would have none.
    let seconds = shown.is_final.then_some(0.0);
    JunitCase { place, seconds, failures, skipped, output, ..JunitCase::new_passed(&name) }
}

/// Returns the suite of an apply: each resource, each ambiguous intent and each result of a policy is a test.
/// Failures outside the plan's changes are tests, too.
fn apply_suite(of: &PlanReview<'_>, ran: &RunReport<'_>) -> JunitSuite {
    let mut cases: Vec<JunitCase> = Vec::new();
    for change in &of.plan.changes {
        let mut case = JunitCase::new_passed(&format!(
            "{} {}",
            phrases::action_keyword(change.action),
            change.address
        ));
        case.place = change.source.as_ref().map(|place| (of.root.repository_path(&place.file), place.line));
        let fate = ran.resource_outcome(change);
        match &fate {
            ResourceOutcome::Done(took) => case.seconds = Some(took.as_secs_f64()),
            ResourceOutcome::Failed(why) => {
                let partly = ran.steps.describe_partly_made(of.plan, change).unwrap_or_default();
                let next = phrases::join_sentences(&[why.next.as_str(), &partly]);
                case.failures.push((why.what.clone(), next));
            }
            ResourceOutcome::Skipped(_) => {
                let partly =
                    ran.steps.describe_partly_made(of.plan, change).map(|made| format!("; {made}"));
                case.skipped = Some(fate.describe_outcome() + &partly.unwrap_or_default());
            }
            ResourceOutcome::Unresolved => case.failures.push((fate.describe_outcome(), String::new())),
        }
        cases.push(case);
    }
    let changed = |address: &Address| of.plan.changes.iter().any(|change| change.address == *address);
    for (address, why) in ran.failures(of.plan.base.destroy).filter(|(address, _)| !changed(address)) {
        cases.push(JunitCase {
            failures: vec![(why.what, why.next)],
            ..JunitCase::new_passed(address.as_str())
        });
    }
    if ran.outcome.interrupted {
        cases.push(failed_case("apply", "It was interrupted: what is skipped or not known is not done."));
    }
    cases.extend(ran.outcome.questions.iter().map(|asked| failed_case("question", asked)));
    cases.extend(policy_cases(of, |_| true));
    suite_of((&format!("stead apply {}", of.title()), Some(of.title())), cases, "nothing to do")
}

/// Returns the report of a configuration's problems: errors are failed tests, and warnings passed ones that say something.
pub(super) fn problems_junit(of: &ReviewDiagnostics<'_>) -> String {
    let case = |finding: &ReviewFinding| match finding.level {
        FindingLevel::Error => finding_case(finding),
        _ => {
            JunitCase { failures: Vec::new(), output: Some(finding.text.clone()), ..finding_case(finding) }
        }
    };
    let cases = of.findings().iter().map(case).collect();
    build_suite(("stead validate", None), cases, "the configuration is valid")
}

/// Returns a report with one suite. Without findings it contains one passed test with the name `otherwise`: a report
/// without tests would look as if stead did not run.
fn build_suite(name: (&str, Option<String>), cases: Vec<JunitCase>, otherwise: &str) -> String {
    junit_xml::junit_document(&[suite_of(name, cases, otherwise)])
}

/// Returns a suite with a name and the unit that it is about.
fn suite_of(
    (name, unit): (&str, Option<String>),
    mut cases: Vec<JunitCase>,
    otherwise: &str,
) -> JunitSuite {
    if cases.is_empty() {
        cases.push(JunitCase::new_passed(otherwise));
    }
    JunitSuite { name: name.to_owned(), unit, cases }
}

fn finding_case(finding: &ReviewFinding) -> JunitCase {
    let name = if finding.subject.is_empty() {
        finding.rule.clone()
    } else {
        format!("{} {}", finding.rule, finding.subject)
    };
    let (file, line) = (finding.place.file.clone(), finding.place.line);
    let at = format!("{file}:{line}");
    JunitCase {
        place: Some((file, line)),
        failures: vec![(finding.text.clone(), at)],
        ..JunitCase::new_passed(&name)
    }
}
