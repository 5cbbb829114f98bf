//! Trees and problems in a compact form, for tables.

#![allow(clippy::use_debug, reason = "quoted text in a table is easiest to read so")]

use std::fmt::Write;

use crate::config::syntax::document::{Document, DocumentEntry, Node, NodeValue, ScalarForm};
use crate::config::syntax::parse_source::parse;
use crate::model::diagnostic::Diagnostic;
use crate::model::source::{Source, SourceId};

/// The words that name blocks in these tests.
pub(super) fn is_kind(word: &str) -> bool {
    matches!(word, "vpc" | "vm" | "project")
}

/// Parses a text as the file of that name.
pub(super) fn read(path: &str, text: &str) -> Result<Document, Vec<Diagnostic>> {
    parse(SourceId(0), &Source::new(path, text), &is_kind).unwrap()
}

pub(super) fn yaml(text: &str) -> Document {
    read("a.yaml", text).unwrap_or_else(|problems| panic!("{text:?}\n{problems:#?}"))
}

pub(super) fn kdl(text: &str) -> Document {
    read("a.kdl", text).unwrap_or_else(|problems| panic!("{text:?}\n{problems:#?}"))
}

/// A tree on one line: `plain`, `"text"`, `#number`, `#true`; `.` behind a sole argument, `^` before
/// what an alias reached.
pub(super) fn tree(document: &Document) -> String {
    let mut out = String::new();
    mapping(&document.root, &mut out);
    out
}

fn mapping(entries: &[DocumentEntry], out: &mut String) {
    out.push('{');
    for (n, entry) in entries.iter().enumerate() {
        if n > 0 {
            out.push_str(", ");
        }
        write!(out, "{}: ", entry.key).unwrap();
        node(&entry.value, out);
    }
    out.push('}');
}

fn node(value: &Node, out: &mut String) {
    if value.through.is_some() {
        out.push('^');
    }
    match &value.value {
        NodeValue::Null => out.push_str("null"),
        NodeValue::Bare => out.push_str("bare"),
        NodeValue::Mapping(entries) => mapping(entries, out),
        NodeValue::Sequence(items) => {
            out.push('[');
            for (n, item) in items.iter().enumerate() {
                if n > 0 {
                    out.push_str(", ");
                }
                node(item, out);
            }
            out.push(']');
        }
        NodeValue::Scalar(scalar) => {
            match scalar.form {
                ScalarForm::Plain => out.push_str(&scalar.text),
                ScalarForm::Text => write!(out, "{:?}", scalar.text.as_str()).unwrap(),
                ScalarForm::Number | ScalarForm::Boolean => write!(out, "#{}", scalar.text).unwrap(),
            }
            if scalar.sole_argument {
                out.push('.');
            }
        }
    }
}

/// The problems of a text, a line each: `code line:column summary | help`, and the fixed text.
pub(super) fn problems(path: &str, text: &str) -> String {
    let source = Source::new(path, text);
    let Err(problems) = read(path, text) else { return "no problem".to_owned() };
    let lines = problems.iter().map(|problem| {
        let at = problem.span().unwrap();
        let (line, column) = source.line_column(at.start);
        let help = problem.help.as_deref().unwrap_or_default();
        format!("{} {line}:{column} {} | {help}", problem.code, problem.summary)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A text after its first problem's fix.
pub(super) fn fixed(path: &str, text: &str) -> Option<String> {
    let problems = read(path, text).err()?;
    let fix = problems.first()?.fix.as_ref()?;
    let mut text = text.to_owned();
    text.replace_range(fix.span.start as usize..fix.span.end as usize, &fix.replacement);
    Some(text)
}

/// Calls a function with every node and key of a document.
pub(super) fn each(entries: &[DocumentEntry], see: &mut dyn FnMut(&DocumentEntry)) {
    for entry in entries {
        see(entry);
        within(&entry.value, see);
    }
}

fn within(value: &Node, see: &mut dyn FnMut(&DocumentEntry)) {
    match &value.value {
        NodeValue::Mapping(entries) => each(entries, see),
        NodeValue::Sequence(items) => items.iter().for_each(|item| within(item, see)),
        NodeValue::Null | NodeValue::Bare | NodeValue::Scalar(_) => {}
    }
}
