//! The approval of a plan: by `--yes`, by the printed fingerprint, or by an answer on the terminal. An apply without
//! a terminal fails for lack of a flag before the first request, so that a CI job fails early.

use super::request::ApplyRequest;
use crate::cli::args::values::{AutoApproval, ChangeKind};
use crate::cli::command_context::CommandContext;
use crate::cli::planning::{approval, data_consent};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::stack::project::LoadedStack;
use crate::config::stack::model::ConfirmationMode;
use crate::model::address::Name;
use crate::plan::model::change::{Action, Plan};
use crate::report::text::phrases;
use crate::workspace::unit::UnitName;

/// Explains what `--expect` does not cover before the ledger exists: the key that fingerprints values is made with it.
pub(super) const NO_LEDGER_EXPECT_NOTICE: &str = "The ledger does not exist yet: --expect covers the expressions and the names of secrets, but not their values. A saved plan covers these, too.";

/// Checks that the plan can be approved: by a flag, or by an answer on the terminal.
///
/// # Errors
/// A usage error that names the flags, when there is neither.
pub(super) fn require_approval_flag(
    session: &CommandContext,
    order: &ApplyRequest<'_>,
) -> Result<(), CliFailure> {
    if order.yes.is_none() && !session.ui.interactive {
        let failure = CliFailure::confirmation_required();
        return Err(if order.destroy {
            failure.help(destroy_hint(session, order, &session.open()?))
        } else {
            let command = session.command_line(&format!("{} --yes", order.format_command()));
            failure
                .help(format!("Confirm with a flag: {command}"))
                .help("--yes=create,update, --expect FINGERPRINT or a saved plan as FILE confirm less.")
        });
    }
    Ok(())
}

/// Returns the hint that states how to approve a destroy without a prompt.
fn destroy_hint(session: &CommandContext, order: &ApplyRequest<'_>, project: &LoadedStack) -> String {
    let command = order.format_confirmed_command(&project.stack.name);
    format!("Confirm with a flag: {}", session.command_line(&command))
}

/// Checks `--confirm`: a destroy with `--yes` needs the stack's name, and a name must be that of the stack. The name
/// is what notices a wrong `-C`.
pub(super) fn check_confirmation(
    session: &CommandContext,
    order: &ApplyRequest<'_>,
    project: &LoadedStack,
) -> Result<(), CliFailure> {
    let stack = &project.stack.name;
    match order.stack {
        None if order.destroy && order.yes.is_some() => Err(CliFailure::new(
            Exit::Usage,
            "--yes alone destroys nothing: the stack's name must be confirmed, too",
        )
        .help(destroy_hint(session, order, project))),
        Some(named) if named != stack => {
            Err(CliFailure::new(Exit::Usage, format!("--confirm has {named}; this stack is {stack}"))
                .help("Check -C and -e: nothing was deleted."))
        }
        _ => Ok(()),
    }
}

/// Asks for approval, or checks that the approval of the command line covers every change. Returns false
/// if the user declines.
pub(super) async fn ask_approval(
    session: &CommandContext,
    project: &LoadedStack,
    plan: &Plan,
    order: &ApplyRequest<'_>,
) -> Result<bool, CliFailure> {
    if let Some(yes) = &order.yes {
        return check_covered(yes, plan, None).map(|()| true);
    }
    let stack = &project.stack;
    let typed = match (order.destroy, stack.environment.confirm) {
        (true, _) => Some(stack.name.as_str()),
        (false, ConfirmationMode::TypeName) => Some(stack.environment.name.as_str()),
        (false, ConfirmationMode::YesOrNo) => None,
    };
    data_consent::warn_data_loss(&session.ui, plan);
    let question = if order.destroy { "Destroy all of this?" } else { "Apply this plan?" };
    session.ui.ask_approval(question, typed).await
}

/// Checks that the changes that `--yes` names are all changes of a plan; `unit` is the unit of the plan among many.
///
/// # Errors
/// When one of them is of another kind.
pub(super) fn check_covered(
    yes: &AutoApproval,
    plan: &Plan,
    unit: Option<&UnitName>,
) -> Result<(), CliFailure> {
    let outside = approval::uncovered_changes(yes, plan);
    let Some((first, kind)) = outside.first() else { return Ok(()) };
    let what = match (first.action, kind) {
        (Action::Adopt, ChangeKind::Update) => "what the adoption changes in",
        (_, ChangeKind::Delete) if plan.deletes_older_object(first) => {
            "the deletion of the older object of"
        }
        (action, _) => &format!("the {} of", phrases::action_keyword(action)),
    };
    let of_unit = unit.map(|unit| format!(" of {unit}")).unwrap_or_default();
    let what = format!("--yes does not cover {what} {}{of_unit}; nothing was applied", first.address);
    Err(CliFailure::new(Exit::Blocked, what)
        .help(format!("Add `{}` to --yes, or apply without it and confirm when asked.", kind.keyword())))
}

/// How the plan of a run was approved, and the run of many units to which it belongs; the ledger's history records it.
#[derive(Debug, Clone, Default)]
pub(super) struct RunApproval {
    pub(super) approval: Option<Name>,
    /// Id of the run of many units; `None` for the run of one stack.
    pub(super) common: Option<Name>,
}

impl RunApproval {
    /// Returns the approval of a plan that was just made: its fingerprint was expected, a flag approved it, or a person did.
    pub(super) fn new(expected: Option<&Name>, yes: Option<&AutoApproval>) -> Self {
        let approval = match (expected, yes) {
            (Some(_), _) => "--expect",
            (None, Some(_)) => "--yes",
            (None, None) => "prompt",
        };
        Self { approval: Some(Name::new(approval)), common: None }
    }

    /// Returns the approval of a plan that was saved for a later apply.
    pub(super) fn of_saved_plan() -> Self {
        Self { approval: Some(Name::new("saved plan")), common: None }
    }

    /// Returns the approval of a run that several workers share: all of them expect the same plans.
    pub(super) fn of_shared_run() -> Self {
        Self { approval: Some(Name::new("--join")), common: None }
    }

    /// Returns the approval as that of one of many units of a run.
    pub(super) fn of_common_run(self, id: Name) -> Self {
        Self { common: Some(id), ..self }
    }
}
