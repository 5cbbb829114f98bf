//! `stead rm`: takes a block out, and says what becomes of its object.

use super::mv::{block, instance, listed};
use crate::cli::args::Rm;
use crate::cli::edits::Edits;
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::project::{Begun, Project};
use crate::cli::session::Session;
use crate::config::edit::{Edit, File, Literal, Path, entry_at};
use crate::config::stack::Stack;
use crate::editor::graph::Graph;
use crate::kinds::REGISTRY;
use crate::model::address::Address;
use crate::model::source::SourceId;

/// Most places that are told.
const MOST_PLACES: usize = 20;

/// Returns what still refers to a resource or what is in it, with the places.
fn references(stack: &Stack, address: &Address) -> Vec<String> {
    let graph = Graph::of(stack);
    let within = |other: &Address| other.is_within(address);
    let mut found = Vec::new();
    for edge in &graph.edges {
        let (from, to) = (&graph.nodes[edge.from].address, &graph.nodes[edge.to].address);
        if within(from) || !within(to) {
            continue;
        }
        for tie in &edge.ties {
            if let Some(place) = &tie.source {
                found
                    .push(format!("{from} ({}) at {}:{}:{}", tie.by, place.file, place.line, place.column));
            }
        }
    }
    for (name, output) in &stack.outputs {
        if output.expression.addresses().into_iter().any(within)
            && let Some(place) = stack.sources.place(output.span)
        {
            found.push(format!("outputs.{name} at {}:{}:{}", place.file, place.line, place.column));
        }
    }
    found
}

/// Returns where a resource is written: at its address, or as an entry of a list.
fn place(begun: &Begun, address: &Address, file: SourceId) -> Path {
    let stack = &begun.project.stack;
    let entry = || {
        let span = stack.resources.get(address).filter(|_| listed(stack, address).is_some())?.span;
        entry_at(&File { source: begun.files.get(file)?, registry: &REGISTRY }, span)
    };
    entry().unwrap_or_else(|| Path::of(address.as_str()))
}

/// Takes a resource out of the configuration.
///
/// # Errors
/// When there is no such resource, something still refers to it, or the files cannot be edited.
pub(in crate::cli) async fn run(session: &Session, args: &Rm) -> Result<Exit, Failure> {
    let begun = Project::open_begun(&session.settings)?;
    let address = &args.address;
    let action = if args.keep { "forget" } else { "delete" };
    let (file, taken_out) = if let Some(one) = instance::of(&begun, address)? {
        (one.file, one.without(&begun, action)?)
    } else {
        let file = block(&begun, address)?.file;
        (file, Edit::Remove(place(&begun, address, file)))
    };
    let places = references(&begun.project.stack, address);
    if !places.is_empty() {
        let failure = Failure::new(Exit::Failed, format!("{address} stays: it is still referred to"));
        let told = places.iter().take(MOST_PLACES).fold(failure, Failure::help);
        return Err(told.help("Nothing was written. Take these references out first."));
    }
    let mut edits = Edits::new(&begun);
    let entry = [("from", Literal::text(address.as_str())), ("action", Literal::text(action))];
    let removed = Edit::Append(Path::of("removed"), Literal::map(entry));
    edits.make(file, &[taken_out, removed])?;
    // What still refers to it is told as the problem that it would be.
    if let Err(problems) = edits.read() {
        session.ui.say(&format!("{address} stays, and nothing was written: without it there would be"));
        return Err(problems);
    }
    if !edits.settle(session, args.yes).await? {
        return Ok(Exit::Failed);
    }
    session.next("plan", "shows what becomes of it");
    Ok(Exit::Done)
}
