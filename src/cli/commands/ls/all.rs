//! `stead ls --all`: the managed objects of the selected units, from one read of each account.

use super::rows::{managed_rows, redact_objects};
use crate::cli::args::workspace::UnitArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::workspace::planned_units::{PlannedUnit, UnitsOptions, WorkspacePlan};
use crate::cli::workspace::planning::{self, PlanPurpose};
use crate::cli::workspace::review;
use crate::cli::workspace::unit_outputs::{self, UnitOutput};
use crate::cli::workspace::units::{RemovalRequest, SelectionRequest};
use crate::model::address::Name;
use crate::plan::inputs::PlanningOptions;
use crate::report::json::{ListDocument, ListSummary, ResultStatus};
use crate::report::text::table::{ReportTable, TableCell, TableColumn};
use crate::report::views::list;
use crate::report::views::list::ObjectSummary;

/// Lists the managed objects of the selected units: of some kinds, or of all if there are none.
///
/// # Errors
/// When there is no stack, or the selection is not accepted. The failures of single units are shown.
pub(super) async fn list_all(
    session: &CommandContext,
    units: &UnitArgs,
    (kinds, wide): (&[Name], bool),
) -> Result<Exit, CliFailure> {
    let selection = SelectionRequest::from(units);
    let workspace = session.open_workspace(&selection, RemovalRequest::default()).await?;
    let planning = PlanningOptions { only_looks: true, ..PlanningOptions::default() };
    let options = UnitsOptions { planning, ..UnitsOptions::default() };
    let mut planned = Box::pin(planning::plan_units(&workspace, &options, PlanPurpose::List)).await?;
    for (state, connection) in planned.accounts.values_mut() {
        redact_objects(connection, &mut state.snapshot);
    }
    let ui = session.ui;
    let mut outputs: Vec<UnitOutput<'_, ReportTable>> =
        workspace.unreadable.iter().map(UnitOutput::of_unreadable).collect();
    for (number, result) in &planned.units {
        let unit = &workspace.units[*number].unit;
        let result = result.as_ref().map_err(CliFailure::clone).map(|one| {
            let mut rows = unit_rows(&planned, one);
            rows.retain(|row| kinds.is_empty() || kinds.contains(&row.kind));
            (list::managed_table(&rows, wide), ResultStatus::Done, Exit::Done)
        });
        outputs.push(UnitOutput::of_unit(unit, result));
    }
    unit_outputs::sort_worst_first(&mut outputs);
    if ui.json {
        let tables = outputs.iter().filter_map(|output| output.result.as_ref().ok());
        let summary = ListSummary {
            units: outputs.len(),
            failed: unit_outputs::failed_count(&outputs),
            objects: tables.map(|(table, ..)| table.rows.len()).sum(),
        };
        let document =
            unit_outputs::document(&outputs, &summary, |table| ListDocument::new("resources", table));
        ui.write_result(&document);
    } else {
        // What a unit that failed has is not known.
        let table = one_table(&outputs, wide);
        if !table.rows.is_empty() || unit_outputs::failed_count(&outputs) == 0 {
            ui.write_result(&table.to_text("Nothing is managed yet.", ui.style));
        }
        unit_outputs::print_failures(ui, &outputs);
    }
    review::print_left_out(ui, &workspace);
    Ok(unit_outputs::exit_of(&outputs))
}

fn unit_rows(planned: &WorkspacePlan, unit: &PlannedUnit) -> Vec<ObjectSummary> {
    let live = planned.accounts.get(&unit.account).map(|(state, _)| state);
    live.map(|live| managed_rows(&unit.ledger, &live.snapshot, &live.catalog)).unwrap_or_default()
}

/// Returns the rows of all units in one table, each with its unit.
fn one_table(outputs: &[UnitOutput<'_, ReportTable>], wide: bool) -> ReportTable {
    let mut table = list::managed_table(&[], wide);
    table.columns.insert(0, TableColumn::text("unit"));
    for output in outputs {
        let (Ok((own, ..)), Some(stack), Some(environment)) =
            (&output.result, output.stack, output.environment)
        else {
            continue;
        };
        let unit = || TableCell::Text(format!("{stack}/{environment}"));
        let rows = own.rows.iter().map(|row| std::iter::once(unit()).chain(row.iter().cloned()).collect());
        table.rows.extend(rows);
    }
    table
}
