//! Overrides (`environments.X.set`): values that replace the value at exactly one path each.
//!
//! In: the environment's `set` and the stack's documents. Out: edited documents, and the overrides that are left.
//! Values in the stack's own files are replaced there, before any other phase reads them. Values of an instance or
//! of a module are written once for several resources, so they are replaced while each resource is resolved.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use foldhash::{HashMap, HashMapExt};

use crate::config::codes;
use crate::config::diagnostics::collector::DiagnosticCollector;
use crate::config::input::list_shorthand::{expand_list_shorthand, is_computed};
use crate::config::syntax::document::{Document, DocumentEntry, Node, NodeValue};
use crate::model::address::Name;
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::schema::Registry;
use crate::model::source::Span;

/// Position of each block by its keyword and name: index of the document, of the top-level entry, and of
/// the entry in it.
type BlockLocations = HashMap<(Name, Name), (usize, usize, usize)>;

/// Keywords that decide which instances exist: an instance cannot override them.
pub(in crate::config) const EXPANSION_KEYWORDS: [&str; 2] = ["for_each", "when"];

/// Result of applying overrides to the documents, with those that are still to apply.
#[derive(Debug, Default)]
pub(in crate::config) struct AppliedOverrides {
    /// Spans of the new values, applied or still to apply: a value with such a span was set by the environment.
    pub(in crate::config) spans: BTreeSet<Span>,
    /// Overrides of instances and of modules, still to apply.
    pub(in crate::config) later: Vec<DocumentEntry>,
}

/// Value that an override path names.
pub(in crate::config) enum OverrideTarget<'d> {
    /// A value in the stack's own files.
    Value(&'d mut Node),
    /// A value of an instance, or in a module.
    Deferred,
}

/// Applies the overrides of the selected environment to the documents of the stack. One whose path does
/// not exist is reported.
pub(in crate::config) fn replace_overridden_values(
    registry: &Registry,
    documents: &mut [Document],
    set: &[DocumentEntry],
    problems: &DiagnosticCollector,
) -> AppliedOverrides {
    let mut replaced = AppliedOverrides::default();
    if set.is_empty() {
        return replaced;
    }
    // Indexed once: a search for each override would take time that grows with their product.
    let blocks = index_blocks(documents);
    for entry in set {
        match find_target(registry, documents, &blocks, entry) {
            Ok(target) => {
                match target {
                    OverrideTarget::Value(node) => *node = entry.value.clone(),
                    OverrideTarget::Deferred => replaced.later.push(entry.clone()),
                }
                replaced.spans.insert(entry.value.span);
            }
            Err(problem) => problems.push(*problem),
        }
    }
    // A list that an override inserted may have plain entries to expand.
    for document in documents {
        expand_list_shorthand(document, registry);
    }
    replaced
}

/// Reports override paths that do not exist, of an environment that is not selected. Paths of instances and of
/// modules pass: their blocks are only known when the environment is resolved.
pub(in crate::config) fn check(
    registry: &Registry,
    documents: &mut [Document],
    set: &[DocumentEntry],
    problems: &DiagnosticCollector,
) {
    if set.is_empty() {
        return;
    }
    let blocks = index_blocks(documents);
    for entry in set {
        if let Err(problem) = find_target(registry, documents, &blocks, entry) {
            problems.push(*problem);
        }
    }
}

fn index_blocks(documents: &[Document]) -> BlockLocations {
    let mut blocks = BlockLocations::new();
    for (d, document) in documents.iter().enumerate() {
        for (r, root) in document.root.iter().enumerate() {
            for (b, block) in root.value.entries().unwrap_or_default().iter().enumerate() {
                blocks.insert((root.key.clone(), block.key.clone()), (d, r, b));
            }
        }
    }
    blocks
}

/// Returns the value that an override's path names.
///
/// # Errors
/// When the path is none of one value, or a step of it does not exist.
fn find_target<'d>(
    registry: &Registry,
    documents: &'d mut [Document],
    blocks: &BlockLocations,
    entry: &DocumentEntry,
) -> Result<OverrideTarget<'d>, Box<Diagnostic>> {
    let steps: Vec<&str> = entry.key.split('.').collect();
    let [root, name, rest @ ..] = steps.as_slice() else { return Err(Box::new(incomplete_path(entry))) };
    let is_kind = registry.top_level().any(|kind| kind.name == *root);
    let uses = |name: &str| blocks.contains_key(&(Name::new_static("use"), Name::new(name)));
    let is_input = *root == "use" && rest.first() == Some(&"with");
    // `use.shop.vm.web.plan`, or as the address has it: `shop.vm.web.plan`.
    if (*root == "use" && !is_input && uses(name) && rest.len() > 2)
        || (!is_kind && uses(root) && rest.len() > 1)
    {
        return Ok(OverrideTarget::Deferred);
    }
    let is_misspelt = *root == "use" && !uses(name);
    if rest.is_empty() || !(is_kind || is_misspelt || is_input && rest.len() > 1) {
        return Err(Box::new(incomplete_path(entry)));
    }
    let Some((d, r, b)) = blocks.get(&(Name::new(root), Name::new(name))) else {
        let known = blocks.keys().filter(|(of, _)| of == root).map(|(_, name)| name.as_str());
        return Err(Box::new(unknown_step(entry, root, name, known)));
    };
    let place = documents.get_mut(*d).and_then(|document| document.root.get_mut(*r));
    let body = place.and_then(|root| match &mut root.value.value {
        NodeValue::Mapping(blocks) => blocks.get_mut(*b),
        _ => None,
    });
    let Some(DocumentEntry { value: body, .. }) = body else {
        return Err(Box::new(incomplete_path(entry)));
    };
    walk_path(body, rest, format!("{root}.{name}"), entry)
}

/// Follows the steps `rest` of a path below a block. `way` is the path of the block, for messages. The target is
/// deferred if a step may be the key of an instance or derives from a value.
///
/// # Errors
/// When a step does not exist: an override replaces only values that are written.
pub(in crate::config) fn walk_path<'d>(
    mut node: &'d mut Node,
    rest: &[&str],
    mut way: String,
    entry: &DocumentEntry,
) -> Result<OverrideTarget<'d>, Box<Diagnostic>> {
    for (n, step) in rest.iter().enumerate() {
        let entries = match &mut node.value {
            NodeValue::Mapping(entries) => entries.as_mut_slice(),
            _ => &mut [],
        };
        let at = entries.iter().position(|entry| entry.key == *step);
        let by_value = entries.iter().any(is_computed);
        if by_value && at.is_none_or(|at| entries.get(at).is_some_and(is_computed)) {
            // The key of a plain entry derives from its value, which is not known yet.
            return Ok(OverrideTarget::Deferred);
        }
        let Some(at) = at else {
            // A step that is no key of the block may be the key of an instance.
            let keyed = entries.iter().any(|entry| entry.key == "for_each");
            if keyed && n + 1 < rest.len() {
                return Ok(OverrideTarget::Deferred);
            }
            return Err(Box::new(unknown_step(
                entry,
                &way,
                step,
                entries.iter().map(|entry| entry.key.as_str()),
            )));
        };
        node = &mut entries[at].value;
        way = format!("{way}.{step}");
    }
    Ok(OverrideTarget::Value(node))
}

/// Path inside of a resource, the first step that does not exist there, and the existing keys.
type UnmatchedOverride = (String, String, Vec<String>);

/// Overrides of instances and of modules, by the addresses to which they may apply. Resolution records their use
/// behind `RefCell`, because it shares them with all that it evaluates.
#[derive(Default)]
pub(in crate::config) struct Overrides<'d> {
    /// Each override under every proper prefix of its path: `shop`, `shop.vm`, `shop.vm.web`.
    pub(in crate::config) by_place: HashMap<&'d str, Vec<&'d DocumentEntry>>,
    /// All overrides, in the order of the files.
    pub(in crate::config) all: &'d [DocumentEntry],
    /// Spans of the values that replaced another one.
    pub(in crate::config) used: RefCell<BTreeSet<Span>>,
    /// For each override that matched a resource but no key in it, by the span of its value: what is missing.
    pub(in crate::config) missed: RefCell<BTreeMap<Span, UnmatchedOverride>>,
}

/// Returns an override's path in the form of an address: without the keyword `use`.
pub(in crate::config) fn override_path(entry: &DocumentEntry) -> &str {
    entry.key.strip_prefix("use.").unwrap_or(&entry.key)
}

impl<'d> Overrides<'d> {
    /// Indexes overrides by the prefixes of their paths.
    pub(in crate::config) fn new(all: &'d [DocumentEntry]) -> Self {
        let mut by_place: HashMap<&str, Vec<&DocumentEntry>> = HashMap::new();
        for entry in all {
            let path = override_path(entry);
            for (end, _) in path.match_indices('.') {
                by_place.entry(&path[..end]).or_default().push(entry);
            }
        }
        Self { by_place, all, ..Self::default() }
    }

    /// Returns the names by which overrides may refer to a module instance, after each of the `outer` names: with
    /// its key, and that of the whole `use` block. Only names to which an override refers; empty without any.
    pub(in crate::config) fn instance_names(
        &self,
        outer: &[Name],
        name: &str,
        key: Option<&Name>,
    ) -> Vec<Name> {
        let mut found = Vec::new();
        for before in outer.iter().filter(|_| !self.all.is_empty()) {
            let whole =
                if before.is_empty() { Name::new(name) } else { Name::new(format!("{before}.{name}")) };
            found.extend(key.map(|key| Name::new(format!("{whole}.{key}"))));
            found.push(whole);
        }
        found.retain(|place| self.by_place.contains_key(place.as_str()));
        found
    }
}

fn incomplete_path(entry: &DocumentEntry) -> Diagnostic {
    Diagnostic::error(codes::SET, "this path cannot be replaced")
        .with_label(entry.key_span, "")
        .detail("`set` replaces only values of a block or of the `with` of a module.")
        .help("write the path of one value: `database.main.storage_gb`, `use.shop.with.size`, or `use.shop.vm.web.plan`")
}

/// Returns the problem of an override whose path has no `step` after `way`, with the nearest of the `known` keys.
pub(in crate::config) fn unknown_step<'n>(
    entry: &DocumentEntry,
    way: &str,
    step: &str,
    known: impl Iterator<Item = &'n str>,
) -> Diagnostic {
    let problem = Diagnostic::error(codes::SET, "there is nothing at this path")
        .with_label(entry.key_span, "")
        .detail(format!("{way} has no `{step}`, and `set` replaces only existing values."));
    match nearest_name(step, known) {
        Some(near) => {
            let path: Vec<String> = entry
                .key
                .split('.')
                .map(|part| if part == step { near } else { part }.to_owned())
                .collect();
            problem.help(format!("did you mean `{}`?", path.join(".")))
        }
        None => problem.help(format!("write `{step}` there, with the value for the other environments")),
    }
}
