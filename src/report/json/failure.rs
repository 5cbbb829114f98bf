//! The JSON document of a command that failed without a result: the error and its remedies.

use jiff::Timestamp;
use serde::Serialize;

use super::diagnostics::{self, DiagnosticEntry};
use crate::model::diagnostic::Diagnostic;
use crate::model::source::Sources;
use crate::plan::artifact::review_difference::UnitDifference;
use crate::report::json::plan::difference::{UnitDifferenceEntry, units_entries};
use crate::report::json_writer::{SCHEMA_VERSION, SchemaVersion, to_compact, to_pretty};

/// Why a command has no result.
#[derive(Debug, Clone, Copy)]
pub struct CommandFailure<'a> {
    /// What happened and why, in sentences.
    pub message: &'a str,
    /// Remedies, one per entry.
    pub help: &'a [String],
    /// The problems of the configuration, if they are the reason.
    pub rejected: Option<(&'a [Diagnostic], &'a Sources)>,
    /// Exit code of the command.
    pub exit: u8,
    /// How plans differ from those that were reviewed, if that is the reason.
    pub differences: &'a [UnitDifference],
}

/// A command ended without a result.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct FailureDocument<'a> {
    /// Version of the format of the documents.
    schema_version: SchemaVersion,
    /// Why it has none.
    error: CommandErrorEntry<'a>,
    /// Problems of the configuration, if they are the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnostics: Option<Vec<DiagnosticEntry<'a>>>,
    /// How plans differ from those that were reviewed, if that is the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    differences: Vec<UnitDifferenceEntry<'a>>,
}

/// The command ended without a result. The last line.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FailureEvent<'a> {
    /// When the line was written.
    time: Timestamp,
    #[cfg_attr(test, schemars(extend("const" = "error")))]
    event: &'static str,
    error: CommandErrorEntry<'a>,
    /// Problems of the configuration, if they are the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnostics: Option<Vec<DiagnosticEntry<'a>>>,
    /// How plans differ from those that were reviewed, if that is the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    differences: Vec<UnitDifferenceEntry<'a>>,
}

/// Why a command has no result.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CommandErrorEntry<'a> {
    /// What happened and why.
    message: &'a str,
    /// Remedies, one per entry.
    help: Vec<&'a str>,
    /// Exit code of the command.
    exit: u8,
}

impl<'a> CommandFailure<'a> {
    fn error(&self) -> CommandErrorEntry<'a> {
        let help = self.help.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
        CommandErrorEntry { message: self.message, help, exit: self.exit }
    }

    fn diagnostics(&self) -> Option<Vec<DiagnosticEntry<'a>>> {
        self.rejected.map(|(problems, sources)| diagnostics::diagnostic_entries(problems, sources))
    }

    /// Returns the JSON document of the error.
    #[must_use]
    pub fn document(&self) -> String {
        let (error, diagnostics) = (self.error(), self.diagnostics());
        let differences = units_entries(self.differences);
        to_pretty(&FailureDocument { schema_version: SCHEMA_VERSION, error, diagnostics, differences })
    }

    /// Returns the last line of a stream of events, without its line break.
    #[must_use]
    pub fn event(&self, time: Timestamp) -> String {
        let (error, diagnostics) = (self.error(), self.diagnostics());
        let differences = units_entries(self.differences);
        to_compact(&FailureEvent { time, event: "error", error, diagnostics, differences })
    }
}
