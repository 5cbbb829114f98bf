//! An apply as an event stream: one JSON event per line, the outcome last.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use super::cost_entry::DueEntry;
use super::policy_outcome::PolicyOutcomeEntry;
use super::run::known_outputs;
use super::step_error::{FailedResourceEntry, StepErrorEntry};
use super::unit_events::EventUnit;
#[cfg(test)]
use super::unit_events::UnitEventLine;
use crate::apply::event::{ApplyEvent, Outcome};
use crate::model::address::{Address, Name};
use crate::plan::model::due::DueTotal;
#[cfg(test)]
use crate::report::json::failure::FailureEvent;
use crate::report::json::to_compact;
#[cfg(test)]
use crate::report::json::units::UnitsDocument;
use crate::report::json_value::JsonValue;
use crate::workspace::unit::UnitName;

/// One line of the output of `stead apply --output ndjson` and `stead destroy --output ndjson`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ApplyEventLine<'a> {
    /// When the line was written.
    time: Timestamp,
    /// The unit that it belongs to, of a command with `--all`.
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<EventUnit<'a>>,
    #[serde(flatten)]
    event: ApplyEventEntry<'a>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
enum ApplyEventEntry<'a> {
    /// An earlier run left an intent whose outcome is not recorded.
    Recovering {
        /// Address of the resource.
        address: &'a Address,
        /// What is looked for.
        text: &'a str,
    },
    /// A step starts.
    Started {
        /// Address of the resource.
        address: &'a Address,
        /// Number of the step in the plan's order.
        step: usize,
        /// What the step does.
        doing: &'a str,
    },
    /// A step makes progress.
    Progress {
        /// Address of the resource.
        address: &'a Address,
        /// Number of the step in the plan's order.
        step: usize,
        /// What the step waits for.
        text: &'a str,
    },
    /// A request is sent again, or waits for the rate limiter.
    Retrying {
        /// Number of the step in the plan's order.
        #[serde(skip_serializing_if = "Option::is_none")]
        step: Option<usize>,
        /// Why, and for how long.
        text: &'a str,
    },
    /// A step succeeded.
    Succeeded {
        /// Address of the resource.
        address: &'a Address,
        /// Number of the step in the plan's order.
        step: usize,
        /// What the step did.
        done: &'a str,
        /// Id of the object.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a Name>,
        /// Duration in milliseconds.
        took_ms: u128,
    },
    /// A step failed.
    Failed {
        /// Address of the resource.
        address: &'a Address,
        /// Number of the step in the plan's order.
        step: usize,
        error: StepErrorEntry,
    },
    /// A step is not run.
    Skipped {
        /// Address of the resource.
        address: &'a Address,
        /// Number of the step in the plan's order.
        step: usize,
        /// The resource that it needs and that was not completed.
        because: &'a Address,
    },
    Outcome(OutcomeEntry<'a>),
}

/// Returns an event as one line of JSON, without its line break; `unit` is that of a command with `--all`.
#[must_use]
pub fn event_line(time: Timestamp, unit: Option<&UnitName>, event: &ApplyEvent) -> String {
    let event = match event {
        ApplyEvent::Recovering { address, text } => ApplyEventEntry::Recovering { address, text },
        ApplyEvent::Started { step, address, doing } => {
            ApplyEventEntry::Started { address, step: *step, doing }
        }
        ApplyEvent::Progress { step, address, text } => {
            ApplyEventEntry::Progress { address, step: *step, text }
        }
        ApplyEvent::Retrying { step, text } => ApplyEventEntry::Retrying { step: *step, text },
        ApplyEvent::Succeeded { step, address, done, id, took } => ApplyEventEntry::Succeeded {
            address,
            step: *step,
            done,
            id: id.as_ref(),
            took_ms: took.as_millis(),
        },
        ApplyEvent::Failed { step, address, error } => {
            let error = StepErrorEntry::from_step_error(error);
            ApplyEventEntry::Failed { address, step: *step, error }
        }
        ApplyEvent::Skipped { step, address, because } => {
            ApplyEventEntry::Skipped { address, step: *step, because }
        }
    };
    to_compact(&ApplyEventLine { time, unit: unit.map(EventUnit::from), event })
}

/// The outcome of the apply. The last line.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
struct OutcomeEntry<'a> {
    /// Resources whose steps all succeeded.
    done: &'a [Address],
    /// Resources with a failed step.
    failed: Vec<FailedResourceEntry<'a>>,
    /// Resources with a step that was not started.
    skipped: &'a [Address],
    /// Ambiguous intents that the user must resolve, as sentences.
    questions: &'a [String],
    /// Further remarks on the apply.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
    /// Whether a signal interrupted the apply.
    interrupted: bool,
    /// Results of the policies that the plan could not decide.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    policies: Vec<PolicyOutcomeEntry<'a>>,
    /// Outputs of the stack, as far as they are known.
    outputs: BTreeMap<&'a Name, JsonValue<'a>>,
    /// What was charged or refunded for the steps that were made, by the rules of the plan.
    #[serde(flatten)]
    due: DueEntry,
    /// Exit code of the command.
    exit: u8,
}

/// Returns the last line of the stream: the outcome and the exit code.
#[must_use]
pub fn outcome_line(time: Timestamp, outcome: &Outcome, due: &DueTotal, exit: u8) -> String {
    let entry = OutcomeEntry {
        done: &outcome.done,
        failed: FailedResourceEntry::from_outcome(outcome),
        skipped: &outcome.skipped,
        questions: &outcome.questions,
        notes: &outcome.notes,
        interrupted: outcome.interrupted,
        policies: outcome.policies.iter().map(PolicyOutcomeEntry::from_outcome).collect(),
        outputs: known_outputs(outcome),
        due: DueEntry::from_total(due),
        exit,
    };
    to_compact(&ApplyEventLine { time, unit: None, event: ApplyEventEntry::Outcome(entry) })
}

/// One line of the output of `stead apply --output ndjson` and `stead destroy --output ndjson`. The last line is an
/// outcome or an error; with `--all`, the document of all units or an error.
#[cfg(test)]
#[derive(schemars::JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "each line is written on its own")]
pub(crate) enum ApplyStreamLine<'a> {
    Event(ApplyEventLine<'a>),
    Unit(UnitEventLine<'a>),
    Units(UnitsDocument<'a>),
    Failure(FailureEvent<'a>),
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::apply::event::StepError;
    use crate::cloud::error::ApiError;
    use crate::model::values::secret::Secret;
    use crate::model::values::value::Value;

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
        let lines: Vec<String> = events.iter().map(|one| event_line(now(), None, one)).collect();
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
            begun: false,
            done: vec![web()],
            failed: vec![(Address::new("vm", "api"), refusal())],
            skipped: vec![Address::new("volume", "media")],
            unknown: vec![],
            questions: vec!["Which one?".into()],
            notes: Vec::new(),
            interrupted: false,
            outputs: [("password".into(), Value::Secret(Secret::new("canary")))].into(),
            policies: Vec::new(),
        };
        let line = outcome_line(now(), &ended, &DueTotal::default(), 6);
        insta::assert_snapshot!(line, @r#"{"time":"2026-10-14T17:46:40Z","event":"outcome","done":["vm.web"],"failed":[{"address":"vm.api","error":{"kind":"refused","message":"402 payment_required: no\u001b[2J\n::error::money","status":402,"reason":"banned"}}],"skipped":["volume.media"],"questions":["Which one?"],"interrupted":false,"outputs":{"password":{"secret":true}},"due_now":0.0,"due_unknown":0,"due_at":null,"exit":6}"#);
        assert!(!line.contains("canary"));
    }
}
