//! Check of the overrides (`environments.X.set`) of instances and modules: one that replaced nothing is a
//! mistake. In: the resolved units and the overrides, with the records of which were used. Out: diagnostics that
//! name the nearest path.

use crate::config::codes;
use crate::config::merge::overrides::{EXPANSION_KEYWORDS, override_path, unknown_step};
use crate::config::resolve::context::block_index::BlockExpansion;
use crate::config::resolve::context::evaluator::ConfigContext;
use crate::config::resolve::context::resolved::ResolvedUnits;
use crate::config::syntax::document::DocumentEntry;
use crate::model::address::Name;
use crate::model::diagnostic::{Diagnostic, MAX_CANDIDATES, nearest_name};

/// Reports overrides that replaced nothing, except in blocks that this environment leaves out: they replace a value
/// where the block exists.
pub(in crate::config) fn check_overrides(context: &ConfigContext<'_>, units: &ResolvedUnits<'_>) {
    let used = context.overrides.used.borrow();
    let missed = context.overrides.missed.borrow();
    for entry in context.overrides.all.iter().filter(|entry| !used.contains(&entry.value.span)) {
        // The block may exist in an instance or a stack with other variables.
        if is_left_out(units, override_path(entry)) {
            continue;
        }
        context.problems.push(match missed.get(&entry.value.span) {
            Some((_, step, _)) if EXPANSION_KEYWORDS.contains(&step.as_str()) => of_blocks(entry, step),
            Some((way, step, known)) => unknown_step(entry, way, step, known.iter().map(String::as_str)),
            None => unmatched_override(units, entry),
        });
    }
}

/// Returns whether a path leads into a module, a block or an instance that this environment leaves out.
fn is_left_out(units: &ResolvedUnits<'_>, path: &str) -> bool {
    let within = |place: &Name| path.strip_prefix(place.as_str()).is_some_and(|rest| rest.starts_with('.'));
    if units.absent_modules.iter().any(within) {
        return true;
    }
    path.match_indices('.').any(|(end, _)| {
        let rest = &path[end + 1..];
        units.blocks.get(&path[..end]).is_some_and(|block| match &block.state {
            BlockExpansion::Absent => true,
            BlockExpansion::Keyed(keys) => {
                matches!(keys.get(rest.split('.').next().unwrap_or_default()), Some(None))
            }
            _ => false,
        })
    })
}

fn unmatched_override(units: &ResolvedUnits<'_>, entry: &DocumentEntry) -> Diagnostic {
    let problem = Diagnostic::error(codes::SET, "there is nothing at this path")
        .with_label(entry.key_span, "")
        .detail("This environment has no resource there.");
    let known = units.resources.iter().take(MAX_CANDIDATES).flat_map(|resource| {
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
