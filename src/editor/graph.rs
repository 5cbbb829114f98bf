//! `graph`: the dependency graph of a stack, and its renderings. It is computed from the configuration alone, without
//! the ledger or live objects.

mod svg;
mod text;

use std::collections::{BTreeMap, VecDeque};

use foldhash::{HashMap, HashMapExt};
use serde::Serialize;

pub use self::svg::render_svg;
pub use self::text::{render_dot, render_mermaid, render_tree};
use crate::config::stack::model::{Resource, Stack};
use crate::model::address::{Address, Name};
use crate::model::graph::layout::{GraphLayout, lay_out};
use crate::model::schema::KindScope;
use crate::model::source::{SourceLocation, Span};

/// The dependency graph of a stack.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DependencyGraph {
    /// Resources by address, followed by lookups and remote stack outputs.
    pub nodes: Vec<DependencyNode>,
    /// Dependencies between nodes, by index, sorted by `from`; at most one for each pair.
    pub edges: Vec<DependencyEdge>,
}

/// A resource, a lookup, or a remote stack output.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DependencyNode {
    /// Address of the resource, the lookup or the remote output.
    pub address: Address,
    /// Kind of the resource; `None` for a remote stack output.
    pub kind: Option<Name>,
    /// Location of the node's block; `None` if it has none.
    #[serde(serialize_with = "serialize_location")]
    pub source: Option<SourceLocation>,
    /// Whether the node is a lookup or a remote stack output, which this stack does not manage.
    pub elsewhere: bool,
}

/// A dependency: `from` waits for `to`.
#[derive(Debug, Clone, PartialEq)]
pub struct DependencyEdge {
    /// Index of the dependent node.
    pub from: usize,
    /// Index of the node that it depends on.
    pub to: usize,
    /// Reasons for the dependency, each with its location; never empty.
    pub ties: Vec<DependencyReason>,
}

/// One reason for a dependency.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DependencyReason {
    /// An attribute, `depends_on`, `project` or `inside` (nested in the other block).
    pub by: Name,
    /// Location of the reference; `None` if it is implicit.
    #[serde(serialize_with = "serialize_location")]
    pub source: Option<SourceLocation>,
}

#[expect(clippy::ref_option, reason = "serde hands a field over like this")]
fn serialize_location<S: serde::Serializer>(
    place: &Option<SourceLocation>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match place {
        Some(place) => serializer.serialize_some(&format!("{}:{}", place.file, place.line)),
        None => serializer.serialize_none(),
    }
}

/// The direction in which edges are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraversalDirection {
    /// From a node to its dependencies.
    Dependencies,
    /// From a node to its dependents.
    Dependents,
}

impl DependencyGraph {
    /// Builds the graph of a stack.
    #[must_use]
    pub fn from_stack(stack: &Stack) -> Self {
        let mut graph = Self::default();
        let mut numbers: HashMap<&Address, usize> = HashMap::with_capacity(stack.resources.len());
        for resource in stack.resources.values() {
            numbers.insert(&resource.address, graph.nodes.len());
            graph.nodes.push(DependencyNode {
                address: resource.address.clone(),
                kind: Some(Name::new_static(resource.kind.name)),
                source: stack.sources.location_of(resource.span),
                elsewhere: false,
            });
        }
        for (from, resource) in stack.resources.values().enumerate() {
            let mut ties: BTreeMap<usize, Vec<DependencyReason>> = BTreeMap::new();
            for (address, by, span) in block_dependencies(stack, resource) {
                let next = graph.nodes.len();
                let to = *numbers.entry(address).or_insert(next);
                if to == next {
                    graph.nodes.push(remote_node(stack, address));
                }
                let known = ties.entry(to).or_default();
                if to != from && known.iter().all(|tie| tie.by != by) {
                    known.push(DependencyReason {
                        by,
                        source: span.and_then(|span| stack.sources.location_of(span)),
                    });
                }
            }
            ties.remove(&from);
            graph.edges.extend(ties.into_iter().map(|(to, ties)| DependencyEdge { from, to, ties }));
        }
        graph
    }

    /// Returns the layout of a drawing: dependencies are to the left of their dependents.
    fn layout(&self) -> GraphLayout {
        let edges: Vec<(usize, usize)> = self.edges.iter().map(|edge| (edge.to, edge.from)).collect();
        lay_out(self.nodes.len(), &edges)
    }

    /// Returns the index of the node at an address; else those of the instances and children within it. Empty if there
    /// are none, and for a string that is not an address.
    #[must_use]
    pub fn nodes_at(&self, address: &str) -> Vec<usize> {
        let Ok(address) = Address::parse(address) else { return Vec::new() };
        let exact = self.nodes.iter().position(|node| node.address == address);
        let within = |n: &usize| self.nodes[*n].address.is_within(&address);
        exact.map_or_else(|| (0..self.nodes.len()).filter(within).collect(), |n| vec![n])
    }

    /// Returns the neighbors of each node in one direction, by the node's index.
    #[must_use]
    pub fn adjacent_nodes(&self, way: TraversalDirection) -> Vec<Vec<usize>> {
        let mut found = vec![Vec::new(); self.nodes.len()];
        for edge in &self.edges {
            match way {
                TraversalDirection::Dependencies => found[edge.from].push(edge.to),
                TraversalDirection::Dependents => found[edge.to].push(edge.from),
            }
        }
        found
    }

    /// Returns the nodes that are reachable from some nodes in one direction within `depth` steps, without the starting
    /// nodes, in order of their indexes.
    #[must_use]
    pub fn reachable_from(&self, from: &[usize], way: TraversalDirection, depth: usize) -> Vec<usize> {
        let neighbours = self.adjacent_nodes(way);
        let mut steps: HashMap<usize, usize> = from.iter().map(|n| (*n, 0)).collect();
        let mut waiting: VecDeque<usize> = from.iter().copied().collect();
        let mut found = Vec::new();
        while let Some(n) = waiting.pop_front() {
            let next = steps.get(&n).copied().unwrap_or_default() + 1;
            if next > depth {
                continue;
            }
            for to in &neighbours[n] {
                if !steps.contains_key(to) {
                    steps.insert(*to, next);
                    waiting.push_back(*to);
                    found.push(*to);
                }
            }
        }
        found.sort_unstable();
        found
    }

    /// Returns the subgraph around some nodes: their dependencies and dependents up to `depth`.
    #[must_use]
    pub fn subgraph_around(&self, focus: &[usize], depth: usize) -> Self {
        let mut kept: Vec<usize> = focus.to_vec();
        kept.extend(self.reachable_from(focus, TraversalDirection::Dependencies, depth));
        kept.extend(self.reachable_from(focus, TraversalDirection::Dependents, depth));
        kept.sort_unstable();
        kept.dedup();
        let numbers: HashMap<usize, usize> =
            kept.iter().enumerate().map(|(new, old)| (*old, new)).collect();
        let edge = |edge: &DependencyEdge| {
            let (from, to) = (*numbers.get(&edge.from)?, *numbers.get(&edge.to)?);
            Some(DependencyEdge { from, to, ties: edge.ties.clone() })
        };
        Self {
            nodes: kept.iter().map(|n| self.nodes[*n].clone()).collect(),
            edges: self.edges.iter().filter_map(edge).collect(),
        }
    }
}

/// Returns all addresses that a block refers to, each with the reason and the location.
fn block_dependencies<'s>(
    stack: &'s Stack,
    resource: &'s Resource,
) -> impl Iterator<Item = (&'s Address, Name, Option<Span>)> {
    let attributes = resource.attributes.iter().flat_map(|(name, setting)| {
        let addresses = setting.expression.addresses().into_iter();
        addresses.map(move |address| (address, name.clone(), Some(setting.span)))
    });
    let written = resource.project.iter().flat_map(|expression| expression.addresses());
    let of_project = resource.kind.scope == KindScope::Project && resource.project.is_none();
    let shared = stack.project.as_ref().filter(|_| of_project);
    let project = written.chain(shared).map(|address| (address, Name::new_static("project"), None));
    let parent = resource.parent.iter().map(|address| (address, Name::new_static("inside"), None));
    let said = resource.depends_on.iter().map(|address| (address, Name::new_static("depends_on"), None));
    attributes.chain(project).chain(parent).chain(said)
}

fn remote_node(stack: &Stack, address: &Address) -> DependencyNode {
    let lookup = stack.data.get(address);
    DependencyNode {
        address: address.clone(),
        kind: lookup.map(|lookup| Name::new_static(lookup.kind.name)),
        source: lookup.and_then(|lookup| stack.sources.location_of(lookup.span)),
        elsewhere: true,
    }
}

#[cfg(test)]
mod tests;
