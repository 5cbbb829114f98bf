//! `stead graph`: what waits for what, drawn.

use serde::Serialize;

use crate::cli::args::{Drawing, Graph as Args};
use crate::cli::command_context::Session;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::Failure;
use crate::cli::stack::unknown_addresses;
use crate::editor::graph::{self, Graph, Node, Tie, Way};
use crate::model::address::Address;
use crate::report::json;

/// The document for programs.
#[derive(Serialize)]
struct Document<'g> {
    schema_version: u32,
    nodes: &'g [Node],
    edges: Vec<Edge<'g>>,
}

/// `from` waits for `to`.
#[derive(Serialize)]
struct Edge<'g> {
    from: &'g Address,
    to: &'g Address,
    ties: &'g [Tie],
}

/// Draws the graph of the stack.
///
/// # Errors
/// When the stack has problems, or has nothing at the focus.
pub(in crate::cli) fn run(session: &Session, args: &Args) -> Result<Exit, Failure> {
    let project = session.open()?;
    let whole = Graph::from_stack(&project.stack);
    let focus = args.focus.as_deref().map(|address| nodes_at(&whole, address)).transpose()?;
    let depth = args.depth.unwrap_or(usize::MAX);
    let graph = focus.map_or_else(|| whole.clone(), |focus| whole.subgraph_around(&focus, depth));
    let ui = &session.ui;
    if ui.json && args.format.is_some_and(|format| format != Drawing::Tree) {
        return Err(Failure::new(
            Exit::Usage,
            "a drawing is no document: --format and --output exclude each other",
        )
        .help("Leave one of them out: --output json gives nodes and edges."));
    }
    ui.write_result(&if ui.json {
        graph_document(&graph)
    } else {
        match args.format.unwrap_or(Drawing::Tree) {
            Drawing::Tree => render_trees(&graph, args.focus.as_deref(), ui.style.unicode),
            Drawing::Mermaid => graph::render_mermaid(&graph),
            Drawing::Dot => graph::render_dot(&graph),
            Drawing::Svg => graph::render_svg(&graph),
        }
    });
    Ok(Exit::Done)
}

/// Returns what stands at an address.
///
/// # Errors
/// When nothing does.
pub(super) fn nodes_at(graph: &Graph, address: &str) -> Result<Vec<usize>, Failure> {
    let address = address.trim_start_matches('$');
    let found = graph.nodes_at(address);
    if !found.is_empty() {
        return Ok(found);
    }
    Err(unknown_addresses::unknown_address(address, graph.nodes.iter().map(|node| node.address.as_str())))
}

fn graph_document(graph: &Graph) -> String {
    let address = |n: usize| &graph.nodes[n].address;
    let edges = graph.edges.iter().map(|edge| Edge {
        from: address(edge.from),
        to: address(edge.to),
        ties: &edge.ties,
    });
    json::to_pretty(&Document {
        schema_version: json::SCHEMA_VERSION,
        nodes: &graph.nodes,
        edges: edges.collect(),
    })
}

/// Returns the whole as a tree; with a focus, one tree each way.
fn render_trees(graph: &Graph, focus: Option<&str>, unicode: bool) -> String {
    let Some(focus) = focus else {
        let text = graph::render_tree(graph, None, Way::Needs, unicode);
        return if text.is_empty() { "The stack is empty.\n".to_owned() } else { text };
    };
    let roots = graph.nodes_at(focus.trim_start_matches('$'));
    let needs = graph::render_tree(graph, Some(&roots), Way::Needs, unicode);
    let needed_by = graph::render_tree(graph, Some(&roots), Way::NeededBy, unicode);
    format!("waits for\n{needs}\nwaited for by\n{needed_by}")
}
