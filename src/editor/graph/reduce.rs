//! Transitive reduction of the graph for drawings: omits an edge if a longer path implies it.

use super::{DependencyGraph, TraversalDirection};

/// Limit on the search effort for longer paths (nodes times edges); a larger graph is drawn with all edges.
const MAX_STEPS: usize = 20_000_000;

/// Returns the indexes of the edges that no longer path implies, in order. The graph must be acyclic.
pub(super) fn needed_edges(graph: &DependencyGraph) -> Vec<usize> {
    let all = || (0..graph.edges.len()).collect();
    if graph.nodes.len().saturating_mul(graph.edges.len()) > MAX_STEPS {
        return all();
    }
    let below = graph.adjacent_nodes(TraversalDirection::Dependencies);
    let mut seen = vec![usize::MAX; graph.nodes.len()];
    let mut kept = Vec::new();
    let mut edges = graph.edges.iter().enumerate().peekable();
    // Edges are sorted by their start.
    while let Some((_, first)) = edges.peek() {
        let from = first.from;
        let mut waiting: Vec<usize> = below[from].iter().flat_map(|n| &below[*n]).copied().collect();
        while let Some(n) = waiting.pop() {
            if seen[n] != from {
                seen[n] = from;
                waiting.extend(&below[n]);
            }
        }
        while let Some((number, edge)) = edges.next_if(|(_, edge)| edge.from == from) {
            if seen[edge.to] != from {
                kept.push(number);
            }
        }
    }
    kept
}
