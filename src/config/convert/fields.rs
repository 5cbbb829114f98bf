//! Typed access to the YAML of another tool, with a record of the fields that were read: what a reader never
//! asks for is reported as not converted.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::config::syntax::document::{DocumentEntry, Node, NodeValue};
use crate::model::source::Span;

/// Fields of one map; remembers which ones the reader has read.
pub(super) struct FieldReader<'d> {
    entries: &'d [DocumentEntry],
    path: String,
    at: Span,
    seen: RefCell<BTreeSet<&'d str>>,
}

impl<'d> FieldReader<'d> {
    /// Returns the top level.
    pub(super) fn from_entries(entries: &'d [DocumentEntry], at: Span) -> Self {
        Self { entries, path: String::new(), at, seen: RefCell::default() }
    }

    /// Returns the fields of a node; `path` is its path in messages.
    pub(super) fn from_node(node: &'d Node, path: String, at: Span) -> Self {
        Self { entries: node.entries().unwrap_or_default(), path, at, seen: RefCell::default() }
    }

    /// Returns the path of the map in messages.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Returns the span of the map.
    pub(super) fn source_span(&self) -> Span {
        self.at
    }

    /// Returns the span of a field; if it is missing, the span of the whole map.
    pub(super) fn field_span(&self, key: &str) -> Span {
        let entry = self.entries.iter().find(|entry| entry.key == key);
        entry.map_or(self.at, |entry| entry.key_span)
    }

    /// Returns a field and marks it as read; `None` if it is missing or null.
    pub(super) fn get(&self, key: &str) -> Option<&'d Node> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        self.seen.borrow_mut().insert(&entry.key);
        (entry.value.value != NodeValue::Null).then_some(&entry.value)
    }

    /// Returns the string of a scalar field, unescaped, and marks it as read; `None` if it is missing or no scalar.
    pub(super) fn text(&self, key: &str) -> Option<&'d str> {
        self.get(key).and_then(node_text)
    }

    /// Marks a field as read if its value is one of the usual ones, which need no conversion.
    pub(super) fn skip_default(&self, key: &str, usual: &[&str]) {
        let entry = self.entries.iter().find(|entry| entry.key == key);
        let written = entry.and_then(|entry| node_text(&entry.value));
        if written.is_some_and(|text| usual.contains(&text)) {
            self.get(key);
        }
    }

    /// Returns the fields of a field that is a map, and marks it as read; `None` if it is missing or no map.
    pub(super) fn map(&self, key: &str) -> Option<FieldReader<'d>> {
        let node = self.get(key)?;
        node.entries()?;
        Some(FieldReader::from_node(node, self.field_path(key), self.field_span(key)))
    }

    /// Returns a reader for each item of a field's list; empty if it is missing or no list. Their paths end
    /// with the item's `name` or `key`, or else its index.
    pub(super) fn list(&self, key: &str) -> Vec<FieldReader<'d>> {
        let items = self.get(key).map(list_items).unwrap_or_default();
        let at = |(n, node): (usize, &'d Node)| {
            let named = node.entries().and_then(|entries| {
                let name = |key: &str| entries.iter().find(|entry| entry.key == key);
                name("name").or_else(|| name("key"))
            });
            let name = named
                .and_then(|entry| node_text(&entry.value))
                .map_or_else(|| n.to_string(), str::to_owned);
            FieldReader::from_node(node, format!("{}.{name}", self.field_path(key)), node.span)
        };
        items.iter().enumerate().map(at).collect()
    }

    /// Returns the strings of a field: of a list, or the only one; other items are skipped.
    pub(super) fn texts(&self, key: &str) -> Vec<&'d str> {
        match self.get(key) {
            Some(node) if matches!(node.value, NodeValue::Sequence(_)) => {
                list_items(node).iter().filter_map(node_text).collect()
            }
            Some(node) => node_text(node).into_iter().collect(),
            None => Vec::new(),
        }
    }

    /// Returns all entries without marking them as read.
    pub(super) fn entries(&self) -> &'d [DocumentEntry] {
        self.entries
    }

    /// Returns the fields that the reader did not read, except the meaningless ones: span,
    /// path and name of each.
    pub(super) fn unread_fields(&self, meaningless: &[&str]) -> Vec<(Span, String, &'d str)> {
        let seen = self.seen.borrow();
        let left = self.entries.iter().filter(|entry| {
            let key = entry.key.as_str();
            !seen.contains(key) && !meaningless.contains(&key) && !key.starts_with("x-")
        });
        left.map(|entry| (entry.key_span, self.field_path(&entry.key), entry.key.as_str())).collect()
    }

    /// Returns the path of a field.
    pub(super) fn field_path(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

/// Returns the string of a scalar node, unescaped; `None` for a list, a map and null.
pub(super) fn node_text(node: &Node) -> Option<&str> {
    node.scalar().map(|scalar| scalar.text.as_str())
}

/// Returns the items of a list node; none for any other node.
pub(super) fn list_items(node: &Node) -> &[Node] {
    match &node.value {
        NodeValue::Sequence(items) => items,
        _ => &[],
    }
}
