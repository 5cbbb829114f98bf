//! `stead mv` of a module, and of a resource in one: the file that declares it is edited, and says itself what
//! moved, so that everyone who uses the module is served.

use std::collections::BTreeSet;

use super::{
    NAME, Pairs, carried, carried_to, elsewhere, free, listed, lost, moved, place, redirect, spoken,
};
use crate::cli::addresses;
use crate::cli::args::Mv;
use crate::cli::edits::Edits;
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::files::{self, Shared};
use crate::cli::project::Begun;
use crate::cli::session::Session;
use crate::config::declarations::{is_taken, kind_at, module_of};
use crate::config::edit::{self, Edit, File, Literal, Path, Step};
use crate::config::stack::{Resource, Stack};
use crate::kinds::REGISTRY;
use crate::model::address::{Address, Name};
use crate::model::schema::{Attribute, Kind};
use crate::model::source::{Source, SourceId, Span};

/// What is to be called otherwise, as the files say it that declare it.
struct Change<'b> {
    begun: &'b Begun,
    /// Where it is declared.
    file: SourceId,
    /// What stands in front of its address: nothing in the stack's own files, else each instance of the module.
    prefixes: BTreeSet<Name>,
    /// Its address in there, and its new one.
    from: Address,
    to: Address,
    /// The way to its block, and the name that keeps the names of its objects.
    path: Path,
    name: Literal,
}

/// Gives a module, or a resource in one, another name.
///
/// # Errors
/// When there is none, the new name is taken, or something else would change.
pub(super) async fn run(session: &Session, begun: &Begun, args: &Mv) -> Result<Exit, Failure> {
    let (from, to) = (&args.from, &args.to);
    let change = match module_of(&REGISTRY, from.as_str()) {
        (_, "") => module(begun, from, to)?,
        _ => resource(begun, from, to)?,
    };
    let stack = &begun.project.stack;
    let pairs: Vec<(Address, Address)> = change
        .prefixes
        .iter()
        .map(|prefix| (change.from.clone().within(prefix), change.to.clone().within(prefix)))
        .collect();
    // What other environments have there may be named by it as well.
    let named = change.takes_name();
    let mut edits = change.edits(&pairs, named)?;
    let mut after = edits.read()?;
    if !keeps_names(stack, &after, &pairs) {
        edits = change.edits(&pairs, !named)?;
        after = edits.read()?;
        if !keeps_names(stack, &after, &pairs) {
            return Err(renames(from));
        }
    }
    let Some(also) = carried(stack, &after, &pairs) else { return Err(lost(stack, &after, from, &pairs)) };
    edits.make(change.file, &change.also(&also))?;
    if !edits.settle(session, args.yes).await? {
        return Ok(Exit::Failed);
    }
    session.next("plan", "shows the move");
    Ok(Exit::Done)
}

/// Finds a block of `use`.
fn module<'b>(begun: &'b Begun, from: &Address, to: &Address) -> Result<Change<'b>, Failure> {
    let stack = &begun.project.stack;
    let keyed = !stack.modules.contains_key(from.as_str());
    let instance = |name: &&Name| name.rsplit_once('.').is_some_and(|(block, _)| block == from.as_str());
    let found = stack.modules.get_key_value(from.as_str());
    let found = found.or_else(|| stack.modules.iter().find(|(name, _)| instance(name)));
    let Some((_, call)) = found else {
        let known = stack.modules.keys().map(Name::as_str);
        return Err(addresses::unknown(
            from.as_str(),
            known.chain(stack.resources.keys().map(Address::as_str)),
        ));
    };
    let outer = place(from).unwrap_or_default();
    if !outer.is_empty() && !stack.modules.contains_key(outer) {
        let help = format!(
            "Change the key in its `for_each`, and write `moved: [{{ from: {from}, to: {to} }}]`. What is named by \
             the key gets another name with it."
        );
        let text = format!("{from} is one instance of the module {outer}");
        return Err(Failure::new(Exit::Usage, text).help(spoken(begun, call.source, &help)));
    }
    if is_taken(&REGISTRY, to.last()) {
        let text = format!("`{}` means something else at the beginning of an address", to.last());
        return Err(Failure::new(Exit::Usage, text).help("Choose another name."));
    }
    fits(begun, from, to, *call)?;
    let within = |name: &Name| {
        let block = if keyed { name.rsplit_once('.')?.0 } else { name.as_str() };
        Some(Name::new(block.rsplit_once('.').map_or("", |(outer, _)| outer)))
    };
    let prefixes = stack.modules.iter().filter(|(_, other)| *other == call);
    let (from, to) = (last(from), last(to));
    let name = if keyed { format!("{from}-${{each.key}}") } else { from.to_string() };
    Ok(Change {
        begun,
        file: call.source,
        prefixes: prefixes.filter_map(|(name, _)| within(name)).collect(),
        path: Path::of("use").key(from.as_str()),
        name: Literal::text(name),
        from,
        to,
    })
}

/// Finds the block of a resource that a module declares.
fn resource<'b>(begun: &'b Begun, from: &Address, to: &Address) -> Result<Change<'b>, Failure> {
    let stack = &begun.project.stack;
    let is_instance = |one: &&Resource| {
        one.key.as_ref().is_some_and(|key| key == one.address.last())
            && place(&one.address) == Some(from.as_str())
    };
    let one = stack.resources.get(from).or_else(|| stack.resources.values().find(is_instance));
    let Some(one) = one else {
        return Err(addresses::unknown(from.as_str(), stack.resources.keys().map(Address::as_str)));
    };
    if one.address == *from && one.key.as_ref().is_some_and(|key| key == from.last()) {
        let (module, rest) = module_of(&REGISTRY, from.as_str());
        let new = to.below(module).unwrap_or(to.as_str());
        let help =
            format!("Change the key there, and write `moved: [{{ from: {rest}, to: {new} }}]` beside it.");
        let text = format!("{from} is one instance of a block in the module {module}");
        return Err(Failure::new(Exit::Usage, text).help(spoken(begun, one.span.source, &help)));
    }
    if let Some((collection, attribute)) = listed(stack, from) {
        let help =
            format!("To name it otherwise, write it as `{collection}: {{ NAME: {{ {attribute}: … }} }}`.");
        return Err(Failure::new(Exit::Usage, format!("{from} is named by what it says")).help(spoken(
            begun,
            one.span.source,
            &help,
        )));
    }
    fits(begun, from, to, one.span)?;
    let same = stack.resources.values().filter(|other| other.span == one.span);
    let (_, rest) = module_of(&REGISTRY, from.as_str());
    let (_, new) = module_of(&REGISTRY, to.as_str());
    let key = if one.address == *from { "" } else { "-${each.key}" };
    let failed = |_| elsewhere(begun, from, to, one.span.source);
    Ok(Change {
        begun,
        file: one.span.source,
        prefixes: same.map(|one| Name::new(module_of(&REGISTRY, one.address.as_str()).0)).collect(),
        path: Path::of(rest),
        name: Literal::text(format!("${{module}}-{}{key}", from.last())),
        from: Address::parse(rest).map_err(failed)?,
        to: Address::parse(new).map_err(failed)?,
    })
}

/// Refuses another place than the one that it has, and one that is taken.
fn fits(begun: &Begun, from: &Address, to: &Address, span: Span) -> Result<(), Failure> {
    if place(from) != place(to) {
        return Err(elsewhere(begun, from, to, span.source));
    }
    let modules = &begun.project.stack.modules;
    let taken = modules.keys().find(|name| Address::place(name).is_ok_and(|name| name.is_within(to)));
    match taken {
        Some(name) => Err(Failure::new(Exit::Usage, format!("{name} is declared already"))
            .help("Choose another name, or remove that block first.")),
        None => free(begun, to),
    }
}

impl Change<'_> {
    /// Makes the edits; `named` also those that keep the names of objects.
    fn edits(&self, pairs: &Pairs, named: bool) -> Result<Edits<'_>, Failure> {
        let mut edits = Edits::new(self.begun);
        let refers = self.refers();
        let files = self.files(&mut edits)?;
        for file in files {
            let mut wanted = Vec::new();
            if file == self.file {
                wanted.push(Edit::Rename(self.path.clone(), self.to.last().into()));
            }
            wanted.push(refers.clone());
            if file == self.file {
                let block = self.path.first(self.path.0.len() - 1).key(self.to.last());
                wanted.extend(named.then(|| Edit::Set(block.key(NAME), self.name.clone())));
                wanted.push(moved(&self.from, &self.to));
            }
            edits.make(file, &wanted)?;
        }
        for (file, source) in self.begun.files.iter() {
            let source = File { source, registry: &REGISTRY };
            edits.make(file, &edit::settings(&source, &|key| self.replaced(key, pairs)))?;
        }
        Ok(edits)
    }

    /// Tells whether its name is to be written: nothing says it there, and something may have it.
    fn takes_name(&self) -> bool {
        let stack = &self.begun.project.stack;
        let source = self.begun.files.get(self.file).or_else(|| stack.sources.get(self.file));
        let name = self.path.clone().key(NAME);
        if source.is_none_or(|source| edit::says(&File { source, registry: &REGISTRY }, &name)) {
            return false;
        }
        if kind_at(&REGISTRY, &self.from).is_some() {
            return may_have_name(&self.from);
        }
        let places: Vec<Address> =
            self.prefixes.iter().map(|prefix| self.from.clone().within(prefix)).collect();
        let is_in = |address: &Address| places.iter().any(|place| address.is_within(place));
        let mut known = stack.resources.keys().chain(stack.left_out.keys());
        known.any(|address| is_in(address) && may_have_name(address))
    }

    /// Returns the new text of a path that an environment replaces: `use.shop.vm.web.plan`, or as the address
    /// has it.
    fn replaced(&self, key: &str, pairs: &Pairs) -> Option<String> {
        let (front, address) = key.strip_prefix("use.").map_or(("", key), |rest| ("use.", rest));
        // In the stack's own files such a path goes with the references.
        if !front.is_empty() && self.begun.files.get(self.file).is_some() {
            return None;
        }
        let address = Address::parse(address).ok()?;
        let new = carried_to(&address, pairs);
        (new != address).then(|| format!("{front}{new}"))
    }

    /// Returns the edit by which references lead to the new name.
    fn refers(&self) -> Edit {
        match self.path.0.first() {
            Some(Step::Key(word)) if word == "use" => Edit::Redirect(vec![(
                format!("use.{}", self.from).into(),
                format!("use.{}", self.to).into(),
            )]),
            _ => redirect(&self.from, &self.to),
        }
    }

    /// Returns the files in which its name means something: those beside the one that declares it.
    fn files(&self, edits: &mut Edits<'_>) -> Result<Vec<SourceId>, Failure> {
        let begun = self.begun;
        if begun.files.get(self.file).is_some() {
            return Ok(begun.files.iter().map(|(id, _)| id).collect());
        }
        let stack = &begun.project.stack;
        let here = stack.sources.get(self.file).map(directory).unwrap_or_default();
        let root = Shared::of(&begun.project.directory, false).root;
        let mut found = Vec::new();
        for (id, source) in stack.sources.iter() {
            if begun.files.get(id).is_some() || directory(source) != here {
                continue;
            }
            let Some(path) = files::path_from(&root, source.path.as_ref()) else {
                return Err(self.outside(&source.path));
            };
            edits.add(id, path);
            found.push(id);
        }
        if self.prefixes.iter().any(Name::is_empty) || found.is_empty() {
            return Err(self.outside(here));
        }
        Ok(found)
    }

    fn outside(&self, path: &str) -> Failure {
        let from = self.prefixes.first().map(|prefix| self.from.clone().within(prefix));
        let from = from.unwrap_or_else(|| self.from.clone());
        let text = format!("{from} is declared in {path}, which is no file of this stack or its modules");
        Failure::new(Exit::Usage, text)
            .help("Change it there by hand, and write the `moved` entry beside it.")
    }

    /// Returns the entries of what else gets another address, as the files have it.
    fn also(&self, also: &Pairs) -> Vec<Edit> {
        let below = |address: &Address, prefix: &str| {
            address.below(prefix).and_then(|rest| Address::parse(rest).ok())
        };
        let relative = also.iter().filter_map(|(from, to)| {
            self.prefixes.iter().rev().find_map(|prefix| below(from, prefix).zip(below(to, prefix)))
        });
        relative.collect::<BTreeSet<_>>().iter().map(|(from, to)| moved(from, to)).collect()
    }
}

/// Tells whether every resource has the name that it had.
fn keeps_names(before: &Stack, after: &Stack, pairs: &Pairs) -> bool {
    let name = |one: &Resource| one.attributes.get(NAME).map(|setting| setting.expression.clone());
    before.resources.values().all(|one| {
        let now = after.resources.get(&carried_to(&one.address, pairs));
        now.is_none_or(|now| name(now) == name(one))
    })
}

/// Tells whether what stands at an address may be given a name: each module may.
fn may_have_name(address: &Address) -> bool {
    let writable = |kind: &Kind| kind.attribute(NAME).is_some_and(Attribute::is_writable);
    kind_at(&REGISTRY, address).is_none_or(writable)
}

fn renames(from: &Address) -> Failure {
    Failure::new(Exit::Failed, format!("the names of objects of {from} would change")).help(
        "Nothing was written. Give its resources a `name` first, or do it by hand with a `moved` entry.",
    )
}

/// Returns a file's directory, as it is shown.
fn directory(source: &Source) -> &str {
    source.path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// Returns the last part of an address as the place that it is in its file.
fn last(address: &Address) -> Address {
    Address::place(address.last()).unwrap_or_else(|_| address.clone())
}
