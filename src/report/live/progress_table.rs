//! `ProgressTable`: the content of the live display of a running apply. Pure: the caller passes in events and times
//! since the start of the apply, and gets lines that are escaped and fit the width.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::apply::event::ApplyEvent;
use crate::model::address::{Address, Name};
use crate::plan::model::change::Plan;
use crate::plan::model::step::Step;
use crate::report::text::page::TextLine;
use crate::report::text::phrases;
use crate::report::text::style::{Symbol, TextRole, TextStyle};
use crate::report::views::apply_outcome;

/// Frames of the spinner.
const SPINNER_FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// Frames of the spinner in ASCII.
const ASCII_SPINNER_FRAMES: [&str; 4] = ["|", "/", "-", "\\"];

/// Duration of one frame of the spinner.
const FRAME_DURATION: Duration = Duration::from_millis(100);

/// How many waiting resources to name before the rest is counted.
const MAX_LISTED_WAITING: usize = 4;

/// How long a hint about a retry stays visible.
const HINT_DURATION: Duration = Duration::from_secs(5);

/// Limit on the width of the address column; a longer address shifts its own line only.
const MAX_ADDRESS_WIDTH: usize = 40;

/// What the display needs of a planned step.
#[derive(Debug)]
struct DisplayedStep {
    address: Address,
    seconds: u32,
    /// Usual seconds from its start to the end of the longest chain of steps that begins with it.
    tail: u64,
}

#[derive(Debug)]
struct RunningStep {
    since: Duration,
    doing: &'static str,
    text: String,
}

/// The state of the live display of a running apply.
#[derive(Debug)]
pub struct ProgressTable {
    title: String,
    steps: Vec<DisplayedStep>,
    /// Numbers of the steps that have not ended, running ones included.
    open: std::collections::BTreeSet<usize>,
    running: BTreeMap<usize, RunningStep>,
    ended: usize,
    /// The latest hint about a retry, and when it came.
    hint: Option<(Duration, String)>,
    stopping: bool,
    /// Width of the address column.
    address: usize,
}

impl ProgressTable {
    /// Returns the number of steps of the plan.
    #[must_use]
    pub fn step_count(&self) -> usize {
        self.steps.len()
    }

    /// Returns the display state for a plan that is about to run.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let mut tails: Vec<u64> = plan.steps.iter().map(|step| step.seconds.into()).collect();
        // Steps come after those that they wait for, so one pass from the end computes the longest chains.
        for (number, step) in plan.steps.iter().enumerate().rev() {
            for before in &step.after {
                if let Some(planned) = plan.steps.get(*before) {
                    tails[*before] = tails[*before].max(u64::from(planned.seconds) + tails[number]);
                }
            }
        }
        let planned = |(step, tail): (&Step, u64)| DisplayedStep {
            address: step.address.clone(),
            seconds: step.seconds,
            tail,
        };
        let steps: Vec<DisplayedStep> = plan.steps.iter().zip(tails).map(planned).collect();
        let short = phrases::short_fingerprint(&plan.fingerprint);
        let address = steps.iter().map(|step| step.address.as_str().len()).max().unwrap_or(0);
        Self {
            title: format!("{}/{} {}", plan.base.stack, plan.base.environment, short),
            open: (0..steps.len()).collect(),
            steps,
            running: BTreeMap::new(),
            ended: 0,
            hint: None,
            stopping: false,
            address: address.min(MAX_ADDRESS_WIDTH),
        }
    }

    /// Scales expected durations to a service whose clock runs `speed` times as fast as real time, such as the
    /// emulator; a speed that is not positive changes nothing.
    #[must_use]
    pub fn with_clock_speed(mut self, speed: f64) -> Self {
        if speed > 0.0 && speed.is_finite() {
            for step in &mut self.steps {
                step.seconds = u32::try_from(scale_seconds(step.seconds.into(), speed)).unwrap_or(u32::MAX);
                step.tail = scale_seconds(step.tail, speed).max(step.seconds.into());
            }
        }
        self
    }

    /// Records that the apply was interrupted: running steps finish, no new ones start.
    pub fn stop(&mut self) {
        self.stopping = true;
    }

    /// Handles an event; returns a line to write above the region, or `None` if the event only changes the region.
    pub fn handle_event(&mut self, now: Duration, event: &ApplyEvent, style: TextStyle) -> Option<String> {
        match event {
            ApplyEvent::Recovering { address, text } => Some(
                self.event_line(TextRole::Warning, "!", address, style).push_text(text).cut_to_width(style),
            ),
            ApplyEvent::Started { step, doing, .. } => {
                self.running.insert(*step, RunningStep { since: now, doing, text: String::new() });
                None
            }
            ApplyEvent::Progress { step, text, .. } => {
                if let Some(running) = self.running.get_mut(step) {
                    running.text.clone_from(text);
                }
                None
            }
            ApplyEvent::Retrying { text, .. } => {
                self.hint = Some((now, text.clone()));
                None
            }
            ApplyEvent::Succeeded { step, address, done, id, took } => {
                self.end_step(*step);
                Some(self.success_line(address, done, id.as_ref(), *took, style))
            }
            ApplyEvent::Failed { step, address, error } => {
                self.end_step(*step);
                let what = apply_outcome::in_words(error).what;
                let row = self.event_line(TextRole::Danger, style.sign(Symbol::Cross), address, style);
                Some(row.push_styled(TextRole::Danger, "failed  ").push_text(what).cut_to_width(style))
            }
            ApplyEvent::Skipped { step, address, because } => {
                self.end_step(*step);
                let row = self.event_line(TextRole::Faint, style.sign(Symbol::Dot), address, style);
                Some(
                    row.push_styled(TextRole::Faint, format!("skipped, it needs {because}"))
                        .cut_to_width(style),
                )
            }
        }
    }

    /// Returns the lines of the redrawn region: totals, running steps, waiting resources, hints. At most `rows` lines,
    /// but at least one, and none wider than the style allows.
    #[must_use]
    pub fn lines(&self, now: Duration, rows: usize, style: TextStyle) -> Vec<String> {
        let mut lines = vec![self.head_line(now, style)];
        let room = rows.saturating_sub(3).max(1);
        lines.extend(
            self.running.iter().take(room).map(|(step, running)| self.run(*step, running, now, style)),
        );
        if self.running.len() > room {
            let text = format!("and {} more", self.running.len() - room);
            lines.push(TextLine::indent(4).push_styled(TextRole::Faint, text).cut_to_width(style));
        }
        lines.extend(self.waiting_line(style));
        if let Some((_, text)) =
            self.hint.as_ref().filter(|(since, _)| now.saturating_sub(*since) < HINT_DURATION)
        {
            lines.push(
                TextLine::indent(2).push_styled(TextRole::Faint, format!("! {text}")).cut_to_width(style),
            );
        }
        lines.truncate(rows.max(1));
        lines
    }

    fn end_step(&mut self, step: usize) {
        self.running.remove(&step);
        if self.open.remove(&step) {
            self.ended += 1;
        }
    }

    fn event_line(&self, role: TextRole, sign: &str, address: &Address, style: TextStyle) -> TextLine {
        let column = if style.unicode { 4 } else { 5 };
        TextLine::indent(2)
            .push_styled(role, sign)
            .to_column(column)
            .push_styled(TextRole::Strong, address.as_str())
            .to_column(column + self.address + 2)
    }

    fn success_line(
        &self,
        address: &Address,
        done: &str,
        id: Option<&Name>,
        took: Duration,
        style: TextStyle,
    ) -> String {
        let row = self.event_line(TextRole::Success, style.sign(Symbol::Tick), address, style);
        let row = row
            .push_text(format!("{done:9}"))
            .push_styled(TextRole::Faint, format!("{:>7}", phrases::format_duration(took)));
        id.into_iter()
            .fold(row, |row, id| row.push_styled(TextRole::Faint, format!("  {id}")))
            .cut_to_width(style)
    }

    fn head_line(&self, now: Duration, style: TextStyle) -> String {
        let dot = style.sign(Symbol::Dot);
        let waiting = self.open.len() - self.running.keys().filter(|step| self.open.contains(step)).count();
        let mut line = TextLine::indent(0)
            .push_styled(TextRole::Strong, &self.title)
            .push_text(format!("   {} of {} done", self.ended, self.steps.len()))
            .push_text(format!(" {dot} {} running", self.running.len()));
        if waiting > 0 {
            line = line.push_text(format!(" {dot} {waiting} waiting"));
        }
        line = line.push_text(format!(" {dot} {}", phrases::format_duration(now)));
        match self.time_left(now) {
            left if left.as_secs() > 0 => {
                line = line.push_text(format!(", about {} left", phrases::format_duration(left)));
            }
            _ => {}
        }
        if self.stopping {
            line = line
                .push_styled(TextRole::Warning, format!(" {dot} stopping: waiting for the running steps"));
        }
        line.cut_to_width(style)
    }

    /// Returns the estimated remaining time of the longest chain of open steps; zero if none is left.
    fn time_left(&self, now: Duration) -> Duration {
        let left = |step: &usize| {
            let planned = self.steps.get(*step)?;
            let run = self.running.get(step).map(|running| now.saturating_sub(running.since).as_secs());
            // A step beyond its expected duration counts as about to end; the steps after it still count in full.
            Some(planned.tail - run.unwrap_or(0).min(planned.seconds.into()))
        };
        Duration::from_secs(self.open.iter().filter_map(left).max().unwrap_or(0))
    }

    fn run(&self, step: usize, running: &RunningStep, now: Duration, style: TextStyle) -> String {
        let Some(planned) = self.steps.get(step) else { return String::new() };
        let run = now.saturating_sub(running.since);
        let frame = usize::try_from(now.as_millis() / FRAME_DURATION.as_millis()).unwrap_or(0);
        let sign = if style.unicode { SPINNER_FRAMES[frame % 10] } else { ASCII_SPINNER_FRAMES[frame % 4] };
        let mut line =
            self.event_line(TextRole::Change, sign, &planned.address, style).push_text(running.doing);
        if !running.text.is_empty() {
            line = line.push_text(", ").push_text(&running.text);
        }
        line = line.push_styled(TextRole::Faint, format!("   {}", phrases::format_duration(run)));
        let usual = Duration::from_secs(planned.seconds.into());
        if usual.as_secs() > 0 {
            line = line.push_styled(TextRole::Faint, format!(" of ~{}", phrases::format_duration(usual)));
        }
        line.cut_to_width(style)
    }

    fn waiting_line(&self, style: TextStyle) -> Option<String> {
        let waiting = || self.open.iter().filter(|step| !self.running.contains_key(step));
        let count = self.open.len().saturating_sub(self.running.len());
        if count == 0 {
            return None;
        }
        let named: Vec<&str> = waiting()
            .take(MAX_LISTED_WAITING)
            .filter_map(|step| Some(self.steps.get(*step)?.address.as_str()))
            .collect();
        let mut text = named.join(", ");
        if count > named.len() {
            text = format!("{text} and {} more", count - named.len());
        }
        let verb = if count == 1 { "waits" } else { "wait" };
        let line = TextLine::indent(2).push_styled(TextRole::Faint, style.sign(Symbol::Dot));
        Some(
            line.to_column(if style.unicode { 4 } else { 5 })
                .push_styled(TextRole::Faint, format!("{text} {verb}"))
                .cut_to_width(style),
        )
    }
}

/// Returns the duration divided by `speed`, in whole seconds, rounded up: a short step must not become 0.
fn scale_seconds(seconds: u64, speed: f64) -> u64 {
    let whole = Duration::from_secs(seconds).div_f64(speed);
    whole.as_secs() + u64::from(whole.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;
    use crate::report::tests::plans;

    fn second(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    fn address(text: &str) -> Address {
        Address::parse(text).unwrap()
    }

    #[test]
    fn the_progress_table_shows_the_state_of_each_step() {
        let style = TextStyle::plain(90);
        let mut board = ProgressTable::new(&plans::full());
        let start = |step, at_address: &str, doing| ApplyEvent::Started {
            step,
            address: address(at_address),
            doing,
        };
        board.handle_event(second(0), &start(0, "vm.web.a", "create replacement"), style);
        board.handle_event(second(0), &start(1, "database.main", "update"), style);
        board.handle_event(
            second(1),
            &ApplyEvent::Progress {
                step: 0,
                address: address("vm.web.a"),
                text: "waiting, status\u{1b}[2J pending".into(),
            },
            style,
        );
        board.handle_event(
            second(9),
            &ApplyEvent::Retrying { step: None, text: "rate limited, paused 1 s".into() },
            style,
        );
        insta::assert_snapshot!(board.lines(second(10), 20, style).join("\n"), @r"
        shop/prod 7f3a-c91e   0 of 5 done · 2 running · 3 waiting · 10s, about 3m52s left
          ⠋ vm.web.a       create replacement, waiting, status\u{1b}[2J pending   10s of ~2m00s
          ⠋ database.main  update   10s of ~3m00s
          · volume.media, vm.web.a, vm.web.b wait
          ! rate limited, paused 1 s
        ");
        let done = ApplyEvent::Succeeded {
            step: 0,
            address: address("vm.web.a"),
            done: "created",
            id: Some("5b1e09c2".into()),
            took: second(112),
        };
        insta::assert_snapshot!(board.handle_event(second(112), &done, style).unwrap(), @"  ✓ vm.web.a       created    1m52s  5b1e09c2");
        board.stop();
        insta::assert_snapshot!(board.lines(second(200), 20, style).join("\n"), @r"
        shop/prod 7f3a-c91e   1 of 5 done · 1 running · 3 waiting · 3m20s, about 2m02s left · sto…
          ⠋ database.main  update   3m20s of ~3m00s
          · volume.media, vm.web.a, vm.web.b wait
        ");
    }

    #[test]
    fn the_progress_table_never_exceeds_the_screen() {
        let plan = plans::many(5000);
        let mut board = ProgressTable::new(&plan);
        for (step, planned) in plan.steps.iter().enumerate().take(200) {
            board.handle_event(
                second(0),
                &ApplyEvent::Started { step, address: planned.address.clone(), doing: "create" },
                TextStyle::plain(50),
            );
        }
        for rows in [1, 4, 24] {
            let lines = board.lines(second(5), rows, TextStyle::plain(50));
            assert!(lines.len() <= rows && lines.iter().all(|line| line.width() <= 50), "{lines:#?}");
        }
    }

    #[test]
    fn the_remaining_time_uses_the_clock_speed_of_the_service() {
        let plan = plans::full();
        let left = |speed| ProgressTable::new(&plan).with_clock_speed(speed).time_left(second(0));
        assert_eq!(left(1.0), second(242));
        assert_eq!(left(20.0), second(13));
        // A clock that stands still says nothing.
        assert_eq!(left(0.0), second(242));
        let mut board = ProgressTable::new(&plan).with_clock_speed(1000.0);
        let step = ApplyEvent::Started { step: 0, address: address("vm.web.a"), doing: "create" };
        board.handle_event(second(0), &step, TextStyle::plain(100));
        assert!(board.lines(second(0), 20, TextStyle::plain(100)).join("\n").contains("of ~1s"));
    }

    #[test]
    fn the_remaining_time_follows_the_longest_chain() {
        let mut board = ProgressTable::new(&plans::full());
        assert_eq!(board.time_left(second(0)), second(242));
        board.handle_event(
            second(0),
            &ApplyEvent::Started { step: 0, address: address("vm.web.a"), doing: "create" },
            TextStyle::plain(80),
        );
        assert_eq!(board.time_left(second(20)), second(222));
        assert_eq!(board.time_left(second(900)), second(180));
    }
}
