//! `Expression`: an attribute's value, or the computation of it from live objects.
//!
//! Configuration resolves everything that it can. The remaining expression names live objects only, has no source spans
//! and can be saved in a plan.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::address::name_map::NameMap;
use super::address::{Address, Name};
use super::budget::{Budget, BudgetExceeded, MAX_NESTING};
use super::values::derived::Derivation;
use super::values::value::{Attributes, Value, ValueMap};

/// A value, or a computation over the attributes of other resources.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expression {
    /// A constant. The configuration has already computed it; it may contain `Value::Unknown`.
    Value(Value),
    /// Another resource's id (`$vpc.main`) or one of its attributes (`$vm.web.public_ipv4_address`).
    Reference(Reference),
    /// An interpolation: its constant and computed parts, in order.
    Text(Vec<Expression>),
    /// A list whose entries are expressions.
    List(Vec<Expression>),
    /// A map whose values are expressions.
    Map(NameMap<Expression>),
    /// A CEL expression over live objects.
    Cel(Arc<CelExpression>),
}

/// What an expression reads of an object.
#[derive(Clone, Copy)]
enum ReadPart<'a> {
    /// Its id.
    Id,
    /// One attribute.
    Attribute(&'a Name),
    /// Any attribute: CEL has the object as a whole.
    Any,
}

/// A resource's id or one of its attributes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// The address of the resource, including its instance.
    pub address: Address,
    /// The attribute, under the language's name; `None` is the object's id.
    pub attribute: Option<Name>,
}

/// A CEL expression with bindings for everything that the configuration knows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CelExpression {
    /// The expression's text, without `${` and `}`.
    pub source: String,
    /// Known roots that it names: `vars`, `locals`, `env`, `stack`, `each`. A secret among them that the expression
    /// inspects makes the whole result secret.
    pub bindings: ValueMap,
    /// The resources whose live attributes it reads. `vm.web.a` is bound at `vm` → `web` → `a`.
    pub objects: Vec<Address>,
    /// Parts of the roots that depend on live objects themselves, by dotted path (`locals.host`, `each.value`):
    /// computed first, then bound at that path.
    #[serde(default, skip_serializing_if = "NameMap::is_empty")]
    pub waiting: NameMap<Expression>,
    /// The module that contains the expression: in `shop_eu`, `shop_eu.vm.web` is bound at `vm` → `web`. Empty
    /// for the stack itself.
    #[serde(default, skip_serializing_if = "Name::is_empty")]
    pub module: Name,
}

/// Access to live objects for an expression.
pub trait AttributeLookup {
    /// Returns the id (`None`) or an attribute of a resource's object: a `Value::Unknown` while it
    /// does not exist yet; `Value::Null` when it exists without that attribute.
    fn attribute(&self, address: &Address, attribute: Option<&str>) -> Value;

    /// Returns the known attributes of a resource's object (`id` included), and whether they are complete: in an
    /// incomplete object a missing attribute is unknown, in a complete one it is null.
    fn object(&self, address: &Address) -> (Attributes, bool);

    /// Returns the budget that all evaluations with this lookup share; with `None` each has its own.
    fn budget(&self) -> Option<&Budget> {
        None
    }
}

/// The reason why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EvaluationError {
    /// The expression itself is wrong: no such key, wrong types, division by zero …
    #[error("{0}")]
    Failed(String),
    /// It fails or runs too long on values that depend on a secret. The reason is left out because it would reveal
    /// something about the secret.
    #[error(
        "an expression that uses a secret fails; the reason is not shown, because it could reveal a part of the secret"
    )]
    Sensitive,
    /// It exceeded this limit of steps.
    #[error("the expression needs more than {0} steps")]
    TooLong(usize),
    /// Its value, or an intermediate value, exceeds the stack's budget.
    #[error("the value exceeds the memory limit for the values of a stack")]
    TooLarge,
}

impl From<BudgetExceeded> for EvaluationError {
    fn from(_: BudgetExceeded) -> Self {
        Self::TooLarge
    }
}

impl Expression {
    /// Calls `see` for every constant in the expression and every bound root, secrets included.
    pub fn each_value(&self, see: &mut dyn FnMut(&Value)) {
        match self {
            Self::Value(value) => see(value),
            Self::Reference(_) => {}
            Self::Text(parts) | Self::List(parts) => parts.iter().for_each(|part| part.each_value(see)),
            Self::Map(map) => map.values().for_each(|part| part.each_value(see)),
            Self::Cel(cel) => {
                cel.bindings.values().for_each(&mut *see);
                cel.waiting.values().for_each(|part| part.each_value(see));
            }
        }
    }

    /// Returns the value of a constant; `None` for an unknown one and for every computation, also for a list
    /// or map of constants.
    #[must_use]
    pub fn known_value(&self) -> Option<&Value> {
        match self {
            Self::Value(value) if !value.is_unknown() => Some(value),
            _ => None,
        }
    }

    /// Returns the entries of a map, also of a known one.
    ///
    /// # Errors
    /// With the expression itself if it is no map, or one that only its evaluation gives.
    pub fn into_entries(self) -> Result<NameMap<Self>, Self> {
        match self {
            Self::Map(map) => Ok(map),
            Self::Value(Value::Map(map)) => {
                Ok(map.into_iter().map(|(key, value)| (key, Self::Value(value))).collect())
            }
            other => Err(other),
        }
    }

    /// Returns every resource that the expression reads.
    #[must_use]
    pub fn addresses(&self) -> BTreeSet<&Address> {
        let mut found = BTreeSet::new();
        self.visit_reads(&mut |address, _| {
            found.insert(address);
        });
        found
    }

    /// Returns the attributes that the expression reads, by address; `None` instead of an attribute if it may read any of them. A
    /// reference to an id reads none.
    #[must_use]
    pub fn attribute_reads(&self) -> BTreeSet<(&Address, Option<&Name>)> {
        let mut found = BTreeSet::new();
        self.visit_reads(&mut |address, part| match part {
            ReadPart::Id => {}
            ReadPart::Attribute(name) => {
                found.insert((address, Some(name)));
            }
            ReadPart::Any => {
                found.insert((address, None));
            }
        });
        found
    }

    /// Visits what the expression reads of each object.
    fn visit_reads<'a>(&'a self, visit: &mut dyn FnMut(&'a Address, ReadPart<'a>)) {
        match self {
            Self::Value(_) => {}
            Self::Reference(Reference { address, attribute }) => {
                visit(address, attribute.as_ref().map_or(ReadPart::Id, ReadPart::Attribute));
            }
            Self::Text(parts) | Self::List(parts) => {
                for part in parts {
                    part.visit_reads(visit);
                }
            }
            Self::Map(map) => map.values().for_each(|part| part.visit_reads(visit)),
            Self::Cel(cel) => {
                cel.objects.iter().for_each(|address| visit(address, ReadPart::Any));
                cel.waiting.values().for_each(|part| part.visit_reads(visit));
            }
        }
    }

    /// Charges the expression and all in it. A shared part is charged once for each place that names it, because an
    /// evaluation copies it there.
    ///
    /// # Errors
    /// When less is left, or it is too deep; then nothing is charged.
    pub fn charge(&self, budget: &Budget) -> Result<(), BudgetExceeded> {
        budget.charge_atomically(|| self.charge_nested(budget, 0))
    }

    fn charge_nested(&self, budget: &Budget, level: usize) -> Result<(), BudgetExceeded> {
        if level > MAX_NESTING {
            return Err(BudgetExceeded);
        }
        match self {
            Self::Value(value) => budget.charge_nested_value(value, level),
            Self::Reference(_) => budget.charge_nodes(1),
            Self::Text(parts) | Self::List(parts) => {
                budget.charge_nodes(1)?;
                parts.iter().try_for_each(|part| part.charge_nested(budget, level + 1))
            }
            Self::Map(map) => {
                budget.charge_entries(map.iter(), |part| part.charge_nested(budget, level + 1))
            }
            Self::Cel(cel) => {
                let CelExpression { source, bindings, objects, waiting, module: _ } = &**cel;
                budget.charge_nodes(4 + objects.len())?;
                budget.charge_text(source.len())?;
                budget.charge_entries(bindings.iter(), |value| {
                    budget.charge_nested_value(value, level + 1)
                })?;
                budget.charge_entries(waiting.iter(), |part| part.charge_nested(budget, level + 1))
            }
        }
    }

    /// Returns whether the expression contains a secret. A reference does not count: whether its attribute is a secret
    /// shows only its value.
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

    /// Returns the expression in the form that a digest covers: secrets replaced by the names of their variables, and
    /// values computed from them by their expressions.
    #[must_use]
    pub fn to_digest_form(&self) -> Cow<'_, Self> {
        if !self.is_secret() {
            return Cow::Borrowed(self);
        }
        let all = |parts: &[Self]| parts.iter().map(|part| part.to_digest_form().into_owned()).collect();
        let map = |map: &NameMap<Self>| {
            map.iter().map(|(name, part)| (name.clone(), part.to_digest_form().into_owned())).collect()
        };
        Cow::Owned(match self {
            Self::Value(value) => Self::Value(digest_value(value)),
            Self::Reference(_) => self.clone(),
            Self::Text(parts) => Self::Text(all(parts)),
            Self::List(parts) => Self::List(all(parts)),
            Self::Map(parts) => Self::Map(map(parts)),
            Self::Cel(cel) => {
                let mut cel = cel.as_ref().clone();
                cel.bindings.values_mut().for_each(|value| *value = digest_value(value));
                cel.waiting = map(&cel.waiting);
                Self::Cel(cel.into())
            }
        })
    }
}

/// Returns a value in which each secret is replaced by the identity of its expression.
fn digest_value(value: &Value) -> Value {
    match value {
        Value::Secret(_) => {
            let derivation = Derivation::from_value(value);
            let text = derivation.map(|derivation| derivation.expression_digest().to_string());
            Value::Map([("secret expression".into(), Value::text(text.unwrap_or_default()))].into())
        }
        Value::List(items) => Value::List(items.iter().map(digest_value).collect()),
        Value::Map(map) => {
            Value::Map(map.iter().map(|(key, part)| (key.clone(), digest_value(part))).collect())
        }
        value => value.clone(),
    }
}

impl From<Value> for Expression {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}
