//! The names that an expression can refer to, where it stands.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::block_index::Each;
use crate::config::diagnostics::collector::InstanceContext;
use crate::config::input::config_path::ConfigPath;
use crate::config::input::files::Files;
use crate::config::stack::model::MapEntries;
use crate::model::address::Name;
use crate::model::budget::BudgetCharge;
use crate::model::expression::Expression;
use crate::model::source::Span;
use crate::model::value::{Attributes, Value};

/// A local's value and what decided it.
#[derive(Debug, Clone)]
pub(in crate::config) struct LocalBinding {
    /// Its value.
    pub(in crate::config) value: LocalValue,
    /// What decided it.
    pub(in crate::config) origin: Option<Name>,
}

/// A local's value, as far as it is known.
#[derive(Debug, Clone)]
pub(in crate::config) enum LocalValue {
    /// The value, or how to get it.
    Ready(Expression),
    /// It reads live objects: it is there once all blocks are declared.
    Deferred,
    /// It has a problem of its own.
    Broken,
}

/// What a stack or one instance of a module sees of itself.
#[derive(Default)]
pub(in crate::config) struct ModuleScope {
    /// The way to it from the stack: `shop_eu`, `shop_eu.cache`; empty for the stack itself.
    pub(in crate::config) prefix: Name,
    /// What the names of its resources begin with; empty for the stack itself.
    pub(in crate::config) front: Name,
    /// How `set` may speak of it: by its own name, or by that of several instances.
    pub(in crate::config) spoken: Vec<Name>,
    /// Where its directory stands.
    pub(in crate::config) place: ConfigPath,
    /// Its files, where it is a module.
    pub(in crate::config) files: Option<Rc<dyn Files>>,
    /// How many modules it stands in.
    pub(in crate::config) depth: usize,
    /// The number of its first block.
    pub(in crate::config) first_block: usize,
    /// Values of variables; one with a problem is `None`.
    pub(in crate::config) vars: BTreeMap<Name, Option<Expression>>,
    /// The same, as expressions see them.
    pub(in crate::config) var_values: Attributes,
    /// What set a variable, where it was not its default.
    pub(in crate::config) var_origins: BTreeMap<Name, Name>,
    /// Where a variable's value stands, where that is in a file.
    pub(in crate::config) var_places: BTreeMap<Name, Span>,
    /// Locals; one that reads live objects is there once all blocks are declared.
    pub(in crate::config) locals: BTreeMap<Name, LocalBinding>,
    /// The same, as expressions see them now.
    pub(in crate::config) local_values: Attributes,
    /// Outputs of the modules that it uses: there once all blocks are declared.
    pub(in crate::config) uses: BTreeMap<Name, LocalBinding>,
    /// The same, as expressions see them now.
    pub(in crate::config) use_values: Attributes,
    /// Those of its modules that have a `for_each`.
    pub(in crate::config) keyed: BTreeSet<Name>,
    /// What its variables and locals were charged: given back when a module is left.
    pub(in crate::config) cost: BudgetCharge,
}

/// From where an expression is read.
#[derive(Clone, Copy)]
pub(in crate::config) struct EvaluationSite<'f, 'd> {
    /// `each`, inside of `for_each`.
    pub(in crate::config) each: Option<&'f Each<'d>>,
    /// In whose name.
    pub(in crate::config) instance: Option<InstanceContext<'f>>,
    /// Why live objects cannot be named here, in words (`for_each`); `None` where they can.
    pub(in crate::config) early: Option<&'static str>,
}

impl EvaluationSite<'_, '_> {
    /// Returns a frame outside of any block.
    pub(in crate::config) const fn top_level(early: Option<&'static str>) -> Self {
        Self { each: None, instance: None, early }
    }
}

/// A resolved value and what decided it besides its place.
#[derive(Debug, Clone)]
pub(in crate::config) struct ResolvedValue {
    /// The value, or how to get it.
    pub(in crate::config) expression: Expression,
    /// `vars.size, set by environments.prod`.
    pub(in crate::config) origin: Option<Name>,
    /// The same of every entry of a written map.
    pub(in crate::config) parts: Option<Box<MapEntries>>,
}

impl ResolvedValue {
    /// Returns a value and what decided it.
    pub(in crate::config) const fn new(expression: Expression, origin: Option<Name>) -> Self {
        Self { expression, origin, parts: None }
    }
}

impl From<Value> for ResolvedValue {
    fn from(value: Value) -> Self {
        Self::new(Expression::Value(value), None)
    }
}

impl From<Expression> for ResolvedValue {
    fn from(expression: Expression) -> Self {
        Self::new(expression, None)
    }
}
