//! The JSON document of `validate`: all problems with their locations and fixes.

use serde::Serialize;

use crate::model::diagnostic::{Diagnostic, Label, Severity};
use crate::model::source::{Sources, Span};
use crate::report::diagnostics::sort_by_location;
use crate::report::json_writer::{SCHEMA_VERSION, SchemaVersion, to_pretty};
use crate::report::units::list::CheckedUnitRow;

/// The document of `stead validate --output json`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DiagnosticsDocument<'a> {
    schema_version: SchemaVersion,
    /// All problems, in the order of their locations.
    diagnostics: Vec<DiagnosticEntry<'a>>,
}

/// The document of `stead validate --all --output json`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CheckedUnitsDocument<'a> {
    schema_version: SchemaVersion,
    /// The units, those with errors first, and each after those whose outputs it reads.
    units: &'a [CheckedUnitRow],
    /// All problems, in the order of their locations; a problem of several environments once.
    diagnostics: Vec<DiagnosticEntry<'a>>,
}

/// A problem of the configuration.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct DiagnosticEntry<'a> {
    /// Stable code of the problem.
    code: &'static str,
    /// Whether it blocks the command.
    severity: Severity,
    /// The problem in one line.
    summary: &'a str,
    /// What is wrong and why.
    detail: Option<&'a str>,
    /// The remedy.
    help: Option<&'a str>,
    /// Path of the file; null if the range is in none.
    file: Option<&'a str>,
    /// Range in the file.
    span: Option<SpanEntry>,
    /// All related ranges; the first is the main one.
    labels: Vec<LabelEntry<'a>>,
    /// A safe edit that corrects the problem.
    fix: Option<FixEntry<'a>>,
}

/// A range of a file, and the text shown at it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LabelEntry<'a> {
    /// Path of the file.
    file: Option<&'a str>,
    /// Range in the file.
    span: Option<SpanEntry>,
    /// A few words; empty for a range without text.
    text: &'a str,
}

/// An edit that replaces a range of a file.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct FixEntry<'a> {
    /// Path of the file.
    file: Option<&'a str>,
    /// Range that is replaced.
    span: Option<SpanEntry>,
    /// The new text of the range.
    replacement: &'a str,
}

/// A byte range of a file, and the line and column of its start.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SpanEntry {
    /// Offset of the first byte.
    start: u32,
    /// Offset after the last byte.
    end: u32,
    /// Line number, counted from 1.
    line: u32,
    /// Column in characters, counted from 1.
    column: u32,
}

fn source_path(sources: &Sources, span: Span) -> Option<&str> {
    sources.get(span.source).map(|source| source.path.as_str())
}

fn source_range(sources: &Sources, span: Span) -> Option<SpanEntry> {
    let source = sources.get(span.source)?;
    let (line, column) = source.line_column(span.start);
    // Offsets would reveal the length of the lines before.
    let (start, end) = if source.is_withheld() { (0, 0) } else { (span.start, span.end) };
    Some(SpanEntry { start, end, line, column })
}

/// Returns the document, with the problems ordered by location.
#[must_use]
pub fn diagnostics_document(diagnostics: &[Diagnostic], sources: &Sources) -> String {
    to_pretty(&DiagnosticsDocument {
        schema_version: SCHEMA_VERSION,
        diagnostics: diagnostic_entries(diagnostics, sources),
    })
}

/// Returns the document of a check of many units.
#[must_use]
pub fn checked_units_document(
    units: &[CheckedUnitRow],
    diagnostics: &[Diagnostic],
    sources: &Sources,
) -> String {
    to_pretty(&CheckedUnitsDocument {
        schema_version: SCHEMA_VERSION,
        units,
        diagnostics: diagnostic_entries(diagnostics, sources),
    })
}

/// Returns the JSON entries of all problems.
pub(super) fn diagnostic_entries<'a>(
    diagnostics: &'a [Diagnostic],
    sources: &'a Sources,
) -> Vec<DiagnosticEntry<'a>> {
    sort_by_location(diagnostics, sources)
        .into_iter()
        .map(|problem| diagnostic_entry(problem, sources))
        .collect()
}

fn diagnostic_entry<'a>(problem: &'a Diagnostic, sources: &'a Sources) -> DiagnosticEntry<'a> {
    let label = |label: &'a Label| LabelEntry {
        file: source_path(sources, label.span),
        span: source_range(sources, label.span),
        text: &label.text,
    };
    DiagnosticEntry {
        code: problem.code,
        severity: problem.severity,
        summary: &problem.summary,
        detail: problem.detail.as_deref(),
        help: problem.help.as_deref(),
        file: problem.span().and_then(|span| source_path(sources, span)),
        span: problem.span().and_then(|span| source_range(sources, span)),
        labels: problem.labels.iter().map(label).collect(),
        fix: problem.fix.as_ref().filter(|fix| fix.sure).map(|fix| FixEntry {
            file: source_path(sources, fix.span),
            span: source_range(sources, fix.span),
            replacement: &fix.replacement,
        }),
    }
}
