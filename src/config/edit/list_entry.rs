//! Conversion of a span to the path of a list entry, and the query whether a path exists: edits name values by
//! paths, diagnostics by spans.

use super::request::{EditPath, EditPathStep, EditableFile};
use crate::config::syntax::document::{Node, NodeValue};
use crate::config::syntax::parse_source::parse;
use crate::model::source::{SourceId, Span};

/// Returns the path of the list entry at a span; `None` when there is none, or the file has syntax errors.
#[must_use]
pub fn entry_at(file: &EditableFile<'_>, span: Span) -> Option<EditPath> {
    let document = parse(SourceId(0), file.source, &|word| file.is_kind(word))?.ok()?;
    document.root.iter().find_map(|entry| {
        find_item_path(&entry.value, &EditPath::default().with_key(entry.key.clone()), span)
    })
}

/// Returns whether a file has a value at a path of keys; false for a path with a list item, and for a
/// file with syntax errors.
#[must_use]
pub fn has_path(file: &EditableFile<'_>, path: &EditPath) -> bool {
    let parsed = parse(SourceId(0), file.source, &|word| file.is_kind(word));
    let Some(Ok(document)) = parsed else { return false };
    let mut entries = document.root.as_slice();
    for (n, step) in path.0.iter().enumerate() {
        let EditPathStep::Key(key) = step else { return false };
        let Some(entry) = entries.iter().find(|entry| entry.key == *key) else { return false };
        if n + 1 == path.0.len() {
            return true;
        }
        entries = entry.value.entries().unwrap_or_default();
    }
    false
}

fn find_item_path(node: &Node, way: &EditPath, span: Span) -> Option<EditPath> {
    let here = |at: Span| (at.start, at.end) == (span.start, span.end);
    match &node.value {
        // The only argument of a KDL node is the whole list.
        NodeValue::Scalar(scalar) => (scalar.sole_argument && here(node.span)).then(|| way.clone()),
        NodeValue::Sequence(items) => match items.iter().position(|item| here(item.span)) {
            Some(item) => Some(way.clone().with_item(item)),
            None => items
                .iter()
                .enumerate()
                .find_map(|(n, item)| find_item_path(item, &way.clone().with_item(n), span)),
        },
        NodeValue::Mapping(entries) => entries
            .iter()
            .find_map(|entry| find_item_path(&entry.value, &way.clone().with_key(entry.key.clone()), span)),
        NodeValue::Null | NodeValue::Bare => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::schema::Registry;
    use crate::model::source::Source;

    #[test]
    fn a_list_entry_is_found_by_its_index_in_both_syntaxes() {
        let registry = Registry { kinds: &[], catalogs: &[] };
        for (path, text, entry) in [
            (
                "a.yaml",
                "moved:\n  - { from: a.x, to: a.y }\n  - { from: a.b, to: a.c }\n",
                "{ from: a.b, to: a.c }",
            ),
            ("a.kdl", "moved from=a.x to=a.y\nmoved from=a.b to=a.c\n", "moved from=a.b to=a.c"),
        ] {
            let source = Source::new(path, text);
            let document = parse(SourceId(0), &source, &|_| false).unwrap().unwrap();
            let NodeValue::Sequence(items) = &document.root[0].value.value else { panic!("{path}") };
            assert!(text.contains(entry));
            let file = EditableFile { source: &source, registry: &registry };
            assert_eq!(entry_at(&file, items[1].span).unwrap().to_string(), "moved[1]");
            let deep = Source::new(
                path,
                if path == "a.yaml" { "a:\n  b: { c: [x, y] }\n" } else { "a { b { c x y; }; }\n" },
            );
            let at = u32::try_from(deep.text.find('y').unwrap()).unwrap();
            let deep = EditableFile { source: &deep, registry: &registry };
            let place = Span { source: SourceId(0), start: at, end: at + 1 };
            assert_eq!(entry_at(&deep, place).unwrap().to_string(), "a.b.c[1]");
            assert!(
                has_path(&deep, &EditPath::from_text("a.b.c"))
                    && has_path(&deep, &EditPath::from_text("a"))
            );
            assert!(
                !has_path(&deep, &EditPath::from_text("a.c"))
                    && !has_path(&deep, &EditPath::from_text("a.b.c.x"))
            );
            let nowhere = Span { source: SourceId(0), start: 0, end: 1 };
            assert_eq!(entry_at(&file, nowhere), None);
        }
    }
}
