//! Import of a child object: finds the block of its parent, which must be declared and managed, and writes the child
//! into it. A file that other stacks share is not edited.

use super::literals::entry_literal;
use crate::cli::commands::mv::address::list_entry_attribute;
use crate::cli::planning::inventory;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::stack::project::StackSources;
use crate::cli::stack::source_edits::SourceEdits;
use crate::config::edit::{ConfigLiteral, Edit, EditPath};
use crate::config::format::blocks::PrintedEntry;
use crate::config::stack::model::Resource;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::model::live::snapshot::{Object, ObjectKey, Snapshot};
use crate::model::schema::Kind;
use crate::model::values::value::Value;
use crate::plan::import::ImportError;

/// The declared parent of a child, and how children are written in its block.
pub(super) struct ParentBlock<'b> {
    resource: &'b Resource,
    collection: &'static str,
    /// Attribute that a shorthand entry of the list sets; `None` if the children are written as a map.
    says: Option<&'static str>,
}

/// Returns the block to write a child into; `None` if the address is not that of a child.
///
/// # Errors
/// When the parent is not declared in a file of this stack, or is one of several instances.
pub(super) fn find_parent<'b>(
    begun: &'b StackSources,
    address: &Address,
    kind: &'static Kind,
) -> Option<Result<ParentBlock<'b>, CliFailure>> {
    let (_, collection) = kind.child_of()?;
    let (place, _) = address.as_str().rsplit_once('.')?;
    let (above, _) = place.rsplit_once('.')?;
    let stack = &begun.project.stack;
    let refused = |text: String, help: &str| Some(Err(CliFailure::new(Exit::Usage, text).help(help)));
    let Some(resource) = stack.resources.values().find(|one| one.address.as_str() == above) else {
        let text =
            format!("{address} is not declared, and neither is {above}, in whose block it is written");
        return refused(text, "Import the parent first: stead import, with its address and id.");
    };
    if resource.key.is_some() {
        let text =
            format!("{above} is one of several instances, and {address} would be in the block of all");
        return refused(text, "Write it into the block by hand, with `when`, and import it then.");
    }
    if begun.files.get(resource.span.source).is_none() {
        let text = format!("the block of {above} is not in a file that only this stack uses");
        return refused(text, "Write the child there by hand, and import it then.");
    }
    let siblings = stack.resources.values().filter(|one| one.parent.as_ref() == Some(&resource.address));
    let mut siblings = siblings.filter(|one| one.kind.name == kind.name);
    let says =
        siblings.find_map(|one| list_entry_attribute(stack, &one.address)).map(|(_, attribute)| attribute);
    Some(Ok(ParentBlock { resource, collection, says }))
}

impl ParentBlock<'_> {
    /// Returns the id of the parent's object.
    ///
    /// # Errors
    /// When the parent owns no object yet.
    pub(super) fn owned_id<'l>(&self, ledger: &'l Ledger) -> Result<&'l Name, CliFailure> {
        let address = &self.resource.address;
        let current = ledger.entries.get(address).and_then(|entry| entry.current.as_ref());
        current.map(|owned| &owned.id).ok_or_else(|| {
            CliFailure::new(Exit::Usage, format!("{address} has no object yet"))
                .help(format!("Import or apply it first: stead import {address} ID"))
        })
    }

    /// Returns the stack's files with the child added to its parent's block; nothing is written.
    ///
    /// # Errors
    /// When the file cannot be edited, or the list takes only plain values and the child has several attributes.
    pub(super) fn insert_entries<'b>(
        &self,
        begun: &'b StackSources,
        address: &Address,
        entries: &[PrintedEntry],
    ) -> Result<SourceEdits<'b>, CliFailure> {
        let body = entries.iter().map(entry_literal).collect::<Vec<_>>();
        let edit = match (self.says, body.as_slice()) {
            (Some(says), [(key, value)]) if key == says => Edit::Append(
                EditPath::from_text(self.resource.address.as_str()).with_key(self.collection),
                value.clone(),
            ),
            (Some(_), _) => {
                let collection = format!("{}.{}", self.resource.address, self.collection);
                let text = format!(
                    "{collection} is a list of plain values, and {address} has more than one attribute"
                );
                return Err(
                    CliFailure::new(Exit::Usage, text).help("Give its entries names, and try again.")
                );
            }
            (None, _) => Edit::Set(EditPath::from_text(address.as_str()), ConfigLiteral::Map(body)),
        };
        let mut edits = SourceEdits::new(begun);
        edits.edit_file(self.resource.span.source, &[edit])?;
        Ok(edits)
    }
}

/// Returns the child with an id, or the value of its shorthand entry, or a name.
///
/// # Errors
/// When the parent has no such child, or several.
pub(super) fn find_child(
    snapshot: &Snapshot,
    kind: &Kind,
    named: &Name,
    parent: &Name,
) -> Result<ObjectKey, CliFailure> {
    let mut own = Snapshot::default();
    let objects = snapshot.of_kind(kind.name).filter(|object| object.parent.as_ref() == Some(parent));
    own.objects.extend(objects.map(|object| (object.key(), object.clone())));
    let says = |object: &&Object| {
        let value = kind.plain_entry.and_then(|attribute| object.attributes.get(attribute));
        value.and_then(Value::as_text) == Some(named)
    };
    match own.of_kind(kind.name).find(says) {
        Some(object) => Ok(object.key()),
        None => inventory::find_object(&own, kind, named),
    }
}

/// Converts a failure to the reason why a draft was refused; diagnostics are kept.
pub(super) fn draft_refusal(failure: CliFailure) -> ImportError {
    match failure.rejected {
        Some(rejected) => ImportError::Rejected(rejected),
        None => ImportError::Blocked(failure.message),
    }
}
