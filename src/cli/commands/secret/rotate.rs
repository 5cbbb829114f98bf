//! `stead secret rotate`: replaces a secret by a new value, with a plan that is reviewed and applied.
//!
//! The rotation is recorded first, the new value before any sink or request has it, and the previous value is
//! dropped once the apply is complete. After a crash at any point, the next apply or `rotate` continues. If nothing
//! was applied, the record is withdrawn.

use clap::Args;

use super::lookup::{no_such_secret, open_existing_ledger};
use crate::cli::args::plan::{ExecutionArgs, PlanScopeArgs};
use crate::cli::args::values::{AutoApproval, parse_adoption, parse_approval, parse_secret_address};
use crate::cli::command_context::CommandContext;
use crate::cli::commands::apply::request::ApplyRequest;
use crate::cli::commands::apply::{self};
use crate::cli::ledger::ledger_io;
use crate::cli::planning::approval::PolicyOverrides;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::stack::project::LoadedStack;
use crate::config::stack::model::SecretOrigin;
use crate::ledger::journal::record::Record;
use crate::ledger::state::kept_secrets::{KeptSecrets, RotationStep, VARIABLE_PREFIX};
use crate::model::address::{Address, Name};

/// Command-line arguments of `stead secret rotate`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  stead secret rotate vars.token -e prod")]
pub struct SecretRotateArgs {
    /// The secret: vars.NAME of a generated variable, else the resource
    #[arg(value_name = "ADDRESS", value_parser = parse_secret_address)]
    pub address: Name,
    /// Do not prompt; with kinds of change, only if the plan has no other kind
    #[arg(long, value_name = "KINDS", num_args = 0..=1, require_equals = true, default_missing_value = "all", value_parser = parse_approval)]
    pub yes: Option<AutoApproval>,
    /// Confirm that an object found after a lost response is yours, before it is replaced
    #[arg(long, value_name = "ADDRESS=ID", value_parser = parse_adoption)]
    pub adopt: Vec<(Address, Option<Name>)>,
    /// Parallelism, reports and time bounds of the run.
    #[command(flatten)]
    pub running: ExecutionArgs,
}

/// Rotates one secret of the stack, and applies the change; returns the exit code of the apply.
///
/// # Errors
/// When it is not a secret of the stack, or there is neither `--yes` nor a terminal; else as `apply`.
pub(super) async fn run(session: &CommandContext, args: &SecretRotateArgs) -> Result<Exit, CliFailure> {
    if args.yes.is_none() && !session.ui.interactive {
        return Err(CliFailure::new(Exit::Usage, "Confirmation is required, but this is not a terminal.")
            .help("Pass `--yes`. A plan does not show a rotation before it has started."));
    }
    let project = session.open()?;
    if !can_rotate(&project, &args.address) {
        return Err(no_such_secret(&args.address));
    }
    record_step(session, &project, &args.address, RotationStep::Begin, |kept| {
        let pending = kept.values.get(&args.address).is_some_and(|one| one.pending.is_some());
        !pending && !kept.rotating.contains(&args.address)
    })
    .await?;
    let order = ApplyRequest {
        scope: &PlanScopeArgs { adopt: args.adopt.clone(), ..PlanScopeArgs::default() },
        running: &args.running,
        yes: args.yes.clone(),
        expected: None,
        against: None,
        overriding: PolicyOverrides::default(),
        destroy: false,
        stack: None,
        with_leftovers: false,
    };
    let done = Box::pin(apply::plan_and_apply(session, &order)).await;
    // A plan that was declined or blocked sent nothing; a failure with one of these three exit codes may have.
    let untouched = match &done {
        Ok(exit) => matches!(exit, Exit::Failed | Exit::Blocked),
        Err(failure) => !matches!(failure.exit, Exit::Interrupted | Exit::Partly | Exit::Locked),
    };
    if untouched {
        // A stored new value may be in a sink already, so the rotation must continue.
        record_step(session, &project, &args.address, RotationStep::Drop, |kept| {
            let pending = kept.values.get(&args.address).is_some_and(|one| one.pending.is_some());
            kept.rotating.contains(&args.address) && !pending
        })
        .await?;
    }
    done
}

/// Returns whether a new value can be made: by the program that generates a variable, or by a new object.
fn can_rotate(project: &LoadedStack, address: &Name) -> bool {
    if let Some(name) = address.strip_prefix(VARIABLE_PREFIX) {
        let origin = project.stack.deferred_secrets.get(name).map(|deferred| &deferred.origin);
        return matches!(origin, Some(SecretOrigin::Generated { .. }));
    }
    let resource = project.stack.resources.get(address.as_str());
    resource.is_some_and(|resource| resource.kind.shown_once.is_some())
}

/// Records a step of the rotation, if `is_due` says so for the secrets under the ledger's lock: another process may
/// have recorded it already.
async fn record_step(
    session: &CommandContext,
    project: &LoadedStack,
    address: &Name,
    step: RotationStep,
    is_due: impl Fn(&KeptSecrets) -> bool,
) -> Result<(), CliFailure> {
    let place = session.ledger_location(project)?;
    let journal = open_existing_ledger(session, project, &place).await?;
    let due = is_due(&journal.ledger().secrets);
    let done = if due {
        journal
            .commit(&[Record::SecretRotation { address: address.clone(), step }])
            .await
            .map_err(CliFailure::from)
    } else {
        Ok(())
    };
    ledger_io::close_after(journal, done).await
}
