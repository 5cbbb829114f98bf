//! What an apply of one stack, or of one of many units, prints at its end. In: the outcome, and the states of the steps.
//! Out: the page or the last line of the event stream; nothing for a unit whose result the command prints itself.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use super::request::ApplyRequest;
use crate::apply::event::Outcome;
use crate::cli::args::report::ReportTarget;
use crate::cli::artifacts::report_files::ReportContext;
use crate::cli::artifacts::reviewed_plan::show_review_difference;
use crate::cli::command_context::CommandContext;
use crate::cli::planning::{approval, data_consent};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::stack::project::LoadedStack;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::Address;
use crate::plan::model::change::{Change, Plan};
use crate::plan::model::due::DueTotal;
use crate::report::json::plan::apply_events;
use crate::report::review::ReviewSubject;
use crate::report::run_report::{RunReport, StepResults};
use crate::report::terminal;
use crate::report::text::phrases;
use crate::report::units::unit_run::PhaseRun;
use crate::report::views::apply_outcome::{self, OutcomeFooter};
use crate::workspace::unit::UnitName;

/// The results of the phases of many units, by unit.
pub(super) type PhaseRuns = RefCell<BTreeMap<UnitName, Vec<PhaseRun>>>;

/// The unit of an apply of many.
#[derive(Clone, Copy)]
pub(super) struct AppliedUnit<'a> {
    pub(super) name: &'a UnitName,
    /// Takes its results, for the reports and the result of the command.
    pub(super) phases: &'a PhaseRuns,
}

/// Writes the reports of one stack again, with the outcome; that of a unit is kept for the reports of all units. An error is
/// only printed, because the changes are already made.
pub(super) fn report_outcome(
    session: &CommandContext,
    (unit, wanted): (Option<AppliedUnit<'_>>, &[ReportTarget]),
    (plan, project): (&Plan, &LoadedStack),
    ran: &RunReport<'_>,
) {
    if let Some(AppliedUnit { name, phases }) = unit {
        let phase = PhaseRun::new(plan, ran.outcome, ran.steps.clone(), (ran.at, ran.took));
        phases.borrow_mut().entry(name.clone()).or_default().push(phase);
        return;
    }
    let about =
        ReportContext { told: ReviewSubject::Run(ran), ..ReportContext::from_stack(&project.stack) };
    warn_of_plan_only(session, session.report_files(wanted, &project.reads).rewrite_plan(plan, about));
}

/// Prints that the reports have no outcome, if they could not be written after an apply.
pub(super) fn warn_of_plan_only(session: &CommandContext, written: Result<(), CliFailure>) {
    if let Err(failure) = written {
        let text = format!("warning: the reports contain the plan only: {}", failure.message);
        session.ui.write_message(&text);
    }
}

/// Prints the outcome of an apply that ended `now`, after `took`.
pub(super) fn show_outcome(
    session: &CommandContext,
    unit: Option<AppliedUnit<'_>>,
    plan: &Plan,
    outcome: &mut Outcome,
    (steps, now, took, exit): (&StepResults, Timestamp, Duration, Exit),
    again: &str,
) {
    let ui = &session.ui;
    let is_silent = unit.is_some() && (exit == Exit::Done || ui.ndjson || ui.json);
    if is_silent {
        // The command reports the unit, and its document has the result.
        if let Some(unit) = unit.filter(|_| !(ui.ndjson || ui.json)) {
            let page = terminal::unit_policies_page(unit.name, &outcome.policies, ui.style);
            if !page.is_empty() {
                ui.write_message(page.trim_end());
            }
        }
        data_consent::report_data_loss(ui, plan, outcome);
    } else if ui.ndjson || ui.json {
        let line = apply_events::outcome_line(now, outcome, &steps.due(plan), exit.code());
        ui.write_result(&(line + "\n"));
    } else if plan.has_changes() || exit != Exit::Done {
        let took = phrases::format_duration(took);
        let stead = session.command_line("");
        let again = if again.is_empty() { String::new() } else { session.command_line(again) };
        let of_change =
            |change: &Change| Some((change.address.clone(), steps.describe_partly_made(plan, change)?));
        let partly: BTreeMap<Address, String> = plan.changes.iter().filter_map(of_change).collect();
        let ending = OutcomeFooter {
            took: Some(&took),
            destroys: plan.base.destroy,
            stead: &stead,
            again: &again,
            is_unit: unit.is_some(),
            quiet: ui.quiet,
            due: steps.due(plan),
            partly: Some(&partly),
        };
        outcome.questions.iter_mut().for_each(|asked| *asked = session.settings.with_global_flags(asked));
        let page = apply_outcome::outcome_page(outcome, ending, ui.style);
        match unit {
            Some(_) => ui.write_message(page.trim_end()),
            None => ui.write_result(&page),
        }
        data_consent::report_data_loss(ui, plan, outcome);
    }
}

/// Says how a plan differs from the reviewed one, if it is not the expected one.
pub(super) fn show_unexpected(session: &CommandContext, order: &ApplyRequest<'_>, plan: &Plan) {
    if order.expected.as_ref().is_some_and(|expected| **expected != plan.fingerprint) {
        show_review_difference(&session.ui, order.against, [plan]);
    }
}

/// Checks that a plan is the expected one. If the last run of the ledger applied that already and nothing is left to do, it
/// prints that, and returns true.
///
/// # Errors
/// When it is another plan: the difference to the reviewed one is printed.
pub(super) fn is_applied_already(
    session: &CommandContext,
    order: &ApplyRequest<'_>,
    plan: &Plan,
    ledger: &Ledger,
) -> Result<bool, CliFailure> {
    let (ui, expected) = (&session.ui, order.expected.as_ref());
    let Some((run, end)) = approval::find_applied_run(expected, plan, &ledger.history) else {
        let checked = approval::check_fingerprint(expected, plan);
        let with_differences = |failure: CliFailure| {
            failure.with_differences(show_review_difference(ui, order.against, [plan]))
        };
        return checked.map_err(with_differences).map(|()| false);
    };
    ui.hint(&approval::applied_already(&run.number, end.at));
    if ui.ndjson || ui.json {
        let outputs = plan.planned_outputs.iter();
        let outputs = outputs.filter_map(|one| Some((one.name.clone(), one.after.clone()?))).collect();
        let outcome = Outcome { outputs, ..Outcome::default() };
        let line = apply_events::outcome_line(end.at, &outcome, &DueTotal::default(), Exit::Done.code());
        ui.write_result(&(line + "\n"));
    }
    Ok(true)
}
