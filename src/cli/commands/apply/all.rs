//! `stead apply --all` and `stead destroy --all`: plans the selected units together, gets one approval, and applies each unit
//! when the units that it waits for have made their changes. A unit is planned again then, and runs only if its plan fits
//! the reviewed one. Deletions of what other units still use come last.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::join::join_run;
use super::request::{ApplyArgs, UnitsApplyRequest, apply_file_command};
use super::units_approval::{ask_approval, check_approval_flags};
use super::units_outcome::{RunResults, finish};
use super::units_planning::plan_for_apply;
use super::units_review::{
    ApprovedPlans, ExpectedReview, KeptReview, ReviewFingerprints, check_expected, check_reviewed_inputs,
};
use super::units_run::UnitsRun;
use crate::cli::args::plan::OverrideArgs;
use crate::cli::args::report;
use crate::cli::artifacts::plan_set::LoadedPlanSet;
use crate::cli::artifacts::reviewed_plan::{read_reviewed, show_review_difference};
use crate::cli::artifacts::{plan_file, plan_set};
use crate::cli::command_context::CommandContext;
use crate::cli::planning::approval::{PolicyOverrides, plan_again};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::settings::Settings;
use crate::cli::workspace::loaded_unit::{WorkspaceUnit, loaded_stack};
use crate::cli::workspace::planned_units::{UnitsOptions, WorkspacePlan};
use crate::cli::workspace::review::{self, UnitOutcome};
use crate::cli::workspace::units::{RemovalRequest, SelectionRequest, Workspace};
use crate::cloud::system_clock::SystemClock;
use crate::model::address::Name;
use crate::model::clock::Clock;
use crate::plan::artifact::saved_plan::SavedPlan;
use crate::plan::inputs::PlanningOptions;
use crate::plan::model::change::Plan;
use crate::report::text::phrases;
use crate::report::units::review::UnitsReview;
use crate::workspace::unit::UnitName;

/// How many units a message names before it counts the rest.
const MAX_NAMED_UNITS: usize = 5;

/// Plans and applies the selected units, or destroys them.
///
/// # Errors
/// When the selection, a flag or the approval is not accepted, or the plans are not those that were approved.
pub(in crate::cli) async fn apply_all(
    session: &CommandContext,
    request: UnitsApplyRequest<'_>,
) -> Result<Exit, CliFailure> {
    review::reject_single_stack_flags(request.scope, if request.destroy { "destroy" } else { "apply" })?;
    let selection = SelectionRequest::from(request.units);
    let removal = RemovalRequest::for_plan(request.removals, request.destroy);
    let workspace = session.open_workspace(&selection, removal).await?;
    let options = planning_options(session, &workspace, &request)?;
    if let Some(run) = request.join {
        return Box::pin(join_run(session, &request, &workspace, &options, (run, None))).await;
    }
    check_approval_flags(session, &request, &workspace)?;
    let reviewed = read_reviewed(&session.settings, request.against)?;
    let planned = Box::pin(plan_for_apply(session, &workspace, &options, &request)).await?;
    let outcomes = review::unit_reviews(&workspace, &planned, false);
    show_plans(session, &request, &workspace, (&planned, &outcomes))?;
    planned.require_applicable(&workspace, request.running.accept_older_ledger)?;
    let plan_command = session.command_line(&request.format_plan_command());
    let expected = (request.expected, plan_command.as_str());
    let expected = check_expected(&workspace, &planned, expected).map_err(|failure| {
        let plans = planned.planned().map(|(_, unit)| &unit.plan);
        failure.with_differences(show_review_difference(&session.ui, reviewed.as_ref(), plans))
    })?;
    let kept = match expected {
        ExpectedReview::Planned => None,
        ExpectedReview::Continued(kept) => Some(kept),
        ExpectedReview::Applied(text) => {
            session.ui.hint(&text);
            let results = RunResults::default();
            return Ok(finish(session, &request, (&workspace, &planned), outcomes, &results));
        }
    };
    if let Some(kept) = &kept {
        session.ui.hint(&kept.describe());
    }
    // A destroy that is repeated goes on by itself.
    let is_kept = !request.destroy && request.yes.is_none();
    let fingerprints = is_kept.then(|| ReviewFingerprints::of_planned(&workspace, &planned));
    let planned_now = || ApprovedPlans { fingerprints, ..ApprovedPlans::default() };
    let approved = kept.as_ref().map_or_else(planned_now, KeptReview::approved_plans);
    let run = UnitsRun::new(&workspace, &planned, approved, request.destroy);
    if run.units.is_empty() {
        let results = RunResults::default();
        return Ok(finish(session, &request, (&workspace, &planned), outcomes, &results));
    }
    if request.destroy {
        session.ui.hint("Readers in other repositories are not known.");
    }
    if !ask_approval(session, &request, &workspace, &run).await? {
        let action = if request.destroy { "deleted" } else { "applied" };
        session.ui.write_message(&format!("Nothing was {action}."));
        return Ok(Exit::Failed);
    }
    let results = run.execute(session, &request).await?;
    let exit = finish(session, &request, (&workspace, &planned), outcomes, &results);
    // What has no plan is not in the review, so the review does not continue with it.
    if let Some(review) = run.approved.fingerprints.as_ref().filter(|_| results.has_unfinished()) {
        let again = format!("{} --expect {}", request.format_command(), review.whole);
        session.next(&again, "continues with what is not done");
    }
    Ok(exit)
}

/// Returns the options of the plans.
fn planning_options(
    session: &CommandContext,
    workspace: &Workspace,
    request: &UnitsApplyRequest<'_>,
) -> Result<UnitsOptions, CliFailure> {
    let mut options = review::units_options(workspace, request.scope, request.readers, request.destroy)?;
    options.planning.wants_values = report::shows_whole(&request.running.reports.wanted);
    options.planning.overrides = check_overrides(workspace, request.overriding)?;
    options.planning.apply_command = session.command_line(&request.format_command());
    Ok(options)
}

/// Returns the overridden policies, each of which one of the selected units must have.
fn check_overrides(workspace: &Workspace, args: &OverrideArgs) -> Result<BTreeSet<Name>, CliFailure> {
    let overriding = PolicyOverrides(Some(args));
    let stacks = workspace.selected_units().filter_map(|(_, one)| loaded_stack(one));
    overriding.check_policies(stacks)?;
    Ok(overriding.policy_names())
}

/// Shows the plans, writes the reports, and says what the selection leaves out.
fn show_plans(
    session: &CommandContext,
    request: &UnitsApplyRequest<'_>,
    workspace: &Workspace,
    (planned, outcomes): (&WorkspacePlan, &[UnitOutcome]),
) -> Result<(), CliFailure> {
    let shown = write_reports(session, request, workspace, (planned, outcomes))?;
    if !(session.ui.json || session.ui.ndjson) {
        review::show_units(session.ui, workspace, planned, &shown);
    }
    review::print_left_out(session.ui, workspace);
    review::print_left_out_readers(session.ui, planned);
    Ok(())
}

/// Writes the reports of the plans, and returns what they show.
fn write_reports<'r>(
    session: &CommandContext,
    request: &UnitsApplyRequest<'_>,
    workspace: &'r Workspace,
    (planned, outcomes): (&'r WorkspacePlan, &'r [UnitOutcome]),
) -> Result<UnitsReview<'r>, CliFailure> {
    let shown = review::units_review(workspace, planned, outcomes, request.destroy);
    let reports = session.report_files(&request.running.reports.wanted, workspace.reads());
    reports.write_units(&shown, &|name| workspace.first_file(name), None)?;
    Ok(shown)
}

/// Applies a set of saved plans: each unit only as its plan shows. A set can be applied again after a part of it failed:
/// units that are done have nothing left to do.
///
/// # Errors
/// When the set was changed or is out of date, or one of its units is not in the repository.
pub(super) async fn apply_set(
    session: &CommandContext,
    directory: &Path,
    args: &ApplyArgs,
) -> Result<Exit, CliFailure> {
    let set = plan_set::read_set(&session.settings, directory, args.verify_key.as_deref())?;
    session.ui.hint(&format!("The set of plans is {}.", set.signer));
    warn_of_failed_units(session, &set);
    if let Some(expected) = args.expect.as_ref().filter(|expected| **expected != set.fingerprint) {
        let what = format!("the set of plans has the fingerprint {}, not {expected}", set.fingerprint);
        return Err(CliFailure::new(Exit::OutOfDate, what).help(
            "Nothing was sent. Take the directory of the plans that were reviewed, or review these.",
        ));
    }
    reject_other_environments(session, &set)?;
    for saved in set.plans.values() {
        let checked = saved.check_time(SystemClock.now(), plan_file::STEAD_VERSION);
        checked.map_err(|stale| plan_again(&stale))?;
    }
    let settings = Settings { env: None, ..session.settings.clone() };
    let is_removal = |saved: &SavedPlan| saved.plan.base.destroy && !set.destroy;
    let removed = set.plans.iter().filter(|(_, saved)| is_removal(saved));
    let removed: Vec<UnitName> = removed.map(|(name, _)| name.clone()).collect();
    let removal = RemovalRequest::for_plan(&removed, set.destroy);
    let everything = SelectionRequest::default();
    let opened = Workspace::open_with_removed(&settings, &session.unit_settings, &everything, removal);
    let mut workspace = Box::pin(opened).await?;
    let reviewed = numbered_plans(&set, &workspace)?;
    workspace.selected.units = reviewed.keys().copied().collect();
    workspace.limits.has_patterns = true;
    // What the set was reviewed with: it has no plan that was blocked.
    let planning = PlanningOptions {
        destroy: set.destroy,
        allow_deletes: true,
        overrides: check_overrides(&workspace, &args.overriding)?,
        apply_command: session.command_line(&apply_file_command(directory)),
        ..PlanningOptions::default()
    };
    let requested = || set.plans.iter().map(|(name, saved)| (name.clone(), &saved.binding.requested));
    let options = UnitsOptions {
        planning,
        replacements: requested().map(|(name, options)| (name, options.replace.clone())).collect(),
        deleted_data: requested().map(|(name, options)| (name, options.delete_data.clone())).collect(),
        forces_all_readers: true,
        ..UnitsOptions::default()
    };
    let request = UnitsApplyRequest { destroy: set.destroy, ..UnitsApplyRequest::from(args) };
    if let Some(run) = request.join {
        let saved = Some((set.fingerprint.as_str(), &reviewed));
        return Box::pin(join_run(session, &request, &workspace, &options, (run, saved))).await;
    }
    let planned = Box::pin(plan_for_apply(session, &workspace, &options, &request)).await?;
    planned.require_applicable(&workspace, request.running.accept_older_ledger)?;
    check_reviewed_inputs(&workspace, &planned, &reviewed)?;
    let outcomes = review::unit_reviews(&workspace, &planned, false);
    write_reports(session, &request, &workspace, (&planned, &outcomes))?;
    let approved = ApprovedPlans::of_set(&workspace, &planned, (&set.fingerprint, set.destroy), reviewed);
    let run = UnitsRun::new(&workspace, &planned, approved, set.destroy);
    let results = run.execute(session, &request).await?;
    let exit = finish(session, &request, (&workspace, &planned), outcomes, &results);
    let missing = set.failed.iter().map(|_| Exit::Failed);
    let exits: Vec<Exit> = std::iter::once(exit).chain(missing).collect();
    Ok(Exit::of_applied_units(&exits, results.has_changes()))
}

/// Says which units could not be planned when the set was made: they are not done at the end.
fn warn_of_failed_units(session: &CommandContext, set: &LoadedPlanSet) {
    if set.failed.is_empty() {
        return;
    }
    let failed = phrases::join_words(set.failed.iter().map(ToString::to_string), MAX_NAMED_UNITS);
    session.ui.write_message(&format!("The set has no plan of {failed}: planning failed there."));
}

/// Refuses an environment that is not that of all plans of a set: it is applied as it was reviewed, and not a part of it.
fn reject_other_environments(session: &CommandContext, set: &LoadedPlanSet) -> Result<(), CliFailure> {
    let Some(wanted) = &session.settings.env else { return Ok(()) };
    let others: Vec<String> =
        set.plans.keys().filter(|name| name.environment != *wanted).map(ToString::to_string).collect();
    if others.is_empty() {
        return Ok(());
    }
    let what = format!("-e {wanted}: the set has plans of {}", others.join(", "));
    Err(CliFailure::new(Exit::Usage, what)
        .help("Nothing was sent. A set is applied as a whole: leave -e (STEAD_ENV) out.")
        .help(format!("For one environment, make a set of it: stead plan --all -e {wanted} -o DIRECTORY")))
}

/// Returns the plans of a set by the numbers of their units.
fn numbered_plans<'s>(
    set: &'s LoadedPlanSet,
    workspace: &Workspace,
) -> Result<BTreeMap<usize, &'s Plan>, CliFailure> {
    let mut reviewed = BTreeMap::new();
    for (name, saved) in &set.plans {
        // A removed unit whose ledger is empty is done.
        let is_known = |one: &WorkspaceUnit| one.unit.name == *name;
        let is_removal = saved.plan.base.destroy && !set.destroy;
        if is_removal && !workspace.units.iter().any(is_known) {
            continue;
        }
        let number = workspace.units.iter().position(is_known).ok_or_else(|| {
            CliFailure::new(Exit::OutOfDate, format!("{name} of the set is not in this repository"))
                .help("Nothing was sent. Check out the commit that was planned.")
        })?;
        reviewed.insert(number, &saved.plan);
    }
    Ok(reviewed)
}

#[cfg(test)]
mod tests;
