//! Edits of one instance of a block with `for_each`: changes its key, moves it to a separate block, or removes it. A
//! key that an expression computes cannot be edited.

use super::address::{
    NAME, address_prefix, help_in_syntax, in_a_file, reject_taken_address, wrong_prefix_failure,
};
use super::rename::{redirect_edit, write_rename};
use crate::cli::command_context::CommandContext;
use crate::cli::commands::mv::arguments::MvArgs;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::stack::project::StackSources;
use crate::config::edit::{self, ConfigLiteral, Edit, EditPath, EditableFile, InstanceKeyPath};
use crate::config::stack::model::Resource;
use crate::kinds::REGISTRY;
use crate::model::address::{Address, Name};
use crate::model::source::{SourceId, Span};

/// The instance to edit, and how its block writes its key and its body.
pub(in crate::cli::commands) struct MovedInstance<'b> {
    /// The file that contains its block.
    pub(in crate::cli::commands) file: SourceId,
    /// Address of its block, without the key.
    block: Address,
    resource: &'b Resource,
    written: edit::InstanceSource,
}

/// Returns the instance at an address; `None` if the address is not one instance of a block.
///
/// # Errors
/// When it is declared outside of the stack's own files.
pub(in crate::cli::commands) fn find_instance<'b>(
    begun: &'b StackSources,
    address: &Address,
) -> Result<Option<MovedInstance<'b>>, CliFailure> {
    let Some(resource) = begun.project.stack.resources.get(address) else { return Ok(None) };
    let (Some(key), Some(block)) = (&resource.key, address_prefix(address)) else { return Ok(None) };
    // The address of a child ends with the child's name, not with the key of the instance.
    if address.last() != key.as_str() {
        return Ok(None);
    }
    in_a_file(begun, resource, address)?;
    let file = resource.span.source;
    let written = begun
        .files
        .get(file)
        .and_then(|source| edit::find_instance(&EditableFile { source, registry: &REGISTRY }, block, key));
    let block = Address::parse(block).ok();
    Ok(written.zip(block).map(|(written, block)| MovedInstance { file, block, resource, written }))
}

impl MovedInstance<'_> {
    /// Returns the path of the instance's key in its file.
    ///
    /// # Errors
    /// When the key is computed; `help` is the advice for that case, in YAML.
    pub(in crate::cli::commands) fn key(
        &self,
        begun: &StackSources,
        help: &str,
    ) -> Result<&InstanceKeyPath, CliFailure> {
        self.written.key.as_ref().map_err(|span| {
            let (text, place) = self.text_and_location(begun, *span);
            let address = &self.resource.address;
            CliFailure::new(Exit::Usage, format!("the key of {address} is computed by `{text}` at {place}"))
                .help(help_in_syntax(begun, self.file, help))
        })
    }

    /// Returns the edit that removes the instance. `action` is used only in the help of an error, which suggests a
    /// `removed` entry with it.
    ///
    /// # Errors
    /// When its key is computed, or it is the only instance.
    pub(in crate::cli::commands) fn removal_edit(
        &self,
        begun: &StackSources,
        action: &str,
    ) -> Result<Edit, CliFailure> {
        let (address, block) = (&self.resource.address, &self.block);
        let help = format!(
            "Remove the key there, and write `removed: [{{ from: {address}, action: {action} }}]`."
        );
        let key = self.key(begun, &help)?;
        if self.written.is_only {
            let text = format!("{address} is the only instance of {block}");
            return Err(CliFailure::new(Exit::Usage, text)
                .help(format!("Remove the whole block: stead rm {block}")));
        }
        Ok(Edit::Remove(key.path().clone()))
    }

    /// Returns the source text of a range without quotes, and its location as `FILE:LINE:COLUMN`.
    fn text_and_location(&self, begun: &StackSources, span: Span) -> (String, String) {
        let span = Span { source: self.file, ..span };
        let text = begun.files.get(self.file).map(|source| &*source.text).unwrap_or_default();
        let text = text.get(span.start as usize..span.end as usize).unwrap_or_default();
        let place = begun.project.stack.sources.location_of(span);
        let place = place.map(|place| format!("{}:{}:{}", place.file, place.line, place.column));
        (text.trim_matches('"').to_owned(), place.unwrap_or_default())
    }

    /// Returns the body for a separate block of the instance, with the name that the object has now.
    ///
    /// # Errors
    /// When an expression of the block cannot be written out for one instance.
    fn body(&self, begun: &StackSources) -> Result<ConfigLiteral, CliFailure> {
        let mut body = self.written.body.clone().map_err(|span| {
            let (text, place) = self.text_and_location(begun, span);
            let text = format!("`{text}` at {place} cannot be written out for one instance");
            CliFailure::new(Exit::Usage, text).help(
                "Write the block by hand, take the key out of `for_each`, and write the `moved` entry.",
            )
        })?;
        let resource = self.resource;
        let own_name = resource.attributes.get(NAME).filter(|setting| setting.span == resource.span);
        if let (Some(_), Some(key)) = (own_name, &resource.key) {
            let name = Name::new(format!("{}-{key}", self.block.last()));
            body.push((Name::new_static(NAME), ConfigLiteral::text(name)));
        }
        Ok(ConfigLiteral::Map(body))
    }
}

/// Changes the key of an instance, or moves it to a separate block.
///
/// # Errors
/// When the new address is neither or is taken, the key is computed, or another resource would change.
pub(super) async fn move_instance(
    session: &CommandContext,
    begun: &StackSources,
    one: &MovedInstance<'_>,
    args: &MvArgs,
) -> Result<Exit, CliFailure> {
    let (from, to) = (&args.from, args.new_address());
    let is_key = address_prefix(to) == Some(one.block.as_str());
    if !is_key && address_prefix(to) != address_prefix(&one.block) {
        return Err(wrong_prefix_failure(begun, from, to, one.file));
    }
    reject_taken_address(begun, to)?;
    let what =
        if is_key { "Change the key there" } else { "Write the new block by hand, take the key out there" };
    let key = one.key(begun, &format!("{what}, and write `moved: [{{ from: {from}, to: {to} }}]`."))?;
    let mut edits = vec![redirect_edit(from, to)];
    match key {
        InstanceKeyPath::Item(path) if is_key => {
            edits.push(Edit::Set(path.clone(), ConfigLiteral::text(to.last())));
        }
        InstanceKeyPath::Entry(path) if is_key => edits.push(Edit::Rename(path.clone(), to.last().into())),
        key => {
            edits.push(Edit::Set(EditPath::from_text(to.as_str()), one.body(begun)?));
            // A block whose `for_each` is empty would be left over.
            let whole = one.written.is_only;
            edits.push(Edit::Remove(if whole {
                EditPath::from_text(one.block.as_str())
            } else {
                key.path().clone()
            }));
        }
    }
    write_rename(session, begun, (one.file, edits), args).await
}
