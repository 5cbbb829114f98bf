//! `Expression`: an attribute's value, or how to get it once what it waits for exists.
//!
//! Configuration resolves everything that it can; what is left names live objects only, holds no
//! source position and can be saved in a plan.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::address::{Address, Name};
use super::budget::{Budget, BudgetExceeded, MAX_NESTING};
use super::derived::Derivation;
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
    Cel(Arc<CelExpression>),
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
pub struct CelExpression {
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
pub trait AttributeLookup {
    /// Returns the id (`None`) or an attribute of a resource's object: a `Value::Unknown` while it
    /// does not exist yet; `Value::Null` when it exists without that attribute.
    fn attribute(&self, address: &Address, attribute: Option<&str>) -> Value;

    /// Returns all that is known of a resource's object (`id` included), and whether that is all
    /// there will be.
    fn object(&self, address: &Address) -> (Attributes, bool);

    /// Returns the budget of all evaluations over this world; without one, each has its own.
    fn budget(&self) -> Option<&Budget> {
        None
    }
}

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EvaluationError {
    /// The expression itself is wrong: no such key, wrong types, division by zero …
    #[error("{0}")]
    Failed(String),
    /// It fails, or runs too long, on values that depend on a secret. Why would tell something of the secret.
    #[error(
        "an expression over a secret fails; the reason is not shown, because it would tell something of the secret"
    )]
    Sensitive,
    /// It ran over its bound of steps or depth.
    #[error("the expression needs more than {0} steps")]
    TooLong(usize),
    /// Its value, or what leads to it, does not fit into the stack's budget.
    #[error("the value takes more memory than the values of a stack may take")]
    TooLarge,
}

impl From<BudgetExceeded> for EvaluationError {
    fn from(_: BudgetExceeded) -> Self {
        Self::TooLarge
    }
}

impl Expression {
    /// Shows every value that is written in the expression, or bound in it.
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

    /// Returns the value of an expression that waits for nothing.
    #[must_use]
    pub fn known_value(&self) -> Option<&Value> {
        match self {
            Self::Value(value) if !value.is_unknown() => Some(value),
            _ => None,
        }
    }

    /// Returns every resource that the expression reads.
    #[must_use]
    pub fn addresses(&self) -> BTreeSet<&Address> {
        fn collect_addresses<'a>(expression: &'a Expression, into: &mut BTreeSet<&'a Address>) {
            match expression {
                Expression::Value(_) => {}
                Expression::Reference(reference) => {
                    into.insert(&reference.address);
                }
                Expression::Text(parts) | Expression::List(parts) => {
                    for part in parts {
                        collect_addresses(part, into);
                    }
                }
                Expression::Map(map) => map.values().for_each(|part| collect_addresses(part, into)),
                Expression::Cel(cel) => {
                    into.extend(&cel.objects);
                    cel.waiting.values().for_each(|part| collect_addresses(part, into));
                }
            }
        }
        let mut found = BTreeSet::new();
        collect_addresses(self, &mut found);
        found
    }

    /// Charges the expression and all in it, what is shared as often as it is named.
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

    /// Returns the expression as a digest binds it: secrets by the names of their variables, and what is computed
    /// from them by its expression.
    #[must_use]
    pub fn to_digest_form(&self) -> Cow<'_, Self> {
        if !self.is_secret() {
            return Cow::Borrowed(self);
        }
        let all = |parts: &[Self]| parts.iter().map(|part| part.to_digest_form().into_owned()).collect();
        let map = |map: &BTreeMap<Name, Self>| {
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

/// Returns a value with what identifies the expression of each secret in its place.
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
