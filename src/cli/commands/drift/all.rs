//! `stead drift --all`: the drift of the selected units, from one read of each account. Unmanaged objects are not listed:
//! that is a question about a project, which several stacks may share.

use crate::cli::args::report::ReportTarget;
use crate::cli::args::workspace::UnitArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::workspace::planned_units::{UnitsOptions, WorkspacePlan};
use crate::cli::workspace::planning::{self, PlanPurpose};
use crate::cli::workspace::problems;
use crate::cli::workspace::review::{self, UnitOutcome};
use crate::cli::workspace::units::{BaseRequest, SelectionRequest, Workspace};
use crate::plan::artifact::drift_history::DriftHistoryDiff;
use crate::plan::decide::checks::lost_ledger;
use crate::plan::inputs::PlanningOptions;
use crate::plan::model::change::Plan;
use crate::report::units::review::UnitStatus;
use crate::report::views::drift::{self, DriftReport, OtherProjectCounts};

/// What the command line asks of the check.
pub(super) struct UnitsDriftRequest<'a> {
    pub(super) units: &'a UnitArgs,
    pub(super) exit_code: bool,
    pub(super) reports: &'a [ReportTarget],
    /// Returns a plan without what only an apply would need.
    pub(super) looked_at: fn(&Plan) -> Plan,
}

/// Codes of a drift check of many units, the first one that a unit has counts.
const DRIFT_EXITS: &[Exit] = &[Exit::Failed, Exit::Refused, Exit::Blocked, Exit::Drift];

/// Compares the live objects of the selected units with their ledgers.
///
/// # Errors
/// When there is no stack, or the selection is not accepted. The failures of single units are shown.
pub(super) async fn check_all(
    session: &CommandContext,
    request: &UnitsDriftRequest<'_>,
) -> Result<Exit, CliFailure> {
    let selection = SelectionRequest {
        patterns: &request.units.patterns,
        with_dependents: request.units.with_dependents,
        changed: request.units.changed.as_ref().map(|base| BaseRequest { name: base.as_deref() }),
    };
    let workspace = Workspace::open(&session.settings, &session.unit_settings, &selection)?;
    let planning = PlanningOptions { only_looks: true, ..PlanningOptions::default() };
    let options = UnitsOptions { planning, ..UnitsOptions::default() };
    let mut planned = Box::pin(planning::plan_units(&workspace, &options, PlanPurpose::Show)).await?;
    let mut outcomes = review::unit_reviews(&workspace, &planned, false);
    for outcome in &mut outcomes {
        judge_unit(outcome, &mut planned, request);
    }
    let shown = review::units_review(&workspace, &planned, &outcomes, false);
    session.report_files(request.reports).write_units(&shown, &|name| workspace.first_file(name), None)?;
    if session.ui.json {
        review::show_units(session.ui, &workspace, &planned, &shown);
    } else {
        print_pages(session, &workspace, &planned, &outcomes);
    }
    review::print_left_out(session.ui, &workspace);
    let exits: Vec<Exit> = outcomes.iter().map(|outcome| outcome.exit).collect();
    Ok(Exit::first_of(DRIFT_EXITS, &exits))
}

/// Sets status and exit code of a unit by its drift, and reduces its plan to what the check read.
fn judge_unit(outcome: &mut UnitOutcome, planned: &mut WorkspacePlan, request: &UnitsDriftRequest<'_>) {
    let Some(Ok(unit)) = planned.units.get_mut(&outcome.number) else { return };
    // Without its ledger, every object of the stack would be reported as unmanaged.
    if let Some(block) = lost_ledger::lost_ledger_blocker(&unit.ledger, &unit.plan) {
        let failure = CliFailure::new(Exit::Blocked, block.text).help(block.help);
        (outcome.status, outcome.exit) = (UnitStatus::Blocked, Exit::Blocked);
        outcome.failure = Some(failure);
        return;
    }
    unit.plan = (request.looked_at)(&unit.plan);
    let open = drift::count_undecided(&unit.plan.drift);
    outcome.status = if open > 0 { UnitStatus::Drifted } else { UnitStatus::Unchanged };
    outcome.exit = Exit::of_drift(open, request.exit_code);
}

/// Prints the drift of each unit: those with drift first, the others in one line each.
fn print_pages(
    session: &CommandContext,
    workspace: &Workspace,
    planned: &WorkspacePlan,
    outcomes: &[UnitOutcome],
) {
    let mut ordered: Vec<&UnitOutcome> = outcomes.iter().collect();
    ordered.sort_by_key(|outcome| (outcome.status, &workspace.units[outcome.number].unit.name));
    let memory = DriftHistoryDiff::default();
    for outcome in ordered {
        let name = &workspace.units[outcome.number].unit.name;
        let unit = planned.units.get(&outcome.number).and_then(|unit| unit.as_ref().ok());
        let (Some(unit), None) = (unit, &outcome.failure) else {
            if let Some(failure) = &outcome.failure {
                problems::print_failure(session.ui, &name.to_string(), failure);
            }
            continue;
        };
        let found = DriftReport {
            stack: &name.stack,
            environment: &name.environment,
            drift: &unit.plan.drift,
            unmanaged: &[],
            managed: unit.ledger.entries.len(),
            elsewhere: OtherProjectCounts { unread: true, ..OtherProjectCounts::default() },
            memory: &memory,
            notes: &unit.plan.notes,
        };
        session.ui.write_result(&drift::drift_page(&found, session.ui.style));
    }
}
