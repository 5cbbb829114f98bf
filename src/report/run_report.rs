//! `RunReport`: what became of a plan, for the reports of an apply: of each step, and of each resource.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use jiff::Timestamp;

use super::text::phrases;
use super::views::apply_outcome::{self, FailureContext, FailureText};
use crate::apply::event::{ApplyEvent, Outcome, StepError};
use crate::model::address::Address;
use crate::plan::model::change::{Change, Plan};

/// What was heard of a plan's steps, by their numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StepResults {
    all: BTreeMap<usize, StepResult>,
}

/// How far a step came.
#[derive(Debug, Clone, PartialEq)]
pub enum StepResult {
    /// It was begun, and nobody heard how it ended.
    Started,
    /// It is done; how long that took.
    Done(Duration),
    /// It failed.
    Failed(StepError),
    /// It was not begun, because this one was not done.
    Skipped(Address),
}

impl StepResult {
    /// Returns it as programs know it.
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
    /// Takes an event.
    pub fn record_event(&mut self, event: &ApplyEvent) {
        let (step, came) = match event {
            ApplyEvent::Started { step, .. } => (step, StepResult::Started),
            ApplyEvent::Succeeded { step, took, .. } => (step, StepResult::Done(*took)),
            ApplyEvent::Failed { step, error, .. } => (step, StepResult::Failed(error.clone())),
            ApplyEvent::Skipped { step, because, .. } => (step, StepResult::Skipped(because.clone())),
            ApplyEvent::Recovering { .. } | ApplyEvent::Progress { .. } | ApplyEvent::Retrying { .. } => {
                return;
            }
        };
        self.all.insert(*step, came);
    }

    /// Returns the steps that something was heard of.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &StepResult)> {
        self.all.iter().map(|(number, step)| (*number, step))
    }

    /// Returns how an apply ended that was cut off: by what was heard until then.
    #[must_use]
    pub fn cut_off(&self, plan: &Plan) -> Outcome {
        let mut outcome = Outcome { interrupted: true, ..Outcome::default() };
        for change in &plan.changes {
            let mut steps = change.steps.iter().map(|step| self.all.get(step));
            let failed = change.steps.iter().find_map(|step| match self.all.get(step) {
                Some(StepResult::Failed(error)) => Some(error.clone()),
                _ => None,
            });
            match failed {
                Some(error) => outcome.failed.push((change.address.clone(), error)),
                None if steps.all(|step| matches!(step, Some(StepResult::Done(_)))) => {
                    outcome.done.push(change.address.clone());
                }
                None => outcome.skipped.push(change.address.clone()),
            }
        }
        outcome
    }
}

/// What became of a plan.
#[derive(Debug, Clone)]
pub struct RunReport<'a> {
    /// How it ended.
    pub outcome: &'a Outcome,
    /// What was heard of its steps.
    pub steps: &'a StepResults,
    /// When it ended.
    pub at: Timestamp,
    /// How long it took.
    pub took: Duration,
    /// The command's exit code.
    pub exit: u8,
    /// Who is done, and who failed, and why.
    ends: HashMap<&'a Address, Option<&'a StepError>>,
}

/// What became of a resource.
#[derive(Debug, Clone, PartialEq)]
pub enum ResourceOutcome<'a> {
    /// All is done; how long its steps took together.
    Done(Duration),
    /// A step failed.
    Failed(FailureText),
    /// It was not begun, because that one was not done.
    Skipped(Option<&'a Address>),
    /// Nobody heard how it ended: the next run finds out.
    Unresolved,
}

impl ResourceOutcome<'_> {
    /// Returns it in a few words.
    #[must_use]
    pub fn describe_outcome(&self) -> String {
        match self {
            Self::Done(took) if took.is_zero() => "done".to_owned(),
            Self::Done(took) => format!("done in {}", phrases::format_duration(*took)),
            Self::Failed(why) => format!("failed: {}", why.what),
            Self::Skipped(Some(because)) => format!("skipped: {because} was not done"),
            Self::Skipped(None) => "skipped".to_owned(),
            Self::Unresolved => "not known: the next run finds out".to_owned(),
        }
    }
}

impl<'a> RunReport<'a> {
    /// Returns what became of a plan that ended `at`, after `took`, with `exit`.
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

    /// Tells whether everything was done, and nothing is open.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.exit == 0
    }

    /// Returns the facts of a headline, the most important first.
    #[must_use]
    pub fn headline_facts(&self) -> Vec<String> {
        let Outcome { done, failed, skipped, questions, .. } = self.outcome;
        let counts = [(done.len(), "done"), (failed.len(), "failed"), (skipped.len(), "skipped")];
        let said = counts.iter().enumerate().filter(|(at, (count, _))| *at == 0 || *count > 0);
        let mut said: Vec<String> = said.map(|(_, (count, word))| format!("{count} {word}")).collect();
        if !questions.is_empty() {
            said.push(phrases::count_noun(questions.len(), "question"));
        }
        let how = match (self.outcome.interrupted, self.is_whole(), done.is_empty()) {
            (true, ..) => "interrupted",
            (false, true, _) => "applied",
            (false, false, false) => "partly applied",
            (false, false, true) => "failed",
        };
        vec![format!("{how}: {}", said.join(", ")), phrases::format_duration(self.took)]
    }

    /// Returns the failures in plain words.
    pub fn failures(&self, destroys: bool) -> impl Iterator<Item = (&'a Address, FailureText)> {
        let occasion = if destroys { FailureContext::Destroy } else { FailureContext::Apply };
        self.outcome
            .failed
            .iter()
            .map(move |(address, error)| (address, apply_outcome::describe_failure(error, occasion)))
    }

    /// Returns what became of a resource.
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
    fn what_was_cut_off_is_told_by_what_was_heard() {
        let plan = plans::full();
        let mut steps = StepResults::default();
        let first = plan.changes.first().unwrap();
        for step in &first.steps {
            let (step, address) = (*step, first.address.clone());
            steps.record_event(&ApplyEvent::Started { step, address, doing: "create" });
        }
        let outcome = steps.cut_off(&plan);
        assert!(outcome.interrupted && outcome.skipped.contains(&first.address));
        let ran = RunReport::new(&outcome, &steps, (plans::time(0), Duration::from_secs(3)), 130);
        assert_eq!(ran.resource_outcome(first), ResourceOutcome::Unresolved);
        assert!(ran.headline_facts()[0].starts_with("interrupted: "), "{:?}", ran.headline_facts());
    }
}
