//! Runs that workers share, for text and JSON: the list of them, and one with its units, workers and events.

use jiff::Timestamp;
use serde::Serialize;

use crate::report::json_writer::{SCHEMA_VERSION, SchemaVersion, to_pretty};
use crate::report::text::page::{TextLine, TextPage};
use crate::report::text::phrases::{format_age, short_fingerprint};
use crate::report::text::style::{TextRole, TextStyle};
use crate::report::text::table::{ReportTable, TableCell, TableColumn};

/// A run in the list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ListedRun {
    /// Name of the run.
    pub run: String,
    /// `planning`, `running`, `canceled` or `ended`.
    pub status: String,
    /// When it began, by the database's clock.
    pub started: Timestamp,
    /// When it ended; null before.
    pub ended: Option<Timestamp>,
    /// Fingerprint of the approved plans.
    pub fingerprint: String,
    /// Commit of the configuration, if known.
    pub commit: Option<String>,
    /// Number of units that wait, or whose deletions wait for other units.
    pub waiting: usize,
    /// Number of units that a worker applies.
    pub running: usize,
    /// Number of units that are done.
    pub done: usize,
    /// Number of units that are not done, or only partly, and will not be: they failed, were skipped, or are blocked.
    pub failed: usize,
    /// Number of workers that neither left nor died.
    pub workers: usize,
}

/// A unit of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunUnit {
    /// Name of the unit, `stack/environment`.
    pub unit: String,
    /// `waiting`, `running`, `holding` (its deletions wait for other units), `done`, `partly`, `failed`, `skipped`, `blocked`.
    pub state: String,
    /// Its exit code; null while it waits or runs.
    pub exit: Option<u8>,
    /// Why it is not done; empty otherwise.
    pub message: String,
    /// Worker that had it last; null if none had it.
    pub worker: Option<String>,
}

/// A worker of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunWorker {
    /// Name of the worker.
    pub worker: String,
    /// Who it is.
    pub who: String,
    /// Number of its process on its machine; null where it is not known.
    pub process: Option<u32>,
    /// `active`, `silent` (not seen for some time), `dead` or `left`.
    pub state: String,
    /// Seconds since it was seen last, by the database's clock.
    pub seen_seconds: u64,
}

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunEventRow {
    /// When, by the database's clock.
    pub at: Timestamp,
    /// Worker; empty for a person.
    pub worker: String,
    /// What happened.
    pub event: String,
}

/// A run with all that is known of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunView {
    /// Name of the run.
    pub run: String,
    /// `planning`, `running`, `canceled` or `ended`.
    pub status: String,
    /// Whether it was canceled.
    pub canceled: bool,
    /// When it began, by the database's clock.
    pub started: Timestamp,
    /// When it ended; null before.
    pub ended: Option<Timestamp>,
    /// Fingerprint of the approved plans.
    pub fingerprint: String,
    /// Commit of the configuration, if known.
    pub commit: Option<String>,
    /// Exit code of its workers; null before it ended.
    pub exit: Option<u8>,
    /// Why it ended before anything was applied; empty otherwise.
    pub message: String,
    /// Its units, in the order of the apply.
    pub units: Vec<RunUnit>,
    /// Its workers.
    pub workers: Vec<RunWorker>,
    /// What happened, in order.
    pub events: Vec<RunEventRow>,
}

/// The document of `stead runs --output json`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunsDocument<'a> {
    schema_version: SchemaVersion,
    /// Runs, the newest first, at most 100.
    runs: &'a [ListedRun],
}

/// The document of `stead runs show RUN --output json`, and of a worker at the end of its run.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunDocument<'a> {
    schema_version: SchemaVersion,
    #[serde(flatten)]
    run: &'a RunView,
}

/// Returns the JSON document of a list of runs.
#[must_use]
pub fn runs_document(runs: &[ListedRun]) -> String {
    to_pretty(&RunsDocument { schema_version: SCHEMA_VERSION, runs })
}

/// Returns the JSON document of a run.
#[must_use]
pub fn run_document(run: &RunView) -> String {
    to_pretty(&RunDocument { schema_version: SCHEMA_VERSION, run })
}

/// Returns the table of runs, one per row; `now` is the time of the display.
#[must_use]
pub fn runs_table(runs: &[ListedRun], now: Timestamp) -> ReportTable {
    let columns = vec![
        TableColumn::text("run"),
        TableColumn::text("status"),
        TableColumn::text("started"),
        TableColumn::number("done"),
        TableColumn::number("waiting"),
        TableColumn::number("running"),
        TableColumn::number("failed"),
        TableColumn::number("workers"),
        TableColumn::text("fingerprint"),
    ];
    let row = |run: &ListedRun| {
        vec![
            TableCell::text(Some(&run.run)),
            TableCell::text(Some(&run.status)),
            TableCell::Text(format_age(run.started, now)),
            TableCell::Text(run.done.to_string()),
            TableCell::Text(run.waiting.to_string()),
            TableCell::Text(run.running.to_string()),
            TableCell::Text(run.failed.to_string()),
            TableCell::Text(run.workers.to_string()),
            TableCell::Text(short_fingerprint(&run.fingerprint)),
        ]
    };
    ReportTable { rows: runs.iter().map(row).collect(), columns }
}

/// Returns the page of a run. `shows_events` adds what happened.
#[must_use]
pub fn run_page(run: &RunView, shows_events: bool, now: Timestamp, style: TextStyle) -> String {
    let mut page = TextPage::new(style);
    let line = TextLine::indent(0).push_text("Run ").push_styled(TextRole::Strong, &run.run);
    let exit = run.exit.map(|exit| format!(", exit code {exit}")).unwrap_or_default();
    let canceled = if run.canceled && run.status != "canceled" { ", canceled" } else { "" };
    let age = format_age(run.started, now);
    page.add_line(line.push_text(format!(": {}{canceled}{exit}, started {age}", run.status)));
    if !run.message.is_empty() {
        page.add_line(TextLine::indent(2).push_text(&run.message).continue_at(2));
    }
    let mut text = page.finish();
    let units = ReportTable {
        columns: vec![
            TableColumn::text("unit"),
            TableColumn::text("state"),
            TableColumn::number("exit"),
            TableColumn::text("worker"),
            TableColumn::text("reason"),
        ],
        rows: run.units.iter().map(unit_cells).collect(),
    };
    text += &units.to_text("It has nothing to apply.", style);
    let workers = ReportTable {
        columns: vec![TableColumn::text("worker"), TableColumn::text("who"), TableColumn::text("state")],
        rows: run.workers.iter().map(worker_cells).collect(),
    };
    if !run.workers.is_empty() {
        text.push('\n');
        text += &workers.to_text("", style);
    }
    if shows_events && !run.events.is_empty() {
        let events = ReportTable {
            columns: vec![TableColumn::text("at"), TableColumn::text("worker"), TableColumn::text("event")],
            rows: run.events.iter().map(event_cells).collect(),
        };
        text.push('\n');
        text += &events.to_text("", style);
    }
    text
}

fn unit_cells(unit: &RunUnit) -> Vec<TableCell> {
    vec![
        TableCell::text(Some(&unit.unit)),
        TableCell::text(Some(&unit.state)),
        TableCell::text(unit.exit.map(|exit| exit.to_string())),
        TableCell::text(unit.worker.as_ref()),
        TableCell::text((!unit.message.is_empty()).then_some(&unit.message)),
    ]
}

fn worker_cells(worker: &RunWorker) -> Vec<TableCell> {
    let who = match worker.process {
        Some(process) => format!("{}, process {process}", worker.who),
        None => worker.who.clone(),
    };
    let state = match worker.state.as_str() {
        "silent" => format!("not seen for {} s", worker.seen_seconds),
        state => state.to_owned(),
    };
    vec![TableCell::text(Some(&worker.worker)), TableCell::Text(who), TableCell::Text(state)]
}

fn event_cells(event: &RunEventRow) -> Vec<TableCell> {
    vec![
        TableCell::Text(event.at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()),
        TableCell::text((!event.worker.is_empty()).then_some(&event.worker)),
        TableCell::text(Some(&event.event)),
    ]
}
