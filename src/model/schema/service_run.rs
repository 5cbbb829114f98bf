//! A run that the service makes for an action or a deployment, and how its end is recognized.

/// A record that runs and ends: a job's run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunSchema {
    /// The kind's action that lists such records.
    pub listed_by: &'static str,
    /// The field of its id.
    pub id: &'static str,
    /// The field of its status.
    pub status: &'static str,
    /// Statuses of a good end.
    pub done: &'static [&'static str],
    /// Statuses of a bad end.
    pub failed: &'static [&'static str],
    /// Statuses of those whose place another one took: that one counts.
    pub replaced: &'static [&'static str],
    /// The field of its exit code, which the command takes over.
    pub exit_code: Option<&'static str>,
    /// The field that says why.
    pub error: Option<&'static str>,
    /// The action that lists what happened meanwhile, newest first, and the field of its words.
    pub told_by: Option<(&'static str, &'static str)>,
}
