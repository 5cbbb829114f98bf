//! Dependency cycles between resources. In: the resolved resources. Out: a diagnostic for each cycle, with the span
//! of each reference in it. Without a cycle, the plan can order all steps.

use foldhash::{HashMap, HashMapExt};

use crate::config::codes;
use crate::config::stack::model::Resource;
use crate::model::address::Address;
use crate::model::diagnostic::Diagnostic;
use crate::model::expression::Expression;
use crate::model::graph::{Graph, NodeId};
use crate::model::source::Span;

/// Maximum number of edges of a cycle that a message shows.
const MAX_EDGES: usize = 20;

/// Returns one problem for each group of resources that depend on each other, naming the edges of one cycle in it.
/// Empty without a cycle.
pub(in crate::config) fn dependency_cycles(resources: &[Resource]) -> Vec<Diagnostic> {
    let mut graph = Graph::default();
    let nodes: HashMap<&Address, NodeId> =
        resources.iter().enumerate().map(|(n, resource)| (&resource.address, graph.add(n))).collect();
    for resource in resources {
        let Some(after) = nodes.get(&resource.address) else { continue };
        for (address, _) in waits_for(resource) {
            if let Some(before) = nodes.get(address) {
                graph.add_edge(*before, *after);
            }
        }
    }
    let Err(cycles) = graph.topological_order() else { return Vec::new() };
    cycles
        .into_iter()
        .map(|cycle| {
            let members: HashMap<&Address, &Resource> = cycle
                .iter()
                .filter_map(|id| resources.get(*graph.get(*id)?))
                .map(|resource| (&resource.address, resource))
                .collect();
            cycle_problem(&members)
        })
        .collect()
}

/// Returns the addresses that a resource depends on, each with the span of the reference: those in its attributes,
/// `depends_on`, its project and its parent.
fn waits_for(resource: &Resource) -> impl Iterator<Item = (&Address, Span)> {
    // A value that is known needs no other resource.
    let waiting =
        resource.attributes.values().filter(|setting| !matches!(setting.expression, Expression::Value(_)));
    let settings = waiting.flat_map(|setting| {
        setting.expression.addresses().into_iter().map(|address| (address, setting.span))
    });
    let project = resource.project.iter().flat_map(|project| project.addresses());
    settings
        .chain(resource.depends_on.iter().chain(project).map(|address| (address, resource.span)))
        // A child is created after its parent.
        .chain(resource.parent.iter().map(|address| (address, resource.span)))
}

/// Follows dependencies from the first address until one repeats, and describes the edges of that cycle. The
/// smallest dependency is always followed, so that the message is the same in every run.
fn cycle_problem(members: &HashMap<&Address, &Resource>) -> Diagnostic {
    let mut problem =
        Diagnostic::error(codes::DEPENDENCY_CYCLE, "resources depend on each other in a cycle")
            .detail("None of them can be created first.")
            .help("remove one of these references, or set it after both exist");
    let Some(start) = members.keys().min() else { return problem };
    let mut path: Vec<(&Address, &Address, Span)> = Vec::new();
    let mut seen: HashMap<&Address, usize> = HashMap::new();
    let mut here: &Address = start;
    while let Some(resource) = members.get(here) {
        if let Some(first) = seen.get(here) {
            path.drain(..first);
            break;
        }
        seen.insert(here, path.len());
        let next = waits_for(resource).filter(|(address, _)| members.contains_key(address)).min();
        let Some((next, span)) = next else { break };
        path.push((here, next, span));
        here = next;
    }
    let edges = path.len();
    for (from, to, span) in path.into_iter().take(MAX_EDGES) {
        problem = problem.with_label(span, format!("{from} depends on {to}"));
    }
    if edges > MAX_EDGES {
        problem =
            problem.detail(format!("None of them can be created first; {} more edges.", edges - MAX_EDGES));
    }
    problem
}
