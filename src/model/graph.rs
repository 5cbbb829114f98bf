//! `Graph`: a directed graph of ordering edges, over petgraph. In: nodes, and pairs of nodes that must keep
//! an order. Out: a topological order, or the nodes of the cycles. The same graph, built in the same order,
//! gives the same result.

pub mod layout;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};

use petgraph::Direction;
use petgraph::algo::{tarjan_scc, toposort};
use petgraph::stable_graph::{NodeIndex, StableDiGraph};

/// A node's number within its graph, ascending in the order of insertion. It means nothing in another graph.
pub type NodeId = NodeIndex<u32>;

/// Nodes, and edges from a node to each node that must come after it.
#[derive(Debug, Clone)]
pub struct Graph<N> {
    inner: StableDiGraph<N, ()>,
}

impl<N> Default for Graph<N> {
    fn default() -> Self {
        Self { inner: StableDiGraph::new() }
    }
}

impl<N> Graph<N> {
    /// Returns an empty graph with room for a number of nodes, and as many edges.
    #[must_use]
    pub fn with_capacity(nodes: usize) -> Self {
        Self { inner: StableDiGraph::with_capacity(nodes, nodes) }
    }

    /// Adds a node and returns its number.
    pub fn add(&mut self, node: N) -> NodeId {
        self.inner.add_node(node)
    }

    /// Adds an edge: `before` must come before `after`. A repeated edge does not change the order, but
    /// `predecessors_of` and `successors_of` then return the node once for each edge.
    pub fn add_edge(&mut self, before: NodeId, after: NodeId) {
        self.inner.add_edge(before, after, ());
    }

    /// Returns the node with this number; `None` for the number of another graph.
    #[must_use]
    pub fn get(&self, id: NodeId) -> Option<&N> {
        self.inner.node_weight(id)
    }

    /// Returns all nodes with their numbers, in the order of insertion.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, &N)> {
        self.inner.node_indices().map(|id| (id, &self.inner[id]))
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.node_count()
    }

    /// Returns whether there are no nodes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the direct predecessors of a node, in no particular order.
    pub fn predecessors_of(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        self.inner.neighbors_directed(id, Direction::Incoming)
    }

    /// Returns the direct successors of a node, in no particular order.
    pub fn successors_of(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        self.inner.neighbors_directed(id, Direction::Outgoing)
    }

    /// Returns a topological order: every node comes after the nodes that it depends on.
    ///
    /// # Errors
    /// The nodes of the cycles, when there are some: each list is one strongly connected component.
    pub fn topological_order(&self) -> Result<Vec<NodeId>, Vec<Vec<NodeId>>> {
        toposort(&self.inner, None).map_err(|_| {
            tarjan_scc(&self.inner)
                .into_iter()
                .filter(|cycle| cycle.len() > 1 || self.inner.contains_edge(cycle[0], cycle[0]))
                .collect()
        })
    }

    /// Returns a shortest cycle through the node with the lowest number of a strongly connected component: each node
    /// comes before the next one, and the last before the first. Empty where no cycle within `knot` includes that node.
    #[must_use]
    pub fn shortest_cycle(&self, cycle: &[NodeId]) -> Vec<NodeId> {
        let Some(start) = cycle.iter().copied().min() else { return Vec::new() };
        let mut from: BTreeMap<NodeId, NodeId> = BTreeMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(node) = queue.pop_front() {
            let mut next: Vec<NodeId> =
                self.successors_of(node).filter(|next| cycle.contains(next)).collect();
            next.sort_unstable();
            for next in next {
                if next == start {
                    let back = |node: &NodeId| from.get(node).copied();
                    let mut cycle: Vec<NodeId> = std::iter::successors(Some(node), back).collect();
                    cycle.reverse();
                    return cycle;
                }
                if let Entry::Vacant(new) = from.entry(next) {
                    new.insert(node);
                    queue.push_back(next);
                }
            }
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_graph_is_sorted_topologically_and_cycles_are_named() {
        let mut graph = Graph::default();
        let (a, b, c) = (graph.add("a"), graph.add("b"), graph.add("c"));
        graph.add_edge(c, b);
        graph.add_edge(b, a);
        assert_eq!(graph.topological_order().unwrap(), vec![c, b, a]);
        graph.add_edge(a, c);
        let cycles = graph.topological_order().unwrap_err();
        assert_eq!(cycles.len(), 1);
        assert_eq!(cycles[0].len(), 3);
        // The shortest: the way over a third node is left out.
        graph.add_edge(a, b);
        let (found, d) = (graph.shortest_cycle(&cycles[0]), graph.add("d"));
        assert_eq!(found, vec![a, b]);
        assert!(graph.shortest_cycle(&[d]).is_empty());
    }
}
