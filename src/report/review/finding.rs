//! `ReviewFinding`: one problem with its location, for code scanning, test reports and code quality. Plans, applies and
//! configurations are converted to findings here, so that all three formats report the same ones.

use super::view::{self, PlanReview, RepositoryRoot};
use crate::model::address::Address;
use crate::model::diagnostic::{Diagnostic, Severity};
use crate::model::schema::{format_monthly, is_exposure_code};
use crate::model::source::{SourceLocation, Sources};
use crate::plan::model::block::Blocker;
use crate::plan::model::change::{Action, Change, Drift, PolicyResult, PolicyStatus};
use crate::report::diagnostics::sort_by_location;
use crate::report::run_report::{ResourceOutcome, RunReport};
use crate::report::text::phrases;
use crate::report::text::policy_results::ShownResult;
use crate::report::views::drift;
use crate::report::views::list::ObjectSummary;

/// Severity of a finding, which each format maps to its own words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FindingLevel {
    Error,
    Warning,
    Note,
}

/// A problem for the reviewer to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReviewFinding {
    /// Rule id: a diagnostic's code, `policy/budget`, `blocked/exists`, `drift`, `replace`.
    pub(super) rule: String,
    pub(super) level: FindingLevel,
    /// What is wrong and what to do, in sentences; not escaped.
    pub(super) text: String,
    /// What the finding is about, without locations, so that it is equal in each run.
    pub(super) subject: String,
    /// The unit that it is about, as `STACK/ENVIRONMENT`; `None` for a problem of a configuration.
    pub(super) unit: Option<String>,
    /// Location in the repository: the stack's first file for a finding without one.
    pub(super) place: FindingLocation,
}

/// A location in a file of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FindingLocation {
    /// Path relative to the repository's root.
    pub(super) file: String,
    pub(super) line: u32,
    pub(super) column: u32,
    /// Line and column after the end, from 1; `None` if only the start is known.
    pub(super) end: Option<(u32, u32)>,
}

impl FindingLocation {
    /// Converts a location; without one, uses the start of the stack's first file: a forge rejects a whole report if
    /// one finding has no location.
    fn from_location(place: Option<&SourceLocation>, of: &PlanReview<'_>) -> Self {
        match place {
            Some(place) => Self {
                file: of.root.repository_path(&place.file),
                line: place.line,
                column: place.column,
                end: None,
            },
            None => Self::first_line(of.root.repository_path(of.fallback_file())),
        }
    }

    const fn first_line(file: String) -> Self {
        Self { file, line: 1, column: 1, end: None }
    }
}

/// Returns the findings of the report: blockers, policy results, drift, unmanaged objects, then the dangerous changes.
/// For an apply, only what it left undone.
pub(super) fn plan_findings(review: &PlanReview<'_>) -> Vec<ReviewFinding> {
    if let Some(ran) = review.run_report() {
        return left_undone(review, ran);
    }
    let mut found = problem_findings(review);
    found.extend(
        review
            .drift_result()
            .into_iter()
            .flat_map(|found| found.unmanaged)
            .map(|one| unmanaged_finding(review, one)),
    );
    let dangerous = review.plan.changes.iter().filter(|change| view::is_dangerous(change));
    found.extend(dangerous.map(|change| change_finding(review, change)));
    found
}

/// Returns the failed resources of an apply, its ambiguous intents, the resources that it skipped or left open, and the policy
/// results that are not a plain pass.
fn left_undone(review: &PlanReview<'_>, ran: &RunReport<'_>) -> Vec<ReviewFinding> {
    let of = |address: &Address| {
        let change = review.plan.changes.iter().find(|change| change.address == *address);
        FindingLocation::from_location(change.and_then(view::decided_at), review)
    };
    let finding = |rule: &str, level, subject: &str, text: String, place| ReviewFinding {
        rule: format!("apply/{rule}"),
        level,
        text,
        subject: subject.to_owned(),
        unit: Some(review.title()),
        place,
    };
    let failed = ran.failures(review.plan.base.destroy).map(|(address, why)| {
        let text =
            phrases::join_sentences(&[&prefix_subject(address.as_str(), &why.what), why.means, &why.next]);
        finding("failed", FindingLevel::Error, address.as_str(), text, of(address))
    });
    let asked = ran.outcome.questions.iter().map(|asked| {
        finding(
            "question",
            FindingLevel::Error,
            asked,
            asked.clone(),
            FindingLocation::from_location(None, review),
        )
    });
    let changes = review.plan.changes.iter().map(|change| (change, ran.resource_outcome(change)));
    let undone = changes
        .filter(|(_, fate)| matches!(fate, ResourceOutcome::Skipped(_) | ResourceOutcome::Unresolved));
    let undone = undone.map(|(change, fate)| {
        let text = prefix_subject(change.address.as_str(), &fate.describe_outcome());
        let place = FindingLocation::from_location(view::decided_at(change), review);
        finding("skipped", FindingLevel::Warning, change.address.as_str(), text, place)
    });
    let policies = review.denials().map(|shown| policy_finding(review, &shown, None));
    failed.chain(asked).chain(undone).chain(policies).collect()
}

fn unmanaged_finding(review: &PlanReview<'_>, object: &ObjectSummary) -> ReviewFinding {
    let subject = drift::object_name(object);
    let price = object.monthly.map(format_monthly).unwrap_or_default();
    ReviewFinding {
        rule: "unmanaged".to_owned(),
        level: FindingLevel::Note,
        text: format!("{subject} is live, and no ledger manages it{price}"),
        subject,
        unit: Some(review.title()),
        place: FindingLocation::from_location(None, review),
    }
}

/// Returns blockers, the policy results that are not a plain pass, and the drift that needs a decision.
pub(super) fn problem_findings(review: &PlanReview<'_>) -> Vec<ReviewFinding> {
    let blocks = review.plan_blockers().map(|block| blocker_finding(review, block));
    let remedies = review.denial_remedies();
    let denials = review.denials().map(|shown| policy_finding(review, &shown, remedies.find(shown.result)));
    let drift = review
        .plan
        .drift
        .iter()
        .filter(|drift| view::is_open(drift))
        .map(|drift| drift_finding(review, drift));
    blocks.chain(denials).chain(drift).collect()
}

fn blocker_finding(review: &PlanReview<'_>, block: &Blocker) -> ReviewFinding {
    let subject = block.address.as_ref().map(ToString::to_string).unwrap_or_default();
    ReviewFinding {
        rule: format!("blocked/{}", block.code),
        level: if block.only_freezes() { FindingLevel::Warning } else { FindingLevel::Error },
        text: phrases::join_sentences(&[&prefix_subject(&subject, &block.text), &block.help]),
        subject,
        unit: Some(review.title()),
        place: FindingLocation::from_location(block.source.as_ref(), review),
    }
}

fn policy_finding(review: &PlanReview<'_>, shown: &ShownResult<'_>, remedy: Option<&str>) -> ReviewFinding {
    let ruling = shown.result;
    let subject = ruling.address.as_ref().map(ToString::to_string).unwrap_or_default();
    let level = ruling.level.keyword();
    let says = format!("{} ({level}: it {})", shown.describe_message(), shown.verdict_phrase());
    ReviewFinding {
        rule: policy_rule(review, ruling),
        level: if ruling.verdict == PolicyStatus::Deny {
            FindingLevel::Error
        } else {
            FindingLevel::Warning
        },
        text: phrases::join_sentences(&[&prefix_subject(&subject, &says), remedy.unwrap_or_default()]),
        subject,
        unit: Some(review.title()),
        place: FindingLocation::from_location(ruling.source.as_ref(), review),
    }
}

/// Returns the rule id of a policy result: the stack's own policy, or a built-in one.
pub(super) fn policy_rule(review: &PlanReview<'_>, result: &PolicyResult) -> String {
    let is_built_in = is_exposure_code(&review.registry, &result.name);
    format!("{}/{}", if is_built_in { "exposure" } else { "policy" }, result.name)
}

fn drift_finding(review: &PlanReview<'_>, drift: &Drift) -> ReviewFinding {
    let subject = drift::drift_name(drift);
    let text = match view::drift_values(drift) {
        Some((old, new)) if drift.unconfirmed => {
            format!("{subject} differs from what was applied: {old} → {new}")
        }
        Some((old, new)) => format!("{subject} was changed outside stead: {old} → {new}"),
        None => format!("{subject} is gone: it was deleted outside stead"),
    };
    let since =
        review.drift_result().and_then(|found| drift::first_seen(found.memory, &drift::drift_key(drift)));
    let text = since.map_or(text.clone(), |since| format!("{text} ({since})"));
    let place = FindingLocation::from_location(drift.source.as_ref(), review);
    let unit = Some(review.title());
    ReviewFinding { rule: "drift".to_owned(), level: FindingLevel::Warning, text, subject, unit, place }
}

fn change_finding(review: &PlanReview<'_>, change: &Change) -> ReviewFinding {
    let effects: Vec<&str> =
        view::ordered_effects(change, false).map(|effect| effect.text.as_str()).collect();
    let what = format!("{}: {}", change.address, view::change_headline(change));
    ReviewFinding {
        rule: phrases::action_keyword(change.action).to_owned(),
        level: match change.action {
            Action::Replace | Action::Delete => FindingLevel::Warning,
            _ => FindingLevel::Note,
        },
        text: std::iter::once(what.as_str()).chain(effects).collect::<Vec<_>>().join("; "),
        subject: change.address.to_string(),
        unit: Some(review.title()),
        place: FindingLocation::from_location(view::decided_at(change), review),
    }
}

impl<'a> ReviewDiagnostics<'a> {
    /// Returns the problems of one stack.
    pub const fn new(
        diagnostics: &'a [Diagnostic],
        sources: &'a Sources,
        root: &'a RepositoryRoot,
    ) -> Self {
        Self { diagnostics, units: &[], sources, root }
    }
}

impl ReviewDiagnostics<'_> {
    /// Returns the problems as findings, ordered by location.
    pub(super) fn findings(&self) -> Vec<ReviewFinding> {
        sort_by_location(self.diagnostics, self.sources)
            .into_iter()
            .map(|problem| self.finding(problem))
            .collect()
    }

    fn finding(&self, problem: &Diagnostic) -> ReviewFinding {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let (detail, help) = (text(&problem.detail), text(&problem.help));
        let number = self.diagnostics.iter().position(|one| std::ptr::eq(one, problem));
        let unit = number.and_then(|number| self.units.get(number)).cloned();
        // A failure of a whole unit begins with its name.
        let name = unit.as_deref().filter(|name| !problem.summary.starts_with(name)).unwrap_or_default();
        ReviewFinding {
            rule: problem.code.to_owned(),
            level: match problem.severity {
                Severity::Error => FindingLevel::Error,
                Severity::Warning => FindingLevel::Warning,
            },
            text: phrases::join_sentences(&[&prefix_subject(name, &problem.summary), &detail, &help]),
            subject: format!("{name} {}", problem.summary).trim_start().to_owned(),
            unit,
            place: self.spot(problem),
        }
    }

    fn spot(&self, problem: &Diagnostic) -> FindingLocation {
        let placed = problem.span().and_then(|span| Some((span, self.sources.get(span.source)?)));
        let Some((span, source)) = placed else {
            let first = self.sources.iter().next().map_or("stead.yaml", |(_, source)| source.path.as_str());
            return FindingLocation::first_line(self.root.repository_path(first));
        };
        let (line, column) = source.line_column(span.start);
        let file = self.root.repository_path(&source.path);
        FindingLocation { file, line, column, end: Some(source.line_column(span.end)) }
    }
}

fn prefix_subject(subject: &str, text: &str) -> String {
    let is_said = subject.is_empty() || text.starts_with(&format!("{subject}: "));
    if is_said { text.to_owned() } else { format!("{subject}: {text}") }
}

/// The problems of a configuration, for the formats in `ReviewFormat::FOR_DIAGNOSTICS`.
#[derive(Debug, Clone, Copy)]
pub struct ReviewDiagnostics<'a> {
    /// The problems, in any order; findings are ordered by location.
    pub diagnostics: &'a [Diagnostic],
    /// The units that have each problem, as a phrase; empty if all are of one stack.
    pub units: &'a [String],
    /// The sources that the problems point into.
    pub sources: &'a Sources,
    /// Where the sources are in their repository.
    pub root: &'a RepositoryRoot,
}
