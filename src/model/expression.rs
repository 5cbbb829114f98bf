//! `Expression`: an attribute's value, or how to get it once what it waits for exists.
//!
//! Configuration resolves everything that it can; what is left names live objects only, holds no
//! source position and can be saved in a plan.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::address::{Address, Name};
use super::value::{Attributes, Value};

/// A value, or a computation over the attributes of other resources.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expression {
    /// Known now.
    Value(Value),
    /// Another resource's id (`$vpc.main`) or one of its attributes (`$vm.web.public_ipv4_address`).
    Reference(Reference),
    /// Text with parts to fill in.
    Text(Vec<Expression>),
    /// A list with parts to fill in.
    List(Vec<Expression>),
    /// A map with parts to fill in.
    Map(BTreeMap<Name, Expression>),
    /// A CEL expression over live objects.
    Cel(Arc<Cel>),
}

/// A resource's id or one of its attributes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// The resource, down to its instance.
    pub address: Address,
    /// The attribute, in the language's name; `None` is the object's id.
    pub attribute: Option<Name>,
}

/// A CEL expression with everything bound that configuration knows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cel {
    /// The expression's text, without `${` and `}`.
    pub source: String,
    /// Known roots that it names: `vars`, `locals`, `env`, `stack`, `each`. Secrets among them
    /// taint the result.
    pub bindings: BTreeMap<Name, Value>,
    /// The resources whose live attributes it reads. `vm.web.a` is bound at `vm` → `web` → `a`.
    pub objects: Vec<Address>,
    /// Parts of the roots that wait for live objects themselves, by dotted path (`locals.host`,
    /// `each.value`): computed first, then bound there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub waiting: BTreeMap<Name, Expression>,
    /// The module that it stands in: in `shop_eu`, `shop_eu.vm.web` is bound at `vm` → `web`.
    #[serde(default, skip_serializing_if = "Name::is_empty")]
    pub module: Name,
}

/// What an expression can see of the live world.
pub trait Lookup {
    /// Returns the id (`None`) or an attribute of a resource's object: a `Value::Unknown` while it
    /// does not exist yet; `Value::Null` when it exists without that attribute.
    fn attribute(&self, address: &Address, attribute: Option<&str>) -> Value;

    /// Returns all that is known of a resource's object (`id` included), and whether that is all
    /// there will be.
    fn object(&self, address: &Address) -> (Attributes, bool);
}

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EvaluationError {
    /// The expression itself is wrong: no such key, wrong types, division by zero …
    #[error("{0}")]
    Failed(String),
    /// It ran over its bound of steps or depth.
    #[error("the expression needs more than {0} steps")]
    TooLong(usize),
}

impl Expression {
    /// Returns the value of an expression that waits for nothing.
    #[must_use]
    pub fn known(&self) -> Option<&Value> {
        match self {
            Self::Value(value) if !value.is_unknown() => Some(value),
            _ => None,
        }
    }

    /// Returns every resource that the expression reads.
    #[must_use]
    pub fn addresses(&self) -> BTreeSet<&Address> {
        fn collect<'a>(expression: &'a Expression, into: &mut BTreeSet<&'a Address>) {
            match expression {
                Expression::Value(_) => {}
                Expression::Reference(reference) => {
                    into.insert(&reference.address);
                }
                Expression::Text(parts) | Expression::List(parts) => {
                    for part in parts {
                        collect(part, into);
                    }
                }
                Expression::Map(map) => map.values().for_each(|part| collect(part, into)),
                Expression::Cel(cel) => {
                    into.extend(&cel.objects);
                    cel.waiting.values().for_each(|part| collect(part, into));
                }
            }
        }
        let mut found = BTreeSet::new();
        collect(self, &mut found);
        found
    }

    /// Tells whether a secret enters the expression.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        match self {
            Self::Value(value) => value.is_secret(),
            Self::Reference(_) => false,
            Self::Text(parts) | Self::List(parts) => parts.iter().any(Self::is_secret),
            Self::Map(map) => map.values().any(Self::is_secret),
            Self::Cel(cel) => {
                cel.bindings.values().any(Value::is_secret) || cel.waiting.values().any(Self::is_secret)
            }
        }
    }

    /// Computes the value over the live world as `lookup` shows it.
    ///
    /// A part that waits makes the text or CEL around it unknown, and only that entry of a list or
    /// map. A secret part makes the text or CEL around it secret.
    ///
    /// # Errors
    /// When a CEL expression fails or runs too long.
    pub fn evaluate(&self, lookup: &dyn Lookup) -> Result<Value, EvaluationError> {
        match self {
            Self::Value(value) => Ok(value.clone()),
            Self::Reference(reference) => {
                Ok(lookup.attribute(&reference.address, reference.attribute.as_deref()))
            }
            Self::List(parts) => {
                parts.iter().map(|part| part.evaluate(lookup)).collect::<Result<_, _>>().map(Value::List)
            }
            Self::Map(map) => map
                .iter()
                .map(|(key, part)| Ok((key.clone(), part.evaluate(lookup)?)))
                .collect::<Result<_, _>>()
                .map(Value::Map),
            Self::Text(parts) => super::cel::concatenate(
                &parts.iter().map(|part| part.evaluate(lookup)).collect::<Result<Vec<_>, _>>()?,
            ),
            Self::Cel(cel) => super::cel::evaluate(cel, lookup),
        }
    }
}

impl From<Value> for Expression {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}
