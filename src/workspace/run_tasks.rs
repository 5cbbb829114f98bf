//! The tasks of an apply on many machines. In: the units of an approved apply and how they depend on each other. Out: the
//! tasks with what each needs, in the order of `schedule`; and, from the tasks of a run, how each unit and the run ended.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::UnitGraph;
use super::schedule::upstream_within;
use super::unit::UnitName;
use crate::ledger::runs::row::{NewTask, TaskPhase, TaskRow, TaskState};

/// The units of an apply that workers share.
#[derive(Debug, Clone, Copy)]
pub struct SharedApply<'a> {
    /// Names of all units of the repository, by number.
    pub names: &'a [UnitName],
    /// Dependencies between them.
    pub graph: &'a UnitGraph,
    /// Units that are applied.
    pub units: &'a BTreeSet<usize>,
    /// Units whose deletions wait for those that use the objects; empty for a destroy.
    pub holding: &'a BTreeSet<usize>,
    /// Pairs of a unit and one whose live objects use an object that the first deletes.
    pub users: &'a BTreeSet<(usize, usize)>,
    /// Pairs of units of which the first is applied before the second.
    pub moves: &'a BTreeSet<(usize, usize)>,
    /// Whether the units are destroyed: readers first.
    pub destroy: bool,
}

/// Returns the tasks of an apply. A task that can start earlier has a smaller number.
#[must_use]
pub fn apply_tasks(apply: &SharedApply<'_>) -> Vec<NewTask> {
    let SharedApply { names, graph, units, holding, users, moves, destroy } = *apply;
    let mut order: Vec<usize> =
        graph.order.iter().copied().filter(|number| units.contains(number)).collect();
    if destroy {
        order.reverse();
    }
    let numbered = (0..).zip(&order);
    let changes: BTreeMap<usize, i32> = numbered.map(|(task, unit)| (*unit, task)).collect();
    let held = order.iter().rev().filter(|unit| holding.contains(unit));
    let first = i32::try_from(order.len()).unwrap_or(i32::MAX);
    let deletions: BTreeMap<usize, i32> = (first..).zip(held).map(|(task, unit)| (*unit, task)).collect();
    let used = |unit: usize| users.iter().filter(move |(one, _)| *one == unit).map(|(_, user)| *user);
    let before = |unit: usize| -> BTreeSet<usize> {
        if destroy {
            return upstream_within(&graph.readers, units, unit).into_iter().chain(used(unit)).collect();
        }
        let earlier = moves.iter().filter(|(_, second)| *second == unit).map(|(first, _)| *first);
        upstream_within(&graph.upstream, units, unit).into_iter().chain(earlier).collect()
    };
    let after = |unit: usize| -> BTreeSet<usize> {
        upstream_within(&graph.readers, units, unit).into_iter().chain(used(unit)).collect()
    };
    let numbers_of = |units: BTreeSet<usize>, last: bool| -> Vec<i32> {
        let number = |unit: &usize| match deletions.get(unit).filter(|_| last) {
            Some(task) => Some(*task),
            None => changes.get(unit).copied(),
        };
        units.iter().filter_map(number).collect()
    };
    let mut tasks: Vec<NewTask> = changes
        .iter()
        .map(|(unit, number)| NewTask {
            number: *number,
            unit: names[*unit].to_string(),
            phase: TaskPhase::Changes,
            needs: numbers_of(before(*unit), false),
        })
        .collect();
    tasks.extend(deletions.iter().map(|(unit, number)| {
        let mut needs = numbers_of(after(*unit), true);
        needs.extend(changes.get(unit));
        NewTask { number: *number, unit: names[*unit].to_string(), phase: TaskPhase::Deletions, needs }
    }));
    tasks.sort_by_key(|task| task.number);
    tasks
}

/// How a unit of a run stands or ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitResult {
    /// Name of the unit, `stack/environment`.
    pub unit: String,
    /// State: of its changes until they are done, then of its deletions.
    pub state: UnitState,
    /// Exit code; `None` while it waits or runs.
    pub exit: Option<u8>,
    /// Why it is not done; empty otherwise.
    pub message: String,
    /// Name of the worker that had it last; `None` if none had it.
    pub worker: Option<String>,
}

/// State of a unit of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitState {
    /// It was not started.
    Waiting,
    /// A worker applies it.
    Running,
    /// Its changes are made, and its deletions wait for other units.
    Holding,
    /// It is done.
    Done,
    /// Its changes are made, and its deletions are not.
    Partly,
    /// It failed.
    Failed,
    /// It was not started because of another unit.
    Skipped,
}

/// Returns how the units of a run stand, by the number of their first task. `partly` is the exit code of a unit whose changes
/// are made and whose deletions are not.
#[must_use]
pub fn unit_results(tasks: &[TaskRow], partly: u8) -> Vec<UnitResult> {
    let of_phase = |phase: TaskPhase| tasks.iter().filter(move |row| row.task.phase == phase);
    let deletions: BTreeMap<&str, &TaskRow> =
        of_phase(TaskPhase::Deletions).map(|row| (row.task.unit.as_str(), row)).collect();
    let result = |changes: &TaskRow| {
        let last = deletions.get(changes.task.unit.as_str()).filter(|_| changes.state == TaskState::Done);
        let is_last = last.is_some();
        let row = last.copied().unwrap_or(changes);
        let state = match (row.state, is_last) {
            (TaskState::Waiting, false) => UnitState::Waiting,
            (TaskState::Waiting, true) => UnitState::Holding,
            (TaskState::Running, _) => UnitState::Running,
            (TaskState::Done, _) => UnitState::Done,
            (TaskState::Failed | TaskState::Skipped, true) => UnitState::Partly,
            (TaskState::Failed, false) if row.exit == Some(partly) => UnitState::Partly,
            (TaskState::Failed, false) => UnitState::Failed,
            (TaskState::Skipped, false) => UnitState::Skipped,
        };
        let exit = if state == UnitState::Partly { Some(partly) } else { row.exit };
        let worker = row.worker.clone().or_else(|| changes.worker.clone());
        UnitResult { unit: row.task.unit.clone(), state, exit, message: row.message.clone(), worker }
    };
    of_phase(TaskPhase::Changes).map(result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::source::SourceLocation;
    use crate::workspace::schedule::UnitSchedule;
    use crate::workspace::unit::{Unit, UpstreamUnit};

    fn names(count: usize) -> Vec<UnitName> {
        (0..count)
            .map(|number| UnitName { stack: format!("s{number}").into(), environment: "prod".into() })
            .collect()
    }

    /// Returns a graph in which unit `n` reads those of its bits.
    fn graph(names: &[UnitName], seed: u64) -> UnitGraph {
        let source = SourceLocation { file: "stead.yaml".into(), line: 1, column: 1 };
        let mut dice = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let units: Vec<Unit> = names
            .iter()
            .enumerate()
            .map(|(number, name)| {
                let above = (0..number).filter(|_| {
                    dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    dice >> 62 == 0
                });
                let upstream = above
                    .map(|above| UpstreamUnit {
                        alias: format!("s{above}").into(),
                        unit: names[above].clone(),
                        source: source.clone(),
                    })
                    .collect();
                Unit {
                    name: name.clone(),
                    directory: name.stack.clone(),
                    has_environments: true,
                    is_removed: false,
                    upstream,
                }
            })
            .collect();
        UnitGraph::new(&units)
    }

    /// Runs the tasks one after the other, the smallest number first, as `schedule` runs its units.
    #[test]
    fn the_tasks_allow_what_the_schedule_allows() {
        for seed in 0..500_u64 {
            let count = 1 + usize::try_from(seed % 7).unwrap();
            let names = names(count);
            let graph = graph(&names, seed);
            let units: BTreeSet<usize> = (0..count).filter(|number| (seed >> number) & 3 != 3).collect();
            let holding: BTreeSet<usize> =
                units.iter().copied().filter(|number| (seed >> (number + 3)) & 1 == 1).collect();
            let none = BTreeSet::new();
            let destroy = seed % 5 == 0;
            let holding = if destroy { BTreeSet::new() } else { holding };
            let apply = SharedApply {
                names: &names,
                graph: &graph,
                units: &units,
                holding: &holding,
                users: &none,
                moves: &none,
                destroy,
            };
            let tasks = apply_tasks(&apply);
            assert_eq!(tasks.len(), units.len() + holding.len(), "seed {seed}");
            let mut schedule = if destroy {
                UnitSchedule::of_destroy(&graph, &units, &none)
            } else {
                UnitSchedule::of_apply(&graph, &units, holding.clone(), &none)
            };
            let mut done = BTreeSet::new();
            let mut running: BTreeSet<(String, bool)> = BTreeSet::new();
            loop {
                for (number, phase) in schedule.start_ready(usize::MAX) {
                    running.insert((
                        names[number].to_string(),
                        phase == crate::workspace::fit::UnitPhase::Deletions,
                    ));
                }
                let ready: BTreeSet<(String, bool)> = tasks
                    .iter()
                    .filter(|task| !done.contains(&task.number))
                    .filter(|task| task.needs.iter().all(|need| done.contains(need)))
                    .map(|task| (task.unit.clone(), task.phase == TaskPhase::Deletions))
                    .collect();
                assert_eq!(ready, running, "seed {seed}");
                let Some((unit, is_deletion)) = running.pop_first() else { break };
                let number = names.iter().position(|name| name.to_string() == unit).unwrap();
                let phase = if is_deletion {
                    crate::workspace::fit::UnitPhase::Deletions
                } else {
                    crate::workspace::fit::UnitPhase::Changes
                };
                schedule.finish(number, phase, true);
                let ended = tasks
                    .iter()
                    .find(|task| task.unit == unit && (task.phase == TaskPhase::Deletions) == is_deletion);
                done.insert(ended.unwrap().number);
            }
            assert_eq!(done.len(), tasks.len(), "seed {seed}");
        }
    }

    #[test]
    fn a_unit_whose_deletions_failed_is_partly_applied() {
        let row = |number: i32, unit: &str, phase, state, exit: Option<u8>| TaskRow {
            task: NewTask { number, unit: unit.into(), phase, needs: Vec::new() },
            state,
            worker: Some("w".into()),
            epoch: 1,
            exit,
            message: String::new(),
        };
        let tasks = [
            row(0, "net/prod", TaskPhase::Changes, TaskState::Done, Some(0)),
            row(1, "app/prod", TaskPhase::Changes, TaskState::Failed, Some(1)),
            row(2, "web/prod", TaskPhase::Changes, TaskState::Skipped, Some(1)),
            row(4, "dns/prod", TaskPhase::Changes, TaskState::Failed, Some(6)),
            row(3, "net/prod", TaskPhase::Deletions, TaskState::Skipped, Some(1)),
        ];
        let results = unit_results(&tasks, 6);
        let short: Vec<_> = results.iter().map(|one| (one.unit.as_str(), one.state, one.exit)).collect();
        assert_eq!(
            short,
            [
                ("net/prod", UnitState::Partly, Some(6)),
                ("app/prod", UnitState::Failed, Some(1)),
                ("web/prod", UnitState::Skipped, Some(1)),
                ("dns/prod", UnitState::Partly, Some(6)),
            ]
        );
    }
}
