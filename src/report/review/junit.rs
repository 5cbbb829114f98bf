//! Findings as tests that failed, for whatever shows tests.

use super::finding::{Finding, Level};
use super::format::Problems;
use super::view::Reviewed;
use crate::plan::change::RulingVerdict;
use crate::report::xml::{self, Case, Suite};

/// Returns the report of a plan: what blocks it, drift, and each policy is a test. A policy fails where it says
/// no and nobody overrides it.
pub(super) fn plan(of: &Reviewed<'_>) -> String {
    let fails = |finding: &&Finding| finding.level == Level::Error || !finding.rule.starts_with("policy/");
    let mut cases: Vec<Case> = of.troubles().iter().filter(fails).map(case).collect();
    for ruling in of.plan.policy.iter().filter(|ruling| ruling.verdict != RulingVerdict::Deny) {
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
    let (file, line) = (finding.place.file.clone(), finding.place.line);
    let at = format!("{file}:{line}");
    Case { name, place: Some((file, line)), seconds: None, failures: vec![(finding.text.clone(), at)] }
}
