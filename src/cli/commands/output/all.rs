//! `stead output --all`: the outputs of the selected units, by unit. The failure of a unit hides no other.

use super::document::{OutputsDocument, OutputsSummary};
use super::recorded::{OutputQuery, RecordedOutputs, add_outputs, read_outputs};
use crate::cli::args::workspace::UnitArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::workspace::loaded_unit::WorkspaceUnit;
use crate::cli::workspace::review;
use crate::cli::workspace::unit_outputs::{self, UnitOutput};
use crate::cli::workspace::units::{RemovalRequest, SelectionRequest};
use crate::report::json::ResultStatus;
use crate::report::text::page::{TextLine, TextPage};
use crate::report::text::style::TextRole;

/// Prints the outputs of the selected units; with a name, that output of each.
///
/// # Errors
/// When there is no stack, or the selection is not accepted. The failures of single units are shown.
pub(super) async fn print_all(
    session: &CommandContext,
    units: &UnitArgs,
    query: &OutputQuery,
) -> Result<Exit, CliFailure> {
    let selection = SelectionRequest::from(units);
    let workspace = session.open_workspace(&selection, RemovalRequest::default()).await?;
    let mut results: Vec<UnitOutput<'_, RecordedOutputs>> =
        workspace.unreadable.iter().map(UnitOutput::of_unreadable).collect();
    for (_, one) in workspace.selected_units() {
        let read = Box::pin(unit_outputs_of(one, query)).await;
        let read = read.map_err(|failure| failure.for_stack(&one.settings));
        let result = read.map(|recorded| (recorded, ResultStatus::Done, Exit::Done));
        results.push(UnitOutput::of_unit(&one.unit, result));
    }
    unit_outputs::sort_worst_first(&mut results);
    let ui = session.ui;
    let known = || results.iter().filter_map(|one| one.result.as_ref().ok()).map(|(recorded, ..)| recorded);
    if ui.json || ui.ndjson {
        let summary = OutputsSummary {
            units: results.len(),
            failed: unit_outputs::failed_count(&results),
            outputs: known().map(|recorded| recorded.outputs.len()).sum(),
        };
        ui.write_result(&unit_outputs::document(&results, &summary, OutputsDocument::new));
    } else {
        let mut page = TextPage::new(ui.style);
        for recorded in known() {
            let unit = format!("{}/{}", recorded.stack, recorded.environment);
            page.add_line(TextLine::indent(0).push_styled(TextRole::Strong, unit));
            add_outputs(&mut page, 2, &recorded.outputs);
        }
        ui.write_result(&page.finish());
        unit_outputs::print_failures(ui, &results);
    }
    review::print_left_out(ui, &workspace);
    Ok(unit_outputs::exit_of(&results))
}

/// Reads the outputs of a unit from its ledger, also if its configuration has errors. Without recorded outputs, the errors are the
/// failure: an apply would meet them.
async fn unit_outputs_of(one: &WorkspaceUnit, query: &OutputQuery) -> Result<RecordedOutputs, CliFailure> {
    let read = read_outputs(&one.header(), query).await;
    read.map_err(|failure| one.loaded.as_ref().err().cloned().unwrap_or(failure))
}
