//! Renders diagnostics: with source excerpts (by miette) for terminals, or as one line each for logs. Both escape what
//! they print, so that no text of a configuration can move the cursor or command a CI runner.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;

use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents, SourceCode,
    SourceSpan, SpanContents,
};

use super::text::page::{TextLine, TextPage};
use super::text::style::{TextRole, TextStyle};
use super::text::{escape, phrases};
use crate::model::diagnostic::{Diagnostic, Label, Severity};
use crate::model::source::{Source, SourceId, Sources, Span};

/// How many problems to show; the rest is counted: after a syntax error most of them follow from the first.
const MAX_SHOWN_DIAGNOSTICS: usize = 50;

/// Lines that a label may span before only its first line is shown.
const MAX_LABEL_LINES: usize = 8;

/// Length of a line in bytes above which no excerpt is shown, because no person wrote such a line.
const MAX_LINE_BYTES: usize = 500;

/// Returns all problems ordered by file and position, those without a location first; at one place, errors and
/// warnings keep the order of `Severity`, then that of their codes.
#[must_use]
pub fn sort_by_location<'a>(problems: &'a [Diagnostic], sources: &Sources) -> Vec<&'a Diagnostic> {
    let path = |id: SourceId| sources.get(id).map(|source| source.path.as_str());
    let mut sorted: Vec<&Diagnostic> = problems.iter().collect();
    sorted.sort_by_key(|problem| {
        let place = problem.span().map(|span| (path(span.source), span.start, span.end));
        (place, problem.severity, problem.code)
    });
    sorted
}

/// Returns the problems with source excerpts, at most fifty, and a count; empty without problems.
#[must_use]
pub fn diagnostics_page(problems: &[Diagnostic], sources: &Sources, style: TextStyle) -> String {
    if problems.is_empty() {
        return String::new();
    }
    let mut texts = BTreeMap::new();
    let shown = sort_by_location(problems, sources);
    let labels = shown.iter().take(MAX_SHOWN_DIAGNOSTICS).flat_map(|problem| &problem.labels);
    for label in labels {
        if let Some(source) = sources.get(label.span.source) {
            texts.entry(label.span.source).or_insert_with(|| RedactedSource::from_source(source));
        }
    }
    let handler = graphical_handler(style);
    let mut text = String::new();
    for problem in shown.iter().take(MAX_SHOWN_DIAGNOSTICS) {
        let graphic = GraphicDiagnostic::from_diagnostic(problem, &texts);
        // Writing to a `String` fails only where miette itself cannot lay the text out.
        if handler.render_report(&mut text, &graphic).is_err() {
            text.push_str(&one_line(problem, sources, style));
        }
        text.push('\n');
    }
    let mut page = TextPage::new(style);
    page.add_line(count_line(problems));
    disarm_lines(&text) + &page.finish()
}

/// Returns one line per problem, at most fifty, and a count, for logs; empty without problems. A location is
/// `file:line:column`, with detail and help behind `|`.
#[must_use]
pub fn diagnostic_lines(problems: &[Diagnostic], sources: &Sources, style: TextStyle) -> String {
    if problems.is_empty() {
        return String::new();
    }
    let mut text = String::new();
    for problem in sort_by_location(problems, sources).into_iter().take(MAX_SHOWN_DIAGNOSTICS) {
        text.push_str(&one_line(problem, sources, style));
    }
    text.push_str(&count_line(problems).to_unwrapped(style));
    text.push('\n');
    text
}

fn one_line(problem: &Diagnostic, sources: &Sources, style: TextStyle) -> String {
    let (role, word) = match problem.severity {
        Severity::Error => (TextRole::Danger, "error"),
        Severity::Warning => (TextRole::Warning, "warning"),
    };
    let place = problem.span().and_then(|span| sources.location_of(span));
    let mut line = TextLine::indent(0);
    if let Some(place) = place {
        line = line.push_text(format!("{}:{}:{}: ", place.file, place.line, place.column));
    }
    line = line
        .push_styled(role, format!("{word}[{}]", problem.code))
        .push_text(": ")
        .push_text(&problem.summary);
    for more in [&problem.detail, &problem.help].into_iter().flatten() {
        line =
            line.push_styled(TextRole::Faint, " | ").push_text(more.lines().collect::<Vec<_>>().join(" "));
    }
    line.to_unwrapped(style) + "\n"
}

fn count_line(problems: &[Diagnostic]) -> TextLine {
    let errors = problems.iter().filter(|problem| problem.severity == Severity::Error).count();
    let warnings = problems.len() - errors;
    let hidden = problems.len().saturating_sub(MAX_SHOWN_DIAGNOSTICS);
    let mut line = TextLine::indent(0);
    if hidden > 0 {
        line = line.push_text(format!("and {hidden} more; "));
    }
    if errors > 0 {
        line = line.push_styled(TextRole::Danger, phrases::count_noun(errors, "error"));
    }
    if errors > 0 && warnings > 0 {
        line = line.push_text(", ");
    }
    if warnings > 0 {
        line = line.push_styled(TextRole::Warning, phrases::count_noun(warnings, "warning"));
    }
    line
}

fn graphical_handler(style: TextStyle) -> GraphicalReportHandler {
    let theme = match (style.unicode, style.colour) {
        (true, true) => GraphicalTheme::unicode(),
        (true, false) => GraphicalTheme::unicode_nocolor(),
        (false, true) => GraphicalTheme::ascii(),
        (false, false) => GraphicalTheme::none(),
    };
    GraphicalReportHandler::new_themed(theme)
        .with_width(style.width.max(TextStyle::MIN_WIDTH))
        .with_links(false)
}

/// Disarms commands of CI runners at the beginning of lines, where an excerpt can put one; removes trailing blanks.
fn disarm_lines(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for line in text.lines().map(str::trim_end) {
        match escape::find_command(line) {
            // Only the first colon is replaced, so a reader still recognizes the line.
            Some(at) => {
                safe.push_str(&line[..at]);
                safe.push_str("\\u{3a}");
                safe.push_str(&line[at + 1..]);
            }
            None => safe.push_str(line),
        }
        safe.push('\n');
    }
    safe
}

/// A source with placeholders of equal length for unsafe characters, so that the spans of labels stay valid.
struct RedactedSource<'a> {
    source: &'a Source,
    name: String,
    shown: Cow<'a, str>,
}

impl<'a> RedactedSource<'a> {
    fn from_source(source: &'a Source) -> Self {
        Self {
            source,
            name: escape::escape_line(&source.path).into_owned(),
            shown: escape::sanitize_source(&source.text),
        }
    }

    /// Returns the label's byte range, limited to the text, and to the label's first line if it
    /// spans more than `MAX_LABEL_LINES`.
    fn clamp_span(&self, span: Span) -> (usize, usize) {
        let text = &self.shown;
        let start = (span.start as usize).min(text.len());
        let end = (span.end as usize).clamp(start, text.len());
        let mut breaks = memchr_lines(&text.as_bytes()[start..end]);
        match (breaks.next(), breaks.nth(MAX_LABEL_LINES - 2)) {
            (Some(first), Some(_)) => (start, start + first),
            _ => (start, end),
        }
    }

    /// Returns whether an excerpt around the range would contain a line above the limit. A withheld source has none.
    fn has_long_line(&self, start: usize, end: usize) -> bool {
        let (from, to, _) = self.line_range(start, end, 1, 1);
        let mut lines = self.shown.as_bytes()[from..to].split(|byte| *byte == b'\n');
        !self.source.is_withheld() && lines.any(|line| line.len() > MAX_LINE_BYTES)
    }

    /// Returns the byte range of the whole lines that contain `start..end`, with `before` lines above and `after` lines
    /// below, and the number of lines in it.
    fn line_range(&self, start: usize, end: usize, before: usize, after: usize) -> (usize, usize, usize) {
        let bytes = self.shown.as_bytes();
        let from = bytes[..start].iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n').nth(before);
        let from = from.map_or(0, |(at, _)| at + 1);
        // A range that ends with a line break ends on that line, not on the next one.
        let tail = if end > start && bytes[end - 1] == b'\n' { end - 1 } else { end };
        let to = memchr_lines(&bytes[tail..]).nth(after).map_or(bytes.len(), |at| tail + at + 1);
        (from, to, memchr_lines(&bytes[from..to]).count().max(1))
    }
}

fn memchr_lines(bytes: &[u8]) -> impl Iterator<Item = usize> + '_ {
    bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at)
}

impl SourceCode for RedactedSource<'_> {
    /// Reads by the source's line index: miette's own reader scans the file for each label.
    fn read_span<'s>(
        &'s self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'s> + 's>, MietteError> {
        let start = span.offset();
        let end = start + span.len();
        if end > self.shown.len() {
            return Err(MietteError::OutOfBounds);
        }
        let at = |offset: usize| self.source.line_column(u32::try_from(offset).unwrap_or(u32::MAX));
        let (from, to, column) = if before == 0 && after == 0 {
            (start, end, at(start).1 as usize - 1)
        } else {
            let (from, to, _) = self.line_range(start, end, before, after);
            (from, to, 0)
        };
        let count = memchr_lines(&self.shown.as_bytes()[from..to]).count().max(1);
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.clone(),
            &self.shown.as_bytes()[from..to],
            (from, to - from).into(),
            at(from).0 as usize - 1,
            column,
            count,
        )))
    }
}

/// A problem in the form that miette renders. Its strings are escaped already.
struct GraphicDiagnostic<'a> {
    code: Option<&'static str>,
    severity: miette::Severity,
    message: String,
    detail: Option<DiagnosticDetail>,
    help: Option<String>,
    text: Option<&'a RedactedSource<'a>>,
    labels: Vec<LabeledSpan>,
    /// One entry for each other file that the problem has labels in.
    elsewhere: Vec<GraphicDiagnostic<'a>>,
}

impl<'a> GraphicDiagnostic<'a> {
    fn from_diagnostic(problem: &Diagnostic, texts: &'a BTreeMap<SourceId, RedactedSource<'a>>) -> Self {
        let main = problem.span().map(|span| span.source);
        let mut labels: BTreeMap<SourceId, Vec<&Label>> = BTreeMap::new();
        for label in &problem.labels {
            labels.entry(label.span.source).or_default().push(label);
        }
        let here = main.and_then(|id| labels.remove(&id)).unwrap_or_default();
        let mut graphic = Self {
            code: Some(problem.code),
            severity: match problem.severity {
                Severity::Error => miette::Severity::Error,
                Severity::Warning => miette::Severity::Warning,
            },
            message: escape::escape_line(&problem.summary).into_owned(),
            detail: problem.detail.as_deref().map(|text| DiagnosticDetail(escape_lines(text))),
            help: help_text(problem),
            text: None,
            labels: Vec::new(),
            elsewhere: labels
                .into_iter()
                .map(|(id, labels)| Self::from_other_file(texts.get(&id), &labels))
                .collect(),
        };
        graphic.add_labels(main.and_then(|id| texts.get(&id)), &here);
        graphic
    }

    /// Returns the part of a problem that is located in another file: miette shows one file per diagnostic.
    fn from_other_file(text: Option<&'a RedactedSource<'a>>, labels: &[&Label]) -> Self {
        let mut graphic = Self {
            code: None,
            severity: miette::Severity::Advice,
            message: "see also".to_owned(),
            detail: None,
            help: None,
            text: None,
            labels: Vec::new(),
            elsewhere: Vec::new(),
        };
        graphic.add_labels(text, labels);
        graphic
    }

    /// Adds labels for locations in one file; in the message instead if the lines are too long to show.
    fn add_labels(&mut self, text: Option<&'a RedactedSource<'a>>, labels: &[&Label]) {
        let Some(text) = text else { return };
        let ranges: Vec<_> = labels.iter().map(|label| text.clamp_span(label.span)).collect();
        if ranges.iter().any(|(start, end)| text.has_long_line(*start, *end)) {
            for label in labels {
                let (line, column) = text.source.line_column(label.span.start);
                let words = escape::escape_line(&label.text);
                self.message
                    .push_str(&format!(" ({}:{line}:{column} {words})", text.name).replace(" )", ")"));
            }
            return;
        }
        self.text = Some(text);
        for (at, (label, (start, end))) in labels.iter().zip(ranges).enumerate() {
            let words = (!label.text.is_empty()).then(|| escape::escape_line(&label.text).into_owned());
            let span = SourceSpan::from((start, end - start));
            let new = if at == 0 { LabeledSpan::new_primary_with_span } else { LabeledSpan::new_with_span };
            self.labels.push(new(words, span));
        }
    }
}

fn help_text(problem: &Diagnostic) -> Option<String> {
    let fix = problem.fix.as_ref().map(|fix| escape::escape_line(&fix.replacement).into_owned());
    match (problem.help.as_deref().map(escape_lines), fix) {
        (Some(help), Some(fix)) if !help.contains(&fix) => Some(format!("{help}\nwrite: {fix}")),
        (None, Some(fix)) => Some(format!("write: {fix}")),
        (help, _) => help,
    }
}

/// Escapes each line of a multi-line message that our own code built; its line breaks are intended.
fn escape_lines(text: &str) -> String {
    text.lines().map(escape::escape_line).collect::<Vec<_>>().join("\n")
}

#[derive(Debug)]
struct DiagnosticDetail(String);

impl fmt::Display for DiagnosticDetail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for DiagnosticDetail {}

impl fmt::Debug for GraphicDiagnostic<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Display for GraphicDiagnostic<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for GraphicDiagnostic<'_> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.detail.as_ref().map(|detail| detail as &(dyn Error + 'static))
    }
}

impl miette::Diagnostic for GraphicDiagnostic<'_> {
    fn code<'s>(&'s self) -> Option<Box<dyn fmt::Display + 's>> {
        self.code.map(|code| Box::new(code) as Box<dyn fmt::Display>)
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(self.severity)
    }

    fn help<'s>(&'s self) -> Option<Box<dyn fmt::Display + 's>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.text.map(|text| text as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.text.map(|_| Box::new(self.labels.iter().cloned()) as Box<dyn Iterator<Item = LabeledSpan>>)
    }

    fn related<'s>(&'s self) -> Option<Box<dyn Iterator<Item = &'s dyn miette::Diagnostic> + 's>> {
        if self.elsewhere.is_empty() {
            return None;
        }
        Some(Box::new(self.elsewhere.iter().map(|graphic| graphic as &dyn miette::Diagnostic)))
    }
}

#[cfg(test)]
mod tests;
