//! A run that the service makes for an action or a deployment, and how its end is recognized.

/// A record of an execution that ends: a job's run.
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
    /// Statuses of a failed end.
    pub failed: &'static [&'static str],
    /// Statuses of a record that another one superseded: the other one counts.
    pub replaced: &'static [&'static str],
    /// The field with the exit code, which becomes the exit code of the command.
    pub exit_code: Option<&'static str>,
    /// The field with the reason of a failure.
    pub error: Option<&'static str>,
    /// The action that lists the events of the run, newest first, and the field with their text.
    pub told_by: Option<(&'static str, &'static str)>,
}
