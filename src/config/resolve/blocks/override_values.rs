//! Overrides of instances and modules, applied while each resource is resolved. In: the overrides that could not be
//! applied to the files. Out: the resource's entries with other values, and records of which overrides were used,
//! from which `check::overrides` reports the others.

use crate::config::merge::overrides::{EXPANSION_KEYWORDS, OverrideTarget, override_path, walk_path};
use crate::config::resolve::context::block_index::DeclaredBlock;
use crate::config::resolve::context::evaluator::{ConfigContext, Evaluator};
use crate::config::syntax::document::DocumentEntry;
use crate::model::address::Address;

/// Returns the overrides of a resource, each with the steps of its path inside of the resource. The least
/// specific are first, so that a later one replaces them: the whole `use` block, the module instance; in each
/// the block, the resource.
pub(in crate::config) fn override_values<'d>(
    evaluator: &Evaluator<'_, 'd>,
    block: &DeclaredBlock<'d>,
    address: &Address,
) -> Vec<(Vec<&'d str>, &'d DocumentEntry)> {
    let mut found = Vec::new();
    if evaluator.context.overrides.all.is_empty() {
        return found;
    }
    for place in evaluator.scope.override_names.iter().rev() {
        let whole = Some(&block.address).filter(|block| *block != address);
        for (is_block, address) in whole.map(|whole| (true, whole)).into_iter().chain([(false, address)]) {
            let below = address.strip_module(&evaluator.scope.prefix).unwrap_or_default();
            let whole = if place.is_empty() { below.to_owned() } else { format!("{place}.{below}") };
            for entry in evaluator.context.overrides.by_place.get(whole.as_str()).into_iter().flatten() {
                let rest = &override_path(entry)[whole.len() + 1..];
                let steps: Vec<&str> = rest.split('.').collect();
                // A step that is no keyword of a whole block may be the key of an instance.
                if !is_block || block.get(steps[0]).is_some() {
                    found.push((steps, *entry));
                }
            }
        }
    }
    found
}

/// Returns a block's entry with the overrides of a resource applied; `None` if none names the entry. Records each
/// override as used, or what its path misses.
pub(in crate::config) fn replaced_in<'d>(
    context: &ConfigContext<'d>,
    entry: &DocumentEntry,
    address: &Address,
    overrides: &[(Vec<&'d str>, &'d DocumentEntry)],
) -> Option<DocumentEntry> {
    let mut new: Option<DocumentEntry> = None;
    for (steps, by) in overrides.iter().filter(|(steps, _)| steps[0] == entry.key) {
        // The instances exist already: `not_written` records the override as one that cannot apply.
        if EXPANSION_KEYWORDS.contains(&steps[0]) {
            continue;
        }
        let changed = new.get_or_insert_with(|| entry.clone());
        match walk_path(&mut changed.value, &steps[1..], entry.key.to_string(), by) {
            Ok(OverrideTarget::Value(node)) => {
                *node = by.value.clone();
                context.overrides.used.borrow_mut().insert(by.value.span);
            }
            Ok(OverrideTarget::Deferred) => {}
            Err(_) => {
                let known = entry.value.entries().unwrap_or_default();
                let known = known.iter().map(|entry| entry.key.to_string()).collect();
                let missed = (format!("{address}.{}", entry.key), steps[1..].join("."), known);
                context.overrides.missed.borrow_mut().insert(by.value.span, missed);
            }
        }
    }
    new
}

/// Records the overrides of a resource that name a key which the block does not write, or one that
/// decides which instances exist.
pub(in crate::config) fn not_written<'d>(
    context: &ConfigContext<'d>,
    block: &DeclaredBlock<'d>,
    address: &Address,
    overrides: &[(Vec<&'d str>, &'d DocumentEntry)],
) {
    for (steps, by) in overrides {
        let written = block.body().iter().any(|entry| entry.key == steps[0]);
        if !written || EXPANSION_KEYWORDS.contains(&steps[0]) {
            let known = block.body().iter().map(|entry| entry.key.to_string()).collect();
            let missed = (address.to_string(), steps[0].to_owned(), known);
            context.overrides.missed.borrow_mut().entry(by.value.span).or_insert(missed);
        }
    }
}
