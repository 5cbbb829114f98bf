//! The review of an apply of many units, which their ledgers keep until they are done. In: the plans that were approved, or
//! the fingerprint of a review of an earlier attempt. Out: records in the ledgers; or the reviewed plans of the units that
//! are not done, and which of them were begun. Invariant: a unit without a kept plan is continued only if it has nothing to
//! do, or its plan is still the reviewed one.

use std::collections::{BTreeMap, BTreeSet};

use crate::cli::artifacts::plan_file::STEAD_VERSION;
use crate::cli::ledger::ledger_io::CommandJournal;
use crate::cli::planning::approval::applied_already;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::workspace::planned_units::{PlannedUnit, WorkspacePlan};
use crate::cli::workspace::units::Workspace;
use crate::kinds::REGISTRY;
use crate::ledger::journal::record::Record;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::state::open_review::{AppliedReview, ReviewEnd, ReviewedPlan};
use crate::model::address::Name;
use crate::plan::artifact::binding::PlanBinding;
use crate::plan::artifact::saved_plan::SavedPlan;
use crate::plan::model::change::Plan;
use crate::report::text::phrases;
use crate::workspace::combined::{digest_of, has_work};
use crate::workspace::fit::check_inputs;

/// Fingerprints of a review: of all its plans together, and of each plan with something to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReviewFingerprints {
    pub(super) whole: Name,
    /// By stack and environment.
    pub(super) units: BTreeMap<Name, Name>,
}

impl ReviewFingerprints {
    /// Returns the fingerprints of plans that were just made.
    pub(super) fn of_planned(workspace: &Workspace, planned: &WorkspacePlan) -> Self {
        let units = planned.planned().filter(|(_, unit)| has_work(&unit.plan));
        let units =
            units.map(|(number, unit)| (unit_name(workspace, number), Name::new(&unit.plan.fingerprint)));
        Self { whole: Name::new(&planned.fingerprint), units: units.collect() }
    }
}

/// A review of an earlier attempt, as far as it is not done.
pub(super) struct KeptReview {
    pub(super) fingerprints: ReviewFingerprints,
    /// Reviewed plans by the number of the unit.
    pub(super) plans: BTreeMap<usize, Plan>,
    /// Units of which an earlier attempt made some changes.
    pub(super) begun: BTreeSet<usize>,
    /// Number of its units that are not selected, of which nothing is known.
    unselected: usize,
}

impl KeptReview {
    /// Returns a sentence that says what is left of the review.
    pub(super) fn describe(&self) -> String {
        let count = phrases::count_noun(self.fingerprints.units.len(), "unit");
        let unselected = match self.unselected {
            0 => String::new(),
            unselected => format!("; {unselected} not selected"),
        };
        format!(
            "Continuing a review of {count}: {} not done, {} of them begun{unselected}.",
            self.plans.len(),
            self.begun.len()
        )
    }

    /// Returns what the review approves.
    pub(super) fn approved_plans(&self) -> ApprovedPlans<'_> {
        ApprovedPlans {
            plans: self.plans.iter().map(|(number, plan)| (*number, plan)).collect(),
            begun: self.begun.clone(),
            fingerprints: Some(self.fingerprints.clone()),
            is_saved: false,
        }
    }
}

/// What a run of many units was approved for.
#[derive(Default)]
pub(super) struct ApprovedPlans<'a> {
    /// Plans that were reviewed before, by the number of the unit; empty if the plans of this process were reviewed.
    pub(super) plans: BTreeMap<usize, &'a Plan>,
    /// Units of which an earlier attempt made some changes.
    pub(super) begun: BTreeSet<usize>,
    /// Fingerprints of the review, which the ledgers keep until their units are done; `None` if they keep nothing.
    pub(super) fingerprints: Option<ReviewFingerprints>,
    /// Whether the plans were saved before, and are applied from their files.
    pub(super) is_saved: bool,
}

impl<'a> ApprovedPlans<'a> {
    /// Returns what a set of saved plans approves. A unit was begun if its ledger keeps the set's review and says so.
    pub(super) fn of_set(
        workspace: &Workspace,
        planned: &WorkspacePlan,
        (fingerprint, destroy): (&str, bool),
        plans: BTreeMap<usize, &'a Plan>,
    ) -> Self {
        let whole = Name::new(fingerprint);
        let is_begun =
            |unit: &PlannedUnit| unit.ledger.open_review(&whole).is_some_and(|review| review.begun);
        let begun = planned.planned().filter(|(_, unit)| is_begun(unit));
        let begun = begun.map(|(number, _)| number).collect();
        let units = plans
            .iter()
            .map(|(number, plan)| (unit_name(workspace, *number), Name::new(&plan.fingerprint)))
            .collect();
        Self {
            begun,
            fingerprints: (!destroy).then_some(ReviewFingerprints { whole, units }),
            plans,
            is_saved: true,
        }
    }

    /// Returns whether a ledger still keeps this review.
    pub(super) fn is_kept_by(&self, ledger: &Ledger) -> bool {
        self.fingerprints.as_ref().is_some_and(|review| ledger.open_review(&review.whole).is_some())
    }
}

fn unit_name(workspace: &Workspace, number: usize) -> Name {
    Name::new(workspace.units[number].unit.name.to_string())
}

/// How the plans fit the review that was expected.
pub(super) enum ExpectedReview {
    /// They are the reviewed ones, or none were expected.
    Planned,
    /// They are what an earlier attempt left to do.
    Continued(KeptReview),
    /// Nothing is left to do: the review was applied to its end, as this sentence says.
    Applied(String),
}

/// Checks that the plans are the expected ones, or that an earlier attempt of the same review left nothing else to do.
/// `plan_command` is the command that shows these plans.
///
/// # Errors
/// When they are other ones, or do something that the earlier review does not show; nothing was sent.
pub(super) fn check_expected(
    workspace: &Workspace,
    planned: &WorkspacePlan,
    (expected, plan_command): (Option<&Name>, &str),
) -> Result<ExpectedReview, CliFailure> {
    let Some(expected) = expected.filter(|expected| **expected != planned.fingerprint) else {
        return Ok(ExpectedReview::Planned);
    };
    let kept = find_review(workspace, planned, expected)?;
    if kept.is_none()
        && let Some(end) = find_end(workspace, planned, expected)?
    {
        return Ok(ExpectedReview::Applied(end));
    }
    let Some(kept) = kept else {
        let found = &planned.fingerprint;
        let what = format!("the plans together have the fingerprint {found}, not {expected}");
        return Err(CliFailure::new(Exit::OutOfDate, what)
            .help(format!("Nothing was sent. Review these plans: {plan_command}.")));
    };
    Ok(ExpectedReview::Continued(kept))
}

/// Returns what says that a review was applied: no selected unit has anything to do, except those that are blocked as they were
/// reviewed; and ledgers of its units say that the last run of the unit applied it, with the configuration that the unit has now.
/// `None` if that is not so.
fn find_end(
    workspace: &Workspace,
    planned: &WorkspacePlan,
    expected: &Name,
) -> Result<Option<String>, CliFailure> {
    let is_expected = |review: &&AppliedReview| review.fingerprint == *expected;
    let mut ends: BTreeMap<Name, &AppliedReview> = BTreeMap::new();
    for (number, unit) in planned.planned() {
        let review = unit.ledger.applied_review.as_deref().filter(is_expected);
        let review = review.filter(|review| review.end.config == unit.plan.base.config);
        ends.extend(review.map(|review| (unit_name(workspace, number), review)));
    }
    // The ledger of a unit whose removal is done has no unit anymore.
    for (name, review) in &workspace.emptied {
        ends.extend(
            review.as_ref().filter(is_expected).map(|review| (Name::new(name.to_string()), review)),
        );
    }
    let Some(first) = ends.values().next() else { return Ok(None) };
    let digests = first.units.iter().map(|(name, digest)| (name.to_string(), digest.as_str())).collect();
    // The fingerprint covers the names of all units of the review, so that a ledger cannot leave one out.
    if digest_of(&digests, false).map_err(anyhow::Error::from)? != *expected {
        return Ok(None);
    }
    let mut blocked = 0;
    for (number, unit) in planned.planned() {
        let name = unit_name(workspace, number);
        let reviewed = first.units.get(&name);
        if has_work(&unit.plan) {
            let is_reviewed = reviewed.is_some_and(|digest| *digest == unit.plan.fingerprint);
            if !is_reviewed || !unit.plan.is_blocked(&BTreeSet::new()) {
                return Ok(None);
            }
            blocked += 1;
        } else if reviewed.is_some() && !ends.contains_key(&name) && !is_config_applied(unit) {
            return Ok(None);
        }
    }
    let elsewhere = first.units.keys().filter(|name| !ends.contains_key(*name)).count();
    let last = ends.values().map(|review| &review.end).max_by_key(|end| end.at);
    Ok(last.map(|end| {
        let applied = applied_already(&end.common, end.at);
        let units = |count: usize| phrases::count_noun(count, "unit");
        let blocked_now = (blocked > 0).then(|| format!("Blocked as reviewed: {}.", units(blocked)));
        let rest = elsewhere.saturating_sub(blocked);
        let rest = (rest > 0)
            .then(|| format!("Not selected, or applied by another run: {} of the review.", units(rest)));
        let sentences: Vec<String> = [applied].into_iter().chain(blocked_now).chain(rest).collect();
        sentences.join(" ")
    }))
}

/// Returns whether the last complete run of a unit applied the configuration that it has now.
fn is_config_applied(unit: &PlannedUnit) -> bool {
    unit.ledger.last_complete_run().is_some_and(|run| {
        run.origin.config.as_ref().is_some_and(|config| **config == *unit.plan.base.config)
    })
}

/// Returns the review with a fingerprint that the ledgers keep of an earlier attempt; `None` if none of them has it.
///
/// # Errors
/// When a unit has something to do that is not in the review, or its configuration is another one.
pub(super) fn find_review(
    workspace: &Workspace,
    planned: &WorkspacePlan,
    expected: &Name,
) -> Result<Option<KeptReview>, CliFailure> {
    let kept = |unit: &PlannedUnit| unit.ledger.open_review(expected).cloned();
    let Some(first) = planned.planned().find_map(|(_, unit)| kept(unit)) else { return Ok(None) };
    // A removed unit is planned like one that is destroyed, whatever the command is.
    let is_removed = |number: usize| workspace.units[number].unit.is_removed;
    let destroy = planned.planned().any(|(number, unit)| unit.plan.base.destroy && !is_removed(number));
    let first = first.reviewed;
    let digests = first.units.iter().map(|(name, digest)| (name.to_string(), digest.as_str())).collect();
    if digest_of(&digests, destroy).map_err(anyhow::Error::from)? != *expected {
        return Err(outdated(format!("the ledgers have another review than {expected}")));
    }
    let fingerprints = ReviewFingerprints { whole: expected.clone(), units: first.units.clone() };
    let selected: BTreeSet<Name> =
        planned.planned().map(|(number, _)| unit_name(workspace, number)).collect();
    let unselected = fingerprints.units.keys().filter(|name| !selected.contains(*name)).count();
    let mut review =
        KeptReview { fingerprints, plans: BTreeMap::new(), begun: BTreeSet::new(), unselected };
    for (number, unit) in planned.planned() {
        let name = unit_name(workspace, number);
        let digest = review.fingerprints.units.get(&name);
        match kept(unit) {
            Some(own) => {
                let plan =
                    parse_reviewed(&own.reviewed.plan).map_err(|why| outdated(format!("{name}: {why}")))?;
                if own.reviewed.units != first.units
                    || digest.is_none_or(|digest| *digest != plan.fingerprint)
                {
                    return Err(outdated(format!("{name}: its ledger has the plan of another review")));
                }
                check_inputs(&plan, &unit.plan).map_err(|misfit| outdated(format!("{name}: {misfit}")))?;
                review.plans.insert(number, plan);
                review.begun.extend(own.begun.then_some(number));
            }
            None if !has_work(&unit.plan) => {}
            None if digest.is_some_and(|digest| *digest == unit.plan.fingerprint) => {
                review.plans.insert(number, unit.plan.clone());
            }
            None => {
                return Err(outdated(format!("{name} has something to do that the review does not show")));
            }
        }
    }
    Ok(Some(review))
}

/// Checks that the units of a set of saved plans have the configuration and the account that were reviewed, also those that
/// have nothing left to do: with another configuration, a later apply took the place of their plans.
///
/// # Errors
/// When a unit has another configuration or account than in its reviewed plan.
pub(super) fn check_reviewed_inputs(
    workspace: &Workspace,
    planned: &WorkspacePlan,
    reviewed: &BTreeMap<usize, &Plan>,
) -> Result<(), CliFailure> {
    for (number, unit) in planned.planned() {
        // What is destroyed has no configuration that could be another one.
        let Some(reviewed) = reviewed.get(&number).filter(|plan| !plan.base.destroy) else { continue };
        check_inputs(reviewed, &unit.plan)
            .map_err(|misfit| outdated(format!("{}: {misfit}", unit_name(workspace, number))))?;
    }
    Ok(())
}

fn outdated(what: String) -> CliFailure {
    CliFailure::new(Exit::OutOfDate, what)
        .help("Nothing was sent. Review what is left to do: stead plan --all.")
}

/// Returns a reviewed plan as text, for a ledger or for other workers. It has no terms of its own: the review's count.
///
/// # Errors
/// When it cannot be written as JSON.
pub(super) fn reviewed_text(plan: &Plan) -> Result<String, CliFailure> {
    let saved = SavedPlan::new(plan.clone(), PlanBinding::default(), STEAD_VERSION);
    Ok(saved.and_then(|saved| saved.to_text()).map_err(anyhow::Error::from)?)
}

/// Reads a reviewed plan.
///
/// # Errors
/// The reason why the text is none that this version wrote, as a phrase.
pub(super) fn parse_reviewed(text: &str) -> Result<Plan, String> {
    let saved = SavedPlan::parse(text, REGISTRY).map_err(|error| error.to_string())?;
    if saved.stead_version == STEAD_VERSION {
        Ok(saved.plan)
    } else {
        Err(format!("stead {} reviewed its plan, and this is {STEAD_VERSION}", saved.stead_version))
    }
}

/// Records the reviewed plan of a unit in its ledger, unless that has it; or, for a unit with nothing to do (`None`), that an
/// earlier review is over.
///
/// # Errors
/// When the plan cannot be written as JSON, or the ledger takes no record.
pub(super) async fn keep_review(
    journal: &CommandJournal,
    fingerprints: &ReviewFingerprints,
    plan: Option<&Plan>,
) -> Result<(), CliFailure> {
    if journal.ledger().open_review(&fingerprints.whole).is_some() {
        return Ok(());
    }
    let known = journal.ledger().review.as_ref().map(|review| review.reviewed.fingerprint.clone());
    let record = match (plan, known) {
        (Some(plan), _) => {
            let plan = reviewed_text(plan)?;
            let (fingerprint, units) = (fingerprints.whole.clone(), fingerprints.units.clone());
            Record::Reviewed(Box::new(ReviewedPlan { fingerprint, units, plan }))
        }
        (None, Some(fingerprint)) => Record::ReviewDone { fingerprint, applied: None },
        (None, None) => return Ok(()),
    };
    Ok(journal.commit(&[record]).await?)
}

/// Records that a unit of a review is done, and how.
///
/// # Errors
/// When the ledger takes no record.
pub(super) async fn close_review(
    journal: &CommandJournal,
    whole: &Name,
    end: ReviewEnd,
) -> Result<(), CliFailure> {
    let is_kept = journal.ledger().open_review(whole).is_some();
    if is_kept {
        journal.commit(&[Record::ReviewDone { fingerprint: whole.clone(), applied: Some(end) }]).await?;
    }
    Ok(())
}
