//! `resolve`: the entry point of the phase. In: the merged stack and its modules, and the values of variables. Out: a
//! `ResolvedConfig`. Problems are in the collector of the context; a value with a problem is unknown or absent.

use std::collections::BTreeMap;

use crate::config::merge::blocks::{MergedDocuments, NamedEntries};
use crate::config::resolve::blocks::resource::find_project;
use crate::config::resolve::context::evaluator::{ConfigContext, Evaluator};
use crate::config::resolve::context::resolved::{ResolvedConfig, ResolvedUnits};
use crate::config::resolve::context::scope::{EvaluationSite, LocalValue, ModuleScope};
use crate::config::resolve::text::resolve_text;
use crate::config::resolve::unit::resolve_unit;
use crate::config::resolve::untyped_values::resolve_untyped;
use crate::config::resolve::values::data_sources::declared_stacks;
use crate::config::resolve::values::recipients::resolve_recipients;
use crate::config::resolve::values::variables::{VariableSources, resolve_variables};
use crate::config::stack::model::{AttributeSetting, Output};
use crate::config::syntax::document::DocumentEntry;
use crate::model::address::Name;
use crate::model::expression::Expression;
use crate::model::source::Span;

/// Resolves a stack and the modules that it uses. `expression` is the text and the span of an expression to
/// evaluate besides, as an output would be; `None` if none was requested.
pub(in crate::config) fn resolve_config<'d>(
    context: &ConfigContext<'d>,
    merged: &MergedDocuments<'d>,
    variables: &VariableSources<'d, '_>,
    expression: Option<(&str, Span)>,
) -> ResolvedConfig<'d> {
    let mut units = ResolvedUnits::default();
    let mut scope = ModuleScope { override_names: vec![Name::default()], ..ModuleScope::default() };
    // Variables refer to nothing, so they come first; recipients refer to variables only.
    scope.variables = resolve_variables(&units.evaluator(context, &scope), &merged.vars, variables);
    let recipients = resolve_recipients(&units.evaluator(context, &scope), merged.secrets);
    // The directories of other stacks are literals, so they are declared before anything can refer to them.
    units.data.stacks = declared_stacks(context, &merged.stacks);
    resolve_unit(context, merged, &mut scope, &mut units);
    // Addresses are unique: a stable sort would need memory for half of the resources.
    units.resources.sort_unstable_by(|a, b| a.address.cmp(&b.address));
    let evaluator = units.evaluator(context, &scope);
    let outputs = resolve_outputs(&evaluator, &merged.outputs);
    let evaluated = expression.and_then(|(text, span)| evaluate_requested(&evaluator, text, span));
    let named = values_by_name(&evaluator, merged);
    // Only now are the resources of all modules known, and among them all projects.
    let project = find_project(&evaluator, &units.resources);
    ResolvedConfig { scope, units, project, outputs, recipients, evaluated, named }
}

/// Resolves the requested expression: `$path`, `${…}`, or, without any `$`, CEL. `None` after a
/// problem that was reported.
fn evaluate_requested(evaluator: &Evaluator<'_, '_>, text: &str, span: Span) -> Option<Expression> {
    let text = if text.contains('$') { Name::new(text) } else { Name::new(format!("${{{text}}}")) };
    resolve_text(evaluator, &text, span, EvaluationSite::top_level(None))
        .map(|resolved| resolved.expression)
}

fn resolve_outputs<'d>(
    evaluator: &Evaluator<'_, 'd>,
    entries: &NamedEntries<'d>,
) -> BTreeMap<Name, Output> {
    let output = |(name, entry): (&Name, &&'d DocumentEntry)| {
        let resolved = resolve_untyped(evaluator, &entry.value, EvaluationSite::top_level(None))?;
        Some((name.clone(), Output { expression: resolved.expression, span: entry.value.span }))
    };
    entries.iter().filter_map(output).collect()
}

/// Returns the variables and locals that have a value, by their paths. Each is a copy, so it is charged again; one
/// that exceeds the budget is reported and left out.
fn values_by_name<'d>(
    evaluator: &Evaluator<'_, 'd>,
    merged: &MergedDocuments<'d>,
) -> BTreeMap<Name, AttributeSetting> {
    let Evaluator { context, scope, .. } = *evaluator;
    let setting = |expression: &Expression, span: Span, set_by: Option<&Name>| AttributeSetting {
        expression: expression.clone(),
        span,
        set_by: set_by.cloned().map(Box::new),
        parts: None,
        directory: None,
        exclusive: false,
        is_read: false,
    };
    let vars = scope.variables.expressions.iter().filter_map(|(name, value)| {
        let declared = merged.vars.get(name)?.key_span;
        let span = scope.variables.spans.get(name).copied().unwrap_or(declared);
        let set_by = scope.variables.origins.get(name);
        let value = value.as_ref()?;
        context.report_exceeded(value.charge(context.budget), span, EvaluationSite::top_level(None))?;
        Some((Name::new(format!("vars.{name}")), setting(value, span, set_by)))
    });
    let locals = scope.locals.iter().filter_map(|(name, local)| {
        let LocalValue::Ready(value) = &local.value else { return None };
        let span = merged.locals.get(name)?.value.span;
        context.report_exceeded(value.charge(context.budget), span, EvaluationSite::top_level(None))?;
        Some((Name::new(format!("locals.{name}")), setting(value, span, local.origin.as_ref())))
    });
    vars.chain(locals).collect()
}
