//! Mermaid flow chart of the order of a plan's steps. Names are escaped, because the forge renders the chart.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::plan::model::change::{Action, Plan};
use crate::plan::model::step::{Operation, Step};

/// Returns the flow chart; one without nodes if the plan has no steps. Steps of one resource share a node.
pub(super) fn plan_flowchart(plan: &Plan) -> String {
    let mut numbers: BTreeMap<MermaidNode<'_>, usize> = BTreeMap::new();
    for step in &plan.steps {
        let next = numbers.len();
        numbers.entry(step_node(step)).or_insert(next);
    }
    let actions: BTreeMap<&str, Action> =
        plan.changes.iter().map(|change| (change.address.as_str(), change.action)).collect();
    let mut text = String::from("flowchart LR\n");
    let mut nodes: Vec<_> = numbers.iter().collect();
    nodes.sort_by_key(|(_, number)| **number);
    for ((address, goes), number) in nodes {
        let class = actions.get(address).map_or("", |action| class_of(*action));
        let old = if *goes { ", the old one" } else { "" };
        let _ = writeln!(text, "  n{number}[\"{}{old}\"]{class}", escape_quoted(address));
    }
    let mut edges = BTreeSet::new();
    for step in &plan.steps {
        for before in step.after.iter().filter_map(|number| plan.steps.get(*number)) {
            let ends = (numbers.get(&step_node(before)), numbers.get(&step_node(step)));
            if let (Some(from), Some(to)) = ends
                && from != to
                && edges.insert((*from, *to))
            {
                let _ = writeln!(text, "  n{from} --> n{to}");
            }
        }
    }
    text.push_str("  classDef danger stroke:#c33,stroke-width:2px\n");
    text
}

/// A node of the chart: an address, and whether it is the deposed object of a replacement.
type MermaidNode<'a> = (&'a str, bool);

// The deletion of a deposed object follows the creation: in one node, a replacement would be a cycle.
const fn is_left(operation: &Operation) -> bool {
    matches!(operation, Operation::Delete { deposed: true, .. })
}

fn step_node(step: &Step) -> MermaidNode<'_> {
    (step.address.as_str(), is_left(&step.operation))
}

const fn class_of(action: Action) -> &'static str {
    match action {
        Action::Replace | Action::Delete => ":::danger",
        _ => "",
    }
}

/// Escapes a string for use between double quotes, with Mermaid's numeric entities.
fn escape_quoted(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_alphanumeric() || " ._-/".contains(c) {
                c.to_string()
            } else {
                format!("#{};", u32::from(c))
            }
        })
        .collect()
}
