//! The graph as text: a tree, a Mermaid flow chart, or Graphviz source.

use std::fmt::Write as _;

use super::{DependencyGraph, TraversalDirection};

/// Limit on the levels of a tree; deeper nodes are only marked, because their lines would be mostly blanks.
const MAX_DEPTH: usize = 60;

/// Returns the graph as trees in the direction `way`: one for each of `roots`, or, if that is `None`, for each node
/// without edges in the other direction. A node that was printed before is marked and not expanded again.
#[must_use]
pub fn render_tree(
    graph: &DependencyGraph,
    roots: Option<&[usize]>,
    way: TraversalDirection,
    unicode: bool,
) -> String {
    let below = graph.adjacent_nodes(way);
    let above = graph.adjacent_nodes(match way {
        TraversalDirection::Dependencies => TraversalDirection::Dependents,
        TraversalDirection::Dependents => TraversalDirection::Dependencies,
    });
    let free = || (0..graph.nodes.len()).filter(|n| above[*n].is_empty()).collect();
    let mut roots: Vec<usize> = roots.map_or_else(free, <[usize]>::to_vec);
    roots.reverse();
    let [branch, last, bar, more] =
        if unicode { ["├─ ", "└─ ", "│  ", " …"] } else { ["|- ", "`- ", "|  ", " ..."] };
    let mut told = vec![false; graph.nodes.len()];
    let mut text = String::new();
    // (node, level, prefix of its line, prefix of the lines of its children)
    let mut waiting: Vec<(usize, usize, String, String)> =
        roots.into_iter().map(|n| (n, 0, String::new(), String::new())).collect();
    while let Some((n, level, before, indent)) = waiting.pop() {
        let ends = told[n] || level >= MAX_DEPTH;
        let mark = if ends && !below[n].is_empty() { more } else { "" };
        _ = writeln!(text, "{before}{}{mark}", graph.nodes[n].address);
        if ends {
            continue;
        }
        told[n] = true;
        for (at, child) in below[n].iter().rev().enumerate() {
            let (sign, rest) = if at == 0 { (last, "   ") } else { (branch, bar) };
            waiting.push((*child, level + 1, format!("{indent}{sign}"), format!("{indent}{rest}")));
        }
    }
    text
}

/// Returns the graph as a Mermaid flow chart. Arrows lead from dependencies to dependents.
#[must_use]
pub fn render_mermaid(graph: &DependencyGraph) -> String {
    let mut text = String::from("flowchart LR\n");
    for (n, node) in graph.nodes.iter().enumerate() {
        let (open, close) = if node.elsewhere { ("([", "])") } else { ("[", "]") };
        _ = writeln!(text, "  n{n}{open}\"{}\"{close}", escape_mermaid(node.address.as_str()));
    }
    for edge in &graph.edges {
        _ = writeln!(text, "  n{} --> n{}", edge.to, edge.from);
    }
    text
}

/// Returns the graph in Graphviz's language. Arrows lead from dependencies to dependents.
#[must_use]
pub fn render_dot(graph: &DependencyGraph) -> String {
    let mut text = String::from("digraph stack {\n  rankdir=LR;\n  node [shape=box, style=rounded];\n");
    for node in &graph.nodes {
        let style = if node.elsewhere { " [style=dashed]" } else { "" };
        _ = writeln!(text, "  {}{style};", quote_dot(node.address.as_str()));
    }
    for edge in &graph.edges {
        let name = |n: usize| quote_dot(graph.nodes[n].address.as_str());
        let ties: Vec<&str> = edge.ties.iter().map(|tie| tie.by.as_str()).collect();
        _ = writeln!(
            text,
            "  {} -> {} [label={}];",
            name(edge.to),
            name(edge.from),
            quote_dot(&ties.join(", "))
        );
    }
    text.push_str("}\n");
    text
}

fn quote_dot(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn escape_mermaid(text: &str) -> String {
    text.replace('#', "#35;").replace('"', "#quot;").replace('<', "#lt;")
}
