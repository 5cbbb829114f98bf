//! One phase of one unit of an apply of many units: opens its ledger, plans it again, and applies the plan if it fits the
//! reviewed one. In: the unit, its connection and the reviewed plan. Out: the exit code, and a line for the user.

use std::collections::BTreeSet;

use super::approval::RunApproval;
use super::request::ReviewedUnit;
use super::unit_apply::ApplyCommand;
use super::unit_outcome::{AppliedUnit, PhaseRuns};
use super::units_review::close_review;
use crate::cli::args::plan::ExecutionArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::ledger::ledger_io::{self, ExpectedLedger};
use crate::cli::planning::approval::PolicyOverrides;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::service::connection::StackConnection;
use crate::cli::stack::project::LoadedStack;
use crate::cli::workspace::loaded_unit::WorkspaceUnit;
use crate::cli::workspace::problems;
use crate::ledger::state::holder::ProcessIdentity;
use crate::ledger::state::open_review::ReviewEnd;
use crate::model::address::Name;
use crate::model::clock::Clock;
use crate::workspace::fit::UnitPhase;
use crate::workspace::unit::Unit;

/// A unit that is about to be applied.
pub(super) struct StartedUnit<'a> {
    pub(super) session: &'a CommandContext,
    pub(super) running: &'a ExecutionArgs,
    /// Policies that are overridden, and the reason.
    pub(super) overriding: PolicyOverrides<'a>,
    pub(super) one: &'a WorkspaceUnit,
    pub(super) project: &'a LoadedStack,
    pub(super) connection: &'a StackConnection,
    /// Processes that a person stated to be dead.
    pub(super) vouched: &'a [ProcessIdentity],
    /// Fingerprint of the review that the ledger keeps until the unit is done; `None` if it keeps none.
    pub(super) review: Option<&'a Name>,
    /// How its plan was approved, and the run to which it belongs.
    pub(super) approval: RunApproval,
    /// Takes its results.
    pub(super) phases: &'a PhaseRuns,
}

/// Applies a phase of a unit under its ledger's lock.
///
/// # Errors
/// When the ledger cannot be opened, or the plan is blocked or does not fit; nothing was sent then.
pub(super) async fn apply_phase(
    unit: &StartedUnit<'_>,
    reviewed: &ReviewedUnit<'_>,
) -> Result<Exit, CliFailure> {
    let context = unit.session.for_unit(&unit.one.settings);
    let overwrite = BTreeSet::new();
    let expected = ExpectedLedger::for_apply(unit.running.accept_older_ledger);
    let opening =
        ledger_io::open_journal_after(unit.project, unit.connection, &context.who, expected, unit.vouched);
    let journal = opening.await?;
    let command =
        ApplyCommand::new(&context, unit.project, unit.connection, &journal, unit.running, &overwrite);
    let applied = AppliedUnit { name: &unit.one.unit.name, phases: unit.phases };
    let command = command.approved(unit.approval.clone()).of_unit(applied).overriding(unit.overriding, "");
    let done = command.run_reviewed(reviewed).await;
    let is_last = reviewed.phase == UnitPhase::Deletions || !reviewed.holds_deletions;
    let done = match (unit.review, done) {
        (Some(review), Ok(Exit::Done)) if is_last => {
            let end = ReviewEnd {
                at: unit.connection.client.clock().now(),
                common: unit.approval.common.clone().unwrap_or_default(),
                config: Name::new(&reviewed.plan.base.config),
            };
            close_review(&journal, review, end).await.map(|()| Exit::Done)
        }
        (_, done) => done,
    };
    ledger_io::close_after(journal, done).await
}

/// Prints how a phase of a unit ended. `holds` says that its deletions wait for other units.
pub(super) fn report_end(
    session: &CommandContext,
    unit: &Unit,
    (phase, destroy, holds): (UnitPhase, bool, bool),
    result: &Result<Exit, CliFailure>,
) {
    if session.ui.json || session.ui.ndjson {
        return;
    }
    let name = &unit.name;
    match result {
        Ok(Exit::Done) => {
            let what = match phase {
                UnitPhase::Changes if holds && unit.is_removed => {
                    "waits for the units that use its objects"
                }
                UnitPhase::Changes if destroy || unit.is_removed => "destroyed",
                UnitPhase::Changes if holds => {
                    "applied; its deletions wait for the units that use the objects"
                }
                UnitPhase::Changes => "applied",
                UnitPhase::Deletions => "deleted what waited",
            };
            session.ui.hint(&format!("{name} {what}"));
        }
        Ok(exit) => session.ui.write_message(&format!("{name}: {}", exit.meaning())),
        Err(failure) => problems::print_failure(session.ui, &name.to_string(), failure),
    }
}
