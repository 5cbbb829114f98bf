//! Legality of the records of a transfer between two ledgers. Each ledger checks its own records; that the two fit each
//! other is the order in which the runner writes them.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::conditions::{check_alive, require_legal};
use crate::ledger::journal::record::{IntentResolution, Record};
use crate::ledger::state::ledger::Ledger;
use crate::ledger::state::transfer::{IncomingTransfer, Transfer, TransferStatus};
use crate::model::address::{Address, Name};

/// Checks that a record leaves the addresses of open transfers alone: until a transfer ends, nothing about its objects
/// may change, so that both ledgers have the same facts about them.
pub(super) fn check_not_held(ledger: &Ledger, record: &Record) -> Result<(), &'static str> {
    if !ledger.transfers.is_open() {
        return Ok(());
    }
    let is_free =
        changed_addresses(ledger, record).all(|address| ledger.transfers.holding(&address).is_none());
    require_legal(is_free, "the resource is being moved between two ledgers")
}

/// Returns the addresses that a record changes.
fn changed_addresses(ledger: &Ledger, record: &Record) -> impl Iterator<Item = Address> {
    let of_request = |op: &Uuid| {
        let asked = || ledger.questions.get(op).map(|question| &question.intent);
        let intent = ledger.intents.get(op).or_else(asked).or_else(|| ledger.watched.get(op));
        intent.map(|intent| intent.address.clone())
    };
    let found: Vec<Address> = match record {
        Record::Intent(intent) => vec![intent.address.clone()],
        Record::Answered {
            op,
            answer: IntentResolution::Made { .. } | IntentResolution::Surplus { .. },
        } => of_request(op).into_iter().collect(),
        Record::Gone { address, .. }
        | Record::Applied { address, .. }
        | Record::Merged { address, .. }
        | Record::Adopted { address, .. }
        | Record::Forgotten { address } => vec![address.clone()],
        Record::Moved { moves } => moves.iter().flat_map(|(from, to)| [from.clone(), to.clone()]).collect(),
        Record::SecretKept { address, .. } | Record::SecretRotation { address, .. } => {
            Address::parse(address).ok().into_iter().collect()
        }
        Record::TransferOffered(transfer) => transfer.moves.keys().cloned().collect(),
        Record::TransferPending(incoming) => incoming.transfer.moves.values().cloned().collect(),
        _ => Vec::new(),
    };
    found.into_iter()
}

/// Checks a record of a transfer; the error is the reason.
pub(super) fn check_transfer_record(ledger: &Ledger, record: &Record) -> Result<(), &'static str> {
    let status = |id: &Uuid| ledger.transfers.status(*id);
    match record {
        Record::TransferOffered(transfer) => check_offer(ledger, transfer),
        Record::TransferPending(incoming) => check_pending(ledger, incoming),
        Record::TransferGiven { transfer } => {
            require_legal(status(transfer) == TransferStatus::Offered, "the transfer is not offered")
        }
        Record::TransferOwned { transfer } => {
            require_legal(status(transfer) == TransferStatus::Pending, "the transfer is not pending")
        }
        Record::TransferWithdrawn { transfer } => require_legal(
            matches!(status(transfer), TransferStatus::Offered | TransferStatus::Pending),
            "the transfer is neither offered nor pending",
        ),
        Record::TransferSettled { transfer } => require_legal(
            status(transfer) == TransferStatus::Given,
            "the objects of the transfer were not given away",
        ),
        _ => Ok(()),
    }
}

/// Checks that a transfer is new to the ledger, and moves something to distinct addresses.
fn check_new(ledger: &Ledger, transfer: &Transfer) -> Result<(), &'static str> {
    let status = ledger.transfers.status(transfer.id);
    require_legal(status == TransferStatus::Absent, "the transfer is known already")?;
    require_legal(transfer.peer.lineage != ledger.identity.lineage, "both ledgers are the same")?;
    require_legal(!transfer.moves.is_empty(), "the transfer moves nothing")?;
    let new: BTreeSet<&Address> = transfer.moves.values().collect();
    require_legal(new.len() == transfer.moves.len(), "two entries get the same address")
}

/// Checks that no request about these addresses is open or ambiguous.
fn check_quiet<'a>(
    ledger: &Ledger,
    addresses: impl IntoIterator<Item = &'a Address>,
) -> Result<(), &'static str> {
    let open = ledger.intents.values().chain(ledger.questions.values().map(|asked| &asked.intent));
    let open: BTreeSet<&Address> = open.map(|intent| &intent.address).collect();
    let is_quiet = addresses.into_iter().all(|address| !open.contains(address));
    require_legal(is_quiet, "a request for the address is open or ambiguous")
}

fn check_offer(ledger: &Ledger, transfer: &Transfer) -> Result<(), &'static str> {
    check_new(ledger, transfer)?;
    require_legal(ledger.identity.account.is_some(), "the ledger has no account yet")?;
    for from in transfer.moves.keys() {
        let entry = ledger.entries.get(from).ok_or("there is no entry to move")?;
        let follows = entry.parent.as_ref().is_none_or(|parent| transfer.moves.contains_key(parent));
        require_legal(follows, "a child moves with its parent only")?;
    }
    check_quiet(ledger, transfer.moves.keys())?;
    let secrets = transfer.moves.keys().all(|from| {
        let secret = ledger.secrets.values.get(from.as_str());
        let rotates = ledger.secrets.rotating.contains(from.as_str());
        !rotates && secret.is_none_or(|secret| secret.pending.is_none())
    });
    require_legal(secrets, "a secret of the resource is being rotated")
}

fn check_pending(ledger: &Ledger, incoming: &IncomingTransfer) -> Result<(), &'static str> {
    let transfer = &incoming.transfer;
    check_new(ledger, transfer)?;
    let account = ledger.identity.account.as_ref();
    require_legal(
        account.is_none_or(|known| *known == incoming.account),
        "the objects belong to another account",
    )?;
    require_legal(has_entries(incoming), "the transfer has other entries than addresses")?;
    require_legal(
        transfer.moves.values().all(|to| !ledger.entries.contains_key(to)),
        "there is an entry at the new address",
    )?;
    for entry in incoming.entries.values() {
        for object in entry.current.iter().chain(&entry.deposed) {
            check_alive(ledger, &entry.kind, object)?;
        }
    }
    let has_recipients = incoming.secrets.is_empty() || !ledger.secrets.recipients.is_empty();
    require_legal(has_recipients, "the ledger has no recipients for the secret of the resource")?;
    let is_new = |address: &Name| !ledger.secrets.values.contains_key(address);
    require_legal(incoming.secrets.keys().all(is_new), "there is a secret at the new address")?;
    check_quiet(ledger, transfer.moves.values())
}

/// Returns whether a pending transfer has exactly one entry for each of its new addresses.
fn has_entries(incoming: &IncomingTransfer) -> bool {
    let moves = &incoming.transfer.moves;
    moves.len() == incoming.entries.len() && moves.values().all(|to| incoming.entries.contains_key(to))
}
