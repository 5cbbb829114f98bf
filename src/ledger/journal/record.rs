//! `Record`: one line of the journal. A ledger is what its records say, in order.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::ledger::state::entry::{
    AmbiguousIntent, Entry, GeneratedSecret, Intent, LedgerIdentity, OwnedObject, SinkDelivery, key_as_hex,
};
use crate::ledger::state::holder::LeaseHolder;
use crate::ledger::state::kept_secrets::{KeptVersion, RotationStep};
use crate::ledger::state::ledger::Ledger;
use crate::ledger::state::origins::StackOrigin;
use crate::ledger::state::run_history::{Incident, ResourceCounts, RunOrigin};
use crate::model::address::{Address, Name};
use crate::model::value::Attributes;

/// One fact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "record")]
pub enum Record {
    /// The first record of all.
    Born {
        /// See `LedgerIdentity`.
        lineage: Uuid,
        /// The stack.
        stack: Name,
        /// The environment.
        environment: Name,
        /// 64 hexadecimal digits.
        key: String,
    },
    /// Everything up to here in one: stands first, in place of the records that it sums up.
    Condensed(Box<Ledger>),
    /// The account was seen for the first time.
    Account {
        /// The id of its default project.
        account: Name,
    },
    /// An apply starts.
    Begin {
        /// The run.
        run: Uuid,
        /// The plan's nonce.
        plan: Uuid,
        /// Who, as `user@host`.
        who: String,
        /// When.
        at: Timestamp,
        /// What the plan was made from.
        #[serde(default)]
        origin: RunOrigin,
    },
    /// Someone took the lease of a shared ledger: nothing that an earlier epoch sends is recorded any
    /// more.
    Took {
        /// The lease's number.
        epoch: u64,
        /// Who.
        holder: LeaseHolder,
        /// The holder before sends nothing any more: it gave the lease back, or is proven dead. If not,
        /// its open requests are foreign from now on.
        proven: bool,
        /// Why the lease was taken from a holder that had it, if a human did it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// From this line on every line bears a MAC.
    Sealed {
        /// What tells the key from another one.
        key: Name,
    },
    /// The lease is given back: its holder sends nothing any more.
    Released {
        /// The lease's number.
        epoch: u64,
    },
    /// A request is about to be sent.
    Intent(Intent),
    /// A creation is known to have made this object.
    Bound {
        /// The intent.
        op: Uuid,
        /// The object.
        object: OwnedObject,
    },
    /// A request is known to have had its effect (update), or to have had none (any).
    Closed {
        /// The intent.
        op: Uuid,
        /// How it ended.
        outcome: ClosedOutcome,
    },
    /// An owned object is proven gone (deletion done, or found gone).
    Gone {
        /// The intent, when a deletion of ours did it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        op: Option<Uuid>,
        /// Whose it was.
        address: Address,
        /// The object's id.
        id: Name,
    },
    /// All calls for a resource are done: this is what was applied.
    Applied {
        /// The resource.
        address: Address,
        /// Everything that is remembered of it but `current` and `deposed`, which stay.
        entry: Box<Entry>,
    },
    /// Some attributes were applied (one call of several).
    Merged {
        /// The resource.
        address: Address,
        /// The attributes; `Null` removes one.
        attributes: Attributes,
    },
    /// A live object now belongs to an address.
    Adopted {
        /// The resource.
        address: Address,
        /// What is remembered, with `current`.
        entry: Box<Entry>,
    },
    /// stead lets go of an object, which stays live. Older ones that are still to be deleted stay owned.
    Forgotten {
        /// The resource.
        address: Address,
    },
    /// Entries have new addresses, all at once.
    Moved {
        /// The new ones, by the old ones.
        moves: BTreeMap<Address, Address>,
    },
    /// Only a human can say what became of a request.
    Asked(Box<AmbiguousIntent>),
    /// A human said it; the intent or its question is no more.
    Answered {
        /// The intent, open, asked about or watched.
        op: Uuid,
        /// What was said.
        answer: IntentResolution,
    },
    /// Another copy of the ledger takes this one's place: everything in it holds from here on.
    Pushed {
        /// The copy.
        ledger: Box<Ledger>,
        /// Who, as `user@host`.
        who: String,
        /// When.
        at: Timestamp,
    },
    /// A secret was generated and is where it should be: only now it may be sent.
    Generated {
        /// The path of its variable.
        variable: Name,
        /// What is remembered of it.
        generated: GeneratedSecret,
    },
    /// A secret is about to be written to a sink. It is recorded before it is written: whatever a crash
    /// leaves there is known.
    Delivered {
        /// The sink's target, in one spelling.
        target: Name,
        /// What is remembered of the content.
        delivery: SinkDelivery,
    },
    /// From here on secrets are encrypted to these recipients.
    SecretRecipients {
        /// The recipients, `age1…`.
        recipients: BTreeSet<Name>,
    },
    /// A secret is kept, encrypted: only now a sink or a request may have it.
    SecretKept {
        /// `vars.token` of a generated variable, else the resource.
        address: Name,
        /// The value.
        value: Box<KeptVersion>,
        /// It is in use once its rotation is done.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pending: bool,
    },
    /// A rotation of a secret goes on.
    SecretRotation {
        /// The secret's address.
        address: Name,
        /// How.
        step: RotationStep,
    },
    /// Something happened to the ledger itself.
    Noted(Incident),
    /// From here on it is applied from these directories and from no other.
    Origins {
        /// The directories.
        origins: BTreeSet<StackOrigin>,
    },
    /// The ledger is kept elsewhere from now on: nothing follows but the lease's return.
    MovedAway {
        /// Where, without a password.
        to: String,
    },
    /// An apply ended.
    Ended {
        /// The run.
        run: Uuid,
        /// The plan's nonce: it cannot be applied again.
        plan: Uuid,
        /// Whether every step was done.
        complete: bool,
        /// When.
        at: Timestamp,
        /// Resources by how they ended.
        #[serde(default)]
        tally: ResourceCounts,
        /// The stack's outputs, secrets sealed: other stacks read them. `None` where that was not
        /// recorded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outputs: Option<Attributes>,
    },
}

impl Record {
    /// Returns the record with which the ledger of an identity begins.
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

/// What a human said became of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum IntentResolution {
    /// It made this object, which is the address's now.
    Made {
        /// The object.
        object: OwnedObject,
    },
    /// It made this object, which is one too many: the next plan deletes it.
    Surplus {
        /// The object.
        object: OwnedObject,
    },
    /// It made nothing. It stays watched for late effects.
    Nothing,
    /// Whatever it made is none of this ledger's business.
    Dropped,
}

/// How a request without a new object ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClosedOutcome {
    /// It did what it should.
    Done,
    /// The service said no.
    Refused,
    /// Not a byte left.
    NotSent,
    /// Nothing came of it within the bounds; a creation is watched for late effects.
    PresumedAbsent,
}
