//! Addresses for objects without one: legal, similar to the live names, and unique. In: live objects and the addresses
//! in use; out: an address for each object. The order of calls decides which object gets the shorter address.

use std::collections::BTreeSet;

use foldhash::HashMap;

use crate::model::address::{Address, Name, is_legal_segment};
use crate::model::live::catalog::Catalog;
use crate::model::live::snapshot::{Object, ObjectKey};
use crate::model::schema::{Kind, Presence, Type};
use crate::model::values::value::Value;
use crate::plan::join::catalog_index::CatalogIndex;

/// The limit on characters of an address segment that is made from a live name.
const MAX_NAME_CHARS: usize = 48;

/// Allocator of addresses for imported objects: each new address is legal, and neither taken nor reserved.
pub(super) struct AddressAllocator<'a> {
    names: CatalogIndex<'a>,
    taken: BTreeSet<Address>,
    /// The address of every object that has one.
    pub(super) given: HashMap<ObjectKey, Address>,
}

impl<'a> AddressAllocator<'a> {
    /// Starts with the existing addresses, and those that must not be assigned.
    pub(super) fn new(
        catalog: &'a Catalog,
        given: HashMap<ObjectKey, Address>,
        taken: BTreeSet<Address>,
    ) -> Self {
        Self { names: CatalogIndex::new(catalog), taken, given }
    }

    /// Assigns an address to an object, below its parent or at the top level.
    pub(super) fn assign_address(
        &mut self,
        kind: &'static Kind,
        object: &Object,
        parent: Option<&Address>,
    ) -> Address {
        let wanted = self.preferred_name(kind, object);
        let place = |name: &str| match (parent, kind.child_of()) {
            (Some(parent), Some((_, collection))) => parent.join(collection).join(name),
            _ => Address::new(kind.name, name),
        };
        let mut address = place(&wanted);
        let mut number = 1;
        while !self.taken.insert(address.clone()) {
            number += 1;
            address = place(&format!("{wanted}-{number}"));
        }
        self.given.insert(object.key(), address.clone());
        address
    }

    /// Returns the legal name that is most similar to the object's name, or else one from its attributes; at
    /// last the name of the kind.
    fn preferred_name(&self, kind: &'static Kind, object: &Object) -> Name {
        let live = object.attributes.get("name").and_then(Value::as_text).map(to_legal_name);
        if let Some(name) = live.filter(|name| !name.is_empty()) {
            return name;
        }
        if let Some(attribute) = kind.plain_entry.and_then(|name| kind.attribute(name))
            && let Some(value) = object.attributes.get(attribute.name)
        {
            return self.plain_name(&attribute.ty, value);
        }
        let required = kind.attributes.iter().filter(|a| a.presence == Presence::Required);
        let parts = required.filter_map(|attribute| {
            let value = object.attributes.get(attribute.name)?;
            Some(self.plain_name(&attribute.ty, value)).filter(|part| !part.is_empty())
        });
        let joined = to_legal_name(&parts.collect::<Vec<_>>().join("-"));
        let optional = || {
            let reference = kind.attributes.iter().find_map(|attribute| {
                let value = object.attributes.get(attribute.name).filter(|value| **value != Value::Null)?;
                matches!(attribute.ty, Type::Reference(_)).then(|| self.plain_name(&attribute.ty, value))
            });
            reference.map_or_else(|| Name::new(kind.name), |name| to_legal_name(&name))
        };
        if joined.is_empty() { optional() } else { joined }
    }

    fn plain_name(&self, ty: &Type, value: &Value) -> Name {
        match (ty, value) {
            (Type::Reference(kind), Value::Text(id)) => {
                let key = ObjectKey { kind: (*kind).into(), parent: None, id: id.clone() };
                self.given.get(&key).map_or_else(|| to_legal_name(id), |address| Name::new(address.last()))
            }
            (Type::Catalog(table), value) => self
                .names
                .find(table, value)
                .map_or_else(|| to_legal_name(&value.to_string()), |record| to_legal_name(&record.slug)),
            (_, Value::Text(text)) => to_legal_name(text),
            (_, Value::Integer(number)) => Name::new(number.to_string()),
            _ => Name::default(),
        }
    }
}

/// Converts a string to a legal address segment of at most `MAX_NAME_CHARS` bytes; empty if nothing of it is legal.
pub(super) fn to_legal_name(text: &str) -> Name {
    let mut name = String::with_capacity(text.len().min(MAX_NAME_CHARS));
    for c in text.chars().flat_map(char::to_lowercase).take(MAX_NAME_CHARS * 2) {
        if c.is_ascii_alphanumeric() || c == '_' {
            name.push(c);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
        if name.len() >= MAX_NAME_CHARS {
            break;
        }
    }
    let name = name.trim_end_matches('-');
    if is_legal_segment(name) { Name::new(name) } else { Name::default() }
}

#[cfg(test)]
mod tests {
    use super::to_legal_name;

    #[test]
    fn live_names_are_converted_to_valid_addresses() {
        let table = [
            ("web-1", "web-1"),
            ("Web Server #1", "web-server-1"),
            ("shop.example.com", "shop-example-com"),
            ("  --x--  ", "x"),
            ("Überwachung", "berwachung"),
            ("日本", ""),
            ("\u{1b}[2J", "2j"),
        ];
        for (live, name) in table {
            assert_eq!(to_legal_name(live), name, "{live}");
        }
        assert_eq!(to_legal_name(&"x".repeat(500)).len(), 48);
    }
}
