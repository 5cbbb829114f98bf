//! The transition log of an apply, for output that is not a terminal: one line with a UTC time per transition, and a
//! heartbeat when nothing else is written. Pure: the caller passes in the time and writes the lines.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::apply::event::ApplyEvent;
use crate::model::address::Address;
use crate::report::text::page::TextLine;
use crate::report::text::phrases;
use crate::report::text::style::{TextRole, TextStyle};
use crate::report::views::apply_outcome;

/// Time without output after which a heartbeat line is due: some CI systems end a job that prints nothing.
const HEARTBEAT_INTERVAL: SignedDuration = SignedDuration::from_secs(60);

/// Period within which retries count as one burst and are reported once.
const RETRY_BURST_WINDOW: SignedDuration = SignedDuration::from_secs(15);

/// How many running steps a heartbeat line names before the rest is counted.
const MAX_LISTED_STEPS: usize = 4;

/// The state of the transition log of one apply.
#[derive(Debug)]
pub struct TransitionLog {
    style: TextStyle,
    /// Name of the unit, for an apply of many; `None` for that of one stack.
    unit: Option<String>,
    total: usize,
    done: usize,
    running: BTreeMap<usize, RunningResource>,
    last_line: Timestamp,
    last_retry: Option<Timestamp>,
}

#[derive(Debug)]
struct RunningResource {
    address: Address,
    since: Timestamp,
    text: String,
}

impl TransitionLog {
    /// Returns the log for an apply of `total` steps that starts now.
    #[must_use]
    pub fn new(total: usize, now: Timestamp, style: TextStyle) -> Self {
        Self {
            style,
            unit: None,
            total,
            done: 0,
            running: BTreeMap::new(),
            last_line: now,
            last_retry: None,
        }
    }

    /// Returns the log with the name of a unit in each line.
    #[must_use]
    pub fn for_unit(self, unit: String) -> Self {
        Self { unit: Some(unit), ..self }
    }

    /// Begins a line with the time, and the name of the unit.
    fn begin_line(&self, now: Timestamp) -> TextLine {
        let line = time_stamp(now);
        self.unit.iter().fold(line, |line, unit| line.push_text(unit).push_text(" "))
    }

    /// Handles an event; returns its escaped line, or `None` if the event is not logged: progress without news, and
    /// retries of a burst.
    pub fn handle_event(&mut self, now: Timestamp, event: &ApplyEvent) -> Option<String> {
        let line = self.event_text(now, event)?;
        self.last_line = now;
        Some(line.to_unwrapped(self.style))
    }

    /// Returns a heartbeat line if nothing was written for a minute and steps are running; else `None`.
    pub fn heartbeat_line(&mut self, now: Timestamp) -> Option<String> {
        if self.running.is_empty() || now.duration_since(self.last_line) < HEARTBEAT_INTERVAL {
            return None;
        }
        self.last_line = now;
        let named =
            self.running.values().map(|step| format!("{} {}", step.address, elapsed_text(step.since, now)));
        let named: Vec<String> = named.collect();
        let text = format!(
            "{} of {} steps done, running: {}",
            self.done,
            self.total,
            phrases::join_words(named.iter(), MAX_LISTED_STEPS)
        );
        Some(self.begin_line(now).push_styled(TextRole::Faint, text).to_unwrapped(self.style))
    }

    fn event_text(&mut self, now: Timestamp, event: &ApplyEvent) -> Option<TextLine> {
        let begin = self.begin_line(now);
        let of = |address: &Address| {
            begin.clone().push_styled(TextRole::Strong, address.as_str()).push_text("  ")
        };
        if !matches!(event, ApplyEvent::Retrying { .. }) {
            self.last_retry = None;
        }
        match event {
            ApplyEvent::Recovering { address, text } => {
                Some(of(address).push_text(format!("recovering: {text}")))
            }
            ApplyEvent::Started { step, address, doing } => {
                let running = RunningResource { address: address.clone(), since: now, text: String::new() };
                self.running.insert(*step, running);
                Some(of(address).push_text(format!("{doing}: started")))
            }
            ApplyEvent::Progress { step, address, text } => {
                let running = self.running.get_mut(step)?;
                if running.text == *text {
                    return None;
                }
                running.text.clone_from(text);
                Some(of(address).push_text(text))
            }
            ApplyEvent::Retrying { text, .. } => {
                // A burst of responses with status 429 is reported in one line.
                if self.last_retry.is_some_and(|last| now.duration_since(last) < RETRY_BURST_WINDOW) {
                    return None;
                }
                self.last_retry = Some(now);
                Some(begin.push_styled(TextRole::Faint, text))
            }
            ApplyEvent::Succeeded { step, address, done, id, took } => {
                self.running.remove(step);
                self.done += 1;
                let line = of(address)
                    .push_styled(TextRole::Success, done)
                    .push_text(format!(" in {}", phrases::format_duration(*took)));
                Some(id.iter().fold(line, |line, id| line.push_styled(TextRole::Faint, format!("  {id}"))))
            }
            ApplyEvent::Failed { step, address, error } => {
                self.running.remove(step);
                Some(
                    of(address)
                        .push_styled(TextRole::Danger, "failed: ")
                        .push_text(apply_outcome::in_words(error).what),
                )
            }
            ApplyEvent::Skipped { address, because, .. } => {
                Some(of(address).push_styled(TextRole::Warning, format!("skipped, it needs {because}")))
            }
        }
    }
}

fn time_stamp(now: Timestamp) -> TextLine {
    TextLine::indent(0).push_styled(TextRole::Faint, now.strftime("%H:%M:%SZ").to_string()).push_text(" ")
}

fn elapsed_text(then: Timestamp, now: Timestamp) -> String {
    phrases::format_duration(now.duration_since(then).try_into().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::apply::event::StepError;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_792_000_000 + second).unwrap()
    }

    fn address(text: &str) -> Address {
        Address::parse(text).unwrap()
    }

    #[test]
    fn each_transition_is_one_line() {
        let mut log = TransitionLog::new(3, at(0), TextStyle::plain(80));
        let web = || address("vm.web");
        let waiting = |text: &str| ApplyEvent::Progress { step: 0, address: web(), text: text.into() };
        let retry = || ApplyEvent::Retrying { step: None, text: "rate limited, paused 1 s".into() };
        let events = [
            (0, ApplyEvent::Recovering { address: web(), text: "looks for an unfinished creation".into() }),
            (1, ApplyEvent::Started { step: 0, address: web(), doing: "create" }),
            (2, waiting("waiting, status pending")),
            (3, waiting("waiting, status pending")),
            (4, waiting("waiting, status \u{1b}[31mdeploying\n::error::x")),
            (5, retry()),
            (6, retry()),
            (
                8,
                ApplyEvent::Succeeded {
                    step: 0,
                    address: web(),
                    done: "created",
                    id: Some("5b1e09c2".into()),
                    took: Duration::from_secs(7),
                },
            ),
            (8, ApplyEvent::Started { step: 1, address: address("volume.media"), doing: "update" }),
            (
                9,
                ApplyEvent::Failed {
                    step: 1,
                    address: address("volume.media"),
                    error: StepError::NotReady("it never settled".into()),
                },
            ),
            (
                9,
                ApplyEvent::Skipped {
                    step: 2,
                    address: address("backup_schedule.b"),
                    because: address("volume.media"),
                },
            ),
        ];
        let lines: Vec<String> =
            events.iter().filter_map(|(time, event)| log.handle_event(at(*time), event)).collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        17:46:40Z vm.web  recovering: looks for an unfinished creation
        17:46:41Z vm.web  create: started
        17:46:42Z vm.web  waiting, status pending
        17:46:44Z vm.web  waiting, status \u{1b}[31mdeploying\n::error::x
        17:46:45Z rate limited, paused 1 s
        17:46:48Z vm.web  created in 7s  5b1e09c2
        17:46:48Z volume.media  update: started
        17:46:49Z volume.media  failed: it never settled
        17:46:49Z backup_schedule.b  skipped, it needs volume.media
        ");
        assert!(lines.iter().all(|line| !line.contains('\u{1b}')));
    }

    #[test]
    fn a_heartbeat_is_printed_at_most_once_a_minute() {
        let mut log = TransitionLog::new(2, at(0), TextStyle::plain(80));
        assert_eq!(log.heartbeat_line(at(500)), None);
        log.handle_event(
            at(500),
            &ApplyEvent::Started { step: 0, address: address("database.main"), doing: "create" },
        );
        let beats: Vec<String> = (500..700).filter_map(|second| log.heartbeat_line(at(second))).collect();
        insta::assert_snapshot!(beats.join("\n"), @r"
        17:56:00Z 0 of 2 steps done, running: database.main 1m00s
        17:57:00Z 0 of 2 steps done, running: database.main 2m00s
        17:58:00Z 0 of 2 steps done, running: database.main 3m00s
        ");
    }
}
