//! Which parts of the files are secrets: excerpts in messages show none of them. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::document::{Document, Entry, Node};
use super::merge::named_entries;
use crate::model::address::Name;
use crate::model::source::Span;

/// Returns where the values of secret variables are written: as defaults, for environments, and in
/// variable files.
pub(super) fn secrets(
    units: &[Vec<Document>],
    calls: &BTreeMap<Span, usize>,
    var_files: &[(Name, Document)],
) -> Vec<Span> {
    let mut spans = Vec::new();
    let names: Vec<BTreeSet<&Name>> = units.iter().map(|unit| declared(unit, &mut spans)).collect();
    for unit in units {
        for call in under(unit, "use") {
            let source = child(&call.value, "source").and_then(|source| calls.get(&source.span));
            let Some(names) = source.and_then(|module| names.get(*module)) else { continue };
            let with = child(&call.value, "with").and_then(named_entries).unwrap_or_default();
            let given = with.iter().filter(|entry| names.contains(&entry.key));
            spans.extend(given.map(|entry| entry.value.span));
        }
    }
    if let (Some(stack), Some(names)) = (units.first(), names.first()) {
        spans.extend(given(stack, var_files, names));
    }
    spans
}

/// Returns the names of secret variables; adds where their defaults stand.
fn declared<'d>(unit: &'d [Document], spans: &mut Vec<Span>) -> BTreeSet<&'d Name> {
    let mut names = BTreeSet::new();
    for declared in under(unit, "vars") {
        let ty = child(&declared.value, "type").and_then(Node::scalar);
        if ty.is_some_and(|ty| ty.text.contains("secret")) {
            names.insert(&declared.key);
            spans.extend(child(&declared.value, "default").map(|node| node.span));
        }
    }
    names
}

/// Returns where a stack and its variable files give secret variables their values.
fn given(stack: &[Document], var_files: &[(Name, Document)], names: &BTreeSet<&Name>) -> Vec<Span> {
    let of_environments = under(stack, "environments")
        .filter_map(|environment| child(&environment.value, "vars"))
        .flat_map(|vars| named_entries(vars).unwrap_or_default());
    let of_files = var_files.iter().flat_map(|(_, document)| document.root.iter());
    let given = of_environments.chain(of_files).filter(|entry| names.contains(&entry.key));
    given.map(|entry| entry.value.span).collect()
}

/// Returns the entries of all blocks of a name.
fn under<'d>(stack: &'d [Document], block: &'d str) -> impl Iterator<Item = &'d Entry> {
    let blocks = stack.iter().flat_map(|document| document.root.iter());
    blocks
        .filter(move |entry| entry.key == block)
        .flat_map(|entry| named_entries(&entry.value).unwrap_or_default())
}

fn child<'d>(node: &'d Node, key: &str) -> Option<&'d Node> {
    named_entries(node)?.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
}
