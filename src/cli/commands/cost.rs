//! `stead cost`: the monthly cost of a stack by resource: of an environment before and after an apply, of two
//! environments, or of a saved plan.

mod all;
mod bills;

use std::path::PathBuf;

use clap::Args;

use self::bills::{bill_after_apply, bill_from_plan, bill_offline, now_and_then};
use crate::cli::args::workspace::UnitArgs;
use crate::cli::artifacts::plan_file;
use crate::cli::command_context::CommandContext;
use crate::cli::commands::ls;
use crate::cli::commands::testing;
use crate::cli::files::stack_files;
use crate::cli::ledger::ledger_io;
use crate::cli::planning::refresh;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::settings::Settings;
use crate::cli::stack::lock_file::read_pinned_names;
use crate::model::address::Name;
use crate::plan::inputs::PlanningOptions;
use crate::plan::model::change::Plan;
use crate::report::views::cost::{self, CostReport};
use crate::report::views::list::ObjectSummary;

/// Command-line arguments of `stead cost`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead cost -e prod\n  stead cost -e prod --vs staging\n  stead cost prod.plan\n  stead cost --offline\n  stead cost --all -e prod"
)]
pub struct CostArgs {
    /// A saved plan; without it, the environment before and after an apply
    #[arg(value_name = "FILE", conflicts_with_all = ["vs", "offline", "all"])]
    pub file: Option<PathBuf>,
    /// Compare with another environment, each after an apply
    #[arg(long, value_name = "ENV", conflicts_with = "all")]
    pub vs: Option<Name>,
    /// Send no request: use the configuration and the prices of the built-in cloud
    #[arg(long)]
    pub offline: bool,
    /// Stacks that the command covers.
    #[command(flatten)]
    pub units: UnitArgs,
}

/// Prints the monthly cost, in USD.
///
/// # Errors
/// When the stack has errors, the file is not a plan, or the service or the ledger cannot be read.
pub(in crate::cli) async fn run(session: &CommandContext, args: &CostArgs) -> Result<Exit, CliFailure> {
    if args.units.all {
        return Box::pin(all::cost_all(session, &args.units, args.offline)).await;
    }
    let bill = if let Some(file) = &args.file {
        let plan = plan_file::read_unverified(file)?.plan;
        now_and_then(&plan, &[])
    } else {
        let (plan, owned) = plan_environment(session, &session.settings, args.offline).await?;
        match &args.vs {
            None if args.offline => bill_offline(&plan),
            None => now_and_then(&plan, &owned),
            Some(other) => {
                let settings = Settings { env: Some(other.clone()), ..session.settings.clone() };
                let (beside, theirs) = plan_environment(session, &settings, args.offline).await?;
                let first = bill_after_apply(&beside, &theirs, beside.base.environment.clone());
                let second = bill_after_apply(&plan, &owned, plan.base.environment.clone());
                CostReport { first: Some(first), second, ..bill_from_plan(&plan) }
            }
        }
    };
    let bill = CostReport { built_in: args.offline, ..bill };
    let ui = &session.ui;
    ui.write_result(&if ui.json { cost::cost_document(&bill) } else { cost::cost_page(&bill, ui.style) });
    if let Some(file) = args.file.as_ref().filter(|_| !ui.json) {
        ui.hint(&format!(
            "note: {} contains the changes only; unchanged resources count in the total only",
            stack_files::display_path(file)
        ));
    }
    Ok(Exit::Done)
}

/// Plans an environment; returns the plan, and the objects that its ledger owns. Offline, the plan creates
/// everything and no object is owned.
async fn plan_environment(
    session: &CommandContext,
    settings: &Settings,
    offline: bool,
) -> Result<(Plan, Vec<ObjectSummary>), CliFailure> {
    if offline {
        return Ok((testing::plan_empty_world(settings, false)?, Vec::new()));
    }
    let project = session.open_with(settings)?;
    let connection = session.connect(&project)?;
    let ledger = ledger_io::read_ledger(&project, &connection).await?;
    let pinned = read_pinned_names(&connection.lock_file)?;
    let options = PlanningOptions { project: settings.project.clone(), ..PlanningOptions::default() };
    let (plan, world) =
        refresh::read_and_plan(&connection, &project, &ledger, &options, pinned.as_ref()).await?;
    Ok((plan, ls::managed_rows(&ledger, &world.snapshot, &world.catalog)))
}
