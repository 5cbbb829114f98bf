//! Finds the block that an address stands for, and checks a new address: the same prefix, and not taken.

use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::stack::project::StackSources;
use crate::cli::stack::unknown_addresses;
use crate::config::diagnostics::hints::suggestions;
use crate::config::stack::model::{Resource, Stack};
use crate::config::stack::module_path::kind_at;
use crate::kinds::REGISTRY;
use crate::model::address::{Address, Name};
use crate::model::source::SourceId;

/// The attribute that defaults to the block's own name.
pub(super) const NAME: &str = "name";

/// Top-level keywords whose entries have a name but no object, so that no `moved` entry is needed.
pub(in crate::cli::commands) const VALUE_SECTIONS: [&str; 2] = ["vars", "locals"];

/// Returns a hint, given in YAML, in the syntax of a file.
pub(in crate::cli::commands) fn help_in_syntax(begun: &StackSources, file: SourceId, help: &str) -> String {
    let path = begun.files.get(file).map(|source| source.path.as_str()).unwrap_or_default();
    suggestions::hint_in_syntax(&REGISTRY, path, help)
}

/// The block to edit: its file, and what must be written to keep its objects.
pub(in crate::cli::commands) struct MovedBlock {
    /// The file that contains it.
    pub(in crate::cli::commands) file: SourceId,
    /// Default name of its objects, which a rename of the block would change; `None` if the block sets `name`
    /// itself, or its kind has no name.
    pub(super) name: Option<Name>,
}

/// Finds the block of a resource, or of all its instances.
///
/// # Errors
/// When there is none, it is a variable or a local, or it is not in a file of this stack.
pub(in crate::cli::commands) fn find_block(
    begun: &StackSources,
    address: &Address,
) -> Result<MovedBlock, CliFailure> {
    let stack = &begun.project.stack;
    let resource = stack.resources.get(address).or_else(|| {
        let is_instance = |resource: &&Resource| {
            let key = resource.key.as_ref().map(|key| address.join(key));
            key.as_ref() == Some(&resource.address)
        };
        stack.resources.values().find(is_instance)
    });
    let Some(resource) = resource else {
        if VALUE_SECTIONS.contains(&address.root()) {
            let text = format!("{address} is not a resource: it has no object, and needs no `moved` entry");
            return Err(CliFailure::new(Exit::Usage, text)
                .help("An editor renames it everywhere, in module calls, too: stead lsp"));
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
    Ok(MovedBlock { file: resource.span.source, name })
}

/// Checks that a resource is declared in one of the stack's own files: an edit of a shared file
/// would change other stacks.
pub(super) fn in_a_file(
    begun: &StackSources,
    resource: &Resource,
    address: &Address,
) -> Result<(), CliFailure> {
    if begun.files.get(resource.span.source).is_some() {
        return Ok(());
    }
    let place =
        begun.project.stack.sources.location_of(resource.span).map(|place| place.file).unwrap_or_default();
    let text = format!("{address} is declared in {place}, which is not a file that only this stack uses");
    Err(CliFailure::new(Exit::Usage, text)
        .help("Change it there by hand, and write the `moved` or `removed` entry in a file of this stack."))
}

/// Returns the collection and the attribute of a resource that is a shorthand entry of a list; `None` for another
/// one. Such an entry has its value as its name, so it cannot be renamed.
pub(in crate::cli::commands) fn list_entry_attribute(
    stack: &Stack,
    address: &Address,
) -> Option<(&'static str, &'static str)> {
    let resource = stack.resources.get(address)?;
    let (attribute, (_, collection)) = (resource.kind.plain_entry?, resource.kind.child_of()?);
    let is_plain = resource.attributes.get(attribute).is_some_and(|setting| setting.span == resource.span);
    is_plain.then_some((collection, attribute))
}

/// Checks that only the name differs, and that the new address is not taken.
pub(super) fn check_new_address(
    begun: &StackSources,
    from: &Address,
    to: &Address,
    file: SourceId,
) -> Result<(), CliFailure> {
    if address_prefix(from) == address_prefix(to) {
        reject_taken_address(begun, to)
    } else {
        Err(wrong_prefix_failure(begun, from, to, file))
    }
}

/// Returns an address without its last segment; `None` if it has only one.
pub(super) fn address_prefix(address: &Address) -> Option<&str> {
    address.as_str().rsplit_once('.').map(|(place, _)| place)
}

/// Returns the failure for a new address with another kind or parent.
pub(super) fn wrong_prefix_failure(
    begun: &StackSources,
    from: &Address,
    to: &Address,
    file: SourceId,
) -> CliFailure {
    let kind = |address: &Address| kind_at(&REGISTRY, address).map(|kind| kind.name);
    if let (Some(was), Some(wanted)) = (kind(from), kind(to))
        && was != wanted
    {
        let text =
            format!("{from} has the kind {was}, which cannot become {wanted}: only a name can be changed");
        let help = "Write the new block, and forget the old one: stead rm";
        return CliFailure::new(Exit::Usage, text).help(format!("{help} {from}."));
    }
    let help = format!("Move the block by hand, and write `moved: [{{ from: {from}, to: {to} }}]`.");
    CliFailure::new(Exit::Usage, format!("{to} has another parent than {from}: only a name can be changed"))
        .help(help_in_syntax(begun, file, &help))
}

/// Refuses an address that is taken, or that contains a declared resource.
pub(super) fn reject_taken_address(begun: &StackSources, to: &Address) -> Result<(), CliFailure> {
    match begun.project.stack.resources.keys().find(|known| known.is_within(to)) {
        Some(known) => Err(CliFailure::new(Exit::Usage, format!("{known} is declared already"))
            .help("Choose another name, or remove that block first.")),
        None => Ok(()),
    }
}
