//! Detection of renamed modules: all resources at one module address are deleted, and the same ones are created
//! at another. Out: hints only; the decisions of the plan stay as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use foldhash::{HashMap, HashMapExt};

use super::similarity::{NAME, similarity_key};
use crate::config::stack::model::Resource;
use crate::config::stack::module_path::module_of;
use crate::model::address::{self, Address, is_in};
use crate::model::source::Span;
use crate::plan::decision::{Decision, DecisionKind};
use crate::plan::join::joined_state::{JoinedState, ResourceState};
use crate::plan::model::note::{NoteCode, PlanNote};

/// The resources at a module address: the comparable content of each, by its address relative to the module.
type ModuleContents<'s> = BTreeMap<&'s str, String>;

/// The limit on compared pairs of module addresses: beyond it no hint is given, as the comparison is quadratic.
const MAX_PAIRS: usize = 40_000;

/// A module address that is removed, and the one that replaces it.
#[derive(Debug, Clone, Copy)]
pub(in crate::plan) struct ModuleRename<'s> {
    /// The module address before the change.
    pub from: &'s str,
    /// The module address after the change.
    pub to: &'s str,
}

impl ModuleRename<'_> {
    /// Returns whether an address is inside the old or the new module address.
    pub fn contains_address(&self, address: &str) -> bool {
        is_in(address, self.from) || is_in(address, self.to)
    }
}

/// Finds the modules that look renamed, sorted by old address. The most similar pairs are matched first, each module in
/// at most one pair; a module with several equally similar partners gets none, as the hint would be a guess.
pub(in crate::plan) fn find_renamed_modules<'s>(
    joined: &'s JoinedState<'_>,
    decisions: &[Decision<'_>],
) -> Vec<ModuleRename<'s>> {
    let (gone, new) = changed_modules(joined, decisions);
    if gone.len().saturating_mul(new.len()) > MAX_PAIRS {
        return Vec::new();
    }
    let scores = gone.iter().flat_map(|(from, old)| {
        new.iter().map(move |(to, contents)| (similarity_score(old, contents), ModuleRename { from, to }))
    });
    let mut scores: Vec<(usize, ModuleRename<'s>)> = scores.filter(|(score, _)| *score > 0).collect();
    let mut found: Vec<ModuleRename<'s>> = Vec::new();
    while let Some(best) = scores.iter().map(|(score, _)| *score).max() {
        let of_best: Vec<ModuleRename<'s>> =
            scores.iter().filter(|(score, _)| *score == best).map(|(_, renamed)| *renamed).collect();
        let (mut from, mut to) = (HashMap::new(), HashMap::new());
        for one in &of_best {
            *from.entry(one.from).or_insert(0_usize) += 1;
            *to.entry(one.to).or_insert(0_usize) += 1;
        }
        found.extend(of_best.iter().filter(|one| from[one.from] == 1 && to[one.to] == 1));
        scores.retain(|(_, one)| !from.contains_key(one.from) && !to.contains_key(one.to));
    }
    found.sort_by_key(|renamed| renamed.from);
    found
}

/// Returns the hint for a renamed module.
pub(in crate::plan) fn module_rename_note(
    joined: &JoinedState<'_>,
    renamed: &ModuleRename<'_>,
) -> PlanNote {
    let ModuleRename { from, to } = renamed;
    let span = module_call_span(joined, to);
    let mut help = format!("to keep the objects, write `moved: [{{ from: {from}, to: {to} }}]`");
    if let Some(name) = name_prefix_hint(joined, renamed) {
        help = format!("{help}, and in the block of {to} `name: {name}`, which keeps their names");
    }
    PlanNote {
        code: NoteCode::Rename,
        text: format!("the deletion of all of {from} and the creation of {to} look like a rename"),
        help: joined.render_help(span, &help),
        source: span.and_then(|span| joined.inputs.stack.sources.location_of(span)),
        address: None,
    }
}

/// Returns the `name` that keeps the names of a module's resources, where they begin with the module's name;
/// `None` if no derived name changes, or if `to` is a single key of a block.
fn name_prefix_hint(
    joined: &JoinedState<'_>,
    ModuleRename { from, to }: &ModuleRename<'_>,
) -> Option<String> {
    let stack = joined.inputs.stack;
    let is_block = |place: &str| match place.rsplit_once('.') {
        Some((outer, _)) => stack.modules.contains_key(outer),
        None => true,
    };
    let changes = |resource: &Resource| {
        let now = resource.attributes.get(NAME).filter(|name| name.span == resource.span)?;
        let rest = resource.address.as_str().strip_prefix(to).filter(|rest| rest.starts_with('.'))?;
        let old = Address::parse(&format!("{from}{rest}")).ok()?;
        let before = joined.inputs.ledger.entries.get(&old)?.applied.get(NAME)?;
        (now.expression.known_value() != Some(before)).then_some(())
    };
    let by_default = stack.resources.values().any(|resource| changes(resource).is_some());
    // One `name` applies to all keys of the block, so it cannot be suggested for a single key.
    if !by_default || !is_block(to) {
        return None;
    }
    let own = from.rsplit('.').next().unwrap_or(from);
    let keyed = !stack.modules.contains_key(*to);
    Some(if keyed { format!("\"{own}-${{each.key}}\"") } else { own.to_owned() })
}

/// Returns the module addresses that are removed, and those that are new, each with its resources.
fn changed_modules<'s>(
    joined: &'s JoinedState<'_>,
    decisions: &[Decision<'_>],
) -> (BTreeMap<&'s str, ModuleContents<'s>>, BTreeMap<&'s str, ModuleContents<'s>>) {
    let module =
        |subject: &ResourceState<'s>| module_of(&joined.inputs.registry, subject.address.as_str()).0;
    let known = joined.subjects.iter().filter(|subject| subject.entry.is_some());
    let known: BTreeSet<&str> = known.flat_map(|subject| address::path_prefixes(module(subject))).collect();
    let (mut gone, mut new) = (BTreeMap::new(), BTreeMap::new());
    for (subject, decision) in joined.subjects.iter().zip(decisions) {
        let mut ways = address::path_prefixes(module(subject));
        let (place, into) = match decision.act {
            DecisionKind::Delete if subject.resource.is_none() => {
                (ways.find(|place| module_call_span(joined, place).is_none()), &mut gone)
            }
            DecisionKind::Create if subject.entry.is_none() => {
                (ways.find(|place| !known.contains(place)), &mut new)
            }
            _ => continue,
        };
        let Some(place) = place else { continue };
        let rest = &subject.address.as_str()[place.len() + 1..];
        let contents: &mut ModuleContents<'s> = into.entry(place).or_default();
        contents.insert(rest, similarity_key(joined, subject, decision));
    }
    (gone, new)
}

/// Returns how many resources have the same content; 0 where most of one module is missing from the other.
fn similarity_score(one: &ModuleContents<'_>, other: &ModuleContents<'_>) -> usize {
    let common = one.keys().filter(|rest| other.contains_key(*rest)).count();
    if common * 2 < one.len().max(other.len()) {
        return 0;
    }
    one.iter().filter(|(rest, look)| other.get(*rest) == Some(look)).count()
}

/// Returns the span of the call of a module, or of the first instance at a module address; `None` if no
/// module is called there.
fn module_call_span(joined: &JoinedState<'_>, place: &str) -> Option<Span> {
    let modules = &joined.inputs.stack.modules;
    // In the map's order `shop-b` is between `shop` and `shop.a`.
    let first = modules.range::<str, _>((Bound::Included(place), Bound::Unbounded));
    let mut near = first.take_while(|(name, _)| name.starts_with(place));
    near.find(|(name, _)| is_in(name, place)).map(|(_, span)| *span)
}
