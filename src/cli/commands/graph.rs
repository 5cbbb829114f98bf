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
    let whole = Graph::of(&project.stack);
    let focus = args.focus.as_deref().map(|address| at(&whole, address)).transpose()?;
    let depth = args.depth.unwrap_or(usize::MAX);
    let graph = focus.map_or_else(|| whole.clone(), |focus| whole.around(&focus, depth));
    let ui = &session.ui;
    if ui.json && args.format.is_some_and(|format| format != Drawing::Tree) {
        return Err(Failure::new(
            Exit::Usage,
            "a drawing is no document: --format and --output exclude each other",
        )
        .help("Leave one of them out: --output json gives nodes and edges."));
    }
    ui.out(&if ui.json {
        document(&graph)
    } else {
        match args.format.unwrap_or(Drawing::Tree) {
            Drawing::Tree => trees(&graph, args.focus.as_deref(), ui.style.unicode),
            Drawing::Mermaid => graph::mermaid(&graph),
            Drawing::Dot => graph::dot(&graph),
            Drawing::Svg => graph::svg(&graph),
        }
    });
    Ok(Exit::Done)
}

/// Returns what stands at an address.
///
/// # Errors
/// When nothing does.
pub(super) fn at(graph: &Graph, address: &str) -> Result<Vec<usize>, Failure> {
    let address = address.trim_start_matches('$');
    let found = graph.at(address);
    if !found.is_empty() {
        return Ok(found);
    }
    Err(unknown_addresses::unknown(address, graph.nodes.iter().map(|node| node.address.as_str())))
}

fn document(graph: &Graph) -> String {
    let address = |n: usize| &graph.nodes[n].address;
    let edges = graph.edges.iter().map(|edge| Edge {
        from: address(edge.from),
        to: address(edge.to),
        ties: &edge.ties,
    });
    json::pretty(&Document {
        schema_version: json::SCHEMA_VERSION,
        nodes: &graph.nodes,
        edges: edges.collect(),
    })
}

/// Returns the whole as a tree; with a focus, one tree each way.
fn trees(graph: &Graph, focus: Option<&str>, unicode: bool) -> String {
    let Some(focus) = focus else {
        let text = graph::tree(graph, None, Way::Needs, unicode);
        return if text.is_empty() { "The stack is empty.\n".to_owned() } else { text };
    };
    let roots = graph.at(focus.trim_start_matches('$'));
    let needs = graph::tree(graph, Some(&roots), Way::Needs, unicode);
    let needed_by = graph::tree(graph, Some(&roots), Way::NeededBy, unicode);
    format!("waits for\n{needs}\nwaited for by\n{needed_by}")
}
