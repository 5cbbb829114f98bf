//! The names that an expression can refer to, where it stands.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::files::Files;
use super::index::Each;
use super::place::Place;
use super::problems::Instance;
use super::stack::Parts;
use crate::model::address::Name;
use crate::model::budget::Cost;
use crate::model::expression::Expression;
use crate::model::source::Span;
use crate::model::value::{Attributes, Value};

/// A local's value and what decided it.
#[derive(Debug, Clone)]
pub(super) struct Local {
    /// Its value.
    pub(super) value: LocalValue,
    /// What decided it.
    pub(super) origin: Option<Name>,
}

/// A local's value, as far as it is known.
#[derive(Debug, Clone)]
pub(super) enum LocalValue {
    /// The value, or how to get it.
    Ready(Expression),
    /// It reads live objects: it is there once all blocks are declared.
    Later,
    /// It has a problem of its own.
    Broken,
}

/// What a stack or one instance of a module sees of itself.
#[derive(Default)]
pub(super) struct Scope {
    /// The way to it from the stack: `shop_eu`, `shop_eu.cache`; empty for the stack itself.
    pub(super) prefix: Name,
    /// What the names of its resources begin with; empty for the stack itself.
    pub(super) front: Name,
    /// How `set` may speak of it: by its own name, or by that of several instances.
    pub(super) spoken: Vec<Name>,
    /// Where its directory stands.
    pub(super) place: Place,
    /// Its files, where it is a module.
    pub(super) files: Option<Rc<dyn Files>>,
    /// How many modules it stands in.
    pub(super) depth: usize,
    /// The number of its first block.
    pub(super) first_block: usize,
    /// Values of variables; one with a problem is `None`.
    pub(super) vars: BTreeMap<Name, Option<Expression>>,
    /// The same, as expressions see them.
    pub(super) var_values: Attributes,
    /// What set a variable, where it was not its default.
    pub(super) var_origins: BTreeMap<Name, Name>,
    /// Where a variable's value stands, where that is in a file.
    pub(super) var_places: BTreeMap<Name, Span>,
    /// Locals; one that reads live objects is there once all blocks are declared.
    pub(super) locals: BTreeMap<Name, Local>,
    /// The same, as expressions see them now.
    pub(super) local_values: Attributes,
    /// Outputs of the modules that it uses: there once all blocks are declared.
    pub(super) uses: BTreeMap<Name, Local>,
    /// The same, as expressions see them now.
    pub(super) use_values: Attributes,
    /// Those of its modules that have a `for_each`.
    pub(super) keyed: BTreeSet<Name>,
    /// What its variables and locals were charged: given back when a module is left.
    pub(super) cost: Cost,
}

/// From where an expression is read.
#[derive(Clone, Copy)]
pub(super) struct Frame<'f, 'd> {
    /// `each`, inside of `for_each`.
    pub(super) each: Option<&'f Each<'d>>,
    /// In whose name.
    pub(super) instance: Option<Instance<'f>>,
    /// Why live objects cannot be named here, in words (`for_each`); `None` where they can.
    pub(super) early: Option<&'static str>,
}

impl Frame<'_, '_> {
    /// Returns a frame outside of any block.
    pub(super) const fn top(early: Option<&'static str>) -> Self {
        Self { each: None, instance: None, early }
    }
}

/// A resolved value and what decided it besides its place.
#[derive(Debug, Clone)]
pub(super) struct Resolved {
    /// The value, or how to get it.
    pub(super) expression: Expression,
    /// `vars.size, set by environments.prod`.
    pub(super) origin: Option<Name>,
    /// The same of every entry of a written map.
    pub(super) parts: Option<Box<Parts>>,
}

impl Resolved {
    /// Returns a value and what decided it.
    pub(super) const fn new(expression: Expression, origin: Option<Name>) -> Self {
        Self { expression, origin, parts: None }
    }
}

impl From<Value> for Resolved {
    fn from(value: Value) -> Self {
        Self::new(Expression::Value(value), None)
    }
}

impl From<Expression> for Resolved {
    fn from(expression: Expression) -> Self {
        Self::new(expression, None)
    }
}
