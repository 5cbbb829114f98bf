//! `stead why ADDRESS`: explains why a resource exists, its dependencies and its dependents; with a saved plan, why
//! it changes. Reads files only. The plan's signature is not verified: nothing is applied.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::graph::nodes_at;
use crate::cli::artifacts::plan_file;
use crate::cli::command_context::CommandContext;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::config::stack::model::{Resource, Stack};
use crate::editor::graph::{DependencyGraph, TraversalDirection};
use crate::model::address::Address;
use crate::model::source::SourceLocation;
use crate::plan::model::change::Change;
use crate::report::json;
use crate::report::text::page::{TextLine, TextPage};
use crate::report::text::style::{TextRole, TextStyle};

/// Command-line arguments of `stead why`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead why vm.web.a\n  stead why vm.web.a --plan prod.plan\n  stead why database.main --output json"
)]
pub struct WhyArgs {
    /// Address of the resource
    #[arg(value_name = "ADDRESS")]
    pub address: String,
    /// A saved plan: explain the change of the resource in it
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,
}

/// Maximum number of instances of one block in the output; a note states that there are more.
const MAX_LISTED_INSTANCES: usize = 20;

/// JSON output of `why`.
#[derive(Serialize)]
struct WhyDocument {
    schema_version: json::SchemaVersion,
    resources: Vec<WhyResource>,
}

/// Explanation of one resource.
#[derive(Serialize)]
struct WhyResource {
    address: Address,
    /// Location of its block, as `FILE:LINE`; `None` if it has none.
    source: Option<String>,
    /// Origin of the resource, from the block outward: the block or an instance of `for_each`, its parent, its modules.
    because: Vec<String>,
    /// Direct dependencies of the resource.
    waits_for: Vec<WhyDependency>,
    /// Direct dependents of the resource.
    waited_for_by: Vec<WhyDependency>,
    /// Number of indirect dependencies.
    waits_for_indirectly: usize,
    /// Number of indirect dependents.
    waited_for_by_indirectly: usize,
    /// Reasons of its change in the given plan; `None` without a plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<Vec<String>>,
}

/// A direct dependency or dependent.
#[derive(Serialize)]
struct WhyDependency {
    address: Address,
    /// Cause of the dependency: an attribute, `depends_on`, `project`, `inside`.
    by: Vec<String>,
    /// Location of the first cause that has one, as `FILE:LINE`; `None` if none has.
    source: Option<String>,
}

/// Prints why a resource exists, and its dependencies; for a block with instances, for each of them.
///
/// # Errors
/// When the stack has errors, no resource is at the address, or the plan cannot be read.
pub(in crate::cli) fn run(session: &CommandContext, args: &WhyArgs) -> Result<Exit, CliFailure> {
    let project = session.open()?;
    let graph = DependencyGraph::from_stack(&project.stack);
    let found = nodes_at(&graph, &args.address)?;
    if found.len() > MAX_LISTED_INSTANCES {
        session.ui.write_message(&format!(
            "note: {} of {} are shown; name one of them",
            MAX_LISTED_INSTANCES,
            found.len()
        ));
    }
    let changes = args.plan.as_deref().map(saved_changes).transpose()?;
    let all: Vec<WhyResource> = found
        .into_iter()
        .take(MAX_LISTED_INSTANCES)
        .map(|n| resource_reasons(&project.stack, &graph, n, changes.as_deref()))
        .collect();
    let ui = &session.ui;
    ui.write_result(&if ui.json {
        json::to_pretty(&WhyDocument { schema_version: json::SCHEMA_VERSION, resources: all })
    } else {
        render_reasons(&all, ui.style)
    });
    Ok(Exit::Done)
}

fn saved_changes(file: &Path) -> Result<Vec<Change>, CliFailure> {
    Ok(plan_file::read_unverified(file)?.plan.changes)
}

/// Returns the explanation of the node with index `n`; `changes` is `None` without a plan.
fn resource_reasons(
    stack: &Stack,
    graph: &DependencyGraph,
    n: usize,
    changes: Option<&[Change]>,
) -> WhyResource {
    let node = &graph.nodes[n];
    let neighbours = |way: TraversalDirection| -> Vec<WhyDependency> {
        let edges = graph.edges.iter().filter(|edge| match way {
            TraversalDirection::Dependencies => edge.from == n,
            TraversalDirection::Dependents => edge.to == n,
        });
        edges
            .map(|edge| {
                let other = if way == TraversalDirection::Dependencies { edge.to } else { edge.from };
                WhyDependency {
                    address: graph.nodes[other].address.clone(),
                    by: edge.ties.iter().map(|tie| tie.by.to_string()).collect(),
                    source: edge.ties.iter().find_map(|tie| tie.source.as_ref()).map(display_location),
                }
            })
            .collect()
    };
    let (waits_for, waited_for_by) =
        (neighbours(TraversalDirection::Dependencies), neighbours(TraversalDirection::Dependents));
    let all = |way| graph.reachable_from(&[n], way, usize::MAX).len();
    WhyResource {
        address: node.address.clone(),
        source: node.source.as_ref().map(display_location),
        because: stack.resources.get(&node.address).map_or_else(
            || vec!["looked up: this stack does not manage it".to_owned()],
            |resource| block_origins(stack, resource),
        ),
        waits_for_indirectly: all(TraversalDirection::Dependencies) - waits_for.len(),
        waited_for_by_indirectly: all(TraversalDirection::Dependents) - waited_for_by.len(),
        waits_for,
        waited_for_by,
        change: changes.map(|changes| change_reasons(changes, &node.address)),
    }
}

/// Returns the origin of a resource, from its block outward.
fn block_origins(stack: &Stack, resource: &Resource) -> Vec<String> {
    let mut found = Vec::new();
    let environment = &stack.environment.name;
    found.push(match &resource.key {
        Some(key) => {
            format!("the instance {key} of a block with for_each, in the environment {environment}")
        }
        None => format!("its block, in the environment {environment}"),
    });
    found.extend(resource.parent.as_ref().map(|parent| format!("written inside of {parent}")));
    let mut way = resource.address.as_str();
    while let Some((outer, _)) = way.rsplit_once('.') {
        way = outer;
        if let Some(call) = stack.modules.get(way) {
            let place = stack
                .sources
                .location_of(*call)
                .map(|place| format!(", used at {}", display_location(&place)));
            found.push(format!("in the module {way}{}", place.unwrap_or_default()));
        }
    }
    if resource.lifecycle.protect {
        found.push("protected: it is neither deleted nor replaced".to_owned());
    }
    found
}

/// Returns the reasons why a plan changes a resource, or that it does not.
fn change_reasons(changes: &[Change], address: &Address) -> Vec<String> {
    let Some(change) = changes.iter().find(|change| change.address == *address) else {
        return vec!["the plan does not change it".to_owned()];
    };
    let word = serde_json::to_value(change.action).ok();
    let word = word.as_ref().and_then(|word| word.as_str()).unwrap_or("changes");
    let mut found = vec![match &change.reason {
        Some(reason) => format!("{word}: {reason}"),
        None => word.to_owned(),
    }];
    found.extend(change.attributes.iter().map(|one| format!("{} differs", one.path)));
    found.extend(change.hits.iter().map(|hit| format!("affects {hit}")));
    found
}

fn render_reasons(all: &[WhyResource], style: TextStyle) -> String {
    let mut page = TextPage::new(style);
    for reasons in all {
        let mut line = TextLine::indent(0).push_styled(TextRole::Strong, reasons.address.as_str());
        if let Some(source) = &reasons.source {
            line = line.push_styled(TextRole::Faint, format!("  {source}"));
        }
        page.add_line(line);
        for reason in &reasons.because {
            page.add_line(TextLine::indent(2).push_text(reason));
        }
        push_neighbors(&mut page, "waits for", &reasons.waits_for, reasons.waits_for_indirectly);
        push_neighbors(
            &mut page,
            "waited for by",
            &reasons.waited_for_by,
            reasons.waited_for_by_indirectly,
        );
        if let Some(change) = &reasons.change {
            page.add_line(TextLine::indent(2).push_styled(TextRole::Strong, "in the plan"));
            for reason in change {
                page.add_line(TextLine::indent(4).push_text(reason));
            }
        }
    }
    page.finish()
}

/// Adds the direct neighbors under a title, and the number of indirect ones.
fn push_neighbors(page: &mut TextPage, title: &str, all: &[WhyDependency], more: usize) {
    if all.is_empty() {
        page.add_line(TextLine::indent(2).push_styled(TextRole::Strong, title).push_text(" nothing"));
        return;
    }
    page.add_line(TextLine::indent(2).push_styled(TextRole::Strong, title));
    for one in all {
        let line = TextLine::indent(4)
            .push_text(one.address.as_str())
            .push_text("  ")
            .push_styled(TextRole::Faint, one.by.join(", "));
        let source = one.source.as_ref().map(|source| format!("  {source}")).unwrap_or_default();
        page.add_line(line.push_styled(TextRole::Faint, source));
    }
    if more > 0 {
        page.add_line(
            TextLine::indent(4).push_styled(TextRole::Faint, format!("and through them {more} more")),
        );
    }
}

fn display_location(place: &SourceLocation) -> String {
    format!("{}:{}", place.file, place.line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::input::files::{DirectoryEntry, Files};
    use crate::config::input::request::LoadRequest;
    use crate::config::load::load;
    use crate::kinds::REGISTRY;
    use crate::model::source::{Source, Sources};

    struct NoFiles;

    impl Files for NoFiles {
        fn read(&self, _: &Path) -> std::io::Result<Vec<u8>> {
            Err(std::io::ErrorKind::NotFound.into())
        }

        fn list(&self, _: &Path) -> std::io::Result<Vec<DirectoryEntry>> {
            Err(std::io::ErrorKind::NotFound.into())
        }
    }

    #[test]
    fn why_shows_dependencies_and_dependents_with_their_locations() {
        let mut sources = Sources::default();
        sources.add(Source::new(
            "stead.yaml",
            "stead: 1\nstack: s\nproject: { p: {} }\nvpc: { main: { cidr: 10.0.0.0/16 } }\nvm:\n  web:\n    for_each: [a]\n    template: t\n    plan: p\n    vpc: $vpc.main\n    lifecycle: { protect: true }\nvolume: { media: { size: 10, vm: $vm.web.a } }\n",
        ));
        let (stack, _) = load(REGISTRY, sources, &LoadRequest::default(), &NoFiles).unwrap();
        let graph = DependencyGraph::from_stack(&stack);
        let told = |address: &str| {
            let all: Vec<_> = graph
                .nodes_at(address)
                .into_iter()
                .map(|n| resource_reasons(&stack, &graph, n, Some(&[])))
                .collect();
            render_reasons(&all, TextStyle::plain(100))
        };
        let page = told("vm.web");
        for part in [
            "vm.web.a  stead.yaml:6",
            "the instance a of a block with for_each",
            "protected",
            "vpc.main  vpc  stead.yaml:10",
            "project.p  project",
            "volume.media  vm  stead.yaml:12",
            "the plan does not change it",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        let page = told("project.p");
        assert!(page.contains("waits for nothing") && page.contains("vpc.main  project"), "{page}");
    }
}
