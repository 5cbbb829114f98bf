//! `RunReport`: the result of an apply for its reports: of each step, and of each resource. Built from the executor's
//! outcome and the events that the command saw.

use std::collections::BTreeMap;
use std::time::Duration;

use foldhash::{HashMap, HashMapExt};
use jiff::Timestamp;

use super::text::phrases;
use super::views::apply_outcome::{self, FailureContext, FailureText};
use crate::apply::event::{ApplyEvent, Outcome, StepError};
use crate::model::address::Address;
use crate::plan::model::change::{Action, Change, Plan, PolicyStatus};
use crate::plan::model::due::{DueAmount, DueTotal};
use crate::plan::model::policy_outcome::PolicyOutcome;
use crate::plan::model::step::{Operation, Step};

/// The states of a plan's steps by step number, collected from events; steps without an event are absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StepResults {
    all: BTreeMap<usize, StepResult>,
    /// When each step was started, by the service's time.
    started: BTreeMap<usize, Timestamp>,
}

/// The state of a step.
#[derive(Debug, Clone, PartialEq)]
pub enum StepResult {
    /// The step was started, and its result is not known.
    Started,
    /// The step succeeded; how long it took.
    Done(Duration),
    /// The step failed with this error.
    Failed(StepError),
    /// The step was skipped because the resource with this address was not completed.
    Skipped(Address),
}

impl StepResult {
    /// Returns the keyword for the state in JSON documents.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Started => "open",
            Self::Done(_) => "done",
            Self::Failed(_) => "failed",
            Self::Skipped(_) => "skipped",
        }
    }
}

impl StepResults {
    /// Updates the states from an event that occurred now, by the service's time; progress and retries change none.
    pub fn record_event(&mut self, now: Timestamp, event: &ApplyEvent) {
        let (step, came) = match event {
            ApplyEvent::Started { step, .. } => (step, StepResult::Started),
            ApplyEvent::Succeeded { step, took, .. } => (step, StepResult::Done(*took)),
            ApplyEvent::Failed { step, error, .. } => (step, StepResult::Failed(error.clone())),
            ApplyEvent::Skipped { step, because, .. } => (step, StepResult::Skipped(because.clone())),
            ApplyEvent::Recovering { .. } | ApplyEvent::Progress { .. } | ApplyEvent::Retrying { .. } => {
                return;
            }
        };
        if came == StepResult::Started {
            self.started.insert(*step, now);
        }
        self.all.insert(*step, came);
    }

    /// Adds the results of a run whose steps have other numbers here; a step without a number is left out.
    pub fn add_renumbered(&mut self, other: &Self, number: impl Fn(usize) -> Option<usize>) {
        let named = |step: &usize| number(*step);
        self.all.extend(other.all.iter().filter_map(|(step, result)| Some((named(step)?, result.clone()))));
        self.started.extend(other.started.iter().filter_map(|(step, at)| Some((named(step)?, *at))));
    }

    /// Returns what was charged or refunded for the steps of a plan that were made, each at the time when it was started.
    #[must_use]
    pub fn due(&self, plan: &Plan) -> DueTotal {
        let mut total = DueTotal::default();
        let is_made = |due: &&DueAmount| matches!(self.all.get(&due.step), Some(StepResult::Done(_)));
        let at = |due: &DueAmount| self.started.get(&due.step).copied().unwrap_or(plan.base.made_at);
        for change in &plan.changes {
            total.add_each(change.cost.due.iter().filter(is_made).map(|due| (due, at(due))));
        }
        total
    }

    /// Returns which steps of a change were made although it is not done; `None` if none was.
    #[must_use]
    pub fn describe_partly_made(&self, plan: &Plan, change: &Change) -> Option<String> {
        let is_done = |step: &&usize| matches!(self.all.get(step), Some(StepResult::Done(_)));
        let made: Vec<&Step> =
            change.steps.iter().filter(is_done).filter_map(|step| plan.steps.get(*step)).collect();
        if made.is_empty() || made.len() == change.steps.len() {
            return None;
        }
        let words: Vec<&str> =
            made.iter().map(|step| phrases::operation_keyword(&step.operation)).collect();
        let is_created = made.iter().any(|step| matches!(step.operation, Operation::Create { .. }));
        let is_deleted =
            made.iter().any(|step| matches!(step.operation, Operation::Delete { deposed: false, .. }));
        let state = match (change.action, is_created, is_deleted) {
            (Action::Replace, true, false) => "; the old object and the new one are both live, and billed",
            (Action::Replace, false, true) => "; the old object is deleted, and there is no new one yet",
            _ => "",
        };
        Some(format!("made before that: {}{state}", words.join(", ")))
    }

    /// Returns the steps that had at least one event, in order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &StepResult)> {
        self.all.iter().map(|(number, step)| (*number, step))
    }

    /// Returns the outcome of an apply that was cut off before the executor returned one, derived from the events
    /// received so far. What became of a resource with a step that was started and did not end is not known.
    #[must_use]
    pub fn interrupted_outcome(&self, plan: &Plan) -> Outcome {
        let policies = plan.policy.iter().filter(|result| result.verdict == PolicyStatus::Unknown);
        let policies = policies.map(PolicyOutcome::of_stopped_run).collect();
        let mut outcome = Outcome { interrupted: true, policies, ..Outcome::default() };
        for change in &plan.changes {
            let is_done = |step: &usize| matches!(self.all.get(step), Some(StepResult::Done(_)));
            let failed = change.steps.iter().find_map(|step| match self.all.get(step) {
                Some(StepResult::Failed(error)) => Some(error.clone()),
                _ => None,
            });
            match failed {
                Some(error) => outcome.failed.push((change.address.clone(), error)),
                None if change.steps.iter().all(is_done) => {
                    outcome.done.push(change.address.clone());
                    continue;
                }
                None if change
                    .steps
                    .iter()
                    .any(|step| self.all.get(step) == Some(&StepResult::Started)) =>
                {
                    outcome.unknown.push(change.address.clone());
                }
                None => outcome.skipped.push(change.address.clone()),
            }
            outcome.begun |= change.steps.iter().any(is_done);
        }
        outcome
    }
}

/// The result of applying a plan, as reports need it.
#[derive(Debug, Clone)]
pub struct RunReport<'a> {
    /// The outcome that the executor returned, or `StepResults::cut_off`.
    pub outcome: &'a Outcome,
    /// The states of the steps.
    pub steps: &'a StepResults,
    /// When the apply ended.
    pub at: Timestamp,
    /// How long the apply took.
    pub took: Duration,
    /// Exit code of the command.
    pub exit: u8,
    /// The completed resources (`None`), and the failed ones with their first error.
    ends: HashMap<&'a Address, Option<&'a StepError>>,
}

/// The result of applying one resource.
#[derive(Debug, Clone, PartialEq)]
pub enum ResourceOutcome<'a> {
    /// All steps succeeded; the sum of their durations.
    Done(Duration),
    /// A step failed, with this explanation.
    Failed(FailureText),
    /// The resource was skipped because the one with this address was not completed; `None` if no step says why.
    Skipped(Option<&'a Address>),
    /// The result is not known; the next run determines it.
    Unresolved,
}

impl ResourceOutcome<'_> {
    /// Returns a short description of the result.
    #[must_use]
    pub fn describe_outcome(&self) -> String {
        match self {
            Self::Done(took) if !took.is_zero() => format!("done in {}", phrases::format_duration(*took)),
            other => other.describe_result(),
        }
    }

    /// Returns the description without the duration, which is equal for resources that ended alike.
    #[must_use]
    pub fn describe_result(&self) -> String {
        match self {
            Self::Done(_) => "done".to_owned(),
            Self::Failed(why) => format!("failed: {}", why.what),
            Self::Skipped(Some(because)) => format!("skipped: {because} was not done"),
            Self::Skipped(None) => "skipped".to_owned(),
            Self::Unresolved => "not known: the next run checks it".to_owned(),
        }
    }
}

impl<'a> RunReport<'a> {
    /// Returns the result of a plan that ended `at`, after `took`, with the exit code `exit`.
    #[must_use]
    pub fn new(
        outcome: &'a Outcome,
        steps: &'a StepResults,
        (at, took): (Timestamp, Duration),
        exit: u8,
    ) -> Self {
        let mut ends = HashMap::new();
        for (address, error) in &outcome.failed {
            ends.entry(address).or_insert(Some(error));
        }
        for address in &outcome.done {
            ends.entry(address).or_insert(None);
        }
        Self { outcome, steps, at, took, exit, ends }
    }

    /// Returns whether the command ended with the exit code 0: all steps succeeded and no intent is open.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.exit == 0
    }

    /// Returns what was charged or refunded for the steps of the plan that were made.
    #[must_use]
    pub fn due(&self, plan: &Plan) -> DueTotal {
        self.steps.due(plan)
    }

    /// Returns the parts of a headline, the most important one first.
    #[must_use]
    pub fn headline_facts(&self) -> Vec<String> {
        let questions = self.outcome.questions.len();
        let mut said = self.outcome.describe_counts();
        if questions > 0 {
            said = format!("{said}, {}", phrases::count_noun(questions, "question"));
        }
        let how = match (self.outcome.interrupted, self.is_whole(), !self.outcome.has_changes()) {
            (true, ..) => "interrupted",
            (false, true, _) => "applied",
            (false, false, false) => "partly applied",
            (false, false, true) => "failed",
        };
        vec![format!("{how}: {said}"), phrases::format_duration(self.took)]
    }

    /// Returns the failed resources with explanations; `destroys` selects the advice for a destroy.
    pub fn failures(&self, destroys: bool) -> impl Iterator<Item = (&'a Address, FailureText)> {
        let occasion = if destroys { FailureContext::Destroy } else { FailureContext::Apply };
        self.outcome
            .failed
            .iter()
            .map(move |(address, error)| (address, apply_outcome::describe_failure(error, occasion)))
    }

    /// Returns the result of one resource: the outcome decides, then the states of its steps.
    #[must_use]
    pub fn resource_outcome(&self, change: &Change) -> ResourceOutcome<'a> {
        let steps = || change.steps.iter().filter_map(|step| self.steps.all.get(step));
        match self.ends.get(&change.address) {
            Some(Some(error)) => return ResourceOutcome::Failed(apply_outcome::in_words(error)),
            Some(None) => {
                let took = steps()
                    .filter_map(|step| if let StepResult::Done(took) = step { Some(*took) } else { None });
                return ResourceOutcome::Done(took.sum());
            }
            None => {}
        }
        if steps().any(|step| *step == StepResult::Started) {
            return ResourceOutcome::Unresolved;
        }
        ResourceOutcome::Skipped(
            steps().find_map(
                |step| if let StepResult::Skipped(because) = step { Some(because) } else { None },
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::plans;

    #[test]
    fn the_result_of_an_interrupted_apply_is_derived_from_its_events() {
        let plan = plans::full();
        let mut steps = StepResults::default();
        let first = plan.changes.first().unwrap();
        for step in &first.steps {
            let (step, address) = (*step, first.address.clone());
            steps.record_event(plans::time(0), &ApplyEvent::Started { step, address, doing: "create" });
        }
        let outcome = steps.interrupted_outcome(&plan);
        assert!(outcome.interrupted && outcome.unknown.contains(&first.address));
        let ran = RunReport::new(&outcome, &steps, (plans::time(0), Duration::from_secs(3)), 130);
        assert_eq!(ran.resource_outcome(first), ResourceOutcome::Unresolved);
        assert!(ran.headline_facts()[0].starts_with("interrupted: "), "{:?}", ran.headline_facts());
    }
}
