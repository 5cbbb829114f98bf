//! A step of a plan: what it does, the calls that it sends, and what the ledger remembers of it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::ledger::state::entry::{Entry, OwnedObject};
use crate::model::address::{Address, Name};
use crate::model::expression::Expression;
use crate::model::snapshot::ObjectKey;
use crate::model::value::Value;

/// One thing to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Which resource.
    pub address: Address,
    /// Its kind.
    pub kind: Name,
    /// What to do.
    pub operation: Operation,
    /// Steps that must be done before; each number is smaller than this step's own.
    pub after: Vec<usize>,
    /// How long it usually takes.
    pub seconds: u32,
    /// How long it may take.
    pub timeout_seconds: u32,
}

/// What a step does. Attribute values are expressions: references are filled in when their objects
/// exist. Secret parts are sealed; apply takes them from the configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "do")]
pub enum Operation {
    /// Makes an object with all attributes at once, then the `after_creation` calls.
    Create {
        /// Everything written, by the language's names; catalog names already as ids.
        desired: BTreeMap<Name, Expression>,
        /// The project it is made in.
        project: TargetProject,
        /// The parent's address, for a child.
        parent: Option<Address>,
        /// What the ledger remembers besides `applied` and `current`.
        remember: LedgerMetadata,
        /// The current object becomes `deposed` (create-first replacement).
        deposes: bool,
    },
    /// Changes an object in place by calls, in order.
    Update {
        /// The object; `None`: the one that the ledger has when the step runs (after a replacement).
        object: Option<ObjectKey>,
        /// The calls.
        calls: Vec<PlannedCall>,
        /// Everything written, as in `Create`: what the ledger remembers in the end.
        desired: BTreeMap<Name, Expression>,
        /// What the ledger remembers besides.
        remember: LedgerMetadata,
    },
    /// Deletes an object.
    Delete {
        /// The object, with its birth certificate.
        object: OwnedObject,
        /// It is the deposed one of a replacement, not the current one.
        deposed: bool,
    },
}

/// One call of an update.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedCall {
    /// The call's name in the kind's table.
    pub call: Name,
    /// The attributes that it changes: before (as read) and after.
    pub attributes: BTreeMap<Name, (Value, Expression)>,
}

/// In which project an object is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetProject {
    /// It belongs to the account, or its parent says.
    None,
    /// A project that exists.
    Id(Name),
    /// A project of this stack, which may not exist yet.
    Resource(Address),
}

/// What the ledger remembers of a resource besides its object and its attributes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerMetadata {
    /// What it depends on.
    pub depends_on: Vec<Address>,
    /// `lifecycle.protect`.
    pub protect: bool,
    /// `lifecycle.on_remove: keep`.
    pub keep_on_remove: bool,
    /// `lifecycle.on_remove: delete`, where it is written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delete_on_remove: bool,
    /// `lifecycle.final_snapshot`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub final_snapshot: bool,
    /// Attributes whose live value is not compared with the sent one: `lifecycle.ignore_drift`, and what the
    /// service itself moves.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unverified: BTreeSet<Name>,
    /// It is a copy of what goes: once it is made it stays live, and nobody manages it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub let_go: bool,
}

/// A ledger correction without a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LedgerUpdate {
    /// An owned object is proven gone.
    Gone(Address, Name),
    /// What is remembered changes although the object does not. An entry whose `current` is not the
    /// ledger's is an adoption.
    Remember(Address, Box<Entry>),
    /// stead lets go of an object.
    Forget(Address),
    /// Entries get new addresses, before anything else: the new ones, by the old ones.
    Move(BTreeMap<Address, Address>),
    /// Kept secrets are encrypted to these recipients from then on.
    PinRecipients(BTreeSet<Name>),
}

/// The longest chain of steps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriticalPath {
    /// Step numbers, first to last.
    pub steps: Vec<usize>,
    /// Their seconds together.
    pub seconds: u32,
}
