//! `stead cost`: the monthly cost of a stack by resource: of an environment before and after an apply, of two
//! environments, or of a saved plan.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use rust_decimal::Decimal;

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
use crate::model::address::{Address, Name};
use crate::plan::inputs::PlanningOptions;
use crate::plan::model::change::Plan;
use crate::report::views::cost::{self, CostColumn, CostReport};
use crate::report::views::list::ObjectSummary;

/// Command-line arguments of `stead cost`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead cost -e prod\n  stead cost -e prod --vs staging\n  stead cost prod.plan\n  stead cost --offline"
)]
pub struct CostArgs {
    /// A saved plan; without it, the environment before and after an apply
    #[arg(value_name = "FILE", conflicts_with_all = ["vs", "offline"])]
    pub file: Option<PathBuf>,
    /// Compare with another environment, each after an apply
    #[arg(long, value_name = "ENV")]
    pub vs: Option<Name>,
    /// Send no request: use the configuration and the prices of the built-in cloud
    #[arg(long)]
    pub offline: bool,
}

/// Prints the monthly cost, in USD.
///
/// # Errors
/// When the stack has errors, the file is not a plan, or the service or the ledger cannot be read.
pub(in crate::cli) async fn run(session: &CommandContext, args: &CostArgs) -> Result<Exit, CliFailure> {
    let bill = if let Some(file) = &args.file {
        let plan = plan_file::read_unverified(file)?.plan;
        now_and_then(&plan, &[])
    } else {
        let (plan, owned) = plan_environment(session, &session.settings, args.offline).await?;
        match &args.vs {
            None if args.offline => CostReport { first: None, ..now_and_then(&plan, &[]) },
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
        return Ok((testing::plan_empty_world(settings)?, Vec::new()));
    }
    let project = session.open_with(settings)?;
    let connection = session.connect(&project)?;
    let ledger = ledger_io::read_ledger(&project, &connection).await?;
    let pinned = read_pinned_names(&connection.lock_file)?;
    let options = PlanningOptions { project: settings.project.clone(), ..PlanningOptions::default() };
    let (plan, world) =
        refresh::read_and_plan(&connection, &project, &ledger, &options, pinned.as_ref()).await?;
    Ok((plan, ls::managed_rows(&ledger, &world)))
}

/// Returns the report of a plan without its columns.
fn bill_from_plan(plan: &Plan) -> CostReport {
    CostReport {
        stack: plan.base.stack.clone(),
        environment: plan.base.environment.clone(),
        first: None,
        second: CostColumn::default(),
        unpriced: plan.cost.unpriced,
        priced_at: plan.cost.priced_at,
        built_in: false,
    }
}

/// Returns the cost before and after an apply. `owned` has the objects without changes; it is empty for a saved
/// plan, which does not contain them.
fn now_and_then(plan: &Plan, owned: &[ObjectSummary]) -> CostReport {
    let mut rows = owned_prices(owned);
    for change in &plan.changes {
        rows.insert(change.address.clone(), change.cost.monthly_before);
    }
    let now = CostColumn { name: Name::new_static("now"), rows, total: plan.cost.monthly_before };
    CostReport {
        first: Some(now),
        second: bill_after_apply(plan, owned, Name::new_static("after")),
        ..bill_from_plan(plan)
    }
}

/// Returns the cost after an apply, as a column with the given name.
fn bill_after_apply(plan: &Plan, owned: &[ObjectSummary], name: Name) -> CostColumn {
    let mut rows = owned_prices(owned);
    for change in &plan.changes {
        rows.insert(change.address.clone(), change.cost.monthly_after);
    }
    CostColumn { name, rows, total: plan.cost.monthly_after }
}

/// Returns the owned objects with their monthly prices, `None` if the price is not known; the price of a deposed
/// object is added to that of its replacement.
fn owned_prices(owned: &[ObjectSummary]) -> BTreeMap<Address, Option<Decimal>> {
    let mut rows: BTreeMap<Address, Option<Decimal>> = BTreeMap::new();
    for object in owned {
        let Some(address) = &object.address else { continue };
        let row = rows.entry(address.clone()).or_default();
        *row = row.iter().chain(&object.monthly).copied().reduce(|all, one| all + one);
    }
    rows
}
