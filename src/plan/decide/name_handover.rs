//! Names and networks that pass from one address of a plan to another, and the order that this requires. In:
//! decisions; out: pairs of resource numbers. The service refuses a second object with the same name (Errors,
//! 409), so the new owner waits for the old one.

use foldhash::HashSet;

use super::conflicts::unique_index::UniqueIndex;
use crate::model::graph::Graph;
use crate::plan::decision::{Decision, DecisionKind};
use crate::plan::join::joined_state::JoinedState;

/// Returns pairs of resource numbers: the first gives up a unique value that the second gets, so the second
/// must wait for it. A resource that takes over its own value is no pair.
pub(in crate::plan) fn handover_pairs(
    joined: &JoinedState<'_>,
    decisions: &[Decision<'_>],
) -> Vec<(usize, usize)> {
    let changed = |n: &usize| decisions[*n].removes() || decisions[*n].act == DecisionKind::Update;
    let objects = joined.subjects.iter().enumerate().filter(|(n, _)| changed(n));
    let objects = objects.filter_map(|(n, subject)| Some((subject.kind, subject.object()?, n)));
    let held = UniqueIndex::from_objects(objects, |n, attributes| {
        decisions[n].removes() || decisions[n].changes(attributes)
    });
    if held.is_empty() {
        return Vec::new();
    }
    let comes = |decision: &Decision<'_>| decision.is_new() || decision.act == DecisionKind::Update;
    let coming = decisions.iter().enumerate().filter(|(_, decision)| comes(decision));
    let pairs = coming.flat_map(|(new, decision)| {
        held.holders_of(joined, new, decision).into_iter().map(move |old| (old, new))
    });
    pairs.filter(|(old, new)| old != new).collect()
}

/// The waits between replacements, as far as they affect their dependents.
#[derive(Default)]
pub(in crate::plan) struct NameHandover {
    /// Resources whose new object waits until another address's object is deleted.
    pub waiting: HashSet<usize>,
    /// Resources whose object others wait for.
    pub leaving: HashSet<usize>,
    /// Replacements in a dependency cycle of names or networks: all their old objects must be deleted before
    /// a new one is created.
    pub cyclic: HashSet<usize>,
}

impl NameHandover {
    /// Computes the waits from all decisions; empty if no value passes from one address to another.
    pub fn from_decisions(joined: &JoinedState<'_>, decisions: &[Decision<'_>]) -> Self {
        let pairs = handover_pairs(joined, decisions);
        if pairs.is_empty() {
            return Self::default();
        }
        let mut graph = Graph::default();
        let nodes: Vec<_> = (0..decisions.len()).map(|n| graph.add(n)).collect();
        for (old, new) in &pairs {
            graph.add_edge(nodes[*old], nodes[*new]);
        }
        let cycles = graph.topological_order().err().unwrap_or_default();
        let members = cycles.into_iter().flatten().filter_map(|node| graph.get(node).copied());
        let cyclic =
            members.filter(|n| decisions[*n].act == DecisionKind::Replace { create_first: true }).collect();
        let leaving = pairs.iter().map(|(old, _)| *old).collect();
        let waiting =
            pairs.into_iter().map(|(_, new)| new).filter(|new| decisions[*new].is_new()).collect();
        Self { waiting, leaving, cyclic }
    }
}
