//! `Record`: one fact in the journal. The ledger is the result of its records, in order.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::ledger::state::entry::{
    AmbiguousIntent, Entry, GeneratedSecret, Intent, LedgerIdentity, OwnedObject, SinkDelivery,
};
use crate::ledger::state::holder::LeaseHolder;
use crate::ledger::state::kept_secrets::{KeptVersion, RotationStep};
use crate::ledger::state::key_as_hex;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::state::open_review::{ReviewEnd, ReviewedPlan};
use crate::ledger::state::origins::StackOrigin;
use crate::ledger::state::run_details::{PolicyRun, ResourceRun};
use crate::ledger::state::run_history::{Incident, ResourceCounts, RunOrigin};
use crate::ledger::state::transfer::{IncomingTransfer, Transfer};
use crate::model::address::{Address, Name};
use crate::model::values::value::Attributes;

/// One fact about a stack's resources or about its ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "record")]
pub enum Record {
    /// The first record of every ledger.
    Born {
        /// The lineage id, see `LedgerIdentity`.
        lineage: Uuid,
        /// The name of the stack.
        stack: Name,
        /// The name of the environment.
        environment: Name,
        /// The fingerprint key, as 64 hexadecimal digits.
        key: String,
    },
    /// A checkpoint: comes first and replaces the records before it.
    Condensed(Box<Ledger>),
    /// An apply used the account for the first time.
    Account {
        /// The id of its default project.
        account: Name,
    },
    /// An apply has started.
    Begin {
        /// The id of the run.
        run: Uuid,
        /// The nonce of the plan.
        plan: Uuid,
        /// The actor, as `user@host`.
        who: String,
        /// The time by the actor's clock.
        at: Timestamp,
        /// The source of the plan.
        #[serde(default)]
        origin: RunOrigin,
    },
    /// A holder took the lease of a shared ledger: records of an earlier epoch are refused from now on.
    Took {
        /// The fencing token of the lease.
        epoch: u64,
        /// The new holder of the lease.
        holder: LeaseHolder,
        /// The previous holder sends no more requests: it released the lease, or is proven dead. Otherwise its open
        /// requests are foreign from now on.
        proven: bool,
        /// The reason for which the user took the lease from its holder, if so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// From this line on, every line has a MAC.
    Sealed {
        /// The id of the MAC key.
        key: Name,
    },
    /// The lease was released: its holder sends no more requests.
    Released {
        /// The fencing token of the lease.
        epoch: u64,
    },
    /// The program is about to send a request.
    Intent(Intent),
    /// A creation is known to have created this object.
    Bound {
        /// The id of the intent.
        op: Uuid,
        /// The object that was created.
        object: OwnedObject,
    },
    /// The outcome of a request: it had its effect (update), or is known or presumed to have had none (any).
    Closed {
        /// The id of the intent.
        op: Uuid,
        /// The outcome of the request.
        outcome: ClosedOutcome,
    },
    /// An owned object is proven to be gone (deleted, or found missing).
    Gone {
        /// The intent, when a deletion of ours removed it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        op: Option<Uuid>,
        /// The address that owned it.
        address: Address,
        /// The id of the object.
        id: Name,
    },
    /// All calls for a resource have finished: the record has the last applied state.
    Applied {
        /// The address of the resource.
        address: Address,
        /// The new entry without `current` and `deposed`, which stay.
        entry: Box<Entry>,
    },
    /// Some attributes were applied (one call of several).
    Merged {
        /// The address of the resource.
        address: Address,
        /// The applied attributes; `Null` removes one.
        attributes: Attributes,
    },
    /// A live object was adopted by an address.
    Adopted {
        /// The address of the resource.
        address: Address,
        /// The new entry, with `current`.
        entry: Box<Entry>,
    },
    /// An object was forgotten: it stays live and is no longer managed. Deposed objects stay owned.
    Forgotten {
        /// The address of the resource.
        address: Address,
    },
    /// Entries have new addresses; all moves take effect together.
    Moved {
        /// New addresses by old addresses.
        moves: BTreeMap<Address, Address>,
    },
    /// The intent is ambiguous: only the user can state its outcome.
    Asked(Box<AmbiguousIntent>),
    /// The user resolved an ambiguous intent, which is now removed.
    Answered {
        /// The id of the intent, open, ambiguous or watched.
        op: Uuid,
        /// The outcome that the user stated.
        answer: IntentResolution,
    },
    /// Another copy of the ledger replaces this one from here on.
    Pushed {
        /// The copy, as a whole ledger.
        ledger: Box<Ledger>,
        /// The actor, as `user@host`.
        who: String,
        /// The time by the actor's clock.
        at: Timestamp,
    },
    /// A secret was generated and delivered: only from now on may a request use it.
    Generated {
        /// The path of the variable.
        variable: Name,
        /// The stored facts about the secret.
        generated: GeneratedSecret,
    },
    /// A secret is about to be written to a secret sink. The record precedes the write, so that the content
    /// after a crash is recognized.
    Delivered {
        /// The target of the sink, in normalized form.
        target: Name,
        /// The stored facts about the content.
        delivery: SinkDelivery,
    },
    /// From here on, secrets are encrypted to these recipients.
    SecretRecipients {
        /// The age recipients, `age1…`.
        recipients: BTreeSet<Name>,
    },
    /// An encrypted secret was stored: only from now on may a sink or a request use it.
    SecretKept {
        /// `vars.token` for a generated variable, otherwise the resource's address.
        address: Name,
        /// The encrypted value and its version.
        value: Box<KeptVersion>,
        /// It comes into use when its rotation is finished.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pending: bool,
    },
    /// A step of a secret's rotation was done.
    SecretRotation {
        /// The address of the secret.
        address: Name,
        /// The step that was done.
        step: RotationStep,
    },
    /// An incident of the ledger itself.
    Noted(Incident),
    /// From here on, the stack is applied from these directories only.
    Origins {
        /// The directories and their repositories.
        origins: BTreeSet<StackOrigin>,
    },
    /// Entries are offered to the ledger of another stack. They stay owned, and nothing changes them.
    TransferOffered(Box<Transfer>),
    /// Entries of another ledger are stored here. They are not owned yet, and nothing else gets their addresses.
    TransferPending(Box<IncomingTransfer>),
    /// The offered entries belong to the other ledger from here on.
    TransferGiven {
        /// The id of the transfer.
        transfer: Uuid,
    },
    /// The pending entries belong to this ledger: the other one has given them away.
    TransferOwned {
        /// The id of the transfer.
        transfer: Uuid,
    },
    /// The transfer does not take place: the source keeps its entries.
    TransferWithdrawn {
        /// The id of the transfer.
        transfer: Uuid,
    },
    /// The other ledger owns the entries that were given away: nothing of the transfer is left here.
    TransferSettled {
        /// The id of the transfer.
        transfer: Uuid,
    },
    /// The stack's plan was approved as one of many. It replaces an earlier review.
    Reviewed(Box<ReviewedPlan>),
    /// Nothing of the review is left to do.
    ReviewDone {
        /// The fingerprint of all plans of the review together.
        fingerprint: Name,
        /// How it was applied; `None` if another review took its place. Earlier versions did not record it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        applied: Option<ReviewEnd>,
    },
    /// The ledger was moved to another location: only the release of the lease may follow.
    MovedAway {
        /// The new location, without a password.
        to: String,
    },
    /// An apply has ended.
    Ended {
        /// The id of the run.
        run: Uuid,
        /// The nonce of the plan, which cannot be applied again.
        plan: Uuid,
        /// Whether every step succeeded.
        complete: bool,
        /// The time by the actor's clock.
        at: Timestamp,
        /// The number of resources by outcome.
        #[serde(default)]
        tally: ResourceCounts,
        /// The stack's outputs with redacted secrets, for other stacks to read. `None` where they were not recorded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outputs: Option<Attributes>,
        /// What the run did to each resource. Earlier versions did not record it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        resources: Vec<ResourceRun>,
        /// The results of the policies that the plan could not decide. Earlier versions did not record them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        policies: Vec<PolicyRun>,
        /// The policies that were overridden, and that denied nothing in the end. Earlier versions did not record them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unused_overrides: Vec<Name>,
    },
}

impl Record {
    /// Returns the first record of a ledger with this identity.
    #[must_use]
    pub fn birth(identity: &LedgerIdentity) -> Self {
        Self::Born {
            lineage: identity.lineage,
            stack: identity.stack.clone(),
            environment: identity.environment.clone(),
            key: key_as_hex::to_hex(&identity.key),
        }
    }
}

/// The outcome of an ambiguous intent, as stated by the user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum IntentResolution {
    /// It created this object, which the address now owns.
    Made {
        /// The object that was created.
        object: OwnedObject,
    },
    /// It created this object, which is superfluous: the next plan deletes it.
    Surplus {
        /// The object that was created.
        object: OwnedObject,
    },
    /// It created nothing. The intent stays watched for late effects.
    Nothing,
    /// This ledger ignores anything that it may have created.
    Dropped,
}

/// The outcome of a request that created no object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClosedOutcome {
    /// The request had its intended effect.
    Done,
    /// The service refused the request.
    Refused,
    /// No byte of the request was sent.
    NotSent,
    /// No effect was visible within the time limit; a creation is watched for late effects.
    PresumedAbsent,
}
