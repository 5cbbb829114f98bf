//! `stead validate --all`: checks all stacks of the repository in all their environments, and what they read of each other.
//! Sends no request, and reads no ledger.

use crate::cli::args::report::ReportTarget;
use crate::cli::args::workspace::UnitArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::files::stack_files;
use crate::cli::ledger::stack_transfers;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::workspace::loaded_unit::WorkspaceUnit;
use crate::cli::workspace::units::{BaseRequest, SelectionRequest, Workspace, add_problems};
use crate::cli::workspace::{problems, review};
use crate::model::diagnostic::Severity;
use crate::plan::annotate::offline_policy;
use crate::report::json;
use crate::report::text::phrases::count_noun;
use crate::report::units::list::CheckedUnitRow;

/// What the command line asks of the check.
pub(super) struct UnitsCheck<'a> {
    pub(super) units: &'a UnitArgs,
    /// Whether each stack needs a lock file.
    pub(super) locked: bool,
    pub(super) reports: &'a [ReportTarget],
}

/// Checks the selected units. Returns `Exit::Failed` if one of them has errors, which are printed.
///
/// # Errors
/// When there is no stack, the selection names something that does not exist, or a report cannot be written.
pub(super) fn validate_all(session: &CommandContext, request: &UnitsCheck<'_>) -> Result<Exit, CliFailure> {
    let selection = SelectionRequest {
        patterns: &request.units.patterns,
        with_dependents: request.units.with_dependents,
        changed: request.units.changed.as_ref().map(|base| BaseRequest { name: base.as_deref() }),
    };
    let mut workspace = Workspace::open(&session.settings, &session.unit_settings, &selection)?;
    for number in workspace.selected.units.clone() {
        check_unit(&mut workspace.units[number], request.locked);
    }
    let (diagnostics, units, sources) = problems::all_problems(&workspace);
    session.problem_reports(request.reports).write_problems((&diagnostics, &units), &sources)?;
    let plain = workspace.selected_units().any(|(_, one)| one.loaded.is_err());
    let has_errors = diagnostics.iter().any(|problem| problem.severity == Severity::Error)
        || plain
        || !workspace.unreadable.is_empty();
    if session.ui.json {
        session.ui.write_result(&json::checked_units_document(
            &unit_rows(&workspace),
            &diagnostics,
            &sources,
        ));
        review::print_left_out(session.ui, &workspace);
        return Ok(if has_errors { Exit::Failed } else { Exit::Done });
    }
    problems::report_problems(session.ui, &workspace);
    review::print_left_out(session.ui, &workspace);
    if has_errors {
        return Ok(Exit::Failed);
    }
    let mut stacks: Vec<_> = workspace.selected_units().map(|(_, one)| &one.unit.name.stack).collect();
    stacks.sort();
    stacks.dedup();
    let count = workspace.selected.units.len();
    session.ui.write_result(&format!(
        "{} of {} {} valid\n",
        count_noun(count, "unit"),
        count_noun(stacks.len(), "stack"),
        if count == 1 { "is" } else { "are" }
    ));
    session.next(&format!("plan{}", request.units.format_flags()), "shows what would change");
    Ok(Exit::Done)
}

/// Adds to a unit what the check of one stack finds besides the problems of its own files: moves that do not fit the other
/// stack, denials of policies, and a lock file that is missing.
fn check_unit(one: &mut WorkspaceUnit, locked: bool) {
    let Ok(project) = &mut one.loaded else { return };
    let lock_file = project.directory.join("stead.lock");
    if locked && !stack_files::path_exists(&lock_file) {
        let what = format!("{} is missing", stack_files::display_path(&lock_file));
        one.loaded = Err(CliFailure::new(Exit::Failed, what)
            .help("Pin the names with `stead catalog update`, and commit the file."));
        return;
    }
    let apply = project.settings.command_line("apply");
    let mut found = stack_transfers::declaration_problems(project);
    found.extend(offline_policy::offline_denials(&project.stack, &apply));
    add_problems(one, found);
}

/// Returns the checked units, those with errors first, and before them the stacks that cannot be read.
fn unit_rows(workspace: &Workspace) -> Vec<CheckedUnitRow> {
    let row = |one: &WorkspaceUnit| CheckedUnitRow {
        stack: Some(one.unit.name.stack.clone()),
        environment: Some(one.unit.name.environment.clone()),
        directory: one.unit.directory.clone(),
        valid: one.loaded.is_ok(),
        resources: one.loaded.as_ref().ok().map(|project| project.stack.resources.len()),
    };
    let unreadable = workspace.unreadable.iter().map(|one| CheckedUnitRow {
        stack: None,
        environment: None,
        directory: one.directory.clone(),
        valid: false,
        resources: None,
    });
    let mut rows: Vec<CheckedUnitRow> =
        unreadable.chain(workspace.selected_units().map(|(_, one)| row(one))).collect();
    rows.sort_by_key(|row| row.valid);
    rows
}
