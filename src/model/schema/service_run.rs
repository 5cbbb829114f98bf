//! `RunSchema`: how to find the run that the service starts for an action or a deployment, and how to recognize its
//! end. The completion of an action and the wait for a roll-out read it.

/// The list of a kind's runs, and the fields of its records: the run of a job, or a deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunSchema {
    /// The kind's action that lists such records.
    pub listed_by: &'static str,
    /// The field with the record's id.
    pub id: &'static str,
    /// The field with the record's status.
    pub status: &'static str,
    /// Statuses of a successful end.
    pub done: &'static [&'static str],
    /// Statuses of a failed end. A status that is in none of the three lists means that the run continues.
    pub failed: &'static [&'static str],
    /// Statuses of a record that a later one superseded: the result of the later one counts. Empty
    /// where that cannot happen.
    pub replaced: &'static [&'static str],
    /// The field with the exit code, which becomes the exit code of the command; `None` where records have none.
    pub exit_code: Option<&'static str>,
    /// The field with the reason for a failure; `None` where records have none.
    pub error: Option<&'static str>,
    /// The action that lists the events of the run, newest first, and the field with their message; `None` where the
    /// kind has no such action.
    pub told_by: Option<(&'static str, &'static str)>,
}
