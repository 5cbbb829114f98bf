//! `stead mv`: another name for a resource: its block, what refers to it, and the `moved` entry.

use std::collections::BTreeSet;

use crate::cli::addresses;
use crate::cli::args::Mv;
use crate::cli::edits::Edits;
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::project::{Begun, Project};
use crate::cli::session::Session;
use crate::config::edit::{Edit, Literal, Path};
use crate::config::stack::{Resource, Stack};
use crate::model::address::{Address, Name};
use crate::model::source::SourceId;

/// The attribute that a block's own name stands for.
const NAME: &str = "name";

/// Gives a resource another name.
///
/// # Errors
/// When there is no such resource, the new name is taken, or the files cannot be edited.
pub(in crate::cli) async fn run(session: &Session, args: &Mv) -> Result<Exit, Failure> {
    let begun = Project::open_begun(&session.settings)?;
    let (from, to) = (&args.from, &args.to);
    let block = block(&begun, from)?;
    if let Some((collection, attribute)) = listed(&begun.project.stack, from) {
        return Err(Failure::new(Exit::Usage, format!("{from} is named by what it says")).help(format!(
            "To name it otherwise, write it as `{collection}: {{ NAME: {{ {attribute}: … }} }}`."
        )));
    }
    fits(&begun.project.stack, from, to)?;
    let redirect = Edit::Redirect(vec![(from.as_str().into(), to.as_str().into())]);
    let mut own = vec![Edit::Rename(Path::of(from.as_str()), to.last().into()), redirect.clone()];
    if let Some(name) = block.name {
        own.push(Edit::Set(Path::of(to.as_str()).key(NAME), Literal::text(name)));
    }
    let entry = [("from", Literal::text(from.as_str())), ("to", Literal::text(to.as_str()))];
    own.push(Edit::Append(Path::of("moved"), Literal::map(entry)));
    let mut edits = Edits::new(&begun);
    for (file, _) in begun.files.iter() {
        let own = own.as_slice();
        edits.make(file, if file == block.file { own } else { std::slice::from_ref(&redirect) })?;
    }
    let (before, after) = (&begun.project.stack, edits.read()?);
    let carried = carried(before, &after, from, to);
    let (count, kept) = (before.resources.len(), after.resources.len());
    if count != kept || carried.is_none() {
        return Err(Failure::new(Exit::Failed, format!("{count} resources would become {kept} others"))
            .help("Nothing was written. Rename it by hand, and write the `moved` entry."));
    }
    let carried = carried.unwrap_or_default().into_iter().map(|(from, to)| {
        let entry = [("from", Literal::text(from.as_str())), ("to", Literal::text(to.as_str()))];
        Edit::Append(Path::of("moved"), Literal::map(entry))
    });
    edits.make(block.file, &carried.collect::<Vec<_>>())?;
    if !edits.settle(session, args.yes).await? {
        return Ok(Exit::Failed);
    }
    session.next("plan", "shows the move");
    Ok(Exit::Done)
}

/// Returns what else gets another address, because it is named by what it refers to: plain entries of lists.
/// `None` when something would be lost.
fn carried(before: &Stack, after: &Stack, from: &Address, to: &Address) -> Option<Vec<(Address, Address)>> {
    let moved = |address: &Address| match address.as_str().strip_prefix(from.as_str()) {
        Some("") => to.clone(),
        Some(rest) if rest.starts_with('.') => to.join(&rest[1..]),
        _ => address.clone(),
    };
    let known: BTreeSet<Address> = before.resources.keys().map(&moved).collect();
    let mut new: Vec<&Resource> =
        after.resources.values().filter(|one| !known.contains(&one.address)).collect();
    let gone = before.resources.values().filter(|one| !after.resources.contains_key(&moved(&one.address)));
    let mut pairs = Vec::new();
    for one in gone {
        let parent = one.parent.as_ref().map(&moved);
        let is_it = |other: &&Resource| other.kind.name == one.kind.name && other.parent == parent;
        let at = new.iter().position(&is_it)?;
        let other = new.remove(at);
        if new.iter().any(is_it) {
            return None;
        }
        pairs.push((one.address.clone(), other.address.clone()));
    }
    new.is_empty().then_some(pairs)
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
/// When there is none, or the address is an instance's.
pub(super) fn block(begun: &Begun, address: &Address) -> Result<Found, Failure> {
    let stack = &begun.project.stack;
    let resource = stack.resources.get(address).or_else(|| {
        let is_instance = |resource: &&Resource| {
            let key = resource.key.as_ref().map(|key| address.join(key));
            key.as_ref() == Some(&resource.address)
        };
        stack.resources.values().find(is_instance)
    });
    let Some(resource) = resource else {
        return Err(addresses::unknown(address.as_str(), stack.resources.keys().map(Address::as_str)));
    };
    if resource.key.is_some() && resource.address == *address {
        return Err(Failure::new(
            Exit::Usage,
            format!("{address} is one instance of a block with `for_each`"),
        )
        .help("Change its key where `for_each` takes it from; the plan then tells the entry to write."));
    }
    if begun.files.get(resource.span.source).is_none() {
        let place = stack.sources.place(resource.span).map(|place| place.file).unwrap_or_default();
        let text = format!("{address} is declared in {place}, which is no file of this stack alone");
        return Err(Failure::new(Exit::Usage, text).help(
            "Change it there by hand, and write the `moved` or `removed` entry in a file of this stack.",
        ));
    }
    let own = resource.attributes.get(NAME).filter(|setting| setting.span == resource.span);
    let name = own.map(|_| match resource.key {
        Some(_) => Name::new(format!("{}-${{each.key}}", address.last())),
        None => Name::new(address.last()),
    });
    Ok(Found { file: resource.span.source, name })
}

/// Returns the collection and the attribute of a resource that is a plain entry of a list.
pub(super) fn listed(stack: &Stack, address: &Address) -> Option<(&'static str, &'static str)> {
    let resource = stack.resources.get(address)?;
    let (attribute, (_, collection)) = (resource.kind.plain_entry?, resource.kind.child_of()?);
    let is_plain = resource.attributes.get(attribute).is_some_and(|setting| setting.span == resource.span);
    is_plain.then_some((collection, attribute))
}

fn fits(stack: &Stack, from: &Address, to: &Address) -> Result<(), Failure> {
    let place = |address: &Address| address.as_str().rsplit_once('.').map(|(place, _)| place.to_owned());
    if place(from) != place(to) {
        let text = format!("{to} stands elsewhere than {from}: only a name can be changed");
        return Err(Failure::new(Exit::Usage, text)
            .help("Move the block by hand, and write `moved: [{ from: …, to: … }]`."));
    }
    match stack.resources.keys().find(|known| known.is_within(to)) {
        Some(known) => Err(Failure::new(Exit::Usage, format!("{known} is declared already"))
            .help("Choose another name, or remove that block first.")),
        None => Ok(()),
    }
}
