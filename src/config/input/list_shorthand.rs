//! Shorthand for collections of one attribute: `domains: [shop.example.com]` expands to `domains: { shop-example-com: {
//! domain: shop.example.com } }`, so that each entry is a resource with an address of its own.
//!
//! The tree is rewritten before any other phase reads it; spans still point at the plain values. At first an
//! entry's key is made of its source text. Once its value is known, the address is derived from the value, so
//! that it does not depend on how the value is computed.

use crate::config::syntax::document::{Document, DocumentEntry, Node, NodeValue};
use crate::model::address::Name;
use crate::model::schema::{Kind, Registry};

/// Expands the plain entries of every block of a file.
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
pub(in crate::config) fn shorthand_value<'d>(
    entry: &'d DocumentEntry,
    kind: &Kind,
) -> Option<(&'d Node, &'static str)> {
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

/// Returns the address segment of a plain entry: its source text without the part that the type implies
/// (`$database.main` is `main`), with hyphens for illegal characters. Empty if nothing of it is legal.
pub(in crate::config) fn shorthand_key(text: &str, child: &Kind, attribute: &str) -> Name {
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
