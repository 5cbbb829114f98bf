//! The JSON document of `validate`: all problems with their locations and fixes.

use serde::Serialize;

use super::writer::{SCHEMA_VERSION, to_pretty};
use crate::model::diagnostic::{Diagnostic, Label, Severity};
use crate::model::source::{Sources, Span};
use crate::report::diagnostics::sort_by_location;

#[derive(Serialize)]
struct DiagnosticsDocument<'a> {
    schema_version: u32,
    diagnostics: Vec<DiagnosticEntry<'a>>,
}

#[derive(Serialize)]
pub(super) struct DiagnosticEntry<'a> {
    code: &'static str,
    severity: &'static str,
    summary: &'a str,
    detail: Option<&'a str>,
    help: Option<&'a str>,
    file: Option<&'a str>,
    span: Option<SpanEntry>,
    labels: Vec<LabelEntry<'a>>,
    fix: Option<FixEntry<'a>>,
}

#[derive(Serialize)]
struct LabelEntry<'a> {
    file: Option<&'a str>,
    span: Option<SpanEntry>,
    text: &'a str,
}

#[derive(Serialize)]
struct FixEntry<'a> {
    file: Option<&'a str>,
    span: Option<SpanEntry>,
    replacement: &'a str,
}

/// A byte range of the file, and the line and column of its start.
#[derive(Serialize)]
struct SpanEntry {
    start: u32,
    end: u32,
    line: u32,
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
    let severity = match problem.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let label = |label: &'a Label| LabelEntry {
        file: source_path(sources, label.span),
        span: source_range(sources, label.span),
        text: &label.text,
    };
    DiagnosticEntry {
        code: problem.code,
        severity,
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
