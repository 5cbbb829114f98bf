//! `stead rm`: removes a block, and records whether its object is deleted or forgotten. Edits files only: the next
//! apply carries it out. The edited stack is loaded before it is written, and no other resource may change.

use std::collections::BTreeSet;
use std::slice;

use clap::{ArgGroup, Args};
use foldhash::HashSet;

use super::mv::address::{VALUE_SECTIONS, find_block, list_entry_attribute};
use super::mv::declared::MovableDeclaration;
use super::mv::instance;
use crate::cli::args::values::parse_module_or_resource;
use crate::cli::command_context::CommandContext;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::stack::project::{LoadedStack, StackSources};
use crate::cli::stack::source_edits::SourceEdits;
use crate::config::edit::{ConfigLiteral, Edit, EditPath, EditableFile, entry_at};
use crate::config::stack::model::Stack;
use crate::config::stack::module_path::module_of;
use crate::editor::graph::DependencyGraph;
use crate::kinds::REGISTRY;
use crate::model::address::{Address, path_prefixes};
use crate::model::source::SourceId;

/// Command-line arguments of `stead rm`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead rm vm.legacy --keep\n  stead rm volume.scratch --delete --yes\n  stead rm shop_eu --keep"
)]
#[command(group(ArgGroup::new("fate").required(true).args(["keep", "delete"])))]
pub struct RmArgs {
    /// The resource, one instance, a whole block with `for_each`, or a module
    #[arg(value_parser = parse_module_or_resource)]
    pub address: Address,
    /// Keep the live object, and forget it
    #[arg(long)]
    pub keep: bool,
    /// Delete the object in the next apply
    #[arg(long)]
    pub delete: bool,
    /// Do not prompt for confirmation
    #[arg(long)]
    pub yes: bool,
}

/// Maximum number of references that a message lists.
const MAX_LISTED_LOCATIONS: usize = 20;

/// Addresses to remove; an address within one of them counts, too.
struct RemovedAddresses<'a>(HashSet<&'a str>);

impl<'a> RemovedAddresses<'a> {
    fn from_addresses(all: &'a [Address]) -> Self {
        Self(all.iter().map(Address::as_str).collect())
    }

    fn contains_address(&self, address: &Address) -> bool {
        path_prefixes(address.as_str()).any(|place| self.0.contains(place))
    }
}

/// Returns the remaining references to the removed addresses, each with its source location; empty if there are none.
fn remaining_references(stack: &Stack, gone: &RemovedAddresses<'_>) -> Vec<String> {
    let graph = DependencyGraph::from_stack(stack);
    let within = |other: &Address| gone.contains_address(other);
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
            && let Some(place) = stack.sources.location_of(output.span)
        {
            found.push(format!("outputs.{name} at {}:{}:{}", place.file, place.line, place.column));
        }
    }
    found
}

/// Returns the references to an address, or to something in it, from elsewhere in the stack, each with its location.
pub(in crate::cli::commands) fn references_to(stack: &Stack, address: &Address) -> Vec<String> {
    remaining_references(stack, &RemovedAddresses::from_addresses(slice::from_ref(address)))
}

/// Returns the path of a resource that is a shorthand entry of a list; `None` for a block.
fn listed_at(begun: &StackSources, address: &Address, file: SourceId) -> Option<EditPath> {
    let stack = &begun.project.stack;
    let span =
        stack.resources.get(address).filter(|_| list_entry_attribute(stack, address).is_some())?.span;
    let source = begun.files.get(file).or_else(|| stack.sources.get(file))?;
    entry_at(&EditableFile { source, registry: &REGISTRY }, span)
}

/// Removes a resource or a module from the configuration; returns `Exit::Failed` if the user declines.
///
/// # Errors
/// When there is no such resource, it is still referenced, or the files cannot be edited.
pub(in crate::cli) async fn run(session: &CommandContext, args: &RmArgs) -> Result<Exit, CliFailure> {
    let begun = LoadedStack::open_for_edits(&session.settings, None)?;
    let address = &args.address;
    let action = if args.keep { "forget" } else { "delete" };
    if !module_of(&REGISTRY, address.as_str()).0.is_empty() && !is_value(address) {
        return of_module(session, &begun, args, action).await;
    }
    let (file, taken_out) = if let Some(one) = instance::find_instance(&begun, address)? {
        (one.file, one.removal_edit(&begun, action)?)
    } else {
        let file = find_block(&begun, address)?.file;
        (
            file,
            Edit::Remove(
                listed_at(&begun, address, file).unwrap_or_else(|| EditPath::from_text(address.as_str())),
            ),
        )
    };
    reject_referenced(&begun.project.stack, address, slice::from_ref(address))?;
    let mut edits = SourceEdits::new(&begun);
    edits.edit_file(file, &[taken_out, removed_edit(address, action)])?;
    check_and_write(session, args, &edits, slice::from_ref(address)).await
}

/// Removes a module, or a resource in a module. The declaring file gets the `removed` entry, so that it takes effect
/// for every user of the module.
async fn of_module(
    session: &CommandContext,
    begun: &StackSources,
    args: &RmArgs,
    action: &str,
) -> Result<Exit, CliFailure> {
    let address = &args.address;
    let declared = MovableDeclaration::find(begun, address, |rest| {
        format!(
            "Remove the key from its `for_each`, and write `removed: [{{ from: {rest}, action: {action} }}]`."
        )
    })?;
    let all: Vec<Address> = declared.prefixes.iter().map(|prefix| declared.address_in(prefix)).collect();
    reject_referenced(&begun.project.stack, address, &all)?;
    let mut edits = SourceEdits::new(begun);
    declared.referring_files(&mut edits)?;
    let taken_out = Edit::Remove(listed_at(begun, address, declared.file).unwrap_or(declared.path));
    edits.edit_file(declared.file, &[taken_out, removed_edit(&declared.from, action)])?;
    check_and_write(session, args, &edits, &all).await
}

/// Returns whether an address is a variable or a local, which have no object.
fn is_value(address: &Address) -> bool {
    VALUE_SECTIONS.contains(&address.root())
}

/// Returns the edit that adds the `removed` entry; `action` is `forget` or `delete`.
fn removed_edit(from: &Address, action: &str) -> Edit {
    let entry = [("from", ConfigLiteral::text(from.as_str())), ("action", ConfigLiteral::text(action))];
    Edit::Append(EditPath::from_text("removed"), ConfigLiteral::map(entry))
}

/// Refuses to remove an address that is still referenced.
fn reject_referenced(stack: &Stack, address: &Address, all: &[Address]) -> Result<(), CliFailure> {
    let places = remaining_references(stack, &RemovedAddresses::from_addresses(all));
    if places.is_empty() {
        return Ok(());
    }
    let failure = CliFailure::new(
        Exit::Failed,
        format!("{address} is not removed: there are still references to it"),
    );
    let told = places.iter().take(MAX_LISTED_LOCATIONS).fold(failure, CliFailure::help);
    Err(told.help("Nothing was written. Remove these references first."))
}

/// Reads the edited files, checks that no other resource is removed, and writes them.
async fn check_and_write(
    session: &CommandContext,
    args: &RmArgs,
    edits: &SourceEdits<'_>,
    all: &[Address],
) -> Result<Exit, CliFailure> {
    // A remaining reference is reported as the error that it would cause.
    let after = edits.read().inspect_err(|_| {
        session.ui.write_message(&format!(
            "{} is not removed, and nothing was written: without it there would be",
            args.address
        ));
    })?;
    let before = &edits.begun.project.stack;
    let gone = RemovedAddresses::from_addresses(all);
    let left = before.resources.keys().filter(|other| !gone.contains_address(other));
    let left: BTreeSet<&Address> = left.collect();
    if left != after.resources.keys().collect() {
        let text = format!("other resources than {} would change", args.address);
        let help = "Nothing was written. Remove it by hand, and write a `removed` entry.";
        return Err(CliFailure::new(Exit::Failed, text).help(help));
    }
    if !edits.confirm_and_write(&session.ui, &session.settings.dir, args.yes).await? {
        return Ok(Exit::Failed);
    }
    let plan = edits.begun.plan_command(&session.settings);
    session.next(&plan, "shows what happens to its object");
    Ok(Exit::Done)
}
