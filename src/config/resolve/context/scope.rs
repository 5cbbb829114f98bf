//! Scopes: the names to which an expression may refer, depending on where it is written. `ModuleScope` belongs to a
//! unit, `EvaluationSite` to a place in it. A module instance sees its own names only, never those of its caller.

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
use crate::model::values::value::{Value, ValueMap};

/// Value of a local, or the outputs of a module call.
#[derive(Debug, Clone)]
pub(in crate::config) struct LocalBinding {
    pub(in crate::config) value: LocalValue,
    /// What decided the value besides its own text, for messages: `vars.size, set by --var`. `None` if nothing did.
    pub(in crate::config) origin: Option<Name>,
}

/// A local's value, as far as it is known.
#[derive(Debug, Clone)]
pub(in crate::config) enum LocalValue {
    /// The value, or an expression that waits for live objects.
    Ready(Expression),
    /// It reads live objects, so it is resolved once all blocks are declared. Until then a use of it is a problem.
    Deferred,
    /// The local has a problem that was reported.
    Broken,
}

/// Names in scope inside a stack or one module instance.
#[derive(Default)]
pub(in crate::config) struct ModuleScope {
    /// Address prefix of the unit: `shop_eu`, `shop_eu.cache`; empty for the stack itself.
    pub(in crate::config) prefix: Name,
    /// Prefix of its resources' default names; empty for the stack itself.
    pub(in crate::config) name_prefix: Name,
    /// Names by which overrides refer to it, the most specific first: that of the instance, and that of the whole
    /// `use` block. The stack itself has one empty name; a module to which no override refers has none.
    pub(in crate::config) override_names: Vec<Name>,
    /// Directory of a module; the default path for the stack itself.
    pub(in crate::config) directory: ConfigPath,
    /// File access of a module; `None` for the stack itself.
    pub(in crate::config) files: Option<Rc<dyn Files>>,
    /// Number of modules that contain it; 0 for the stack itself.
    pub(in crate::config) depth: usize,
    /// Values of its variables.
    pub(in crate::config) variables: BoundVariables,
    /// Locals, by name.
    pub(in crate::config) locals: BTreeMap<Name, LocalBinding>,
    /// The same values as expressions see them now: unknown if they depend on live objects, null after a problem.
    pub(in crate::config) local_values: ValueMap,
    /// Outputs of the modules that it uses, by the name of the call.
    pub(in crate::config) uses: BTreeMap<Name, LocalBinding>,
    /// The same values as expressions see them now: unknown if they depend on live objects, null after a problem.
    pub(in crate::config) use_values: ValueMap,
    /// Names of the calls that have a `for_each`: their outputs are a map by key.
    pub(in crate::config) keyed: BTreeSet<Name>,
    /// Budget charge of its inputs, variables and locals, returned when the module is left.
    pub(in crate::config) cost: BudgetCharge,
}

impl ModuleScope {
    /// Adds a local or a module call (by the root `use`) that has no value yet, or never gets one.
    pub(in crate::config) fn bind_unresolved(
        &mut self,
        (root, name): (&'static str, Name),
        value: LocalValue,
    ) {
        let bindings = if root == "use" { &mut self.uses } else { &mut self.locals };
        bindings.insert(name, LocalBinding { value, origin: None });
    }

    /// Adds a local with its value.
    pub(in crate::config) fn bind_local(&mut self, name: &Name, local: ResolvedLocal) {
        self.cost = self.cost + local.cost;
        self.local_values.insert(name.clone(), local.known);
        self.locals.insert(name.clone(), local.binding);
    }
}

/// Values of the variables of a stack or of one module instance, by name.
#[derive(Default)]
pub(in crate::config) struct BoundVariables {
    /// The values; `None` after a problem that was reported.
    pub(in crate::config) expressions: BTreeMap<Name, Option<Expression>>,
    /// The same values as expressions see them: unknown if they depend on live objects. One with a problem is
    /// absent in the stack, and null in a module.
    pub(in crate::config) values: ValueMap,
    /// What set each variable that does not have its default: `vars.size, set by environments.prod`.
    pub(in crate::config) origins: BTreeMap<Name, Name>,
    /// Span of each variable's value, if it is in a file.
    pub(in crate::config) spans: BTreeMap<Name, Span>,
    /// Budget charge of a module's variables; those of the stack are never refunded.
    pub(in crate::config) cost: BudgetCharge,
}

/// A local after its resolution.
pub(in crate::config) struct ResolvedLocal {
    pub(in crate::config) binding: LocalBinding,
    /// Its value as expressions see it now: unknown if it depends on live objects, null after a problem.
    pub(in crate::config) known: Value,
    /// Budget charge of the value.
    pub(in crate::config) cost: BudgetCharge,
}

/// Site at which an expression is resolved: what is in scope there besides the names of the unit.
#[derive(Clone, Copy)]
pub(in crate::config) struct EvaluationSite<'f, 'd> {
    /// Values of `each`; `None` outside of a block with `for_each`.
    pub(in crate::config) each: Option<&'f Each<'d>>,
    /// Instance to which problems are attributed; `None` outside of blocks.
    pub(in crate::config) instance: Option<InstanceContext<'f>>,
    /// Keyword (`for_each`) whose value must be known before any resource exists, so that live objects
    /// cannot be referenced here; `None` where they can.
    pub(in crate::config) early: Option<&'static str>,
}

impl EvaluationSite<'_, '_> {
    /// Returns the site outside of any block, such as that of an output; `early` as in the field.
    pub(in crate::config) const fn top_level(early: Option<&'static str>) -> Self {
        Self { each: None, instance: None, early }
    }
}

/// A resolved value, and what decided it besides its span.
#[derive(Debug, Clone)]
pub(in crate::config) struct ResolvedValue {
    /// The value, or an expression that waits for live objects.
    pub(in crate::config) expression: Expression,
    /// What decided the value: `vars.size, set by environments.prod`. `None` if it is the written text alone.
    pub(in crate::config) origin: Option<Name>,
    /// Span and origin of every entry of a map that is written out; `None` for any other value.
    pub(in crate::config) parts: Option<Box<MapEntries>>,
}

impl ResolvedValue {
    /// Returns a value that is no written map, with what decided it.
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
