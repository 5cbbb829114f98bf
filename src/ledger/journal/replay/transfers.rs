//! The effect of the records of a transfer on a ledger, and the pending form of what a ledger offers. Pure.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use crate::ledger::journal::record::Record;
use crate::ledger::state::entry::{Entry, LedgerIdentity, SinkDelivery};
use crate::ledger::state::kept_secrets::KeptSecret;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::state::secret_origin::SecretOrigin;
use crate::ledger::state::transfer::{IncomingTransfer, OutgoingTransfer, Transfer};
use crate::model::address::{Address, Name};
use crate::model::values::value::Value;

/// Applies a legal record of a transfer.
pub(super) fn follow_transfer(ledger: &mut Ledger, record: &Record) {
    match record {
        Record::TransferOffered(transfer) => {
            let offered = OutgoingTransfer { transfer: (**transfer).clone(), given: BTreeMap::new() };
            ledger.transfers.outgoing.insert(transfer.id, offered);
        }
        Record::TransferPending(incoming) => {
            ledger.transfers.incoming.insert(incoming.transfer.id, (**incoming).clone());
        }
        Record::TransferGiven { transfer } => give_away(ledger, *transfer),
        Record::TransferOwned { transfer } => receive(ledger, *transfer),
        Record::TransferWithdrawn { transfer } => {
            ledger.transfers.outgoing.remove(transfer);
            ledger.transfers.incoming.remove(transfer);
        }
        Record::TransferSettled { transfer } => {
            ledger.transfers.outgoing.remove(transfer);
            ledger.transfers.settled.insert(*transfer);
        }
        _ => {}
    }
}

/// Removes the entries of an offer from the ledger, with the secrets and deliveries of their resources.
fn give_away(ledger: &mut Ledger, id: Uuid) {
    let Some(outgoing) = ledger.transfers.outgoing.get_mut(&id) else { return };
    let moves = outgoing.transfer.moves.clone();
    for from in moves.keys() {
        if let Some(entry) = ledger.entries.remove(from) {
            outgoing.given.insert(from.clone(), entry);
        }
        ledger.secrets.values.remove(from.as_str());
    }
    for entry in ledger.entries.values_mut() {
        entry.depends_on.retain(|address| !moves.contains_key(address));
    }
    for deliveries in ledger.delivered.values_mut() {
        deliveries.retain(|delivery| !moves.contains_key(delivery.address.as_str()));
    }
    ledger.delivered.retain(|_, deliveries| !deliveries.is_empty());
}

/// Puts the pending entries into the ledger, with the secrets and deliveries of their resources.
fn receive(ledger: &mut Ledger, id: Uuid) {
    let Some(incoming) = ledger.transfers.incoming.remove(&id) else { return };
    ledger.transfers.received.insert(id);
    ledger.identity.account = Some(incoming.account);
    for (to, entry) in incoming.entries {
        ledger.kept.remove(&to);
        ledger.entries.insert(to, entry);
    }
    ledger.secrets.receive(incoming.secrets, &incoming.recipients);
    for (target, deliveries) in incoming.delivered {
        for delivery in &deliveries {
            ledger.remember_delivery(&target, delivery);
        }
    }
}

/// Returns what the target of a transfer stores as pending: the entries of this ledger under their new addresses, and
/// what belongs to them. References to resources that stay are dropped, since no ledger can follow them.
///
/// The entries must exist; the offer of the same transfer checks that. `peer` of the result is still this transfer's.
#[must_use]
pub fn pending_entries(ledger: &Ledger, transfer: &Transfer) -> IncomingTransfer {
    let LedgerIdentity { lineage, environment, key, .. } = ledger.identity.clone();
    let origin = SecretOrigin { lineage, environment, key };
    let moves = &transfer.moves;
    let moved = moves.iter().filter_map(|(from, to)| Some((from, to, ledger.entries.get(from)?)));
    let entries = moved.map(|(_, to, entry)| (to.clone(), moved_entry(entry, moves, &origin)));
    let secrets = moves.iter().filter_map(|(from, to)| {
        let secret = ledger.secrets.values.get(from.as_str())?;
        Some((Name::new(to.as_str()), moved_secret(secret, from, &origin)))
    });
    let delivered = ledger.delivered.iter().filter_map(|(target, deliveries)| {
        let moved = deliveries.iter().filter_map(|delivery| {
            let to = moves.get(delivery.address.as_str())?;
            Some(SinkDelivery { address: to.as_str().into(), ..delivery.clone() })
        });
        let moved: Vec<SinkDelivery> = moved.collect();
        (!moved.is_empty()).then(|| (target.clone(), moved))
    });
    let secrets: BTreeMap<Name, KeptSecret> = secrets.collect();
    let recipients = if secrets.is_empty() { BTreeSet::new() } else { ledger.secrets.recipients.clone() };
    IncomingTransfer {
        transfer: transfer.clone(),
        account: ledger.identity.account.clone().unwrap_or_default(),
        entries: entries.collect(),
        secrets,
        recipients,
        delivered: delivered.collect(),
    }
}

/// Returns an entry as the target owns it. If it contains fingerprints, it keeps the key that they were made with.
fn moved_entry(entry: &Entry, moves: &BTreeMap<Address, Address>, origin: &SecretOrigin) -> Entry {
    let new = |address: &Address| moves.get(address).cloned();
    let not_kept = entry.verified.iter().flat_map(|verified| verified.not_kept.values());
    let has_secrets = entry.applied.values().chain(not_kept).any(has_secret);
    let own = has_secrets.then(|| origin.clone());
    Entry {
        parent: entry.parent.as_ref().and_then(new),
        depends_on: entry.depends_on.iter().filter_map(new).collect(),
        secret_origin: entry.secret_origin.clone().or(own),
        ..entry.clone()
    }
}

fn has_secret(value: &Value) -> bool {
    match value {
        Value::Secret(_) => true,
        Value::List(items) => items.iter().any(has_secret),
        Value::Map(parts) => parts.values().any(has_secret),
        _ => false,
    }
}

fn moved_secret(secret: &KeptSecret, from: &Address, origin: &SecretOrigin) -> KeptSecret {
    let mut moved = secret.clone();
    moved.current.was.get_or_insert_with(|| from.as_str().into());
    moved.current.origin.get_or_insert_with(|| origin.clone());
    moved
}

#[cfg(test)]
mod tests;
