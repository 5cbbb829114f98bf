//! Redaction of variable files in diagnostics. Variable files contain secrets, and readers of a diagnostic may not be
//! allowed to see them: a message names the path and line of such a file, but shows neither the line nor a value. Pure.

use std::collections::BTreeSet;

use foldhash::HashSet;

use crate::config::syntax::document::{Document, DocumentEntry, Node, NodeValue};
use crate::config::syntax::limits;
use crate::model::address::Name;
use crate::model::diagnostic::Diagnostic;
use crate::model::source::{Source, SourceId, Sources};

/// Length in bytes of the shortest part of a variable file that is redacted: shorter ones occur in any sentence.
const MIN_SHARED_BYTES: usize = 6;

/// Placeholder for a redacted value in a message.
const REDACTED: &str = "(not shown)";

/// Returns the diagnostics of a variable file that does not parse: each line once for each code, in words that
/// do not depend on its content.
pub(in crate::config) fn redact_parse_errors(source: &Source, found: &[Diagnostic]) -> Vec<Diagnostic> {
    let mut told = BTreeSet::new();
    let mut problems = Vec::new();
    for problem in found {
        let line = problem.span().map(|span| source.line_column(span.start).0);
        if !told.insert((line, problem.code)) {
            continue;
        }
        let meaning = limits::CODES.iter().find(|known| known.code == problem.code);
        let meaning = meaning.map_or("The file cannot be read.", |known| known.meaning);
        let said = Diagnostic::error(problem.code, "a variable file cannot be read")
            .detail(format!("{meaning} The content of the line is not shown: it may be a secret."))
            .help(format!("compare the line with the examples of `stead explain {}`", problem.code));
        problems.push(match problem.span() {
            Some(span) => said.with_label(span, ""),
            None => said,
        });
    }
    problems
}

/// Contents of the variable files, as overlapping pieces to redact.
#[derive(Default)]
pub(in crate::config) struct VariableFileRedactor {
    files: Vec<SourceId>,
    pieces: HashSet<[u8; MIN_SHARED_BYTES]>,
}

impl VariableFileRedactor {
    /// Returns the redaction for files that could not be parsed: their lines are redacted, their values are not known.
    pub(in crate::config) fn of_files(files: &[SourceId]) -> Self {
        Self { files: files.to_vec(), ..Self::default() }
    }

    /// Returns the redaction for parsed files. Values of secret variables are not included: no message contains
    /// them, and redacting accidental matches would reveal them.
    pub(in crate::config) fn new(files: &[(Name, Document)], secrets: &BTreeSet<&Name>) -> Self {
        let mut withheld = Self::default();
        for (_, document) in files {
            withheld.files.push(document.source);
            for entry in document.root.iter().filter(|entry| !secrets.contains(&entry.key)) {
                withheld.add_node(&entry.value);
            }
        }
        withheld
    }

    fn add_node(&mut self, node: &Node) {
        match &node.value {
            NodeValue::Scalar(scalar) => self.add_text(&scalar.text),
            NodeValue::Sequence(items) => items.iter().for_each(|item| self.add_node(item)),
            NodeValue::Mapping(entries) => {
                for DocumentEntry { key, value, .. } in entries {
                    self.add_text(key);
                    self.add_node(value);
                }
            }
            NodeValue::Null | NodeValue::Bare => {}
        }
    }

    fn add_text(&mut self, text: &str) {
        let pieces = text.as_bytes().windows(MIN_SHARED_BYTES);
        self.pieces.extend(pieces.filter_map(|piece| <[u8; MIN_SHARED_BYTES]>::try_from(piece).ok()));
    }

    /// Removes lines and values of the variable files from diagnostics. A string that also occurs in the other
    /// files stays, because it is not confidential.
    pub(in crate::config) fn redact(&self, problems: &mut [Diagnostic], sources: &Sources) {
        if self.files.is_empty() {
            return;
        }
        let others: Vec<&str> = sources
            .iter()
            .filter(|(id, _)| !self.files.contains(id))
            .map(|(_, source)| &*source.text)
            .collect();
        for problem in problems {
            for label in &mut problem.labels {
                if self.files.contains(&label.span.source) {
                    label.span = sources.line_of(label.span);
                }
                label.text = self.redact_text(&label.text, &others);
            }
            problem.summary = self.redact_text(&problem.summary, &others);
            problem.detail = problem.detail.take().map(|text| self.redact_text(&text, &others));
            problem.help = problem.help.take().map(|text| self.redact_text(&text, &others));
            problem.fix = problem.fix.take().filter(|fix| {
                !self.files.contains(&fix.span.source)
                    && self.redact_text(&fix.replacement, &others) == fix.replacement
            });
        }
    }

    fn redact_text(&self, text: &str, others: &[&str]) -> String {
        let mut shown = String::with_capacity(text.len());
        let mut at = 0;
        while let Some((start, end)) = self.next(text, at) {
            let run = &text[start..end];
            shown.push_str(&text[at..start]);
            shown.push_str(if others.iter().any(|other| other.contains(run)) { run } else { REDACTED });
            at = end;
        }
        shown.push_str(&text[at..]);
        shown
    }

    /// Returns the byte range of the next run of known pieces from an offset on, widened to whole characters;
    /// `None` if there is none.
    fn next(&self, text: &str, from: usize) -> Option<(usize, usize)> {
        let bytes = text.as_bytes();
        let is_piece = |at: usize| {
            let piece = bytes
                .get(at..at + MIN_SHARED_BYTES)
                .and_then(|piece| <[u8; MIN_SHARED_BYTES]>::try_from(piece).ok());
            piece.is_some_and(|piece| self.pieces.contains(&piece))
        };
        let first = (from..bytes.len()).find(|at| is_piece(*at))?;
        let last = (first..bytes.len()).take_while(|at| is_piece(*at)).last()?;
        let start = (from..=first).rev().find(|at| text.is_char_boundary(*at))?;
        let end = (last + MIN_SHARED_BYTES..=bytes.len()).find(|at| text.is_char_boundary(*at))?;
        Some((start, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::syntax::limits::byte_span;
    use crate::config::syntax::yaml;

    #[test]
    fn excerpts_of_variable_files_are_redacted_and_others_kept() {
        let source = Source::new("v.yaml", "size: kanarienvögel\nname: shared-word\n");
        let mut sources = Sources::default();
        let id = sources.add(source.clone());
        sources.add(Source::new("stead.yaml", "name: shared-word"));
        let document = yaml::parse(id, &source).unwrap();
        let withheld = VariableFileRedactor::new(&[("v.yaml".into(), document)], &BTreeSet::new());
        let said = "It takes one of a, b, and this is `anarienvö…`, with shared-word.";
        let mut problems =
            [Diagnostic::error("S0223", "x").detail(said).with_label(byte_span(id, 6, 9), "kanarien")];
        withheld.redact(&mut problems, &sources);
        let wanted = "It takes one of a, b, and this is `(not shown)…`, with shared-word.";
        assert_eq!(problems[0].detail.as_deref(), Some(wanted));
        assert_eq!(problems[0].labels[0].text, REDACTED);
        assert_eq!(problems[0].labels[0].span.start, 0);
    }
}
