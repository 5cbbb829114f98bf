//! `graph`: what waits for what in a stack, and its drawings.

mod layout;
mod reduce;
mod svg;
mod text;

use std::collections::{BTreeMap, HashMap, VecDeque};

use serde::Serialize;

pub use self::svg::render_svg;
pub use self::text::{render_dot, render_mermaid, render_tree};
use crate::config::stack::model::{Resource, Stack};
use crate::model::address::{Address, Name};
use crate::model::schema::KindScope;
use crate::model::source::{SourceLocation, Span};

/// A stack's resources, and what each waits for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DependencyGraph {
    /// The resources by address; what is looked up elsewhere comes after them.
    pub nodes: Vec<DependencyNode>,
    /// What waits for what, by numbers of nodes.
    pub edges: Vec<DependencyEdge>,
}

/// A resource, or something that is looked up elsewhere.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DependencyNode {
    /// Its address.
    pub address: Address,
    /// Its kind; nothing for another stack's output.
    pub kind: Option<Name>,
    /// Where its block stands.
    #[serde(serialize_with = "serialize_location")]
    pub source: Option<SourceLocation>,
    /// This stack does not manage it.
    pub elsewhere: bool,
}

/// `from` waits for `to`.
#[derive(Debug, Clone, PartialEq)]
pub struct DependencyEdge {
    /// Who waits.
    pub from: usize,
    /// For whom.
    pub to: usize,
    /// Why, and where that is written: an attribute, `depends_on`, `project`, or that it is inside of it.
    pub ties: Vec<DependencyReason>,
}

/// One reason to wait.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DependencyReason {
    /// The attribute, `depends_on`, `project` or `inside`.
    pub by: Name,
    /// Where it is written.
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

/// Which way edges are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraversalDirection {
    /// To what is waited for.
    Dependencies,
    /// To what waits.
    Dependents,
}

impl DependencyGraph {
    /// Returns the graph of a stack.
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

    /// Returns the numbers of the nodes at an address, or of the instances and children below it.
    #[must_use]
    pub fn nodes_at(&self, address: &str) -> Vec<usize> {
        let Ok(address) = Address::parse(address) else { return Vec::new() };
        let exact = self.nodes.iter().position(|node| node.address == address);
        let within = |n: &usize| self.nodes[*n].address.is_within(&address);
        exact.map_or_else(|| (0..self.nodes.len()).filter(within).collect(), |n| vec![n])
    }

    /// Returns the neighbours of every node, one way.
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

    /// Returns the nodes that edges lead to from some nodes, one way and within a number of steps; without
    /// those nodes themselves.
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

    /// Returns the part of the graph around some nodes: what they wait for and what waits for them.
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

/// Returns every address that a block refers to, why, and where that is written.
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
