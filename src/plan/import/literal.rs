//! Live values in the notation of configuration files: ids as references or catalog names where either is
//! known, and nothing for a value that a new object gets anyway. The written files must plan to no change.

use foldhash::HashMap;

use crate::config::format::blocks::{LineMarker, PrintedEntry, PrintedValue};
use crate::model::address::{Address, Name};
use crate::model::live::catalog::Catalog;
use crate::model::live::snapshot::{Object, ObjectKey};
use crate::model::schema::{Attribute, Kind, Literal, Presence, Price, PriceFactor, Registry, Type};
use crate::model::values::value::Value;
use crate::plan::diff::attributes::returned_value;
use crate::plan::join::catalog_index::CatalogIndex;
use crate::plan::model::compare::{are_equivalent, is_unset, part_type};

/// The tables and names for writing values.
pub(super) struct LiteralWriter<'a> {
    registry: Registry,
    names: CatalogIndex<'a>,
}

impl<'a> LiteralWriter<'a> {
    /// Returns a writer over the names of a catalog.
    pub(super) fn new(registry: Registry, catalog: &'a Catalog) -> Self {
        Self { registry, names: CatalogIndex::new(catalog) }
    }

    /// Returns whether a live value is what the chosen plan of the catalog includes: a new object gets
    /// it without the attribute.
    pub(super) fn comes_along(&self, kind: &Kind, attribute: &Attribute, object: &Object) -> bool {
        let Price::Sum(terms) = kind.price else { return false };
        let live = object.attributes.get(attribute.name).and_then(Value::as_decimal);
        terms.iter().any(|term| {
            let field = term.factors.iter().find_map(|factor| match factor {
                PriceFactor::Over { attribute: of, field } if *of == attribute.name => Some(*field),
                _ => None,
            });
            let chosen = term.chosen_by.and_then(|by| object.attributes.get(by));
            let record = chosen.and_then(|chosen| self.names.find(term.table, chosen));
            let brought = field.zip(record).and_then(|(field, record)| record.number(field));
            brought.is_some() && brought == live
        })
    }

    /// Returns the live value of an attribute if it must be written; `None` if omitting it has the same effect,
    /// or the service does not show it.
    pub(super) fn value_to_write(attribute: &Attribute, object: &Object) -> Option<Value> {
        if !attribute.is_writable() {
            return None;
        }
        let live = returned_value(attribute, object)?;
        let is = |literal: Literal| are_equivalent(&attribute.ty, &literal.value(), &live);
        if attribute.presence != Presence::Required && attribute.usual.is_some_and(is) {
            return None;
        }
        match attribute.presence {
            Presence::Default(literal) if are_equivalent(&attribute.ty, &literal.value(), &live) => None,
            Presence::Required => Some(live),
            _ => (!is_unset(&live)).then_some(live),
        }
    }

    /// Converts a value to the notation of configuration files. `given` are the addresses of objects, by which
    /// ids become references; an id of any other object is written as it is.
    pub(super) fn print_value(
        &self,
        ty: &Type,
        value: &Value,
        given: &HashMap<ObjectKey, Address>,
        mark: LineMarker,
    ) -> PrintedValue {
        match (ty, value) {
            (_, Value::Null) => PrintedValue::Null,
            (Type::Reference(kind), Value::Text(id)) => {
                print_reference(kind, id, given).unwrap_or_else(|| PrintedValue::Text(id.to_string()))
            }
            (Type::Catalog(table), value) => self.print_catalog_value(table, value, given),
            (Type::Labelled(words), Value::Integer(number)) => {
                let word = words.iter().find(|(_, n)| n == number).map(|(word, _)| *word);
                word.map_or_else(
                    || PrintedValue::Number(number.to_string()),
                    |word| PrintedValue::Text(word.into()),
                )
            }
            (Type::Integer { .. } | Type::Decimal, Value::Text(number)) => {
                PrintedValue::Number(number.to_string())
            }
            (Type::List(of) | Type::Set { of, .. }, Value::List(items)) => PrintedValue::List(
                items.iter().map(|item| self.print_value(of, item, given, mark)).collect(),
            ),
            (ty @ (Type::Map(_) | Type::Record(_)), Value::Map(map)) => {
                let entry = |(key, part): (&Name, &Value)| {
                    let ty = part_type(ty, key)?;
                    let value = self.print_value(ty, part, given, mark);
                    (*part != Value::Null).then(|| PrintedEntry { key: key.to_string(), value, mark })
                };
                PrintedValue::Map(map.iter().filter_map(entry).collect())
            }
            (_, Value::Bool(yes)) => PrintedValue::Bool(*yes),
            (_, Value::Integer(number)) => PrintedValue::Number(number.to_string()),
            (_, Value::Decimal(number)) => PrintedValue::Number(number.to_string()),
            (_, other) => PrintedValue::Text(other.to_string()),
        }
    }

    fn print_catalog_value(
        &self,
        table: &str,
        value: &Value,
        given: &HashMap<ObjectKey, Address>,
    ) -> PrintedValue {
        let kind = self.registry.catalog(table).and_then(|table| table.of_kind);
        if let (Some(kind), Value::Text(id)) = (kind, value)
            && let Some(reference) = print_reference(kind, id, given)
        {
            return reference;
        }
        match self.names.find(table, value) {
            Some(record) => PrintedValue::Text(record.slug.to_string()),
            None => PrintedValue::Text(value.to_string()),
        }
    }
}

fn print_reference(kind: &str, id: &str, given: &HashMap<ObjectKey, Address>) -> Option<PrintedValue> {
    let key = ObjectKey { kind: kind.into(), parent: None, id: id.into() };
    given.get(&key).map(|address| PrintedValue::Reference(format!("${address}")))
}
