//! `stead drift --all`: the drift of the selected units, and the objects of their accounts that are in no ledger, from one
//! read of each account.

use std::collections::BTreeMap;

use super::inventory::{review_accounts, unapplied_reason};
use crate::cli::args::report::ReportTarget;
use crate::cli::args::workspace::UnitArgs;
use crate::cli::artifacts::report_files::unit_drift;
use crate::cli::command_context::CommandContext;
use crate::cli::planning::key_rights;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::workspace::planned_units::{UnitsOptions, WorkspacePlan};
use crate::cli::workspace::planning::{self, PlanPurpose};
use crate::cli::workspace::problems;
use crate::cli::workspace::review::{self, UnitOutcome};
use crate::cli::workspace::units::{RemovalRequest, SelectionRequest, Workspace};
use crate::plan::artifact::drift_history::DriftHistoryDiff;
use crate::plan::decide::checks::lost_ledger;
use crate::plan::inputs::PlanningOptions;
use crate::plan::model::change::Plan;
use crate::plan::model::drift::count_live;
use crate::report::units::accounts::{UnappliedReason, UnitsDrift, accounts_page};
use crate::report::units::review::{UnitStatus, UnitsReview};
use crate::report::views::drift::{self, DriftReport};
use crate::workspace::unit::UnitName;

/// What the command line asks of the check.
pub(super) struct UnitsDriftRequest<'a> {
    pub(super) units: &'a UnitArgs,
    pub(super) exit_code: bool,
    pub(super) reports: &'a [ReportTarget],
    /// Returns a plan without what only an apply would need.
    pub(super) looked_at: fn(&Plan) -> Plan,
}

/// Compares the live objects of the selected units with their ledgers, and the objects of their accounts with all ledgers.
///
/// # Errors
/// When there is no stack, or the selection is not accepted. The failures of single units are shown.
pub(super) async fn check_all(
    session: &CommandContext,
    request: &UnitsDriftRequest<'_>,
) -> Result<Exit, CliFailure> {
    let selection = SelectionRequest::from(request.units);
    let workspace = session.open_workspace(&selection, RemovalRequest::default()).await?;
    let planning = PlanningOptions { only_looks: true, ..PlanningOptions::default() };
    let options = UnitsOptions { planning, ..UnitsOptions::default() };
    let mut planned = Box::pin(planning::plan_units(&workspace, &options, PlanPurpose::Inventory)).await?;
    let not_applied = not_applied(&workspace, &planned);
    let mut outcomes = review::unit_reviews(&workspace, &planned, false);
    let mut lost: Vec<UnitName> = Vec::new();
    for outcome in &mut outcomes {
        let not_readable = mark_not_readable(&mut planned, outcome.number).await;
        if judge_unit(outcome, &mut planned, not_readable, request) {
            lost.push(workspace.units[outcome.number].unit.name.clone());
        }
    }
    let accounts = Box::pin(review_accounts(&workspace, &mut planned, &lost)).await;
    let managed = planned
        .planned()
        .map(|(number, unit)| {
            let live = count_live(&unit.ledger, &unit.plan.drift);
            (workspace.units[number].unit.name.clone(), live)
        })
        .collect();
    let found = UnitsDrift { accounts, not_applied, managed };
    let shown = review::units_review(&workspace, &planned, &outcomes, false).with_drift(&found);
    session.report_files(request.reports, workspace.reads()).write_units(
        &shown,
        &|name| workspace.first_file(name),
        None,
    )?;
    if session.ui.json {
        review::show_units(session.ui, &workspace, &planned, &shown);
    } else {
        print_pages(session, &workspace, &shown, &outcomes);
        session.ui.write_result(&accounts_page(&found, session.ui.verbose, session.ui.style));
    }
    review::print_left_out(session.ui, &workspace);
    let unreadable = workspace.misses_stacks.then_some(Exit::Failed);
    let exits: Vec<Exit> = outcomes.iter().map(|outcome| outcome.exit).chain(unreadable).collect();
    Ok(Exit::of_units(&exits))
}

/// Returns the units that are not applied as configured. The plans must still have their changes.
fn not_applied(workspace: &Workspace, planned: &WorkspacePlan) -> BTreeMap<UnitName, UnappliedReason> {
    let reason = |(number, unit): (usize, &_)| {
        let one = &workspace.units[number];
        Some((one.unit.name.clone(), unapplied_reason(one, unit)?))
    };
    planned.planned().filter_map(reason).collect()
}

/// Sets status and exit code of a unit by its drift, and reduces its plan to what the check read. Returns whether its
/// ledger was lost.
fn judge_unit(
    outcome: &mut UnitOutcome,
    planned: &mut WorkspacePlan,
    not_readable: Option<CliFailure>,
    request: &UnitsDriftRequest<'_>,
) -> bool {
    let Some(Ok(unit)) = planned.units.get_mut(&outcome.number) else { return false };
    // Without its ledger, every object of the stack would be reported as unmanaged.
    if let Some(block) = lost_ledger::lost_ledger_blocker(&unit.ledger, &unit.plan) {
        let failure = CliFailure::new(Exit::Blocked, block.text).help(block.help);
        (outcome.status, outcome.exit) = (UnitStatus::Blocked, Exit::Blocked);
        outcome.failure = Some(failure);
        return true;
    }
    unit.plan = (request.looked_at)(&unit.plan);
    let open = drift::count_undecided(&unit.plan.drift);
    outcome.status = if open > 0 { UnitStatus::Drifted } else { UnitStatus::Unchanged };
    outcome.exit = Exit::of_drift(open, request.exit_code);
    if let Some(failure) = not_readable.filter(|_| open == 0) {
        (outcome.status, outcome.exit) = (UnitStatus::Failed, failure.exit);
        outcome.failure = Some(failure);
    }
    false
}

/// Marks the objects of a unit that the key of its account may not read; returns the failure that they are.
async fn mark_not_readable(planned: &mut WorkspacePlan, number: usize) -> Option<CliFailure> {
    let Some(Ok(unit)) = planned.units.get_mut(&number) else { return None };
    let (_, connection) = planned.accounts.get(&unit.account)?;
    key_rights::mark_not_readable(connection, &mut unit.plan, &unit.ledger).await
}

/// Prints the drift of each unit: those with drift first, the others in one line each.
fn print_pages(
    session: &CommandContext,
    workspace: &Workspace,
    shown: &UnitsReview<'_>,
    outcomes: &[UnitOutcome],
) {
    let memory = DriftHistoryDiff::default();
    let failures: BTreeMap<&UnitName, &CliFailure> = outcomes
        .iter()
        .filter_map(|one| Some((&workspace.units[one.number].unit.name, one.failure.as_ref()?)))
        .collect();
    for unit in shown.units() {
        if let Some(failure) = unit.name.unit().and_then(|name| failures.get(name)) {
            problems::print_failure(session.ui, &unit.name.to_string(), failure);
        } else if let Some(found) = unit_drift(shown, unit, &memory) {
            let found = DriftReport { verbose: session.ui.verbose, ..found };
            session.ui.write_result(&drift::drift_page(&found, session.ui.style));
        }
    }
    for unreadable in &workspace.unreadable {
        problems::print_failure(session.ui, &unreadable.directory, &unreadable.failure);
    }
}
