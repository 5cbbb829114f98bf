//! References to data lookups and to outputs of other stacks. In: a path that begins with `data` or `stacks`. Out:
//! a reference whose value `late_binding` fills in after reading. Each output that is referenced is recorded,
//! because only these are read.

use super::names::{has_attribute, is_late};
use crate::config::codes;
use crate::config::resolve::context::evaluator::{ConfigContext, Evaluator};
use crate::config::resolve::context::scope::{EvaluationSite, ModuleScope};
use crate::model::address::{Address, Name};
use crate::model::cel::{PathSegment, ReferencePath};
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::expression::Reference;
use crate::model::schema::{Attribute, Kind};
use crate::model::source::Span;

/// Returns the address of a lookup in a unit: `data.KIND.NAME`, after the prefix of the module.
pub(in crate::config) fn data_address(scope: &ModuleScope, kind: &str, name: &str) -> Address {
    Address::new("data", kind).join(name).in_module(&scope.prefix)
}

/// Returns the reference for a path in an expression, and the path at which its value is bound: the part of the
/// path that the reference covers. `None` after a problem that was reported.
pub(in crate::config) fn resolve_external<'d>(
    evaluator: &Evaluator<'_, 'd>,
    path: &ReferencePath,
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Option<(Name, Reference)> {
    let steps: Vec<Name> = path
        .segments
        .iter()
        .map_while(|segment| match segment {
            PathSegment::Name(name) => Some(name.clone()),
            PathSegment::Computed(_) => None,
        })
        .collect();
    let (reference, used) = external_reference(evaluator, &path.root, &steps, span, site)?;
    let place = steps.iter().take(used).fold(path.root.to_string(), |place, step| place + "." + step);
    Some((Name::new(place), reference))
}

/// Returns the reference for the steps after `data` or `stacks`, and how many of the steps it covers. `None` after
/// a problem that was reported.
pub(in crate::config) fn external_reference<'d>(
    evaluator: &Evaluator<'_, 'd>,
    root: &Name,
    steps: &[Name],
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Option<(Reference, usize)> {
    if !is_late(evaluator.context, site, if root == "data" { "looked up object" } else { "stack" }, span) {
        return None;
    }
    if root == "data" {
        let [kind, name, rest @ ..] = steps else {
            return report_incomplete_reference(
                evaluator.context,
                codes::DATA,
                "a lookup",
                "$data.KIND.NAME",
                span,
                site,
            );
        };
        let address = data_address(evaluator.scope, kind, name);
        let prefix = &evaluator.scope.prefix;
        let Some(lookup) = evaluator.data.data.get(&address) else {
            let known = evaluator.data.data.keys().filter_map(|address| address.strip_module(prefix));
            let written = address.strip_module(prefix).unwrap_or_default();
            undeclared_external(evaluator.context, written, known, span, site);
            return None;
        };
        let attribute = rest.first().cloned();
        if let Some(name) = attribute.as_ref() {
            if !has_attribute(evaluator.context, lookup.kind, name, span, site) {
                return None;
            }
            // Such an attribute would be null for every object, which no message would explain.
            if name != "id" && !lookup.kind.attribute(name).is_some_and(is_seen) {
                evaluator.context.report_problem(site, not_seen(lookup.kind, name, span));
                return None;
            }
        }
        let used = 2 + usize::from(attribute.is_some());
        return Some((Reference { address, attribute }, used));
    }
    let [name, output, ..] = steps else {
        return report_incomplete_reference(
            evaluator.context,
            codes::STACKS,
            "an output of a stack",
            "$stacks.NAME.OUTPUT",
            span,
            site,
        );
    };
    if !evaluator.data.stacks.contains_key(name) {
        let known: Vec<String> =
            evaluator.data.stacks.keys().map(|name| format!("stacks.{name}")).collect();
        let written = format!("stacks.{name}");
        undeclared_external(evaluator.context, &written, known.iter().map(String::as_str), span, site);
        return None;
    }
    // Whether the output exists is known only when the other stack's ledger is read.
    let mut reads = evaluator.data.reads.borrow_mut();
    reads.entry(name.clone()).or_default().entry(output.clone()).or_insert(span);
    let address = Address::new("stacks", name);
    Some((Reference { address, attribute: Some(output.clone()) }, 2))
}

fn report_incomplete_reference<'d, T>(
    context: &ConfigContext<'d>,
    code: &'static str,
    what: &str,
    form: &str,
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Option<T> {
    context.report_problem(
        site,
        Diagnostic::error(code, "a reference is incomplete")
            .with_label(span, "")
            .help(format!("name {what}: `{form}`")),
    );
    None
}

fn undeclared_external<'d, 'n>(
    context: &ConfigContext<'d>,
    written: &str,
    known: impl Iterator<Item = &'n str>,
    span: Span,
    site: EvaluationSite<'_, 'd>,
) {
    let problem = Diagnostic::error(codes::UNKNOWN_RESOURCE, "there is no lookup of this name")
        .with_label(span, "")
        .detail(format!("No block declares {written}."));
    context.report_problem(
        site,
        match nearest_name(written, known) {
            Some(near) => problem.help(format!("did you mean `${near}`?")),
            None => problem.help("declare it under `data` or `stacks`"),
        },
    );
}

/// Returns whether the service's lists contain an attribute. A data lookup reads lists only, so any other attribute
/// would have no value.
pub(in crate::config) fn is_seen(attribute: &Attribute) -> bool {
    attribute.listed && attribute.is_readable()
}

fn not_seen(kind: &Kind, name: &str, span: Span) -> Diagnostic {
    Diagnostic::error(codes::DATA, "a lookup cannot read this attribute")
        .with_label(span, "")
        .detail(format!(
            "When the service lists objects of kind {}, it does not return `{name}`.",
            kind.name
        ))
        .help(
            "pass the value as a variable, or read it from an output of the stack that manages the object",
        )
}
