//! `stead stacks`: lists the units of the repository: each stack in each environment, with the order of an apply and
//! the place of its ledger; and the units whose stack or environment is gone. Sends no request to the service, and reads no
//! ledger but those that no stack has.

use clap::{Args, ValueEnum};

use crate::cli::args::OutputFormat;
use crate::cli::args::workspace::parse_pattern;
use crate::cli::command_context::CommandContext;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::ledger_settings;
use crate::cli::workspace::loaded_unit::WorkspaceUnit;
use crate::cli::workspace::units::{BaseRequest, RemovalRequest, SelectionRequest, Workspace};
use crate::cli::workspace::{problems, review};
use crate::report::units::graph::{
    render_unit_dot, render_unit_mermaid, render_unit_svg, render_unit_tree,
};
use crate::report::units::list::{UnitRow, stacks_document, units_table};
use crate::report::units::matrix::units_matrix;
use crate::workspace::changes::compare::StackChange;
use crate::workspace::selection::UnitPattern;

/// Command-line arguments of `stead stacks`.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead stacks\n  stead stacks -e prod --stacks './teams/**'\n  stead stacks --changed=origin/main\n  stead stacks --output json\n  stead stacks --output matrix    # for a GitHub workflow: include, and count\n  stead stacks --graph mermaid\n  stead stacks --graph svg > stacks.svg"
)]
pub struct StacksArgs {
    /// Only stacks like this: shop/prod, */prod, shop or ./teams/**; repeatable
    #[arg(long = "stacks", value_name = "GLOB", value_parser = parse_pattern)]
    pub patterns: Vec<UnitPattern>,
    /// Only stacks whose files differ from BASE, the target of the request in CI, else the default branch
    #[arg(long, value_name = "BASE", num_args = 0..=1, require_equals = true)]
    #[expect(clippy::option_option, reason = "the flag may be absent, without a value, or have one")]
    pub changed: Option<Option<String>>,
    /// Also the stacks that read outputs of the selected ones
    #[arg(long)]
    pub with_dependents: bool,
    /// Draw which unit reads outputs of which
    #[arg(long, value_name = "FORMAT")]
    pub graph: Option<UnitGraphFormat>,
}

/// Format of the graph of units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum UnitGraphFormat {
    /// A tree: each unit with its upstream units below it.
    Tree,
    /// A Mermaid flow chart, for Markdown.
    Mermaid,
    /// Graphviz source, for `dot`.
    Dot,
    /// An SVG image: a column for each wave.
    Svg,
}

/// Lists the selected units. Returns `Exit::Failed` if one of them has problems, which are printed.
///
/// # Errors
/// When there is no stack, or the selection names something that does not exist.
pub(in crate::cli) async fn run(session: &CommandContext, args: &StacksArgs) -> Result<Exit, CliFailure> {
    if session.ui.json && args.graph.is_some() {
        return Err(CliFailure::new(
            Exit::Usage,
            "a drawing is not a JSON document: --graph and --output exclude each other",
        )
        .help("Leave one of them out: --output json names the upstream units of each unit."));
    }
    let request = SelectionRequest {
        patterns: &args.patterns,
        with_dependents: args.with_dependents,
        changed: args.changed.as_ref().map(|base| BaseRequest { name: base.as_deref() }),
    };
    let workspace = session.open_workspace(&request, RemovalRequest::default()).await?;
    let rows: Vec<UnitRow> = workspace
        .units
        .iter()
        .enumerate()
        .filter(|(number, _)| workspace.selected.units.contains(number))
        .map(|(number, one)| unit_row(&workspace, one, workspace.graph.waves[number]))
        .collect();
    let style = session.ui.style;
    session.ui.write_result(&match args.graph {
        Some(UnitGraphFormat::Tree) => render_unit_tree(&rows, style.unicode),
        Some(UnitGraphFormat::Mermaid) => render_unit_mermaid(&rows),
        Some(UnitGraphFormat::Dot) => render_unit_dot(&rows),
        Some(UnitGraphFormat::Svg) => render_unit_svg(&rows),
        None if session.settings.output == OutputFormat::Matrix => {
            // A job cannot plan the removal of a unit, which must be named by hand.
            let present: Vec<UnitRow> =
                rows.iter().filter(|row| row.directory.is_some()).cloned().collect();
            units_matrix(&present)
        }
        None if session.ui.json => stacks_document(&rows),
        None => units_table(&rows).to_text("No unit is selected.", style),
    });
    review::print_left_out(session.ui, &workspace);
    Ok(if problems::report_problems(session.ui, &workspace) { Exit::Failed } else { Exit::Done })
}

fn unit_row(workspace: &Workspace, one: &WorkspaceUnit, wave: usize) -> UnitRow {
    let changes = workspace.changes.as_ref();
    let change = changes.and_then(|changes| {
        if one.unit.is_removed {
            Some(changes.has_removed(&one.unit))
        } else {
            changes.stacks.get(&one.unit.directory).map(StackChange::is_changed)
        }
    });
    let place = one.loaded.as_ref().ok().and_then(|project| {
        ledger_settings::ledger_location(&one.settings, &project.stack, &project.directory).ok()
    });
    let mut upstream: Vec<_> = one.unit.upstream.iter().map(|edge| edge.unit.clone()).collect();
    upstream.sort();
    upstream.dedup();
    UnitRow {
        stack: one.unit.name.stack.clone(),
        environment: one.unit.name.environment.clone(),
        directory: (!one.unit.is_removed).then(|| one.unit.directory.clone()),
        valid: one.loaded.is_ok(),
        upstream,
        wave,
        changed: change,
        ledger: place.map(|place| place.to_string()),
    }
}
