//! The names in the condition of a policy. In: its paths. Out: the values of variables and locals that it names, bound; a
//! root, a fact, a kind or an attribute that does not exist is reported at its place. What only the plan knows stays open.

use crate::config::codes;
use crate::config::resolve::context::evaluator::{ConfigContext, Evaluator};
use crate::config::resolve::context::scope::EvaluationSite;
use crate::config::resolve::names::{is_late, local_value, variable_value};
use crate::model::address::Name;
use crate::model::cel::policy::{CHANGE_ACTIONS, PolicyFact, fact_roots, facts_below, find_fact};
use crate::model::cel::{CelProgram, PathSegment, ReferencePath};
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::expression::Expression;
use crate::model::schema::{Attribute, Kind};
use crate::model::source::Span;
use crate::model::values::value::{Value, ValueMap};

pub(super) fn no_policy<T>(context: &ConfigContext<'_>, span: Span, detail: String) -> Option<T> {
    let help = "write `deny: \"${…}\"`, over `self` with `on: KIND`, or over `plan`";
    let problem = Diagnostic::error(codes::POLICY, "a policy is wrong").with_label(span, "");
    context.problems.push(problem.detail(detail).help(help));
    None
}

/// Who declares a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PolicyOwner {
    /// The files of the stack.
    Stack,
    /// The user's settings: the policy holds for every stack, and reads none of a stack's own values.
    Settings,
}

/// Checks one path of a `deny` condition, and binds the value of a variable, a local, `env`, `stack` or `unit` that it
/// names. `None` after a problem that was reported.
pub(super) fn check_denial_path(
    evaluator: &Evaluator<'_, '_>,
    path: &ReferencePath,
    (on, owner): (&[&'static Kind], PolicyOwner),
    span: Span,
    bindings: &mut ValueMap,
) -> Option<()> {
    let context = evaluator.context;
    match (path.root.as_str(), path.segment_name(0)) {
        ("env", _) => drop(bindings.insert(path.root.clone(), Value::Text(context.env.clone()))),
        ("stack", _) => drop(bindings.insert(path.root.clone(), Value::Text(context.stack.clone()))),
        ("unit", _) => {
            let unit = Value::text(format!("{}/{}", context.stack, context.env));
            drop(bindings.insert(path.root.clone(), unit));
        }
        ("vars" | "locals", _) if owner == PolicyOwner::Settings => {
            return refuse_own_values(context, &path.root, span);
        }
        ("vars" | "locals", Some(name)) => bind_named_value(evaluator, &path.root, name, span, bindings)?,
        ("plan", _) if !on.is_empty() => {
            let text = "`plan` is the plan as a whole, which only a policy without `on` reads.".to_owned();
            return no_policy(context, span, text);
        }
        ("vars" | "locals", None) => {
            let text = format!("`{0}` is read by name, as in `{0}.NAME`.", path.root);
            return no_policy(context, span, text);
        }
        ("plan", Some(name)) => {
            one_of(context, name, facts_below("plan"), "A plan", span)?;
            check_plan_path(context, path, span)?;
        }
        ("self", _) if on.is_empty() => {
            let text = "`self` is a resource of the kind that `on` names.".to_owned();
            return no_policy(context, span, text);
        }
        ("self", Some(name)) => {
            for kind in on {
                let what = format!("A {}", kind.name);
                one_of(context, name, attribute_names(kind).chain(facts_below("self")), &what, span)?;
                if let Some(before) = path.segment_name(1).filter(|_| name == "before") {
                    one_of(context, before, attribute_names(kind), &what, span)?;
                }
            }
        }
        ("plan" | "self", None) => {}
        (root, _) if find_fact(root).is_some_and(PolicyFact::is_contextual) => {}
        (root, _) => {
            let place = context.span_within(span, root);
            let problem = Diagnostic::error(codes::POLICY, "a policy is wrong").with_label(place, "");
            let problem = problem.detail(format!("`{root}` is not available in a policy."));
            let known = fact_roots().map(|fact| fact.path);
            context.problems.push(match nearest_name(root, known.clone()) {
                Some(near) => problem.help(format!("did you mean `{near}`?")),
                None => problem.help(format!("a policy reads {}", known.collect::<Vec<_>>().join(", "))),
            });
            return None;
        }
    }
    Some(())
}

/// Reports that a policy of the settings reads a value of the stack.
fn refuse_own_values<T>(context: &ConfigContext<'_>, root: &Name, span: Span) -> Option<T> {
    let place = context.span_within(span, root);
    let problem = Diagnostic::error(codes::POLICY, "a policy is wrong").with_label(place, "");
    let detail = format!("A policy that the settings name cannot read `{root}`: each stack sets its own.");
    let help = "write the value itself; where it depends on the stack, compare `unit`, `stack` or `env`";
    context.problems.push(problem.detail(detail).help(help));
    None
}

/// Binds the value of a variable or a local, which must be known now: the plan evaluates the policy without the
/// configuration.
fn bind_named_value(
    evaluator: &Evaluator<'_, '_>,
    root: &Name,
    name: &Name,
    span: Span,
    bindings: &mut ValueMap,
) -> Option<()> {
    let top = EvaluationSite::top_level(Some("a policy"));
    let value = match root.as_str() {
        "vars" => variable_value(evaluator, name, span, top)?,
        _ => local_value(evaluator, name, span, top)?,
    };
    let Expression::Value(value) = value else {
        is_late(evaluator.context, top, "resource that the local names", span);
        return None;
    };
    let charged = evaluator.context.budget.charge_value(value);
    evaluator.context.report_exceeded(charged, span, EvaluationSite::top_level(None))?;
    bind_value(bindings, root, name, value.clone());
    Some(())
}

/// Checks what follows `plan.counts` and `plan.changes` in a path.
fn check_plan_path(context: &ConfigContext<'_>, path: &ReferencePath, span: Span) -> Option<()> {
    match path.segment_name(0).map(Name::as_str) {
        Some("counts") => {
            let kinds = context.registry.kinds.iter().map(|kind| kind.name);
            if let Some(kind) = path.segment_name(1) {
                one_of(context, kind, kinds, "`plan.counts`", span)?;
            }
            if let Some(action) = path.segment_name(2) {
                one_of(context, action, CHANGE_ACTIONS.into_iter(), "`plan.counts`", span)?;
            }
        }
        Some("changes") if matches!(path.segments.get(1), Some(PathSegment::Computed(_))) => {
            check_change_path(context, &path.segments[2..], span)?;
        }
        _ => {}
    }
    Some(())
}

/// Checks what a condition reads of the entries of `plan.changes`, and the kinds with which it compares one. `None` after a
/// problem that was reported.
pub(super) fn check_entries(context: &ConfigContext<'_>, program: &CelProgram, span: Span) -> Option<()> {
    let mut is_correct = true;
    for path in program.entry_paths(&["plan", "changes"]) {
        is_correct &= check_change_path(context, &path.segments, span).is_some();
    }
    let is_of_stack = |path: &ReferencePath| matches!(path.root.as_str(), "vars" | "locals");
    for (path, kind) in program.compared_texts("kind") {
        let kinds = context.registry.kinds.iter().map(|kind| kind.name);
        is_correct &= is_of_stack(&path) || one_of(context, &kind, kinds, "The service", span).is_some();
    }
    is_correct.then_some(())
}

/// Checks the path below one entry of `plan.changes`.
fn check_change_path(context: &ConfigContext<'_>, segments: &[PathSegment], span: Span) -> Option<()> {
    let Some(PathSegment::Name(field)) = segments.first() else { return Some(()) };
    one_of(context, field, facts_below("plan.changes[]"), "A change", span)?;
    match segments.get(1) {
        Some(PathSegment::Name(attribute)) if matches!(field.as_str(), "before" | "after") => {
            let mut all: Vec<&str> =
                context.registry.kinds.iter().flat_map(|kind| attribute_names(kind)).collect();
            all.sort_unstable();
            all.dedup();
            one_of(context, attribute, all.iter().copied(), "No kind", span)
        }
        _ => Some(()),
    }
}

fn attribute_names(kind: &Kind) -> impl Iterator<Item = &'static str> + Clone {
    kind.attributes.iter().map(|attribute: &Attribute| attribute.name)
}

/// Reports a name that is none of the known ones, with the nearest; `None` then.
fn one_of<'n>(
    context: &ConfigContext<'_>,
    name: &str,
    known: impl Iterator<Item = &'n str> + Clone,
    what: &str,
    span: Span,
) -> Option<()> {
    /// The most names that a hint lists.
    const MAX_LISTED: usize = 30;
    if known.clone().any(|known| known == name) {
        return Some(());
    }
    let place = context.part_within(span, name);
    let verb = if what.starts_with("No ") { "has" } else { "has no" };
    let problem =
        Diagnostic::error(codes::UNKNOWN_REFERENCED_ATTRIBUTE, "there is no attribute of this name")
            .with_label(place, "")
            .detail(format!("{what} {verb} `{name}`."));
    let near = nearest_name(name, known.clone());
    context.problems.push(match near {
        Some(near) if place != span => problem.help(format!("did you mean `{near}`?")).fix(place, near),
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None if known.clone().count() > MAX_LISTED => {
            problem.help("stead explain lists the kinds and their attributes")
        }
        None => problem.help(format!("it has {}", known.collect::<Vec<_>>().join(", "))),
    });
    None
}

fn bind_value(bindings: &mut ValueMap, root: &Name, name: &Name, value: Value) {
    let place = bindings.get_or_insert_with(root.clone(), || Value::Map(ValueMap::new()));
    if let Value::Map(map) = place {
        map.insert(name.clone(), value);
    }
}
