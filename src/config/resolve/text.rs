//! Scalars with references and expressions: `$path`, `${…}`, and strings that contain `${…}`. In: the scalar as it
//! is written. Out: a value, or an expression that waits for live objects. A string without `$` is its own value.

use super::expressions::{compute_program, syntax_problem};
use super::references::resolve_path;
use super::template::{TemplateError, TemplatePart, TextTemplate};
use crate::config::codes;
use crate::config::diagnostics::messages::evaluation_problem;
use crate::config::resolve::context::evaluator::{Evaluator, NoLiveValues};
use crate::config::resolve::context::scope::{EvaluationSite, ResolvedValue};
use crate::model::address::{Name, is_legal_segment};
use crate::model::cel::PathSegment;
use crate::model::diagnostic::Diagnostic;
use crate::model::evaluate::evaluate_within;
use crate::model::expression::Expression;
use crate::model::source::Span;
use crate::model::values::value::Value;

/// Resolves a string with its references and expressions. `None` after a problem that was reported, and after
/// the budget is exceeded.
pub(in crate::config) fn resolve_text<'d>(
    evaluator: &Evaluator<'_, 'd>,
    text: &Name,
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Option<ResolvedValue> {
    if evaluator.context.problems.are_closed() {
        return None;
    }
    // Intermediate values are refunded, and only the result stays charged: a long interpolation would
    // otherwise count several times.
    let before = evaluator.context.budget.mark();
    let resolved = filled_in(evaluator, text, span, site);
    evaluator.context.budget.release(before);
    let resolved = resolved?;
    evaluator.context.report_exceeded(resolved.expression.charge(evaluator.context.budget), span, site)?;
    Some(resolved)
}

fn filled_in<'d>(
    evaluator: &Evaluator<'_, 'd>,
    text: &Name,
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Option<ResolvedValue> {
    let template = match TextTemplate::parse(text, |name| evaluator.context.is_root(name)) {
        Ok(Some(template)) => template,
        Ok(None) => return Some(Value::Text(text.clone()).into()),
        Err(error) => {
            evaluator.context.report_problem(site, template_problem(&error, text, span));
            return None;
        }
    };
    match template.parts.as_slice() {
        [TemplatePart::Text(text)] => Some(Value::text(text).into()),
        [TemplatePart::Path(path)] => resolve_path(evaluator, path, span, site),
        [TemplatePart::Cel(source)] => resolve_expression(evaluator, source, span, site),
        parts => interpolate(evaluator, parts, span, site),
    }
}

fn interpolate<'d>(
    evaluator: &Evaluator<'_, 'd>,
    parts: &[TemplatePart],
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Option<ResolvedValue> {
    let mut resolved = Vec::with_capacity(parts.len());
    let mut origin = None;
    for part in parts {
        let part = match part {
            TemplatePart::Text(text) => ResolvedValue::from(Value::text(text)),
            TemplatePart::Path(path) => resolve_path(evaluator, path, span, site)?,
            TemplatePart::Cel(source) => resolve_expression(evaluator, source, span, site)?,
        };
        origin = origin.or(part.origin);
        resolved.push(part.expression);
    }
    let expression = Expression::Text(resolved);
    // Evaluated even if parts are unknown: a list inside a string is wrong in any case.
    match evaluate_within(&expression, &NoLiveValues, evaluator.context.budget) {
        Ok(value) if value.is_unknown() => Some(ResolvedValue::new(expression, origin)),
        Ok(value) => Some(ResolvedValue::new(Expression::Value(value), origin)),
        Err(error) => {
            evaluator.context.report_problem(site, evaluation_problem(&error, span, None));
            None
        }
    }
}

fn template_problem(error: &TemplateError, text: &str, span: Span) -> Diagnostic {
    let after = text.split_once("${").map_or("", |(_, after)| after);
    let open = ['\'', '"'].into_iter().find(|quote| after.matches(*quote).count() % 2 == 1);
    match error {
        TemplateError::Unclosed if open.is_some() => {
            let quote = open.unwrap_or_default();
            Diagnostic::error(codes::SYNTAX, "an expression is not closed")
                .with_label(span, "")
                .detail(format!(
                    "A text in it begins with {quote} and does not end, so that its `}}` is text, too."
                ))
                .help(format!("close the text with {quote}"))
        }
        TemplateError::Unclosed => Diagnostic::error(codes::SYNTAX, "an expression is not closed")
            .with_label(span, "")
            .detail("`${` begins an expression, and no `}` ends it.")
            .help("close it with `}`, or write `$${` for the text itself"),
        TemplateError::Ambiguous(word) => {
            let after = text.split_once(&format!("${word}")).map_or("", |(_, after)| after);
            let is_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
            let end = after.find(|c| !is_path(c)).unwrap_or(after.len());
            let path = format!("{word}{}", after[..end].trim_end_matches(['.', '-']));
            if let Some(help) = indexed_reference(text, &path) {
                return Diagnostic::error(codes::AMBIGUOUS_DOLLAR, "a reference has no brackets")
                    .with_label(span, "")
                    .help(help);
            }
            Diagnostic::error(codes::AMBIGUOUS_DOLLAR, "a `$` inside a text is ambiguous")
                .with_label(span, "")
                .detail(format!("`${word}` is a reference only when it is the whole value."))
                .help(format!("write `${{{path}}}` to fill it in, or `$${path}` for the text itself"))
        }
        TemplateError::Path(path) => Diagnostic::error(codes::SYNTAX, "a reference has an empty part")
            .with_label(span, "")
            .detail(format!("`${path}` has two dots in a row, or ends with one.")),
    }
}

/// Returns how to write a reference whose last part is in brackets, as in Terraform: `$vm.web["a"]`, `$vars.sizes[0]`.
/// `None` if the text has another form.
fn indexed_reference(text: &str, path: &str) -> Option<String> {
    let index = text.strip_prefix('$')?.strip_prefix(path)?.strip_prefix('[')?.strip_suffix(']')?;
    if index.bytes().all(|byte| byte.is_ascii_digit()) && !index.is_empty() {
        return Some(format!("write `${{{path}[{index}]}}`"));
    }
    let key = index.trim_matches(['"', '\'']);
    is_legal_segment(key).then(|| format!("name the part after a dot: write `${path}.{key}`"))
}

/// Resolves the text between `${` and `}`: computed now if all its values are known, else kept with only the values
/// that it refers to. `None` after a problem that was reported.
pub(in crate::config) fn resolve_expression<'d>(
    evaluator: &Evaluator<'_, 'd>,
    source: &str,
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Option<ResolvedValue> {
    let program = match evaluator.context.parse_program(source) {
        Ok(program) => program,
        Err(error) => {
            evaluator.context.report_problem(site, syntax_problem(evaluator.context, &error, source, span));
            return None;
        }
    };
    // `${vm.web}` is the same as `$vm.web`: a reference, whose target's kind is checked, and not a computed value.
    if let Some(path) = program.as_path() {
        let names: Option<Vec<Name>> = std::iter::once(Some(path.root.clone()))
            .chain(path.segments.iter().map(|segment| match segment {
                PathSegment::Name(name) => Some(name.clone()),
                PathSegment::Computed(_) => None,
            }))
            .collect();
        let goes_too_far = path.root == "module" && !path.segments.is_empty();
        if goes_too_far || !evaluator.context.is_root(&path.root) {
            evaluator
                .context
                .report_problem(site, evaluator.unknown_root(&path.root, &format!("{{{source}}}"), span));
            return None;
        }
        if let Some(names) = names {
            return resolve_path(evaluator, &names, span, site);
        }
    }
    compute_program(evaluator, &program, source, span, site)
}
