//! Shows the plans of many units: on the terminal, as JSON, and as the next command.

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write, stdout};

use super::planned_units::{PlannedUnit, UnitsOptions, WorkspacePlan};
use super::problems;
use super::units::{UnreadableStack, Workspace};
use crate::cli::args::global_flags::quote_shell_word;
use crate::cli::args::plan::PlanScopeArgs;
use crate::cli::args::workspace::LossApproval;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::output::Ui;
use crate::cloud::system_clock::SystemClock;
use crate::kinds::REGISTRY;
use crate::model::clock::Clock;
use crate::model::diagnostic::{Diagnostic, Severity};
use crate::plan::inputs::PlanningOptions;
use crate::plan::model::change::Plan;
use crate::report::json::plan::unit_events::{UnitEvent, unit_event_line};
use crate::report::json::{self, PlanDocumentOptions};
use crate::report::terminal::{self, PlanContext};
use crate::report::text::phrases::{count_noun, join_words};
use crate::report::units::review::{ReviewedName, UnitFailure, UnitReview, UnitStatus, UnitsReview};
use crate::workspace::unit::UnitName;

/// How many units a hint names before the rest is counted.
const MAX_NAMED_UNITS: usize = 5;

/// Status and exit code of a unit in a review.
pub(in crate::cli) struct UnitOutcome {
    /// Number of the unit.
    pub(in crate::cli) number: usize,
    pub(in crate::cli) status: UnitStatus,
    pub(in crate::cli) exit: Exit,
    /// Names of the units whose outputs it reads.
    pub(in crate::cli) upstream: Vec<UnitName>,
    /// Why it has no result, or did not begin; `None` if its plan is its result.
    pub(in crate::cli) failure: Option<CliFailure>,
}

/// A command over many units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum UnitsCommand {
    Apply,
    Destroy,
}

/// Refuses flags that name addresses, which mean nothing for many stacks. `command` is the command that has them.
///
/// # Errors
/// When one is set.
pub(in crate::cli) fn reject_single_stack_flags(
    scope: &PlanScopeArgs,
    command: &str,
) -> Result<(), CliFailure> {
    let named = PlanScopeArgs {
        locked: scope.locked,
        allow_deletes: scope.allow_deletes.clone(),
        replace: scope.replace.clone(),
        delete_data: scope.delete_data.clone(),
        ..PlanScopeArgs::default()
    };
    if let Some((flag, bare)) = scope.losses().find(|(_, approval)| approval.unit.is_none()) {
        let address = &bare.address;
        return Err(CliFailure::new(
            Exit::Usage,
            format!("{flag} {address} names an address of one stack, and --all covers many"),
        )
        .help(format!("Name its unit, too: {flag} STACK/ENVIRONMENT:{address}.")));
    }
    if *scope == named {
        return Ok(());
    }
    let flags = scope.format_flags();
    let shared = ["--locked", "--allow-deletes", "--replace", "--delete-data"];
    let is_shared = |flag: &str| shared.iter().any(|shared| flag.starts_with(shared));
    let given = flags.iter().find(|flag| !is_shared(flag)).map_or("", String::as_str);
    let flag = given.split(' ').next().unwrap_or_default();
    Err(CliFailure::new(
        Exit::Usage,
        format!("{flag} names an address of one stack, and --all covers many"),
    )
    .help(format!("Use it for that stack alone: stead -C DIRECTORY {command} {given}"))
    .help("If the stack has environments, add -e ENVIRONMENT."))
}

/// Refuses the name of a unit where one stack is planned.
///
/// # Errors
/// When a flag names one.
pub(in crate::cli) fn reject_unit_names(scope: &PlanScopeArgs) -> Result<(), CliFailure> {
    let deletions = scope.units_with_deletions().map(|unit| format!("--allow-deletes={unit}"));
    let losses = scope.losses().filter(|(_, approval)| approval.unit.is_some());
    let losses = losses.map(|(flag, approval)| format!("{flag} {}", approval.format_value()));
    let Some(flag) = deletions.chain(losses).next() else { return Ok(()) };
    Err(CliFailure::new(Exit::Usage, format!("{flag} names a unit, which needs --all"))
        .help("Leave the name of the unit out: the flag is for the stack that is planned."))
}

/// Returns the options of the plans of many units.
///
/// # Errors
/// When a flag names a unit that does not exist.
pub(in crate::cli) fn units_options(
    workspace: &Workspace,
    scope: &PlanScopeArgs,
    forced_readers: &[UnitName],
    destroy: bool,
) -> Result<UnitsOptions, CliFailure> {
    for (flag, name) in scope
        .units_with_deletions()
        .map(|name| ("--allow-deletes", name))
        .chain(forced_readers.iter().map(|name| ("--force-readers", name)))
        .chain(scope.losses().filter_map(|(flag, approval)| Some((flag, approval.unit.as_ref()?))))
    {
        workspace.require_unit(flag, name)?;
    }
    Ok(UnitsOptions {
        replacements: LossApproval::by_unit(&scope.replace),
        deleted_data: LossApproval::by_unit(&scope.delete_data),
        planning: PlanningOptions {
            destroy,
            allow_deletes: destroy || scope.allows_all_deletions(),
            ..PlanningOptions::default()
        },
        allowed_deletions: scope.units_with_deletions().cloned().collect(),
        forced_readers: forced_readers.iter().cloned().collect(),
        forces_all_readers: false,
    })
}

/// Returns status and exit code of each selected unit; `exit_code` is the flag `--exit-code`.
pub(in crate::cli) fn unit_reviews(
    workspace: &Workspace,
    planned: &WorkspacePlan,
    exit_code: bool,
) -> Vec<UnitOutcome> {
    let outcome = |(number, result): (&usize, &Result<_, CliFailure>)| {
        let (status, exit, failure) = match result {
            Ok(PlannedUnit { plan, .. }) => {
                (UnitStatus::of_plan(plan), Exit::of_plan(plan, exit_code), None)
            }
            Err(failure) if failure.exit == Exit::Blocked => {
                (UnitStatus::Blocked, failure.exit, Some(failure.clone()))
            }
            Err(failure) => (UnitStatus::Failed, failure.exit, Some(failure.clone())),
        };
        let upstream = upstream_names(workspace, *number);
        UnitOutcome { number: *number, status, exit, upstream, failure }
    };
    planned.units.iter().map(outcome).collect()
}

/// Returns the names of the units whose outputs a unit reads, sorted.
pub(in crate::cli) fn upstream_names(workspace: &Workspace, number: usize) -> Vec<UnitName> {
    let upstream = workspace.graph.upstream[number].iter();
    let mut names: Vec<UnitName> =
        upstream.map(|above| workspace.units[*above].unit.name.clone()).collect();
    names.sort();
    names
}

/// Returns the review of the units.
pub(in crate::cli) fn units_review<'r>(
    workspace: &'r Workspace,
    planned: &'r WorkspacePlan,
    outcomes: &'r [UnitOutcome],
    destroy: bool,
) -> UnitsReview<'r> {
    let review = |outcome: &'r UnitOutcome| {
        let unit = &workspace.units[outcome.number].unit;
        UnitReview {
            name: ReviewedName::Unit(&unit.name),
            directory: (!unit.is_removed).then_some(&unit.directory),
            status: outcome.status,
            exit: outcome.exit.code(),
            plan: planned.units.get(&outcome.number).and_then(|result| Some(&result.as_ref().ok()?.plan)),
            values: planned
                .units
                .get(&outcome.number)
                .and_then(|result| Some(&result.as_ref().ok()?.values)),
            failure: outcome.failure.as_ref().map(unit_failure),
            upstream: &outcome.upstream,
            run: None,
        }
    };
    let mut units: Vec<UnitReview<'r>> = outcomes.iter().map(review).collect();
    if workspace.misses_stacks {
        units.extend(workspace.unreadable.iter().map(unreadable_review));
    }
    let mut review = UnitsReview::new(units, &planned.fingerprint, destroy).with_title(&workspace.title);
    review.links = workspace.links.len();
    review
}

/// Returns a directory whose stack cannot be read as a unit without a plan.
fn unreadable_review(unreadable: &UnreadableStack) -> UnitReview<'_> {
    UnitReview {
        name: ReviewedName::Directory(&unreadable.directory),
        directory: Some(&unreadable.directory),
        status: UnitStatus::Failed,
        exit: unreadable.failure.exit.code(),
        plan: None,
        values: None,
        failure: Some(unit_failure(&unreadable.failure)),
        upstream: &[],
        run: None,
    }
}

/// Returns a failure as the reports show it.
pub(in crate::cli) fn unit_failure(failure: &CliFailure) -> UnitFailure<'_> {
    UnitFailure {
        message: &failure.message,
        help: &failure.help,
        problems: failure
            .rejected
            .as_deref()
            .map(|rejected| (rejected.diagnostics.as_slice(), &rejected.sources)),
    }
}

/// Writes the events of all plans, one per line, each with its unit. A closed pipe is not an error.
fn write_plan_events(review: &UnitsReview<'_>, options: PlanDocumentOptions<'_>) {
    let mut out = BufWriter::new(stdout().lock());
    let mut write = |unit: &UnitReview<'_>| {
        // What is no unit is in the last line, the document.
        let Some(name) = unit.name.unit() else { return Ok(()) };
        let time = SystemClock.now();
        let line = |event| unit_event_line(time, name, event);
        writeln!(out, "{}", line(UnitEvent::UnitStarted { phase: None }))?;
        if let Some(plan) = unit.plan {
            json::plan_events(&mut out, plan, REGISTRY, options, (Some(name), time, unit.exit))?;
        }
        let error = unit.failure.map(|failure| failure.message);
        writeln!(out, "{}", line(UnitEvent::UnitEnded { phase: None, exit: unit.exit, error }))
    };
    let _: io::Result<()> = review.units().iter().try_for_each(&mut write);
}

/// Prints a review in the requested format. Problems of the configuration and warnings about ledgers go to standard
/// error.
pub(in crate::cli) fn show_units(
    ui: Ui,
    workspace: &Workspace,
    planned: &WorkspacePlan,
    review: &UnitsReview<'_>,
) {
    for (number, unit) in planned.planned() {
        if let Some(rollback) = &unit.rollback {
            let name = &workspace.units[number].unit.name;
            ui.write_message(&format!("warning: {name}: {}", rollback.describe()));
        }
    }
    if ui.json || ui.ndjson {
        let options = PlanDocumentOptions { details: ui.verbose, ran: None };
        if ui.ndjson {
            write_plan_events(review, options);
        }
        ui.write_result(&json::units_document(review, REGISTRY, options));
        return;
    }
    for problems in problems::planning_problems(workspace, &planned.units) {
        let is_error = |problem: &Diagnostic| problem.severity == Severity::Error;
        if problems.diagnostics.iter().any(is_error) {
            problems::print_diagnostics(ui, &problems.diagnostics, problems.sources);
        }
    }
    for one in &workspace.unreadable {
        problems::print_failure(ui, &one.directory, &one.failure);
    }
    ui.write_result(&terminal::units_page(review, &|_| PlanContext::default(), ui.verbose, ui.style));
}

/// Prints the result of an apply of many units: the document, or the sums, since each unit was reported when it ended.
pub(in crate::cli) fn show_run(ui: Ui, review: &UnitsReview<'_>) {
    if ui.json || ui.ndjson {
        let options = PlanDocumentOptions { details: ui.verbose, ran: None };
        let document = json::units_document(review, REGISTRY, options);
        let folded = if ui.ndjson { json::fold_lines(&document) } else { document.into() };
        ui.write_result(&folded);
        return;
    }
    ui.write_result(&terminal::units_run_page(review, ui.style));
}

/// Says what the selection leaves out: stacks without environments, or all, because nothing changed; and why removed
/// units may be missing.
pub(in crate::cli) fn print_left_out(ui: Ui, workspace: &Workspace) {
    for note in &workspace.notes {
        ui.hint(note);
    }
    let count = workspace.selected.without_environments;
    if count > 0 {
        ui.hint(&format!("{} without environments left out by -e", count_noun(count, "stack")));
    }
}

/// Says how many readers a plan leaves out.
pub(in crate::cli) fn print_left_out_readers(ui: Ui, planned: &WorkspacePlan) {
    if planned.left_out > 0 {
        let counted = count_noun(planned.left_out, "reader");
        let reads = if planned.left_out == 1 { "it reads" } else { "they read" };
        ui.hint(&format!("{counted} left out: what {reads} does not change"));
    }
}

/// Says which units an apply of the plans that were saved in a directory leaves out, and why.
pub(in crate::cli) fn print_not_applicable(ui: Ui, directory: &str, review: &UnitsReview<'_>) {
    let blocks = |plan: &Plan| plan.blocks.iter().any(|block| !block.only_freezes());
    let is_left_out = |unit: &&UnitReview<'_>| unit.plan.is_none_or(blocks);
    let left_out: Vec<String> = review.units().iter().filter(is_left_out).map(describe_obstacle).collect();
    if !left_out.is_empty() {
        let named = join_words(left_out.iter(), MAX_NAMED_UNITS);
        ui.hint(&format!("An apply of {directory} leaves out {named}. Correct that, and plan again."));
    }
}

/// Returns a unit with the codes of its blockers, or that it has no plan.
fn describe_obstacle(unit: &UnitReview<'_>) -> String {
    let codes: BTreeSet<&str> =
        unit.plan.into_iter().flat_map(|plan| &plan.blocks).map(|block| block.code.as_str()).collect();
    let name = unit.name;
    if unit.plan.is_none() {
        return format!("{name} (it has no plan)");
    }
    format!("{name} (blocked: {})", codes.into_iter().collect::<Vec<_>>().join(", "))
}

/// Returns whether a unit of a review has something to do.
pub(in crate::cli) fn has_changes(review: &UnitsReview<'_>) -> bool {
    review.with_status(UnitStatus::Changed).next().is_some()
}

/// Returns the command that applies what a review shows: an apply exactly that. `yes` is the flag by which a destroy does not
/// ask; empty if it can.
pub(in crate::cli) fn next_command(
    command: UnitsCommand,
    (flags, yes): (&str, &str),
    workspace: &Workspace,
    planned: &WorkspacePlan,
) -> String {
    match command {
        UnitsCommand::Apply => apply_command(flags, planned),
        UnitsCommand::Destroy => {
            format!("destroy{flags}{yes} --confirm {}", quote_shell_word(&workspace.root_name()))
        }
    }
}

/// Returns the command that applies the plans if they are the same then. `flags` are those of the plan.
pub(in crate::cli) fn apply_command(flags: &str, planned: &WorkspacePlan) -> String {
    format!("apply{flags} --expect {}", planned.fingerprint)
}
