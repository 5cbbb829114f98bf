//! Transfers: objects that move from this ledger to the ledger of another stack, or from there to this one, as data.
//!
//! The two ledgers have no common transaction. The source offers entries, the target stores them as pending, the source
//! gives them away, the target owns them, and the source settles the transfer; one id names all five records.
//! Invariant: an object belongs to the source until the record `TransferGiven`, to the target from then on, and no plan
//! changes it while the transfer is open in the ledger that the plan reads. Nothing here contains a password.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::entry::{Entry, SinkDelivery};
use super::kept_secrets::KeptSecret;
use crate::model::address::{Address, Name, path_prefixes};
use crate::model::live::snapshot::ObjectKey;

/// The other ledger of a transfer, and how to find it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerPeer {
    /// Its lineage: another ledger at the same location is not it.
    pub lineage: Uuid,
    /// The name of its stack.
    pub stack: Name,
    /// The name of its environment.
    pub environment: Name,
    /// Its location in the notation of the settings, without a password.
    pub location: String,
    /// The directory of its stack relative to the directory of this ledger's stack, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<Name>,
}

impl fmt::Display for LedgerPeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.stack, self.environment)
    }
}

/// One transfer, as each of its two ledgers records it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Transfer {
    /// Its own id: an attempt that was withdrawn is never continued.
    pub id: Uuid,
    /// The other ledger.
    pub peer: LedgerPeer,
    /// The addresses in the target by those in the source, children included.
    pub moves: BTreeMap<Address, Address>,
    /// The actor, as `user@host`.
    pub who: String,
    /// The time by the actor's clock.
    pub at: Timestamp,
}

/// A transfer out of this ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutgoingTransfer {
    /// The transfer; the addresses of this ledger are the keys of its moves.
    pub transfer: Transfer,
    /// The entries that were given away, by their former addresses; empty while they are only offered.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub given: BTreeMap<Address, Entry>,
}

impl OutgoingTransfer {
    /// Returns whether the entries belong to the target.
    #[must_use]
    pub fn is_given(&self) -> bool {
        !self.given.is_empty()
    }
}

/// A transfer into this ledger: everything about the objects that the ledger will own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IncomingTransfer {
    /// The transfer; the addresses of this ledger are the values of its moves.
    pub transfer: Transfer,
    /// The account of the objects.
    pub account: Name,
    /// The entries by their new addresses.
    pub entries: BTreeMap<Address, Entry>,
    /// Encrypted secrets by the new addresses of their resources.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<Name, KeptSecret>,
    /// The recipients to which the secrets are encrypted.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub recipients: BTreeSet<Name>,
    /// Deliveries of the resources' secrets, by the target of the sink.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub delivered: BTreeMap<Name, Vec<SinkDelivery>>,
}

/// The transfers of a ledger.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Transfers {
    /// Transfers out of this ledger that are not settled.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outgoing: BTreeMap<Uuid, OutgoingTransfer>,
    /// Transfers into this ledger whose objects it does not own yet.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub incoming: BTreeMap<Uuid, IncomingTransfer>,
    /// Transfers whose objects this ledger received: the source asks for them before it settles one.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub received: BTreeSet<Uuid>,
    /// Transfers that this ledger gave away and settled: a target that was restored from an older copy asks for them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub settled: BTreeSet<Uuid>,
}

/// The status of a transfer in one ledger, as the other one sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransferStatus {
    /// The source offers the objects and owns them.
    Offered,
    /// The source has given the objects away.
    Given,
    /// The target stores the entries and does not own the objects yet.
    Pending,
    /// The target owns the objects, or has owned them.
    Received,
    /// The source has given the objects away, and has seen that the target owns them.
    Settled,
    /// The ledger does not have the transfer: it was withdrawn, or never reached this ledger.
    Absent,
}

impl Transfers {
    /// Returns whether there never was a transfer that matters still.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.is_open() && self.received.is_empty() && self.settled.is_empty()
    }

    /// Returns whether a transfer is open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !(self.outgoing.is_empty() && self.incoming.is_empty())
    }

    /// Returns the status of a transfer in this ledger.
    #[must_use]
    pub fn status(&self, id: Uuid) -> TransferStatus {
        match self.outgoing.get(&id) {
            Some(outgoing) if outgoing.is_given() => TransferStatus::Given,
            Some(_) => TransferStatus::Offered,
            None if self.incoming.contains_key(&id) => TransferStatus::Pending,
            None if self.received.contains(&id) => TransferStatus::Received,
            None if self.settled.contains(&id) => TransferStatus::Settled,
            None => TransferStatus::Absent,
        }
    }

    /// Returns the open transfer that holds an address: no plan changes the address or anything in it. Addresses that
    /// were given away are free again.
    #[must_use]
    pub fn holding(&self, address: &Address) -> Option<&Transfer> {
        if !self.is_open() {
            return None;
        }
        let is_held = |held: &Address| path_prefixes(address.as_str()).any(|part| part == held.as_str());
        let offered = self.outgoing.values().filter(|one| !one.is_given()).map(|one| &one.transfer);
        let offered = offered.filter(|transfer| transfer.moves.keys().any(is_held));
        let pending = self.incoming.values().map(|one| &one.transfer);
        let pending = pending.filter(|transfer| transfer.moves.values().any(is_held));
        offered.chain(pending).next()
    }

    /// Returns the objects that are on their way: given away and not settled, or not owned yet. Each has the address
    /// under which the target has it, and the target; `None` for this ledger itself.
    pub fn objects_on_the_way(&self) -> impl Iterator<Item = (ObjectKey, &Address, Option<&LedgerPeer>)> {
        let given = self.outgoing.values().flat_map(|one| {
            let to = |from: &Address| one.transfer.moves.get(from);
            let entries = one.given.iter().filter_map(move |(from, entry)| Some((to(from)?, entry)));
            entries.map(|(to, entry)| (to, entry, Some(&one.transfer.peer)))
        });
        let pending = self.incoming.values().flat_map(|one| &one.entries);
        let all = given.chain(pending.map(|(to, entry)| (to, entry, None)));
        all.flat_map(|(to, entry, peer)| {
            let objects = entry.current.iter().chain(&entry.deposed);
            objects.map(move |object| (object.key(&entry.kind), to, peer))
        })
    }
}
