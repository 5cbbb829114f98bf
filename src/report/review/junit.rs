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
pub(super) fn plan(of: &Reviewed<'_>) -> String {
    if let Some(ran) = of.ran() {
        return applied(of, ran);
    }
    let fails = |finding: &&Finding| finding.level == Level::Error || !finding.rule.starts_with("policy/");
    let mut cases: Vec<Case> = of.troubles().iter().filter(fails).map(case).collect();
    for ruling in of.plan.policy.iter().filter(|ruling| ruling.verdict != RulingVerdict::Deny) {
        cases.push(Case::passed(&format!("policy/{}", ruling.name)));
    }
    if let Some(found) = of.look() {
        let unmanaged = found.unmanaged.iter().map(|one| format!("unmanaged {}", drift::object_name(one)));
        let resolved = found.memory.resolved.iter().map(|gone| format!("resolved {}", gone.name));
        cases.extend(unmanaged.chain(resolved).map(|name| Case::passed(&name)));
    }
    suite(&format!("stead {}", of.title()), cases, "nothing to decide")
}

/// Returns the report of an apply: each resource is a test, and so is what it asks.
fn applied(of: &Reviewed<'_>, ran: &Ran<'_>) -> String {
    let mut cases: Vec<Case> = Vec::new();
    for change in &of.plan.changes {
        let mut case = Case::passed(&format!("{} {}", phrases::action(change.action), change.address));
        case.place = change.source.as_ref().map(|place| (of.root.path(&place.file), place.line));
        let fate = ran.fate(change);
        match &fate {
            Fate::Done(took) => case.seconds = Some(took.as_secs_f64()),
            Fate::Failed(why) => case.failures.push((why.what.clone(), why.next.clone())),
            Fate::Skipped(_) => case.skipped = Some(fate.told()),
            Fate::Open => case.failures.push((fate.told(), String::new())),
        }
        cases.push(case);
    }
    let changed = |address: &Address| of.plan.changes.iter().any(|change| change.address == *address);
    for (address, why) in ran.failures(of.plan.base.destroy).filter(|(address, _)| !changed(address)) {
        cases.push(Case { failures: vec![(why.what, why.next)], ..Case::passed(address.as_str()) });
    }
    for asked in &ran.outcome.questions {
        cases.push(Case { failures: vec![(asked.clone(), String::new())], ..Case::passed("question") });
    }
    suite(&format!("stead apply {}", of.title()), cases, "nothing to do")
}

/// Returns the report of a configuration's problems.
pub(super) fn problems(of: &Problems<'_>) -> String {
    let cases = of.findings().iter().filter(|finding| finding.level == Level::Error).map(case).collect();
    suite("stead validate", cases, "the configuration is valid")
}

/// One suite; a report without any test would look like one that was not run.
fn suite(name: &str, mut cases: Vec<Case>, otherwise: &str) -> String {
    if cases.is_empty() {
        cases.push(Case::passed(otherwise));
    }
    junit_xml::junit(&[Suite { name: name.to_owned(), cases }])
}

fn case(finding: &Finding) -> Case {
    let name = if finding.subject.is_empty() {
        finding.rule.clone()
    } else {
        format!("{} {}", finding.rule, finding.subject)
    };
    let (file, line) = (finding.place.file.clone(), finding.place.line);
    let at = format!("{file}:{line}");
    Case { place: Some((file, line)), failures: vec![(finding.text.clone(), at)], ..Case::passed(&name) }
}
