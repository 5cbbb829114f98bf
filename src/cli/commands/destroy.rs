//! `stead destroy`: plans the deletion of all resources that are not protected, and applies that plan.

use crate::cli::args::{AutoApproval, DestroyArgs as Args, PlanScopeArgs};
use crate::cli::command_context::CommandContext;
use crate::cli::commands::apply::{self, ApplyRequest};
use crate::cli::planning::approval::PolicyOverrides;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;

/// Deletes all resources that are not protected.
///
/// # Errors
/// When `--confirm` names another stack; else as `apply`.
pub(in crate::cli) async fn run(session: &CommandContext, args: &Args) -> Result<Exit, CliFailure> {
    let scope = PlanScopeArgs {
        targets: args.targets.clone(),
        exclude: args.exclude.clone(),
        adopt: Vec::new(),
        overwrite_secrets: Vec::new(),
        locked: false,
        replace: Vec::new(),
        delete_data: Vec::new(),
        allow_deletes: true,
    };
    let order = ApplyRequest {
        scope: &scope,
        running: &args.running,
        yes: args.yes.then_some(AutoApproval::All),
        expected: None,
        overriding: PolicyOverrides::default(),
        destroy: true,
        stack: args.confirm.as_ref(),
        with_leftovers: args.leftovers.with_leftovers,
    };
    Box::pin(apply::plan_and_apply(session, &order)).await
}
