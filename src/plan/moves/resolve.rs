//! `MoveResolver`: the new address of each ledger entry, from the `moved` declarations: entry by entry, parents first.
//!
//! A declaration about a resource takes precedence over one about the module that it is in, and that over one about an
//! outer module. A child moves with its parent.

use std::collections::BTreeMap;
use std::ops::Bound;

use foldhash::{HashMap, HashSet, HashSetExt};

use super::resolved::{MoveOrigin, ResolvedDeclarations};
use crate::config::stack::declarations::MovedDeclaration;
use crate::config::stack::model::Stack;
use crate::config::stack::module_path::module_of;
use crate::ledger::state::entry::Entry;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name, path_prefixes};
use crate::model::schema::Registry;
use crate::model::source::Span;
use crate::plan::model::transfers::ImpossibleMove;

/// The limit on addresses that one message names.
const MAX_LISTED_ADDRESSES: usize = 3;

/// Resolves the moves of ledger entries one by one, parents first.
pub(in crate::plan) struct MoveResolver<'a, 'l> {
    registry: Registry,
    stack: &'a Stack,
    ledger: &'l Ledger,
    rules: HashMap<&'a str, &'a MovedDeclaration>,
    /// Modules that directly contain ledger entries.
    holding: HashSet<&'l str>,
    /// For each keyed module that a whole module becomes: the relative addresses of the contents of its instances.
    inside: HashMap<&'a str, HashSet<&'a str>>,
    /// Modules that get a key and still contain entries without it.
    open: HashSet<&'a str>,
}

/// The new address of an entry, at the end of a chain of `moved` entries.
struct MoveTarget<'a> {
    to: Address,
    /// The last `moved` entry of the chain; `None` if it moves with its parent.
    span: Option<Span>,
    /// The `moved` entry of a whole module, if the chain starts with it.
    module: Option<&'a MovedDeclaration>,
}

/// Resolves the declarations of a stack against the entries of a ledger.
pub(in crate::plan) fn resolve_moves<'a>(
    registry: Registry,
    stack: &'a Stack,
    ledger: &Ledger,
) -> ResolvedDeclarations<'a> {
    let mut declared = ResolvedDeclarations::new(stack);
    if !stack.declarations.moved.is_empty() {
        MoveResolver::new(registry, stack, ledger).all(&mut declared);
    }
    declared
}

/// Occupied new addresses, by the `moved` entries of modules that lead there.
type ClaimedAddresses<'a> = BTreeMap<&'a Address, (&'a MovedDeclaration, Vec<(Address, Address)>)>;

impl<'a, 'l> MoveResolver<'a, 'l> {
    /// Prepares the moves of a stack's declarations. `open` is filled twice: whether a module is still open
    /// depends on where its entries would end if it were.
    pub fn new(registry: Registry, stack: &'a Stack, ledger: &'l Ledger) -> Self {
        let moved = &stack.declarations.moved;
        let rules = moved.iter().map(|moved| (moved.from.as_str(), moved)).collect();
        let inside = addresses_in_instances(stack);
        let holding = ledger.entries.keys().map(|entry| module_of(&registry, entry.as_str()).0).collect();
        let mut movers = Self { registry, stack, ledger, rules, holding, inside, open: HashSet::new() };
        movers.open = moved.iter().filter(|rule| gives_key(rule)).map(|rule| rule.from.as_str()).collect();
        let open = movers.rules.values().filter(|rule| gives_key(rule) && movers.is_open(rule));
        movers.open = open.map(|rule| rule.from.as_str()).collect();
        movers
    }

    /// Resolves the moves of all ledger entries, and adds them, or why one is impossible, to `declared`.
    pub fn all(&self, declared: &mut ResolvedDeclarations<'_>) {
        let mut taken: HashSet<Address> = HashSet::new();
        let mut modules: ClaimedAddresses<'_> = BTreeMap::new();
        // A problem of a whole module is reported once.
        let mut ambiguous: HashSet<Span> = HashSet::new();
        // A parent's address is a prefix of its children's, so it comes first.
        for (address, entry) in &self.ledger.entries {
            if let Some((rule, to)) = self.uncertain_move(address, entry) {
                if ambiguous.insert(rule.span) {
                    declared.impossible.push(like_a_key(address, rule, &to));
                }
                continue;
            }
            if self.stack.resources.contains_key(address) {
                continue;
            }
            let way = match self.find_destination(address, entry, declared) {
                Ok(Some(way)) => way,
                Ok(None) => continue,
                Err(impossible) => {
                    if impossible.span.is_none_or(|span| !self.is_module(span) || ambiguous.insert(span)) {
                        declared.impossible.push(impossible);
                    }
                    continue;
                }
            };
            if self.ledger.entries.contains_key(&way.to) || !taken.insert(way.to.clone()) {
                match way.module {
                    Some(rule) => {
                        let (_, pairs) = modules.entry(&rule.from).or_insert((rule, Vec::new()));
                        pairs.push((address.clone(), way.to));
                    }
                    None => declared.impossible.push(occupied_address(address, &way.to, way.span)),
                }
                continue;
            }
            let module = way.module.and_then(|rule| moved_module(rule, address, &way.to));
            let module = module.or_else(|| self.with_parent(address, &way.to, entry, declared));
            let before = MoveOrigin { address: address.clone(), stack: None, span: way.span, module };
            declared.was.insert(way.to.clone(), before);
            declared.moves.insert(address.clone(), way.to);
        }
        declared
            .impossible
            .extend(modules.into_values().map(|(rule, pairs)| occupied_module(rule, &pairs)));
    }

    /// Returns the new address of an entry: by declarations about it, else with its parent, else with its
    /// module. `None` if it keeps its address.
    fn find_destination(
        &self,
        address: &Address,
        entry: &Entry,
        declared: &ResolvedDeclarations<'_>,
    ) -> Result<Option<MoveTarget<'a>>, ImpossibleMove> {
        let mut way = MoveTarget { to: address.clone(), span: None, module: None };
        let mut moved = false;
        if self.matching_rule(&way.to, entry).is_none()
            && let Some(parent) = &entry.parent
            && let Some(new) = declared.moves.get(parent)
        {
            let rest = address.as_str().get(parent.as_str().len() + 1..).unwrap_or_default();
            way.to = new.join(rest);
            moved = true;
        }
        let mut made = Vec::new();
        // The configuration rejects cycles of moves; the limit covers addresses that follow from parents.
        for _ in 0..=self.rules.len() {
            if moved && self.stack.resources.contains_key(&way.to) {
                break;
            }
            let Some((rule, to)) = self.next_move(&way.to, entry, &made)? else { break };
            made.push(&rule.from);
            if rule.kind.is_none() && !moved {
                way.module = Some(rule);
            }
            (way.to, way.span, moved) = (to, Some(rule.span), true);
        }
        Ok(moved.then_some(way))
    }

    /// Returns the next `moved` entry for an address, and the address after it; `None` at the end of the chain.
    /// Entries in `made` are not applied again: an address that lost its key may look as if it had another one.
    fn next_move(
        &self,
        at: &Address,
        entry: &Entry,
        made: &[&Address],
    ) -> Result<Option<(&'a MovedDeclaration, Address)>, ImpossibleMove> {
        let Some((rule, key)) = self.matching_rule(at, entry) else { return self.module_step(at, made) };
        if rule.whole != key.is_some() && self.is_last(rule) {
            return Err(ambiguous_move(at, rule, key));
        }
        Ok(Some((rule, key.map_or_else(|| rule.to.clone(), |key| rule.to.join(&key)))))
    }

    /// Returns the `moved` entry for an address, with the instance's key if the entry is for a whole block;
    /// `None` if no entry names the resource itself.
    fn matching_rule(&self, at: &Address, entry: &Entry) -> Option<(&'a MovedDeclaration, Option<Name>)> {
        if let Some(rule) = self.rules.get(at.as_str()) {
            return Some((rule, None));
        }
        let (block, key) = at.as_str().rsplit_once('.')?;
        let of_kind = |rule: &&&MovedDeclaration| rule.kind.is_some_and(|kind| kind.name == entry.kind);
        let rule = self.rules.get(block).filter(of_kind)?;
        // `vm.web` to `vm.web.a`: the resource without a key gets one.
        (!rule.to.is_within(&rule.from)).then(|| (*rule, Some(Name::new(key))))
    }

    fn is_module(&self, span: Span) -> bool {
        self.rules.values().any(|rule| rule.kind.is_none() && rule.span == span)
    }

    fn is_last(&self, rule: &MovedDeclaration) -> bool {
        !self.rules.contains_key(rule.to.as_str())
    }

    /// Returns whether some `moved` entry applies to an address.
    fn goes_on(&self, at: &Address) -> bool {
        path_prefixes(at.as_str()).filter_map(|place| self.rules.get(place)).any(|rule| rule.applies_to(at))
    }

    /// Returns the `moved` entry of the innermost module that contains an address, and the address after it;
    /// `None` if no module that contains it moves.
    fn module_step(
        &self,
        at: &Address,
        made: &[&Address],
    ) -> Result<Option<(&'a MovedDeclaration, Address)>, ImpossibleMove> {
        let mut part = at.as_str();
        while let Some((above, _)) = part.rsplit_once('.') {
            part = above;
            let rule = self.rules.get(above).copied();
            let Some(rule) = rule.filter(|rule| rule.kind.is_none()) else { continue };
            if !rule.applies_to(at) || made.contains(&&rule.from) {
                continue;
            }
            // Once all entries without the key have got it, the others have, or had, a key of their own.
            if made.is_empty() && gives_key(rule) && !self.open.contains(rule.from.as_str()) {
                continue;
            }
            let rest = &at.as_str()[above.len() + 1..];
            let to = rule.to.join(rest);
            let lives = self.stack.modules.contains_key(module_of(&self.registry, to.as_str()).0);
            if rule.whole && self.is_in_an_instance(rule, &to, rest, lives) {
                return Err(ambiguous_move(at, rule, None));
            }
            if lives || self.goes_on(&to) {
                return Ok(Some((rule, to)));
            }
            // An entry that has a key already is not among those that get one.
            if rule.to.is_within(&rule.from) {
                return Ok(None);
            }
            return self.keyed_alike(rule, at, rest).map(|()| Some((rule, to)));
        }
        Ok(None)
    }

    /// Rejects an entry with a key where the new module has none, and the reverse.
    fn keyed_alike(&self, rule: &MovedDeclaration, at: &Address, rest: &str) -> Result<(), ImpossibleMove> {
        if rule.whole {
            let has_key = !module_of(&self.registry, rest).0.is_empty();
            return if has_key { Ok(()) } else { Err(ambiguous_move(at, rule, None)) };
        }
        let inner = module_of(&self.registry, rest).0;
        let Some(key) = inner.split('.').next().filter(|key| !key.is_empty()) else { return Ok(()) };
        // A module without keys contains resources of its own, or still contains the inner module.
        if self.holding.contains(rule.from.as_str()) || self.is_module_place(&rule.to.join(key)) {
            return Ok(());
        }
        Err(ambiguous_move(at, rule, Some(Name::new(key))))
    }

    /// Returns whether a module exists at an address, or would exist if no `when` left it out.
    fn is_module_place(&self, place: &Address) -> bool {
        let below = format!("{place}.");
        let mut near = self.stack.modules.range::<str, _>((Bound::Included(&*below), Bound::Unbounded));
        self.stack.modules.contains_key(place.as_str())
            || self.stack.left_out.contains_key(place)
            || near.next().is_some_and(|(name, _)| name.starts_with(&below))
    }

    /// Returns whether an address that is not declared under a key is declared within an instance: then the apparent
    /// key was the name of a module inside the unkeyed one.
    fn is_in_an_instance(&self, rule: &MovedDeclaration, to: &Address, rest: &str, lives: bool) -> bool {
        let Some(inside) = self.inside.get(rule.to.as_str()) else { return false };
        let inner = module_of(&self.registry, rest).0;
        let Some(first) = inner.split('.').next().filter(|first| !first.is_empty()) else { return false };
        let has_place = self.stack.resources.contains_key(to);
        !has_place && (inside.contains(rest) || !lives && inside.contains(first))
    }

    /// Returns the `moved` entry and the new address of an ambiguous move: the ledger entry may have its key
    /// already, or may still be in the module that gets the key and only look as if it had it. `None` if the
    /// move is not ambiguous.
    fn uncertain_move(&self, at: &Address, entry: &Entry) -> Option<(&'a MovedDeclaration, Address)> {
        // A child moves with its parent, and a declaration about one resource takes precedence.
        if entry.parent.is_some() || self.matching_rule(at, entry).is_some() {
            return None;
        }
        let is_declared = self.stack.resources.contains_key(at);
        let mut rules = path_prefixes(at.as_str()).filter_map(|place| self.rules.get(place).copied());
        rules.find_map(|rule| {
            let may_be = gives_key(rule) && !rule.applies_to(at);
            let may_be = may_be && (!is_declared || self.open.contains(rule.from.as_str()));
            let rest = at.strip_module(rule.from.as_str()).filter(|_| may_be)?;
            let end = self.final_address(rule, rest, entry);
            end.filter(|to| !self.ledger.entries.contains_key(to)).map(|to| (rule, to))
        })
    }

    /// Returns the declared address at the end of a chain of moves, if there is one.
    fn final_address(&self, rule: &'a MovedDeclaration, rest: &str, entry: &Entry) -> Option<Address> {
        let (mut at, mut made) = (rule.to.join(rest), vec![&rule.from]);
        for _ in 0..=self.rules.len() {
            if self.stack.resources.contains_key(&at) {
                return Some(at);
            }
            let (rule, to) = self.next_move(&at, entry, &made).ok().flatten()?;
            made.push(&rule.from);
            at = to;
        }
        None
    }

    /// Returns whether a module still contains entries that must get its key.
    fn is_open(&self, rule: &'a MovedDeclaration) -> bool {
        let from = rule.from.as_str();
        let near = self.ledger.entries.range::<str, _>((Bound::Included(from), Bound::Unbounded));
        let mut near = near.take_while(|(address, _)| address.as_str().starts_with(from));
        near.any(|(address, entry)| {
            let is_left = rule.applies_to(address) && !self.stack.resources.contains_key(address);
            is_left
                && address
                    .strip_module(from)
                    .is_some_and(|rest| self.final_address(rule, rest, entry).is_some())
        })
    }

    /// Returns the old and the new address of the module with which a child's parent moves; `None` if
    /// the parent moves alone.
    fn with_parent(
        &self,
        address: &Address,
        to: &Address,
        entry: &Entry,
        declared: &ResolvedDeclarations<'_>,
    ) -> Option<(Name, Name)> {
        let parent = self.ledger.entries.get_key_value(entry.parent.as_ref()?)?.0;
        let (from, into) = declared.was.get(declared.moves.get(parent)?)?.module.clone()?;
        (address.strip_module(&from)? == to.strip_module(&into)?).then_some((from, into))
    }
}

/// Returns, for each keyed module that a whole module becomes, the relative addresses of the contents of its instances.
fn addresses_in_instances(stack: &Stack) -> HashMap<&str, HashSet<&str>> {
    let whole = stack.declarations.moved.iter().filter(|rule| rule.whole && rule.kind.is_none());
    let mut inside: HashMap<&str, HashSet<&str>> =
        whole.map(|rule| (rule.to.as_str(), HashSet::new())).collect();
    if inside.is_empty() {
        return inside;
    }
    let modules = stack.modules.keys().map(Name::as_str);
    for address in stack.resources.keys().map(Address::as_str).chain(modules) {
        for place in path_prefixes(address) {
            let rest = address[place.len()..].strip_prefix('.').and_then(|rest| rest.split_once('.'));
            if let (Some((_, rest)), Some(found)) = (rest, inside.get_mut(place)) {
                found.insert(rest);
            }
        }
    }
    inside
}

/// Returns whether a `moved` entry gives a key to a module without one.
fn gives_key(rule: &MovedDeclaration) -> bool {
    rule.kind.is_none() && rule.to.is_within(&rule.from)
}

/// Returns the old and the new module address of a move; `None` if the rest of the address does not stay the same.
fn moved_module(rule: &MovedDeclaration, from: &Address, to: &Address) -> Option<(Name, Name)> {
    let rest = from.strip_module(rule.from.as_str())?;
    let place = to.as_str().strip_suffix(rest)?.strip_suffix('.')?;
    Some((Name::new(rule.from.as_str()), Name::new(place)))
}

fn occupied_address(address: &Address, to: &Address, span: Option<Span>) -> ImpossibleMove {
    let help = format!(
        "Remove the `moved` entry; then forget the object that is not needed: `removed: [{{ from: {address}, action: forget }}]` (or delete)."
    );
    let text = format!("{address} cannot become {to}: that has an object of its own already.");
    ImpossibleMove { address: address.clone(), text, help, span }
}

/// Returns the problem that addresses of a moved module are occupied: one for all of them.
fn occupied_module(rule: &MovedDeclaration, pairs: &[(Address, Address)]) -> ImpossibleMove {
    let told: Vec<&str> = pairs.iter().take(MAX_LISTED_ADDRESSES).map(|(_, to)| to.as_str()).collect();
    let more = pairs.len() - told.len();
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let has = if pairs.len() == 1 { "has an object of its own" } else { "have objects of their own" };
    let text = format!("{} cannot become {}: {}{more} {has} already.", rule.from, rule.to, told.join(", "));
    let help = format!(
        "Remove the `moved` entry; then forget the object that is not needed: `removed: [{{ from: {}, action: forget }}]` (or delete).",
        rule.from
    );
    let address = pairs.first().map_or_else(|| rule.from.clone(), |(from, _)| from.clone());
    ImpossibleMove { address, text, help, span: Some(rule.span) }
}

/// Returns the problem that an address may have its key already, or be in a module with the same name as the key.
fn like_a_key(at: &Address, rule: &MovedDeclaration, to: &Address) -> ImpossibleMove {
    let text = format!(
        "{at} may be in {} already, or in the module of {} that has the same name as the key.",
        rule.to, rule.from
    );
    let help = format!(
        "If it is in that module, write `moved: [{{ from: {at}, to: {to} }}]`. If all of {} has its key, remove the entry.",
        rule.from
    );
    ImpossibleMove { address: at.clone(), text, help, span: Some(rule.span) }
}

fn ambiguous_move(at: &Address, rule: &MovedDeclaration, key: Option<Name>) -> ImpossibleMove {
    let (one, several) = match rule.kind {
        Some(_) => ("one resource", "one of several"),
        None => ("in one module", "in one of several modules"),
    };
    let single = if rule.kind.is_some() { "one resource" } else { "one module" };
    let (text, help) = match key {
        None => (
            format!("{at} is {one}, and {} has `for_each`.", rule.to),
            format!("Name the instance that it becomes: `to: {}.KEY`.", rule.to),
        ),
        Some(key) => (
            format!("{at} is {several}, and {} is {single}.", rule.to),
            format!("Name the one that moves: `from: {}.{key}`.", rule.from),
        ),
    };
    ImpossibleMove { address: at.clone(), text, help, span: Some(rule.span) }
}
