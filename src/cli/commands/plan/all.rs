//! `stead plan --all`: one plan for the selected units of the repository.

use crate::cli::args::plan::PlanScopeArgs;
use crate::cli::args::report::ReportTarget;
use crate::cli::args::workspace::UnitArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::workspace::planning;
use crate::cli::workspace::review::{self, UnitsCommand};
use crate::cli::workspace::units::{SelectionRequest, Workspace};
use crate::plan::inputs::PlanningOptions;

/// What the command line asks of a plan of many units.
pub(super) struct UnitsPlanRequest<'a> {
    pub(super) units: &'a UnitArgs,
    pub(super) scope: &'a PlanScopeArgs,
    pub(super) destroy: bool,
    pub(super) exit_code: bool,
    /// Whether the plans are to be saved.
    pub(super) has_file: bool,
    pub(super) reports: &'a [ReportTarget],
}

/// Codes of a plan of many units, the first one that a unit has counts.
const PLAN_EXITS: &[Exit] = &[Exit::Failed, Exit::Refused, Exit::Blocked, Exit::Changes];

/// Plans the selected units and shows their plans.
///
/// # Errors
/// When there is no stack, or the selection or a flag is not accepted. The failures of single units are shown.
pub(super) async fn plan_all(
    session: &CommandContext,
    request: UnitsPlanRequest<'_>,
) -> Result<Exit, CliFailure> {
    review::reject_single_stack_flags(request.scope)?;
    if request.has_file {
        return Err(CliFailure::new(
            Exit::Usage,
            "--out saves the plan of one stack, and --all plans many",
        )
        .help("Apply what was reviewed by its fingerprint: stead apply --all --expect FINGERPRINT."));
    }
    let selection = SelectionRequest {
        patterns: &request.units.patterns,
        with_dependents: request.units.with_dependents,
        changed: None,
    };
    let workspace = Workspace::open(&session.settings, &session.unit_settings, &selection)?;
    let options = PlanningOptions {
        destroy: request.destroy,
        allow_deletes: request.scope.allow_deletes,
        ..PlanningOptions::default()
    };
    let planned = Box::pin(planning::plan_units(&workspace, &|_| options.clone())).await?;
    let reviews = review::unit_reviews(&workspace, &planned, request.exit_code);
    let shown = review::units_review(&workspace, &planned, &reviews, request.destroy);
    let command = review::apply_command(request.units, &planned);
    let command = (!request.destroy).then_some(command.as_str());
    session.report_files(request.reports).write_units(
        &shown,
        &|name| workspace.first_file(name),
        command,
    )?;
    let exits: Vec<Exit> = reviews.iter().map(|one| one.exit).collect();
    review::show_units(session.ui, &workspace, &planned, &shown);
    review::print_left_out(session.ui, &workspace);
    let exit = Exit::first_of(PLAN_EXITS, &exits);
    let is_open = !matches!(exit, Exit::Failed | Exit::Refused | Exit::Blocked);
    if is_open && review::has_changes(&shown) {
        let command = if request.destroy { UnitsCommand::Destroy } else { UnitsCommand::Apply };
        session.next(&review::next_command(command, request.units, &workspace, &planned), "");
    }
    Ok(exit)
}
