//! The approval of an apply or a destroy of many units: one environment by `--yes`, several by the fingerprint of the
//! review, or by an answer on the terminal to a prompt that names them.

use std::collections::BTreeSet;

use super::approval::check_covered;
use super::request::UnitsApplyRequest;
use super::units_run::UnitsRun;
use crate::cli::args::global_flags::quote_shell_word;
use crate::cli::args::workspace::format_unit_flags;
use crate::cli::command_context::CommandContext;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::workspace::units::Workspace;
use crate::config::stack::model::ConfirmationMode;
use crate::model::address::Name;
use crate::report::text::phrases;

/// Checks that the run can be approved, before anything is read: several environments need an approved plan, or a prompt
/// that names them.
pub(super) fn check_approval_flags(
    session: &CommandContext,
    request: &UnitsApplyRequest<'_>,
    workspace: &Workspace,
) -> Result<(), CliFailure> {
    let root = workspace.root_name();
    if let Some(named) = request.confirm.filter(|named| named.as_str() != root) {
        return Err(CliFailure::new(
            Exit::Usage,
            format!("--confirm has {named}; the repository's root is {root}"),
        )
        .help("Check -C: nothing was deleted."));
    }
    if request.destroy {
        return check_destroy_flags(session, request, &root);
    }
    let environments = selected_environments(workspace);
    if request.expected.is_some() || session.ui.interactive && request.yes.is_none() {
        return Ok(());
    }
    if request.yes.is_some() && environments.len() < 2 {
        return Ok(());
    }
    let what = match request.yes {
        Some(_) => format!(
            "--yes approves one environment, and these units are in several: {}",
            environments.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ")
        ),
        None => "confirmation is required, but this is not a terminal".to_owned(),
    };
    let plan = session.command_line(&format!("plan{}", request.format_flags()));
    let apply = session.command_line(&format!("{} --expect FINGERPRINT", request.format_command()));
    Err(CliFailure::new(Exit::Usage, what)
        .help(format!("Review the plans, and apply them by their fingerprint: {plan}, then {apply}."))
        .help("Or name one environment: -e ENVIRONMENT --yes."))
}

/// Checks that a destroy can be approved: by the name of the root with `--yes`, or by a prompt.
fn check_destroy_flags(
    session: &CommandContext,
    request: &UnitsApplyRequest<'_>,
    root: &str,
) -> Result<(), CliFailure> {
    let what = match (request.yes, request.confirm) {
        (Some(_), Some(_)) => return Ok(()),
        (None, _) if session.ui.interactive => return Ok(()),
        (Some(_), None) => {
            "--yes alone destroys nothing: the name of the repository's root must be confirmed, too"
        }
        (None, _) => "confirmation is required, but this is not a terminal",
    };
    let flags = format_unit_flags(request.units, &[], &[], request.readers);
    let review = session.command_line(&format!("plan{flags} --destroy"));
    let confirm = format!("destroy{flags} --yes --confirm {}", quote_shell_word(root));
    Err(CliFailure::new(Exit::Usage, what)
        .help(format!("Review what is deleted: {review}"))
        .help(format!("Confirm with: {}", session.command_line(&confirm))))
}

fn selected_environments(workspace: &Workspace) -> BTreeSet<&Name> {
    workspace.selected_units().map(|(_, one)| &one.unit.name.environment).collect()
}

/// Asks for approval on the terminal, naming the environments; a flag answers it, if it covers every change. Returns false
/// if the user declines.
pub(super) async fn ask_approval(
    session: &CommandContext,
    request: &UnitsApplyRequest<'_>,
    workspace: &Workspace,
    run: &UnitsRun<'_>,
) -> Result<bool, CliFailure> {
    let units = &run.units;
    if let Some(yes) = request.yes {
        for number in units {
            let Some(plan) = run.reviewed(*number) else { continue };
            check_covered(yes, plan, Some(&workspace.units[*number].unit.name))?;
        }
        return Ok(true);
    }
    if request.expected.is_some() {
        return Ok(true);
    }
    let environments: BTreeSet<&str> =
        units.iter().map(|number| workspace.units[*number].unit.name.environment.as_str()).collect();
    let environments: Vec<&str> = environments.into_iter().collect();
    let counted = phrases::count_noun(units.len(), "unit");
    if request.destroy {
        let objects = phrases::count_noun(run.count_deletions(), "object");
        session
            .ui
            .write_message(&format!("This deletes {objects} of {counted} in {}.", environments.join(", ")));
        return session.ui.ask_approval("Destroy all of this?", Some(&workspace.root_name())).await;
    }
    let must_type = units.iter().filter_map(|number| {
        let project = workspace.units[*number].loaded.as_ref().ok()?;
        let environment = &project.stack.environment;
        (environment.confirm == ConfirmationMode::TypeName).then_some(environment.name.as_str())
    });
    let must_type: BTreeSet<&str> = must_type.collect();
    let typed = must_type.into_iter().collect::<Vec<_>>().join(" ");
    let question = format!("Apply these plans to {counted} in {}?", environments.join(", "));
    if !typed.is_empty() {
        session.ui.write_message(&question);
    }
    session.ui.ask_approval(&question, (!typed.is_empty()).then_some(typed.as_str())).await
}
