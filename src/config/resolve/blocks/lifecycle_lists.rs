//! List keywords of a resource's block: `lifecycle.ignore_drift` and `depends_on`. In: the list. Out: its correct
//! entries. Each entry occurs once, names something that exists, and has an effect; any other is reported and left out.

use crate::config::codes;
use crate::config::diagnostics::messages::unknown_word;
use crate::config::keywords;
use crate::config::resolve::context::block_index::{PathStep, PathTarget};
use crate::config::resolve::context::evaluator::{ConfigContext, Evaluator};
use crate::config::resolve::context::scope::EvaluationSite;
use crate::config::stack::model::{IgnoreDrift, Resource};
use crate::config::syntax::document::{Node, NodeValue};
use crate::config::syntax::quoting;
use crate::config::types::scalar;
use crate::model::address::{Address, Name};
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::schema::Kind;
use crate::model::source::Span;

/// Returns the entries of a list; `None` for any other value. A KDL node with one argument
/// is a list of one.
pub(super) fn list_entries(node: &Node) -> Option<&[Node]> {
    match &node.value {
        NodeValue::Sequence(items) => Some(items),
        NodeValue::Scalar(scalar) if scalar.sole_argument => Some(std::slice::from_ref(node)),
        _ => None,
    }
}

/// Reads the entries of a block's `ignore_drift` list, in order. Empty if it is not a list, which is reported.
pub(in crate::config) fn read_ignore_drift<'d>(
    context: &ConfigContext<'d>,
    kind: &'static Kind,
    node: &Node,
    site: EvaluationSite<'_, 'd>,
) -> Vec<IgnoreDrift> {
    // In KDL, an entry with more than a name is a block.
    let one = matches!(node.value, NodeValue::Mapping(_)).then(|| std::slice::from_ref(node));
    let Some(items) = list_entries(node).or(one) else {
        let name = node.scalar().map_or("ATTRIBUTE", |scalar| scalar.text.as_str());
        let name = if kind.attribute(name).is_some() { name } else { "ATTRIBUTE" };
        let help = format!("write `ignore_drift: [{name}]`");
        lifecycle_problem(context, node.span, "`ignore_drift` is a list of attributes.", &help, site);
        return Vec::new();
    };
    let mut found: Vec<IgnoreDrift> = Vec::with_capacity(items.len());
    for item in items {
        let Some(one) = ignored_one(context, kind, item, site) else { continue };
        if found.iter().any(|before| before.attribute == one.attribute) {
            let detail = format!("`ignore_drift` names `{}` twice.", one.attribute);
            lifecycle_problem(context, item.span, &detail, "name each attribute once", site);
            continue;
        }
        found.push(one);
    }
    found
}

fn ignored_one<'d>(
    context: &ConfigContext<'d>,
    kind: &'static Kind,
    node: &Node,
    site: EvaluationSite<'_, 'd>,
) -> Option<IgnoreDrift> {
    let mut ignored =
        IgnoreDrift { attribute: Name::default(), reason: None, until: None, span: node.span };
    let mut field = Some(node).filter(|node| node.scalar().is_some());
    let wrong = |span: Span, detail: &str, help: &str| {
        lifecycle_problem(context, span, detail, help, site);
        None
    };
    for entry in node.entries().unwrap_or_default() {
        let text = entry.value.scalar().map(|scalar| scalar.text.as_str()).unwrap_or_default();
        match entry.key.as_str() {
            "field" => field = Some(&entry.value),
            "reason" if text.trim().is_empty() => {
                return wrong(
                    entry.value.span,
                    "A `reason` is a text.",
                    "write the reason, or remove the line",
                );
            }
            "reason" => ignored.reason = Some(text.to_owned()),
            "until" => {
                let Ok(date) = text.parse() else {
                    let help = "write the last day as YYYY-MM-DD";
                    return wrong(entry.value.span, "`until` is a date.", help);
                };
                ignored.until = Some(date);
            }
            _ => {
                context.report_problem(site, unknown_word(entry, keywords::IGNORED));
                return None;
            }
        }
    }
    let Some(field) = field else {
        let help = "write the attribute, or `{ field: ATTRIBUTE, reason: … }`";
        return wrong(node.span, "An entry of `ignore_drift` names an attribute.", help);
    };
    ignored.attribute = field.scalar().map(|scalar| scalar.text.clone()).unwrap_or_default();
    let known = || kind.attributes.iter().filter(|a| a.is_writable()).map(|a| a.name);
    if known().any(|name| name == ignored.attribute) {
        return Some(ignored);
    }
    let help = match nearest_name(&ignored.attribute, known()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("attributes are: {}", known().collect::<Vec<_>>().join(", ")),
    };
    let name = quoting::shorten_for_message(&ignored.attribute);
    let detail = format!("{} has no attribute `{name}` that can be set.", scalar::with_article(kind.name));
    wrong(field.span, &detail, &help)
}

/// Warns about entries of `ignore_drift` without effect: the live value of an attribute that the block does not
/// set is ignored anyway.
pub(in crate::config) fn ignored_for_nothing<'d>(
    context: &ConfigContext<'d>,
    resource: &Resource,
    site: EvaluationSite<'_, 'd>,
) {
    let written = |one: &&IgnoreDrift| !resource.attributes.contains_key(&one.attribute);
    for one in resource.lifecycle.ignore_drift.iter().filter(written) {
        let name = &one.attribute;
        context.report_problem(
            site,
            Diagnostic::warning(codes::LIFECYCLE, "`ignore_drift` names an attribute that is not managed")
                .with_label(one.span, "")
                .detail(format!("The block does not set `{name}`, so its live value is ignored anyway."))
                .help(format!("remove `{name}` from `ignore_drift`, or set the attribute")),
        );
    }
}

/// Reads `depends_on`: the addresses of all instances of the named blocks, sorted, without those that this
/// environment leaves out. A wrong entry is reported and left out.
pub(in crate::config) fn depends_on<'d>(
    evaluator: &Evaluator<'_, 'd>,
    node: &Node,
    site: EvaluationSite<'_, 'd>,
) -> Vec<Address> {
    let Some(items) = list_entries(node) else {
        let text = node.scalar().map(|scalar| scalar.text.trim_start_matches('$'));
        let named = text.filter(|text| Address::parse(text).is_ok()).unwrap_or("KIND.NAME");
        let help = format!("write `depends_on: [{named}]`");
        let problem = Diagnostic::error(codes::DEPENDS_ON, "`depends_on` names no resource");
        let problem = problem.with_label(node.span, "").detail("`depends_on` is a list of addresses.");
        evaluator.context.report_problem(site, problem.help(help));
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut named: Vec<&str> = Vec::with_capacity(items.len());
    for item in items {
        let Some(text) = item.scalar().map(|scalar| scalar.text.as_str()) else {
            depends_problem(evaluator.context, item.span, None, site);
            continue;
        };
        let text = text.strip_prefix('$').unwrap_or(text);
        if named.contains(&text) {
            let problem = Diagnostic::error(codes::DEPENDS_ON, "`depends_on` names a resource twice")
                .with_label(item.span, "")
                .detail(format!("`{}` is in the list already.", quoting::shorten_for_message(text)));
            evaluator.context.report_problem(site, problem.help("name each block once"));
            continue;
        }
        named.push(text);
        found.extend(dependency_addresses(evaluator, text, item.span, site));
    }
    // A block and one of its instances may both be listed; plans must not depend on the order.
    found.sort();
    found.dedup();
    found
}

/// Returns the resources at an address of this stack or module: all instances of a block with `for_each`. None if
/// this environment leaves them out, or after a problem that was reported.
fn dependency_addresses<'d>(
    evaluator: &Evaluator<'_, 'd>,
    text: &str,
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Vec<Address> {
    let mut steps = text.split('.').map(|step| Some(Name::new(step)));
    let root = steps.next().flatten().unwrap_or_default();
    let kinds = || evaluator.context.registry.top_level();
    let Some(kind) = kinds().find(|kind| kind.name == root) else {
        let near = nearest_name(&root, kinds().map(|kind| kind.name));
        let near = near.and_then(|near| Some(format!("{near}.{}", text.split_once('.')?.1)));
        let meant = near.map(|near| {
            Diagnostic::error(codes::DEPENDS_ON, "")
                .detail(format!("No kind is called `{}`.", quoting::shorten_for_message(&root)))
                .help(format!("did you mean `{near}`?"))
        });
        depends_problem(evaluator.context, span, meant, site);
        return Vec::new();
    };
    let steps: Vec<PathStep> = steps.collect();
    match evaluator.blocks.follow_path(&evaluator.context.registry, kind, &steps) {
        PathTarget::Objects { addresses, rest, .. } if rest >= steps.len() => return addresses,
        PathTarget::Absent(_) | PathTarget::Broken => {}
        PathTarget::Objects { .. } => depends_problem(evaluator.context, span, None, site),
        PathTarget::NotFound(problem) => depends_problem(evaluator.context, span, Some(*problem), site),
    }
    Vec::new()
}

fn depends_problem<'d>(
    context: &ConfigContext<'d>,
    span: Span,
    why: Option<Diagnostic>,
    site: EvaluationSite<'_, 'd>,
) {
    let mut problem =
        Diagnostic::error(codes::DEPENDS_ON, "`depends_on` names no resource").with_label(span, "");
    match why {
        Some(why) => {
            problem.detail = why.detail;
            // `depends_on` takes addresses, which have no `$`.
            problem.help = why.help.map(|help| help.replace("`$", "`"));
            problem.labels.extend(why.labels);
        }
        None => {
            problem = problem
                .help("name blocks by their addresses: KIND.NAME, or KIND.NAME.KEY for one instance");
        }
    }
    context.report_problem(site, problem);
}

pub(in crate::config) fn lifecycle_problem<'d>(
    context: &ConfigContext<'d>,
    span: Span,
    detail: &str,
    help: &str,
    site: EvaluationSite<'_, 'd>,
) {
    context.report_problem(
        site,
        Diagnostic::error(codes::LIFECYCLE, "a `lifecycle` block is wrong")
            .with_label(span, "")
            .detail(detail)
            .help(help),
    );
}
