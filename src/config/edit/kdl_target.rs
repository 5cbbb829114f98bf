//! The syntax elements of a KDL text that the paths of edits lead to.

use std::ops::Range;

use super::content::LIST_KEYWORDS;
use super::refusals::{self, EditError};
use super::request::{EditPath, EditPathStep, EditableFile};
use crate::config::syntax::kdl::layout_tree::{KdlBlock, KdlEntry, KdlNode, KdlTree, KdlValue};

/// The syntax element at the end of a path.
#[derive(Clone, Copy)]
pub(super) enum KdlEditTarget<'t> {
    /// A node; with `labelled`, its first argument is its name.
    Node { node: &'t KdlNode, siblings: &'t [KdlNode], block: Option<&'t KdlBlock>, labelled: bool },
    /// A property of a node.
    Property(&'t KdlNode, &'t KdlEntry),
    /// One of several arguments.
    Argument(&'t KdlNode, &'t KdlEntry),
}

/// Finds the elements of one KDL text.
pub(super) struct KdlTargets<'t> {
    pub(super) text: &'t str,
    pub(super) tree: &'t KdlTree,
    pub(super) file: &'t EditableFile<'t>,
}

impl<'t> KdlTargets<'t> {
    fn of_node(
        node: &'t KdlNode,
        siblings: &'t [KdlNode],
        block: Option<&'t KdlBlock>,
        labelled: bool,
    ) -> KdlEditTarget<'t> {
        KdlEditTarget::Node { node, siblings, block, labelled }
    }

    /// Returns the last existing element of a path, and how many of the path's steps exist. The node that
    /// names a block counts for both of its steps.
    pub(super) fn locate(&self, path: &EditPath) -> (Option<KdlEditTarget<'t>>, usize) {
        let nodes = self.tree.nodes.as_slice();
        let (Some(EditPathStep::Key(word)), second) = (path.0.first(), path.0.get(1)) else {
            return (None, 0);
        };
        let mut named = nodes.iter().filter(|node| node.name == *word);
        let (mut target, mut used) = match second {
            Some(EditPathStep::Item(n)) if LIST_KEYWORDS.contains(&word.as_str()) => match named.nth(*n) {
                Some(node) => (Self::of_node(node, nodes, None, false), 2),
                None => return (None, 1),
            },
            Some(EditPathStep::Key(name)) => {
                let blocks: Vec<_> = named.collect();
                let labelled = blocks
                    .iter()
                    .find(|node| self.block_label(node).is_some_and(|(label, _)| label == *name));
                let plain = blocks.iter().find(|node| self.block_label(node).is_none());
                match (labelled, plain) {
                    (Some(node), _) => (Self::of_node(node, nodes, None, true), 2),
                    (None, Some(node)) => (Self::of_node(node, nodes, None, false), 1),
                    (None, None) => return (None, usize::from(!blocks.is_empty())),
                }
            }
            _ => match named.next() {
                Some(node) => (Self::of_node(node, nodes, None, false), 1),
                None => return (None, 0),
            },
        };
        for step in &path.0[used..] {
            let Some(inner) = Self::child_target(target, step) else { break };
            target = inner;
            used += 1;
        }
        (Some(target), used)
    }

    fn child_target(target: KdlEditTarget<'t>, step: &EditPathStep) -> Option<KdlEditTarget<'t>> {
        let KdlEditTarget::Node { node, labelled, .. } = target else { return None };
        let children = node.children();
        let child = |child| Self::of_node(child, children, node.block.as_ref(), false);
        match step {
            EditPathStep::Key(key) => match node.property(key) {
                Some(entry) => Some(KdlEditTarget::Property(node, entry)),
                None => children.iter().find(|child| child.name == *key).map(child),
            },
            EditPathStep::Item(n) if children.iter().any(|child| child.name == "-") => {
                children.get(*n).map(child)
            }
            EditPathStep::Item(n) => node
                .arguments()
                .nth(n + usize::from(labelled))
                .map(|entry| KdlEditTarget::Argument(node, entry)),
        }
    }

    /// Returns the name of a top-level block, with its byte range; `None` for a node that has arguments
    /// instead of a name.
    pub(super) fn block_label(&self, node: &'t KdlNode) -> Option<(&'t str, &'t Range<usize>)> {
        let mut arguments = node.arguments();
        let (first, second) = (arguments.next()?, arguments.next());
        let has_body = node.block.is_some() || node.entries.iter().any(|entry| entry.key.is_some());
        let named = second.is_none()
            && (has_body || self.file.is_kind(&node.name))
            && !LIST_KEYWORDS.contains(&node.name.as_str());
        match &first.value {
            KdlValue::Text(text) if named => Some((text, &first.at)),
            KdlValue::Number if named => Some((&self.text[first.at.clone()], &first.at)),
            _ => None,
        }
    }

    /// Returns the element at a path; refuses the edit if it does not exist.
    pub(super) fn find_target(&self, path: &EditPath) -> Result<KdlEditTarget<'t>, EditError> {
        match self.locate(path) {
            (Some(target), used) if used == path.0.len() => Ok(target),
            _ => Err(refusals::missing_path(&path.to_string())),
        }
    }
}
