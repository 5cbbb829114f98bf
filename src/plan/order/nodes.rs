//! The steps of each resource as nodes of the step graph. `steps` creates them; `parents`
//! adds dependencies between them.

use crate::model::address::Name;
use crate::model::graph::NodeId;

/// The steps of one resource, as nodes.
#[derive(Default, Clone)]
pub(super) struct ResourceNodes<'a> {
    /// The step that undoes links; `None` (here and below) if the resource has no such step.
    pub release: Option<NodeId>,
    pub create: Option<NodeId>,
    pub update: Option<NodeId>,
    pub delete: Option<NodeId>,
    pub deposed: Vec<DeposedNode<'a>>,
}

/// The deletion of a deposed object.
#[derive(Clone, Copy)]
pub(super) struct DeposedNode<'a> {
    pub id: &'a Name,
    pub node: NodeId,
    /// Whether the object is unused and a new object needs its unique values: then its deletion waits
    /// for no other step.
    pub early: bool,
}
