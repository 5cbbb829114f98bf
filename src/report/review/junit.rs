//! Findings as tests that failed, for whatever shows tests.

use super::finding::{Finding, Level, Problems};
use super::view::Reviewed;
use crate::model::address::Address;
use crate::plan::model::change::RulingVerdict;
use crate::report::run_report::{Fate, Ran};
use crate::report::text::junit_xml::{self, Case, Suite};
use crate::report::text::phrases;
use crate::report::views::drift;

/// Returns the report of a plan: what blocks it, drift, and each policy is a test. A policy fails where it says
/// no and nobody overrides it.
pub(super) fn plan_junit(of: &Reviewed<'_>) -> String {
    if let Some(ran) = of.run_report() {
        return apply_junit(of, ran);
    }
    let fails = |finding: &&Finding| finding.level == Level::Error || !finding.rule.starts_with("policy/");
    let mut cases: Vec<Case> = of.problem_findings().iter().filter(fails).map(finding_case).collect();
    for ruling in of.plan.policy.iter().filter(|ruling| ruling.verdict != RulingVerdict::Deny) {
        cases.push(Case::new_passed(&format!("policy/{}", ruling.name)));
    }
    if let Some(found) = of.drift_result() {
        let unmanaged = found.unmanaged.iter().map(|one| format!("unmanaged {}", drift::object_name(one)));
        let resolved = found.memory.resolved.iter().map(|gone| format!("resolved {}", gone.name));
        cases.extend(unmanaged.chain(resolved).map(|name| Case::new_passed(&name)));
    }
    build_suite(&format!("stead {}", of.title()), cases, "nothing to decide")
}

/// Returns the report of an apply: each resource is a test, and so is what it asks.
fn apply_junit(of: &Reviewed<'_>, ran: &Ran<'_>) -> String {
    let mut cases: Vec<Case> = Vec::new();
    for change in &of.plan.changes {
        let mut case =
            Case::new_passed(&format!("{} {}", phrases::action_keyword(change.action), change.address));
        case.place = change.source.as_ref().map(|place| (of.root.repository_path(&place.file), place.line));
        let fate = ran.resource_outcome(change);
        match &fate {
            Fate::Done(took) => case.seconds = Some(took.as_secs_f64()),
            Fate::Failed(why) => case.failures.push((why.what.clone(), why.next.clone())),
            Fate::Skipped(_) => case.skipped = Some(fate.describe_outcome()),
            Fate::Open => case.failures.push((fate.describe_outcome(), String::new())),
        }
        cases.push(case);
    }
    let changed = |address: &Address| of.plan.changes.iter().any(|change| change.address == *address);
    for (address, why) in ran.failures(of.plan.base.destroy).filter(|(address, _)| !changed(address)) {
        cases.push(Case { failures: vec![(why.what, why.next)], ..Case::new_passed(address.as_str()) });
    }
    for asked in &ran.outcome.questions {
        cases.push(Case { failures: vec![(asked.clone(), String::new())], ..Case::new_passed("question") });
    }
    build_suite(&format!("stead apply {}", of.title()), cases, "nothing to do")
}

/// Returns the report of a configuration's problems.
pub(super) fn problems_junit(of: &Problems<'_>) -> String {
    let cases =
        of.findings().iter().filter(|finding| finding.level == Level::Error).map(finding_case).collect();
    build_suite("stead validate", cases, "the configuration is valid")
}

/// One suite; a report without any test would look like one that was not run.
fn build_suite(name: &str, mut cases: Vec<Case>, otherwise: &str) -> String {
    if cases.is_empty() {
        cases.push(Case::new_passed(otherwise));
    }
    junit_xml::junit_document(&[Suite { name: name.to_owned(), cases }])
}

fn finding_case(finding: &Finding) -> Case {
    let name = if finding.subject.is_empty() {
        finding.rule.clone()
    } else {
        format!("{} {}", finding.rule, finding.subject)
    };
    let (file, line) = (finding.place.file.clone(), finding.place.line);
    let at = format!("{file}:{line}");
    Case {
        place: Some((file, line)),
        failures: vec![(finding.text.clone(), at)],
        ..Case::new_passed(&name)
    }
}
