//! Anchors: what aliases repeat, and the budget that keeps repetition in proportion.

use std::collections::HashMap;

use crate::config::document::{Entry, Node, NodeValue};
use crate::config::syntax::MAX_NODES;
use crate::model::source::Span;

/// Values that a file may produce besides ten for each of its bytes.
const BASE: usize = 100_000;

/// A node that an alias can name.
#[derive(Debug)]
pub(super) struct Anchored {
    /// A copy of it.
    pub(super) node: Node,
    /// Values in it, itself included.
    pub(super) size: usize,
    /// Levels in it: 0 for a scalar.
    pub(super) height: usize,
}

/// The anchors of a document, by the parser's number.
pub(super) type Anchors = HashMap<usize, Anchored>;

/// How many values a file may still produce.
#[derive(Debug)]
pub(super) struct Budget {
    left: usize,
}

impl Budget {
    /// Returns the budget of a text of so many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        Self { left: bytes.saturating_mul(10).saturating_add(BASE).min(MAX_NODES) }
    }

    /// Spends some of it; false when it does not suffice.
    pub(super) fn spend(&mut self, nodes: usize) -> bool {
        match self.left.checked_sub(nodes) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }
}

/// Marks a node, and all in it, as reached through an alias or merge key. The recursion is as deep as
/// the tree, which is bounded.
pub(super) fn through(node: &mut Node, at: Span) {
    node.through = Some(at);
    match &mut node.value {
        NodeValue::Sequence(items) => items.iter_mut().for_each(|item| through(item, at)),
        NodeValue::Mapping(entries) => entries_through(entries, at),
        NodeValue::Null | NodeValue::Bare | NodeValue::Scalar(_) => {}
    }
}

/// The same for the entries of a mapping.
pub(super) fn entries_through(entries: &mut [Entry], at: Span) {
    for entry in entries {
        through(&mut entry.value, at);
    }
}
