//! Finds the declaration of a module, or of a resource in one: its file, and every address that it produces. An edit
//! of a module's file changes all of these addresses, in each use of the module.

use std::collections::BTreeSet;

use super::address::{address_prefix, help_in_syntax};
use crate::cli::files::stack_files::{self, SharedRoot};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::stack::project::StackSources;
use crate::cli::stack::source_edits::SourceEdits;
use crate::cli::stack::unknown_addresses;
use crate::config::edit::EditPath;
use crate::config::stack::module_path::module_of;
use crate::kinds::REGISTRY;
use crate::model::address::{Address, Name};
use crate::model::source::{Source, SourceId};

/// A module, or a resource in a module, as a file declares it; one declaration can produce several addresses.
pub(in crate::cli::commands) struct MovableDeclaration<'b> {
    pub(in crate::cli::commands) begun: &'b StackSources,
    /// The file that contains the declaration; a file of the stack, or of a module.
    pub(in crate::cli::commands) file: SourceId,
    /// Address prefixes of the instances: empty in the stack's own files, else one for each instance of the module.
    pub(in crate::cli::commands) prefixes: BTreeSet<Name>,
    /// Address relative to the file.
    pub(in crate::cli::commands) from: Address,
    /// Path of the block in the file.
    pub(in crate::cli::commands) path: EditPath,
    /// Whether the block has `for_each`, so that its instances are one segment below the address.
    pub(in crate::cli::commands) keyed: bool,
}

impl<'b> MovableDeclaration<'b> {
    /// Finds the `use` block of a module, or the block of a resource that a module declares. `by_hand` returns the
    /// advice for a single instance, which the error shows; it gets the address relative to the declaring file.
    ///
    /// # Errors
    /// When nothing has the address, or it is a single instance of a block with `for_each`.
    pub(in crate::cli::commands) fn find(
        begun: &'b StackSources,
        address: &Address,
        by_hand: impl Fn(&str) -> String,
    ) -> Result<Self, CliFailure> {
        match module_of(&REGISTRY, address.as_str()) {
            (_, "") => Self::find_module(begun, address, by_hand),
            _ => Self::find_resource(begun, address, by_hand),
        }
    }

    /// Finds the `use` block of a module.
    fn find_module(
        begun: &'b StackSources,
        address: &Address,
        by_hand: impl Fn(&str) -> String,
    ) -> Result<Self, CliFailure> {
        let stack = &begun.project.stack;
        let keyed = !stack.modules.contains_key(address.as_str());
        let instance =
            |name: &&Name| name.rsplit_once('.').is_some_and(|(block, _)| block == address.as_str());
        let found = stack.modules.get_key_value(address.as_str());
        let found = found.or_else(|| stack.modules.iter().find(|(name, _)| instance(name)));
        let Some((_, call)) = found else {
            let known = stack.modules.keys().map(Name::as_str);
            let known = known.chain(stack.resources.keys().map(Address::as_str));
            return Err(unknown_addresses::unknown_address(address.as_str(), known));
        };
        let outer = address_prefix(address).unwrap_or_default();
        if !outer.is_empty() && !stack.modules.contains_key(outer) {
            let text = format!("{address} is one instance of the module {outer}");
            let help = by_hand(address.as_str());
            return Err(CliFailure::new(Exit::Usage, text).help(help_in_syntax(begun, call.source, &help)));
        }
        let within = |name: &Name| {
            let block = if keyed { name.rsplit_once('.')?.0 } else { name.as_str() };
            Some(Name::new(block.rsplit_once('.').map_or("", |(outer, _)| outer)))
        };
        let prefixes = stack.modules.iter().filter(|(_, other)| *other == call);
        let from = local_address(address);
        Ok(Self {
            begun,
            file: call.source,
            prefixes: prefixes.filter_map(|(name, _)| within(name)).collect(),
            path: EditPath::from_text("use").with_key(from.as_str()),
            from,
            keyed,
        })
    }

    /// Finds the block of a resource that a module declares.
    fn find_resource(
        begun: &'b StackSources,
        address: &Address,
        by_hand: impl Fn(&str) -> String,
    ) -> Result<Self, CliFailure> {
        let stack = &begun.project.stack;
        let known = || {
            unknown_addresses::unknown_address(
                address.as_str(),
                stack.resources.keys().map(Address::as_str),
            )
        };
        let one = stack.resources.get(address).or_else(|| {
            let mut all = stack.resources.values();
            all.find(|one| {
                one.key.as_ref().is_some_and(|key| key == one.address.last())
                    && address_prefix(&one.address) == Some(address.as_str())
            })
        });
        let Some(one) = one else { return Err(known()) };
        let (module, rest) = module_of(&REGISTRY, address.as_str());
        if one.address == *address && one.key.as_ref().is_some_and(|key| key == address.last()) {
            let text = format!("{address} is one instance of a block in the module {module}");
            let help = by_hand(rest);
            return Err(CliFailure::new(Exit::Usage, text).help(help_in_syntax(
                begun,
                one.span.source,
                &help,
            )));
        }
        let same = stack.resources.values().filter(|other| other.span == one.span);
        Ok(Self {
            begun,
            file: one.span.source,
            prefixes: same.map(|one| Name::new(module_of(&REGISTRY, one.address.as_str()).0)).collect(),
            path: EditPath::from_text(rest),
            from: Address::parse(rest).map_err(|_| known())?,
            keyed: one.address != *address,
        })
    }

    /// Returns whether the declaration is a `use` of a module.
    pub(in crate::cli::commands) fn is_module(&self) -> bool {
        module_of(&REGISTRY, self.from.as_str()).1.is_empty()
    }

    /// Returns the full address in one instance of the declaring module.
    pub(in crate::cli::commands) fn address_in(&self, prefix: &str) -> Address {
        self.from.clone().in_module(prefix)
    }

    /// Returns the files that can refer to the declaration by name, those in the same directory, and permits edits
    /// of them. Files of the stack need no permission.
    ///
    /// # Errors
    /// When it is declared outside of the stack and its modules.
    pub(in crate::cli::commands) fn referring_files(
        &self,
        edits: &mut SourceEdits<'_>,
    ) -> Result<Vec<SourceId>, CliFailure> {
        let begun = self.begun;
        if begun.files.get(self.file).is_some() {
            return Ok(begun.files.iter().map(|(id, _)| id).collect());
        }
        let stack = &begun.project.stack;
        let here = stack.sources.get(self.file).map(source_directory).unwrap_or_default();
        let root = SharedRoot::find_root(&begun.project.directory, false).root;
        let mut found = Vec::new();
        for (id, source) in stack.sources.iter() {
            if begun.files.get(id).is_some() || source_directory(source) != here {
                continue;
            }
            let Some(path) = stack_files::path_from(&root, source.path.as_ref()) else {
                return Err(self.outside_failure(&source.path));
            };
            edits.add(id, path);
            found.push(id);
        }
        if self.prefixes.iter().any(Name::is_empty) || found.is_empty() {
            return Err(self.outside_failure(here));
        }
        Ok(found)
    }

    fn outside_failure(&self, path: &str) -> CliFailure {
        let from = self.prefixes.first().map(|prefix| self.from.clone().in_module(prefix));
        let from = from.unwrap_or_else(|| self.from.clone());
        let text =
            format!("{from} is declared in {path}, which is not a file of this stack or its modules");
        CliFailure::new(Exit::Usage, text)
            .help("Change it there by hand, and write the `moved` or `removed` entry beside it.")
    }
}

/// Returns the directory of a file's path; empty without one.
fn source_directory(source: &Source) -> &str {
    source.path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// Returns the last segment of an address, as an address within its file.
pub(super) fn local_address(address: &Address) -> Address {
    Address::parse_path(address.last()).unwrap_or_else(|_| address.clone())
}
