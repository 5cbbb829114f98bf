//! Shared parts of all plan reports: the review and its subject, headline, dangerous changes, and the text of
//! differences. Nothing here is escaped; each format does that for itself.

use foldhash::HashMap;

use crate::apply::event::Outcome;
use crate::model::address::Address;
use crate::model::schema::{Effect, Registry};
use crate::model::source::SourceLocation;
use crate::model::values::value::Value;
use crate::plan::model::block::Blocker;
use crate::plan::model::change::{
    AttributeChange, Change, ChangeEffect, Drift, DriftClass, Plan, PolicyResult, PolicyStatus,
};
use crate::plan::model::note::{NoteCode, PlanNote};
use crate::plan::model::output::PlannedOutput;
use crate::plan::model::resource_values::PlanValues;
use crate::report::groups::{self, PlanEntry};
pub(super) use crate::report::groups::{affects_users, is_dangerous};
use crate::report::run_report::RunReport;
use crate::report::text::counts::ActionCounts;
use crate::report::text::named_ids::named_values;
use crate::report::text::output_line::OutputLine;
use crate::report::text::phrases::{self, DueStatement};
use crate::report::text::policy_results::{PolicyGroup, ShownResult};
use crate::report::text::style::TextStyle;
use crate::report::views::drift::{self, DriftReport, is_settled};

/// How many resources to name whose difference is charged at once.
const MAX_CHARGED: usize = 3;

/// A plan under review, with the context that reports need.
#[derive(Debug, Clone, Copy)]
pub struct PlanReview<'a> {
    /// The plan that the report is about.
    pub plan: &'a Plan,
    /// Schemas of all kinds, to derive the requests of steps.
    pub registry: Registry,
    /// Where the stack's files are in their repository.
    pub root: &'a RepositoryRoot,
    /// The checked-out commit; `None` if it is not known.
    pub commit: Option<ReviewedCommit<'a>>,
    /// The stack's first file: the location of findings without a location of their own.
    pub home: &'a str,
    /// Command that applies exactly this plan; `None` if there is none.
    pub command: Option<&'a str>,
    /// The subject of the report.
    pub told: ReviewSubject<'a>,
    /// The values of all resources; `None` where the report needs none, and for a saved plan.
    pub values: Option<&'a PlanValues>,
}

/// The commit of the files that were planned.
#[derive(Debug, Clone, Copy)]
pub struct ReviewedCommit<'a> {
    /// Its id.
    pub id: &'a str,
    /// Whether files that were read are known to differ from it.
    pub dirty: bool,
}

impl ReviewedCommit<'_> {
    /// Returns the first characters of its id, as many as `length`.
    pub(super) fn short_id(&self, length: usize) -> String {
        self.id.chars().take(length).collect()
    }

    /// Returns what is said after the id: that it is not all of what was planned.
    pub(super) const fn suffix(&self) -> &'static str {
        if self.dirty { " with uncommitted changes" } else { "" }
    }
}

/// The subject of a report about a plan.
#[derive(Debug, Clone, Copy)]
pub enum ReviewSubject<'a> {
    /// The changes that an apply would make.
    Plan,
    /// The results of a drift check: no changes are intended.
    Drift(&'a DriftReport<'a>),
    /// The results of an apply.
    Run(&'a RunReport<'a>),
}

/// The position of the current directory in its repository: reports name files relative to the repository's
/// root, wherever stead was started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepositoryRoot {
    /// Absolute path of the repository's root directory; the current directory if it is in no repository, and empty
    /// if that is not known.
    pub repository: String,
    /// Current directory relative to the repository's root, such as `infra/ci`; empty for the root.
    pub here: String,
    /// Name of the repository, such as `github.com/acme/infra`, or that of its root directory; empty if it is not known.
    pub name: String,
    /// Address below which the documentation is published; empty for the usual one.
    pub documentation: String,
}

impl RepositoryRoot {
    /// Returns a path relative to the repository's root, without `.` and, where possible, `..`. An absolute path
    /// outside the repository stays as it is.
    #[must_use]
    pub fn repository_path(&self, path: &str) -> String {
        let below = |path: &str| {
            let rest = path.strip_prefix(self.repository.as_str())?.strip_prefix('/')?;
            (!self.repository.is_empty()).then(|| rest.to_owned())
        };
        if path.starts_with('/') {
            return below(path).unwrap_or_else(|| path.to_owned());
        }
        let mut parts: Vec<&str> = Vec::new();
        for part in self.here.split('/').chain(path.split('/')) {
            match part {
                "" | "." => {}
                ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
                part => parts.push(part),
            }
        }
        parts.join("/")
    }
}

/// The overall result of a plan or an apply; each report shows its sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReviewStatus {
    Blocked,
    Dangerous,
    Changes,
    Drifted,
    NoChanges,
    /// The apply ended with the exit code 0.
    Applied,
    /// Applied, but not completely.
    Failed,
}

impl ReviewStatus {
    pub(super) const fn status_sign(self) -> &'static str {
        match self {
            Self::Blocked | Self::Failed => "⛔",
            Self::Dangerous | Self::Drifted => "❗",
            Self::Changes => "🔷",
            Self::NoChanges | Self::Applied => "✅",
        }
    }
}

/// The remedies of the denials in a plan, by the resource and the text of their blockers.
pub(super) struct DenialRemedies<'a>(HashMap<(Option<&'a Address>, &'a str), &'a str>);

impl<'a> DenialRemedies<'a> {
    /// Returns the remedy of a denial; `None` for another result, and for a denial before a step.
    pub(super) fn find(&self, result: &PolicyResult) -> Option<&'a str> {
        if result.verdict != PolicyStatus::Deny {
            return None;
        }
        let text = format!("{}: {}", result.name, result.message);
        self.0.get(&(result.address.as_ref(), &*text)).copied()
    }
}

impl<'a> PlanReview<'a> {
    /// Returns a location as a path in the repository with its line.
    pub(super) fn location_text(&self, place: &SourceLocation) -> String {
        format!("{}:{}", self.root.repository_path(&place.file), place.line)
    }

    /// Returns the stack and the environment, such as `shop/prod`.
    pub(super) fn title(&self) -> String {
        format!("{}/{}", self.plan.base.stack, self.plan.base.environment)
    }

    /// Returns the results of the apply; `None` if the report is about something else.
    pub(super) const fn run_report(&self) -> Option<&'a RunReport<'a>> {
        match self.told {
            ReviewSubject::Run(ran) => Some(ran),
            ReviewSubject::Plan | ReviewSubject::Drift(_) => None,
        }
    }

    /// Returns what the report says is due at once: after an apply, what was due for the steps that were made.
    pub(super) fn due(&self) -> DueStatement {
        match self.run_report() {
            Some(ran) => DueStatement::of_apply(ran.due(self.plan)),
            None => DueStatement::of_plan(self.plan.cost.due),
        }
    }

    /// Returns the outputs that the plan changes; after an apply, with the values that it recorded.
    pub(super) fn output_lines(&self, is_whole: bool) -> Vec<OutputLine<'a>> {
        let style = TextStyle::plain(80);
        let line = |output: &'a PlannedOutput| match self.run_report() {
            None => OutputLine::new(output, is_whole, style),
            Some(ran) => {
                let Outcome { outputs, failed, skipped, .. } = ran.outcome;
                let is_complete = failed.is_empty() && skipped.is_empty();
                OutputLine::of_run(output, outputs.get(&output.name), is_complete, (is_whole, style))
            }
        };
        self.plan.output_changes().map(line).collect()
    }

    /// Returns the results of the drift check; `None` if the report is about something else.
    pub(super) const fn drift_result(&self) -> Option<&'a DriftReport<'a>> {
        match self.told {
            ReviewSubject::Drift(found) => Some(found),
            ReviewSubject::Plan | ReviewSubject::Run(_) => None,
        }
    }

    pub(super) fn verdict(&self) -> ReviewStatus {
        let plan = self.plan;
        if let Some(ran) = self.run_report() {
            return if ran.is_whole() { ReviewStatus::Applied } else { ReviewStatus::Failed };
        }
        if plan.is_blocked(&std::collections::BTreeSet::new()) {
            ReviewStatus::Blocked
        } else if plan.changes.iter().any(is_dangerous) {
            ReviewStatus::Dangerous
        } else if plan.has_changes() || !plan.steps.is_empty() {
            ReviewStatus::Changes
        } else if plan.drift.iter().any(is_open) {
            ReviewStatus::Drifted
        } else {
            ReviewStatus::NoChanges
        }
    }

    /// Returns the parts of the headline, the most important one first: `1 replace`, `+$73.00/mo`, `~7 min`.
    pub(super) fn headline_facts(&self) -> Vec<String> {
        if let Some(ran) = self.run_report() {
            return ran.headline_facts();
        }
        let counts: Vec<_> =
            ActionCounts::from_plan(self.plan).iter().filter(|(_, count)| *count > 0).collect();
        let open = drift::count_undecided(&self.plan.drift);
        let unknown = drift::count_not_readable(&self.plan.drift);
        let outputs = self.plan.output_changes().count();
        let outputs = (outputs > 0).then(|| phrases::count_noun(outputs, "output"));
        let mut facts: Vec<String> = match counts.as_slice() {
            [] if outputs.is_some() => Vec::new(),
            [] if open > 0 => vec![format!("drift: {}", phrases::count_noun(open, "difference"))],
            [] if unknown > 0 => Vec::new(),
            [] if self.drift_result().is_some() => vec!["no drift".to_owned()],
            [] => {
                let out = self.plan.left_out;
                let left_out = if out > 0 { format!(", {out} left out") } else { String::new() };
                let counted = phrases::count_noun(self.plan.unchanged, "resource");
                vec![format!("no changes, {counted} as configured{left_out}")]
            }
            counts => {
                let said = counts
                    .iter()
                    .map(|(action, count)| format!("{count} {}", phrases::action_keyword(*action)));
                vec![said.collect::<Vec<_>>().join(", ")]
            }
        };
        let is_partial = self.plan.left_out > 0 && !counts.is_empty();
        facts.extend(is_partial.then(|| format!("{} left out of this plan", self.plan.left_out)));
        facts.extend(outputs);
        facts.extend((unknown > 0).then(|| drift::describe_not_readable(unknown)));
        facts.extend(self.drift_result().into_iter().flat_map(drift_headline));
        let cost = &self.plan.cost;
        let delta = cost.monthly_after - cost.monthly_before;
        if !delta.is_zero() {
            facts.push(format!("{}/mo", phrases::bill_change(delta, cost.unpriced)));
        }
        if self.plan.critical_path.seconds > 0 {
            facts.push(format!("~{}", phrases::format_estimate(self.plan.critical_path.seconds.into())));
        }
        facts
    }

    /// Returns the entries of the plan: equal changes, and those that an apply left equal, are one.
    pub(super) fn entries(&self) -> Vec<PlanEntry<'a>> {
        groups::plan_entries(self.plan, &|change| self.result_text(change, true).unwrap_or_default())
    }

    /// Returns what an apply did with a resource, for a group without its duration; `None` for a plan.
    pub(super) fn result_text(&self, change: &Change, is_group: bool) -> Option<String> {
        let ran = self.run_report()?;
        let outcome = ran.resource_outcome(change);
        if is_group {
            return Some(outcome.describe_result());
        }
        let partly = ran.steps.describe_partly_made(self.plan, change);
        let partly = partly.map(|partly| format!(" ({partly})")).unwrap_or_default();
        Some(outcome.describe_outcome() + &partly)
    }

    /// Returns the drift that needs a decision, and the drift that does not.
    pub(super) fn split_drift(&self) -> (Vec<&Drift>, Vec<&Drift>) {
        self.plan.drift.iter().partition(|drift| is_open(drift))
    }

    /// Returns the blockers, except for those that come from policies.
    pub(super) fn plan_blockers(&self) -> impl Iterator<Item = &Blocker> {
        self.plan.blocks.iter().filter(|block| !block.is_ruling())
    }

    /// Returns the file for findings without a location: `home`, else that of the first change, else `stead.yaml`.
    pub(super) fn fallback_file(&self) -> &str {
        let places = self.plan.changes.iter().filter_map(|change| change.source.as_ref());
        match self.home {
            "" => places.map(|place| place.file.as_str()).next().unwrap_or("stead.yaml"),
            home => home,
        }
    }

    /// Returns the policy results: those of the plan, and of an apply the final ones of the policies that were left to it.
    pub(super) fn policy_results(&self) -> impl Iterator<Item = ShownResult<'a>> {
        let outcomes = self.run_report().map(|ran| ran.outcome.policies.as_slice()).unwrap_or_default();
        // They are in the plan's order.
        let mut outcomes = outcomes.iter().peekable();
        self.plan.policy.iter().map(move |result| {
            let outcome = outcomes.next_if(|outcome| outcome.is_outcome_of(result));
            outcome.map_or(ShownResult::of_plan(result), ShownResult::of_apply)
        })
    }

    /// Returns these results, those that say the same of several resources together.
    pub(super) fn policy_groups(&self) -> Vec<PolicyGroup<'a>> {
        PolicyGroup::group_results(self.policy_results())
    }

    /// Returns the policy results that are not a plain pass: unknown, warning, overridden and denying ones.
    pub(super) fn denials(&self) -> impl Iterator<Item = ShownResult<'a>> {
        self.policy_results().filter(|shown| shown.result.verdict >= PolicyStatus::Unknown)
    }

    /// Returns the remedies of the denials in the plan, by what is denied and the text of the blocker.
    pub(super) fn denial_remedies(&self) -> DenialRemedies<'a> {
        let denials = self.plan.blocks.iter().filter(|block| block.is_ruling());
        DenialRemedies(
            denials.map(|block| ((block.address.as_ref(), &*block.text), &*block.help)).collect(),
        )
    }
}

/// Returns the headline parts of a drift check, other than drift; empty if there is nothing to report.
fn drift_headline(found: &DriftReport<'_>) -> Vec<String> {
    let mut facts = Vec::new();
    if !found.unmanaged.is_empty() {
        facts.push(format!("{} unmanaged", found.unmanaged.len()));
    }
    if let Some((new, known, resolved)) = found.since_last_look().filter(|told| *told != (0, 0, 0)) {
        facts.push(format!("new {new}, known {known}, resolved {resolved}"));
    }
    facts
}

/// Returns whether a difference needs a decision.
pub(super) fn is_open(drift: &Drift) -> bool {
    !is_settled(drift.class)
}

/// Returns the action on a resource and its reason, in one line.
pub(super) fn change_headline(change: &Change) -> String {
    let order = match change.create_first {
        Some(true) => ", new one first",
        Some(false) => ", old one deleted first",
        None => "",
    };
    match &change.reason {
        Some(reason) => format!("{}{order}: {reason}", phrases::action_keyword(change.action)),
        None => format!("{}{order}", phrases::action_keyword(change.action)),
    }
}

/// Returns the effects, those that a reviewer must know first. With `charge_below`, the report says elsewhere which
/// differences are charged at once.
pub(super) fn ordered_effects(change: &Change, charge_below: bool) -> impl Iterator<Item = &ChangeEffect> {
    let effects =
        change.effects.iter().filter(move |effect| !charge_below || effect.code != Effect::Charge);
    let (heavy, light): (Vec<_>, Vec<_>) = effects.partition(|effect| affects_users(effect.code));
    heavy.into_iter().chain(light)
}

/// Returns the first resources whose difference is charged or credited at once, and a count of the rest; `None` where at
/// most one is: then it is said with the change.
pub(super) fn charged_at_once(plan: &Plan) -> Option<String> {
    let charged = groups::charged_at_once(plan);
    let names = charged.iter().map(|change| change.address.as_str());
    (!charged.is_empty()).then(|| phrases::join_words(names, MAX_CHARGED))
}

/// Returns the location that caused a change: that of the attribute that forces the replacement, else that of the
/// block; `None` if neither is in a file.
pub(super) fn decided_at(change: &Change) -> Option<&SourceLocation> {
    let forced = change.attributes.iter().find(|attribute| attribute.forces_replacement);
    forced.and_then(|attribute| attribute.source.as_ref()).or(change.source.as_ref())
}

/// Returns the values before and after as text; `None` for an absent value. Values that would look
/// the same have quotes.
pub(super) fn before_and_after(attribute: &AttributeChange) -> (Option<String>, Option<String>) {
    let (before, after) = named_values(attribute);
    let (before, after) = (before.as_ref(), after.as_ref());
    let same = phrases::format_value(before) == phrases::format_value(after) && before != after;
    let side = |value: &Value| match value {
        Value::Null => None,
        value if same => Some(phrases::format_typed(value)),
        value => Some(phrases::format_value(value)),
    };
    (side(before), side(after))
}

/// Returns the monthly cost of a change, such as `+$24.00`; empty if nothing is billed.
pub(super) fn monthly_price(change: &Change) -> String {
    phrases::cost_change(&change.cost)
}

/// Returns the affected addresses as a list of at most `most`, and a count of the rest.
pub(super) fn affected_addresses(change: &Change, most: usize) -> String {
    phrases::join_words(change.hits.iter().map(Address::as_str), most)
}

/// Returns the notes for a reviewer, without those about declarations that have already taken effect.
pub(super) fn review_notes(plan: &Plan) -> impl Iterator<Item = &PlanNote> {
    plan.notes.iter().filter(|note| note.code != NoteCode::Done)
}

/// Returns the last applied and the live value; `None` if the drift is about a whole object.
pub(super) fn drift_values(drift: &Drift) -> Option<(String, String)> {
    drift.path.as_ref()?;
    if drift.class == DriftClass::Unmanaged {
        return Some(("not written".to_owned(), phrases::format_value(&drift.live)));
    }
    Some(phrases::distinguish_values(&drift.last_applied, &drift.live))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_relative_to_the_repository() {
        let root = RepositoryRoot {
            repository: "/src/repo".into(),
            here: "infra/ci".into(),
            ..RepositoryRoot::default()
        };
        let table = [
            ("shop.yaml", "infra/ci/shop.yaml"),
            ("./shop/../shop.yaml", "infra/ci/shop.yaml"),
            ("../shop/shop.yaml", "infra/shop/shop.yaml"),
            ("../../../out.yaml", "../out.yaml"),
            ("/src/repo/a/b.yaml", "a/b.yaml"),
            ("/src/repository/b.yaml", "/src/repository/b.yaml"),
        ];
        for (path, seen) in table {
            assert_eq!(root.repository_path(path), seen);
        }
        assert_eq!(RepositoryRoot::default().repository_path("shop/a.yaml"), "shop/a.yaml");
        assert_eq!(RepositoryRoot::default().repository_path("/shop/a.yaml"), "/shop/a.yaml");
    }
}
