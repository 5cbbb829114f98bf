//! `stead apply`: plans, asks for approval, and runs the plan; or runs a saved plan. The ledger is locked from before
//! the plan is made until after the apply; open intents of an earlier run are resolved before the plan is made.

mod all;
mod approval;
mod join;
pub(in crate::cli) mod request;
mod unit_apply;
mod unit_outcome;
mod unit_phase;
mod units_approval;
mod units_outcome;
mod units_planning;
mod units_progress;
mod units_review;
mod units_run;
mod worker;

use std::path::Path;

pub(in crate::cli) use self::all::apply_all;
use self::approval::{RunApproval, check_confirmation, require_approval_flag};
use self::request::{ApplyArgs, ApplyRequest};
use self::unit_apply::ApplyCommand;
use crate::cli::args::values::AutoApproval;
use crate::cli::artifacts::reviewed_plan::{read_reviewed, show_review_difference};
use crate::cli::artifacts::{plan_file, plan_set};
use crate::cli::command_context::CommandContext;
use crate::cli::ledger::ledger_io::{self, ExpectedLedger};
use crate::cli::planning::approval::{PolicyOverrides, plan_again};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::workspace::review;
use crate::cloud::system_clock::SystemClock;
use crate::model::clock::Clock;

/// Applies a stack or a saved plan.
///
/// # Errors
/// When the stack, a saved plan or its approval has problems, or the service or the ledger cannot be read or written.
pub(in crate::cli) async fn run(session: &CommandContext, args: &ApplyArgs) -> Result<Exit, CliFailure> {
    if args.units.all {
        return Box::pin(apply_all(session, args.into())).await;
    }
    if let Some(directory) = args.file.as_deref().filter(|path| plan_set::is_directory(path)) {
        return Box::pin(all::apply_set(session, directory, args)).await;
    }
    if args.join.is_some() {
        return Err(CliFailure::new(Exit::Usage, "--join shares the units of a repository between workers")
            .help("Use it with --all --expect FINGERPRINT, or with the directory of plans that plan --all -o saved."));
    }
    if let Some(file) = &args.file {
        return Box::pin(saved_plan(session, file, args)).await;
    }
    let reviewed = read_reviewed(&session.settings, args.against.as_deref())?;
    let order = ApplyRequest {
        scope: &args.scope,
        running: &args.running,
        // A user who names the fingerprint has reviewed the plan.
        yes: args.yes.clone().or_else(|| args.expect.as_ref().map(|_| AutoApproval::All)),
        expected: args.expect.clone(),
        against: reviewed.as_ref(),
        overriding: PolicyOverrides(Some(&args.overriding)),
        destroy: false,
        stack: None,
        with_leftovers: false,
    };
    Box::pin(plan_and_apply(session, &order)).await
}

/// Plans, asks for approval, and runs the plan; has the errors of `run`, also if `--confirm` names another stack.
pub(in crate::cli) async fn plan_and_apply(
    session: &CommandContext,
    order: &ApplyRequest<'_>,
) -> Result<Exit, CliFailure> {
    review::reject_unit_names(order.scope)?;
    require_approval_flag(session, order)?;
    let project = session.open_or_report(&order.running.reports.wanted)?;
    check_confirmation(session, order, &project)?;
    order.overriding.check_policies(std::iter::once(&project.stack))?;
    let connection = session.connect(&project)?;
    let expected = ExpectedLedger::for_apply(order.running.accept_older_ledger);
    let journal = ledger_io::open_journal(&project, &connection, &session.who, expected).await?;
    let overwrite = order.scope.overwrite_secrets.iter().cloned().collect();
    let apply = ApplyCommand::new(session, &project, &connection, &journal, order.running, &overwrite);
    let approval = RunApproval::new(order.expected.as_ref(), order.yes.as_ref());
    // Without a terminal, a destroy cannot ask.
    let again = if order.destroy && !session.ui.interactive {
        order.format_confirmed_command(&project.stack.name)
    } else {
        order.format_command()
    };
    let done = apply.approved(approval).overriding(order.overriding, &again).run_new_plan(order).await;
    ledger_io::close_after(journal, done).await
}

async fn saved_plan(session: &CommandContext, file: &Path, args: &ApplyArgs) -> Result<Exit, CliFailure> {
    let vouched = plan_file::read_verified(&session.settings, file, args.verify_key.as_deref())?;
    if vouched.is_signed() {
        session.ui.hint(&format!("The plan is {}.", vouched.describe_signer()));
    }
    let reviewed = read_reviewed(&session.settings, args.against.as_deref())?;
    let saved = &vouched.saved;
    saved.check_time(SystemClock.now(), plan_file::STEAD_VERSION).map_err(|stale| plan_again(&stale))?;
    if let Some(expected) = args.expect.as_ref().filter(|expected| **expected != saved.plan.fingerprint) {
        let differences = show_review_difference(&session.ui, reviewed.as_ref(), [&saved.plan]);
        let found = &saved.plan.fingerprint;
        let what = format!("the saved plan has the fingerprint {found}, not {expected}");
        return Err(CliFailure::new(Exit::OutOfDate, what)
            .help("Nothing was sent. Take the file of the plan that was reviewed, or review this one.")
            .with_differences(differences));
    }
    let project = session.open_or_report(&args.running.reports.wanted)?;
    let overriding = PolicyOverrides(Some(&args.overriding));
    overriding.check_policies(std::iter::once(&project.stack))?;
    let connection = session.connect(&project)?;
    let expected = ExpectedLedger::for_apply(args.running.accept_older_ledger);
    let journal = ledger_io::open_journal(&project, &connection, &session.who, expected).await?;
    let overwrite = args.scope.overwrite_secrets.iter().cloned().collect();
    let apply = ApplyCommand::new(session, &project, &connection, &journal, &args.running, &overwrite);
    let approved = apply.approved(RunApproval::of_saved_plan()).overriding(overriding, "");
    let done = approved.run_saved_plan((saved, file)).await;
    ledger_io::close_after(journal, done).await
}
