//! `PlanBase`: the inputs that a plan depends on. Field names are part of the format of saved plans.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::model::address::{Address, Name};
use crate::model::live::snapshot::ObjectKey;

/// The inputs that a plan depends on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanBase {
    /// The name of the stack.
    pub stack: Name,
    /// The name of the environment.
    pub environment: Name,
    /// The account: the id of its default project; empty if the service does not show it.
    pub account: Name,
    /// The project of project-scoped resources; `None` if it does not exist yet.
    pub project: Option<Name>,
    /// The lineage of the ledger; nil if the ledger does not exist yet.
    pub lineage: Uuid,
    /// The serial of the ledger when the plan was made.
    pub serial: u64,
    /// Digest of the resolved configuration.
    pub config: String,
    /// Digest of the remote stack outputs and data lookups; empty where there are none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reads: String,
    /// A before-image of every object that the plan touches, as it was read.
    pub objects: Vec<BeforeImage>,
    /// The time at which the plan was made.
    pub made_at: Timestamp,
    /// Identifies the plan, so that it is applied at most once.
    pub nonce: Uuid,
    /// Whether the plan was made by `destroy`.
    pub destroy: bool,
    /// Resources that may be deleted with the data that they contain, from the command line.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub delete_data: BTreeSet<Address>,
}

/// An object as it was when the plan was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeforeImage {
    /// The address of the object's resource.
    pub address: Address,
    /// The key of the object.
    pub key: ObjectKey,
    /// Keyed digests of the attributes that the plan read; empty if there was no key.
    pub attributes: BTreeMap<Name, String>,
}
