//! The edits of a rename: the references, the `moved` entries, and the other addresses that change with it. The
//! edited files are loaded before they are written, and nothing is written when a resource would be lost.

use std::collections::BTreeSet;

use crate::cli::command_context::CommandContext;
use crate::cli::commands::mv::arguments::MvArgs;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::stack::project::StackSources;
use crate::cli::stack::source_edits::SourceEdits;
use crate::config::edit::{ConfigLiteral, Edit, EditPath};
use crate::config::stack::model::{Resource, Stack};
use crate::model::address::Address;
use crate::model::source::SourceId;

/// Maximum number of addresses that a message lists in one sentence.
const MAX_LISTED_ADDRESSES: usize = 10;

/// Returns the edit that redirects every reference to the new address.
pub(super) fn redirect_edit(from: &Address, to: &Address) -> Edit {
    Edit::Redirect(vec![(from.as_str().into(), to.as_str().into())])
}

/// Returns the edit that adds a `moved` entry.
pub(super) fn moved_edit(from: &Address, to: &Address) -> Edit {
    let entry = [("from", ConfigLiteral::text(from.as_str())), ("to", ConfigLiteral::text(to.as_str()))];
    Edit::Append(EditPath::from_text("moved"), ConfigLiteral::map(entry))
}

/// Applies the edits to one file, redirects the references in all files, and adds the `moved` entries; returns
/// `Exit::Failed` if the user declines.
///
/// # Errors
/// When a file cannot be edited, or another resource would change.
pub(super) async fn write_rename(
    session: &CommandContext,
    begun: &StackSources,
    (own, mut edits_there): (SourceId, Vec<Edit>),
    args: &MvArgs,
) -> Result<Exit, CliFailure> {
    let (from, to) = (&args.from, args.new_address());
    let redirect = redirect_edit(from, to);
    edits_there.push(moved_edit(from, to));
    let mut edits = SourceEdits::new(begun);
    for (file, _) in begun.files.iter() {
        let edits_here = if file == own { edits_there.as_slice() } else { std::slice::from_ref(&redirect) };
        edits.edit_file(file, edits_here)?;
    }
    let (before, after) = (&begun.project.stack, edits.read()?);
    let pairs = [(from.clone(), to.clone())];
    let Some(carried) = implied_moves(before, &after, &pairs) else {
        return Err(lost_resources_failure(before, &after, from, &pairs));
    };
    let carried: Vec<Edit> = carried.iter().map(|(from, to)| moved_edit(from, to)).collect();
    edits.edit_file(own, &carried)?;
    if !edits.confirm_and_write(&session.ui, &session.settings.dir, args.yes).await? {
        return Ok(Exit::Failed);
    }
    session.next(&begun.plan_command(&session.settings), "shows the move");
    Ok(Exit::Done)
}

/// Returns the failure that lists the resources that would be removed or added.
pub(super) fn lost_resources_failure(
    before: &Stack,
    after: &Stack,
    from: &Address,
    pairs: &AddressMoves,
) -> CliFailure {
    let moved: BTreeSet<Address> = before.resources.keys().map(|one| carried_to(one, pairs)).collect();
    let now: BTreeSet<Address> = after.resources.keys().cloned().collect();
    let told = |what: &str, some: Vec<&Address>| {
        let names: Vec<&str> = some.iter().take(MAX_LISTED_ADDRESSES).map(|one| one.as_str()).collect();
        let more = if some.len() > MAX_LISTED_ADDRESSES { ", …" } else { "" };
        (!names.is_empty()).then(|| format!("{what}: {}{more}.", names.join(", ")))
    };
    let gone = told("These resources would no longer exist", moved.difference(&now).collect());
    let new = told("There would be new resources", now.difference(&moved).collect());
    let failure = CliFailure::new(Exit::Failed, format!("other resources than {from} would change"));
    let told = gone.into_iter().chain(new).fold(failure, CliFailure::help);
    told.help(
        "Nothing was written. Change the references through it first, or move it by hand with a `moved` entry.",
    )
}

/// Old and new addresses, of resources or of whole modules.
pub(super) type AddressMoves = [(Address, Address)];

/// Returns the address of a resource after the moves: that of the first pair that it is equal to
/// or within, else unchanged.
pub(super) fn carried_to(address: &Address, pairs: &AddressMoves) -> Address {
    let moved = |(from, to): &(Address, Address)| match address.as_str().strip_prefix(from.as_str())? {
        "" => Some(to.clone()),
        rest => rest.strip_prefix('.').map(|rest| to.join(rest)),
    };
    pairs.iter().find_map(moved).unwrap_or_else(|| address.clone())
}

/// Returns the further addresses that change because they are derived from a reference: shorthand entries of lists.
/// `None` if a resource would be lost, or the new address of one is ambiguous.
pub(super) fn implied_moves(
    before: &Stack,
    after: &Stack,
    pairs: &AddressMoves,
) -> Option<Vec<(Address, Address)>> {
    if before.resources.len() != after.resources.len() {
        return None;
    }
    let moved = |address: &Address| carried_to(address, pairs);
    let known: BTreeSet<Address> = before.resources.keys().map(&moved).collect();
    let mut new: Vec<&Resource> =
        after.resources.values().filter(|one| !known.contains(&one.address)).collect();
    let gone = before.resources.values().filter(|one| !after.resources.contains_key(&moved(&one.address)));
    let mut found = Vec::new();
    for one in gone {
        let parent = one.parent.as_ref().map(&moved);
        let is_it = |other: &&Resource| other.kind.name == one.kind.name && other.parent == parent;
        let at = new.iter().position(&is_it)?;
        let other = new.remove(at);
        if new.iter().any(is_it) {
            return None;
        }
        found.push((one.address.clone(), other.address.clone()));
    }
    new.is_empty().then_some(found)
}
