//! Conversion of nodes to values by the schema's type. In: a node and a type. Out: a value of the type, or
//! an expression whose type was checked as far as it is known. A mismatch is reported, with an edit where
//! the intention is clear.

use std::borrow::Cow;

use crate::config::codes;
use crate::config::diagnostics::hints::other_tools;
use crate::config::diagnostics::messages::{mismatch_diagnostic, unknown_key};
use crate::config::resolve::context::evaluator::{ConfigContext, Evaluator};
use crate::config::resolve::context::scope::{EvaluationSite, ResolvedValue};
use crate::config::resolve::names::kind_of;
use crate::config::resolve::template;
use crate::config::resolve::text::resolve_text;
use crate::config::resolve::untyped_values::{charge_node, computed_key, listed_whole, map_from_parts};
use crate::config::stack::model::{MapEntries, MapEntry};
use crate::config::syntax::document::{DocumentEntry, Node, NodeValue, ScalarForm};
use crate::config::syntax::quoting;
use crate::config::types::conform::conform_to_type;
use crate::config::types::mismatch::TypeMismatch;
use crate::config::types::reference_fit::{is_fitting_type, referenced_type};
use crate::config::types::scalar::{self, type_name};
use crate::model::address::Name;
use crate::model::diagnostic::Diagnostic;
use crate::model::expression::{Expression, Reference};
use crate::model::schema::{Attribute, Presence, Type};
use crate::model::source::Span;
use crate::model::values::value::Value;

/// Resolves the value of an attribute. `None` after a problem that was reported. `null` is refused where it has no
/// meaning, and a secret as the name, because names are part of plans and messages.
pub(in crate::config) fn resolve_attribute<'d>(
    evaluator: &Evaluator<'_, 'd>,
    attribute: &Attribute,
    node: &Node,
    site: EvaluationSite<'_, 'd>,
) -> Option<ResolvedValue> {
    let resolved = resolve_typed(evaluator, &attribute.ty, node, site)?;
    let null = matches!(resolved.expression, Expression::Value(Value::Null));
    if null && !matches!(attribute.presence, Presence::Optional | Presence::Default(_)) {
        evaluator.context.report_problem(
            site,
            Diagnostic::error(codes::NO_NULL, "`null` is used where there is no default")
                .with_label(node.span, "")
                .detail(format!("`{}` has no default: it must have a value.", attribute.name)),
        );
        return None;
    }
    // Plans, messages and lists of the service show names.
    if attribute.name == "name" && resolved.expression.is_secret() {
        let mistake = TypeMismatch::wrong_type("a text that is not secret", "a secret");
        return report_mismatch(
            evaluator.context,
            &mistake.help("compute the name from values that are not secret"),
            node.span,
            site,
        );
    }
    Some(resolved)
}

/// Resolves a node to a value of a type. `null` is accepted for every type, except as an entry of a list. `None`
/// after a problem that was reported.
pub(in crate::config) fn resolve_typed<'d>(
    evaluator: &Evaluator<'_, 'd>,
    ty: &Type,
    node: &Node,
    site: EvaluationSite<'_, 'd>,
) -> Option<ResolvedValue> {
    let context = evaluator.context;
    charge_node(context, node, site)?;
    match (&node.value, ty) {
        (NodeValue::Null, _) => Some(Value::Null.into()),
        (NodeValue::Scalar(scalar), Type::Text { .. } | Type::Catalog(_))
            if suggested_expression(evaluator, &scalar.text, site).is_some() =>
        {
            let right = suggested_expression(evaluator, &scalar.text, site)?;
            report_mismatch(context, &written_as_text(&scalar.text, &right), node.span, site)
        }
        (NodeValue::Scalar(scalar), _) if scalar.text.contains('$') => {
            let resolved = resolve_text(evaluator, &scalar.text, node.span, site)?;
            let resolved = if scalar.sole_argument { wrap_sole_argument(ty, resolved) } else { resolved };
            check_resolved(evaluator, ty, resolved, node.span, site)
        }
        // A KDL node with one argument looks the same for a value and for a list of one.
        (NodeValue::Scalar(scalar), Type::List(of) | Type::Set { of, .. }) if scalar.sole_argument => {
            let mut item = node.clone();
            if let NodeValue::Scalar(scalar) = &mut item.value {
                scalar.sole_argument = false;
            }
            resolve_list(evaluator, ty, of, std::slice::from_ref(&item), node.span, site)
        }
        (NodeValue::Scalar(_), Type::List(_) | Type::Set { .. } | Type::Map(_) | Type::Record(_)) => {
            let mistake = single_value_mismatch(ty, node);
            report_mismatch(context, &mistake, node.span, site)
        }
        (NodeValue::Scalar(scalar), ty) => match scalar::parse_typed(scalar, ty) {
            Ok(value) => Some(value.into()),
            Err(mistake) => {
                let mistake = with_reference_hint(evaluator, mistake, &scalar.text, ty);
                report_mismatch(context, &mistake, node.span, site)
            }
        },
        (NodeValue::Sequence(items), Type::List(of) | Type::Set { of, .. }) => {
            resolve_list(evaluator, ty, of, items, node.span, site)
        }
        (NodeValue::Bare, Type::List(of) | Type::Set { of, .. }) => {
            resolve_list(evaluator, ty, of, &[], node.span, site)
        }
        (NodeValue::Bare | NodeValue::Mapping(_), Type::Map(_) | Type::Record(_)) => {
            resolve_map(evaluator, ty, node.entries().unwrap_or_default(), site)
        }
        (NodeValue::Sequence(items), ty) => {
            let mistake = TypeMismatch::wrong_type(&type_name(ty), "a list");
            let pairs = other_tools::suggest_map_entries(items).filter(|_| matches!(ty, Type::Map(_)));
            let mistake = pairs.into_iter().fold(mistake, TypeMismatch::help);
            report_mismatch(context, &mistake, node.span, site)
        }
        (NodeValue::Mapping(_), ty) => {
            let mistake = TypeMismatch::wrong_type(&type_name(ty), "a map");
            report_mismatch(context, &mistake, node.span, site)
        }
        (NodeValue::Bare, ty) => {
            let mistake = TypeMismatch::wrong_type(&type_name(ty), "nothing");
            report_mismatch(context, &mistake, node.span, site)
        }
    }
}

fn resolve_list<'d>(
    evaluator: &Evaluator<'_, 'd>,
    ty: &Type,
    of: &Type,
    items: &[Node],
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Option<ResolvedValue> {
    let mut origin = None;
    let mut parts = Vec::with_capacity(items.len());
    let mut good = true;
    for item in items {
        match resolve_typed(evaluator, of, item, site) {
            Some(ResolvedValue { expression: Expression::Value(Value::Null), .. }) => {
                let mistake = TypeMismatch::wrong_type(&type_name(of), "null");
                return report_mismatch(evaluator.context, &mistake, item.span, site);
            }
            Some(resolved) => {
                origin = origin.or(resolved.origin);
                parts.push(resolved.expression);
            }
            None => good = false,
        }
    }
    if !good {
        return None;
    }
    let expression = build_list(evaluator.context, ty, parts, span, site)?;
    Some(ResolvedValue::new(expression, origin))
}

/// Builds a list or set from its parts: a value if all parts are known. A set is sorted and has no duplicates, so
/// that the order in the files is no change. `None` if a set has too many entries, which is reported.
fn build_list<'d>(
    context: &ConfigContext<'d>,
    ty: &Type,
    mut parts: Vec<Expression>,
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Option<Expression> {
    if let Type::Set { max, .. } = ty {
        parts.sort_by_cached_key(sort_key);
        parts.dedup();
        if parts.len() > *max {
            context.report_problem(
                site,
                Diagnostic::error(codes::TOO_MANY, "there are too many entries")
                    .with_label(span, "")
                    .detail(format!("It takes at most {max} entries, and this has {}.", parts.len())),
            );
            return None;
        }
    }
    Some(listed_whole(parts))
}

fn resolve_map<'d>(
    evaluator: &Evaluator<'_, 'd>,
    ty: &Type,
    entries: &[DocumentEntry],
    site: EvaluationSite<'_, 'd>,
) -> Option<ResolvedValue> {
    let mut places = MapEntries::new();
    let mut parts = Vec::new();
    let mut good = true;
    for entry in entries {
        if entry.key.contains("${") {
            evaluator.context.report_problem(site, computed_key(entry));
            good = false;
            continue;
        }
        let of = match ty {
            Type::Map(of) => Some(*of),
            Type::Record(fields) => fields.iter().find(|(name, _)| *name == entry.key).map(|(_, ty)| ty),
            _ => None,
        };
        let Some(of) = of else {
            // A map has no fixed keys, so only a record can have an unknown one.
            let known: Vec<&str> = match ty {
                Type::Record(fields) => fields.iter().map(|(name, _)| *name).collect(),
                _ => Vec::new(),
            };
            evaluator.context.report_problem(site, unknown_key(entry, &known));
            good = false;
            continue;
        };
        match resolve_typed(evaluator, of, &entry.value, site) {
            Some(resolved) => {
                let set_by = resolved.origin.or_else(|| replaced_by(evaluator.context, entry.value.span));
                places.insert(entry.key.clone(), MapEntry { span: entry.value.span, set_by });
                for (inner, part) in resolved.parts.into_iter().flat_map(|parts| *parts) {
                    places.insert(Name::new(format!("{}.{inner}", entry.key)), part);
                }
                parts.push((entry.key.clone(), resolved.expression));
            }
            None => good = false,
        }
    }
    good.then(|| ResolvedValue { parts: Some(Box::new(places)), ..map_from_parts(parts.into()).into() })
}

/// Checks the result of a reference or an expression against the expected type, and converts a known value. `None`
/// after a problem that was reported. The type of a CEL expression that waits is not known, so it passes.
fn check_resolved<'d>(
    evaluator: &Evaluator<'_, 'd>,
    ty: &Type,
    resolved: ResolvedValue,
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Option<ResolvedValue> {
    let origin = resolved.origin;
    let wrong = |found| TypeMismatch::wrong_type(&type_name(ty), found);
    let expression = match resolved.expression {
        Expression::Value(value) => match conform_to_type(ty, value) {
            Ok(Value::List(items)) => build_list(
                evaluator.context,
                ty,
                items.into_iter().map(Expression::Value).collect(),
                span,
                site,
            )?,
            Ok(value) => Expression::Value(value),
            Err(mistake) => return report_mismatch(evaluator.context, &mistake, span, site),
        },
        Expression::Reference(reference) => {
            check_reference_type(evaluator, ty, &reference, span, site)?;
            match ty {
                Type::List(_) | Type::Set { .. } if reference.attribute.is_none() => {
                    Expression::List(vec![Expression::Reference(reference)])
                }
                _ => Expression::Reference(reference),
            }
        }
        Expression::List(parts) => match ty {
            Type::List(of) | Type::Set { of, .. } => {
                let parts: Option<Vec<_>> = parts
                    .into_iter()
                    .map(|part| {
                        let part = check_resolved(evaluator, of, part.into(), span, site)?;
                        Some(part.expression)
                    })
                    .collect();
                build_list(evaluator.context, ty, parts?, span, site)?
            }
            // A whole block with `for_each` where a single resource is expected.
            Type::Reference(_) => {
                let first = parts.first().and_then(|part| part.addresses().into_iter().next());
                let block = first.and_then(|address| evaluator.blocks.of_instance(address));
                evaluator.context.report_problem(
                    site,
                    match block {
                        Some(block) => evaluator.blocks.which_instance(block, None).first_at(span),
                        None => mismatch_diagnostic(&wrong("a list"), span),
                    },
                );
                return None;
            }
            _ => return report_mismatch(evaluator.context, &wrong("a list"), span, site),
        },
        Expression::Text(_) if matches!(ty, Type::Boolean | Type::Integer { .. } | Type::Decimal) => {
            return report_mismatch(evaluator.context, &wrong("a text"), span, site);
        }
        other => other,
    };
    Some(ResolvedValue::new(expression, origin))
}

/// Checks that the target of a reference fits the type. `None` after a problem that was reported.
fn check_reference_type<'d>(
    evaluator: &Evaluator<'_, 'd>,
    ty: &Type,
    reference: &Reference,
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Option<()> {
    // The outputs of another stack are known, and checked, after its ledger is read.
    if reference.address.root() == "stacks" {
        return Some(());
    }
    let kind = kind_of(evaluator, &reference.address)?;
    let (of, inside) = match ty {
        Type::List(of) | Type::Set { of, .. } if reference.attribute.is_none() => (**of, true),
        ty => (*ty, false),
    };
    let found = referenced_type(kind, reference.attribute.as_deref())?;
    let whole = reference.attribute.is_none();
    let fits = is_fitting_type(&evaluator.context.registry, &of, &found, (whole, inside));
    if fits {
        return Some(());
    }
    let what = match reference.attribute.as_deref() {
        None => format!("{} is a {}", reference.address, kind.name),
        Some(name) => format!("{}.{name} is {}", reference.address, type_name(&found)),
    };
    let code = if whole { codes::WRONG_KIND } else { codes::WRONG_TYPE };
    let problem = Diagnostic::error(code, "a reference has the wrong kind or type")
        .with_label(span, "")
        .detail(format!("It takes {}, and {what}.", type_name(&of)));
    let problem = match evaluator.blocks.of_instance(&reference.address) {
        Some(block) => {
            problem.with_label(block.entry.key_span, format!("{} is declared here", block.address))
        }
        None => problem,
    };
    let problem = if whole && matches!(of, Type::Text { .. }) {
        problem.help(format!("name one of its attributes: `${}.ATTRIBUTE`", reference.address))
    } else {
        problem
    };
    evaluator.context.report_problem(site, problem);
    None
}

/// Returns the correct form of a reference without its `$`, or of a `file(…)` call outside of an expression. `None`
/// for any other text, and for a reference to a name that is not declared, which is probably no reference.
fn suggested_expression<'d>(
    evaluator: &Evaluator<'_, 'd>,
    text: &str,
    site: EvaluationSite<'_, 'd>,
) -> Option<String> {
    if let Some(path) = text.strip_prefix('$').unwrap_or(text).strip_prefix("file(") {
        let path = path.strip_suffix(')')?.trim_matches(['"', '\'']);
        // The interpolated part is the path.
        let inner = path.strip_prefix("${").and_then(|path| path.strip_suffix('}'));
        if let Some(inner) = inner.filter(|inner| !inner.contains(['{', '}', '(', ')'])) {
            return Some(format!("\"${{file({inner})}}\""));
        }
        return (!path.contains(['(', ')', '\n', '\'', '"'])).then(|| format!("\"${{file('{path}')}}\""));
    }
    let (root, rest) = text.split_once('.')?;
    let name = rest.split('.').next()?;
    let right = match root {
        "vars" | "var" if evaluator.scope.variables.expressions.contains_key(name) => "vars",
        "locals" | "local" if evaluator.scope.locals.contains_key(name) => "locals",
        "each" if site.each.is_some() && matches!(name, "key" | "value") => "each",
        _ => return None,
    };
    let is_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    rest.chars().all(is_path).then(|| format!("${right}.{rest}"))
}

/// Adds the reference that the user probably meant, if the text is the name or the address of a block that is
/// declared in this unit.
fn with_reference_hint(
    evaluator: &Evaluator<'_, '_>,
    mistake: TypeMismatch,
    text: &str,
    ty: &Type,
) -> TypeMismatch {
    let Type::Reference(kind) = ty else { return mistake };
    let name = text.strip_prefix(kind).and_then(|rest| rest.strip_prefix('.')).unwrap_or(text);
    let name = name.strip_suffix(".id").unwrap_or(name);
    if evaluator.blocks.get(evaluator.scoped_address(kind, name).as_str()).is_none() {
        return mistake;
    }
    let right = format!("${kind}.{name}");
    mistake.help(format!("write `{right}`")).fix(right)
}

/// Reports a mismatch. Always returns `None`, so that a caller can return the result.
pub(in crate::config) fn report_mismatch<'d, T>(
    context: &ConfigContext<'d>,
    mistake: &TypeMismatch,
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Option<T> {
    context.report_problem(site, mismatch_diagnostic(mistake, span));
    None
}

/// Returns the mismatch of a single value where a collection is expected.
fn single_value_mismatch(ty: &Type, node: &Node) -> TypeMismatch {
    let mistake = TypeMismatch::wrong_type(&type_name(ty), "a single value");
    match (ty, node.scalar()) {
        (Type::List(_) | Type::Set { .. }, Some(scalar)) => {
            let right = format!("[{}]", quoting::quote_yaml(&scalar.text, true));
            match scalar.form {
                // Only YAML has plain scalars.
                ScalarForm::Plain => mistake.help(format!("write `{right}`")).fix(right),
                _ => mistake.help(format!(
                    "write `{right}` (KDL: on a line of its own inside the block, `NAME {}`)",
                    quoting::quote_kdl(&scalar.text)
                )),
            }
        }
        _ => mistake,
    }
}

/// Returns the mismatch of an expression without `$` or `${…}`; `right` is its correct form.
fn written_as_text(text: &str, right: &str) -> TypeMismatch {
    let detail = format!("`{}` would be a literal text.", quoting::shorten_for_message(text));
    TypeMismatch::new(codes::WRONG_TYPE, "an expression is written as a text", detail)
        .help(format!("write `{right}`; for the text itself, write `{}`", quote_for_hint(&as_it_is(text))))
}

/// Returns how to write a string so that it is no expression; interpolations stay.
fn as_it_is(text: &str) -> String {
    if text.contains("${") {
        template::marked_as_text(text.to_owned())
    } else {
        template::escape_literal(text)
    }
}

/// Returns a string in double quotes; unchanged if it contains double quotes itself.
fn quote_for_hint(text: &str) -> Cow<'_, str> {
    if text.contains('"') { text.into() } else { format!("\"{text}\"").into() }
}

/// Wraps the only argument of a KDL node in a list if a list is expected and the value is not a list. An unknown
/// value stays: it may be a list.
fn wrap_sole_argument(ty: &Type, resolved: ResolvedValue) -> ResolvedValue {
    let wants_list = matches!(ty, Type::List(_) | Type::Set { .. });
    match resolved.expression {
        Expression::Value(value) if wants_list && !matches!(value, Value::List(_) | Value::Null) => {
            let unknown = value.is_unknown();
            let expression = if unknown { value } else { Value::List(vec![value]) };
            ResolvedValue { expression: Expression::Value(expression), ..resolved }
        }
        Expression::Text(parts) if wants_list => {
            ResolvedValue { expression: Expression::List(vec![Expression::Text(parts)]), ..resolved }
        }
        _ => resolved,
    }
}

/// Returns the sort key of a set's entry. All secrets have the same key, so they keep their order: sorted by their
/// text, their order would reveal something about it.
fn sort_key(part: &Expression) -> String {
    match part {
        Expression::Value(value) => value.to_string(),
        Expression::Reference(reference) => {
            format!("${}.{}", reference.address, reference.attribute.as_deref().unwrap_or_default())
        }
        _ => String::from("~"),
    }
}

/// Returns the override that replaced the value at a span: `environments.X.set`. `None` if the value
/// is the block's own.
pub(in crate::config) fn replaced_by(context: &ConfigContext<'_>, span: Span) -> Option<Name> {
    context.replaced_spans.contains(&span).then(|| Name::new(format!("environments.{}.set", context.env)))
}
