//! An apply as an event stream: one JSON event per line, the outcome last.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use crate::apply::event::{ApplyEvent, Outcome, StepError};
use crate::model::address::{Address, Name};
use crate::model::values::value::Value;
use crate::report::json::to_compact;
use crate::report::json_value::JsonValue;

/// One line of the stream. Keys that do not apply to an event are omitted.
#[derive(Serialize, Default)]
struct ApplyEventLine<'a> {
    time: Timestamp,
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<&'a Address>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    doing: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    done: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    took_ms: Option<u128>,
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<&'a Address>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<StepErrorEntry>,
}

/// Why a step failed.
#[derive(Serialize)]
pub(in crate::report) struct StepErrorEntry {
    kind: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl StepErrorEntry {
    /// Returns the entry for a step's error.
    pub(in crate::report) fn from_step_error(error: &StepError) -> Self {
        let (kind, status, reason) = match error {
            StepError::Refused(refusal) | StepError::NotGranted { refusal, .. } => {
                ("refused", Some(refusal.status), refusal.reason.clone())
            }
            StepError::ServerError(refusal) => ("broken", Some(refusal.status), refusal.reason.clone()),
            StepError::ObjectChanged(_) => ("moved", None, None),
            StepError::NotKept(_) => ("not_kept", None, None),
            StepError::NotReady(_) => ("unsettled", None, None),
            StepError::Ambiguous(_) => ("question", None, None),
            StepError::Ledger(_) => ("ledger", None, None),
            StepError::LeaseLost(_) => ("displaced", None, None),
            StepError::Failed(_) => ("failed", None, None),
            StepError::Unreachable(_) => ("unreachable", None, None),
        };
        Self { kind, message: error.to_string(), status, reason }
    }
}

/// Returns an event as one line of JSON, without its line break.
#[must_use]
pub fn event_line(time: Timestamp, event: &ApplyEvent) -> String {
    let base = ApplyEventLine { time, ..ApplyEventLine::default() };
    to_compact(&match event {
        ApplyEvent::Recovering { address, text } => {
            ApplyEventLine { event: "recovering", address: Some(address), text: Some(text), ..base }
        }
        ApplyEvent::Started { step, address, doing } => ApplyEventLine {
            event: "started",
            address: Some(address),
            step: Some(*step),
            doing: Some(doing),
            ..base
        },
        ApplyEvent::Progress { step, address, text } => ApplyEventLine {
            event: "progress",
            address: Some(address),
            step: Some(*step),
            text: Some(text),
            ..base
        },
        ApplyEvent::Retrying { step, text } => {
            ApplyEventLine { event: "retrying", step: *step, text: Some(text), ..base }
        }
        ApplyEvent::Succeeded { step, address, done, id, took } => ApplyEventLine {
            event: "succeeded",
            address: Some(address),
            step: Some(*step),
            done: Some(done),
            id: id.as_ref(),
            took_ms: Some(took.as_millis()),
            ..base
        },
        ApplyEvent::Failed { step, address, error } => ApplyEventLine {
            event: "failed",
            address: Some(address),
            step: Some(*step),
            error: Some(StepErrorEntry::from_step_error(error)),
            ..base
        },
        ApplyEvent::Skipped { step, address, because } => ApplyEventLine {
            event: "skipped",
            address: Some(address),
            step: Some(*step),
            because: Some(because),
            ..base
        },
    })
}

#[derive(Serialize)]
struct OutcomeLine<'a> {
    time: Timestamp,
    event: &'static str,
    done: &'a [Address],
    failed: Vec<FailedResourceEntry<'a>>,
    skipped: &'a [Address],
    questions: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
    interrupted: bool,
    outputs: BTreeMap<&'a Name, JsonValue<'a>>,
    exit: u8,
}

/// A resource with a failed step.
#[derive(Serialize)]
pub(in crate::report) struct FailedResourceEntry<'a> {
    address: &'a Address,
    error: StepErrorEntry,
}

impl<'a> FailedResourceEntry<'a> {
    /// Returns the failed resources of an outcome.
    pub(in crate::report) fn from_outcome(outcome: &'a Outcome) -> Vec<Self> {
        let all = outcome.failed.iter();
        all.map(|(address, error)| Self { address, error: StepErrorEntry::from_step_error(error) })
            .collect()
    }
}

/// Returns the last line of the stream: the outcome and the exit code.
#[must_use]
pub fn outcome_line(time: Timestamp, outcome: &Outcome, exit: u8) -> String {
    to_compact(&OutcomeLine {
        time,
        event: "outcome",
        done: &outcome.done,
        failed: FailedResourceEntry::from_outcome(outcome),
        skipped: &outcome.skipped,
        questions: &outcome.questions,
        notes: &outcome.notes,
        interrupted: outcome.interrupted,
        outputs: outcome
            .outputs
            .iter()
            .map(|(name, value): (_, &Value)| (name, JsonValue(value)))
            .collect(),
        exit,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::cloud::error::ApiError;
    use crate::model::values::secret::Secret;

    fn now() -> Timestamp {
        Timestamp::from_second(1_792_000_000).unwrap()
    }

    fn web() -> Address {
        Address::new("vm", "web")
    }

    fn refusal() -> StepError {
        StepError::Refused(ApiError {
            status: 402,
            error: "payment_required".into(),
            message: "no\u{1b}[2J\n::error::money".into(),
            reason: Some("banned".into()),
        })
    }

    #[test]
    fn each_event_is_one_line() {
        let events = [
            ApplyEvent::Recovering { address: web(), text: "looks for it".into() },
            ApplyEvent::Started { step: 0, address: web(), doing: "create" },
            ApplyEvent::Progress { step: 0, address: web(), text: "waiting, status deploying".into() },
            ApplyEvent::Retrying { step: None, text: "rate limited, paused 1 s".into() },
            ApplyEvent::Succeeded {
                step: 0,
                address: web(),
                done: "created",
                id: Some("5b1e".into()),
                took: Duration::from_millis(112_004),
            },
            ApplyEvent::Failed { step: 1, address: web(), error: refusal() },
            ApplyEvent::Skipped { step: 2, address: web(), because: Address::new("vpc", "main") },
        ];
        let lines: Vec<String> = events.iter().map(|one| event_line(now(), one)).collect();
        insta::assert_snapshot!(lines.join("\n"), @r#"
        {"time":"2026-10-14T17:46:40Z","event":"recovering","address":"vm.web","text":"looks for it"}
        {"time":"2026-10-14T17:46:40Z","event":"started","address":"vm.web","step":0,"doing":"create"}
        {"time":"2026-10-14T17:46:40Z","event":"progress","address":"vm.web","step":0,"text":"waiting, status deploying"}
        {"time":"2026-10-14T17:46:40Z","event":"retrying","text":"rate limited, paused 1 s"}
        {"time":"2026-10-14T17:46:40Z","event":"succeeded","address":"vm.web","step":0,"done":"created","id":"5b1e","took_ms":112004}
        {"time":"2026-10-14T17:46:40Z","event":"failed","address":"vm.web","step":1,"error":{"kind":"refused","message":"402 payment_required: no\u001b[2J\n::error::money","status":402,"reason":"banned"}}
        {"time":"2026-10-14T17:46:40Z","event":"skipped","address":"vm.web","step":2,"because":"vpc.main"}
        "#);
        for line in lines {
            assert!(!line.contains('\n'));
            serde_json::from_str::<serde_json::Value>(&line).unwrap();
        }
    }

    #[test]
    fn the_outcome_is_the_last_line() {
        let ended = Outcome {
            done: vec![web()],
            failed: vec![(Address::new("vm", "api"), refusal())],
            skipped: vec![Address::new("volume", "media")],
            questions: vec!["Which one?".into()],
            notes: Vec::new(),
            interrupted: false,
            outputs: [("password".into(), Value::Secret(Secret::new("canary")))].into(),
        };
        let line = outcome_line(now(), &ended, 6);
        insta::assert_snapshot!(line, @r#"{"time":"2026-10-14T17:46:40Z","event":"outcome","done":["vm.web"],"failed":[{"address":"vm.api","error":{"kind":"refused","message":"402 payment_required: no\u001b[2J\n::error::money","status":402,"reason":"banned"}}],"skipped":["volume.media"],"questions":["Which one?"],"interrupted":false,"outputs":{"password":{"secret":true}},"exit":6}"#);
        assert!(!line.contains("canary"));
    }
}
