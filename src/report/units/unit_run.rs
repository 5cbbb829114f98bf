//! `UnitRun`: what the phases of a unit did together, as its reports show it. In: the outcome and the step results of each
//! phase. Out: one outcome, and the results of the steps of the plan that the reports show. Invariant: a resource that
//! failed in one phase is not done.
//!
//! A unit is planned again in each phase, where its steps can have other numbers: they are found by what they do.

use std::collections::BTreeSet;
use std::time::Duration;

use foldhash::{HashMap, HashMapExt};
use jiff::Timestamp;

use crate::apply::event::Outcome;
use crate::model::address::Address;
use crate::plan::model::change::Plan;
use crate::report::run_report::{RunReport, StepResults};
use crate::report::text::phrases;

/// What a step does: its resource, the operation, and the number among the steps of which both are the same.
type StepKey = (Address, &'static str, usize);

/// The result of a phase of a unit.
#[derive(Debug, Clone)]
pub struct PhaseRun {
    /// The outcome that the executor returned.
    pub outcome: Outcome,
    steps: StepResults,
    /// What each step of its plan does, by number.
    keys: Vec<StepKey>,
    at: Timestamp,
    took: Duration,
}

/// The result of a unit's phases together.
#[derive(Debug, Clone)]
pub struct UnitRun {
    outcome: Outcome,
    steps: StepResults,
    at: Timestamp,
    took: Duration,
}

impl PhaseRun {
    /// Returns the result of a phase that ran this plan; it ended `at`, after `took`.
    #[must_use]
    pub fn new(
        plan: &Plan,
        outcome: &Outcome,
        steps: StepResults,
        (at, took): (Timestamp, Duration),
    ) -> Self {
        Self { outcome: outcome.clone(), steps, keys: step_keys(plan), at, took }
    }
}

impl UnitRun {
    /// Returns what the phases did together with the changes of `plan`, which the reports show; `None` without a phase.
    /// `is_complete` says that the unit is applied: then a change that no phase had to make is done, too.
    #[must_use]
    pub fn merge(phases: &[PhaseRun], plan: &Plan, is_complete: bool) -> Option<Self> {
        let last = phases.last()?;
        let numbers: HashMap<StepKey, usize> =
            step_keys(plan).into_iter().enumerate().map(|(number, key)| (key, number)).collect();
        let mut steps = StepResults::default();
        let mut outcome = Outcome { outputs: last.outcome.outputs.clone(), ..Outcome::default() };
        outcome.questions.clone_from(&last.outcome.questions);
        for PhaseRun { outcome: phase, steps: results, keys, .. } in phases {
            steps.add_renumbered(results, |number| numbers.get(keys.get(number)?).copied());
            outcome.done.extend(phase.done.iter().cloned());
            outcome.failed.extend(phase.failed.iter().cloned());
            outcome.skipped.extend(phase.skipped.iter().cloned());
            outcome.unknown.extend(phase.unknown.iter().cloned());
            outcome.notes.extend(phase.notes.iter().cloned());
            outcome.policies.extend(phase.policies.iter().cloned());
            outcome.begun |= phase.begun;
            outcome.interrupted |= phase.interrupted;
        }
        let changed = plan.changes.iter().map(|change| &change.address).filter(|_| is_complete);
        outcome.done.extend(changed.cloned());
        // Each resource has one result: the worst.
        let mut seen: BTreeSet<Address> =
            outcome.failed.iter().map(|(address, _)| address.clone()).collect();
        outcome.unknown.retain(|address| seen.insert(address.clone()));
        outcome.skipped.retain(|address| seen.insert(address.clone()));
        outcome.done.retain(|address| seen.insert(address.clone()));
        Some(Self { outcome, steps, at: last.at, took: phases.iter().map(|phase| phase.took).sum() })
    }

    /// Returns the result as reports need it; `exit` is the exit code of the unit.
    #[must_use]
    pub fn report(&self, exit: u8) -> RunReport<'_> {
        RunReport::new(&self.outcome, &self.steps, (self.at, self.took), exit)
    }
}

/// Returns what the steps of a plan do, by number.
fn step_keys(plan: &Plan) -> Vec<StepKey> {
    let mut counts: HashMap<(&Address, &str), usize> = HashMap::new();
    let mut keys = Vec::with_capacity(plan.steps.len());
    for step in &plan.steps {
        let operation = phrases::operation_keyword(&step.operation);
        let count = counts.entry((&step.address, operation)).or_default();
        *count += 1;
        keys.push((step.address.clone(), operation, *count));
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::event::{ApplyEvent, StepError};
    use crate::report::run_report::ResourceOutcome;
    use crate::report::tests::plans;

    /// Returns the result of a phase that did the steps of some changes of a plan.
    fn phase(plan: &Plan, changes: &[usize]) -> PhaseRun {
        let (mut steps, mut outcome) = (StepResults::default(), Outcome::default());
        for change in changes.iter().map(|number| &plan.changes[*number]) {
            for step in &change.steps {
                let (step, address) = (*step, change.address.clone());
                let took = Duration::from_secs(3);
                steps.record_event(
                    plans::time(0),
                    &ApplyEvent::Started { step, address: address.clone(), doing: "x" },
                );
                steps.record_event(
                    plans::time(3),
                    &ApplyEvent::Succeeded { step, address, done: "x", took, id: None },
                );
            }
            outcome.done.push(change.address.clone());
        }
        PhaseRun::new(plan, &outcome, steps, (plans::time(3), Duration::from_secs(3)))
    }

    #[test]
    fn the_phases_of_a_unit_are_one_result_of_the_plan_that_is_shown() {
        let shown = plans::full();
        // The plan of the second phase has the same steps in another order.
        let mut later = shown.clone();
        later.steps.rotate_left(1);
        let count = later.steps.len();
        let numbers = later.changes.iter_mut().flat_map(|change| &mut change.steps);
        numbers.for_each(|step| *step = (*step + count - 1) % count);
        // Both changes have steps.
        let phases = [phase(&shown, &[0]), phase(&later, &[2])];
        let run = UnitRun::merge(&phases, &shown, false).unwrap();
        let report = run.report(6);
        for change in [&shown.changes[0], &shown.changes[2]] {
            let took = Duration::from_secs(3) * u32::try_from(change.steps.len()).unwrap();
            assert!(!took.is_zero(), "{}", change.address);
            assert_eq!(report.resource_outcome(change), ResourceOutcome::Done(took), "{}", change.address);
        }
        assert_eq!(report.resource_outcome(&shown.changes[3]), ResourceOutcome::Skipped(None));
        assert_eq!(report.took, Duration::from_secs(6));
        let complete = UnitRun::merge(&phases, &shown, true).unwrap();
        assert!(matches!(complete.report(0).resource_outcome(&shown.changes[3]), ResourceOutcome::Done(_)));
        assert!(UnitRun::merge(&[], &shown, true).is_none());
    }

    #[test]
    fn what_failed_in_one_phase_is_not_done() {
        let shown = plans::full();
        let address = shown.changes[0].address.clone();
        let mut second = phase(&shown, &[]);
        second.outcome.failed.push((address.clone(), StepError::NotKept("no".to_owned())));
        let run = UnitRun::merge(&[phase(&shown, &[0]), second], &shown, false).unwrap();
        assert!(!run.outcome.done.contains(&address));
        assert!(matches!(run.report(6).resource_outcome(&shown.changes[0]), ResourceOutcome::Failed(_)));
    }
}
