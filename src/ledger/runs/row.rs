//! The rows of a run: its identity, its tasks, its workers, and what happened.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ledger::state::holder::LeaseHolder;
use crate::ledger::state::key_as_hex;
use crate::model::address::Name;
use crate::model::values::secret::FingerprintKey;

/// Longest name of a run, in bytes.
const MAX_NAME_BYTES: usize = 100;

/// Returns the name of a run, if it is one: letters, digits, `.`, `_`, `:`, `/` and `-`, at most 100 bytes.
///
/// # Errors
/// The reason why it is none, as a phrase.
pub fn parse_run_name(text: &str) -> Result<Name, String> {
    let is_legal = |c: char| c.is_ascii_alphanumeric() || "._:/-".contains(c);
    if text.is_empty() || text.len() > MAX_NAME_BYTES || !text.chars().all(is_legal) {
        return Err(format!(
            "the name of a run holds letters, digits, `.`, `_`, `:`, `/` and `-`, and at most {MAX_NAME_BYTES} bytes"
        ));
    }
    Ok(Name::new(text))
}

/// What all workers of a run must have in common.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunIdentity {
    /// Version of the program.
    pub version: String,
    /// Commit that is checked out; `None` outside of a repository.
    pub commit: Option<Name>,
    /// Digest of the selected units and their resolved configurations.
    pub configuration: String,
    /// Digest of the secrets of the selected units, with `salt` as its key.
    pub secrets: String,
    /// Fingerprint of the approved plans: 64 hexadecimal digits.
    pub fingerprint: String,
    /// Whether the units are destroyed.
    pub destroy: bool,
    /// Policies that are overridden: each worker plans its units again, and would be refused without them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub overrides: BTreeSet<Name>,
    /// Random key of the digest of the secrets.
    #[serde(with = "key_as_hex")]
    pub salt: FingerprintKey,
}

impl RunIdentity {
    /// Returns the first part in which another worker differs, as a phrase; `None` if they are the same.
    #[must_use]
    pub fn first_difference(&self, other: &Self) -> Option<&'static str> {
        let is_other_commit = self.commit.as_ref().zip(other.commit.as_ref()).is_some_and(|(a, b)| a != b);
        let differences = [
            (self.version != other.version, "version of stead"),
            (is_other_commit, "commit"),
            (self.destroy != other.destroy, "command"),
            (self.fingerprint != other.fingerprint, "fingerprint"),
            (self.overrides != other.overrides, "set of overridden policies"),
            (self.configuration != other.configuration, "configuration"),
            (self.secrets != other.secrets, "value of a secret"),
        ];
        differences.into_iter().find(|(differs, _)| *differs).map(|(_, what)| what)
    }
}

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum RunStatus {
    /// One of its workers plans.
    Planning,
    /// Its tasks can be claimed.
    Running,
    /// No more tasks can be claimed; those that run are finished.
    Canceled,
    /// Nothing runs, and nothing can be claimed.
    Ended,
}

/// A run.
#[derive(Debug, Clone)]
pub struct RunRow {
    /// Name of the run.
    pub name: Name,
    /// Where it stands.
    pub status: RunStatus,
    /// Whether it was canceled.
    pub canceled: bool,
    /// What its workers have in common.
    pub identity: RunIdentity,
    /// The worker that plans, or has planned.
    pub planner: String,
    /// When it began, by the database's clock.
    pub started: Timestamp,
    /// When it ended; `None` before.
    pub ended: Option<Timestamp>,
    /// Exit code of a run that was refused before any task was made; `None` for every other run.
    pub refused: Option<u8>,
    /// Why it was refused; empty for every other run.
    pub message: String,
    /// What the workers need besides the plans, as JSON that the program of the same version wrote.
    pub facts: String,
}

/// Which part of a unit a task does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum TaskPhase {
    /// Everything but the deletions that wait for other units.
    Changes,
    /// The deletions that waited.
    Deletions,
}

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum TaskState {
    /// It can be claimed when the tasks that it needs are done.
    Waiting,
    /// A worker does it.
    Running,
    /// It is done.
    Done,
    /// It failed.
    Failed,
    /// A task that it needs failed.
    Skipped,
}

impl TaskState {
    /// All states.
    pub const ALL: [Self; 5] = [Self::Waiting, Self::Running, Self::Done, Self::Failed, Self::Skipped];

    /// Returns the name that is stored.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// A task of a new run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewTask {
    /// Number within the run. A task needs only tasks of the same run.
    pub number: i32,
    /// Name of the unit, `stack/environment`.
    pub unit: String,
    /// Which part of it.
    pub phase: TaskPhase,
    /// Numbers of the tasks that must be done before it starts.
    pub needs: Vec<i32>,
}

/// A task as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    /// What it is.
    pub task: NewTask,
    /// Where it stands.
    pub state: TaskState,
    /// Name of the worker that does or did it; `None` if none claimed it.
    pub worker: Option<String>,
    /// How often it was claimed or taken from a worker.
    pub epoch: i64,
    /// Whether a worker that no longer has it had begun it.
    pub is_begun: bool,
    /// Exit code, once it ended: of the cause, for a skipped one.
    pub exit: Option<u8>,
    /// Why it failed or was skipped; empty otherwise.
    pub message: String,
}

/// A task that a worker may do. Its end counts only while no other worker took it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskClaim {
    /// Number of the task.
    pub number: i32,
    /// Name of the unit.
    pub unit: String,
    /// Which part of it.
    pub phase: TaskPhase,
    /// How often it was claimed or taken: the condition of its end.
    pub epoch: i64,
    /// Whether an earlier worker had begun it.
    pub is_begun: bool,
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskEnd {
    /// Exit code: 0 if it is done.
    pub exit: u8,
    /// Why it failed; empty if it is done.
    pub message: String,
}

/// A worker of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerRow {
    /// Name within the run.
    pub name: String,
    /// Who it is, and which process where that is known.
    pub holder: LeaseHolder,
    /// Time since it was seen last, by the database's clock.
    pub seen: Duration,
    /// Whether a person stated that it is dead.
    pub vouched: bool,
    /// Whether it left by itself.
    pub left: bool,
}

/// A worker's view of its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunProgress {
    /// Where the run stands.
    pub status: RunStatus,
    /// Number of tasks that wait.
    pub waiting: usize,
    /// Numbers of the tasks that run, with the names of their workers.
    pub running: Vec<(i32, String)>,
    /// All workers of the run.
    pub workers: Vec<WorkerRow>,
}

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEvent {
    /// When, by the database's clock.
    pub at: Timestamp,
    /// Name of the worker; empty for a person.
    pub worker: String,
    /// What, as a phrase.
    pub text: String,
}

/// A run in a list.
#[derive(Debug, Clone)]
pub struct RunSummary {
    /// The run.
    pub run: RunRow,
    /// Number of its units by the states of their tasks.
    pub units: BTreeMap<UnitTasks, usize>,
    /// Its workers that did not leave: they are alive, or died.
    pub workers: Vec<WorkerRow>,
}

/// The states of the tasks of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnitTasks {
    /// State of its changes.
    pub changes: TaskState,
    /// Exit code of its changes; `None` until they ended.
    pub exit: Option<u8>,
    /// State of the deletions that wait for other units; `None` if it has none.
    pub deletions: Option<TaskState>,
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Planning => "planning",
            Self::Running => "running",
            Self::Canceled => "canceled",
            Self::Ended => "ended",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_named_like_a_job() {
        for text in ["1234", "acme/shop:17-1", "deploy.2026_11"] {
            assert_eq!(parse_run_name(text).as_deref(), Ok(text));
        }
        for text in ["", "a b", "a\n", "é", &"x".repeat(101)] {
            assert!(parse_run_name(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_first_difference_between_workers_is_named() {
        let one = RunIdentity {
            version: "1.0.0".into(),
            commit: Some("abc".into()),
            configuration: "c".into(),
            secrets: "s".into(),
            fingerprint: "f".into(),
            destroy: false,
            overrides: BTreeSet::new(),
            salt: FingerprintKey::NONE,
        };
        assert_eq!(one.first_difference(&one.clone()), None);
        assert_eq!(one.first_difference(&RunIdentity { commit: None, ..one.clone() }), None);
        for (other, what) in [
            (RunIdentity { version: "2.0.0".into(), commit: None, ..one.clone() }, "version of stead"),
            (RunIdentity { commit: Some("d".into()), ..one.clone() }, "commit"),
            (RunIdentity { configuration: "d".into(), ..one.clone() }, "configuration"),
            (RunIdentity { secrets: "t".into(), ..one.clone() }, "value of a secret"),
            (RunIdentity { fingerprint: "t".into(), ..one.clone() }, "fingerprint"),
            (
                RunIdentity { overrides: ["budget".into()].into(), ..one.clone() },
                "set of overridden policies",
            ),
            (RunIdentity { destroy: true, ..one.clone() }, "command"),
        ] {
            assert_eq!(one.first_difference(&other), Some(what));
        }
    }
}
