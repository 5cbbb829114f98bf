//! `PlanValues`: every resource of a stack with all its attributes before and after the apply, for reports that other tools
//! read. It is made with a plan on request, and is no part of it: live values that no plan touches may change at any time.

use std::collections::BTreeMap;

use crate::model::address::{Address, Name};
use crate::model::values::value::{Attributes, Value};

/// The values of all resources, by address.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlanValues {
    /// The resources that exist, or will.
    pub resources: BTreeMap<Address, ResourceValues>,
    /// Address prefixes of the module instances.
    pub modules: Vec<Name>,
    /// What each output is computed from, by name.
    pub outputs: BTreeMap<Name, WrittenValue>,
}

/// A resource before and after the apply.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceValues {
    /// Kind, as in the tables.
    pub kind: Name,
    /// Address of the parent; `None` for a top-level resource.
    pub parent: Option<Address>,
    /// Key of the instance; `None` without `for_each`, and for a resource without a block.
    pub key: Option<Name>,
    /// The live object, its `id` included; `None` if there is none. Secrets as fingerprints.
    pub before: Option<Attributes>,
    /// The object after the apply, with unknown values; `None` if it is gone then, or not managed any more.
    pub after: Option<Attributes>,
    /// What its block says, by attribute; empty without a block.
    pub written: BTreeMap<Name, WrittenValue>,
    /// Dependencies that no reference expresses.
    pub depends_on: Vec<Address>,
    /// Whether the configuration declares it.
    pub is_declared: bool,
}

/// What the configuration says about a value.
#[derive(Debug, Clone, PartialEq)]
pub enum WrittenValue {
    /// A constant without secrets.
    Constant(Value),
    /// It is computed from these: addresses, with an attribute where one is named, and variables of secrets.
    References(Vec<Name>),
}
