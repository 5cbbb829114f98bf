//! The same tree written in both syntaxes is read as the same tree, and every span holds its text.

use std::fmt::Write;

use proptest::collection::vec;
use proptest::prelude::*;

use super::render::{each, kdl, yaml};
use crate::config::syntax::document::{Document, DocumentEntry, Node, NodeValue, ScalarForm};

/// A tree that both syntaxes can write.
#[derive(Debug, Clone)]
enum Tree {
    Null,
    Text(String),
    Number(String),
    Boolean(bool),
    List(Vec<Tree>),
    Map(Vec<(String, Tree)>),
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[a-z][a-z0-9_]{0,8}", 1 => "[ -~é漢😀]{1,6}".prop_filter("a merge key is no key", |key| key != "<<" && key != "-")]
}

fn scalar() -> impl Strategy<Value = Tree> {
    prop_oneof![
        Just(Tree::Null),
        any::<bool>().prop_map(Tree::Boolean),
        "-?(0|[1-9][0-9]{0,5})(\\.[0-9]{1,3})?".prop_map(Tree::Number),
        "[a-z$][a-zA-Z0-9._-]{0,12}".prop_map(Tree::Text),
        "[ -~\t\né漢😀]{0,16}".prop_map(Tree::Text),
    ]
}

fn tree() -> impl Strategy<Value = Tree> {
    scalar().prop_recursive(4, 40, 5, |inner| {
        prop_oneof![vec(inner.clone(), 0..5).prop_map(Tree::List), map(inner).prop_map(Tree::Map)]
    })
}

fn map(inner: impl Strategy<Value = Tree>) -> impl Strategy<Value = Vec<(String, Tree)>> {
    vec((key(), inner), 0..6).prop_map(|mut entries| {
        let mut seen = std::collections::BTreeSet::new();
        entries.retain(|(key, _)| seen.insert(key.clone()));
        entries
    })
}

fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", escaped.replace('\n', "\\n").replace('\t', "\\t"))
}

/// A word that needs no quotes in either syntax, or the text in quotes.
fn word(text: &str, bare: bool) -> String {
    let plain = text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    let keyword = matches!(text, "true" | "false" | "null" | "inf" | "nan");
    if bare && plain && !keyword { text.to_owned() } else { quoted(text) }
}

/// Writes a map as a YAML block, lists inside flow brackets when `flow` says so.
fn write_yaml(entries: &[(String, Tree)], indent: usize, out: &mut String) {
    for (n, (key, value)) in entries.iter().enumerate() {
        write!(out, "{}{}:", " ".repeat(indent), word(key, true)).unwrap();
        match value {
            Tree::Map(inner) if !inner.is_empty() => {
                out.push('\n');
                write_yaml(inner, indent + 2, out);
            }
            Tree::List(items) if !items.is_empty() && n % 2 == 0 => {
                out.push('\n');
                for item in items {
                    writeln!(out, "{}- {}", " ".repeat(indent), flow(item)).unwrap();
                }
            }
            Tree::Text(text) if n % 3 == 1 && fits_a_block(text) => {
                let pad = " ".repeat(indent + 2);
                let lines: Vec<_> = text.split('\n').collect();
                writeln!(out, " |-\n{pad}{}", lines.join(&format!("\n{pad}"))).unwrap();
            }
            value => writeln!(out, " {}", flow(value)).unwrap(),
        }
    }
}

/// Tells whether a block scalar can hold a text as it is.
fn fits_a_block(text: &str) -> bool {
    !text.is_empty() && !text.starts_with([' ', '\n', '\t']) && !text.ends_with('\n')
}

fn flow(value: &Tree) -> String {
    match value {
        Tree::Null => "~".to_owned(),
        Tree::Text(text) => quoted(text),
        Tree::Number(text) => text.clone(),
        Tree::Boolean(value) => value.to_string(),
        Tree::List(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Tree::Map(entries) => {
            let entry = |(key, value): &(String, Tree)| format!("{}: {}", word(key, true), flow(value));
            format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

fn kdl_scalar(value: &Tree) -> Option<String> {
    Some(match value {
        Tree::Null => "#null".to_owned(),
        Tree::Text(text) => word(text, true),
        Tree::Number(text) => text.clone(),
        Tree::Boolean(value) => format!("#{value}"),
        Tree::List(_) | Tree::Map(_) => return None,
    })
}

/// Writes a node; scalars of a map become properties or children in turn.
fn write_kdl(name: &str, value: &Tree, out: &mut String) {
    out.push_str(name);
    match value {
        Tree::Map(entries) => {
            let mut children = String::new();
            for (n, (key, value)) in entries.iter().enumerate() {
                match kdl_scalar(value) {
                    Some(text) if n % 2 == 0 => write!(out, " {}={text}", word(key, true)).unwrap(),
                    _ => write_kdl(&word(key, true), value, &mut children),
                }
            }
            if !children.is_empty() || entries.is_empty() {
                write!(out, " {{\n{children}}}").unwrap();
            }
        }
        Tree::List(items) => match items.iter().map(kdl_scalar).collect::<Option<Vec<_>>>() {
            Some(words) if words.len() > 1 => write!(out, " {}", words.join(" ")).unwrap(),
            _ if items.is_empty() => {}
            _ => {
                out.push_str(" {\n");
                for item in items {
                    write_kdl("-", item, out);
                }
                out.push('}');
            }
        },
        scalar => write!(out, " {}", kdl_scalar(scalar).unwrap()).unwrap(),
    }
    out.push('\n');
}

/// A tree without places and forms; keys in order, since KDL's properties come before its children.
/// An empty list is a bare KDL node.
#[derive(Debug, PartialEq)]
enum Bare {
    Nothing,
    Null,
    Text(String),
    List(Vec<Bare>),
    Map(Vec<(String, Bare)>),
}

fn strip(value: &Node) -> Bare {
    match &value.value {
        NodeValue::Null => Bare::Null,
        NodeValue::Bare => Bare::Nothing,
        NodeValue::Scalar(scalar) => Bare::Text(scalar.text.to_string()),
        NodeValue::Sequence(items) if items.is_empty() => Bare::Nothing,
        NodeValue::Sequence(items) => Bare::List(items.iter().map(strip).collect()),
        NodeValue::Mapping(entries) => Bare::Map(strip_all(entries)),
    }
}

fn strip_all(entries: &[DocumentEntry]) -> Vec<(String, Bare)> {
    let mut all: Vec<_> =
        entries.iter().map(|entry| (entry.key.to_string(), strip(&entry.value))).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

/// The text at every key's and scalar's span is the text of that key or scalar, as it was written.
fn spans_hold(document: &Document, text: &str) {
    let holds = |start: u32, end: u32, value: &str| {
        let written = &text[start as usize..end as usize];
        let block: String = written.lines().map(str::trim_start).collect();
        let value_lines: String = value.lines().map(str::trim_start).collect();
        assert!(
            written == value || written == quoted(value) || block.trim_end() == value_lines.trim_end(),
            "{written:?} for {value:?}"
        );
    };
    each(&document.root, &mut |entry| {
        holds(entry.key_span.start, entry.key_span.end, &entry.key);
        if let Some(scalar) = entry.value.scalar()
            && scalar.form != ScalarForm::Boolean
        {
            holds(entry.value.span.start, entry.value.span.end, &scalar.text);
        }
        let (outer, inner) = (entry.value.span, entry.value.entries().unwrap_or_default());
        for entry in inner {
            assert!(outer.start <= entry.key_span.start && entry.value.span.end <= outer.end);
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn both_syntaxes_give_the_same_tree(entries in map(tree())) {
        let mut yaml_text = String::new();
        write_yaml(&entries, 0, &mut yaml_text);
        let mut kdl_text = String::new();
        for (key, value) in &entries {
            write_kdl(&word(&format!("k{key}"), true), value, &mut kdl_text);
        }
        let (from_yaml, from_kdl) = (yaml(&yaml_text), kdl(&kdl_text));
        let prefixed = strip_all(&from_yaml.root).into_iter().map(|(key, value)| (format!("k{key}"), value));
        prop_assert_eq!(prefixed.collect::<Vec<_>>(), strip_all(&from_kdl.root), "{}\n{}", yaml_text, kdl_text);
        spans_hold(&from_yaml, &yaml_text);
        spans_hold(&from_kdl, &kdl_text);
    }
}
