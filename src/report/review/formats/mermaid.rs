//! Mermaid flow chart of the order of a plan's steps. Names are escaped, because the forge renders the chart.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::plan::model::change::{Action, Plan};
use crate::plan::model::step::Step;
use crate::report::text::phrases;

/// Returns the flow chart; one without nodes if the plan has no steps. Equal operations on one resource share a node.
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
    for ((address, verb), number) in nodes {
        let class = actions.get(address).map_or("", |action| class_of(*action));
        let _ = writeln!(text, "  n{number}[\"{verb} {}\"]{class}", escape_quoted(address));
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

/// A node of the chart: an address and an operation. With one node for each address, a replaced parent and its replaced
/// child would be a cycle: the child is deleted before the parent, and created after it.
type MermaidNode<'a> = (&'a str, &'static str);

fn step_node(step: &Step) -> MermaidNode<'_> {
    (step.address.as_str(), phrases::operation_keyword(&step.operation))
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
