//! The locals and the calls of modules: named values that may use variables, each other and, once all blocks are
//! declared, live objects. In: the entries. Out: their order, and the value of a local. Calls are resolved by
//! `unit`, which resolves the module.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::codes;
use crate::config::merge::blocks::NamedEntries;
use crate::config::resolve::context::evaluator::{ConfigContext, Evaluator};
use crate::config::resolve::context::scope::{EvaluationSite, LocalBinding, LocalValue, ResolvedLocal};
use crate::config::resolve::template::{TemplatePart, TextTemplate};
use crate::config::resolve::untyped_values::resolve_untyped;
use crate::config::syntax::document::{DocumentEntry, Node, NodeValue};
use crate::model::address::Name;
use crate::model::cel::PathSegment;
use crate::model::diagnostic::Diagnostic;
use crate::model::graph::Graph;
use crate::model::values::value::Value;

/// Locals and module calls in dependency order.
pub(in crate::config) struct LocalOrder<'d> {
    /// Steps that depend on no live object, in order; their values may decide which blocks exist.
    pub(in crate::config) early: Vec<LocalOrCall<'d>>,
    /// Steps that depend on live objects, directly or indirectly, in order; resolved once all blocks are declared.
    pub(in crate::config) late: Vec<LocalOrCall<'d>>,
    /// Names without a value for now: the late ones as deferred, or all names as broken after a dependency cycle.
    pub(in crate::config) unresolved: Vec<(LocalName, LocalValue)>,
}

/// One local or module call to resolve.
#[derive(Clone, Copy)]
pub(in crate::config) enum LocalOrCall<'d> {
    Local(&'d DocumentEntry),
    /// A call of a module (`use`).
    Call(&'d DocumentEntry),
}

/// Root, `locals` or `use`, and name.
pub(in crate::config) type LocalName = (&'static str, Name);

/// Names to which a local or a module call refers.
#[derive(Default)]
struct LocalDependencies {
    /// Locals and module calls that it names, declared or not.
    named: BTreeSet<LocalName>,
    /// Whether it names a live object, a lookup or another stack.
    live: bool,
}

/// Sorts locals and module calls by dependency. Reports dependency cycles; then all locals and calls count as
/// broken, because no order is known.
pub(in crate::config) fn order_values<'d>(
    context: &ConfigContext<'d>,
    locals: &NamedEntries<'d>,
    calls: &NamedEntries<'d>,
) -> LocalOrder<'d> {
    let named = |root, entries: &NamedEntries<'d>| {
        entries.iter().map(|(name, entry)| ((root, name.clone()), *entry)).collect::<Vec<_>>()
    };
    let entries: BTreeMap<LocalName, &'d DocumentEntry> =
        named("locals", locals).into_iter().chain(named("use", calls)).collect();
    let uses: BTreeMap<&LocalName, LocalDependencies> =
        entries.iter().map(|(name, entry)| (name, collect_uses(context, &entry.value))).collect();
    let mut graph = Graph::default();
    let nodes: BTreeMap<&LocalName, _> = entries.keys().map(|name| (name, graph.add(name))).collect();
    for (name, uses) in &uses {
        for used in &uses.named {
            if let (Some(before), Some(after)) = (nodes.get(used), nodes.get(name)) {
                graph.add_edge(*before, *after);
            }
        }
    }
    let order = match graph.topological_order() {
        Ok(order) => order,
        Err(cycles) => {
            for cycle in cycles {
                let names: Vec<&LocalName> =
                    cycle.iter().filter_map(|id| graph.get(*id).copied()).collect();
                context.problems.push(local_cycle_problem(&names, &entries, &uses));
            }
            let unresolved = entries.into_keys().map(|name| (name, LocalValue::Broken)).collect();
            return LocalOrder { early: Vec::new(), late: Vec::new(), unresolved };
        }
    };
    let mut late = BTreeSet::new();
    let mut ordered = LocalOrder { early: Vec::new(), late: Vec::new(), unresolved: Vec::new() };
    for name in order.into_iter().filter_map(|id| graph.get(id).copied()) {
        let (Some(uses), Some(entry)) = (uses.get(name), entries.get(name)) else { continue };
        let step = if name.0 == "use" { LocalOrCall::Call(entry) } else { LocalOrCall::Local(entry) };
        if uses.live || uses.named.iter().any(|used| late.contains(used)) {
            late.insert(name.clone());
            ordered.unresolved.push((name.clone(), LocalValue::Deferred));
            ordered.late.push(step);
        } else {
            ordered.early.push(step);
        }
    }
    ordered
}

/// Resolves the value of a local; broken after a problem that was reported. The budget that it is charged is part
/// of the result, because a module refunds it when it is left.
pub(in crate::config) fn resolve_local<'d>(
    evaluator: &Evaluator<'_, 'd>,
    entry: &'d DocumentEntry,
) -> ResolvedLocal {
    // The value is stored twice, as an expression and as a known value: the cost is that of both.
    let before = evaluator.context.budget.mark();
    let resolved = resolve_untyped(evaluator, &entry.value, EvaluationSite::top_level(None));
    let known = resolved
        .as_ref()
        .and_then(|resolved| evaluator.context.known_now(&resolved.expression, entry.value.span));
    let cost = evaluator.context.budget.cost_since(before);
    let binding = match resolved {
        Some(resolved) => {
            LocalBinding { value: LocalValue::Ready(resolved.expression), origin: resolved.origin }
        }
        None => LocalBinding { value: LocalValue::Broken, origin: None },
    };
    ResolvedLocal { binding, known: known.unwrap_or(Value::Null), cost }
}

/// Returns the names that a node uses. An expression that does not parse uses none: its problem is reported
/// when it is resolved.
fn collect_uses(context: &ConfigContext<'_>, node: &Node) -> LocalDependencies {
    let mut uses = LocalDependencies::default();
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        match &node.value {
            NodeValue::Null | NodeValue::Bare => {}
            NodeValue::Sequence(items) => open.extend(items),
            NodeValue::Mapping(entries) => open.extend(entries.iter().map(|entry| &entry.value)),
            NodeValue::Scalar(scalar) => text_uses(context, &scalar.text, &mut uses),
        }
    }
    uses
}

fn text_uses(context: &ConfigContext<'_>, text: &str, uses: &mut LocalDependencies) {
    // No name counts as a root here: an ambiguous `$` is reported when the value is resolved.
    let Ok(Some(template)) = TextTemplate::parse(text, |_| false) else { return };
    let mut name = |root: &Name, first: Option<&Name>| match (root.as_str(), first) {
        ("locals", Some(first)) => drop(uses.named.insert(("locals", first.clone()))),
        ("use", Some(first)) => drop(uses.named.insert(("use", first.clone()))),
        ("data" | "stacks", _) => uses.live = true,
        (root, _) => uses.live |= context.registry.top_level().any(|kind| kind.name == root),
    };
    for part in &template.parts {
        match part {
            TemplatePart::Text(_) => {}
            TemplatePart::Path(path) => {
                if let Some(root) = path.first() {
                    name(root, path.get(1));
                }
            }
            TemplatePart::Cel(source) => {
                let Ok(program) = context.parse_program(source) else { continue };
                for path in program.paths() {
                    let first = match path.segments.first() {
                        Some(PathSegment::Name(first)) => Some(first),
                        _ => None,
                    };
                    name(&path.root, first);
                }
            }
        }
    }
}

fn local_cycle_problem(
    names: &[&LocalName],
    entries: &BTreeMap<LocalName, &DocumentEntry>,
    uses: &BTreeMap<&LocalName, LocalDependencies>,
) -> Diagnostic {
    let modules = names.iter().any(|(root, _)| *root == "use");
    let summary = if modules {
        "inputs of modules depend on their own outputs"
    } else {
        "locals depend on each other in a cycle"
    };
    let mut problem = Diagnostic::error(codes::LOCAL_CYCLE, summary);
    let mut sorted = names.to_vec();
    sorted.sort();
    for name in &sorted {
        let next =
            sorted.iter().find(|other| uses.get(*name).is_some_and(|uses| uses.named.contains(**other)));
        if let (Some(entry), Some((root, next))) = (entries.get(*name), next) {
            problem =
                problem.with_label(entry.value.span, format!("{}.{} uses {root}.{next}", name.0, name.1));
        }
    }
    problem.help("give one of them a value that does not use the others")
}
