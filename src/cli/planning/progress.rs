//! Reports the events of an apply: as a progress table on a terminal, as one line per transition elsewhere, or as
//! one JSON event per line. It also records them, for the reports.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use jiff::Timestamp;

use crate::apply::event::ApplyEvent;
use crate::cli::process::output::Ui;
use crate::cloud::client::Client;
use crate::cloud::http::message::Transport;
use crate::cloud::http::requests::RequestDelay;
use crate::model::clock::{Clock, Random};
use crate::plan::model::change::Plan;
use crate::report::json::plan::apply_events;
use crate::report::live::display::LiveRegion;
use crate::report::live::progress_table::ProgressTable;
use crate::report::live::transition_log::TransitionLog;
use crate::report::run_report::StepResults;
use crate::report::text::phrases;
use crate::workspace::unit::UnitName;

/// Maximum number of rows in the progress table.
const MAX_TABLE_ROWS: usize = 16;

/// Message after the first stop signal.
const STOP_NOTICE: &str = "Stopping: running steps are finished and recorded, no new step starts. Press Ctrl-C again to stop at once.";

/// Delays of requests that are retried or held back. The client reports a delay while the reporter may be borrowed,
/// so the delays are queued here and printed later.
pub(in crate::cli) struct DelayEventQueue(Rc<RefCell<Vec<ApplyEvent>>>);

impl DelayEventQueue {
    /// Registers a queue with a client; replaces its former callback.
    pub(in crate::cli) fn from_client<C: Transport, K: Clock, R: Random>(client: &Client<C, K, R>) -> Self {
        let heard = Rc::new(RefCell::new(Vec::new()));
        let taken_down = Rc::clone(&heard);
        client.on_wait(move |wait| {
            let event = ApplyEvent::Retrying { step: None, text: wait_message(wait) };
            taken_down.borrow_mut().push(event);
        });
        Self(heard)
    }

    /// Returns and removes the queued events.
    pub(in crate::cli) fn take_events(&self) -> Vec<ApplyEvent> {
        self.0.take()
    }
}

/// Returns the message for a delayed request: the reason and the duration; not escaped.
pub(in crate::cli) fn wait_message(wait: &RequestDelay) -> String {
    format!("{}: {}; continues in {}", wait.request, wait.reason, phrases::format_duration(wait.pause))
}

/// Reporter of one apply's progress.
pub(in crate::cli) struct ProgressReporter<'a, K> {
    ui: Ui,
    clock: &'a K,
    start: Duration,
    form: RefCell<ProgressFormat>,
    /// Events of the steps, for the reports.
    steps: RefCell<StepResults>,
    /// Returns the time of the service, by which it charges for a step.
    service_time: Box<dyn Fn() -> Timestamp + 'a>,
    /// Whether it reports a stop signal; of many units, the command does it once.
    announces_stop: bool,
}

enum ProgressFormat {
    Silent,
    /// Lines of JSON, with the unit that they belong to in an apply of many.
    Ndjson(Option<UnitName>),
    TransitionLog(Box<TransitionLog>),
    ProgressTable(Box<ProgressTable>, LiveRegion),
}

impl<'a, K: Clock> ProgressReporter<'a, K> {
    /// Returns the reporter for a new apply; without a plan, for resolving open intents. `speed` is that of the
    /// service's clock, as a multiple of real time.
    pub(in crate::cli) fn new(ui: Ui, (clock, speed): (&'a K, f64), plan: Option<&Plan>) -> Self {
        let form = match plan {
            _ if ui.ndjson => ProgressFormat::Ndjson(None),
            _ if ui.quiet || ui.json => ProgressFormat::Silent,
            Some(plan) if ui.live => ProgressFormat::ProgressTable(
                Box::new(ProgressTable::new(plan).with_clock_speed(speed)),
                LiveRegion::new(),
            ),
            plan => {
                let steps = plan.map_or(0, |plan| plan.steps.len());
                ProgressFormat::TransitionLog(Box::new(TransitionLog::new(
                    steps,
                    clock.now(),
                    ui.message_style,
                )))
            }
        };
        Self {
            ui,
            clock,
            start: clock.elapsed(),
            form: RefCell::new(form),
            steps: RefCell::default(),
            service_time: Box::new(|| clock.now()),
            announces_stop: true,
        }
    }

    /// Returns the reporter with another source of the service's time than the clock.
    pub(in crate::cli) fn with_service_time(self, service_time: impl Fn() -> Timestamp + 'a) -> Self {
        Self { service_time: Box::new(service_time), ..self }
    }

    /// Returns the reporter of one of many units that are applied at the same time: it writes lines that name the unit, since
    /// a table of each would overwrite the others.
    pub(in crate::cli) fn for_unit(self, unit: Option<&UnitName>) -> Self {
        let Some(unit) = unit else { return self };
        let form = match self.form.into_inner() {
            ProgressFormat::TransitionLog(lines) => {
                ProgressFormat::TransitionLog(Box::new(lines.for_unit(unit.to_string())))
            }
            ProgressFormat::ProgressTable(board, _) => {
                let lines = TransitionLog::new(board.step_count(), self.clock.now(), self.ui.message_style);
                ProgressFormat::TransitionLog(Box::new(lines.for_unit(unit.to_string())))
            }
            ProgressFormat::Ndjson(_) => ProgressFormat::Ndjson(Some(unit.clone())),
            ProgressFormat::Silent => ProgressFormat::Silent,
        };
        Self { form: RefCell::new(form), announces_stop: false, ..self }
    }

    /// Reports an event, and records it for the reports.
    pub(in crate::cli) fn report_event(&self, event: &ApplyEvent) {
        self.steps.borrow_mut().record_event((self.service_time)(), event);
        match &mut *self.form.borrow_mut() {
            ProgressFormat::Silent => {}
            ProgressFormat::Ndjson(unit) => {
                let line = apply_events::event_line(self.clock.now(), unit.as_ref(), event);
                self.ui.write_result(&(line + "\n"));
            }
            ProgressFormat::TransitionLog(lines) => {
                self.print_line(lines.handle_event(self.clock.now(), event));
            }
            ProgressFormat::ProgressTable(board, live) => {
                let now = self.elapsed_time();
                if let Some(line) = board.handle_event(now, event, self.ui.message_style) {
                    let _ = live.write_above(&line);
                }
                live.draw(board.lines(now, MAX_TABLE_ROWS, self.ui.message_style));
            }
        }
    }

    /// Returns a copy of the recorded events of the steps.
    pub(in crate::cli) fn steps_so_far(&self) -> StepResults {
        self.steps.borrow().clone()
    }

    /// Returns the time since the apply began.
    pub(in crate::cli) fn elapsed_time(&self) -> Duration {
        self.clock.elapsed().saturating_sub(self.start)
    }

    fn print_line(&self, line: Option<String>) {
        if let Some(line) = line {
            self.ui.hint(&line);
        }
    }

    /// Updates the elapsed time in the progress table, or prints a line if there was no event for a while; called a
    /// few times a second.
    pub(in crate::cli) fn tick(&self) {
        match &mut *self.form.borrow_mut() {
            ProgressFormat::Silent | ProgressFormat::Ndjson(_) => {}
            ProgressFormat::TransitionLog(lines) => self.print_line(lines.heartbeat_line(self.clock.now())),
            ProgressFormat::ProgressTable(board, live) => {
                live.draw(board.lines(self.elapsed_time(), MAX_TABLE_ROWS, self.ui.message_style));
            }
        }
    }

    /// Reports that the first stop signal arrived, also with `--quiet`.
    pub(in crate::cli) fn announce_stop(&self) {
        if !self.announces_stop {
            return;
        }
        match &mut *self.form.borrow_mut() {
            ProgressFormat::ProgressTable(board, live) => {
                board.stop();
                let _ = live.write_above(STOP_NOTICE);
            }
            _ => self.ui.write_message(STOP_NOTICE),
        }
    }

    /// Removes the progress table, and returns the present time.
    pub(in crate::cli) fn finish(&self) -> Timestamp {
        if let ProgressFormat::ProgressTable(_, live) = &mut *self.form.borrow_mut() {
            let _ = live.clear();
        }
        self.clock.now()
    }
}
