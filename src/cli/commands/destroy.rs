//! `stead destroy`: plans the deletion of the stack's resources, and applies that plan. A protected one blocks it. It is an
//! apply with other options: the deletion limit does not count, and `--yes` also needs the stack's name.

use clap::Args;

use crate::cli::args::plan::{ExecutionArgs, LeftoverArgs, OverrideArgs, PlanScopeArgs};
use crate::cli::args::values::{AutoApproval, parse_module_or_resource};
use crate::cli::args::workspace::{DeletionApproval, ReaderArgs, UnitArgs};
use crate::cli::command_context::CommandContext;
use crate::cli::commands::apply::request::{ApplyRequest, UnitsApplyRequest};
use crate::cli::commands::apply::{self};
use crate::cli::planning::approval::PolicyOverrides;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::model::address::{Address, Name};

/// Command-line arguments of `stead destroy`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead destroy -e staging\n  stead destroy -e staging --yes --confirm shop\n  stead destroy -e staging --with-leftovers\n  stead destroy -e staging --override keep_machines --reason 'the project ends'\n  stead destroy --all -e staging --yes --confirm infra\n  stead destroy --all --stacks net/staging --force-readers app/staging"
)]
pub struct DestroyArgs {
    /// Do not prompt; needs --confirm
    #[arg(long)]
    pub yes: bool,
    /// Name of the stack, as confirmation; with --all, that of the repository's root directory
    #[arg(long, value_name = "STACK")]
    pub confirm: Option<Name>,
    /// Parallelism, reports and time bounds of the run.
    #[command(flatten)]
    pub running: ExecutionArgs,
    /// Only this resource and what depends on it; repeatable
    #[arg(long = "target", value_name = "ADDRESS", value_parser = parse_module_or_resource)]
    pub targets: Vec<Address>,
    /// Leave out this resource or module; repeatable
    #[arg(long, value_name = "ADDRESS", value_parser = parse_module_or_resource)]
    pub exclude: Vec<Address>,
    /// Policies that are overridden, and the reason.
    #[command(flatten)]
    pub overriding: OverrideArgs,
    /// Whether objects derived from the stack's objects are deleted, too.
    #[command(flatten)]
    pub leftovers: LeftoverArgs,
    /// Stacks that the command covers.
    #[command(flatten)]
    pub units: UnitArgs,
    /// Units that may lose what they use.
    #[command(flatten)]
    pub readers: ReaderArgs,
}

/// Deletes the stack's resources.
///
/// # Errors
/// When `--confirm` names another stack or is missing with `--yes`; else as `apply`.
pub(in crate::cli) async fn run(session: &CommandContext, args: &DestroyArgs) -> Result<Exit, CliFailure> {
    let scope = PlanScopeArgs {
        targets: args.targets.clone(),
        exclude: args.exclude.clone(),
        adopt: Vec::new(),
        overwrite_secrets: Vec::new(),
        locked: false,
        replace: Vec::new(),
        delete_data: Vec::new(),
        // All deletions are intended: the limit protects from accidental ones.
        allow_deletes: vec![DeletionApproval::All],
    };
    if args.units.all {
        let request = UnitsApplyRequest {
            units: &args.units,
            removals: &[],
            readers: &args.readers.force_readers,
            scope: &scope,
            running: &args.running,
            yes: args.yes.then_some(&AutoApproval::All),
            expected: None,
            against: None,
            destroy: true,
            confirm: args.confirm.as_ref(),
            overriding: &args.overriding,
            join: None,
        };
        return Box::pin(apply::apply_all(session, request)).await;
    }
    let order = ApplyRequest {
        scope: &scope,
        running: &args.running,
        yes: args.yes.then_some(AutoApproval::All),
        expected: None,
        against: None,
        overriding: PolicyOverrides(Some(&args.overriding)),
        destroy: true,
        stack: args.confirm.as_ref(),
        with_leftovers: args.leftovers.with_leftovers,
    };
    Box::pin(apply::plan_and_apply(session, &order)).await
}
