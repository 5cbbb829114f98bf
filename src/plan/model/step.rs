//! A step of a plan: its operation, the calls that it sends, and the entry that the ledger records. Field names
//! are part of the format of saved plans.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::ledger::state::entry::{Entry, OwnedObject};
use crate::model::address::name_map::NameMap;
use crate::model::address::{Address, Name};
use crate::model::expression::Expression;
use crate::model::live::snapshot::ObjectKey;
use crate::model::values::value::Value;

/// A unit of work for the executor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The address of the resource.
    pub address: Address,
    /// The resource's kind, as in the tables.
    pub kind: Name,
    /// The operation on one object.
    pub operation: Operation,
    /// The numbers of the steps that it depends on, ascending; each is smaller than this step's own.
    pub after: Vec<usize>,
    /// The usual duration of the step, in seconds.
    pub seconds: u32,
    /// The time limit of the step, in seconds.
    pub timeout_seconds: u32,
}

impl Step {
    /// Returns whether the step deletes an object that an earlier replacement left.
    #[must_use]
    pub const fn deletes_older_object(&self) -> bool {
        matches!(self.operation, Operation::Delete { deposed: true, .. })
    }
}

/// The operation of a step. Attribute values are expressions: references are resolved when their objects exist.
/// Secrets have no plain text here; an apply reads it from the configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "do")]
pub enum Operation {
    /// Creates an object with all attributes at once, then the `after_creation` calls.
    Create {
        /// All written attributes by their names in the configuration; catalog names already as ids.
        desired: NameMap<Expression>,
        /// The project of the new object.
        project: TargetProject,
        /// The parent's address; `None` if the kind is not a child.
        parent: Option<Address>,
        /// What the ledger records besides `applied` and `current`.
        remember: LedgerMetadata,
        /// The current object becomes `deposed` (create-first replacement).
        deposes: bool,
    },
    /// Changes an object in place by calls, in order.
    Update {
        /// The object; `None`: the one that the ledger has when the step runs (after a replacement).
        object: Option<ObjectKey>,
        /// The calls, in the order of sending.
        calls: Vec<PlannedCall>,
        /// All written attributes, as in `Create`: the applied values in the ledger afterwards.
        desired: NameMap<Expression>,
        /// What the ledger records besides the attributes.
        remember: LedgerMetadata,
    },
    /// Deletes one object: the current one, or a deposed one.
    Delete {
        /// The object, with its recorded identity.
        object: OwnedObject,
        /// Whether it is the deposed object of a replacement, not the current one.
        deposed: bool,
    },
}

/// One call of an update.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedCall {
    /// The call's name in the kind's table.
    pub call: Name,
    /// The attributes that it changes: before (as read) and after. Secrets as fingerprints.
    pub attributes: BTreeMap<Name, (Value, Expression)>,
}

/// The project of a new object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetProject {
    /// No project: it belongs to the account, or its parent determines it.
    None,
    /// An existing project, by id.
    Id(Name),
    /// A project of this stack, which may not exist yet.
    Resource(Address),
}

/// The part of a ledger entry besides the objects and the applied attributes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerMetadata {
    /// The addresses that the resource depends on.
    pub depends_on: Vec<Address>,
    /// The setting `lifecycle.protect` of the block.
    pub protect: bool,
    /// Whether the block has `lifecycle.on_remove: keep`.
    pub keep_on_remove: bool,
    /// Whether the block has `lifecycle.on_remove: delete`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delete_on_remove: bool,
    /// The setting `lifecycle.final_snapshot` of the block.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub final_snapshot: bool,
    /// Attributes whose live value is not compared with the sent one: those under `lifecycle.ignore_drift`, and
    /// in a step that only undoes links all others.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unverified: BTreeSet<Name>,
    /// Whether it is the final snapshot of a deleted object: once created it is forgotten and stays live.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub let_go: bool,
}

/// A ledger update that needs no request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LedgerUpdate {
    /// An owned object is proven gone: its address and id.
    Gone(Address, Name),
    /// The entry changes although the object does not. An entry whose `current` is not the ledger's is an adoption.
    Remember(Address, Box<Entry>),
    /// An object is removed from the ledger and stays live.
    Forget(Address),
    /// Entries get new addresses, before any other update: new addresses by old ones.
    Move(BTreeMap<Address, Address>),
    /// From now on kept secrets are encrypted to these recipients.
    PinRecipients(BTreeSet<Name>),
    /// Entries go to the ledger of another stack (`stack/environment`), or come from there: new addresses by old ones.
    /// Made before the first step, because the other ledger must be open for it.
    Transfer(Name, BTreeMap<Address, Address>),
}

impl LedgerUpdate {
    /// Returns the moves within the ledger, new addresses by old ones; `None` for another update.
    #[must_use]
    pub const fn moves(&self) -> Option<&BTreeMap<Address, Address>> {
        match self {
            Self::Move(moves) => Some(moves),
            _ => None,
        }
    }
}

/// The longest chain of steps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriticalPath {
    /// Step numbers, first to last; empty for a plan without steps.
    pub steps: Vec<usize>,
    /// The sum of their durations, in seconds.
    pub seconds: u32,
}
