//! Addresses of the plain entries of a list such as an app's domains: each is a resource of its own. Its address
//! derives from the value and not from the text, because renaming a local, or moving a value into a variable, must
//! not plan to replace it.

use crate::config::codes;
use crate::config::diagnostics::collector::InstanceContext;
use crate::config::input::list_shorthand::{shorthand_key, shorthand_value};
use crate::config::resolve::context::block_index::PendingBlock;
use crate::config::resolve::context::evaluator::Evaluator;
use crate::config::resolve::context::scope::EvaluationSite;
use crate::config::resolve::untyped_values::resolve_untyped;
use crate::model::address::{Address, is_legal_segment};
use crate::model::diagnostic::Diagnostic;
use crate::model::expression::{Expression, Reference};
use crate::model::values::value::Value;

/// Returns the address of a child, for a computed plain entry by its value. `None` if that is not known yet, is
/// secret, or makes no legal address segment.
pub(in crate::config) fn by_value<'d>(
    evaluator: &Evaluator<'_, 'd>,
    child: &PendingBlock<'d>,
) -> Option<Address> {
    let Some((node, attribute)) = shorthand_value(child.entry, child.kind) else {
        return Some(child.address.clone());
    };
    let computed = node.scalar().is_some_and(|scalar| scalar.text.contains('$'));
    let (Some(parent), true) = (&child.parent, computed) else { return Some(child.address.clone()) };
    let text = named_by(evaluator, &plain_value(evaluator, child)?)?;
    let (_, collection) = child.kind.child_of()?;
    let key = shorthand_key(&text, child.kind, attribute);
    is_legal_segment(&key).then(|| parent.address.join(collection).join(&key))
}

/// Returns whether no earlier child has this address. The same value again is ignored, as in any set; a different
/// value would be lost, so it is reported.
pub(in crate::config) fn is_new<'d>(evaluator: &Evaluator<'_, 'd>, child: &PendingBlock<'d>) -> bool {
    let Some(first) = evaluator.blocks.get(child.address.as_str()) else { return true };
    let earlier = PendingBlock {
        kind: first.kind,
        address: first.address.clone(),
        entry: first.entry,
        parent: first.parent.clone(),
    };
    if plain_value(evaluator, &earlier) != plain_value(evaluator, child) {
        let collection = child.kind.child_of().map_or("", |(_, collection)| collection);
        let attribute = child.kind.plain_entry.unwrap_or("name");
        evaluator.context.problems.push(
            Diagnostic::error(codes::DECLARED_TWICE, "two entries have the same address")
                .with_label(child.entry.key_span, "")
                .with_label(first.entry.key_span, "this entry has the same address")
                .detail(format!("Both are {}: an address holds a-z, 0-9, _ and - only.", child.address))
                .help(format!(
                    "give them names of your own: `{collection}: {{ NAME: {{ {attribute}: … }} }}`"
                )),
        );
    }
    false
}

/// Resolves the value of a plain entry without reporting problems, which the resolution of its resource reports.
/// `None` after a problem, and for an entry that is written in full.
fn plain_value<'d>(evaluator: &Evaluator<'_, 'd>, child: &PendingBlock<'d>) -> Option<Expression> {
    let (node, _) = shorthand_value(child.entry, child.kind)?;
    let parent = child.parent.as_ref()?;
    let instance = InstanceContext { address: &parent.address, key: None };
    let site = EvaluationSite { each: parent.each.as_ref(), instance: Some(instance), early: None };
    let resolved = evaluator.context.problems.without_reporting(|| resolve_untyped(evaluator, node, site));
    resolved.map(|resolved| resolved.expression)
}

/// Returns the text from which a computed entry's key derives: its value, or the reference or expression that it
/// waits for. `None` for a secret, which must not appear in an address.
fn named_by(evaluator: &Evaluator<'_, '_>, expression: &Expression) -> Option<String> {
    match expression {
        Expression::Value(value @ (Value::Text(_) | Value::Integer(_))) => Some(value.to_string()),
        Expression::Reference(Reference { address, attribute }) => {
            let own = address.strip_module(&evaluator.scope.prefix).unwrap_or(address.as_str());
            Some(match attribute {
                Some(attribute) => format!("${own}.{attribute}"),
                None => format!("${own}"),
            })
        }
        Expression::Text(parts) if !expression.is_secret() => {
            parts.iter().map(|part| named_by(evaluator, part)).collect()
        }
        // The text of the expression is known, and does not change when its value becomes known.
        Expression::Cel(cel) if !expression.is_secret() => Some(format!("${{{}}}", cel.source)),
        _ => None,
    }
}
