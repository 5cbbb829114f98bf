//! The plans of many units for an apply. In: the selected units, and the fingerprint that was approved. Out: their plans. What
//! an earlier attempt left open is resolved first where a plan depends on it: an object whose creation was interrupted may
//! look like one of somebody else until then, and an interrupted move blocks both of its stacks. Sends only reads.

use std::collections::BTreeSet;

use super::request::UnitsApplyRequest;
use super::unit_apply::ApplyCommand;
use super::unit_outcome::{AppliedUnit, PhaseRuns};
use crate::cli::command_context::CommandContext;
use crate::cli::ledger::ledger_io::{self, ExpectedLedger};
use crate::cli::process::failure::CliFailure;
use crate::cli::workspace::accounts::OpenAccounts;
use crate::cli::workspace::planned_units::{PlannedUnit, UnitsOptions, WorkspacePlan};
use crate::cli::workspace::planning::{self, PlanPurpose};
use crate::cli::workspace::units::Workspace;

/// Plans the selected units, after requests and moves that an earlier attempt left open are resolved; not where the plans are the
/// approved ones as they are.
///
/// # Errors
/// When the plans have no fingerprint.
pub(super) async fn plan_for_apply(
    session: &CommandContext,
    workspace: &Workspace,
    options: &UnitsOptions,
    request: &UnitsApplyRequest<'_>,
) -> Result<WorkspacePlan, CliFailure> {
    let planned = Box::pin(planning::plan_units(workspace, options, PlanPurpose::Show)).await?;
    let is_approved = request.expected.is_some_and(|expected| *expected == planned.fingerprint);
    let is_open = |unit: &PlannedUnit| !unit.ledger.intents.is_empty() || unit.ledger.transfers.is_open();
    let is_blocked = |unit: &PlannedUnit| unit.plan.is_blocked(&BTreeSet::new());
    let open: Vec<usize> =
        planned.planned().filter(|(_, unit)| is_open(unit)).map(|(number, _)| number).collect();
    if open.is_empty() || (is_approved && !planned.planned().any(|(_, unit)| is_blocked(unit))) {
        return Ok(planned);
    }
    resolve_units(session, workspace, open, request).await;
    Box::pin(planning::plan_units(workspace, options, PlanPurpose::Show)).await
}

/// Resolves what an earlier attempt left open in some units. The accounts are closed at the end: a built-in cloud has its
/// data open until then, and the next plan of this process could not open it.
async fn resolve_units(
    session: &CommandContext,
    workspace: &Workspace,
    units: Vec<usize>,
    request: &UnitsApplyRequest<'_>,
) {
    let mut accounts = OpenAccounts::default();
    for number in units {
        // What cannot be resolved now is reported when the unit starts, or blocks its plan.
        let _ = Box::pin(resolve_unit(session, workspace, &mut accounts, (number, request))).await;
    }
}

/// Resolves what an earlier attempt left open in one unit.
async fn resolve_unit(
    session: &CommandContext,
    workspace: &Workspace,
    accounts: &mut OpenAccounts,
    (number, request): (usize, &UnitsApplyRequest<'_>),
) -> Result<(), CliFailure> {
    let one = &workspace.units[number];
    let project = one.loaded.as_ref().map_err(CliFailure::clone)?;
    let (_, connection) = accounts.connect(one, project)?;
    let context = session.for_unit(&one.settings);
    let expected = ExpectedLedger::for_apply(request.running.accept_older_ledger);
    let journal = ledger_io::open_journal(project, &connection, &context.who, expected).await?;
    let overwrite = BTreeSet::new();
    let command = ApplyCommand::new(&context, project, &connection, &journal, request.running, &overwrite);
    // It runs no plan, so that it has no results.
    let applied = AppliedUnit { name: &one.unit.name, phases: &PhaseRuns::default() };
    let resolved = command.of_unit(applied).resolve_open_intents().await;
    ledger_io::close_after(journal, resolved).await
}
