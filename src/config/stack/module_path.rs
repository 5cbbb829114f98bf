//! Addresses of modules: splits an address into its module and the rest, finds its kind, and reports reserved
//! names. All of it rests on one rule: no module and no instance key has the name of a kind.

use crate::config::keywords;
use crate::model::address::Address;
use crate::model::schema::{Kind, Registry};

/// Returns the module that an address is in, and the rest of it, either of which may be empty. No module and no
/// key of one has the name of a kind, so the first such segment ends the module.
#[must_use]
pub fn module_of<'a>(registry: &Registry, address: &'a str) -> (&'a str, &'a str) {
    let mut at = 0;
    for part in address.split('.') {
        if registry.top_level().any(|kind| kind.name == part) {
            return (address[..at].trim_end_matches('.'), &address[at..]);
        }
        at += part.len() + 1;
    }
    (address, "")
}

/// Returns whether a name is reserved, because it already has a meaning as the first segment of an address
/// or an expression. No module and no instance key may have it.
#[must_use]
pub fn is_taken(registry: &Registry, name: &str) -> bool {
    keywords::find_word(keywords::ROOTS, name).is_some()
        || registry.kinds.iter().any(|kind| kind.name == name)
}

/// Returns the kind of the resource, instance or whole block at an address; `None` for a module and for an
/// address that no resource can have.
#[must_use]
pub fn kind_at(registry: &Registry, address: &Address) -> Option<&'static Kind> {
    let parts: Vec<&str> = module_of(registry, address.as_str()).1.split('.').collect();
    let mut kind = registry.top_level().find(|kind| kind.name == parts[0])?;
    let mut at = 2;
    loop {
        let child = |at: usize| {
            let named = parts.len() > at + 1;
            parts.get(at).filter(|_| named).and_then(|collection| registry.child(kind.name, collection))
        };
        // An instance key may precede the name of the collection.
        let next = child(at).map(|kind| (kind, at)).or_else(|| child(at + 1).map(|kind| (kind, at + 1)));
        match next {
            Some((child, place)) => (kind, at) = (child, place + 2),
            None => return (parts.len() >= at && parts.len() <= at + 1).then_some(kind),
        }
    }
}
