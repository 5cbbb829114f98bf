//! References: resolution of `$path`. In: the segments of a path. Out: the value of a name, a reference to an
//! attribute of a live object, or a diagnostic. A path that only CEL can follow, such as an index of a list, is
//! computed as the expression `${path}`.

use super::expressions::deep_path;
use super::external_references::external_reference;
use super::names::{
    absent_resource, dead_end, has_attribute, is_late, kind_of, local_value, module_name_prefix,
    resolve_each, value_origin, variable_value,
};
use crate::config::codes;
use crate::config::resolve::context::block_index::{PathStep, PathTarget};
use crate::config::resolve::context::evaluator::Evaluator;
use crate::config::resolve::context::scope::{EvaluationSite, ResolvedValue};
use crate::config::resolve::names::module_output;
use crate::model::address::Name;
use crate::model::diagnostic::Diagnostic;
use crate::model::expression::{Expression, Reference};
use crate::model::schema::Kind;
use crate::model::source::Span;
use crate::model::values::value::Value;

/// Resolves a reference such as `$a.b.c`. `None` after a problem that was reported.
pub(in crate::config) fn resolve_path<'d>(
    evaluator: &Evaluator<'_, 'd>,
    path: &[Name],
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Option<ResolvedValue> {
    let (root, steps) = path.split_first()?;
    match (root.as_str(), steps) {
        ("env", []) => Some(Value::Text(evaluator.context.env.clone()).into()),
        ("stack", []) => Some(Value::Text(evaluator.context.stack.clone()).into()),
        ("module", []) => Some(Value::Text(module_name_prefix(evaluator, span, site)?.clone()).into()),
        ("vars", [name, rest @ ..]) => {
            let base = variable_value(evaluator, name, span, site)?;
            let resolved = resolve_inside(evaluator, base, path, rest, span, site)?;
            Some(ResolvedValue { origin: value_origin(evaluator, "vars", name), ..resolved })
        }
        ("use", [name, rest @ ..]) => {
            let steps: Vec<Option<&Name>> = rest.iter().map(Some).collect();
            let base = module_output(evaluator, name, &steps, span, site)?;
            resolve_inside(evaluator, base, path, rest, span, site)
        }
        ("data" | "stacks", steps) => external_path(evaluator, root, steps, path, span, site),
        ("locals", [name, rest @ ..]) => {
            let base = local_value(evaluator, name, span, site)?;
            let resolved = resolve_inside(evaluator, base, path, rest, span, site)?;
            Some(ResolvedValue { origin: value_origin(evaluator, "locals", name), ..resolved })
        }
        ("each", [name, rest @ ..]) => {
            resolve_inside(evaluator, &resolve_each(evaluator, name, span, site)?, path, rest, span, site)
        }
        ("vars" | "locals" | "each" | "env" | "stack" | "use", _) => {
            evaluator.context.report_problem(
                site,
                Diagnostic::error(codes::UNKNOWN_ROOT, "a reference has too few or too many parts")
                    .with_label(span, "")
                    .help("write `$vars.NAME`, `$locals.NAME`, `$use.MODULE.OUTPUT`, `$each.key`, `$each.value`, `$env`, `$module` or `$stack`"),
            );
            None
        }
        (root, _) => {
            let Some(kind) = evaluator.context.registry.top_level().find(|kind| kind.name == root) else {
                evaluator.context.report_problem(site, evaluator.unknown_root(root, &path.join("."), span));
                return None;
            };
            live_path(evaluator, kind, path, span, site)
        }
    }
}

/// Follows the rest of a path inside of the value of a variable, a local, a module call or `each`. `path` is the
/// whole path. `None` after a problem that was reported.
fn resolve_inside<'d>(
    evaluator: &Evaluator<'_, 'd>,
    base: &Expression,
    path: &[Name],
    rest: &[Name],
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Option<ResolvedValue> {
    if let (Expression::Reference(Reference { address, attribute: None }), [name]) = (base, rest) {
        // `$each.value.address`: an attribute of the resource to which `each.value` refers.
        let kind = kind_of(evaluator, address)?;
        let reference = Reference { address: address.clone(), attribute: Some(name.clone()) };
        let known = has_attribute(evaluator.context, kind, name, span, site);
        return known.then(|| Expression::Reference(reference).into());
    }
    match follow_expression(base, rest) {
        // Each use of a name copies its value: without a charge, locals that use each other
        // twice would grow exponentially.
        Some(PathValue::Expression(part)) => {
            evaluator.context.report_exceeded(part.charge(evaluator.context.budget), span, site)?;
            Some(part.clone().into())
        }
        Some(PathValue::Value(part)) => {
            evaluator.context.report_exceeded(evaluator.context.budget.charge_value(part), span, site)?;
            Some(part.clone().into())
        }
        None => deep_path(evaluator, path, span, site),
    }
}

fn live_path<'d>(
    evaluator: &Evaluator<'_, 'd>,
    kind: &'static Kind,
    path: &[Name],
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Option<ResolvedValue> {
    let steps: Vec<PathStep> = path[1..].iter().cloned().map(Some).collect();
    if !is_late(evaluator.context, site, kind.name, span) {
        return None;
    }
    let (addresses, all, kind, rest) =
        match evaluator.blocks.follow_path(&evaluator.context.registry, kind, &steps) {
            PathTarget::Objects { addresses, all, kind, rest } => {
                (addresses, all, kind, &path[1 + rest.min(steps.len())..])
            }
            PathTarget::Broken => return None,
            PathTarget::Absent(address) => {
                evaluator.context.report_problem(site, absent_resource(evaluator, &address, span));
                return None;
            }
            PathTarget::NotFound(problem) => {
                dead_end(evaluator.context, site, *problem, &path[1..], span);
                return None;
            }
        };
    // A block with `for_each` without a key is the list of its instances.
    if all {
        let all = addresses.into_iter().map(|address| Reference { address, attribute: None });
        return Some(Expression::List(all.map(Expression::Reference).collect()).into());
    }
    let attribute = rest.first();
    if let Some(name) = attribute {
        if !has_attribute(evaluator.context, kind, name, span, site) {
            return None;
        }
        if rest.len() > 1 {
            return deep_path(evaluator, path, span, site);
        }
    }
    let address = addresses.into_iter().next()?;
    Some(Expression::Reference(Reference { address, attribute: attribute.cloned() }).into())
}

/// Part of an expression or of a value to which a path leads.
enum PathValue<'e> {
    Expression(&'e Expression),
    Value(&'e Value),
}

/// Follows a path into an expression. `None` if it leads into anything but a map, or to a missing key: CEL then
/// computes the path, or reports why it has no value.
fn follow_expression<'e>(base: &'e Expression, path: &[Name]) -> Option<PathValue<'e>> {
    match (base, path.split_first()) {
        (base, None) => Some(PathValue::Expression(base)),
        (Expression::Value(value), Some(_)) => drill_value(value, path).map(PathValue::Value),
        (Expression::Map(map), Some((first, rest))) => follow_expression(map.get(first)?, rest),
        _ => None,
    }
}

fn drill_value<'v>(base: &'v Value, path: &[Name]) -> Option<&'v Value> {
    match (base, path.split_first()) {
        (value, None) => Some(value),
        (Value::Map(map), Some((first, rest))) => drill_value(map.get(first)?, rest),
        _ => None,
    }
}

/// Resolves `$data.KIND.NAME…` and `$stacks.NAME.OUTPUT…`. `steps` is `path` without its root. `None` after a
/// problem that was reported.
pub(in crate::config) fn external_path<'d>(
    evaluator: &Evaluator<'_, 'd>,
    root: &Name,
    steps: &[Name],
    path: &[Name],
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Option<ResolvedValue> {
    let (reference, used) = external_reference(evaluator, root, steps, span, site)?;
    if steps.len() > used {
        return deep_path(evaluator, path, span, site);
    }
    Some(Expression::Reference(reference).into())
}
