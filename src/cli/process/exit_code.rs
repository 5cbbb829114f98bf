//! The exit codes of the process, and the mapping from results and errors to them. All codes are decided here, so
//! that the same cause never exits with two codes.

use std::process::ExitCode;

use crate::apply::event::{Outcome, StepError};
use crate::cloud::error::{ApiError, ReadError};
use crate::ledger::journal::error::StoreError;
use crate::plan::model::change::Plan;

/// Exit code of a command. The numbers are a stable interface, because scripts branch on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Exit {
    /// The command succeeded, and no other code applies.
    Done,
    /// The command failed for a reason without a code of its own.
    Failed,
    /// The plan has changes (`plan --exit-code` only).
    Changes,
    /// There is drift (`drift --exit-code` only).
    Drift,
    /// The plan is blocked: by protection, the deletion limit, or the scope of `--yes`.
    Blocked,
    /// The plan does not match the live objects or the configuration anymore.
    OutOfDate,
    /// Some resources were changed, others failed.
    Partly,
    /// The service refuses the account or the key (401, 402, 403, 412), or there is no key.
    Refused,
    /// Another process holds the ledger's lock.
    Locked,
    /// The command line is invalid.
    Usage,
    /// A stop signal interrupted the command.
    Interrupted,
    /// Exit code of a job that `do` ran, from 1 to 255; it can equal one of the others.
    Job(u8),
}

impl Exit {
    /// All exit codes except `Job`, in ascending order.
    pub const ALL: [Self; 11] = [
        Self::Done,
        Self::Failed,
        Self::Changes,
        Self::Drift,
        Self::Blocked,
        Self::OutOfDate,
        Self::Partly,
        Self::Refused,
        Self::Locked,
        Self::Usage,
        Self::Interrupted,
    ];

    /// Returns the number that the process exits with.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Changes => 2,
            Self::Drift => 3,
            Self::Blocked => 4,
            Self::OutOfDate => 5,
            Self::Partly => 6,
            Self::Refused => 7,
            Self::Locked => 8,
            Self::Usage => 64,
            Self::Interrupted => 130,
            Self::Job(code) => code,
        }
    }

    /// Returns a short description, as the help and the documents have it.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Changes => "there are changes (with --exit-code)",
            Self::Drift => "there is drift (with --exit-code)",
            Self::Blocked => "the plan has blockers",
            Self::OutOfDate => "the plan is out of date",
            Self::Partly => "partly applied",
            Self::Refused => "refused by the account",
            Self::Locked => "another process is writing the ledger",
            Self::Usage => "wrong usage",
            Self::Interrupted => "interrupted",
            Self::Job(_) => "the job's own",
        }
    }

    /// Returns when a command exits with this code, and what to do, as sentences.
    #[must_use]
    pub const fn guidance(self) -> &'static str {
        match self {
            Self::Done => {
                "The command succeeded. `plan` has it also if there are changes, unless `--exit-code` is set."
            }
            Self::Failed => {
                "The command failed for a reason without a code of its own; the message has the remedy."
            }
            Self::Changes => {
                "Only with `plan --exit-code`: an apply would change something. Review the plan."
            }
            Self::Drift => {
                "Only with `drift --exit-code`: live objects differ from what was last applied. Accept the difference, or apply."
            }
            Self::Blocked => {
                "Nothing was changed: a policy, protection, the deletion limit, data that would be lost, or the scope of `--yes`. Each blocker names the way to lift it."
            }
            Self::OutOfDate => {
                "Nothing was changed: the configuration, the ledger or a live object differs from the plan that was reviewed. Plan and review again."
            }
            Self::Partly => {
                "Some resources were changed, others failed or were skipped. Correct the cause and apply again: stead continues."
            }
            Self::Refused => {
                "The service answered 401, 402, 403 or 412, or there is no API key. Check the key with `stead doctor`."
            }
            Self::Locked => {
                "Another process writes the ledger. Wait for it; `stead lock status` shows who it is."
            }
            Self::Usage => {
                "The command line or a setting is invalid, or a confirmation is required and there is no terminal. Nothing was changed."
            }
            Self::Interrupted => {
                "A stop signal ended the command. What was running was finished or is recorded; apply again to continue."
            }
            Self::Job(_) => "`stead do run` exits with the exit code of the job that it ran.",
        }
    }

    /// Codes of a command over many units, from the one that counts most: errors, then refusals, then what was found.
    const WORST_FIRST: &[Self] = &[
        Self::Interrupted,
        Self::Failed,
        Self::Usage,
        Self::Refused,
        Self::OutOfDate,
        Self::Blocked,
        Self::Locked,
        Self::Partly,
        Self::Changes,
        Self::Drift,
    ];

    /// Returns the code as that of a unit: the code of a job is that of none, so it counts as an error.
    const fn as_unit_code(self) -> Self {
        if matches!(self, Self::Job(_)) { Self::Failed } else { self }
    }

    /// Returns the position of a code among those of many units, from 0 for the one that counts most.
    #[must_use]
    pub fn rank(self) -> usize {
        let unit = self.as_unit_code();
        Self::WORST_FIRST.iter().position(|known| *known == unit).unwrap_or(Self::WORST_FIRST.len())
    }

    /// Returns the exit code of a command over many units: the one that counts most; success without units.
    #[must_use]
    pub fn of_units(units: &[Self]) -> Self {
        units.iter().map(|exit| exit.as_unit_code()).min_by_key(|exit| exit.rank()).unwrap_or(Self::Done)
    }

    /// Returns the exit code of an apply of many units: that a part was applied, if anything was and not everything is done;
    /// else the code that counts most.
    #[must_use]
    pub fn of_applied_units(units: &[Self], has_applied: bool) -> Self {
        let exit = Self::of_units(units);
        if has_applied && exit != Self::Done { Self::Partly } else { exit }
    }

    /// Returns the exit code for a command line that was not run: success for help and version.
    #[must_use]
    pub fn of_usage(error: &clap::Error) -> Self {
        if error.use_stderr() { Self::Usage } else { Self::Done }
    }

    /// Returns the exit code of a plan. A value that the service does not keep counts as a change. A blocker takes
    /// precedence over changes; `exit_code` is the flag `--exit-code`.
    #[must_use]
    pub fn of_plan(plan: &Plan, exit_code: bool) -> Self {
        let is_as_declared = !plan.has_changes() && !plan.has_values_not_kept();
        match (plan.blocks.is_empty(), exit_code && !is_as_declared) {
            (false, _) => Self::Blocked,
            (true, true) => Self::Changes,
            (true, false) => Self::Done,
        }
    }

    /// Returns the exit code of a drift check with this number of differences; `exit_code` is the flag `--exit-code`.
    #[must_use]
    pub const fn of_drift(differences: usize, exit_code: bool) -> Self {
        if exit_code && differences > 0 { Self::Drift } else { Self::Done }
    }

    /// Returns the exit code of an apply.
    ///
    /// If nothing was changed at all, and all errors have one cause, that cause determines it: a refusal of the
    /// account, or an outdated plan.
    #[must_use]
    pub fn of_outcome(outcome: &Outcome) -> Self {
        if outcome.interrupted {
            return Self::Interrupted;
        }
        let whole = outcome.failed.is_empty() && outcome.skipped.is_empty();
        if whole && outcome.questions.is_empty() && outcome.notes.is_empty() {
            return Self::Done;
        }
        if outcome.failed.iter().any(|(_, error)| matches!(error, StepError::LeaseLost(_))) {
            return Self::Locked;
        }
        let is_not_kept = |error: &StepError| matches!(error, StepError::NotKept(_));
        if !outcome.failed.is_empty() && outcome.failed.iter().all(|(_, error)| is_not_kept(error)) {
            return Self::Failed;
        }
        if outcome.has_changes() {
            return Self::Partly;
        }
        let causes = || outcome.failed.iter().map(|(_, error)| Self::of_step(error));
        match causes().next() {
            Some(first) if causes().all(|cause| cause == first) => first,
            _ => Self::Failed,
        }
    }

    /// Returns the exit code for a job's run, from the run's own exit code; `Failed` for one that no process can have.
    #[must_use]
    pub fn of_job(code: i64) -> Self {
        match u8::try_from(code) {
            Ok(0) => Self::Done,
            Ok(code) => Self::Job(code),
            Err(_) => Self::Failed,
        }
    }

    /// Returns the exit code for one failed step.
    #[must_use]
    pub fn of_step(error: &StepError) -> Self {
        match error {
            StepError::Refused(refusal) | StepError::NotGranted { refusal, .. } => {
                Self::of_refusal(refusal)
            }
            StepError::ObjectChanged(_) => Self::OutOfDate,
            StepError::LeaseLost(_) => Self::Locked,
            StepError::Denied(_) => Self::Blocked,
            StepError::NotKept(_)
            | StepError::ServerError(_)
            | StepError::NotReady(_)
            | StepError::Ambiguous(_)
            | StepError::Ledger(_)
            | StepError::Failed(_)
            | StepError::Unreachable(_) => Self::Failed,
        }
    }

    /// Returns the exit code for a refused request.
    #[must_use]
    pub const fn of_refusal(refusal: &ApiError) -> Self {
        match refusal.status {
            401 | 402 | 403 | 412 => Self::Refused,
            _ => Self::Failed,
        }
    }

    /// Returns the exit code for a failed read.
    #[must_use]
    pub const fn of_read(error: &ReadError) -> Self {
        match error {
            ReadError::Refused { refusal, .. } => Self::of_refusal(refusal),
            ReadError::ServerError { .. }
            | ReadError::Failed { .. }
            | ReadError::ListChanging { .. }
            | ReadError::Untrusted { .. } => Self::Failed,
        }
    }

    /// Returns the exit code for an error of the ledger's store.
    #[must_use]
    pub const fn of_store(error: &StoreError) -> Self {
        match error {
            StoreError::Locked { .. } | StoreError::Displaced { .. } => Self::Locked,
            StoreError::Shared { .. }
            | StoreError::Lax { .. }
            | StoreError::Moved { .. }
            | StoreError::Corrupt { .. }
            | StoreError::Foreign { .. }
            | StoreError::Io { .. }
            | StoreError::Illegal(_)
            | StoreError::Sealed(_)
            | StoreError::Poisoned => Self::Failed,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::dispatch::command_line::Cli;
    use crate::model::address::Address;

    fn refusal(status: u16) -> ApiError {
        ApiError { status, error: String::new(), message: String::new(), reason: None }
    }

    fn outcome(done: usize, failed: &[StepError], skipped: usize) -> Outcome {
        let name = |n: usize| Address::new("vm", &format!("n{n}"));
        Outcome {
            done: (0..done).map(name).collect(),
            failed: failed.iter().enumerate().map(|(n, error)| (name(100 + n), error.clone())).collect(),
            skipped: (200..200 + skipped).map(name).collect(),
            ..Outcome::default()
        }
    }

    #[test]
    fn the_exit_code_numbers_are_stable() {
        let codes = Exit::ALL.map(Exit::code);
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 7, 8, 64, 130]);
        let meanings: std::collections::BTreeSet<_> = Exit::ALL.map(Exit::meaning).into();
        assert_eq!(meanings.len(), Exit::ALL.len());
    }

    #[test]
    fn a_unit_that_is_not_done_never_ends_as_done() {
        let all = Exit::ALL.into_iter().chain([Exit::Job(1), Exit::Job(200)]);
        for exit in all {
            for units in [vec![exit], vec![Exit::Done, exit], vec![exit, Exit::Done, Exit::Done]] {
                assert_eq!(Exit::of_units(&units) == Exit::Done, exit == Exit::Done, "{units:?}");
                let applied = Exit::of_applied_units(&units, true);
                assert_eq!(applied, if exit == Exit::Done { Exit::Done } else { Exit::Partly });
            }
        }
        assert_eq!(Exit::of_units(&[]), Exit::Done);
        let order = [130, 1, 64, 7, 5, 4, 8, 6, 2, 3, 0];
        assert_eq!(
            Exit::WORST_FIRST.iter().chain([&Exit::Done]).map(|exit| exit.code()).collect::<Vec<_>>(),
            order
        );
        assert_eq!(Exit::of_units(&[Exit::Blocked, Exit::Usage, Exit::Changes]), Exit::Usage);
    }

    #[test]
    fn the_exit_code_of_a_job_is_passed_through() {
        let codes = [0, 1, 3, 255, 256, -1].map(|code| Exit::of_job(code).code());
        assert_eq!(codes, [0, 1, 3, 255, 1, 1]);
    }

    #[test]
    fn apply_outcomes_map_to_exit_codes() {
        let no = |status| StepError::Refused(refusal(status));
        let moved = || StepError::ObjectChanged("x".into());
        let table = [
            (outcome(3, &[], 0), Exit::Done),
            (outcome(0, &[], 0), Exit::Done),
            (outcome(3, &[no(402)], 1), Exit::Partly),
            (outcome(0, &[no(402)], 1), Exit::Refused),
            (Outcome { begun: true, ..outcome(0, &[no(403)], 0) }, Exit::Partly),
            (outcome(0, &[no(401), no(403)], 0), Exit::Refused),
            (outcome(0, &[no(409)], 0), Exit::Failed),
            (outcome(0, &[no(503)], 0), Exit::Failed),
            (outcome(0, &[no(412)], 0), Exit::Refused),
            (outcome(0, &[moved()], 2), Exit::OutOfDate),
            (outcome(0, &[moved(), no(402)], 0), Exit::Failed),
            (outcome(0, &[], 2), Exit::Failed),
            (Outcome { interrupted: true, ..outcome(1, &[no(402)], 1) }, Exit::Interrupted),
            (Outcome { questions: vec!["?".into()], ..outcome(1, &[], 0) }, Exit::Partly),
            (Outcome { notes: vec!["?".into()], ..outcome(1, &[], 0) }, Exit::Partly),
            (Outcome { questions: vec!["?".into()], ..outcome(0, &[], 0) }, Exit::Failed),
            (outcome(3, &[StepError::LeaseLost("x".into()), no(402)], 1), Exit::Locked),
        ];
        for (at, (outcome, exit)) in table.into_iter().enumerate() {
            assert_eq!(Exit::of_outcome(&outcome), exit, "row {at}");
        }
    }

    #[test]
    fn only_usage_errors_exit_with_64() {
        use clap::Parser;

        let exit = |line: &str| Exit::of_usage(&Cli::try_parse_from(line.split(' ')).unwrap_err());
        assert_eq!(exit("stead plam"), Exit::Usage);
        assert_eq!(exit("stead plan --nope"), Exit::Usage);
        assert_eq!(exit("stead --help"), Exit::Done);
        assert_eq!(exit("stead apply --help"), Exit::Done);
        assert_eq!(exit("stead --version"), Exit::Done);
    }

    #[test]
    fn plans_map_to_exit_codes() {
        use crate::report::tests::plans;

        let changed = Plan { blocks: Vec::new(), ..plans::full() };
        let table = [
            (plans::empty(), true, Exit::Done),
            (changed.clone(), false, Exit::Done),
            (changed, true, Exit::Changes),
            (plans::full(), true, Exit::Blocked),
        ];
        for (plan, exit_code, exit) in table {
            assert_eq!(Exit::of_plan(&plan, exit_code), exit);
        }
    }

    #[test]
    fn failures_before_an_apply_map_to_exit_codes() {
        let read = |status| ReadError::Refused { request: "GET /x".into(), refusal: refusal(status) };
        assert_eq!(Exit::of_read(&read(401)), Exit::Refused);
        assert_eq!(Exit::of_read(&read(404)), Exit::Failed);
        assert_eq!(Exit::of_store(&StoreError::Locked { holder: "a@b".into() }), Exit::Locked);
        assert_eq!(Exit::of_store(&StoreError::Poisoned), Exit::Failed);
        assert_eq!(Exit::of_drift(1, true), Exit::Drift);
        assert_eq!(Exit::of_drift(1, false), Exit::Done);
    }
}
