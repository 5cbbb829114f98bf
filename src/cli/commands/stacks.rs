//! `stead stacks`: lists the units of the repository: each stack in each environment, with the order of an apply and
//! the place of its ledger. Sends no request, and reads no ledger.

use clap::Args;

use crate::cli::args::workspace::parse_pattern;
use crate::cli::command_context::CommandContext;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::ledger_settings;
use crate::cli::workspace::loaded_unit::WorkspaceUnit;
use crate::cli::workspace::problems;
use crate::cli::workspace::units::{SelectionRequest, Workspace};
use crate::report::text::phrases::count_noun;
use crate::report::units::list::{UnitRow, stacks_document, units_table};
use crate::workspace::selection::UnitPattern;

/// Command-line arguments of `stead stacks`.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead stacks\n  stead stacks -e prod --stacks './teams/**'\n  stead stacks --output json"
)]
pub struct StacksArgs {
    /// Only stacks like this: shop/prod, */prod, shop or ./teams/**; repeatable
    #[arg(long = "stacks", value_name = "GLOB", value_parser = parse_pattern)]
    pub patterns: Vec<UnitPattern>,
    /// Also the stacks that read outputs of the selected ones
    #[arg(long)]
    pub with_dependents: bool,
}

/// Lists the selected units. Returns `Exit::Failed` if one of them has problems, which are printed.
///
/// # Errors
/// When there is no stack, or the selection names something that does not exist.
pub(in crate::cli) fn run(session: &CommandContext, args: &StacksArgs) -> Result<Exit, CliFailure> {
    let request =
        SelectionRequest { patterns: &args.patterns, with_dependents: args.with_dependents, changed: None };
    let settings = &session.settings;
    let workspace = Workspace::open(settings, &session.unit_settings, &request)?;
    let rows: Vec<UnitRow> = workspace
        .units
        .iter()
        .enumerate()
        .filter(|(number, _)| workspace.selected.units.contains(number))
        .map(|(number, one)| unit_row(one, workspace.graph.waves[number]))
        .collect();
    session.ui.write_result(&if session.ui.json {
        stacks_document(&rows)
    } else {
        units_table(&rows).to_text("No unit is selected.", session.ui.style)
    });
    if workspace.selected.without_environments > 0 {
        let count = count_noun(workspace.selected.without_environments, "stack");
        session.ui.hint(&format!("{count} without environments left out by -e"));
    }
    Ok(if problems::report_problems(session.ui, &workspace) { Exit::Failed } else { Exit::Done })
}

fn unit_row(one: &WorkspaceUnit, wave: usize) -> UnitRow {
    let place = one.loaded.as_ref().ok().and_then(|project| {
        ledger_settings::ledger_location(&one.settings, &project.stack, &project.directory).ok()
    });
    let mut upstream: Vec<_> = one.unit.upstream.iter().map(|edge| edge.unit.clone()).collect();
    upstream.sort();
    upstream.dedup();
    UnitRow {
        stack: one.unit.name.stack.clone(),
        environment: one.unit.name.environment.clone(),
        directory: one.unit.directory.clone(),
        upstream,
        wave,
        changed: None,
        ledger: place.map(|place| place.to_string()),
    }
}
