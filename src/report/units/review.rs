//! The review of many units: each with its plan or failure, and what they cost and change together. Every format shows
//! the units of one review in the same order, worst first.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use rust_decimal::Decimal;
use serde::Serialize;

use crate::model::address::{Address, Name};
use crate::model::diagnostic::{Diagnostic, Severity};
use crate::model::source::Sources;
use crate::plan::model::change::{Action, Plan, PolicyResult, PolicyStatus};
use crate::plan::model::due::DueTotal;
use crate::plan::model::policy_outcome::PolicyOutcome;
use crate::plan::model::resource_values::PlanValues;
use crate::report::diagnostics;
use crate::report::run_report::RunReport;
use crate::report::text::counts::ActionCounts;
use crate::report::text::phrases::{self, DueStatement};
use crate::report::units::accounts::UnitsDrift;
use crate::report::units::title::UnitsTitle;
use crate::report::views::drift;
use crate::workspace::combined::has_work;
use crate::workspace::unit::UnitName;

/// How a unit fares, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UnitStatus {
    /// It has no plan, or its apply failed.
    Failed,
    /// Some of its changes were applied.
    Partly,
    /// Its plan has blockers.
    Blocked,
    /// Its plan no longer fits the reviewed one, and nothing was sent.
    OutOfDate,
    /// Another process writes its ledger.
    Locked,
    /// It was not started, because of another unit or a stop signal.
    Skipped,
    /// Its live objects differ from what was last applied.
    Drifted,
    /// Its plan has changes.
    Changed,
    /// Its changes were applied.
    Applied,
    /// Its plan has no changes.
    Unchanged,
}

impl UnitStatus {
    /// Returns the status of a unit's plan.
    #[must_use]
    pub fn of_plan(plan: &Plan) -> Self {
        if !plan.blocks.is_empty() {
            Self::Blocked
        } else if has_work(plan) {
            Self::Changed
        } else {
            Self::Unchanged
        }
    }

    /// Returns the status as a few words.
    #[must_use]
    pub const fn as_text(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Partly => "partly applied",
            Self::Blocked => "blocked",
            Self::OutOfDate => "out of date",
            Self::Locked => "locked",
            Self::Skipped => "skipped",
            Self::Drifted => "drifted",
            Self::Changed => "with changes",
            Self::Applied => "applied",
            Self::Unchanged => "without changes",
        }
    }
}

/// Why a unit has no result.
#[derive(Debug, Clone, Copy)]
pub struct UnitFailure<'a> {
    /// What happened and why.
    pub message: &'a str,
    /// Remedies, one per entry.
    pub help: &'a [String],
    /// The problems of the configuration with its files, if they are the reason.
    pub problems: Option<(&'a [Diagnostic], &'a Sources)>,
}

/// How many problems of a configuration a report without room for all of them names.
const MAX_NAMED_PROBLEMS: usize = 3;

impl UnitFailure<'_> {
    /// Returns what happened, with the first problems of the configuration and their places.
    #[must_use]
    pub fn describe(&self) -> String {
        let Some((problems, sources)) = self.problems else { return self.message.to_owned() };
        let errors: Vec<&Diagnostic> = diagnostics::sort_by_location(problems, sources)
            .into_iter()
            .filter(|problem| problem.severity == Severity::Error)
            .collect();
        let mut named: Vec<String> = errors
            .iter()
            .take(MAX_NAMED_PROBLEMS)
            .map(|problem| {
                let place = problem.span().and_then(|span| sources.location_of(span));
                let place = place.map(|place| format!("{}:{}: ", place.file, place.line));
                let what = problem.detail.as_ref().unwrap_or(&problem.summary);
                format!("{}{}: {what}", place.unwrap_or_default(), problem.code)
            })
            .collect();
        let rest = errors.len().saturating_sub(MAX_NAMED_PROBLEMS);
        named.extend((rest > 0).then(|| format!("{rest} more")));
        format!("{}: {}", self.message, named.join("; "))
    }
}

/// What a review calls a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReviewedName<'a> {
    /// Its name.
    Unit(&'a UnitName),
    /// Directory of a stack whose files cannot be read, so that its name and environments are not known.
    Directory(&'a Name),
}

impl<'a> ReviewedName<'a> {
    /// Returns the name of the unit; `None` if it is not known.
    #[must_use]
    pub const fn unit(self) -> Option<&'a UnitName> {
        match self {
            Self::Unit(name) => Some(name),
            Self::Directory(_) => None,
        }
    }
}

impl fmt::Display for ReviewedName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unit(name) => name.fmt(f),
            Self::Directory(directory) => directory.fmt(f),
        }
    }
}

/// A unit of a review.
#[derive(Debug, Clone, Copy)]
pub struct UnitReview<'a> {
    /// Its name.
    pub name: ReviewedName<'a>,
    /// Directory relative to the root; `None` for a unit whose stack or environment is gone.
    pub directory: Option<&'a Name>,
    /// How it fares.
    pub status: UnitStatus,
    /// Its own exit code.
    pub exit: u8,
    /// Its plan; `None` if it has none.
    pub plan: Option<&'a Plan>,
    /// The values of all its resources; `None` where no report needs them.
    pub values: Option<&'a PlanValues>,
    /// Why it has no result; `None` if it has one.
    pub failure: Option<UnitFailure<'a>>,
    /// Units whose outputs it reads.
    pub upstream: &'a [UnitName],
    /// What its apply did; `None` before one, and for a unit that did not begin.
    pub run: Option<&'a RunReport<'a>>,
}

impl<'a> UnitReview<'a> {
    /// Returns the results of the policies that its plan could not decide; empty before an apply.
    #[must_use]
    pub fn policy_outcomes(&self) -> &'a [PolicyOutcome] {
        self.run.map_or(&[], |run| &run.outcome.policies)
    }

    /// Returns whether a report of many units need not show its plan: nothing changes, no drift waits for a decision, and no policy
    /// says anything but what every object begins with.
    #[must_use]
    pub fn is_unremarkable(&self) -> bool {
        let speaks = |result: &PolicyResult| result.verdict >= PolicyStatus::Unknown && !result.is_default;
        let says_more = |plan: &Plan| {
            plan.policy.iter().any(speaks)
                || plan.notes.iter().any(|note| note.code.is_about_moment())
                || drift::count_undecided(&plan.drift) > 0
        };
        self.status == UnitStatus::Unchanged && !self.plan.is_some_and(says_more)
    }

    /// Returns the change of its monthly bill in USD; `None` without a plan.
    #[must_use]
    pub fn bill_change(&self) -> Option<String> {
        let cost = &self.plan?.cost;
        Some(phrases::bill_change(cost.monthly_after - cost.monthly_before, cost.unpriced))
    }

    /// Returns how many outputs its plan changes.
    #[must_use]
    pub fn output_count(&self) -> usize {
        self.plan.map_or(0, |plan| plan.output_changes().count())
    }
}

/// Monthly cost of many units.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct UnitsCost {
    /// Before the apply, in USD.
    pub before: Decimal,
    /// After the apply, in USD. Blocked units stay as they are.
    pub after: Decimal,
    /// Number of billed objects without a known price.
    pub unpriced: usize,
    /// Number of units whose bill is not known: they have no plan.
    pub unplanned: usize,
    /// What is charged or refunded at once.
    pub due: DueTotal,
}

impl UnitsCost {
    /// Returns what the sums leave out, as facts.
    pub fn left_out(&self) -> impl Iterator<Item = String> {
        phrases::unpriced_count(self.unpriced).into_iter().chain(phrases::unplanned_count(self.unplanned))
    }
}

/// A review of many units.
#[derive(Debug, Clone)]
pub struct UnitsReview<'a> {
    /// The units, worst first.
    units: Vec<UnitReview<'a>>,
    /// Fingerprint of all plans together, for `apply --all --expect`.
    pub fingerprint: &'a str,
    /// Whether everything is deleted.
    pub destroy: bool,
    /// Title of the selection.
    pub title: Cow<'a, UnitsTitle>,
    /// What a drift check found beside the units' differences; `None` for a plan or an apply.
    pub drift: Option<&'a UnitsDrift>,
    /// Number of links to directories with stack files, which were not searched.
    pub links: usize,
}

impl<'a> UnitsReview<'a> {
    /// Returns a review, with the units sorted worst first.
    #[must_use]
    pub fn new(mut units: Vec<UnitReview<'a>>, fingerprint: &'a str, destroy: bool) -> Self {
        let danger = |unit: &UnitReview<'_>| {
            let counts = unit.plan.map(ActionCounts::from_plan).unwrap_or_default();
            counts.get(Action::Replace) + counts.get(Action::Delete)
        };
        units.sort_by_key(|unit| (unit.status, Reverse(danger(unit)), unit.name));
        let title = Cow::Owned(UnitsTitle::new(None, &[]));
        Self { units, fingerprint, destroy, title, drift: None, links: 0 }
    }

    /// Returns the review of a selection that has a title.
    #[must_use]
    pub fn with_title(self, title: &'a UnitsTitle) -> Self {
        Self { title: Cow::Borrowed(title), ..self }
    }

    /// Returns the units with something to do, and those of the review whose outputs they read: these may have to record
    /// them.
    #[must_use]
    pub fn units_to_apply(&self) -> BTreeSet<&'a UnitName> {
        let by_name: BTreeMap<&UnitName, &UnitReview<'a>> =
            self.units.iter().filter_map(|unit| Some((unit.name.unit()?, unit))).collect();
        let mut open: Vec<&UnitReview<'a>> =
            self.units.iter().filter(|unit| unit.plan.is_some_and(has_work)).collect();
        let mut found = BTreeSet::new();
        while let Some(unit) = open.pop() {
            if unit.name.unit().is_some_and(|name| found.insert(name)) {
                open.extend(unit.upstream.iter().filter_map(|above| by_name.get(above).copied()));
            }
        }
        found
    }

    /// Returns the review as that of an apply, which did this with the units.
    #[must_use]
    pub fn with_runs(mut self, runs: &'a BTreeMap<UnitName, RunReport<'a>>) -> Self {
        self.units.iter_mut().for_each(|unit| unit.run = unit.name.unit().and_then(|name| runs.get(name)));
        self
    }

    /// Returns the review as that of a drift check.
    #[must_use]
    pub fn with_drift(self, drift: &'a UnitsDrift) -> Self {
        Self { drift: Some(drift), ..self }
    }

    /// Returns the units, worst first.
    #[must_use]
    pub fn units(&self) -> &[UnitReview<'a>] {
        &self.units
    }

    /// Returns the units that have a status.
    pub fn with_status(&self, status: UnitStatus) -> impl Iterator<Item = &UnitReview<'a>> {
        self.units.iter().filter(move |unit| unit.status == status)
    }

    /// Returns how many units have each status that occurs, worst first.
    #[must_use]
    pub fn status_counts(&self) -> Vec<(UnitStatus, usize)> {
        let mut counts: Vec<(UnitStatus, usize)> = Vec::new();
        for unit in &self.units {
            match counts.last_mut() {
                Some((status, count)) if *status == unit.status => *count += 1,
                _ => counts.push((unit.status, 1)),
            }
        }
        counts
    }

    /// Returns what the review says is due at once: after an apply, what was due for the steps that were made.
    #[must_use]
    pub fn due(&self) -> DueStatement {
        let runs = self.units.iter().filter_map(|unit| Some(unit.run?.due(unit.plan?)));
        match runs.reduce(DueTotal::merge) {
            Some(total) => DueStatement::of_apply(total),
            None => DueStatement::of_plan(self.cost().due),
        }
    }

    /// Returns the plans of the units.
    pub fn plans(&self) -> impl Iterator<Item = &'a Plan> + '_ {
        self.units.iter().filter_map(|unit| unit.plan)
    }

    /// Returns the word before a figure of the plans after an apply that did not do all of them; empty otherwise.
    #[must_use]
    pub fn planned_word(&self) -> &'static str {
        let has_run = self.units.iter().any(|unit| unit.run.is_some());
        let is_whole = self.units.iter().all(|unit| unit.status >= UnitStatus::Changed);
        if has_run && !is_whole { "planned " } else { "" }
    }

    /// Returns how many changes of an action the units have together. A move between two of them is one.
    #[must_use]
    pub fn count(&self, action: Action) -> usize {
        let all: usize = self.plans().map(|plan| ActionCounts::from_plan(plan).get(action)).sum();
        if action == Action::Move { all - self.repeated_moves() } else { all }
    }

    /// Returns how many moves are in the plans of both units, where they leave and where they arrive.
    fn repeated_moves(&self) -> usize {
        let moves = |plan: &'a Plan| plan.changes.iter().filter(|change| change.action == Action::Move);
        let arrivals = self.plans().flat_map(moves).filter_map(|change| {
            let was = change.was.as_ref()?;
            Some((was.stack.as_ref()?, &was.address))
        });
        let arrivals: BTreeSet<(&Name, &Address)> = arrivals.collect();
        let named = self.units.iter().filter_map(|unit| Some((unit.name.unit()?, unit.plan?)));
        let leaves = |(unit, plan): (&UnitName, &'a Plan)| {
            let unit = Name::new(unit.to_string());
            moves(plan).filter(|change| arrivals.contains(&(&unit, &change.address))).count()
        };
        if arrivals.is_empty() { 0 } else { named.map(leaves).sum() }
    }

    /// Returns how many of the changes are in blocked units, and so not applied.
    #[must_use]
    pub fn blocked_count(&self) -> usize {
        let blocked = self.units.iter().filter(|unit| unit.status == UnitStatus::Blocked);
        blocked.filter_map(|unit| unit.plan).map(|plan| plan.changes.len()).sum()
    }

    /// Returns how many outputs the units change together.
    #[must_use]
    pub fn output_count(&self) -> usize {
        self.units.iter().map(UnitReview::output_count).sum()
    }

    /// Returns the cost of all units together. Those that are blocked stay as they are.
    #[must_use]
    pub fn cost(&self) -> UnitsCost {
        let planned = self.units.iter().filter_map(|unit| Some((unit.status, &unit.plan?.cost)));
        let unplanned = self.units.iter().filter(|unit| unit.plan.is_none()).count();
        planned.fold(UnitsCost { unplanned, ..UnitsCost::default() }, |sum, (status, cost)| {
            let (after, due) = match status {
                UnitStatus::Blocked => (cost.monthly_before, DueTotal::default()),
                _ => (cost.monthly_after, cost.due),
            };
            UnitsCost {
                before: sum.before + cost.monthly_before,
                after: sum.after + after,
                unpriced: sum.unpriced + cost.unpriced,
                due: sum.due.merge(due),
                ..sum
            }
        })
    }
}
