//! Evaluation of one expression: the scope with the values that are known, and the bindings that an expression
//! keeps when it waits for live objects. In: a program and the targets of its paths. Out: a value, unknown if it
//! depends on a live object. No live value is read.

use crate::config::resolve::context::block_index::EachValue;
use crate::config::resolve::context::evaluator::{Evaluator, NoLiveValues};
use crate::config::resolve::context::scope::EvaluationSite;
use crate::config::resolve::names::each_value;
use crate::model::address::name_map::NameMap;
use crate::model::address::{Address, Name};
use crate::model::budget::{Budget, BudgetExceeded};
use crate::model::cel::evaluate_program;
use crate::model::cel::{
    CelObject, CelProgram, CelValue, ExpressionScope, PathSegment, ReferencePath, bind_path,
};
use crate::model::evaluate::evaluate_within;
use crate::model::expression::{EvaluationError, Expression};
use crate::model::source::Span;
use crate::model::values::value::{Attributes, Value, ValueMap};

/// Targets of the paths in one expression.
#[derive(Default)]
pub(super) struct ExpressionPaths<'p> {
    /// Live objects that the paths name.
    pub(super) objects: Vec<Address>,
    /// Maps that must exist even if they are empty: `vm`, `vm.web`.
    pub(super) places: Vec<String>,
    /// Resources that this environment leaves out, and that no test guards.
    pub(super) absent: Vec<Address>,
    /// The paths themselves, as the program names them.
    pub(super) paths: Vec<&'p ReferencePath>,
    /// What decided the first value that a variable or local names; `None` if none did.
    pub(super) origin: Option<Name>,
}

/// Evaluates a program over the values that are known in the scope. `waiting` holds the values that wait for live
/// objects, by path; `read` returns the text of a file, or why it cannot be read. The result is unknown if it
/// depends on a live object.
pub(super) fn evaluate_in_scope<'d>(
    evaluator: &Evaluator<'_, 'd>,
    program: &CelProgram,
    (named, waiting): (&ExpressionPaths<'_>, &NameMap<Expression>),
    span: Span,
    site: EvaluationSite<'_, 'd>,
    read: &dyn Fn(&str) -> Result<String, String>,
) -> Result<Value, EvaluationError> {
    let values: Vec<(&Name, Value)> = waiting
        .iter()
        .map(|(path, part)| Ok((path, evaluate_within(part, &NoLiveValues, evaluator.context.budget)?)))
        .collect::<Result<_, EvaluationError>>()?;
    let objects: Vec<CelObject> = named
        .objects
        .iter()
        .map(|address| CelObject {
            address: address.clone(),
            attributes: Attributes::new(),
            // Not complete: a missing attribute is unknown, not an error.
            complete: false,
        })
        .collect();
    let written = written_each(evaluator, named, span, site);
    let mut scope = ExpressionScope {
        read: Some(read),
        budget: Some(evaluator.context.budget),
        ..ExpressionScope::default()
    };
    let text = |text: &Name| CelValue::Scalar(Value::Text(text.clone()));
    scope.roots.insert("vars".into(), CelValue::of_map(&evaluator.scope.variables.values));
    scope.roots.insert("locals".into(), CelValue::of_map(&evaluator.scope.local_values));
    scope.roots.insert("use".into(), CelValue::of_map(&evaluator.scope.use_values));
    scope.roots.insert("env".into(), text(&evaluator.context.env));
    scope.roots.insert("stack".into(), text(&evaluator.context.stack));
    scope.roots.insert("module".into(), text(&evaluator.scope.name_prefix));
    for place in &named.places {
        if !scope.roots.contains_key(place.as_str()) {
            bind_path(&mut scope.roots, place.split('.'), CelValue::empty_map());
        }
    }
    for object in &objects {
        // A module's expressions name its blocks without the module's prefix.
        if let Some(path) = object.address.strip_module(&evaluator.scope.prefix) {
            bind_path(&mut scope.roots, path.split('.'), CelValue::of_object(object));
        }
    }
    if let Some(each) = site.each {
        bind_path(&mut scope.roots, ["each", "key"].into_iter(), text(&each.key));
        let known = match &each.value {
            EachValue::Known(value) => Some(value),
            _ => written.as_ref(),
        };
        if let Some(value) = known {
            bind_path(&mut scope.roots, ["each", "value"].into_iter(), CelValue::from_borrowed(value));
        }
    }
    // In `local_values` and `use_values`, a value that waits is already unknown.
    let later = |path: &Name| ["each.", "data.", "stacks."].iter().any(|root| path.starts_with(root));
    for (path, value) in values.iter().filter(|(path, _)| later(path)) {
        bind_path(&mut scope.roots, path.split('.'), CelValue::from_borrowed(value));
    }
    evaluate_program(program, &scope)
}

/// Returns the value of an entry that the `for_each` writes out. `None` if it is not known, or the expression does
/// not refer to `each`: an unused value must not be resolved, because its problems would be reported.
fn written_each<'d>(
    evaluator: &Evaluator<'_, 'd>,
    named: &ExpressionPaths<'_>,
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Option<Value> {
    let each = site.each.filter(|each| matches!(each.value, EachValue::Written(_)))?;
    if !named.paths.iter().any(|path| path.root == "each") {
        return None;
    }
    match each_value(evaluator, each, span, site)? {
        Expression::Value(value) => Some(value),
        _ => None,
    }
}

/// Returns the known values that an expression names, by root, and no more: an expression that waits is stored in
/// plans, so it must not carry values that it does not use.
pub(super) fn bind_known_values<'d>(
    evaluator: &Evaluator<'_, 'd>,
    named: &ExpressionPaths<'_>,
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Result<ValueMap, BudgetExceeded> {
    let mut bindings = ValueMap::new();
    for path in &named.paths {
        let names: Vec<&Name> = path
            .segments
            .iter()
            .map_while(|segment| match segment {
                PathSegment::Name(name) => Some(name),
                PathSegment::Computed(_) => None,
            })
            .collect();
        let values = match path.root.as_str() {
            "vars" => Some(&evaluator.scope.variables.values),
            "locals" => Some(&evaluator.scope.local_values),
            "use" => Some(&evaluator.scope.use_values),
            _ => None,
        };
        if let Some(values) = values {
            copy_known_part(&mut bindings, &path.root, values, &names, evaluator.context.budget)?;
            continue;
        }
        match path.root.as_str() {
            "env" => drop(bindings.insert(path.root.clone(), Value::Text(evaluator.context.env.clone()))),
            "stack" => {
                drop(bindings.insert(path.root.clone(), Value::Text(evaluator.context.stack.clone())));
            }
            "module" => {
                bindings.insert(path.root.clone(), Value::Text(evaluator.scope.name_prefix.clone()));
            }
            "each" => {
                let Some(each) = site.each else { continue };
                let mut values = ValueMap::from([("key".into(), Value::Text(each.key.clone()))]);
                if let Some(Expression::Value(value)) = each_value(evaluator, each, span, site) {
                    values.insert("value".into(), value);
                }
                copy_known_part(&mut bindings, &path.root, &values, &names, evaluator.context.budget)?;
            }
            _ => {}
        }
    }
    Ok(bindings)
}

/// Copies the part of a map that a path names, if it is known; a missing key copies nothing. An empty path, or one
/// that begins with a computed key, copies the whole map, because any entry may be used.
fn copy_known_part(
    into: &mut ValueMap,
    root: &Name,
    from: &ValueMap,
    path: &[&Name],
    budget: &Budget,
) -> Result<(), BudgetExceeded> {
    let place = into.get_or_insert_with(root.clone(), || Value::Map(ValueMap::new()));
    let (Value::Map(place), Some((first, rest))) = (&mut *place, path.split_first()) else {
        budget.charge_map(from.len())?;
        from.values().try_for_each(|value| budget.charge_value(value))?;
        *place = Value::Map(from.clone());
        return Ok(());
    };
    match from.get(*first) {
        Some(Value::Map(inner)) if !rest.is_empty() => copy_known_part(place, first, inner, rest, budget)?,
        Some(value) if !value.is_unknown() => {
            budget.charge_value(value)?;
            place.insert((*first).clone(), value.clone());
        }
        _ => {}
    }
    Ok(())
}
