//! The tasks of an apply on many machines. In: the schedule of an approved apply. Out: the same order as tasks, with what each
//! needs; and, from the tasks of a run, how each unit ended.

use std::collections::{BTreeMap, BTreeSet};

use super::schedule::UnitSchedule;
use super::unit::UnitName;
use crate::ledger::runs::row::{NewTask, TaskPhase, TaskRow, TaskState, UnitTasks};

/// Returns the tasks of a schedule of which nothing was started. `order` has each unit after those that it waits for, so a task
/// that can start earlier has a smaller number.
#[must_use]
pub fn schedule_tasks(schedule: &UnitSchedule, order: &[usize], names: &[UnitName]) -> Vec<NewTask> {
    let order: Vec<usize> = order.iter().copied().filter(|unit| schedule.is_waiting(*unit)).collect();
    let changes: BTreeMap<usize, i32> = order.iter().copied().zip(0..).collect();
    let first = i32::try_from(order.len()).unwrap_or(i32::MAX);
    let held = order.iter().rev().copied().filter(|unit| schedule.holds(*unit));
    let deletions: BTreeMap<usize, i32> = held.zip(first..).collect();
    let task = |unit: &usize, number: &i32, phase: TaskPhase, needs: BTreeSet<i32>| NewTask {
        number: *number,
        unit: names[*unit].to_string(),
        phase,
        needs: needs.into_iter().collect(),
    };
    let of_changes = changes.iter().map(|(unit, number)| {
        let needs = schedule.before(*unit).iter().filter_map(|one| changes.get(one).copied());
        task(unit, number, TaskPhase::Changes, needs.collect())
    });
    let of_deletions = deletions.iter().map(|(unit, number)| {
        let last = |one: &usize| deletions.get(one).or_else(|| changes.get(one)).copied();
        let needs = schedule.users(*unit).iter().filter_map(last).chain(changes.get(unit).copied());
        task(unit, number, TaskPhase::Deletions, needs.collect())
    });
    let mut tasks: Vec<NewTask> = of_changes.chain(of_deletions).collect();
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

/// What is said of a unit whose worker ended before the unit did.
const INTERRUPTED: &str = "a worker that ended had begun it: some of its changes may be made";

/// State of a unit of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitState {
    /// No worker has it.
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

/// Returns the state of a unit with these tasks; `partly` as for `unit_results`.
#[must_use]
pub fn unit_state(tasks: UnitTasks, partly: u8) -> UnitState {
    match (tasks.changes, tasks.deletions) {
        (TaskState::Waiting, _) => UnitState::Waiting,
        (TaskState::Running, _) | (TaskState::Done, Some(TaskState::Running)) => UnitState::Running,
        (TaskState::Done, Some(TaskState::Waiting)) => UnitState::Holding,
        (TaskState::Done, None | Some(TaskState::Done)) => UnitState::Done,
        (TaskState::Done, Some(TaskState::Failed | TaskState::Skipped)) => UnitState::Partly,
        (TaskState::Failed, _) if tasks.exit == Some(partly) => UnitState::Partly,
        (TaskState::Failed, _) => UnitState::Failed,
        (TaskState::Skipped, _) => UnitState::Skipped,
    }
}

/// Returns how the units of a run stand, by the number of their first task. `partly` is the exit code of a unit whose changes
/// are made and whose deletions are not.
#[must_use]
pub fn unit_results(tasks: &[TaskRow], partly: u8) -> Vec<UnitResult> {
    let of_phase = |phase: TaskPhase| tasks.iter().filter(move |row| row.task.phase == phase);
    let deletions: BTreeMap<&str, &TaskRow> =
        of_phase(TaskPhase::Deletions).map(|row| (row.task.unit.as_str(), row)).collect();
    let result = |changes: &TaskRow| {
        let last = deletions.get(changes.task.unit.as_str()).copied();
        let unit =
            UnitTasks { changes: changes.state, exit: changes.exit, deletions: last.map(|row| row.state) };
        let state = unit_state(unit, partly);
        let row = last.filter(|_| changes.state == TaskState::Done).unwrap_or(changes);
        let exit = if state == UnitState::Partly { Some(partly) } else { row.exit };
        let worker = row.worker.clone().or_else(|| changes.worker.clone());
        let is_interrupted = row.state == TaskState::Waiting && row.is_begun;
        let message = if is_interrupted { INTERRUPTED.to_owned() } else { row.message.clone() };
        UnitResult { unit: row.task.unit.clone(), state, exit, message, worker }
    };
    of_phase(TaskPhase::Changes).map(result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::source::SourceLocation;
    use crate::workspace::graph::UnitGraph;
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
                        reads: Some(BTreeSet::new()),
                        source: source.clone(),
                        misfit: None,
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
            let mut schedule = if destroy {
                UnitSchedule::of_destroy(&graph, &units, &none)
            } else {
                UnitSchedule::of_apply(&graph, &units, holding.clone(), &none)
            };
            let mut order = graph.order.clone();
            if destroy {
                order.reverse();
            }
            let tasks = schedule_tasks(&schedule, &order, &names);
            assert_eq!(tasks.len(), units.len() + holding.len(), "seed {seed}");
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
            is_begun: false,
            exit,
            message: String::new(),
        };
        let interrupted =
            TaskRow { is_begun: true, ..row(5, "log/prod", TaskPhase::Changes, TaskState::Waiting, None) };
        assert_eq!(unit_results(&[interrupted], 6)[0].message, INTERRUPTED);
        assert!(
            unit_results(&[row(5, "a", TaskPhase::Changes, TaskState::Waiting, None)], 6)[0]
                .message
                .is_empty()
        );
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
        let unit =
            UnitTasks { changes: TaskState::Done, exit: Some(0), deletions: Some(TaskState::Waiting) };
        assert_eq!(
            unit_state(unit, 6),
            UnitState::Holding,
            "one unit, not a task that is done and one that waits"
        );
    }
}
