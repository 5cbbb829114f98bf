//! `stead history`: lists past applies, and events of the ledger itself, the latest first. Reads the ledger only.

use std::num::NonZeroUsize;

use clap::{Args, Subcommand};

use crate::cli::command_context::CommandContext;
use crate::cli::ledger::ledger_io;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::ledger::state::run_history::{Incident, IncidentKind, ResourceCounts, Run};
use crate::model::address::Name;
use crate::report::json;
use crate::report::views::history::{self, ApplyStatus, IncidentRecord, RunRecord};

/// Command-line arguments of `stead history`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  stead history -e prod\n  stead history show 1 --output json")]
pub struct HistoryArgs {
    /// Show one apply in full
    #[command(subcommand)]
    pub show: Option<HistoryAction>,
}

/// Subcommands of `stead history`.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum HistoryAction {
    /// Show one apply in full
    #[command(after_help = "Example:\n  stead history show 1")]
    Show {
        /// Number in the list; 1 is the latest apply
        #[arg(value_parser = parse_list_number)]
        number: NonZeroUsize,
    },
}

/// Lists past applies, or shows one.
///
/// # Errors
/// When the stack has errors, the ledger cannot be read, or there is no such apply. No ledger is an empty history.
pub(in crate::cli) async fn run(session: &CommandContext, args: &HistoryArgs) -> Result<Exit, CliFailure> {
    let project = session.open()?;
    let ledger = ledger_io::find_ledger(&project, &session.ledger_location(&project)?).await?;
    let (runs, incidents) = ledger.map(|ledger| (ledger.history, ledger.incidents)).unwrap_or_default();
    let mut runs: Vec<RunRecord> =
        runs.iter().rev().zip(1..).map(|(run, number)| run_record(run, number)).collect();
    let mut incidents: Vec<IncidentRecord> = incidents.iter().rev().map(incident_record).collect();
    if let Some(HistoryAction::Show { number }) = &args.show {
        let known = runs.len();
        runs.retain(|past| past.number == number.get());
        if runs.is_empty() {
            return Err(CliFailure::new(
                Exit::Failed,
                format!("there is no apply {number}: the ledger has {known}"),
            )
            .help("stead history lists them; 1 is the last one."));
        }
        incidents.clear();
    }
    let (stack, style) = (&project.stack, session.ui.style);
    session.ui.write_result(&if session.ui.json {
        json::history_document(&stack.name, &stack.environment.name, &runs, &incidents)
    } else if args.show.is_some() {
        runs.iter().map(|past| history::run_page(past, style)).collect()
    } else {
        let mut page = history::runs_table(&runs).to_text("Nothing was applied yet.", style);
        if !incidents.is_empty() {
            page.push('\n');
            page.push_str(&history::incidents_table(&incidents).to_text("", style));
        }
        page
    });
    Ok(Exit::Done)
}

/// Returns an apply for display; `number` counts from the latest, 1.
fn run_record(run: &Run, number: usize) -> RunRecord {
    let text = |name: &Option<Name>| name.as_ref().map(ToString::to_string);
    let ResourceCounts { done, failed, skipped, questions } =
        run.end.as_ref().map(|end| end.tally).unwrap_or_default();
    RunRecord {
        number,
        run: run.run.to_string(),
        at: run.at,
        ended: run.end.as_ref().map(|end| end.at),
        who: run.who.clone(),
        commit: text(&run.origin.commit),
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

fn parse_list_number(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "expected a number of the list, from 1 on".to_owned())
}
