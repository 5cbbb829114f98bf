//! `Schedule`: which step may run next. Pure; the executor reports results and asks for steps.
//!
//! Among the steps whose dependencies are done, the one with the longest remaining chain runs first: the whole apply
//! waits for that chain. A failed step skips all steps that depend on it, directly or not, and each skipped step
//! records the failed one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::plan::model::step::Step;

/// The state of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepProgress {
    /// It waits for other steps, or for a free slot.
    Waiting,
    /// The executor has started it.
    Running,
    /// It ended without an error.
    Done,
    /// It ended with an error.
    Failed,
    /// It will not run, because the step with this number failed.
    Skipped(usize),
}

/// The scheduling state of a plan's steps. Every step is returned by `next_step` or skipped, at most once.
#[derive(Debug)]
pub struct Schedule {
    /// For each step, the number of its dependencies that are not done.
    needs: Vec<usize>,
    /// For each step, its dependents: `followers[first[n]..first[n + 1]]`.
    followers: Vec<usize>,
    first: Vec<usize>,
    /// For each step, the seconds from its start to the end of its longest chain of dependents, by the usual durations.
    remaining: Vec<u64>,
    progress: Vec<StepProgress>,
    ready: BinaryHeap<(u64, Reverse<usize>)>,
}

impl Schedule {
    /// Returns the schedule of a plan's steps. A dependency on a later step can never be met: a step
    /// with one is never returned.
    #[must_use]
    pub fn new(steps: &[Step]) -> Self {
        let (first, followers) = index_followers(steps);
        let mut remaining: Vec<u64> = vec![0; steps.len()];
        // From the last step back: dependents have higher numbers, so their chains are known.
        for (number, step) in steps.iter().enumerate().rev() {
            let behind = followers[first[number]..first[number + 1]].iter();
            let longest = behind.map(|&follower| remaining[follower]).max().unwrap_or(0);
            remaining[number] = longest + u64::from(step.seconds);
        }
        let needs: Vec<usize> = steps.iter().map(|step| step.after.len()).collect();
        let ready = (0..steps.len())
            .filter(|&number| needs[number] == 0)
            .map(|number| (remaining[number], Reverse(number)))
            .collect();
        Self {
            needs,
            followers,
            first,
            remaining,
            progress: vec![StepProgress::Waiting; steps.len()],
            ready,
        }
    }

    /// Returns the most urgent step that can run now, and marks it as running; `None` if every other step
    /// waits, runs or has ended.
    pub fn next_step(&mut self) -> Option<usize> {
        while let Some((_, Reverse(step))) = self.ready.pop() {
            if self.progress[step] == StepProgress::Waiting {
                self.progress[step] = StepProgress::Running;
                return Some(step);
            }
        }
        None
    }

    /// Marks a step as done and releases its dependents. Call it once for each step.
    pub fn mark_done(&mut self, step: usize) {
        self.progress[step] = StepProgress::Done;
        for at in self.first[step]..self.first[step + 1] {
            let follower = self.followers[at];
            self.needs[follower] -= 1;
            if self.needs[follower] == 0 {
                self.ready.push((self.remaining[follower], Reverse(follower)));
            }
        }
    }

    /// Marks a step as failed, and returns the steps that are skipped because of it, by number. No step is returned
    /// twice over the schedule's life.
    pub fn mark_failed(&mut self, step: usize) -> Vec<usize> {
        self.progress[step] = StepProgress::Failed;
        let mut skipped = Vec::new();
        let mut front = vec![step];
        while let Some(at) = front.pop() {
            for &follower in &self.followers[self.first[at]..self.first[at + 1]] {
                if self.progress[follower] == StepProgress::Waiting {
                    self.progress[follower] = StepProgress::Skipped(step);
                    skipped.push(follower);
                    front.push(follower);
                }
            }
        }
        skipped.sort_unstable();
        skipped
    }

    /// Returns the state of each step, by number.
    #[must_use]
    pub fn progress(&self) -> &[StepProgress] {
        &self.progress
    }
}

/// Inverts `after` into two flat lists of dependents.
fn index_followers(steps: &[Step]) -> (Vec<usize>, Vec<usize>) {
    let legal = |number: usize, need: usize| need < number;
    let mut first = vec![0; steps.len() + 1];
    for (number, step) in steps.iter().enumerate() {
        for &need in step.after.iter().filter(|&&need| legal(number, need)) {
            first[need + 1] += 1;
        }
    }
    for number in 0..steps.len() {
        first[number + 1] += first[number];
    }
    let mut place = first.clone();
    let mut followers = vec![0; first[steps.len()]];
    for (number, step) in steps.iter().enumerate() {
        for &need in step.after.iter().filter(|&&need| legal(number, need)) {
            followers[place[need]] = number;
            place[need] += 1;
        }
    }
    (first, followers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::state::entry::OwnedObject;
    use crate::model::address::Address;
    use crate::plan::model::step::Operation;
    use proptest::prelude::*;

    fn step(seconds: u32, after: &[usize]) -> Step {
        let object = OwnedObject {
            id: "x".into(),
            parent: None,
            project: None,
            created_at: None,
            provisional: false,
        };
        Step {
            address: Address::new("thing", "a"),
            kind: "thing".into(),
            operation: Operation::Delete { object, deposed: false },
            after: after.to_vec(),
            seconds,
            timeout_seconds: 60,
        }
    }

    #[test]
    fn the_longest_chain_is_scheduled_first() {
        // 0 is long itself, 1 is short but has 2 behind it; 3 ties with 0.
        let steps = [step(20, &[]), step(1, &[]), step(47, &[1]), step(20, &[])];
        let mut schedule = Schedule::new(&steps);
        assert_eq!(
            [schedule.next_step(), schedule.next_step(), schedule.next_step()],
            [Some(1), Some(0), Some(3)]
        );
        assert_eq!(schedule.next_step(), None);
        schedule.mark_done(1);
        assert_eq!(schedule.next_step(), Some(2));
    }

    #[test]
    fn a_failed_step_skips_only_its_dependents() {
        let steps = [step(1, &[]), step(1, &[0]), step(1, &[1]), step(1, &[]), step(1, &[2, 3])];
        let mut schedule = Schedule::new(&steps);
        assert_eq!(schedule.next_step(), Some(0));
        assert_eq!(schedule.mark_failed(0), [1, 2, 4]);
        assert_eq!(schedule.next_step(), Some(3));
        assert_eq!(schedule.mark_failed(3), [] as [usize; 0]);
        assert_eq!(schedule.progress()[4], StepProgress::Skipped(0));
        assert_eq!(schedule.next_step(), None);
    }

    #[test]
    fn a_step_that_depends_on_a_later_step_never_starts() {
        let mut schedule = Schedule::new(&[step(1, &[1]), step(1, &[]), step(1, &[2])]);
        assert_eq!(schedule.next_step(), Some(1));
        schedule.mark_done(1);
        assert_eq!(schedule.next_step(), None);
    }

    /// Any acyclic set of steps: each needs some of those before it.
    fn dags() -> impl Strategy<Value = Vec<Step>> {
        prop::collection::vec((0u32..50, prop::collection::vec(any::<prop::sample::Index>(), 0..4)), 1..40)
            .prop_map(|raw| {
                raw.into_iter()
                    .enumerate()
                    .map(|(number, (seconds, needs))| {
                        let mut after: Vec<_> = needs
                            .iter()
                            .filter(|_| number > 0)
                            .map(|index| index.index(number.max(1)))
                            .collect();
                        after.sort_unstable();
                        after.dedup();
                        step(seconds, &after)
                    })
                    .collect()
            })
    }

    proptest! {
        #[test]
        fn every_step_is_started_or_skipped_once_in_dependency_order(
            steps in dags(),
            fate in prop::collection::vec(any::<(bool, u8)>(), 80),
            width in 1usize..6,
        ) {
            let mut schedule = Schedule::new(&steps);
            let (mut running, mut done) = (Vec::new(), vec![false; steps.len()]);
            let mut settled = vec![0; steps.len()];
            let mut fate = fate.into_iter().cycle();
            loop {
                while running.len() < width && let Some(next) = schedule.next_step() {
                    prop_assert!(steps[next].after.iter().all(|&need| done[need]));
                    running.push(next);
                }
                if running.is_empty() {
                    break;
                }
                let (fails, which) = fate.next().unwrap();
                let step = running.swap_remove(usize::from(which) % running.len());
                settled[step] += 1;
                if fails && which % 4 == 0 {
                    for skipped in schedule.mark_failed(step) {
                        settled[skipped] += 1;
                        prop_assert_eq!(schedule.progress()[skipped], StepProgress::Skipped(step));
                    }
                } else {
                    done[step] = true;
                    schedule.mark_done(step);
                }
            }
            prop_assert!(settled.iter().all(|&times| times == 1), "{:?}", settled);
        }

        #[test]
        fn the_next_step_is_on_the_longest_remaining_chain(steps in dags()) {
            let mut chain = vec![0u64; steps.len()];
            for number in (0..steps.len()).rev() {
                let behind = (number + 1..steps.len()).filter(|&n| steps[n].after.contains(&number));
                chain[number] = behind.map(|n| chain[n]).max().unwrap_or(0) + u64::from(steps[number].seconds);
            }
            let mut schedule = Schedule::new(&steps);
            let mut wave = Vec::new();
            while let Some(next) = schedule.next_step() {
                wave.push(next);
            }
            prop_assert!(wave.is_sorted_by_key(|&n| (Reverse(chain[n]), n)), "{:?}", wave);
        }
    }
}
