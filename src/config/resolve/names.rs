//! Names in scope: variables, locals, `each`, outputs of modules and declared resources, with the diagnostics for
//! names that are not declared. In: a name and the site of its use. Out: its value, or a diagnostic and `None`. No
//! expression is evaluated here.

use crate::config::codes;
use crate::config::resolve::context::block_index::{Each, EachValue};
use crate::config::resolve::context::evaluator::{ConfigContext, Evaluator};
use crate::config::resolve::context::scope::{EvaluationSite, LocalValue};
use crate::config::types::scalar;
use crate::model::address::{Address, Name};
use crate::model::diagnostic::{Diagnostic, MAX_CANDIDATES, nearest_name};
use crate::model::expression::{Expression, Reference};
use crate::model::schema::Kind;
use crate::model::source::Span;
use crate::model::values::value::Value;

/// Returns the name prefix of a module's resources. `None` in the stack itself, which has none; that is reported.
pub(in crate::config) fn module_name_prefix<'e, 'd>(
    evaluator: &Evaluator<'e, 'd>,
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Option<&'e Name> {
    if evaluator.scope.depth > 0 {
        return Some(&evaluator.scope.name_prefix);
    }
    evaluator.context.report_problem(
        site,
        Diagnostic::error(codes::UNKNOWN_ROOT, "this name means nothing here")
            .with_label(span, "")
            .detail(
                "`module` is the prefix of the names of a module's resources, and this is not a module.",
            )
            .help("write the name itself"),
    );
    None
}

/// Returns whether live objects can be referenced at this site; reports it otherwise. `kind` names what the
/// reference is to, for the message.
pub(in crate::config) fn is_late<'d>(
    context: &ConfigContext<'d>,
    site: EvaluationSite<'_, 'd>,
    kind: &str,
    span: Span,
) -> bool {
    let Some(place) = site.early else { return true };
    context.report_problem(
        site,
        Diagnostic::error(codes::NOT_KNOWN_YET, "this must be known before any resource exists")
            .with_label(span, "")
            .detail(format!(
                "{place} is evaluated while the configuration is loaded, and attributes of a {kind} are known only later."
            ))
            .help("use a variable, or a local that refers to no resource"),
    );
    false
}

/// Reports a path that does not resolve: gives the problem of the block index a span, and an edit if its hint
/// names the right segment.
pub(in crate::config) fn dead_end<'d>(
    context: &ConfigContext<'d>,
    site: EvaluationSite<'_, 'd>,
    mut problem: Diagnostic,
    path: &[Name],
    span: Span,
) {
    // A wrong instance key follows the block's name in the path.
    let detail = problem.detail.as_deref().unwrap_or_default();
    let key = path.iter().find(|name| detail.contains(&format!(" has no key `{name}`")));
    let place = key.or(path.first()).map_or(span, |name| context.part_within(span, name));
    problem = problem.first_at(place);
    if let (Some(help), true) = (&problem.help, place != span) {
        // The hint "did you mean `$kind.near`?" contains the right name.
        if let Some(near) =
            help.strip_prefix("did you mean `$").and_then(|rest| rest.split(['.', '`']).nth(1))
        {
            problem = problem.clone().fix(place, near);
        }
    }
    context.report_problem(site, problem);
}

/// Returns the problem of a reference to a resource that this environment leaves out.
pub(in crate::config) fn absent_resource(
    evaluator: &Evaluator<'_, '_>,
    address: &Address,
    span: Span,
) -> Diagnostic {
    let problem = Diagnostic::error(codes::ABSENT_RESOURCE, "this environment does not have the resource")
        .with_label(span, "")
        .detail(format!("The `when` of {address} is false in the environment {}.", evaluator.context.env))
        .help(format!(
            "guard it: `${{has({}) ? … : …}}`, or give this block the same `when`",
            address.as_str()
        ));
    match evaluator.blocks.of_instance(address) {
        Some(block) => {
            problem.with_label(block.entry.key_span, format!("{} is declared here", block.address))
        }
        None => problem,
    }
}

/// Returns whether a kind has an attribute of a name; reports it otherwise, also a collection of children, of which only the
/// children have values.
/// Every kind has `id`.
pub(in crate::config) fn has_attribute<'d>(
    context: &ConfigContext<'d>,
    kind: &Kind,
    name: &Name,
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> bool {
    if name == "id" || kind.attribute(name).is_some() {
        return true;
    }
    let place = context.part_within(span, name);
    if let Some(child) = context.registry.child(kind.name, name) {
        let problem = Diagnostic::error(codes::UNKNOWN_REFERENCED_ATTRIBUTE, "this is no attribute")
            .with_label(place, "")
            .detail(format!(
                "`{name}` are resources of their own, of the kind {}: only each of them has values.",
                child.name
            ))
            .help(format!("refer to one of them, or to what it has: `{name}.KEY.ATTRIBUTE`"));
        context.report_problem(site, problem);
        return false;
    }
    let problem =
        Diagnostic::error(codes::UNKNOWN_REFERENCED_ATTRIBUTE, "there is no attribute of this name")
            .with_label(place, "")
            .detail(format!("{} has no `{name}`.", scalar::with_article(kind.name)));
    let known = kind.attributes.iter().map(|attribute| attribute.name).chain(["id"]);
    context.report_problem(
        site,
        match nearest_name(name, known) {
            Some(near) if place != span => problem.help(format!("did you mean `{near}`?")).fix(place, near),
            Some(near) => problem.help(format!("did you mean `{near}`?")),
            None => problem,
        },
    );
    false
}

/// Returns the value of a variable. `None` after a problem that was reported, here if the variable is not declared.
pub(in crate::config) fn variable_value<'e, 'd>(
    evaluator: &Evaluator<'e, 'd>,
    name: &Name,
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Option<&'e Expression> {
    let Some(value) = evaluator.scope.variables.expressions.get(name) else {
        let known = evaluator.scope.variables.expressions.keys().map(Name::as_str);
        evaluator.context.report_problem(
            site,
            undeclared_name(evaluator.context, codes::UNKNOWN_VARIABLE, "variable", name, known, span),
        );
        return None;
    };
    value.as_ref()
}

/// Returns the value of a local. `None` after a problem that was reported, here if the local is not declared, or is
/// not resolved before all blocks are declared.
pub(in crate::config) fn local_value<'e, 'd>(
    evaluator: &Evaluator<'e, 'd>,
    name: &Name,
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Option<&'e Expression> {
    let Some(local) = evaluator.scope.locals.get(name) else {
        let known = evaluator.scope.locals.keys().map(Name::as_str);
        evaluator.context.report_problem(
            site,
            undeclared_name(evaluator.context, codes::UNKNOWN_LOCAL, "local", name, known, span),
        );
        return None;
    };
    ready_value(evaluator.context, &local.value, "resource that the local names", span, site)
}

/// Returns the value of a binding. `None` after a problem that was reported, here if it is resolved only once all
/// blocks are declared; `what` names for the message what it waits for.
pub(in crate::config) fn ready_value<'d, 'v>(
    context: &ConfigContext<'d>,
    value: &'v LocalValue,
    what: &str,
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Option<&'v Expression> {
    match value {
        LocalValue::Ready(expression) => Some(expression),
        LocalValue::Broken => None,
        LocalValue::Deferred => {
            let early = site.early.or(Some("this"));
            is_late(context, EvaluationSite { early, ..site }, what, span);
            None
        }
    }
}

fn undeclared_name<'n>(
    context: &ConfigContext<'_>,
    code: &'static str,
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'n str>,
    span: Span,
) -> Diagnostic {
    let place = context.part_within(span, name);
    let problem = Diagnostic::error(code, format!("this {what} is not declared"))
        .with_label(place, "")
        .detail(format!("There is no {what} `{name}`."));
    match nearest_name(name, known) {
        Some(near) if place != span => problem.help(format!("did you mean `{near}`?")).fix(place, near),
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None => problem.help(format!("declare it under `{what}s`").replace("variables", "vars")),
    }
}

/// Returns `each.key` or `each.value`. `None` after a problem that was reported, here if `each` is not in scope.
pub(in crate::config) fn resolve_each<'d>(
    evaluator: &Evaluator<'_, 'd>,
    name: &str,
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Option<Expression> {
    let Some(each) = site.each else {
        evaluator.context.report_problem(
            site,
            Diagnostic::error(codes::NO_EACH, "`each` is used outside of `for_each`")
                .with_label(span, "")
                .help("give the block a `for_each`"),
        );
        return None;
    };
    match name {
        "key" => Some(Value::Text(each.key.clone()).into()),
        "value" => each_value(evaluator, each, span, site),
        _ => {
            evaluator.context.report_problem(
                site,
                Diagnostic::error(codes::NO_EACH, "`each` has `key` and `value` only")
                    .with_label(span, "")
                    .help("write `$each.key` for the instance's key, `$each.value` for its value"),
            );
            None
        }
    }
}

/// Returns the value of `each.value` as an expression. `None` after a problem that was reported.
pub(in crate::config) fn each_value<'d>(
    evaluator: &Evaluator<'_, 'd>,
    each: &Each<'d>,
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Option<Expression> {
    match &each.value {
        EachValue::Known(value) => {
            evaluator.context.report_exceeded(evaluator.context.budget.charge_value(value), span, site)?;
            Some(Expression::Value(value.clone()))
        }
        EachValue::Instance(address) => {
            Some(Expression::Reference(Reference { address: address.clone(), attribute: None }))
        }
        // The values of a `for_each` are outside of its instances, so that `each` is not in scope there.
        EachValue::Written(node) => {
            (evaluator.context.resolve_written)(evaluator, node, EvaluationSite { each: None, ..site })
                .map(|resolved| resolved.expression)
        }
    }
}

/// Returns the kind of a reference's target, a resource or a lookup; `None` for any other address.
pub(in crate::config) fn kind_of(
    evaluator: &Evaluator<'_, '_>,
    address: &Address,
) -> Option<&'static Kind> {
    let looked_up = || evaluator.data.data.get(address).map(|lookup| lookup.kind);
    evaluator.blocks.of_instance(address).map(|block| block.kind).or_else(looked_up)
}

/// Returns what decided the value of a variable or local: `vars.size, set by --var`. `None` if that was its own
/// declaration, and for any other root.
pub(in crate::config) fn value_origin(
    evaluator: &Evaluator<'_, '_>,
    root: &str,
    name: &Name,
) -> Option<Name> {
    match root {
        "vars" => evaluator.scope.variables.origins.get(name).cloned(),
        "locals" => evaluator.scope.locals.get(name)?.origin.clone(),
        _ => None,
    }
}

/// Returns all outputs of a module call, after checking that the instance and the output exist that `steps` name (a
/// `None` step is computed). `None` after a problem that was reported.
pub(in crate::config) fn module_output<'e, 'd>(
    evaluator: &Evaluator<'e, 'd>,
    name: &Name,
    steps: &[Option<&Name>],
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Option<&'e Expression> {
    let Some(call) = evaluator.scope.uses.get(name) else {
        let known = evaluator.scope.uses.keys();
        let detail = format!("No `use` block declares `{name}`.");
        evaluator
            .context
            .report_problem(site, not_given(evaluator.context, name, "module", detail, known, span));
        return None;
    };
    let outputs = ready_value(evaluator.context, &call.value, "resource of a module", span, site)?;
    let keyed = evaluator.scope.keyed.contains(name);
    // Only the names are checked here; the caller follows the path itself.
    let mut here = outputs;
    let levels: &[&str] = if keyed { &["instance", "output"] } else { &["output"] };
    for (step, what) in steps.iter().zip(levels) {
        let (Some(step), Expression::Map(map)) = (step, here) else { break };
        let Some(next) = map.get(*step) else {
            let detail = if map.is_empty() && !keyed {
                format!(
                    "The module `{name}` has no outputs: its `when` is false, or it declares no `outputs`."
                )
            } else {
                format!("The module `{name}` has no {what} `{step}`.")
            };
            evaluator
                .context
                .report_problem(site, not_given(evaluator.context, step, what, detail, map.keys(), span));
            return None;
        };
        here = next;
    }
    Some(outputs)
}

fn not_given<'n>(
    context: &ConfigContext<'_>,
    name: &Name,
    what: &str,
    detail: String,
    known: impl Iterator<Item = &'n Name>,
    span: Span,
) -> Diagnostic {
    let place = context.part_within(span, name);
    // A module with `for_each` may have thousands of instances.
    let known: Vec<&str> = known.map(Name::as_str).take(MAX_CANDIDATES).collect();
    let problem = Diagnostic::error(codes::UNKNOWN_OUTPUT, format!("there is no {what} of this name"))
        .with_label(place, "")
        .detail(detail);
    match (nearest_name(name, known.iter().copied()), known.len()) {
        (Some(near), _) if place != span => {
            problem.help(format!("did you mean `{near}`?")).fix(place, near)
        }
        (Some(near), _) => problem.help(format!("did you mean `{near}`?")),
        (None, 0) => problem,
        (None, 1..=20) => problem.help(format!("known names: {}", known.join(", "))),
        (None, _) => problem.help(format!("known names include: {}", known[..20].join(", "))),
    }
}
