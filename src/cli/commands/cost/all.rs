//! `stead cost --all`: the monthly cost of the selected units, from one read of each account, and their sums. Resources
//! without a known price are counted, and are in no sum.

use rust_decimal::Decimal;

use super::bills::{bill_offline, now_and_then};
use crate::cli::args::workspace::UnitArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::commands::{ls, testing};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::workspace::loaded_unit::WorkspaceUnit;
use crate::cli::workspace::planned_units::{PlannedUnit, UnitsOptions};
use crate::cli::workspace::planning::{self, PlanPurpose};
use crate::cli::workspace::review;
use crate::cli::workspace::unit_outputs::{self, UnitOutput};
use crate::cli::workspace::units::{RemovalRequest, SelectionRequest, Workspace};
use crate::report::json::{CostSummary, ResultStatus};
use crate::report::views::cost::{self, CostDocument, CostReport};

/// Prints the monthly cost of the selected units, in USD; with `offline`, from the configuration alone.
///
/// # Errors
/// When there is no stack, or the selection is not accepted. The failures of single units are shown.
pub(super) async fn cost_all(
    session: &CommandContext,
    units: &UnitArgs,
    offline: bool,
) -> Result<Exit, CliFailure> {
    let selection = SelectionRequest::from(units);
    let workspace = if offline {
        // Removed units have no configuration.
        Workspace::open(&session.settings, &session.unit_settings, &selection)?
    } else {
        session.open_workspace(&selection, RemovalRequest::default()).await?
    };
    let mut outputs: Vec<UnitOutput<'_, CostReport>> =
        workspace.unreadable.iter().map(UnitOutput::of_unreadable).collect();
    let bills =
        if offline { offline_bills(&workspace) } else { Box::pin(planned_bills(&workspace)).await? };
    for (number, bill) in bills {
        let result = bill.map(|bill| (bill, ResultStatus::Done, Exit::Done));
        outputs.push(UnitOutput::of_unit(&workspace.units[number].unit, result));
    }
    unit_outputs::sort_worst_first(&mut outputs);
    let known: Vec<&CostReport> =
        outputs.iter().filter_map(|output| Some(&output.result.as_ref().ok()?.0)).collect();
    let ui = session.ui;
    if ui.json {
        let before: Decimal = known.iter().filter_map(|bill| Some(bill.first.as_ref()?.total)).sum();
        let after = known.iter().map(|bill| bill.second.total).sum();
        let unpriced = known.iter().map(|bill| bill.unpriced).sum();
        let counts = (outputs.len(), unit_outputs::failed_count(&outputs));
        let summary = CostSummary::new(counts, (!offline).then_some(before), (after, unpriced));
        ui.write_result(&unit_outputs::document(&outputs, &summary, CostDocument::new));
    } else {
        if ui.verbose {
            for bill in &known {
                ui.write_result(&(cost::cost_page(bill, ui.style) + "\n"));
            }
        }
        if !known.is_empty() {
            let failed = unit_outputs::failed_count(&outputs);
            ui.write_result(&cost::units_cost_page(&known, failed, ui.style));
        }
        unit_outputs::print_failures(ui, &outputs);
    }
    review::print_left_out(ui, &workspace);
    Ok(unit_outputs::exit_of(&outputs))
}

/// Bill or failure by the number of the unit.
type UnitBills = Vec<(usize, Result<CostReport, CliFailure>)>;

fn offline_bills(workspace: &Workspace) -> UnitBills {
    let bill = |(number, one): (usize, &WorkspaceUnit)| {
        let planned = match &one.loaded {
            Ok(_) => testing::plan_empty_world(&one.settings, true),
            Err(failure) => Err(failure.clone()),
        };
        (number, planned.map(|plan| bill_offline(&plan)))
    };
    workspace.selected_units().map(bill).collect()
}

async fn planned_bills(workspace: &Workspace) -> Result<UnitBills, CliFailure> {
    let options = UnitsOptions::default();
    let planned = Box::pin(planning::plan_units(workspace, &options, PlanPurpose::List)).await?;
    let bill = |(number, result): (&usize, &Result<PlannedUnit, CliFailure>)| {
        let bill = result.as_ref().map_err(CliFailure::clone).map(|unit| {
            let live = planned.accounts.get(&unit.account).map(|(state, _)| state);
            let owned = live.map(|live| ls::managed_rows(&unit.ledger, &live.snapshot, &live.catalog));
            now_and_then(&unit.plan, &owned.unwrap_or_default())
        });
        (*number, bill)
    };
    Ok(planned.units.iter().map(bill).collect())
}
