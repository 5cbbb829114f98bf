//! The list `allow_exposure` of a block. In: the list. Out: its correct entries. Each names an exposure that the kind can
//! have, once, and gives a reason; any other is reported and left out, so that it still warns.

use super::lifecycle_lists::list_entries;
use crate::config::codes;
use crate::config::diagnostics::messages::unknown_word;
use crate::config::keywords;
use crate::config::resolve::context::evaluator::ConfigContext;
use crate::config::resolve::context::scope::EvaluationSite;
use crate::config::stack::model::AllowedExposure;
use crate::config::syntax::document::{Node, NodeValue};
use crate::config::syntax::quoting;
use crate::config::types::scalar;
use crate::model::address::Name;
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::schema::{Kind, find_exposure};
use crate::model::source::Span;

/// Reads the entries of a block's `allow_exposure` list, in order. Empty if it is not a list, which is reported.
pub(in crate::config) fn read_allowed_exposures<'d>(
    context: &ConfigContext<'d>,
    kind: &'static Kind,
    node: &Node,
    site: EvaluationSite<'_, 'd>,
) -> Vec<AllowedExposure> {
    if matches!(node.value, NodeValue::Null | NodeValue::Bare) {
        return Vec::new();
    }
    // In KDL, an entry is a block.
    let one = matches!(node.value, NodeValue::Mapping(_)).then(|| std::slice::from_ref(node));
    let Some(items) = list_entries(node).or(one) else {
        report::<()>(
            context,
            node.span,
            "`allow_exposure` is a list of entries.".to_owned(),
            EXAMPLE,
            site,
        );
        return Vec::new();
    };
    let mut found: Vec<AllowedExposure> = Vec::with_capacity(items.len());
    for item in items {
        let Some(one) = read_entry(context, kind, item, site) else { continue };
        if found.iter().any(|before| before.code == one.code) {
            let detail = format!("`allow_exposure` names {} twice.", one.code);
            report::<()>(context, item.span, detail, "name each code once", site);
            continue;
        }
        found.push(one);
    }
    found
}

const EXAMPLE: &str = "write `allow_exposure: [{ code: X01, reason: …, until: 2027-01-31 }]`";

fn read_entry<'d>(
    context: &ConfigContext<'d>,
    kind: &'static Kind,
    node: &Node,
    site: EvaluationSite<'_, 'd>,
) -> Option<AllowedExposure> {
    let (mut code, mut reason, mut until) = (None, None, None);
    for entry in node.entries().unwrap_or_default() {
        let text = entry.value.scalar().map(|scalar| scalar.text.as_str()).unwrap_or_default();
        match entry.key.as_str() {
            "code" => code = Some(read_code(context, kind, &entry.value, site)?),
            "reason" if !text.trim().is_empty() => reason = Some(text.to_owned()),
            "reason" => {
                let detail = "A `reason` is a text.".to_owned();
                return report(context, entry.value.span, detail, "write the reason", site);
            }
            "until" => {
                let Ok(date) = text.parse() else {
                    let help = "write the last day as YYYY-MM-DD";
                    return report(context, entry.value.span, "`until` is a date.".to_owned(), help, site);
                };
                until = Some(date);
            }
            _ => {
                context.report_problem(site, unknown_word(entry, keywords::ALLOWED));
                return None;
            }
        }
    }
    let (Some(code), Some(reason)) = (code, reason) else {
        let detail = "An entry of `allow_exposure` has a `code` and a `reason`.".to_owned();
        return report(context, node.span, detail, EXAMPLE, site);
    };
    Some(AllowedExposure { code, reason, until, span: node.span })
}

/// Reads the code of an exposure that objects of the kind can have.
fn read_code<'d>(
    context: &ConfigContext<'d>,
    kind: &'static Kind,
    node: &Node,
    site: EvaluationSite<'_, 'd>,
) -> Option<Name> {
    let text = node.scalar().map(|scalar| scalar.text.as_str()).unwrap_or_default();
    let known = || kind.exposures.iter().map(|exposure| exposure.code);
    if known().any(|code| code == text) {
        return Some(Name::new(text));
    }
    let name = scalar::with_article(kind.name);
    let detail = match find_exposure(&context.registry, text) {
        Some((_, kinds)) => format!("{text} is about {}. {name} cannot have it.", kinds.join(" and ")),
        None => format!("There is no exposure `{}`.", quoting::shorten_for_message(text)),
    };
    let is_other = find_exposure(&context.registry, text).is_some();
    let near = nearest_name(text, known()).filter(|_| !is_other);
    let help = match (known().count(), near) {
        (0, _) => format!("remove the entry: no exposure is about {}", kind.name),
        (_, Some(near)) => format!("did you mean `{near}`?"),
        _ => format!("codes are: {}", known().collect::<Vec<_>>().join(", ")),
    };
    report(context, node.span, detail, &help, site)
}

fn report<'d, T>(
    context: &ConfigContext<'d>,
    span: Span,
    detail: String,
    help: &str,
    site: EvaluationSite<'_, 'd>,
) -> Option<T> {
    let problem = Diagnostic::error(codes::ALLOW_EXPOSURE, "`allow_exposure` is wrong");
    context.report_problem(site, problem.with_label(span, "").detail(detail).help(help));
    None
}
