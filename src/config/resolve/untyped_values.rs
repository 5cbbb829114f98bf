//! Conversion of nodes to values where no schema applies: locals, outputs, values of `for_each`, ids. In: a node.
//! Out: a value whose type the scalar's form decides, or an expression that waits for live objects.

use super::text::resolve_text;
use crate::config::codes;
use crate::config::resolve::context::evaluator::{ConfigContext, Evaluator};
use crate::config::resolve::context::scope::{EvaluationSite, ResolvedValue};
use crate::config::syntax::document::{DocumentEntry, Node, NodeValue};
use crate::config::syntax::quoting;
use crate::config::types::scalar;
use crate::model::address::name_map::NameMap;
use crate::model::diagnostic::Diagnostic;
use crate::model::expression::Expression;
use crate::model::values::value::{Value, ValueMap};

/// Charges a node without its parts, which are charged when they are resolved. `None` once the budget is exceeded;
/// the first time is reported.
pub(in crate::config) fn charge_node<'d>(
    context: &ConfigContext<'d>,
    node: &Node,
    site: EvaluationSite<'_, 'd>,
) -> Option<()> {
    // After the budget is exceeded nothing is resolved, or a small file could still take hours.
    if context.problems.are_closed() {
        return None;
    }
    let charged = match &node.value {
        // An attribute that is a map keeps the span of each entry.
        NodeValue::Mapping(entries) => context
            .budget
            .charge_map(entries.len())
            .and_then(|()| context.budget.charge_nodes(2 * entries.len())),
        NodeValue::Scalar(scalar) if !scalar.text.contains('$') => {
            context.budget.charge_nodes(1).and_then(|()| context.budget.charge_text(scalar.text.len()))
        }
        _ => context.budget.charge_nodes(1),
    };
    context.report_exceeded(charged, node.span, site)
}

/// Resolves a node to which no schema applies. `None` after a problem that was reported.
pub(in crate::config) fn resolve_untyped<'d>(
    evaluator: &Evaluator<'_, 'd>,
    node: &Node,
    site: EvaluationSite<'_, 'd>,
) -> Option<ResolvedValue> {
    charge_node(evaluator.context, node, site)?;
    match &node.value {
        NodeValue::Null => Some(Value::Null.into()),
        NodeValue::Bare => Some(Value::Map(ValueMap::new()).into()),
        NodeValue::Scalar(scalar) if scalar.text.contains('$') => {
            resolve_text(evaluator, &scalar.text, node.span, site)
        }
        NodeValue::Scalar(scalar) => Some(scalar::infer_value(scalar).into()),
        NodeValue::Sequence(items) => {
            let items: Option<Vec<_>> =
                items.iter().map(|item| Some(resolve_untyped(evaluator, item, site)?.expression)).collect();
            let items = items?;
            Some(listed_whole(items).into())
        }
        NodeValue::Mapping(entries) => {
            let computed: Vec<_> = entries.iter().filter(|entry| entry.key.contains("${")).collect();
            for entry in &computed {
                evaluator.context.report_problem(site, computed_key(entry));
            }
            if !computed.is_empty() {
                return None;
            }
            let parts: Option<NameMap<_>> = entries
                .iter()
                .map(|entry| {
                    Some((entry.key.clone(), resolve_untyped(evaluator, &entry.value, site)?.expression))
                })
                .collect();
            Some(map_from_parts(parts?).into())
        }
    }
}

/// Returns the diagnostic of a key that contains `${`: keys are never computed.
pub(in crate::config) fn computed_key(entry: &DocumentEntry) -> Diagnostic {
    Diagnostic::error(codes::SYNTAX, "a key cannot be an expression")
        .with_label(entry.key_span, "")
        .detail(format!(
            "`{}` would be a literal key: only values can be expressions.",
            quoting::shorten_for_message(&entry.key)
        ))
        .help("write the key out, or compute the whole map by one expression: `\"${{vars.key: 'value'}}\"`")
}

/// Builds a list from its parts, in their order: a value if all parts are known, else an expression.
pub(in crate::config) fn listed_whole(parts: Vec<Expression>) -> Expression {
    if parts.iter().any(|part| part.known_value().is_none()) {
        return Expression::List(parts);
    }
    let known = |part| match part {
        Expression::Value(value) => value,
        _ => Value::Null,
    };
    Expression::Value(Value::List(parts.into_iter().map(known).collect()))
}

/// Builds a map from its parts: a value if all parts are known, else an expression.
pub(in crate::config) fn map_from_parts(parts: NameMap<Expression>) -> Expression {
    if parts.values().all(|part| part.known_value().is_some()) {
        let known = |(key, part)| match part {
            Expression::Value(value) => (key, value),
            _ => (key, Value::Null),
        };
        return Expression::Value(Value::Map(parts.into_iter().map(known).collect()));
    }
    Expression::Map(parts)
}
