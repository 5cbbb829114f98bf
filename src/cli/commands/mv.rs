//! `stead mv`: renames a resource or a module: edits its block, the references to it, and adds a `moved` entry, so that
//! the next apply moves the object in the ledger instead of replacing it; or moves it to another stack. Sends no request and writes no ledger.

pub(super) mod address;
pub(in crate::cli) mod arguments;
pub(super) mod declared;
pub(super) mod instance;
mod module;
mod rename;
mod to_stack;

use self::address::{
    NAME, VALUE_SECTIONS, check_new_address, find_block, help_in_syntax, list_entry_attribute,
};
use self::rename::{redirect_edit, write_rename};
use crate::cli::command_context::CommandContext;
use crate::cli::commands::mv::arguments::MvArgs;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::stack::project::LoadedStack;
use crate::config::edit::{ConfigLiteral, Edit, EditPath};
use crate::config::stack::module_path::module_of;
use crate::kinds::REGISTRY;

/// Renames a resource, an instance or a module; returns `Exit::Failed` if the user declines.
///
/// # Errors
/// When it does not exist, the new address is taken or has another parent, or the files cannot be edited.
pub(in crate::cli) async fn run(session: &CommandContext, args: &MvArgs) -> Result<Exit, CliFailure> {
    let begun = LoadedStack::open_for_edits(&session.settings, None)?;
    if let Some(directory) = &args.to_stack {
        return to_stack::run(session, &begun, args, directory).await;
    }
    let (from, to) = (&args.from, args.new_address());
    let is_value = VALUE_SECTIONS.contains(&from.root());
    if !is_value && !module_of(&REGISTRY, from.as_str()).0.is_empty() {
        return module::run(session, &begun, args).await;
    }
    if let Some(one) = instance::find_instance(&begun, from)? {
        return instance::move_instance(session, &begun, &one, args).await;
    }
    let block = find_block(&begun, from)?;
    if let Some((collection, attribute)) = list_entry_attribute(&begun.project.stack, from) {
        let help = format!(
            "To give it another name, write it as `{collection}: {{ NAME: {{ {attribute}: … }} }}`."
        );
        return Err(CliFailure::new(Exit::Usage, format!("{from} has its value as its name"))
            .help(help_in_syntax(&begun, block.file, &help)));
    }
    check_new_address(&begun, from, to, block.file)?;
    let mut own = vec![Edit::Rename(EditPath::from_text(from.as_str()), to.last().into())];
    own.push(redirect_edit(from, to));
    // The object keeps its name: the default one would change with the block's, and the object would be renamed.
    if let Some(name) = block.name {
        own.push(Edit::Set(EditPath::from_text(to.as_str()).with_key(NAME), ConfigLiteral::text(name)));
    }
    write_rename(session, &begun, (block.file, own), args).await
}
