//! The order in which units are applied. In: their dependencies, and which of them have deletions that wait. Out: the units
//! that may start now, each time one ends. Changes go from upstream units to readers; deletions that wait go back, after
//! the readers. In a destroy, readers come first. A unit that fails keeps its dependents from starting. Pure.

use std::collections::BTreeSet;

use super::fit::UnitPhase;
use super::graph::UnitGraph;

/// How a unit stands in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnitState {
    /// It waits for other units.
    Waiting,
    /// A phase of it runs.
    Running(UnitPhase),
    /// Its changes are made, and its deletions wait for its readers.
    Holding,
    /// It is done.
    Done,
    /// It failed, or was skipped.
    Ended,
}

/// A run over units.
#[derive(Debug, Clone)]
pub struct UnitSchedule {
    /// By unit: the units that must have made their changes before it starts.
    before: Vec<Vec<usize>>,
    /// By unit: the units that must be done before it deletes.
    users: Vec<Vec<usize>>,
    states: Vec<UnitState>,
    /// Units with deletions that wait.
    holding: BTreeSet<usize>,
    /// Whether no more units are started.
    is_stopped: bool,
}

impl UnitSchedule {
    /// Returns the schedule of an apply over `units`. `holding` are those whose deletions wait for the units that use the
    /// objects: their readers, and those that `users` names.
    #[must_use]
    pub fn of_apply(
        graph: &UnitGraph,
        units: &BTreeSet<usize>,
        holding: BTreeSet<usize>,
        users: &BTreeSet<(usize, usize)>,
    ) -> Self {
        let count = graph.upstream.len();
        let above = |number: usize| upstream_within(&graph.upstream, units, number);
        let mut schedule = Self {
            before: (0..count).map(above).collect(),
            users: (0..count).map(|number| upstream_within(&graph.readers, units, number)).collect(),
            states: states(count, units),
            holding,
            is_stopped: false,
        };
        for (unit, user) in users.iter().filter(|(_, user)| units.contains(user)) {
            schedule.users[*unit].push(*user);
        }
        schedule
    }

    /// Makes the second unit of each pair wait for the changes of the first. A pair must agree with the order of the units.
    #[must_use]
    pub fn with_order(mut self, pairs: &BTreeSet<(usize, usize)>) -> Self {
        let pairs: Vec<_> = pairs
            .iter()
            .filter(|(first, second)| self.is_waiting(*first) && self.is_waiting(*second))
            .collect();
        for (first, second) in pairs {
            self.before[*second].push(*first);
        }
        self
    }

    /// Returns the schedule of a destroy over `units`: readers first.
    #[must_use]
    pub fn of_destroy(
        graph: &UnitGraph,
        units: &BTreeSet<usize>,
        users: &BTreeSet<(usize, usize)>,
    ) -> Self {
        let count = graph.upstream.len();
        let mut before: Vec<Vec<usize>> =
            (0..count).map(|number| upstream_within(&graph.readers, units, number)).collect();
        for (unit, user) in users.iter().filter(|(_, user)| units.contains(user)) {
            before[*unit].push(*user);
        }
        Self {
            before,
            users: vec![Vec::new(); count],
            states: states(count, units),
            holding: BTreeSet::new(),
            is_stopped: false,
        }
    }

    /// Returns whether a unit is part of the run and was not started.
    pub(super) fn is_waiting(&self, unit: usize) -> bool {
        self.states[unit] == UnitState::Waiting
    }

    /// Returns whether a unit has deletions that wait.
    pub(super) fn holds(&self, unit: usize) -> bool {
        self.holding.contains(&unit)
    }

    /// Returns the units that must have made their changes before a unit starts.
    pub(super) fn before(&self, unit: usize) -> &[usize] {
        &self.before[unit]
    }

    /// Returns the units that must be done before a unit makes the deletions that wait.
    pub(super) fn users(&self, unit: usize) -> &[usize] {
        &self.users[unit]
    }

    /// Returns the units that may start now, and marks them as running; none after `stop`.
    pub fn start_ready(&mut self, limit: usize) -> Vec<(usize, UnitPhase)> {
        let running = self.states.iter().filter(|state| matches!(state, UnitState::Running(_))).count();
        let mut started = Vec::new();
        if self.is_stopped {
            return started;
        }
        for number in 0..self.states.len() {
            if running + started.len() >= limit {
                break;
            }
            let phase = match self.states[number] {
                UnitState::Waiting if self.is_after(number) => UnitPhase::Changes,
                UnitState::Holding if self.users[number].iter().all(|user| self.is_done(*user)) => {
                    UnitPhase::Deletions
                }
                _ => continue,
            };
            self.states[number] = UnitState::Running(phase);
            started.push((number, phase));
        }
        started
    }

    /// Records that a phase of a unit ended; returns the units that are skipped because of its failure.
    pub fn finish(&mut self, number: usize, phase: UnitPhase, succeeded: bool) -> Vec<usize> {
        self.states[number] = match (succeeded, phase) {
            (true, UnitPhase::Changes) if self.holding.contains(&number) => UnitState::Holding,
            (true, _) => UnitState::Done,
            (false, _) => UnitState::Ended,
        };
        if succeeded { Vec::new() } else { self.skip_dependents() }
    }

    /// Starts no more units.
    pub const fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// Returns whether nothing runs and nothing can start.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        let is_running = |state: &UnitState| matches!(state, UnitState::Running(_));
        let can_start = !self.is_stopped
            && (0..self.states.len()).any(|number| match self.states[number] {
                UnitState::Waiting => self.is_after(number),
                UnitState::Holding => self.users[number].iter().all(|user| self.is_done(*user)),
                _ => false,
            });
        !self.states.iter().any(is_running) && !can_start
    }

    /// Returns the units that were not started, and those whose deletions still wait.
    #[must_use]
    pub fn unfinished(&self) -> (Vec<usize>, Vec<usize>) {
        let with = |wanted: UnitState| {
            (0..self.states.len()).filter(|number| self.states[*number] == wanted).collect::<Vec<_>>()
        };
        (with(UnitState::Waiting), with(UnitState::Holding))
    }

    fn is_done(&self, number: usize) -> bool {
        self.states[number] == UnitState::Done
    }

    /// Returns whether all units that a unit waits for have made their changes.
    fn is_after(&self, number: usize) -> bool {
        let has_changed = |above: &usize| {
            matches!(self.states[*above], UnitState::Done | UnitState::Holding)
                || self.states[*above] == UnitState::Running(UnitPhase::Deletions)
        };
        self.before[number].iter().all(has_changed)
    }

    /// Ends the units that wait for one that ended without success, transitively.
    fn skip_dependents(&mut self) -> Vec<usize> {
        let mut skipped = Vec::new();
        loop {
            let waits_in_vain = |number: &usize| {
                self.states[*number] == UnitState::Waiting
                    && self.before[*number].iter().any(|above| self.states[*above] == UnitState::Ended)
            };
            let found: Vec<usize> = (0..self.states.len()).filter(waits_in_vain).collect();
            if found.is_empty() {
                return skipped;
            }
            for number in found {
                self.states[number] = UnitState::Ended;
                skipped.push(number);
            }
        }
    }
}

fn states(count: usize, units: &BTreeSet<usize>) -> Vec<UnitState> {
    let state = |number| if units.contains(&number) { UnitState::Waiting } else { UnitState::Done };
    (0..count).map(state).collect()
}

/// Returns the neighbors of a unit that are among `units`: directly, or through units that are not.
fn upstream_within(edges: &[Vec<usize>], units: &BTreeSet<usize>, number: usize) -> Vec<usize> {
    let mut found = BTreeSet::new();
    let mut seen = BTreeSet::from([number]);
    let mut open = edges[number].clone();
    while let Some(next) = open.pop() {
        if !seen.insert(next) {
            continue;
        }
        if units.contains(&next) {
            found.insert(next);
        } else {
            open.extend(&edges[next]);
        }
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::source::SourceLocation;
    use crate::workspace::unit::{Unit, UnitName, UpstreamUnit};

    /// A small generator of numbers: equal seeds give equal runs.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, limit: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(self.0 >> 33).unwrap() % limit.max(1)
        }
    }

    /// Returns a graph in which each unit reads some of those before it.
    fn graph(count: usize, dice: &mut Dice) -> UnitGraph {
        let name =
            |number: usize| UnitName { stack: format!("s{number:02}").into(), environment: "prod".into() };
        let source = SourceLocation { file: "stead.yaml".into(), line: 1, column: 1 };
        let units: Vec<Unit> = (0..count)
            .map(|number| {
                let reads = (0..number).filter(|_| dice.below(3) == 0).collect::<Vec<_>>();
                let edge = |above: usize| UpstreamUnit {
                    alias: format!("s{above}").into(),
                    unit: name(above),
                    reads: Some(BTreeSet::new()),
                    source: source.clone(),
                    misfit: None,
                };
                Unit {
                    name: name(number),
                    directory: format!("s{number}").into(),
                    has_environments: true,
                    is_removed: false,
                    upstream: reads.into_iter().map(edge).collect(),
                }
            })
            .collect();
        UnitGraph::new(&units)
    }

    #[test]
    fn no_schedule_starts_a_unit_too_early_and_each_unit_ends_once() {
        for seed in 0..3_000 {
            let mut dice = Dice(seed);
            let count = 1 + dice.below(9);
            let graph = graph(count, &mut dice);
            let units: BTreeSet<usize> = (0..count).filter(|_| dice.below(5) > 0).collect();
            let holding: BTreeSet<usize> = units.iter().copied().filter(|_| dice.below(2) == 0).collect();
            let mut schedule = UnitSchedule::of_apply(&graph, &units, holding.clone(), &BTreeSet::new());
            let (mut changed, mut done, mut failed) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
            let mut running: Vec<(usize, UnitPhase)> = Vec::new();
            loop {
                for (number, phase) in schedule.start_ready(3) {
                    let readers = upstream_within(&graph.readers, &units, number);
                    match phase {
                        UnitPhase::Changes => {
                            let above = upstream_within(&graph.upstream, &units, number);
                            assert!(above.iter().all(|above| changed.contains(above)), "seed {seed}");
                        }
                        UnitPhase::Deletions => {
                            assert!(readers.iter().all(|reader| done.contains(reader)), "seed {seed}");
                        }
                    }
                    assert!(running.iter().all(|(other, _)| *other != number), "seed {seed}");
                    running.push((number, phase));
                }
                assert!(running.len() <= 3, "seed {seed}");
                if running.is_empty() {
                    break;
                }
                let (number, phase) = running.swap_remove(dice.below(running.len()));
                let succeeded = dice.below(8) > 0;
                for skipped in schedule.finish(number, phase, succeeded) {
                    let above = upstream_within(&graph.upstream, &units, skipped);
                    assert!(
                        above.iter().any(|above| failed.contains(above) || *above == number),
                        "seed {seed}"
                    );
                    failed.insert(skipped);
                }
                if !succeeded {
                    failed.insert(number);
                } else if phase == UnitPhase::Changes && holding.contains(&number) {
                    changed.insert(number);
                } else {
                    changed.insert(number);
                    done.insert(number);
                }
            }
            assert!(schedule.is_finished(), "seed {seed}");
            let (waiting, held) = schedule.unfinished();
            assert!(waiting.is_empty(), "seed {seed}: {waiting:?}");
            // A deletion waits for ever only if a reader of the unit did not succeed.
            for number in &held {
                let readers = upstream_within(&graph.readers, &units, *number);
                assert!(readers.iter().any(|reader| !done.contains(reader)), "seed {seed}");
            }
            let ended: BTreeSet<usize> = done.iter().chain(&failed).copied().chain(held).collect();
            assert_eq!(ended, units, "seed {seed}");
        }
    }

    #[test]
    fn a_destroy_starts_with_the_readers_and_a_stop_starts_no_more() {
        let mut dice = Dice(7);
        let graph = graph(6, &mut dice);
        let units: BTreeSet<usize> = (0..6).collect();
        let mut schedule = UnitSchedule::of_destroy(&graph, &units, &BTreeSet::new());
        let mut order = Vec::new();
        while let Some((number, phase)) = schedule.start_ready(1).first().copied() {
            assert!(graph.readers[number].iter().all(|reader| order.contains(reader)));
            order.push(number);
            assert!(schedule.finish(number, phase, true).is_empty());
        }
        assert_eq!(order.len(), 6);
        let mut schedule = UnitSchedule::of_apply(&graph, &units, BTreeSet::new(), &BTreeSet::new());
        schedule.stop();
        assert!(schedule.start_ready(8).is_empty() && schedule.is_finished());
        assert_eq!(schedule.unfinished().0.len(), 6);
    }
}
