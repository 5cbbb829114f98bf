//! Monthly prices of objects in USD, from the price terms of a kind's table and the records of one catalog.
//! Invariant: an unknown factor makes the price unknown, never zero.

use rust_decimal::Decimal;

use super::catalog_index::CatalogIndex;
use crate::model::address::Name;
use crate::model::live::catalog::{Catalog, CatalogRecord};
use crate::model::live::snapshot::{Object, ObjectKey, Snapshot};
use crate::model::schema::{ImpliedPart, Kind, Price, PriceFactor, PriceTerm};
use crate::model::values::value::{Attributes, Value};

/// Monthly prices of live objects over one catalog.
pub struct ObjectPrices<'a> {
    names: CatalogIndex<'a>,
    live: Option<LiveParts<'a>>,
}

/// The live objects, among them the parts of others.
struct LiveParts<'a> {
    snapshot: &'a Snapshot,
    /// Returns whether an object has a price of its own where these prices are added up.
    is_counted: &'a dyn Fn(&ObjectKey) -> bool,
}

impl<'a> ObjectPrices<'a> {
    /// Indexes a catalog for price lookups.
    #[must_use]
    pub fn new(catalog: &'a Catalog) -> Self {
        Self { names: CatalogIndex::new(catalog), live: None }
    }

    /// Counts no part of an object that a snapshot shows to be gone, or that is counted by itself.
    #[must_use]
    pub fn beside(self, live: &'a Snapshot, is_counted: &'a dyn Fn(&ObjectKey) -> bool) -> Self {
        Self { live: Some(LiveParts { snapshot: live, is_counted }), ..self }
    }

    /// Returns the monthly price of a live object, as `monthly` does.
    #[must_use]
    pub fn monthly_of(&self, kind: &Kind, object: &Object) -> Option<Decimal> {
        let absent = self.live.as_ref().map_or_else(Vec::new, |live| {
            parts_without_price(kind, &object.id, live.snapshot, live.is_counted)
        });
        let value = |name: &str| object.attributes.get(name).filter(|_| !absent.contains(&name)).cloned();
        self.rounded(kind, &value)
    }

    /// Returns the monthly price of an object in USD, rounded half-even to cents: zero for a kind without
    /// prices, `None` if a price or a factor is unknown.
    #[must_use]
    pub fn monthly(&self, kind: &Kind, attributes: &Attributes) -> Option<Decimal> {
        self.rounded(kind, &|name: &str| attributes.get(name).cloned())
    }

    fn rounded(&self, kind: &Kind, value: &dyn Fn(&str) -> Option<Value>) -> Option<Decimal> {
        exact_price(&self.names, kind, value).map(|price| price.round_dp(2))
    }
}

/// Returns the attributes that made the service create a part of an object which adds nothing to the object's price any more:
/// each part of that name is counted by itself, or the snapshot shows parts of the object and none of that name.
pub(in crate::plan) fn parts_without_price(
    kind: &Kind,
    id: &Name,
    live: &Snapshot,
    is_counted: &dyn Fn(&ObjectKey) -> bool,
) -> Vec<&'static str> {
    let is_without_price = |part: &ImpliedPart| {
        let first = ObjectKey { kind: part.kind.into(), parent: Some(id.clone()), id: Name::default() };
        let mut parts = live
            .objects
            .range(first..)
            .take_while(|(key, _)| key.kind == part.kind && key.parent.as_ref() == Some(id))
            .peekable();
        let is_read = parts.peek().is_some();
        let is_named =
            |object: &Object| object.attributes.get("name").and_then(Value::as_text) == Some(part.name);
        is_read && !parts.any(|(key, object)| is_named(object) && !is_counted(key))
    };
    let parts = kind.price.implied_parts();
    parts.filter(|(_, part)| is_without_price(part)).map(|(choice, _)| choice).collect()
}

/// Returns the monthly price of an object in USD before it is rounded: zero for a kind without prices, `None` if a price
/// or a factor is unknown.
pub(in crate::plan) fn exact_price(
    names: &CatalogIndex<'_>,
    kind: &Kind,
    value: &dyn Fn(&str) -> Option<Value>,
) -> Option<Decimal> {
    visit_prices(names, kind, value, &mut |_, _| {})
}

/// Does the same, and calls `on_record` with each term that is billed and the record that has its price.
pub(in crate::plan) fn visit_prices<'a>(
    names: &CatalogIndex<'a>,
    kind: &Kind,
    value: &dyn Fn(&str) -> Option<Value>,
    on_record: &mut dyn FnMut(&PriceTerm, &'a CatalogRecord),
) -> Option<Decimal> {
    let Price::Sum(terms) = kind.price else { return Some(Decimal::ZERO) };
    let billed = terms.iter().filter(|term| is_billed(term, value));
    let amount = |term: &PriceTerm| {
        let record = price_record(names, term, value)?;
        on_record(term, record);
        term_amount(term, record, value)
    };
    billed.map(amount).sum()
}

/// Returns whether a term adds to the price: not one whose part the service did not create.
fn is_billed(term: &PriceTerm, value: &dyn Fn(&str) -> Option<Value>) -> bool {
    let chosen = || term.chosen_by.and_then(value).unwrap_or_default();
    term.implies.is_none() || chosen() != Value::Null
}

/// Returns the catalog record that contains a term's price; `None` if the choosing attribute is unknown or
/// its record is missing.
fn price_record<'a>(
    names: &CatalogIndex<'a>,
    term: &PriceTerm,
    value: &dyn Fn(&str) -> Option<Value>,
) -> Option<&'a CatalogRecord> {
    match term.chosen_by {
        Some(attribute) => names.find(term.table, &value(attribute)?),
        None => names.single_record(term.table),
    }
}

/// Returns a term's price multiplied by its factors; `None` if the price or a factor is unknown, or on overflow.
fn term_amount(
    term: &PriceTerm,
    record: &CatalogRecord,
    value: &dyn Fn(&str) -> Option<Value>,
) -> Option<Decimal> {
    let price = record.number(term.field)?;
    let parts = term.implies.map_or(Decimal::ONE, |part| part.count.into());
    term.factors.iter().try_fold(price.checked_mul(parts)?, |product, factor| {
        product.checked_mul(factor_value(factor, record, value)?)
    })
}

fn factor_value(
    factor: &PriceFactor,
    record: &CatalogRecord,
    value: &dyn Fn(&str) -> Option<Value>,
) -> Option<Decimal> {
    let number = |name: &str| match value(name) {
        Some(Value::Unknown(_)) => None,
        found => Some(found.and_then(|value| value.as_decimal()).unwrap_or_default()),
    };
    match factor {
        PriceFactor::Count(attribute) => number(attribute),
        PriceFactor::Over { attribute, field } => {
            Some((number(attribute)? - record.number(field).unwrap_or_default()).max(Decimal::ZERO))
        }
        PriceFactor::When { attribute, equals } => {
            Some(Decimal::from(i64::from(number(attribute)? == Decimal::from(*equals))))
        }
        PriceFactor::Unless { attribute, values } => match value(attribute) {
            Some(Value::Unknown(_)) => None,
            found => {
                let word = found.unwrap_or_default();
                let free = values.iter().any(|value| word.as_text() == Some(value));
                Some(Decimal::from(i64::from(!free)))
            }
        },
        PriceFactor::Instances { fixed, scaled, least } => match value(scaled) {
            Some(Value::Unknown(_)) => None,
            Some(Value::Map(map)) => Some(map.get(*least).and_then(Value::as_decimal).unwrap_or_default()),
            _ => Some(number(fixed)?.max(Decimal::ONE)),
        },
        PriceFactor::PercentWhen { attribute, percent, except, by } => {
            if value(attribute).is_none_or(|value| value.as_bool() != Some(true)) {
                return Some(Decimal::ZERO);
            }
            let chosen = value(by).unwrap_or_default();
            let except = except.iter().find(|(word, _)| chosen.as_text() == Some(word));
            Some(Decimal::new(except.map_or(*percent, |(_, percent)| *percent), 2))
        }
    }
}
