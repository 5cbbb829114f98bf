//! Nested children: a child that is written in the block of an object to which it refers. Example: `projects: {
//! shop: developer }` in an API key's block declares a member of the project `shop`, whose key is this API key
//! and whose role is `developer`.
//!
//! The trees are rewritten before any other phase reads them; spans still point at the source. It runs after
//! all files of a unit are parsed, as the parent's block may be in another file.

use std::collections::BTreeMap;

use crate::config::codes;
use crate::config::syntax::budget;
use crate::config::syntax::budget::too_large;
use crate::config::syntax::document::{Document, DocumentEntry, Node, NodeValue, Scalar, ScalarForm};
use crate::model::address::Name;
use crate::model::budget::Budget;
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::schema::{NestedPlacement, Registry};
use crate::model::source::Span;

/// Child that is moved from one block into another.
struct RelocatedChild {
    /// Block whose child it becomes.
    parent: DocumentEntry,
    /// Name of the block that contained it.
    block: Name,
    /// Entries that the child gets from the containing block: its `when` or `for_each`, and the reference to it.
    words: Vec<DocumentEntry>,
}

/// Moves nested children to the blocks of their parents. Returns the problems of those that cannot be moved;
/// empty if all were.
pub(in crate::config) fn expand_nested_children(
    documents: &mut [Document],
    registry: &Registry,
    budget: &Budget,
) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    for child in registry.kinds {
        let (Some(also), Some((of, collection))) = (child.also_in, child.child_of()) else { continue };
        let mut moving = Vec::new();
        for block in blocks_of_kind(documents, also.kind) {
            extract_nested_entries(block, also, budget, &mut moving, &mut problems);
        }
        if !moving.is_empty() {
            insert_nested_children(documents, (of, collection), also.says, moving, &mut problems);
        }
    }
    problems
}

/// The blocks of a kind, over all files.
fn blocks_of_kind<'d>(
    documents: &'d mut [Document],
    kind: &'d str,
) -> impl Iterator<Item = &'d mut DocumentEntry> {
    let roots = documents.iter_mut().flat_map(|document| &mut document.root);
    roots.filter(move |entry| entry.key == kind).flat_map(|entry| match &mut entry.value.value {
        NodeValue::Mapping(blocks) => blocks.iter_mut(),
        _ => [].iter_mut(),
    })
}

fn extract_nested_entries(
    block: &mut DocumentEntry,
    also: NestedPlacement,
    budget: &Budget,
    moving: &mut Vec<RelocatedChild>,
    problems: &mut Vec<Diagnostic>,
) {
    let NodeValue::Mapping(entries) = &mut block.value.value else { return };
    let Some(at) = entries.iter().position(|entry| entry.key == also.key) else { return };
    let written = entries.remove(at);
    let parents = match written.value.value {
        NodeValue::Mapping(parents) => parents,
        NodeValue::Null | NodeValue::Bare => Vec::new(),
        _ => {
            let problem = Diagnostic::error(codes::NOT_A_BLOCK, "a map was expected");
            problems.push(
                problem
                    .with_label(written.key_span, "")
                    .help(format!("write `{}: {{ NAME: {} }}`", also.key, also.says)),
            );
            return;
        }
    };
    let keyed = entries.iter().any(|entry| entry.key == "for_each");
    let when = entries.iter().find(|entry| entry.key == "when").filter(|_| !keyed);
    for parent in parents {
        let path = format!("${}.{}", also.kind, block.key);
        let span = parent.key_span;
        if let Some(when) = when
            && budget::charge_node(budget, &when.value).is_err()
        {
            problems.push(too_large(when.value.span));
            return;
        }
        let mut words: Vec<DocumentEntry> = when.cloned().into_iter().collect();
        if keyed {
            words.push(scalar_entry("for_each", &path, span));
            words.push(scalar_entry(also.refers, "$each.value", span));
        } else {
            words.push(scalar_entry(also.refers, &path, span));
        }
        moving.push(RelocatedChild { parent, block: block.key.clone(), words });
    }
}

fn insert_nested_children(
    documents: &mut [Document],
    (of, collection): (&str, &'static str),
    says: &'static str,
    moving: Vec<RelocatedChild>,
    problems: &mut Vec<Diagnostic>,
) {
    let mut parents: BTreeMap<Name, &mut DocumentEntry> =
        blocks_of_kind(documents, of).map(|block| (block.key.clone(), block)).collect();
    for one in moving {
        let name = &one.parent.key;
        let Some(block) = parents.get_mut(name) else {
            let problem = Diagnostic::error(codes::UNKNOWN_RESOURCE, format!("there is no such {of}"))
                .with_label(one.parent.key_span, "")
                .detail(format!("No block declares {of}.{name}."));
            let near = nearest_name(name, parents.keys().map(Name::as_str));
            problems.push(match near {
                Some(near) => problem.help(format!("did you mean {near}?")),
                None => problem.help(format!("declare it: `{of}: {{ {name}: {{}} }}`")),
            });
            continue;
        };
        let Some(children) = ensure_child_entries(&mut block.value, collection, one.parent.key_span) else {
            continue;
        };
        if let Some(first) = children.iter().find(|entry| entry.key == one.block) {
            let problem =
                Diagnostic::error(codes::DECLARED_TWICE, "the same name is declared in two places");
            problems.push(
                problem
                    .with_label(one.parent.key_span, "")
                    .with_label(first.key_span, "it is also declared here")
                    .detail(format!("Both are {of}.{name}.{collection}.{}.", one.block)),
            );
            continue;
        }
        children.push(written_out(one, says));
    }
}

/// Returns the entries below a key of a block, created if it does not exist; `None` if the value is not a
/// map, which is reported elsewhere.
fn ensure_child_entries<'n>(
    block: &'n mut Node,
    key: &'static str,
    span: Span,
) -> Option<&'n mut Vec<DocumentEntry>> {
    let entries = map_entries_mut(block)?;
    if entries.iter().all(|entry| entry.key != key) {
        let value = Node { value: NodeValue::Mapping(Vec::new()), span, through: None };
        entries.push(DocumentEntry { key: Name::new_static(key), key_span: span, value });
    }
    entries.iter_mut().find(|entry| entry.key == key).and_then(|entry| map_entries_mut(&mut entry.value))
}

/// Returns the entries of a map, in which a null or empty value is converted first; `None` for any other value.
fn map_entries_mut(node: &mut Node) -> Option<&mut Vec<DocumentEntry>> {
    if matches!(node.value, NodeValue::Null | NodeValue::Bare) {
        node.value = NodeValue::Mapping(Vec::new());
    }
    match &mut node.value {
        NodeValue::Mapping(entries) => Some(entries),
        _ => None,
    }
}

/// Returns the child's entry: a map is used as its block, any other value becomes the attribute `says`.
fn written_out(one: RelocatedChild, says: &'static str) -> DocumentEntry {
    let RelocatedChild { parent, block, mut words } = one;
    let (span, through) = (parent.value.span, parent.value.through);
    match parent.value.value {
        NodeValue::Mapping(own) => words.extend(own),
        _ => words.push(DocumentEntry {
            key: Name::new_static(says),
            key_span: parent.key_span,
            value: parent.value,
        }),
    }
    let value = Node { value: NodeValue::Mapping(words), span, through };
    DocumentEntry { key: block, key_span: parent.key_span, value }
}

fn scalar_entry(key: &'static str, text: &str, span: Span) -> DocumentEntry {
    let scalar = Scalar { text: text.into(), form: ScalarForm::Text, sole_argument: false };
    let value = Node { value: NodeValue::Scalar(scalar), span, through: None };
    DocumentEntry { key: Name::new_static(key), key_span: span, value }
}
