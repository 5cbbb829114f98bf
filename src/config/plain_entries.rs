//! Plain entries of collections: `domains: [shop.example.com]` is `domains: { shop-example-com: {
//! domain: shop.example.com } }`, so that each is a resource with an address of its own.
//!
//! The tree is rewritten before anything looks into it; spans stay those of the plain values.

use super::document::{Document, Entry, Node, NodeValue};
use crate::model::address::Name;
use crate::model::schema::{Kind, Registry};

/// Writes out the plain entries of every block of a file.
pub(super) fn write_out(document: &mut Document, registry: &Registry) {
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

fn written_out(item: Node, child: &Kind, attribute: &'static str) -> Entry {
    let text = item.scalar().map(|scalar| scalar.text.as_str()).unwrap_or_default();
    let key = key(text, child, attribute);
    let (span, through) = (item.span, item.through);
    let inner = Entry { key: Name::new_static(attribute), key_span: span, value: item };
    let value = Node { value: NodeValue::Mapping(vec![inner]), span, through };
    Entry { key, key_span: span, value }
}

/// Returns the part of an address that stands for a plain entry: what is written, without what its
/// type says already (`$database.main` is `main`), with hyphens for what no address can hold.
fn key(text: &str, child: &Kind, attribute: &str) -> Name {
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
    fn an_entry_is_named_by_what_is_written() {
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
            assert_eq!(key(text, kind, kind.plain_entry.unwrap()), wanted, "{text}");
        }
    }
}
