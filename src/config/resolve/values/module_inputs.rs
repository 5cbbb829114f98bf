//! Inputs of a module. In: the `with` of a call, in the caller's scope. Out: values by the types of the module's
//! variables, or expressions that wait for live objects. The value of a `secret` variable is sensitive in both cases.

use super::variable_declaration::has_default;
use std::collections::BTreeMap;

use crate::config::codes;
use crate::config::diagnostics::messages::mismatch_diagnostic;
use crate::config::merge::blocks::NamedEntries;
use crate::config::resolve::context::evaluator::{ConfigContext, Evaluator};
use crate::config::resolve::context::scope::{BoundVariables, EvaluationSite, ResolvedValue};
use crate::config::resolve::text::resolve_text;
use crate::config::resolve::untyped_values::{charge_node, map_from_parts};
use crate::config::resolve::values::variable_declaration::VariableDeclaration;
use crate::config::resolve::values::variable_declaration::read_declaration;
use crate::config::resolve::values::variables::{by_itself, check_constraints};
use crate::config::syntax::document::{DocumentEntry, Node, NodeValue, named_entries};
use crate::config::types::mismatch::TypeMismatch;
use crate::config::types::variable_type::VariableType;
use crate::model::address::Name;
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::expression::Expression;
use crate::model::source::Span;
use crate::model::values::secret::Secret;
use crate::model::values::value::Value;

/// Input for one variable of a module.
pub(in crate::config) struct ModuleInput {
    /// The value; `None` after a problem that was reported.
    pub(in crate::config) value: Option<Expression>,
    /// What decided it besides the call: `vars.size, set by environments.prod`. `None` if nothing did.
    pub(in crate::config) origin: Option<Name>,
    /// Module call that gives the value: `use.shop_eu`.
    pub(in crate::config) by: Name,
    /// Span of the value in the call.
    pub(in crate::config) span: Span,
}

/// Resolves the inputs of a module call in the caller's scope, by the names of the variables. One that the module
/// does not declare was reported already, and is absent. `module` is the unit number.
pub(in crate::config) fn resolve_inputs<'d>(
    evaluator: &Evaluator<'_, 'd>,
    module: usize,
    with: &'d [DocumentEntry],
    call: &Name,
    site: EvaluationSite<'_, 'd>,
) -> BTreeMap<Name, ModuleInput> {
    let Some(merged) = evaluator.context.modules.get(module) else { return BTreeMap::new() };
    let by = Name::new(format!("use.{call}"));
    let mut inputs = BTreeMap::new();
    for entry in with {
        // An undeclared input was already reported.
        let Some(declared) = merged.vars.get(&entry.key) else { continue };
        let resolved = read_declaration(evaluator, declared).and_then(|declaration| {
            let given = given_to(evaluator, &declaration.ty, &entry.value, site)?;
            Some(mark_input_sensitive(&declaration.ty, given))
        });
        let (value, origin) = match resolved {
            Some(resolved) => (Some(resolved.expression), resolved.origin),
            None => (None, None),
        };
        let input = ModuleInput { value, origin, by: by.clone(), span: entry.value.span };
        inputs.insert(entry.key.clone(), input);
    }
    inputs
}

/// Returns the values of a module's variables: the input, else the default. All variables without a value are one
/// problem at the call, except one that the call seems to misspell, which was reported already.
pub(in crate::config) fn module_variables<'d>(
    evaluator: &Evaluator<'_, 'd>,
    declared: &NamedEntries<'d>,
    mut inputs: BTreeMap<Name, ModuleInput>,
    call: &'d DocumentEntry,
) -> BoundVariables {
    let mut bound = BoundVariables::default();
    let mut missing = Vec::new();
    for (name, &entry) in declared {
        let Some(declaration) = read_declaration(evaluator, entry) else {
            bound.expressions.insert(name.clone(), None);
            continue;
        };
        let value = match inputs.remove(name) {
            Some(input) => {
                bound.origins.insert(name.clone(), input_origin(name, &input));
                module_variable(evaluator.context, name, &declaration, input)
            }
            None if has_default(&declaration) => {
                by_itself(evaluator, name, &declaration).map(Expression::Value)
            }
            None => {
                missing.push((entry, format!("`{name}` takes {}.", declaration.ty.name())));
                None
            }
        };
        let before = evaluator.context.budget.mark();
        let known = value.as_ref().and_then(|value| evaluator.context.known_now(value, entry.key_span));
        bound.cost = bound.cost + evaluator.context.budget.cost_since(before);
        bound.values.insert(name.clone(), known.unwrap_or_default());
        bound.expressions.insert(name.clone(), value);
    }
    // A misspelled input was reported already: its variable would be reported as missing, too.
    missing.retain(|(entry, _)| !is_misspelled(&entry.key, call));
    missing_inputs(evaluator.context, &missing, call);
    bound
}

fn missing_inputs<'d>(
    context: &ConfigContext<'d>,
    missing: &[(&'d DocumentEntry, String)],
    call: &'d DocumentEntry,
) {
    let names: Vec<String> = missing.iter().map(|(entry, _)| format!("{}: …", entry.key)).collect();
    if names.is_empty() {
        return;
    }
    let takes: Vec<&str> = missing.iter().map(|(_, takes)| takes.as_str()).collect();
    let problem = Diagnostic::error(codes::MISSING_VARIABLE, "a module call lacks required variables")
        .with_label(call.key_span, "")
        .detail(takes.join(" "))
        .help(format!("add to the call: `with: {{ {} }}`", names.join(", ")));
    let declared = "declared here without a default";
    context.problems.push(
        missing
            .iter()
            // A message with a label for each of many variables would hide the call itself.
            .take(5)
            .fold(problem, |problem, (entry, _)| problem.with_label(entry.key_span, declared)),
    );
}

/// Returns what set a variable, for messages.
fn input_origin(name: &Name, input: &ModuleInput) -> Name {
    Name::new(match &input.origin {
        Some(origin) => format!("vars.{name}, given by {} ({origin})", input.by),
        None => format!("vars.{name}, given by {}", input.by),
    })
}

/// Returns the value of an input after its checks. One that waits for live objects is not checked.
fn module_variable<'d>(
    context: &ConfigContext<'d>,
    name: &Name,
    declaration: &VariableDeclaration<'d>,
    input: ModuleInput,
) -> Option<Expression> {
    match input.value? {
        Expression::Value(value) if !value.is_unknown() => {
            check_constraints(context, name, declaration, value, &input.by, input.span)
                .map(Expression::Value)
        }
        // A value that is known after apply only cannot be checked before it.
        waiting => Some(waiting),
    }
}

/// Resolves a node by a variable's type: a literal from its text, an expression from its value. `None` after a
/// problem that was reported. An expression that waits is not compared with the type.
fn given_to<'d>(
    evaluator: &Evaluator<'_, 'd>,
    ty: &VariableType,
    node: &Node,
    site: EvaluationSite<'_, 'd>,
) -> Option<ResolvedValue> {
    charge_node(evaluator.context, node, site)?;
    match (&node.value, ty) {
        (NodeValue::Scalar(scalar), _) if scalar.text.contains('$') => {
            let resolved = resolve_text(evaluator, &scalar.text, node.span, site)?;
            let expression = match resolved.expression {
                Expression::Value(value) if !value.is_unknown() => {
                    let listed = matches!(ty, VariableType::List(_) | VariableType::Set(_))
                        && scalar.sole_argument
                        && !matches!(value, Value::List(_));
                    let value = if listed { Value::List(vec![value]) } else { value };
                    Expression::Value(value_or_report(
                        evaluator.context,
                        ty.convert(value),
                        node.span,
                        site,
                    )?)
                }
                waiting => waiting,
            };
            Some(ResolvedValue::new(expression, resolved.origin))
        }
        (NodeValue::Sequence(items), VariableType::List(of) | VariableType::Set(of)) => {
            let parts: Option<Vec<ResolvedValue>> =
                items.iter().map(|item| given_to(evaluator, of, item, site)).collect();
            let parts = parts?;
            let origin = parts.iter().find_map(|part| part.origin.clone());
            let known: Option<Vec<Value>> =
                parts.iter().map(|part| part.expression.known_value().cloned()).collect();
            let expression = match known {
                Some(values) => Expression::Value(ty.collect_values(values)),
                None => Expression::List(parts.into_iter().map(|part| part.expression).collect()),
            };
            Some(ResolvedValue::new(expression, origin))
        }
        (NodeValue::Mapping(entries), VariableType::Map(of)) => {
            let mut parts = Vec::new();
            let mut origin = None;
            for entry in entries {
                let part = given_to(evaluator, of, &entry.value, site)?;
                origin = origin.or(part.origin);
                parts.push((entry.key.clone(), part.expression));
            }
            Some(ResolvedValue::new(map_from_parts(parts.into()), origin))
        }
        _ => value_or_report(evaluator.context, ty.read(node), node.span, site).map(ResolvedValue::from),
    }
}

fn value_or_report<'d>(
    context: &ConfigContext<'d>,
    value: Result<Value, TypeMismatch>,
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Option<Value> {
    match value {
        Ok(value) => Some(value),
        Err(mistake) => {
            let mut problem = mismatch_diagnostic(&mistake, span);
            // One code for a wrong value of a variable, whichever source it has.
            problem.code = codes::VARIABLE_TYPE;
            problem.summary = "a variable's value has the wrong type".into();
            context.report_problem(site, problem);
            None
        }
    }
}

/// Returns whether a call has an input whose name is nearly `name`, or a key that is nearly `with`: the
/// misspelling was already reported.
fn is_misspelled(name: &str, call: &DocumentEntry) -> bool {
    let body = named_entries(&call.value).unwrap_or_default();
    let given = |entry: &DocumentEntry| {
        let with = named_entries(&entry.value).unwrap_or_default();
        with.iter().any(|entry| entry.key != *name && nearest_name(&entry.key, [name]).is_some())
    };
    body.iter().any(|entry| match entry.key.as_str() {
        "with" => given(entry),
        other => nearest_name(other, ["with"]).is_some(),
    })
}

/// Makes an expression that waits sensitive if the variable is a secret. A known value already is:
/// the type converts it.
fn mark_input_sensitive(ty: &VariableType, given: ResolvedValue) -> ResolvedValue {
    let waits = !matches!(given.expression, Expression::Value(_));
    if *ty != VariableType::Secret || !waits || given.expression.is_secret() {
        return given;
    }
    let expression = Expression::Text(vec![Value::Secret(Secret::new("")).into(), given.expression]);
    ResolvedValue { expression, ..given }
}
