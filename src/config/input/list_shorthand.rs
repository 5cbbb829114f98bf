//! Shorthand for collections of one attribute: `domains: [shop.example.com]` expands to `domains: {
//! shop-example-com: { domain: shop.example.com } }`, so that each entry is a resource with
//! an address of its own.
//!
//! The tree is rewritten before any other phase reads it; spans still point at the plain values. At first
//! an entry's key is its text. Once its value is known, the address is derived from the value, so that it
//! does not depend on how the value is computed.

use crate::config::diagnostics::codes;
use crate::config::diagnostics::collector::InstanceContext;
use crate::config::resolve::block_index::PendingBlock;
use crate::config::resolve::evaluator::Evaluator;
use crate::config::resolve::scope::EvaluationSite;
use crate::config::syntax::document::{Document, DocumentEntry, Node, NodeValue};
use crate::model::address::{Address, Name, is_legal_segment};
use crate::model::diagnostic::Diagnostic;
use crate::model::expression::{Expression, Reference};
use crate::model::schema::{Kind, Registry};
use crate::model::value::Value;

/// Writes out the plain entries of every block of a file.
pub(in crate::config) fn expand_list_shorthand(document: &mut Document, registry: &Registry) {
    for entry in &mut document.root {
        let Some(kind) = registry.top_level().find(|kind| kind.name == entry.key) else { continue };
        if registry.children(kind.name).all(|child| child.plain_entry.is_none()) {
            continue;
        }
        let NodeValue::Mapping(blocks) = &mut entry.value.value else { continue };
        for block in blocks {
            in_block(&mut block.value, kind, registry);
        }
    }
}

fn in_block(block: &mut Node, kind: &Kind, registry: &Registry) {
    let NodeValue::Mapping(entries) = &mut block.value else { return };
    for entry in entries {
        let child = registry.child(kind.name, &entry.key);
        let Some((child, attribute)) = child.and_then(|child| Some((child, child.plain_entry?))) else {
            continue;
        };
        let items = match &mut entry.value.value {
            NodeValue::Sequence(items) => std::mem::take(items),
            NodeValue::Scalar(scalar) if scalar.sole_argument => {
                scalar.sole_argument = false;
                vec![entry.value.clone()]
            }
            _ => continue,
        };
        let written = items.into_iter().map(|item| written_out(item, child, attribute)).collect();
        entry.value.value = NodeValue::Mapping(written);
    }
}

fn written_out(item: Node, child: &Kind, attribute: &'static str) -> DocumentEntry {
    let text = item.scalar().map(|scalar| scalar.text.as_str()).unwrap_or_default();
    let key = shorthand_key(text, child, attribute);
    let (span, through) = (item.span, item.through);
    let inner = DocumentEntry { key: Name::new_static(attribute), key_span: span, value: item };
    let value = Node { value: NodeValue::Mapping(vec![inner]), span, through };
    DocumentEntry { key, key_span: span, value }
}

/// Returns the value of a plain entry and its attribute; `None` for an entry that is written in full.
fn shorthand_value<'d>(entry: &'d DocumentEntry, kind: &Kind) -> Option<(&'d Node, &'static str)> {
    let attribute = kind.plain_entry?;
    match entry.value.entries()? {
        // An entry written in full has a name at another span than its value.
        [inner] if inner.key == attribute && entry.key_span == inner.value.span => {
            Some((&inner.value, attribute))
        }
        _ => None,
    }
}

/// Returns whether an entry is plain and has a computed value, so that its address depends on the value.
pub(in crate::config) fn is_computed(entry: &DocumentEntry) -> bool {
    let inner = entry.value.entries().and_then(|entries| match entries {
        [inner] if entry.key_span == inner.value.span => inner.value.scalar(),
        _ => None,
    });
    inner.is_some_and(|scalar| scalar.text.contains('$'))
}

impl<'d> Evaluator<'d> {
    /// Returns the address of a child, that of a plain entry by its value; `None` while that is not known.
    pub(in crate::config) fn by_value(&self, child: &PendingBlock<'d>) -> Option<Address> {
        let Some((node, attribute)) = shorthand_value(child.entry, child.kind) else {
            return Some(child.address.clone());
        };
        let computed = node.scalar().is_some_and(|scalar| scalar.text.contains('$'));
        let (Some(parent), true) = (&child.parent, computed) else { return Some(child.address.clone()) };
        let text = self.named_by(&self.plain_value(child)?)?;
        let (_, collection) = child.kind.child_of()?;
        let key = shorthand_key(&text, child.kind, attribute);
        is_legal_segment(&key).then(|| parent.address.join(collection).join(&key))
    }

    /// Returns whether no earlier child has this address. The same value again is ignored, as in any set; a
    /// different value would be lost, so it is a problem.
    pub(in crate::config) fn is_new(&self, child: &PendingBlock<'d>) -> bool {
        let Some(first) = self.index.get(child.address.as_str()) else { return true };
        let earlier = PendingBlock {
            kind: first.kind,
            address: first.address.clone(),
            entry: first.entry,
            parent: first.parent.clone(),
        };
        if self.plain_value(&earlier) != self.plain_value(child) {
            let collection = child.kind.child_of().map_or("", |(_, collection)| collection);
            let attribute = child.kind.plain_entry.unwrap_or("name");
            self.problems.push(
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

    fn plain_value(&self, child: &PendingBlock<'d>) -> Option<Expression> {
        let (node, _) = shorthand_value(child.entry, child.kind)?;
        let parent = child.parent.as_ref()?;
        let instance = InstanceContext { address: &parent.address, key: None };
        let frame = EvaluationSite { each: parent.each.as_ref(), instance: Some(instance), early: None };
        let resolved = self.problems.without_reporting(|| self.resolve_untyped(node, frame));
        resolved.map(|resolved| resolved.expression)
    }

    /// Returns the text from which a computed entry's key derives: its value, or the reference that it
    /// waits for. `None` for a secret, which must not appear in an address.
    fn named_by(&self, expression: &Expression) -> Option<String> {
        match expression {
            Expression::Value(value @ (Value::Text(_) | Value::Integer(_))) => Some(value.to_string()),
            Expression::Reference(Reference { address, attribute }) => {
                let own = address.strip_module(&self.scope.prefix).unwrap_or(address.as_str());
                Some(match attribute {
                    Some(attribute) => format!("${own}.{attribute}"),
                    None => format!("${own}"),
                })
            }
            Expression::Text(parts) if !expression.is_secret() => {
                parts.iter().map(|part| self.named_by(part)).collect()
            }
            Expression::Cel(cel) if !expression.is_secret() => Some(format!("${{{}}}", cel.source)),
            _ => None,
        }
    }
}

/// Returns the address segment of a plain entry: its text without the part that the type implies
/// (`$database.main` is `main`), with hyphens for illegal characters.
fn shorthand_key(text: &str, child: &Kind, attribute: &str) -> Name {
    use crate::model::schema::Type;
    let of = child.attribute(attribute).and_then(|attribute| match attribute.ty {
        Type::Reference(kind) => Some(kind),
        _ => None,
    });
    let path = of.and_then(|of| text.strip_prefix('$')?.strip_prefix(of)?.strip_prefix('.'));
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let mut key = String::with_capacity(text.len());
    for c in path.unwrap_or(text).chars().map(|c| c.to_ascii_lowercase()) {
        if legal(c) {
            key.push(c);
        } else if !key.is_empty() && !key.ends_with('-') {
            key.push('-');
        }
    }
    Name::new(key.trim_end_matches('-'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::REGISTRY;

    #[test]
    fn a_list_entry_is_named_after_its_source_text() {
        let domain = REGISTRY.child("app", "domains").unwrap();
        let link = REGISTRY.child("app", "databases").unwrap();
        for (text, kind, wanted) in [
            ("shop.example.com", domain, "shop-example-com"),
            ("*.Example.com", domain, "example-com"),
            ("$locals.host", domain, "locals-host"),
            ("${env + '.example.com'}", domain, "env-example-com"),
            ("$database.main", link, "main"),
            ("$database.main.a", link, "main-a"),
            ("0f3c", link, "0f3c"),
        ] {
            assert_eq!(shorthand_key(text, kind, kind.plain_entry.unwrap()), wanted, "{text}");
        }
    }
}
