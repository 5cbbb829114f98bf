//! The dependencies between units. In: units with the names of their upstream units. Out: waves, in which each unit
//! comes after its upstream units, and the readers of each unit; or the cycles that make an order impossible.

use std::collections::{BTreeMap, BTreeSet};

use super::unit::{Unit, UnitName};
use crate::model::graph::{Graph, NodeId};

/// The dependencies between the units of a repository. Units are numbered by their position in the list.
#[derive(Debug, Clone, Default)]
pub struct UnitGraph {
    /// By unit: the numbers of its upstream units, ascending. An upstream unit that is not in the list is left out.
    pub upstream: Vec<Vec<usize>>,
    /// By unit: the numbers of the units that read its outputs, ascending.
    pub readers: Vec<Vec<usize>>,
    /// By unit: its wave, from 0. A unit is in a later wave than its upstream units.
    pub waves: Vec<usize>,
    /// The numbers of all units, each after its upstream units.
    pub order: Vec<usize>,
    /// Cycles of units, each as a shortest chain of numbers; their members have wave 0 and come last in `order`.
    pub cycles: Vec<Vec<usize>>,
}

impl UnitGraph {
    /// Orders units by their dependencies.
    #[must_use]
    pub fn new(units: &[Unit]) -> Self {
        let numbers: BTreeMap<&UnitName, usize> =
            units.iter().enumerate().map(|(number, unit)| (&unit.name, number)).collect();
        let mut graph = Graph::default();
        let nodes: Vec<NodeId> = (0..units.len()).map(|number| graph.add(number)).collect();
        let mut upstream = vec![BTreeSet::new(); units.len()];
        let mut readers = vec![BTreeSet::new(); units.len()];
        for (number, unit) in units.iter().enumerate() {
            let known = unit.upstream.iter().filter_map(|edge| numbers.get(&edge.unit).copied());
            for above in known {
                if upstream[number].insert(above) {
                    readers[above].insert(number);
                    graph.add_edge(nodes[above], nodes[number]);
                }
            }
        }
        let position = |id: &NodeId| graph.get(*id).copied();
        let (mut order, cycles) = match graph.topological_order() {
            Ok(sorted) => (sorted.iter().filter_map(position).collect(), Vec::new()),
            Err(found) => {
                let shortest = found.iter().map(|cycle| graph.shortest_cycle(cycle));
                let cycles: Vec<Vec<usize>> =
                    shortest.map(|cycle| cycle.iter().filter_map(position).collect()).collect();
                (Vec::new(), cycles)
            }
        };
        if order.is_empty() {
            order = order_without_cycles(&upstream, &readers);
        }
        let mut waves = vec![0; units.len()];
        for number in &order {
            let above = upstream[*number].iter().filter(|above| *above != number);
            waves[*number] = above.map(|above| waves[*above] + 1).max().unwrap_or(0);
        }
        let listed = |sets: Vec<BTreeSet<usize>>| sets.into_iter().map(|set| set.into_iter().collect());
        Self {
            upstream: listed(upstream).collect(),
            readers: listed(readers).collect(),
            waves,
            order,
            cycles,
        }
    }

    /// Returns the units and all units that read their outputs, directly or through others.
    #[must_use]
    pub fn with_readers(&self, units: &BTreeSet<usize>) -> BTreeSet<usize> {
        closure(units, &self.readers)
    }

    /// Returns the units and all units whose outputs they read, directly or through others.
    #[must_use]
    pub fn with_upstream(&self, units: &BTreeSet<usize>) -> BTreeSet<usize> {
        closure(units, &self.upstream)
    }
}

fn closure(units: &BTreeSet<usize>, edges: &[Vec<usize>]) -> BTreeSet<usize> {
    let mut found = units.clone();
    let mut open: Vec<usize> = units.iter().copied().collect();
    while let Some(number) = open.pop() {
        open.extend(edges[number].iter().copied().filter(|next| found.insert(*next)));
    }
    found
}

/// Orders units as far as cycles allow: the members of cycles, and what reads them, come last.
fn order_without_cycles(upstream: &[BTreeSet<usize>], readers: &[BTreeSet<usize>]) -> Vec<usize> {
    let mut open: Vec<usize> = upstream.iter().map(BTreeSet::len).collect();
    let mut order: Vec<usize> = (0..upstream.len()).filter(|number| open[*number] == 0).collect();
    let mut next = 0;
    while let Some(number) = order.get(next).copied() {
        next += 1;
        for reader in &readers[number] {
            open[*reader] -= 1;
            if open[*reader] == 0 {
                order.push(*reader);
            }
        }
    }
    order.extend((0..upstream.len()).filter(|number| open[*number] > 0));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::source::SourceLocation;
    use crate::workspace::unit::UpstreamUnit;

    fn name(stack: &str) -> UnitName {
        UnitName { stack: stack.into(), environment: "prod".into() }
    }

    fn unit(stack: &str, upstream: &[&str]) -> Unit {
        let source = SourceLocation { file: "stead.yaml".into(), line: 3, column: 1 };
        let edge = |other: &&str| UpstreamUnit {
            alias: (*other).into(),
            unit: name(other),
            reads: Some(BTreeSet::new()),
            source: source.clone(),
            misfit: None,
        };
        Unit {
            name: name(stack),
            directory: stack.into(),
            has_environments: true,
            is_removed: false,
            upstream: upstream.iter().map(edge).collect(),
        }
    }

    #[test]
    fn a_unit_is_in_a_later_wave_than_its_upstream_units() {
        let units =
            [unit("app", &["net", "db"]), unit("db", &["net"]), unit("net", &[]), unit("log", &["gone"])];
        let graph = UnitGraph::new(&units);
        assert_eq!(graph.waves, [2, 1, 0, 0]);
        assert_eq!(graph.readers[2], [0, 1]);
        assert!(graph.cycles.is_empty());
        for number in 0..units.len() {
            let at = |n: usize| graph.order.iter().position(|one| *one == n);
            assert!(graph.upstream[number].iter().all(|above| at(*above) < at(number)));
        }
        assert_eq!(graph.with_readers(&[2].into()), [0, 1, 2].into());
        assert_eq!(graph.with_upstream(&[1].into()), [1, 2].into());
    }

    #[test]
    fn cycles_are_found_and_the_other_units_are_still_ordered() {
        let units =
            [unit("a", &["b"]), unit("b", &["a"]), unit("c", &["c"]), unit("d", &[]), unit("e", &["d"])];
        let graph = UnitGraph::new(&units);
        let mut members: Vec<Vec<usize>> = graph.cycles.clone();
        for cycle in &mut members {
            cycle.sort_unstable();
        }
        members.sort();
        assert_eq!(members, [vec![0, 1], vec![2]]);
        assert_eq!((graph.waves[3], graph.waves[4]), (0, 1));
        assert_eq!(graph.order.len(), units.len());
    }
}
