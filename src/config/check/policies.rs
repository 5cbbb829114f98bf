//! Policies: rules that a plan must pass, as a stack's files write them. In: the `policy` entries. Out: policies
//! whose condition names only fields that exist; a wrong one is reported, and absent. The plan evaluates them.

use std::collections::BTreeMap;

use crate::config::codes;
use crate::config::diagnostics::messages::unknown_word;
use crate::config::keywords;
use crate::config::merge::blocks::{NamedEntries, not_a_block};
use crate::config::resolve::context::evaluator::{ConfigContext, Evaluator};
use crate::config::resolve::context::scope::EvaluationSite;
use crate::config::resolve::expressions::syntax_problem;
use crate::config::resolve::names::{is_late, local_value, variable_value};
use crate::config::stack::model::Policy;
use crate::config::syntax::document::{DocumentEntry, Node, NodeValue, named_entries};
use crate::model::address::Name;
use crate::model::cel::{PathSegment, ReferencePath};
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::expression::{CelExpression, Expression};
use crate::model::schema::Kind;
use crate::model::source::Span;
use crate::model::values::value::{Value, ValueMap};

/// Fields of `self` in a policy on a kind, besides the resource's attributes.
pub const SELF_FIELDS: &[&str] = &["action", "address", "id", "key", "kind"];

/// Fields of `plan` in the condition of a policy.
pub const PLAN_FIELDS: &[&str] = &[
    "adopt",
    "changes",
    "create",
    "delete",
    "env",
    "forget",
    "monthly_after",
    "monthly_before",
    "monthly_delta",
    "move",
    "replace",
    "stack",
    "unchanged",
    "update",
];

/// Reads all policies, by name. A wrong one is reported, and absent.
pub(in crate::config) fn read_policies<'d>(
    evaluator: &Evaluator<'_, 'd>,
    entries: &NamedEntries<'d>,
) -> Vec<Policy> {
    entries.values().filter_map(|entry| read_policy(evaluator, entry)).collect()
}

fn read_policy<'d>(evaluator: &Evaluator<'_, 'd>, entry: &'d DocumentEntry) -> Option<Policy> {
    let Some(body) = named_entries(&entry.value) else {
        evaluator.context.problems.push(not_a_block(&entry.key, &entry.value));
        return None;
    };
    let (mut on, mut deny, mut message) = (Vec::new(), None, None);
    for key in body {
        match key.key.as_str() {
            "on" => on = policy_kinds(evaluator.context, &key.value)?,
            "deny" => deny = Some(&key.value),
            "message" => message = Some(read_message(evaluator.context, &key.value)?),
            _ => {
                evaluator.context.problems.push(unknown_word(key, keywords::POLICY));
                return None;
            }
        }
    }
    let (Some(deny), Some(message)) = (deny, message) else {
        let detail =
            "A policy has a condition that denies a change, and a message that explains the denial.";
        return no_policy(evaluator.context, entry.key_span, detail.to_owned());
    };
    let deny = read_denial(evaluator, deny, &on)?;
    Some(Policy { name: entry.key.clone(), on, deny, message, span: entry.key_span })
}

fn no_policy<T>(context: &ConfigContext<'_>, span: Span, detail: String) -> Option<T> {
    let help = "write `deny: \"${…}\"`, over `self` with `on: KIND`, or over `plan`";
    let problem = Diagnostic::error(codes::POLICY, "a policy is wrong").with_label(span, "");
    context.problems.push(problem.detail(detail).help(help));
    None
}

fn policy_kinds(context: &ConfigContext<'_>, node: &Node) -> Option<Vec<&'static Kind>> {
    let nodes = match &node.value {
        NodeValue::Sequence(nodes) => nodes.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let kind = |node: &Node| {
        let word = node.scalar().map(|scalar| scalar.text.as_str()).unwrap_or_default();
        if let Some(kind) = context.registry.kind(word) {
            return Some(kind);
        }
        let problem = Diagnostic::error(codes::POLICY, "a policy is wrong").with_label(node.span, "");
        let problem = problem.detail("`on` names kinds of resources.");
        let known = context.registry.kinds.iter().map(|kind| kind.name);
        context.problems.push(match nearest_name(word, known) {
            Some(near) => problem.help(format!("did you mean `{near}`?")).fix(node.span, near),
            None => problem.help("write `on: KIND`, or leave it out for a rule over the whole plan"),
        });
        None
    };
    let kinds: Vec<&'static Kind> = nodes.iter().map(kind).collect::<Option<_>>()?;
    let twice =
        kinds.iter().enumerate().find(|(n, kind)| kinds[..*n].iter().any(|one| one.name == kind.name));
    if let Some((n, kind)) = twice {
        return no_policy(context, nodes[n].span, format!("`on` names {} twice.", kind.name));
    }
    // An empty list would turn the policy into a rule over the whole plan.
    if kinds.is_empty() {
        return no_policy(context, node.span, "`on` names no kind.".to_owned());
    }
    Some(kinds)
}

fn read_message(context: &ConfigContext<'_>, node: &Node) -> Option<String> {
    match node.scalar() {
        Some(scalar) if !scalar.text.trim().is_empty() => Some(scalar.text.to_string()),
        _ => no_policy(context, node.span, "A `message` is a text.".to_owned()),
    }
}

/// Reads the `deny` condition of a policy, and binds the values that it names, so that the plan can evaluate it
/// later. `None` after a problem that was reported. `on` is empty for a rule over the whole plan.
fn read_denial(evaluator: &Evaluator<'_, '_>, node: &Node, on: &[&'static Kind]) -> Option<CelExpression> {
    let text = node.scalar().map(|scalar| scalar.text.as_str()).unwrap_or_default();
    let source = text.strip_prefix("${").and_then(|text| text.strip_suffix('}')).map(str::trim);
    let Some(source) = source else {
        return no_policy(evaluator.context, node.span, "`deny` is one expression.".to_owned());
    };
    let program = match evaluator.context.parse_program(source) {
        Ok(program) => program,
        Err(error) => {
            evaluator.context.problems.push(syntax_problem(evaluator.context, &error, source, node.span));
            return None;
        }
    };
    let mut bindings = BTreeMap::new();
    let mut good = true;
    for path in program.paths() {
        good &= check_denial_path(evaluator, &path, on, node.span, &mut bindings).is_some();
    }
    let cel = CelExpression { source: source.to_owned(), bindings, ..CelExpression::default() };
    good.then_some(cel)
}

/// Checks one path of a `deny` condition, and binds the value of a variable, a local, `env` or `stack` that it
/// names. `None` after a problem that was reported.
fn check_denial_path(
    evaluator: &Evaluator<'_, '_>,
    path: &ReferencePath,
    on: &[&'static Kind],
    span: Span,
    bindings: &mut BTreeMap<Name, Value>,
) -> Option<()> {
    let first = match path.segments.first() {
        Some(PathSegment::Name(name)) => Some(name),
        _ => None,
    };
    let top = EvaluationSite::top_level(Some("a policy"));
    match (path.root.as_str(), first) {
        ("env", _) => drop(bindings.insert(path.root.clone(), Value::Text(evaluator.context.env.clone()))),
        ("stack", _) => {
            drop(bindings.insert(path.root.clone(), Value::Text(evaluator.context.stack.clone())));
        }
        ("vars" | "locals", Some(name)) => {
            let value = match path.root.as_str() {
                "vars" => variable_value(evaluator, name, span, top)?,
                _ => local_value(evaluator, name, span, top)?,
            };
            // The plan evaluates the policy without the configuration, so the value must be known now.
            let Expression::Value(value) = value else {
                is_late(evaluator.context, top, "resource that the local names", span);
                return None;
            };
            evaluator.context.report_exceeded(
                evaluator.context.budget.charge_value(value),
                span,
                EvaluationSite::top_level(None),
            )?;
            bind_value(bindings, &path.root, name, value.clone());
        }
        ("plan", Some(name)) => {
            one_of(evaluator.context, name, PLAN_FIELDS.iter().copied(), "A plan", span)?;
        }
        ("self", _) if on.is_empty() => {
            return no_policy(
                evaluator.context,
                span,
                "`self` is a resource of the kind that `on` names.".to_owned(),
            );
        }
        ("self", Some(name)) => {
            for kind in on {
                let known = kind.attributes.iter().map(|attribute| attribute.name);
                let what = format!("A {}", kind.name);
                one_of(evaluator.context, name, known.chain(SELF_FIELDS.iter().copied()), &what, span)?;
            }
        }
        ("plan" | "self", None) => {}
        (root, _) => {
            let text = format!("`{root}` is not available in a policy.");
            return no_policy(evaluator.context, evaluator.context.span_within(span, root), text);
        }
    }
    Some(())
}

/// Reports a name that is none of the known ones, with the nearest; `None` then.
fn one_of<'n>(
    context: &ConfigContext<'_>,
    name: &str,
    known: impl Iterator<Item = &'n str> + Clone,
    what: &str,
    span: Span,
) -> Option<()> {
    if known.clone().any(|known| known == name) {
        return Some(());
    }
    let place = context.part_within(span, name);
    let problem =
        Diagnostic::error(codes::UNKNOWN_REFERENCED_ATTRIBUTE, "there is no attribute of this name")
            .with_label(place, "")
            .detail(format!("{what} has no `{name}`."));
    let near = nearest_name(name, known.clone());
    context.problems.push(match near {
        Some(near) if place != span => problem.help(format!("did you mean `{near}`?")).fix(place, near),
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None => problem.help(format!("it has {}", known.collect::<Vec<_>>().join(", "))),
    });
    None
}

fn bind_value(bindings: &mut BTreeMap<Name, Value>, root: &Name, name: &Name, value: Value) {
    let place = bindings.entry(root.clone()).or_insert_with(|| Value::Map(ValueMap::new()));
    if let Value::Map(map) = place {
        map.insert(name.clone(), value);
    }
}
