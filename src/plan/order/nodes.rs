//! The steps of each subject as nodes of the graph of steps. `order` fills them; `parents` adds dependencies between them.

use crate::model::address::Name;
use crate::model::graph::NodeId;

/// The steps of one subject, as nodes.
#[derive(Default, Clone)]
pub(super) struct ResourceNodes<'a> {
    pub release: Option<NodeId>,
    pub create: Option<NodeId>,
    pub update: Option<NodeId>,
    pub delete: Option<NodeId>,
    pub deposed: Vec<DeposedNode<'a>>,
}

/// The deletion of an older object.
#[derive(Clone, Copy)]
pub(super) struct DeposedNode<'a> {
    pub id: &'a Name,
    pub node: NodeId,
    /// Nothing uses the object, and something new needs what it has: it waits for nobody.
    pub early: bool,
}
