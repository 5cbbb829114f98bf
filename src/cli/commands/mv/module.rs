//! `stead mv` of a module, and of a resource in one: edits the declaring file and adds the `moved` entry there, so
//! that it takes effect for every user of the module. The edited stack is loaded before it is written: no resource
//! may be lost, and no object renamed.

use std::collections::BTreeSet;

use super::address::{
    NAME, address_prefix, help_in_syntax, list_entry_attribute, reject_taken_address, wrong_prefix_failure,
};
use super::declared::{MovableDeclaration, local_address};
use super::rename::{
    AddressMoves, carried_to, implied_moves, lost_resources_failure, moved_edit, redirect_edit,
};
use crate::cli::command_context::CommandContext;
use crate::cli::commands::mv::arguments::MvArgs;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::stack::project::StackSources;
use crate::cli::stack::source_edits::SourceEdits;
use crate::config::edit::{self, ConfigLiteral, Edit, EditPathStep, EditableFile};
use crate::config::stack::model::{Resource, Stack};
use crate::config::stack::module_path::{is_taken, kind_at, module_of};
use crate::kinds::REGISTRY;
use crate::model::address::{Address, Name};
use crate::model::schema::{Attribute, Kind};
use crate::model::source::SourceId;

/// The declaration, and what it becomes.
struct DeclarationRename<'b> {
    declared: MovableDeclaration<'b>,
    /// New address relative to the file.
    to: Address,
    /// Value of `name` that keeps the names of the objects, an expression over the module and the key.
    name: ConfigLiteral,
}

/// Renames a module, or a resource in one.
///
/// # Errors
/// When it does not exist, the new address is taken, another resource would change, or objects would be renamed.
pub(super) async fn run(
    session: &CommandContext,
    begun: &StackSources,
    args: &MvArgs,
) -> Result<Exit, CliFailure> {
    let (from, to) = (&args.from, args.new_address());
    let change = find_change(begun, from, to)?;
    let stack = &begun.project.stack;
    let declared = &change.declared;
    let within = |prefix: &Name| (declared.address_in(prefix), change.to.clone().in_module(prefix));
    let pairs: Vec<(Address, Address)> = declared.prefixes.iter().map(within).collect();
    // Objects of other environments may have the default name, too.
    let named = change.takes_name();
    let mut edits = change.edits(&pairs, named)?;
    let mut after = edits.read()?;
    if !keeps_names(stack, &after, &pairs) {
        edits = change.edits(&pairs, !named)?;
        after = edits.read()?;
        if !keeps_names(stack, &after, &pairs) {
            return Err(object_rename_failure(from));
        }
    }
    let Some(also) = implied_moves(stack, &after, &pairs) else {
        return Err(lost_resources_failure(stack, &after, from, &pairs));
    };
    edits.edit_file(declared.file, &change.moved_edits(&also))?;
    if !edits.confirm_and_write(&session.ui, &session.settings.dir, args.yes).await? {
        return Ok(Exit::Failed);
    }
    session.next(&begun.plan_command(&session.settings), "shows the move");
    Ok(Exit::Done)
}

/// Finds the declaration to rename, and checks the new address.
fn find_change<'b>(
    begun: &'b StackSources,
    from: &Address,
    to: &Address,
) -> Result<DeclarationRename<'b>, CliFailure> {
    let stack = &begun.project.stack;
    let declared = MovableDeclaration::find(begun, from, |rest| {
        match module_of(&REGISTRY, from.as_str()) {
            (_, "") => format!(
                "Change the key in its `for_each`, and write `moved: [{{ from: {from}, to: {to} }}]`. Objects whose name contains the key are renamed, too."
            ),
            (module, _) => {
                let new = to.strip_module(module).unwrap_or(to.as_str());
                format!(
                    "Change the key there, and write `moved: [{{ from: {rest}, to: {new} }}]` beside it."
                )
            }
        }
    })?;
    if declared.is_module() && is_taken(&REGISTRY, to.last()) {
        let text = format!("`{}` has another meaning at the beginning of an address", to.last());
        return Err(CliFailure::new(Exit::Usage, text).help("Choose another name."));
    }
    if let Some((collection, attribute)) = list_entry_attribute(stack, from) {
        let help = format!(
            "To give it another name, write it as `{collection}: {{ NAME: {{ {attribute}: … }} }}`."
        );
        return Err(CliFailure::new(Exit::Usage, format!("{from} has its value as its name"))
            .help(help_in_syntax(begun, declared.file, &help)));
    }
    check_new_name(begun, from, to, declared.file)?;
    let key = if declared.keyed { "-${each.key}" } else { "" };
    let module = if declared.is_module() { "" } else { "${module}-" };
    let name = ConfigLiteral::text(format!("{module}{}{key}", from.last()));
    let new = match module_of(&REGISTRY, to.as_str()) {
        _ if declared.is_module() => Some(local_address(to)),
        (_, new) => Address::parse(new).ok(),
    };
    let Some(to) = new else { return Err(wrong_prefix_failure(begun, from, to, declared.file)) };
    Ok(DeclarationRename { declared, to, name })
}

/// Refuses a new address with another parent, and one that is taken by a resource or a module.
fn check_new_name(
    begun: &StackSources,
    from: &Address,
    to: &Address,
    file: SourceId,
) -> Result<(), CliFailure> {
    if address_prefix(from) != address_prefix(to) {
        return Err(wrong_prefix_failure(begun, from, to, file));
    }
    let modules = &begun.project.stack.modules;
    let taken = modules.keys().find(|name| Address::parse_path(name).is_ok_and(|name| name.is_within(to)));
    match taken {
        Some(name) => Err(CliFailure::new(Exit::Usage, format!("{name} is declared already"))
            .help("Choose another name, or remove that block first.")),
        None => reject_taken_address(begun, to),
    }
}

impl DeclarationRename<'_> {
    /// Returns the edits; with `named`, also the one that writes `name` into the block.
    fn edits(&self, pairs: &AddressMoves, named: bool) -> Result<SourceEdits<'_>, CliFailure> {
        let mut edits = SourceEdits::new(self.declared.begun);
        let refers = self.reference_edit();
        let files = self.declared.referring_files(&mut edits)?;
        for file in files {
            let mut wanted = Vec::new();
            if file == self.declared.file {
                wanted.push(Edit::Rename(self.declared.path.clone(), self.to.last().into()));
            }
            wanted.push(refers.clone());
            if file == self.declared.file {
                let block =
                    self.declared.path.first_steps(self.declared.path.0.len() - 1).with_key(self.to.last());
                wanted.extend(named.then(|| Edit::Set(block.with_key(NAME), self.name.clone())));
                wanted.push(moved_edit(&self.declared.from, &self.to));
            }
            edits.edit_file(file, &wanted)?;
        }
        for (file, source) in self.declared.begun.files.iter() {
            let source = EditableFile { source, registry: &REGISTRY };
            edits.edit_file(
                file,
                &edit::override_path_edits(&source, &|key| self.renamed_path(key, pairs)),
            )?;
        }
        Ok(edits)
    }

    /// Returns whether `name` must be written: the block does not set it, and an object may have the default name.
    fn takes_name(&self) -> bool {
        let stack = &self.declared.begun.project.stack;
        let source = self
            .declared
            .begun
            .files
            .get(self.declared.file)
            .or_else(|| stack.sources.get(self.declared.file));
        let name = self.declared.path.clone().with_key(NAME);
        if source.is_none_or(|source| edit::has_path(&EditableFile { source, registry: &REGISTRY }, &name))
        {
            return false;
        }
        if kind_at(&REGISTRY, &self.declared.from).is_some() {
            return may_have_name(&self.declared.from);
        }
        let places: Vec<Address> = self
            .declared
            .prefixes
            .iter()
            .map(|prefix| self.declared.from.clone().in_module(prefix))
            .collect();
        let is_in = |address: &Address| places.iter().any(|place| address.is_within(place));
        let mut known = stack.resources.keys().chain(stack.left_out.keys());
        known.any(|address| is_in(address) && may_have_name(address))
    }

    /// Returns the new form of a path that an environment overrides: `use.shop.vm.web.plan`, or in the form of an
    /// address. `None` if the path does not change, or another edit changes it.
    fn renamed_path(&self, key: &str, pairs: &AddressMoves) -> Option<String> {
        let (front, address) = key.strip_prefix("use.").map_or(("", key), |rest| ("use.", rest));
        // In the stack's own files the edit of the references changes such a path, too.
        if !front.is_empty() && self.declared.begun.files.get(self.declared.file).is_some() {
            return None;
        }
        let address = Address::parse(address).ok()?;
        let new = carried_to(&address, pairs);
        (new != address).then(|| format!("{front}{new}"))
    }

    /// Returns the edit that redirects the references to the new name.
    fn reference_edit(&self) -> Edit {
        match self.declared.path.0.first() {
            Some(EditPathStep::Key(word)) if word == "use" => Edit::Redirect(vec![(
                format!("use.{}", self.declared.from).into(),
                format!("use.{}", self.to).into(),
            )]),
            _ => redirect_edit(&self.declared.from, &self.to),
        }
    }

    /// Returns the `moved` entries for further addresses that change, relative to the declaring file, each once.
    fn moved_edits(&self, also: &AddressMoves) -> Vec<Edit> {
        let below = |address: &Address, prefix: &str| {
            address.strip_module(prefix).and_then(|rest| Address::parse(rest).ok())
        };
        let relative = also.iter().filter_map(|(from, to)| {
            self.declared
                .prefixes
                .iter()
                .rev()
                .find_map(|prefix| below(from, prefix).zip(below(to, prefix)))
        });
        relative.collect::<BTreeSet<_>>().iter().map(|(from, to)| moved_edit(from, to)).collect()
    }
}

/// Returns whether every resource of `before` has the same `name` attribute in `after`, at its address after the moves
/// of `pairs`. A resource that is not in `after` is ignored.
fn keeps_names(before: &Stack, after: &Stack, pairs: &AddressMoves) -> bool {
    let name = |one: &Resource| one.attributes.get(NAME).map(|setting| setting.expression.clone());
    before.resources.values().all(|one| {
        let now = after.resources.get(&carried_to(&one.address, pairs));
        now.is_none_or(|now| name(now) == name(one))
    })
}

/// Returns whether `name` can be set at an address; it can for every module.
fn may_have_name(address: &Address) -> bool {
    let writable = |kind: &Kind| kind.attribute(NAME).is_some_and(Attribute::is_writable);
    kind_at(&REGISTRY, address).is_none_or(writable)
}

fn object_rename_failure(from: &Address) -> CliFailure {
    CliFailure::new(Exit::Failed, format!("the names of objects of {from} would change")).help(
        "Nothing was written. Give its resources a `name` first, or do it by hand with a `moved` entry.",
    )
}
