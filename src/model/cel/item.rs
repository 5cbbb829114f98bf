//! `CelValue`: a value during an evaluation: borrowed from the bindings, or shared when the evaluation built it. Clones
//! copy no lists and maps; `into_value` makes the result that outlives the bindings.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::model::address::{Address, Name};
use crate::model::budget::{Budget, BudgetExceeded};
use crate::model::values::secret::Secret;
use crate::model::values::value::{Attributes, Value, ValueMap};

/// The known state of a live object.
#[derive(Debug, Clone)]
pub struct CelObject {
    /// The address of the resource.
    pub address: Address,
    /// Its known attributes, `id` included.
    pub attributes: Attributes,
    /// Whether these are all attributes that the object will have: then a missing one is null, otherwise unknown.
    pub complete: bool,
}

/// A value during an evaluation; clones are cheap.
#[derive(Debug, Clone)]
pub enum CelValue<'a> {
    /// A value that is neither a list nor a map.
    Scalar(Value),
    /// A list borrowed from the bindings.
    ListRef(&'a [Value]),
    /// A map borrowed from the bindings.
    MapRef(&'a ValueMap),
    /// A list that the evaluation built.
    List(Rc<Vec<CelValue<'a>>>),
    /// A map that the evaluation built.
    Map(Rc<BTreeMap<Name, CelValue<'a>>>),
    /// A live object: a map of its attributes, or its id where a single value is expected. The second field holds the
    /// collections of children that are bound below it.
    Object(&'a CelObject, Rc<BTreeMap<Name, CelValue<'a>>>),
}

impl<'a> CelValue<'a> {
    /// Returns a bound value; its lists and maps are borrowed.
    #[must_use]
    pub fn from_borrowed(value: &'a Value) -> Self {
        match value {
            Value::List(items) => Self::ListRef(items),
            Value::Map(map) => Self::MapRef(map),
            scalar => Self::Scalar(scalar.clone()),
        }
    }

    /// Returns a value that the evaluation built; its lists and maps become shared.
    pub(super) fn from_value(value: Value) -> Self {
        match value {
            Value::List(items) => Self::List(Rc::new(items.into_iter().map(Self::from_value).collect())),
            Value::Map(map) => Self::Map(Rc::new(
                map.into_iter().map(|(key, part)| (key, Self::from_value(part))).collect(),
            )),
            scalar => Self::Scalar(scalar),
        }
    }

    /// Returns a bound map, borrowed.
    #[must_use]
    pub fn of_map(map: &'a ValueMap) -> Self {
        Self::MapRef(map)
    }

    /// Returns a live object without children; `bind_path` adds their collections.
    #[must_use]
    pub fn of_object(object: &'a CelObject) -> Self {
        Self::Object(object, Rc::default())
    }

    /// Returns a string, shared with `text`.
    #[must_use]
    pub fn of_text(text: &Name) -> Self {
        Self::Scalar(Value::Text(text.clone()))
    }

    /// Returns a map without entries.
    #[must_use]
    pub fn empty_map() -> Self {
        Self::Map(Rc::default())
    }

    pub(super) fn text(text: impl AsRef<str>) -> Self {
        Self::Scalar(Value::text(text))
    }

    pub(super) fn list(items: Vec<CelValue<'a>>) -> Self {
        Self::List(Rc::new(items))
    }

    /// Returns a mutable map for inserting entries. A bound map is copied first, and any other value is replaced
    /// by an empty map. On an object the entries are its children.
    pub(super) fn map_mut(&mut self) -> Option<&mut BTreeMap<Name, CelValue<'a>>> {
        if !matches!(self, Self::Map(_) | Self::Object(..)) {
            let entries = match &*self {
                Self::MapRef(map) => {
                    map.iter().map(|(key, value)| (key.clone(), Self::from_borrowed(value))).collect()
                }
                _ => BTreeMap::new(),
            };
            *self = Self::Map(Rc::new(entries));
        }
        match self {
            Self::Map(map) | Self::Object(_, map) => Some(Rc::make_mut(map)),
            _ => None,
        }
    }

    /// Returns the resources that an unknown value depends on; `None` for a known value, and for a list or map.
    pub(super) fn unknown_addresses(&self) -> Option<&[Address]> {
        match self {
            Self::Scalar(Value::Unknown(unknown)) => Some(&unknown.waits_for),
            _ => None,
        }
    }

    /// Returns whether the value is a secret, or will be one when it is known; not for a part of a list or map.
    pub(super) fn hides_secret(&self) -> bool {
        matches!(self, Self::Scalar(value) if value.hides_secret())
    }

    pub(super) fn secret(&self) -> Option<&Secret> {
        match self {
            Self::Scalar(Value::Secret(secret)) => Some(secret),
            _ => None,
        }
    }

    /// Returns whether the value, or a part of it, is a secret that is withheld from this run.
    pub(super) fn is_withheld(&self) -> bool {
        let elements = || self.elements().is_some_and(|items| items.iter().any(Self::is_withheld));
        let entries = || self.entries().is_some_and(|map| map.iter().any(|(_, item)| item.is_withheld()));
        self.secret().is_some_and(Secret::is_withheld) || elements() || entries()
    }

    /// Returns the entry of a map, or a child collection or attribute of an object; `None` where there is none, or
    /// for any other value.
    pub(super) fn entry(&self, key: &str) -> Option<CelValue<'a>> {
        match self {
            Self::MapRef(map) => map.get(key).map(Self::from_borrowed),
            Self::Map(map) => map.get(key).cloned(),
            Self::Object(object, children) => {
                children.get(key).cloned().or_else(|| object.attributes.get(key).map(Self::from_borrowed))
            }
            _ => None,
        }
    }

    /// Returns the elements of a list; `None` for any other value.
    pub(super) fn elements(&self) -> Option<Vec<CelValue<'a>>> {
        match self {
            Self::ListRef(items) => Some(items.iter().map(Self::from_borrowed).collect()),
            Self::List(items) => Some(items.as_ref().clone()),
            _ => None,
        }
    }

    /// Returns the element of a list, counted from 0; `None` beyond its end, or for any other value.
    pub(super) fn element(&self, index: usize) -> Option<CelValue<'a>> {
        match self {
            Self::ListRef(items) => items.get(index).map(Self::from_borrowed),
            Self::List(items) => items.get(index).cloned(),
            _ => None,
        }
    }

    /// Returns the entries of a map in the order of their keys, or the attributes of a complete object. `None` for an
    /// incomplete object, whose other attributes are unknown, and for any other value.
    pub(super) fn entries(&self) -> Option<Vec<(Name, CelValue<'a>)>> {
        let owned = |(key, value): (&Name, &'a Value)| (key.clone(), Self::from_borrowed(value));
        match self {
            Self::MapRef(map) => Some(map.iter().map(owned).collect()),
            Self::Map(map) => Some(map.iter().map(|(key, item)| (key.clone(), item.clone())).collect()),
            Self::Object(object, _) if object.complete => {
                Some(object.attributes.iter().map(owned).collect())
            }
            _ => None,
        }
    }

    /// Returns the number of elements or entries; `None` for an incomplete object and for a scalar.
    pub(super) fn len(&self) -> Option<usize> {
        match self {
            Self::ListRef(items) => Some(items.len()),
            Self::List(items) => Some(items.len()),
            Self::MapRef(map) => Some(map.len()),
            Self::Map(map) => Some(map.len()),
            Self::Object(object, _) if object.complete => Some(object.attributes.len()),
            _ => None,
        }
    }

    /// Charges the value that `into_value` builds.
    pub(super) fn charge(&self, budget: &Budget) -> Result<(), BudgetExceeded> {
        match self {
            Self::Scalar(value) => budget.charge_value(value),
            Self::ListRef(items) => {
                budget.charge_nodes(1)?;
                items.iter().try_for_each(|item| budget.charge_value(item))
            }
            Self::MapRef(map) => {
                budget.charge_map(map.len())?;
                map.values().try_for_each(|value| budget.charge_value(value))
            }
            Self::List(items) => {
                budget.charge_nodes(1)?;
                items.iter().try_for_each(|item| item.charge(budget))
            }
            Self::Map(map) => {
                budget.charge_map(map.len())?;
                map.iter().try_for_each(|(key, item)| {
                    budget.charge_text(key.len())?;
                    item.charge(budget)
                })
            }
            Self::Object(..) => budget.charge_nodes(1),
        }
    }

    /// Charges a copy of this value: the parts that are neither shared nor borrowed.
    pub(super) fn charge_copy(&self, budget: &Budget) -> Result<(), BudgetExceeded> {
        match self {
            Self::Scalar(value @ (Value::Secret(_) | Value::Unknown(_))) => budget.charge_value(value),
            _ => Ok(()),
        }
    }

    /// Charges copies of all elements or entries.
    pub(super) fn charge_copies(&self, budget: &Budget) -> Result<(), BudgetExceeded> {
        let copy = |value: &Value| match value {
            Value::Secret(_) | Value::Unknown(_) => budget.charge_value(value),
            _ => Ok(()),
        };
        match self {
            Self::ListRef(items) => items.iter().try_for_each(copy),
            Self::MapRef(map) => map.values().try_for_each(copy),
            Self::List(items) => items.iter().try_for_each(|item| item.charge_copy(budget)),
            Self::Map(map) => map.values().try_for_each(|item| item.charge_copy(budget)),
            Self::Object(object, _) => object.attributes.values().try_for_each(copy),
            Self::Scalar(_) => Ok(()),
        }
    }

    /// Returns the value for use outside of the evaluation; an object is its id, unknown where it has none yet.
    pub(super) fn into_value(self) -> Value {
        match self {
            Self::Scalar(value) => value,
            Self::ListRef(items) => Value::List(items.to_vec()),
            Self::MapRef(map) => Value::Map(map.clone()),
            Self::List(items) => Value::List(items.iter().cloned().map(Self::into_value).collect()),
            Self::Map(map) => {
                Value::Map(map.iter().map(|(key, item)| (key.clone(), item.clone().into_value())).collect())
            }
            Self::Object(object, _) => object
                .attributes
                .get("id")
                .cloned()
                .unwrap_or_else(|| Value::unknown(vec![object.address.clone()])),
        }
    }

    /// Returns the name of the type for messages, with its article.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Scalar(value) => value.type_name(),
            Self::ListRef(_) | Self::List(_) => "a list",
            Self::MapRef(_) | Self::Map(_) => "a map",
            Self::Object(..) => "a resource",
        }
    }
}

pub(super) fn boolean_or_unknown<'a>(known: Result<bool, Vec<Address>>) -> CelValue<'a> {
    CelValue::Scalar(known.map_or_else(Value::unknown, Value::Bool))
}

pub(super) fn index_item<'a>(n: usize) -> CelValue<'a> {
    CelValue::Scalar(Value::Integer(i64::try_from(n).unwrap_or(i64::MAX)))
}
