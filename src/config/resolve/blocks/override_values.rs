//! Overrides of instances and modules, applied while each resource is resolved.

use crate::config::diagnostics::codes;
use crate::config::merge::overrides::{
    EXPANSION_KEYWORDS, OverrideTarget, override_path, unknown_step, walk_path,
};
use crate::config::resolve::block_index::{BlockExpansion, DeclaredBlock};
use crate::config::resolve::evaluator::Evaluator;
use crate::config::syntax::document::DocumentEntry;
use crate::model::address::{Address, Name};
use crate::model::diagnostic::{Diagnostic, nearest_name};

/// Returns the overrides of a resource, each with the remaining steps, the least specific ones first.
pub(in crate::config) fn override_values<'d>(
    evaluator: &Evaluator<'d>,
    block: &DeclaredBlock<'d>,
    address: &Address,
) -> Vec<(Vec<&'d str>, &'d DocumentEntry)> {
    let mut found = Vec::new();
    if evaluator.overrides.all.is_empty() {
        return found;
    }
    for place in evaluator.scope.spoken.iter().rev() {
        let whole = Some(&block.address).filter(|block| *block != address);
        for (is_block, address) in whole.map(|whole| (true, whole)).into_iter().chain([(false, address)]) {
            let below = address.strip_module(&evaluator.scope.prefix).unwrap_or_default();
            let whole = if place.is_empty() { below.to_owned() } else { format!("{place}.{below}") };
            for entry in evaluator.overrides.by_place.get(whole.as_str()).into_iter().flatten() {
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

/// Returns a block's entry with the overrides of a resource applied; `None` if there are none.
pub(in crate::config) fn replaced_in<'d>(
    evaluator: &Evaluator<'d>,
    entry: &DocumentEntry,
    address: &Address,
    overrides: &[(Vec<&'d str>, &'d DocumentEntry)],
) -> Option<DocumentEntry> {
    let mut new: Option<DocumentEntry> = None;
    for (steps, by) in overrides.iter().filter(|(steps, _)| steps[0] == entry.key) {
        if EXPANSION_KEYWORDS.contains(&steps[0]) {
            continue;
        }
        let changed = new.get_or_insert_with(|| entry.clone());
        match walk_path(&mut changed.value, &steps[1..], entry.key.to_string(), by) {
            Ok(OverrideTarget::Value(node)) => {
                *node = by.value.clone();
                evaluator.overrides.used.borrow_mut().insert(by.value.span);
            }
            Ok(OverrideTarget::Deferred) => {}
            Err(_) => {
                let known = entry.value.entries().unwrap_or_default();
                let known = known.iter().map(|entry| entry.key.to_string()).collect();
                let missed = (format!("{address}.{}", entry.key), steps[1..].join("."), known);
                evaluator.overrides.missed.borrow_mut().insert(by.value.span, missed);
            }
        }
    }
    new
}

/// Records the overrides of a resource whose target is not written.
pub(in crate::config) fn not_written<'d>(
    evaluator: &Evaluator<'d>,
    block: &DeclaredBlock<'d>,
    address: &Address,
    overrides: &[(Vec<&'d str>, &'d DocumentEntry)],
) {
    for (steps, by) in overrides {
        let written = block.body().iter().any(|entry| entry.key == steps[0]);
        if !written || EXPANSION_KEYWORDS.contains(&steps[0]) {
            let known = block.body().iter().map(|entry| entry.key.to_string()).collect();
            let missed = (address.to_string(), steps[0].to_owned(), known);
            evaluator.overrides.missed.borrow_mut().entry(by.value.span).or_insert(missed);
        }
    }
}

/// Reports overrides that replaced nothing.
pub(in crate::config) fn unused_overrides(evaluator: &Evaluator<'_>) {
    let used = evaluator.overrides.used.borrow();
    let missed = evaluator.overrides.missed.borrow();
    for entry in evaluator.overrides.all.iter().filter(|entry| !used.contains(&entry.value.span)) {
        if is_left_out(evaluator, override_path(entry)) {
            continue;
        }
        evaluator.problems.push(match missed.get(&entry.value.span) {
            Some((_, step, _)) if EXPANSION_KEYWORDS.contains(&step.as_str()) => of_blocks(entry, step),
            Some((way, step, known)) => unknown_step(entry, way, step, known.iter().map(String::as_str)),
            None => unmatched_override(evaluator, entry),
        });
    }
}

/// Returns whether a path leads into a block that this environment leaves out.
fn is_left_out(evaluator: &Evaluator<'_>, path: &str) -> bool {
    let within = |place: &Name| path.strip_prefix(place.as_str()).is_some_and(|rest| rest.starts_with('.'));
    if evaluator.left_out.iter().any(within) {
        return true;
    }
    path.match_indices('.').any(|(end, _)| {
        let rest = &path[end + 1..];
        evaluator.index.get(&path[..end]).is_some_and(|block| match &block.state {
            BlockExpansion::Absent => true,
            BlockExpansion::Keyed(keys) => {
                matches!(keys.get(rest.split('.').next().unwrap_or_default()), Some(None))
            }
            _ => false,
        })
    })
}

fn unmatched_override(evaluator: &Evaluator<'_>, entry: &DocumentEntry) -> Diagnostic {
    let problem = Diagnostic::error(codes::SET, "there is nothing at this path")
        .with_label(entry.key_span, "")
        .detail("This environment has no resource there.");
    let known = evaluator.made.iter().take(MAX_CANDIDATES).flat_map(|resource| {
        let names = resource.attributes.keys();
        names.map(|name| format!("{}.{name}", resource.address)).collect::<Vec<_>>()
    });
    let known: Vec<String> = known.collect();
    match nearest_name(override_path(entry), known.iter().map(String::as_str)) {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None => problem.help("`stead render` shows every path of this environment"),
    }
}

fn of_blocks(entry: &DocumentEntry, step: &str) -> Diagnostic {
    Diagnostic::error(codes::SET, "this path cannot be replaced")
        .with_label(entry.key_span, "")
        .detail(format!("`{step}` determines which instances exist, and only the block can set it."))
        .help("use a variable for it in the block, and give that another value")
}

/// Above this number of addresses, no similar address is suggested.
const MAX_CANDIDATES: usize = 1_000;
