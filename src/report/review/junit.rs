//! Findings as tests that failed, for whatever shows tests.

use super::finding::{Finding, Level};
use super::format::Problems;
use super::view::Reviewed;
use crate::plan::change::RulingVerdict;
use crate::report::xml::{self, Case, Suite};

/// Returns the report of a plan: each policy is a test, and so is whatever else is found.
pub(super) fn plan(of: &Reviewed<'_>) -> String {
    let mut cases: Vec<Case> = of.troubles().iter().map(case).collect();
    for ruling in of.plan.policy.iter().filter(|ruling| ruling.verdict == RulingVerdict::Pass) {
        cases.push(Case::passed(&format!("policy/{}", ruling.name)));
    }
    suite(&format!("stead {}", of.title()), cases, "nothing to decide")
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
    xml::junit(&[Suite { name: name.to_owned(), cases }])
}

fn case(finding: &Finding) -> Case {
    let name = if finding.subject.is_empty() {
        finding.rule.clone()
    } else {
        format!("{} {}", finding.rule, finding.subject)
    };
    let place = finding.place.as_ref().map(|place| (place.file.clone(), place.line));
    let at = place.as_ref().map(|(file, line)| format!("{file}:{line}")).unwrap_or_default();
    Case { name, place, seconds: None, failures: vec![(finding.text.clone(), at)] }
}
