//! The part of a ledger that the legality of some records depends on, so that a commit tries its records on a copy of
//! this part and not on a copy of everything.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::record::{IntentResolution, Record};
use crate::ledger::state::entry::Tombstone;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};

/// Returns a small ledger with everything that determines whether these records are legal.
pub(in crate::ledger) fn excerpt_ledger(ledger: &Ledger, records: &[Record]) -> Ledger {
    let mut addresses: BTreeSet<&Address> = BTreeSet::new();
    let mut ops: BTreeSet<Uuid> = BTreeSet::new();
    let mut plans: BTreeSet<Uuid> = BTreeSet::new();
    let mut secrets: BTreeSet<&Name> = records.iter().flat_map(arriving_secrets).collect();
    for record in records {
        match record {
            Record::Begin { plan, .. } | Record::Ended { plan, .. } => plans.extend([*plan]),
            Record::Intent(intent) => {
                ops.insert(intent.op);
                addresses.insert(&intent.address);
            }
            Record::Bound { op, .. } | Record::Closed { op, .. } | Record::Answered { op, .. } => {
                ops.insert(*op);
            }
            Record::Asked(question) => ops.extend([question.intent.op]),
            Record::Gone { op, address, .. } => {
                ops.extend(*op);
                addresses.insert(address);
            }
            Record::Applied { address, .. }
            | Record::Merged { address, .. }
            | Record::Adopted { address, .. }
            | Record::Forgotten { address } => {
                addresses.insert(address);
            }
            Record::Moved { moves } => {
                addresses.extend(moves.iter().flat_map(|(from, to)| [from, to]));
            }
            Record::SecretKept { address, .. } | Record::SecretRotation { address, .. } => {
                secrets.insert(address);
            }
            Record::TransferOffered(transfer) => addresses.extend(transfer.moves.keys()),
            Record::TransferPending(incoming) => addresses.extend(incoming.transfer.moves.values()),
            Record::TransferGiven { .. }
            | Record::TransferOwned { .. }
            | Record::TransferWithdrawn { .. }
            | Record::TransferSettled { .. }
            | Record::Condensed(_)
            | Record::Born { .. }
            | Record::Account { .. }
            | Record::Took { .. }
            | Record::Sealed { .. }
            | Record::Pushed { .. }
            | Record::Generated { .. }
            | Record::Delivered { .. }
            | Record::SecretRecipients { .. }
            | Record::Noted(_)
            | Record::Origins { .. }
            | Record::Reviewed(_)
            | Record::ReviewDone { .. }
            | Record::MovedAway { .. }
            | Record::Released { .. } => {}
        }
    }
    // Whether a record about a request is legal depends on all open requests of its address.
    addresses.extend(ops.iter().filter_map(|op| address_of(ledger, *op)));
    let mut excerpt = copy_selected(ledger, &addresses, &ops, &plans);
    excerpt.secrets = ledger.secrets.excerpt(&secrets);
    excerpt.tombstones = named_tombstones(ledger, records);
    excerpt
}

/// Returns the tombstones of the objects that records make owned.
fn named_tombstones(ledger: &Ledger, records: &[Record]) -> BTreeMap<Name, Tombstone> {
    let named = records.iter().flat_map(newly_owned);
    named.filter_map(|id| Some((id.clone(), ledger.tombstones.get(id)?.clone()))).collect()
}

/// Returns the addresses of the secrets that arrive with a record.
fn arriving_secrets(record: &Record) -> impl Iterator<Item = &Name> {
    let incoming = match record {
        Record::TransferPending(incoming) => Some(incoming),
        _ => None,
    };
    incoming.into_iter().flat_map(|incoming| incoming.secrets.keys())
}

fn address_of(ledger: &Ledger, op: Uuid) -> Option<&Address> {
    let asked = || ledger.questions.get(&op).map(|question| &question.intent);
    let known = ledger.intents.get(&op).or_else(asked).or_else(|| ledger.watched.get(&op));
    known.map(|intent| &intent.address)
}

fn copy_selected(
    ledger: &Ledger,
    addresses: &BTreeSet<&Address>,
    ops: &BTreeSet<Uuid>,
    plans: &BTreeSet<Uuid>,
) -> Ledger {
    let mut excerpt = Ledger {
        serial: ledger.serial,
        epoch: ledger.epoch,
        holder: ledger.holder.clone(),
        moved_to: ledger.moved_to.clone(),
        sealed: ledger.sealed.clone(),
        transfers: ledger.transfers.clone(),
        ..Ledger::new(ledger.identity.clone())
    };
    let wanted = |op: &Uuid, address: &Address| ops.contains(op) || addresses.contains(address);
    for (op, intent) in ledger.intents.iter().filter(|(op, intent)| wanted(op, &intent.address)) {
        excerpt.intents.insert(*op, intent.clone());
    }
    for (op, asked) in ledger.questions.iter().filter(|(op, asked)| wanted(op, &asked.intent.address)) {
        excerpt.questions.insert(*op, asked.clone());
    }
    for op in ops {
        excerpt.watched.extend(ledger.watched.get(op).map(|intent| (*op, intent.clone())));
    }
    excerpt.applied_plans = plans.intersection(&ledger.applied_plans).copied().collect();
    let of_intents = excerpt.intents.values().map(|intent| &intent.address);
    let of_questions = excerpt.questions.values().map(|asked| &asked.intent.address);
    let of_watched = excerpt.watched.values().map(|intent| &intent.address);
    let entries: Vec<_> = addresses
        .iter()
        .copied()
        .chain(of_intents)
        .chain(of_questions)
        .chain(of_watched)
        .filter_map(|address| ledger.entries.get_key_value(address))
        .map(|(address, entry)| (address.clone(), entry.clone()))
        .collect();
    excerpt.entries.extend(entries);
    excerpt
}

/// Returns the ids of the objects that a record binds to addresses.
fn newly_owned(record: &Record) -> Vec<&Name> {
    if let Record::TransferPending(incoming) = record {
        let entries = incoming.entries.values();
        let objects = entries.flat_map(|entry| entry.current.iter().chain(&entry.deposed));
        return objects.map(|object| &object.id).collect();
    }
    newly_bound(record).into_iter().collect()
}

/// Returns the id of the one object that a record binds to an address.
fn newly_bound(record: &Record) -> Option<&Name> {
    match record {
        Record::Bound { object, .. }
        | Record::Answered {
            answer: IntentResolution::Made { object } | IntentResolution::Surplus { object },
            ..
        } => Some(&object.id),
        Record::Adopted { entry, .. } => entry.current.as_ref().map(|object| &object.id),
        _ => None,
    }
}
