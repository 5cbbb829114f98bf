//! `stead mv`: another name for a resource or a module: its block, what refers to it, and the `moved` entry.

pub(super) mod declared;
pub(super) mod instance;
mod module;

use std::collections::BTreeSet;

use crate::cli::args::Mv;
use crate::cli::command_context::Session;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::Failure;
use crate::cli::stack::project::{Begun, Project};
use crate::cli::stack::source_edits::Edits;
use crate::cli::stack::unknown_addresses;
use crate::config::diagnostics::hints::suggestions;
use crate::config::edit::{Edit, Literal, Path};
use crate::config::stack::model::{Resource, Stack};
use crate::config::stack::module_path::{kind_at, module_of};
use crate::kinds::REGISTRY;
use crate::model::address::{Address, Name};
use crate::model::source::SourceId;

/// The attribute that a block's own name stands for.
const NAME: &str = "name";

/// What has a name and no object.
pub(super) const VALUES: [&str; 2] = ["vars", "locals"];

/// Most addresses that one message names.
const MOST_TOLD: usize = 10;

/// Gives a resource another name.
///
/// # Errors
/// When there is no such resource, the new name is taken, or the files cannot be edited.
pub(in crate::cli) async fn run(session: &Session, args: &Mv) -> Result<Exit, Failure> {
    let begun = Project::open_begun(&session.settings)?;
    let (from, to) = (&args.from, &args.to);
    let is_value = VALUES.contains(&from.root());
    if !is_value && !module_of(&REGISTRY, from.as_str()).0.is_empty() {
        return module::run(session, &begun, args).await;
    }
    if let Some(one) = instance::find_instance(&begun, from)? {
        return instance::move_instance(session, &begun, &one, args).await;
    }
    let block = find_block(&begun, from)?;
    if let Some((collection, attribute)) = list_entry_attribute(&begun.project.stack, from) {
        let help =
            format!("To name it otherwise, write it as `{collection}: {{ NAME: {{ {attribute}: … }} }}`.");
        return Err(Failure::new(Exit::Usage, format!("{from} is named by what it says"))
            .help(help_in_syntax(&begun, block.file, &help)));
    }
    check_new_address(&begun, from, to, block.file)?;
    let mut own = vec![Edit::Rename(Path::from_text(from.as_str()), to.last().into())];
    own.push(redirect_edit(from, to));
    if let Some(name) = block.name {
        own.push(Edit::Set(Path::from_text(to.as_str()).with_key(NAME), Literal::text(name)));
    }
    write_rename(session, &begun, (block.file, own), args).await
}

/// Returns the edit by which every reference leads to the new address.
fn redirect_edit(from: &Address, to: &Address) -> Edit {
    Edit::Redirect(vec![(from.as_str().into(), to.as_str().into())])
}

/// Returns the entry by which an object gets another address.
fn moved_edit(from: &Address, to: &Address) -> Edit {
    let entry = [("from", Literal::text(from.as_str())), ("to", Literal::text(to.as_str()))];
    Edit::Append(Path::from_text("moved"), Literal::map(entry))
}

/// Makes the edits of one file, lets all others refer to the new address, and writes the `moved` entries.
async fn write_rename(
    session: &Session,
    begun: &Begun,
    (own, mut edits_there): (SourceId, Vec<Edit>),
    args: &Mv,
) -> Result<Exit, Failure> {
    let (from, to) = (&args.from, &args.to);
    let redirect = redirect_edit(from, to);
    edits_there.push(moved_edit(from, to));
    let mut edits = Edits::new(begun);
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
    if !edits.confirm_and_write(session, args.yes).await? {
        return Ok(Exit::Failed);
    }
    session.next("plan", "shows the move");
    Ok(Exit::Done)
}

/// Says which resources there would no longer be, or which new ones.
fn lost_resources_failure(before: &Stack, after: &Stack, from: &Address, pairs: &Pairs) -> Failure {
    let moved: BTreeSet<Address> = before.resources.keys().map(|one| carried_to(one, pairs)).collect();
    let now: BTreeSet<Address> = after.resources.keys().cloned().collect();
    let told = |what: &str, some: Vec<&Address>| {
        let names: Vec<&str> = some.iter().take(MOST_TOLD).map(|one| one.as_str()).collect();
        let more = if some.len() > MOST_TOLD { ", …" } else { "" };
        (!names.is_empty()).then(|| format!("{what}: {}{more}.", names.join(", ")))
    };
    let gone = told("There would no longer be", moved.difference(&now).collect());
    let new = told("There would be in addition", now.difference(&moved).collect());
    let failure = Failure::new(Exit::Failed, format!("other resources than {from} would change"));
    let told = gone.into_iter().chain(new).fold(failure, Failure::help);
    told.help(
        "Nothing was written. Change what goes through it first, or do it by hand with a `moved` entry.",
    )
}

/// Addresses, of resources or of whole modules, and what takes their places.
type Pairs = [(Address, Address)];

/// Returns where an address goes when others move.
fn carried_to(address: &Address, pairs: &Pairs) -> Address {
    let moved = |(from, to): &(Address, Address)| match address.as_str().strip_prefix(from.as_str())? {
        "" => Some(to.clone()),
        rest => rest.strip_prefix('.').map(|rest| to.join(rest)),
    };
    pairs.iter().find_map(moved).unwrap_or_else(|| address.clone())
}

/// Returns a help as the syntax of a file has it.
pub(super) fn help_in_syntax(begun: &Begun, file: SourceId, help: &str) -> String {
    let path = begun.files.get(file).map(|source| source.path.as_str()).unwrap_or_default();
    suggestions::hint_in_syntax(&REGISTRY, path, help)
}

/// Returns what else gets another address, because it is named by what it refers to: plain entries of lists.
/// `None` when something would be lost.
fn implied_moves(before: &Stack, after: &Stack, pairs: &Pairs) -> Option<Vec<(Address, Address)>> {
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

/// A block that is to be edited.
pub(super) struct Found {
    /// The file that it stands in.
    pub(super) file: SourceId,
    /// The name that its objects have by its own name, where nothing else says it.
    name: Option<Name>,
}

/// Finds the block of an address: of one resource, or of all instances.
///
/// # Errors
/// When there is none, or it stands in no file of this stack.
pub(super) fn find_block(begun: &Begun, address: &Address) -> Result<Found, Failure> {
    let stack = &begun.project.stack;
    let resource = stack.resources.get(address).or_else(|| {
        let is_instance = |resource: &&Resource| {
            let key = resource.key.as_ref().map(|key| address.join(key));
            key.as_ref() == Some(&resource.address)
        };
        stack.resources.values().find(is_instance)
    });
    let Some(resource) = resource else {
        if VALUES.contains(&address.root()) {
            let text = format!("{address} is no resource: it has no object, and needs no `moved` entry");
            return Err(Failure::new(Exit::Usage, text)
                .help("An editor renames it everywhere, with what callers give: stead lsp"));
        }
        return Err(unknown_addresses::unknown_address(
            address.as_str(),
            stack.resources.keys().map(Address::as_str),
        ));
    };
    in_a_file(begun, resource, address)?;
    let own = resource.attributes.get(NAME).filter(|setting| setting.span == resource.span);
    let name = own.map(|_| match resource.key {
        Some(_) => Name::new(format!("{}-${{each.key}}", address.last())),
        None => Name::new(address.last()),
    });
    Ok(Found { file: resource.span.source, name })
}

/// Refuses what is declared outside of the stack's own files.
fn in_a_file(begun: &Begun, resource: &Resource, address: &Address) -> Result<(), Failure> {
    if begun.files.get(resource.span.source).is_some() {
        return Ok(());
    }
    let place =
        begun.project.stack.sources.location_of(resource.span).map(|place| place.file).unwrap_or_default();
    let text = format!("{address} is declared in {place}, which is no file of this stack alone");
    Err(Failure::new(Exit::Usage, text)
        .help("Change it there by hand, and write the `moved` or `removed` entry in a file of this stack."))
}

/// Returns the collection and the attribute of a resource that is a plain entry of a list.
pub(super) fn list_entry_attribute(
    stack: &Stack,
    address: &Address,
) -> Option<(&'static str, &'static str)> {
    let resource = stack.resources.get(address)?;
    let (attribute, (_, collection)) = (resource.kind.plain_entry?, resource.kind.child_of()?);
    let is_plain = resource.attributes.get(attribute).is_some_and(|setting| setting.span == resource.span);
    is_plain.then_some((collection, attribute))
}

fn check_new_address(begun: &Begun, from: &Address, to: &Address, file: SourceId) -> Result<(), Failure> {
    if address_prefix(from) == address_prefix(to) {
        reject_taken_address(begun, to)
    } else {
        Err(wrong_prefix_failure(begun, from, to, file))
    }
}

/// Returns an address without its last part.
fn address_prefix(address: &Address) -> Option<&str> {
    address.as_str().rsplit_once('.').map(|(place, _)| place)
}

fn wrong_prefix_failure(begun: &Begun, from: &Address, to: &Address, file: SourceId) -> Failure {
    let kind = |address: &Address| kind_at(&REGISTRY, address).map(|kind| kind.name);
    if let (Some(was), Some(wanted)) = (kind(from), kind(to))
        && was != wanted
    {
        let text = format!("{from} is a {was}, and cannot become a {wanted}: only a name can be changed");
        let help = "Write the new block, and let go of the old one: stead rm";
        return Failure::new(Exit::Usage, text).help(format!("{help} {from}."));
    }
    let help = format!("Move the block by hand, and write `moved: [{{ from: {from}, to: {to} }}]`.");
    Failure::new(Exit::Usage, format!("{to} stands elsewhere than {from}: only a name can be changed"))
        .help(help_in_syntax(begun, file, &help))
}

/// Refuses an address that is taken.
fn reject_taken_address(begun: &Begun, to: &Address) -> Result<(), Failure> {
    match begun.project.stack.resources.keys().find(|known| known.is_within(to)) {
        Some(known) => Err(Failure::new(Exit::Usage, format!("{known} is declared already"))
            .help("Choose another name, or remove that block first.")),
        None => Ok(()),
    }
}
