//! `stead graph`: prints the dependency graph of the stack, or the part around one resource. Reads files only.

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::cli::command_context::CommandContext;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::stack::unknown_addresses;
use crate::editor::graph::{self, DependencyGraph, DependencyNode, DependencyReason, TraversalDirection};
use crate::model::address::Address;
use crate::report::json;

/// Command-line arguments of `stead graph`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  stead graph\n  stead graph --format svg > stack.svg\n  \
    stead graph --focus database.main --depth 1\n  stead graph --format dot | dot -Tpng > stack.png")]
pub struct GraphArgs {
    /// Output format of the graph [default: tree]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<GraphFormat>,
    /// Only this resource, its dependencies and its dependents
    #[arg(long, value_name = "ADDRESS")]
    pub focus: Option<String>,
    /// Maximum distance from the focus
    #[arg(long, value_name = "N", requires = "focus")]
    pub depth: Option<usize>,
}

/// Output format of a dependency graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GraphFormat {
    /// A tree: each resource with its dependencies below it.
    Tree,
    /// A Mermaid flowchart, for Markdown.
    Mermaid,
    /// Graphviz source, for `dot`.
    Dot,
    /// An SVG image of the graph.
    Svg,
}

/// JSON output of `graph`.
#[derive(Serialize)]
struct GraphDocument<'g> {
    schema_version: json::SchemaVersion,
    nodes: &'g [DependencyNode],
    edges: Vec<GraphDocumentEdge<'g>>,
}

/// A dependency: `from` depends on `to`.
#[derive(Serialize)]
struct GraphDocumentEdge<'g> {
    from: &'g Address,
    to: &'g Address,
    ties: &'g [DependencyReason],
}

/// Prints the dependency graph of the stack.
///
/// # Errors
/// When the stack has errors, no resource is at the focus, or a drawing and JSON are both requested.
pub(in crate::cli) fn run(session: &CommandContext, args: &GraphArgs) -> Result<Exit, CliFailure> {
    let project = session.open()?;
    let whole = DependencyGraph::from_stack(&project.stack);
    let focus = args.focus.as_deref().map(|address| nodes_at(&whole, address)).transpose()?;
    let depth = args.depth.unwrap_or(usize::MAX);
    let graph = focus.map_or_else(|| whole.clone(), |focus| whole.subgraph_around(&focus, depth));
    let ui = &session.ui;
    if ui.json && args.format.is_some_and(|format| format != GraphFormat::Tree) {
        return Err(CliFailure::new(
            Exit::Usage,
            "a drawing is not a JSON document: --format and --output exclude each other",
        )
        .help("Leave one of them out: --output json gives nodes and edges."));
    }
    ui.write_result(&if ui.json {
        graph_document(&graph)
    } else {
        match args.format.unwrap_or(GraphFormat::Tree) {
            GraphFormat::Tree => render_trees(&graph, args.focus.as_deref(), ui.style.unicode),
            GraphFormat::Mermaid => graph::render_mermaid(&graph),
            GraphFormat::Dot => graph::render_dot(&graph),
            GraphFormat::Svg => graph::render_svg(&graph),
        }
    });
    Ok(Exit::Done)
}

/// Returns the nodes at an address, which can begin with `$`: several if it is that of a block with
/// instances or a module.
///
/// # Errors
/// When there are none.
pub(super) fn nodes_at(graph: &DependencyGraph, address: &str) -> Result<Vec<usize>, CliFailure> {
    let address = address.trim_start_matches('$');
    let found = graph.nodes_at(address);
    if !found.is_empty() {
        return Ok(found);
    }
    Err(unknown_addresses::unknown_address(address, graph.nodes.iter().map(|node| node.address.as_str())))
}

fn graph_document(graph: &DependencyGraph) -> String {
    let address = |n: usize| &graph.nodes[n].address;
    let edges = graph.edges.iter().map(|edge| GraphDocumentEdge {
        from: address(edge.from),
        to: address(edge.to),
        ties: &edge.ties,
    });
    json::to_pretty(&GraphDocument {
        schema_version: json::SCHEMA_VERSION,
        nodes: &graph.nodes,
        edges: edges.collect(),
    })
}

/// Returns the graph as a tree; with a focus, one tree for dependencies and one for dependents.
fn render_trees(graph: &DependencyGraph, focus: Option<&str>, unicode: bool) -> String {
    let Some(focus) = focus else {
        let text = graph::render_tree(graph, None, TraversalDirection::Dependencies, unicode);
        return if text.is_empty() { "The stack is empty.\n".to_owned() } else { text };
    };
    let roots = graph.nodes_at(focus.trim_start_matches('$'));
    let needs = graph::render_tree(graph, Some(&roots), TraversalDirection::Dependencies, unicode);
    let needed_by = graph::render_tree(graph, Some(&roots), TraversalDirection::Dependents, unicode);
    format!("waits for\n{needs}\nwaited for by\n{needed_by}")
}
