//! `stead history`: lists past applies, and events of the ledger itself, the latest first. Reads the ledger only; of the
//! stack's files what names it.

use std::num::NonZeroU64;
use std::time::Duration;

use clap::{Args, Subcommand};

use crate::cli::command_context::CommandContext;
use crate::cli::ledger::ledger_io;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::ledger_settings;
use crate::cli::stack::unit_header::UnitHeader;
use crate::ledger::state::run_details::{
    self, BegunRequest, MAX_FULL_RUNS, OutputRun, PolicyRun, RequestRun, ResourceResult, ResourceRun,
    RunValue,
};
use crate::ledger::state::run_history::{Incident, IncidentKind, MAX_RUNS, ResourceCounts, Run};
use crate::model::address::Name;
use crate::report::json;
use crate::report::views::history::{
    self, ApplyStatus, BegunRecord, IncidentRecord, OutputRecord, OutputValue, PolicyRecord,
    RequestOutcome, RequestRecord, ResourceRecord, RunRecord,
};

/// Command-line arguments of `stead history`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  stead history -e prod\n  stead history show 12 --output json")]
pub struct HistoryArgs {
    /// Show one apply in full
    #[command(subcommand)]
    pub show: Option<HistoryAction>,
}

/// Subcommands of `stead history`.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum HistoryAction {
    /// Show one apply in full
    #[command(after_help = "Example:\n  stead history show 12")]
    Show {
        /// Number of the run in the ledger, as the list shows it; the last run by default
        #[arg(value_parser = parse_run_number)]
        number: Option<NonZeroU64>,
    },
}

/// Lists past applies, or shows one.
///
/// # Errors
/// When the name or the environment of the stack is not known, the ledger cannot be read, or there is no such apply. No ledger
/// is an empty history.
pub(in crate::cli) async fn run(session: &CommandContext, args: &HistoryArgs) -> Result<Exit, CliFailure> {
    let unit = UnitHeader::read(&session.settings)?;
    let ledger = ledger_io::find_ledger(&unit, &unit.ledger_location()?).await?;
    let (runs, incidents, last) =
        ledger.map(|ledger| (ledger.history, ledger.incidents, ledger.last_run)).unwrap_or_default();
    // The ledger keeps only the summaries of older runs.
    let record =
        |(age, run): (usize, &Run)| RunRecord { is_summary: age >= MAX_FULL_RUNS, ..run_record(run) };
    let mut runs: Vec<RunRecord> = runs.iter().rev().enumerate().map(record).collect();
    let mut incidents: Vec<IncidentRecord> = incidents.iter().rev().map(incident_record).collect();
    if let Some(HistoryAction::Show { number }) = &args.show {
        let first = runs.last().map(|past| past.number);
        let number = number.map_or(last, NonZeroU64::get);
        runs.retain(|past| past.number == number);
        if runs.is_empty() {
            return Err(unknown_run(number, first, last));
        }
        incidents.clear();
    }
    let style = session.ui.style;
    session.ui.write_result(&if session.ui.json {
        let shown = (&*runs, args.show.is_some());
        json::history_document(&unit.stack, &unit.environment, shown, &incidents)
    } else if args.show.is_some() {
        runs.iter().map(|past| history::run_page(past, style)).collect()
    } else {
        let hint = ledger_settings::built_in_hint(&session.settings, &unit.environment);
        let nothing = match hint {
            Some(hint) => format!("Nothing was applied yet. {hint}"),
            None => "Nothing was applied yet.".to_owned(),
        };
        let mut page = history::runs_table(&runs).to_text(&nothing, style);
        if !incidents.is_empty() {
            page.push('\n');
            page.push_str(&history::incidents_table(&incidents).to_text("", style));
        }
        page
    });
    Ok(Exit::Done)
}

/// Returns the failure for a run that the ledger does not have; `first` is the oldest one that it remembers.
fn unknown_run(number: u64, first: Option<u64>, last: u64) -> CliFailure {
    let what = match first {
        None => "there is no run to show: nothing was applied yet".to_owned(),
        Some(first) if number < first => {
            format!(
                "the run {number} is not remembered any more: the ledger keeps the last {MAX_RUNS} runs, from {first} on"
            )
        }
        Some(_) => format!("there is no run {number}: the last one is {last}"),
    };
    CliFailure::new(Exit::Failed, what).help("`stead history` lists the runs with their numbers.")
}

/// Returns an apply for display.
fn run_record(run: &Run) -> RunRecord {
    let text = |name: &Option<Name>| name.as_ref().map(ToString::to_string);
    let ResourceCounts { done, failed, skipped, questions } =
        run.end.as_ref().map(|end| end.tally).unwrap_or_default();
    RunRecord {
        number: run.number,
        run: run.run.to_string(),
        at: run.at,
        ended: run.end.as_ref().map(|end| end.at),
        who: run.who.clone(),
        commit: text(&run.origin.commit),
        dirty: run.origin.dirty,
        plan: text(&run.origin.fingerprint),
        config: text(&run.origin.config),
        overridden: (!run.origin.overridden.is_empty()).then(|| {
            let names: Vec<&str> = run.origin.overridden.iter().map(Name::as_str).collect();
            (names.join(", "), run.origin.reason.clone().unwrap_or_default())
        }),
        outcome: match &run.end {
            None => ApplyStatus::Unfinished,
            Some(end) if end.complete => ApplyStatus::Done,
            Some(_) => ApplyStatus::Partial,
        },
        tally: [done, failed, skipped, questions],
        approval: text(&run.origin.approval),
        common: text(&run.origin.common),
        is_summary: false,
        resources: run.resources.iter().map(resource_record).collect(),
        outputs: run.outputs.iter().map(output_record).collect(),
        begun: run.begun.iter().map(begun_record).collect(),
        policies: run.policies.iter().map(policy_record).collect(),
    }
}

/// Returns an output that a run changed for display.
fn output_record(output: &OutputRun) -> OutputRecord {
    let value = |value: &RunValue| match value {
        RunValue::Absent => OutputValue::Absent,
        RunValue::Kept(value) => OutputValue::Kept(value.clone()),
        RunValue::TooLong => OutputValue::TooLong,
    };
    OutputRecord {
        name: output.name.to_string(),
        before: value(&output.before),
        after: value(&output.after),
    }
}

/// Returns a request of a run without an end for display.
fn begun_record(request: &BegunRequest) -> BegunRecord {
    BegunRecord {
        address: request.address.to_string(),
        action: request.action.to_string(),
        call: request.call.as_ref().map(ToString::to_string),
        outcome: match request.outcome {
            run_details::RequestOutcome::Open => RequestOutcome::Open,
            run_details::RequestOutcome::Done => RequestOutcome::Done,
            run_details::RequestOutcome::Refused => RequestOutcome::Refused,
            run_details::RequestOutcome::NotSent => RequestOutcome::NotSent,
            run_details::RequestOutcome::NoEffect => RequestOutcome::NoEffect,
            run_details::RequestOutcome::Ambiguous => RequestOutcome::Ambiguous,
        },
    }
}

/// Returns what a run did to a resource for display.
fn resource_record(resource: &ResourceRun) -> ResourceRecord {
    let request = |RequestRun(method, path, status, id): &RequestRun| RequestRecord {
        method: method.to_string(),
        path: path.clone(),
        status: *status,
        request_id: id.as_ref().map(ToString::to_string),
    };
    ResourceRecord {
        address: resource.address.to_string(),
        action: resource.action.to_string(),
        result: match resource.result {
            ResourceResult::Done => "done",
            ResourceResult::Failed => "failed",
            ResourceResult::Skipped => "skipped",
        },
        took: Duration::from_millis(resource.ms),
        error: resource.error.clone(),
        requests: resource.requests.iter().map(request).collect(),
    }
}

/// Returns the result of a policy for display.
fn policy_record(policy: &PolicyRun) -> PolicyRecord {
    PolicyRecord {
        policy: policy.policy.to_string(),
        verdict: policy.verdict.to_string(),
        addresses: policy.addresses.iter().map(ToString::to_string).collect(),
        more: policy.more,
        before: policy.before.clone(),
    }
}

/// Returns an event of the ledger for display.
fn incident_record(incident: &Incident) -> IncidentRecord {
    let what = match &incident.what {
        IncidentKind::Broken { from: Some(from) } => format!("the lock of {from} was broken"),
        IncidentKind::Broken { from: None } => "the lock was broken".to_owned(),
        IncidentKind::Repaired { lost } => format!("it was repaired; {lost} records were lost"),
        IncidentKind::Recovered { objects } => format!("it was rebuilt from {objects} live objects"),
        IncidentKind::Pushed { serial } => format!("it was replaced by a copy at record {serial}"),
        IncidentKind::Sealed { key } => format!("MACs of the key {key} were enabled"),
        IncidentKind::Acted { action, on, end, .. } => format!("{action} {on}: {}", end.as_str()),
    };
    IncidentRecord { at: incident.at, who: incident.who.clone(), what, reason: incident.reason.clone() }
}

fn parse_run_number(text: &str) -> Result<NonZeroU64, String> {
    text.parse()
        .map_err(|_| "expected the number of a run, from 1 on: `stead history` lists them".to_owned())
}
