//! `environments.X.set`: values that replace those at exactly one path each.

use std::collections::{BTreeSet, HashMap};

use super::codes;
use super::document::{Document, Entry, Node, NodeValue};
use super::problems::Problems;
use crate::model::address::Name;
use crate::model::diagnostic::{Diagnostic, nearest};
use crate::model::schema::Registry;
use crate::model::source::Span;

/// Where the body of each block stands: document, top-level entry, entry in it.
type Blocks = HashMap<(Name, Name), (usize, usize, usize)>;

/// Replaces values in the documents. Returns the places of the values that came in.
pub(super) fn replace(
    registry: &Registry,
    documents: &mut [Document],
    set: &[Entry],
    problems: &Problems,
) -> BTreeSet<Span> {
    let mut replaced = BTreeSet::new();
    if set.is_empty() {
        return replaced;
    }
    let blocks = blocks(documents);
    for entry in set {
        match target(registry, documents, &blocks, entry) {
            Ok(node) => {
                *node = entry.value.clone();
                replaced.insert(entry.value.span);
            }
            Err(problem) => problems.push(*problem),
        }
    }
    replaced
}

fn blocks(documents: &[Document]) -> Blocks {
    let mut blocks = Blocks::new();
    for (d, document) in documents.iter().enumerate() {
        for (r, root) in document.root.iter().enumerate() {
            for (b, block) in root.value.entries().unwrap_or_default().iter().enumerate() {
                blocks.insert((root.key.clone(), block.key.clone()), (d, r, b));
            }
        }
    }
    blocks
}

/// Returns the value that a path names.
fn target<'d>(
    registry: &Registry,
    documents: &'d mut [Document],
    blocks: &Blocks,
    entry: &Entry,
) -> Result<&'d mut Node, Box<Diagnostic>> {
    let steps: Vec<&str> = entry.key.split('.').collect();
    let [root, name, rest @ ..] = steps.as_slice() else { return Err(Box::new(incomplete(entry))) };
    let is_kind = registry.top_level().any(|kind| kind.name == *root);
    let is_input = *root == "use" && rest.first() == Some(&"with") && rest.len() > 1;
    if rest.is_empty() || !(is_kind || is_input) {
        return Err(Box::new(incomplete(entry)));
    }
    let Some((d, r, b)) = blocks.get(&(Name::new(root), Name::new(name))) else {
        let known = blocks.keys().filter(|(of, _)| of == root).map(|(_, name)| name.as_str());
        return Err(Box::new(unknown(entry, root, name, known)));
    };
    let place = documents.get_mut(*d).and_then(|document| document.root.get_mut(*r));
    let body = place.and_then(|root| match &mut root.value.value {
        NodeValue::Mapping(blocks) => blocks.get_mut(*b),
        _ => None,
    });
    let Some(Entry { value: mut_node, .. }) = body else { return Err(Box::new(incomplete(entry))) };
    let mut node = mut_node;
    let mut way = format!("{root}.{name}");
    for step in rest {
        let entries = match &mut node.value {
            NodeValue::Mapping(entries) => entries.as_mut_slice(),
            _ => &mut [],
        };
        let Some(at) = entries.iter().position(|entry| entry.key == *step) else {
            return Err(Box::new(unknown(
                entry,
                &way,
                step,
                entries.iter().map(|entry| entry.key.as_str()),
            )));
        };
        node = &mut entries[at].value;
        way = format!("{way}.{step}");
    }
    Ok(node)
}

fn incomplete(entry: &Entry) -> Diagnostic {
    Diagnostic::error(codes::SET, "this path cannot be replaced")
        .at(entry.key_span, "")
        .detail("`set` replaces what a block or the `with` of a module says, and nothing else.")
        .help("write the path of one value: `database.main.storage_gb`, or `use.shop.with.size`")
}

fn unknown<'n>(entry: &Entry, way: &str, step: &str, known: impl Iterator<Item = &'n str>) -> Diagnostic {
    let problem = Diagnostic::error(codes::SET, "there is nothing at this path")
        .at(entry.key_span, "")
        .detail(format!("{way} has no `{step}`, and `set` replaces what is written."));
    match nearest(step, known) {
        Some(near) => {
            let path: Vec<String> = entry
                .key
                .split('.')
                .map(|part| if part == step { near } else { part }.to_owned())
                .collect();
            problem.help(format!("did you mean `{}`?", path.join(".")))
        }
        None => problem.help(format!("write `{step}` there, with the value that other environments take")),
    }
}
