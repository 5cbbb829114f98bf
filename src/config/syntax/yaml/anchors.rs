//! YAML anchors: the nodes that aliases repeat, with their size.

use foldhash::HashMap;

use crate::config::syntax::document::{DocumentEntry, Node, NodeValue};
use crate::model::source::Span;

/// Anchored node, which an alias can repeat.
#[derive(Debug)]
pub(super) struct AnchoredNode {
    /// Copy of the anchored node.
    pub(super) node: Node,
    /// Number of values in it, including itself.
    pub(super) size: usize,
    /// Number of levels in it: 0 for a scalar.
    pub(super) height: usize,
}

/// The anchors of a document, by the parser's number.
pub(super) type Anchors = HashMap<usize, AnchoredNode>;

/// Marks a node, and all in it, as reached through an alias or merge key: an edit there would change other
/// places. The recursion is as deep as the tree, whose depth the parser limits.
pub(super) fn mark_reached_through(node: &mut Node, at: Span) {
    node.through = Some(at);
    match &mut node.value {
        NodeValue::Sequence(items) => items.iter_mut().for_each(|item| mark_reached_through(item, at)),
        NodeValue::Mapping(entries) => entries_through(entries, at),
        NodeValue::Null | NodeValue::Bare | NodeValue::Scalar(_) => {}
    }
}

/// Marks the entries of a mapping as reached through an alias or merge key.
pub(super) fn entries_through(entries: &mut [DocumentEntry], at: Span) {
    for entry in entries {
        mark_reached_through(&mut entry.value, at);
    }
}
