//! `stead plan --all`: one plan for the selected units of the repository.

use std::path::Path;

use jiff::SignedDuration;

use crate::cli::args::plan::PlanScopeArgs;
use crate::cli::args::report::{self, ReportTarget};
use crate::cli::args::workspace::{ReaderArgs, RemovalArgs, UnitArgs, format_unit_flags};
use crate::cli::artifacts::plan_file::{self, STEAD_VERSION};
use crate::cli::artifacts::plan_set::{self, PlanToSave};
use crate::cli::command_context::CommandContext;
use crate::cli::files::shell_path::quote_path;
use crate::cli::files::stack_files;
use crate::cli::planning::key_rights;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::workspace::planned_units::WorkspacePlan;
use crate::cli::workspace::planning::{self, PlanPurpose};
use crate::cli::workspace::review::{self, UnitsCommand};
use crate::cli::workspace::units::{BaseRequest, RemovalRequest, SelectionRequest, Workspace};
use crate::plan::artifact::binding::{self, NewLedgerKey, PlanBinding, SavedPlanOptions};
use crate::plan::artifact::saved_plan::SavedPlan;
use crate::plan::artifact::signature::SigningKey;
use crate::workspace::combined::has_work;

/// What the command line asks of a plan of many units.
pub(super) struct UnitsPlanRequest<'a> {
    pub(super) units: &'a UnitArgs,
    pub(super) removals: &'a RemovalArgs,
    pub(super) readers: &'a ReaderArgs,
    pub(super) scope: &'a PlanScopeArgs,
    pub(super) destroy: bool,
    pub(super) exit_code: bool,
    /// Directory in which the plans are saved; `None` does not save them.
    pub(super) file: Option<&'a Path>,
    /// File of the key that signs the set.
    pub(super) sign_key: Option<&'a Path>,
    /// Lifetime of the saved plans.
    pub(super) expires: SignedDuration,
    pub(super) reports: &'a [ReportTarget],
}

/// Plans the selected units and shows their plans.
///
/// # Errors
/// When there is no stack, or the selection or a flag is not accepted. The failures of single units are shown.
pub(super) async fn plan_all(
    session: &CommandContext,
    request: UnitsPlanRequest<'_>,
) -> Result<Exit, CliFailure> {
    review::reject_single_stack_flags(
        request.scope,
        if request.destroy { "plan --destroy" } else { "plan" },
    )?;
    reject_removals_of_destroy(&request)?;
    let key = match request.file {
        Some(_) => plan_file::signing_key(&session.settings, request.sign_key)?,
        None => None,
    };
    let selection = SelectionRequest {
        patterns: &request.units.patterns,
        with_dependents: request.units.with_dependents,
        changed: request.units.changed.as_ref().map(|base| BaseRequest { name: base.as_deref() }),
    };
    let removal = RemovalRequest::for_plan(&request.removals.units, request.destroy);
    let workspace = session.open_workspace(&selection, removal).await?;
    let mut options =
        review::units_options(&workspace, request.scope, &request.readers.force_readers, request.destroy)?;
    options.planning.wants_values = report::shows_whole(request.reports);
    let flags = command_flags(&request);
    let verb = if request.destroy { "destroy" } else { "apply" };
    options.planning.apply_command = session.command_line(&format!("{verb}{flags}"));
    let purpose = if request.file.is_some() { PlanPurpose::Save } else { PlanPurpose::Show };
    let planned = Box::pin(planning::plan_units(&workspace, &options, purpose)).await?;
    let reviews = review::unit_reviews(&workspace, &planned, request.exit_code);
    let shown = review::units_review(&workspace, &planned, &reviews, request.destroy);
    let command = review::apply_command(&flags, &planned);
    let command = (!request.destroy).then_some(command.as_str());
    session.report_files(request.reports, workspace.reads()).write_units(
        &shown,
        &|name| workspace.first_file(name),
        command,
    )?;
    if let Some(directory) = request.file {
        save_plans(directory, &request, &workspace, &planned, key.as_ref())?;
    }
    let mut exits: Vec<Exit> = reviews.iter().map(|one| one.exit).collect();
    exits.extend(workspace.misses_stacks.then_some(Exit::Failed));
    review::show_units(session.ui, &workspace, &planned, &shown);
    review::print_left_out(session.ui, &workspace);
    review::print_left_out_readers(session.ui, &planned);
    let exit = Exit::of_units(&exits);
    let is_open = matches!(exit, Exit::Done | Exit::Changes);
    let is_older = planned.planned().any(|(_, unit)| unit.rollback.is_some());
    let condition = key_rights::apply_condition(shown.plans(), is_older);
    if let Some(directory) = request.file.filter(|_| is_open) {
        session.next(&format!("apply {}", quote_path(directory)), condition);
    } else if let Some(directory) = request.file {
        review::print_not_applicable(session.ui, &stack_files::display_path(directory), &shown);
    } else if is_open && review::has_changes(&shown) {
        let command = if request.destroy { UnitsCommand::Destroy } else { UnitsCommand::Apply };
        // Without a terminal, a destroy cannot ask.
        let yes = if session.ui.interactive { "" } else { " --yes" };
        session.next(&review::next_command(command, (&flags, yes), &workspace, &planned), condition);
    }
    Ok(exit)
}

/// Refuses removed units in a destroy, which leaves them as they are.
fn reject_removals_of_destroy(request: &UnitsPlanRequest<'_>) -> Result<(), CliFailure> {
    let removals = &request.removals.units;
    if !request.destroy || removals.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = removals.iter().map(|unit| format!(" --remove {unit}")).collect();
    let what = "--remove cannot be used with --destroy: a destroy leaves removed units as they are";
    Err(CliFailure::new(Exit::Usage, what)
        .help(format!("To delete their objects: stead plan --all{}", names.concat())))
}

/// Returns the flags that an apply of the plans needs, too.
fn command_flags(request: &UnitsPlanRequest<'_>) -> String {
    let UnitsPlanRequest { units, removals, readers, scope, destroy, .. } = request;
    // A destroy needs no approval of deletions, and leaves removed units.
    if *destroy {
        return format_unit_flags(units, &[], &[], &readers.force_readers);
    }
    format_unit_flags(units, &removals.units, &scope.format_approvals(), &readers.force_readers)
}

/// Saves the plans of the units with something to do, with a manifest that is signed if a key is given.
fn save_plans(
    directory: &Path,
    request: &UnitsPlanRequest<'_>,
    workspace: &Workspace,
    planned: &WorkspacePlan,
    key: Option<&SigningKey>,
) -> Result<(), CliFailure> {
    let mut plans = Vec::new();
    for (number, unit) in planned.planned().filter(|(_, unit)| has_work(&unit.plan)) {
        let one = &workspace.units[number];
        let recipients = one.loaded.as_ref().ok().and_then(|project| project.stack.recipients.as_ref());
        let image_key = unit.options.image_key.clone();
        let binding = PlanBinding {
            expires: unit.plan.base.made_at.checked_add(request.expires).map_err(anyhow::Error::from)?,
            ledger: binding::ledger_digest(&unit.ledger).map_err(anyhow::Error::from)?,
            requested: SavedPlanOptions::from_options(&unit.options),
            recipients: recipients.into_iter().flat_map(|all| all.names.iter().cloned()).collect(),
            unborn: image_key.zip(unit.secrets.clone()).map(|(key, secrets)| NewLedgerKey { key, secrets }),
        };
        let saved =
            SavedPlan::new(unit.plan.clone(), binding, STEAD_VERSION).map_err(anyhow::Error::from)?;
        let upstream = review::upstream_names(workspace, number);
        plans.push(PlanToSave { name: &one.unit.name, directory: &one.unit.directory, upstream, saved });
    }
    let failed = planned.units.iter().filter(|(_, unit)| unit.is_err());
    let failed: Vec<_> = failed.map(|(number, _)| &workspace.units[*number].unit.name).collect();
    plan_set::save_set(directory, &planned.fingerprint, request.destroy, (&plans, &failed), key)
}
