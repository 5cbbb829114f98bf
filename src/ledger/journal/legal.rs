//! Legality of records: decides, in one place, which records may follow the current state of a ledger.

mod conditions;
mod transfers;

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use self::conditions::{check_alive, require_legal};
use super::super::journal::record::{ClosedOutcome, IntentResolution, Record};
use super::super::state::entry::{Intent, IntentAction, OwnedObject};
use super::super::state::kept_secrets::KeptSecrets;
use super::super::state::ledger::Ledger;
use crate::ledger::state::entry::entry_owns_id;
use crate::model::address::Address;

/// Checks whether a record is legal; the error is the reason.
pub(super) fn check_record(ledger: &Ledger, record: &Record) -> Result<(), &'static str> {
    if ledger.moved_to.is_some() && !matches!(record, Record::Released { .. }) {
        return Err("the ledger was moved to another location");
    }
    transfers::check_not_held(ledger, record)?;
    match record {
        Record::Condensed(_) | Record::Born { .. } => {
            Err("only the first record may name the ledger's stack and environment")
        }
        Record::Begin { plan, .. } => {
            require_legal(!ledger.applied_plans.contains(plan), "the plan was applied before")
        }
        Record::Intent(intent) => check_intent(ledger, intent),
        Record::Bound { op, object } => check_bound(ledger, *op, object),
        Record::Closed { op, outcome } => check_closed(ledger, *op, *outcome),
        Record::Gone { op, address, id } => check_gone(ledger, *op, address, id),
        Record::Applied { address, entry } => {
            let known = ledger.entries.get(address).ok_or("there is no such entry")?;
            require_legal(known.kind == entry.kind, "the entry is of another kind")
        }
        Record::Merged { address, .. } => {
            require_legal(ledger.entries.contains_key(address), "there is no such entry")
        }
        Record::Adopted { address, entry } => {
            let object = entry.current.as_ref().ok_or("there is no object to adopt")?;
            check_alive(ledger, &entry.kind, object)?;
            require_legal(ledger.current_object(address).is_none(), "the address has an object already")?;
            check_quiet(ledger, address)
        }
        Record::Forgotten { address } => {
            require_legal(ledger.entries.contains_key(address), "there is no such entry")?;
            check_quiet(ledger, address)
        }
        Record::Moved { moves } => check_moves(ledger, moves),
        Record::Asked(question) => check_asked(ledger, &question.intent),
        Record::Answered { op, answer } => check_answered(ledger, *op, answer),
        Record::TransferOffered(_)
        | Record::TransferPending(_)
        | Record::TransferGiven { .. }
        | Record::TransferOwned { .. }
        | Record::TransferWithdrawn { .. }
        | Record::TransferSettled { .. }
        | Record::Account { .. }
        | Record::Took { .. }
        | Record::Released { .. }
        | Record::Sealed { .. }
        | Record::Pushed { .. }
        | Record::Noted(_)
        | Record::Generated { .. }
        | Record::Delivered { .. }
        | Record::SecretRecipients { .. }
        | Record::SecretKept { .. }
        | Record::SecretRotation { .. }
        | Record::Origins { .. }
        | Record::Reviewed(_)
        | Record::ReviewDone { .. }
        | Record::MovedAway { .. }
        | Record::Ended { .. } => check_of_itself(ledger, record),
    }
}

/// Checks that an ambiguous intent is the open or watched one.
fn check_asked(ledger: &Ledger, asked: &Intent) -> Result<(), &'static str> {
    let open = ledger.intents.get(&asked.op).or_else(|| ledger.watched.get(&asked.op));
    let open = open.ok_or("there is no such open or watched intent")?;
    require_legal(open == asked, "the ambiguous intent differs from the open intent")
}

/// Checks a record about the ledger itself: its lease, its location, its copies, its transfers.
fn check_of_itself(ledger: &Ledger, record: &Record) -> Result<(), &'static str> {
    match record {
        Record::Account { account } => match &ledger.identity.account {
            Some(known) if known != account => Err("the ledger belongs to another account"),
            _ => Ok(()),
        },
        Record::Took { epoch, .. } => {
            require_legal(*epoch > ledger.epoch, "the lease is older than the current one")
        }
        Record::Released { epoch } => {
            let held = ledger.holder.is_some() && *epoch == ledger.epoch;
            require_legal(held, "the released lease is not the current one")
        }
        Record::Sealed { .. } => require_legal(ledger.sealed.is_none(), "the records have MACs already"),
        Record::Pushed { ledger: copied, .. } => {
            let (copy, mine) = (&copied.identity, &ledger.identity);
            let same = copy.lineage == mine.lineage
                && (&copy.stack, &copy.environment) == (&mine.stack, &mine.environment);
            require_legal(same, "the copy belongs to another ledger")?;
            require_legal(
                copied.moved_to.is_none(),
                "the copy is of a ledger that was moved to another location",
            )?;
            // The other ledger of an open transfer would wait for this one, which has forgotten it.
            require_legal(
                !mine_and_copy_differ_in_transfers(ledger, copied),
                "a move of resources between this ledger and another one is open",
            )
        }
        Record::SecretRecipients { recipients } => KeptSecrets::check_recipients(recipients),
        Record::SecretKept { address, value, pending } => {
            ledger.secrets.check_value(address, value, *pending)
        }
        Record::SecretRotation { address, step } => ledger.secrets.check_rotation(address, *step),
        _ => transfers::check_transfer_record(ledger, record),
    }
}

/// Returns whether a copy lacks an open transfer of the ledger that it replaces, or has one that the ledger has not.
fn mine_and_copy_differ_in_transfers(ledger: &Ledger, copy: &Ledger) -> bool {
    (ledger.transfers.is_open() || copy.transfers.is_open()) && ledger.transfers != copy.transfers
}

fn check_intent(ledger: &Ledger, intent: &Intent) -> Result<(), &'static str> {
    let op = &intent.op;
    let is_new = !ledger.intents.contains_key(op) && !ledger.watched.contains_key(op);
    require_legal(is_new && !ledger.questions.contains_key(op), "the operation's id was used before")?;
    check_quiet(ledger, &intent.address)?;
    let entry = ledger.entries.get(&intent.address);
    require_legal(entry.is_none_or(|entry| entry.kind == intent.kind), "the entry is of another kind")?;
    match &intent.action {
        IntentAction::Create { .. } => check_birth(ledger, intent),
        // A deposed object may need an update that detaches another object before it can be deleted.
        IntentAction::Update { id, .. } | IntentAction::Delete { object: OwnedObject { id, .. } } => {
            require_legal(
                entry.is_some_and(|entry| entry_owns_id(entry, id)),
                "the object does not belong to the address",
            )
        }
    }
}

fn check_bound(ledger: &Ledger, op: Uuid, object: &OwnedObject) -> Result<(), &'static str> {
    let intent = ledger.intents.get(&op).ok_or("there is no such open intent")?;
    check_birth(ledger, intent)?;
    check_alive(ledger, &intent.kind, object)?;
    check_new(ledger, &intent.address, object)?;
    let IntentAction::Create { baseline, .. } = &intent.action else { return Ok(()) };
    require_legal(!baseline.contains(&object.id), "the object existed before the request")
}

/// Checks that a creation does not drop an object of its address.
fn check_birth(ledger: &Ledger, intent: &Intent) -> Result<(), &'static str> {
    let IntentAction::Create { deposes, .. } = &intent.action else {
        return Err("only a create request creates an object");
    };
    match (ledger.current_object(&intent.address), deposes) {
        (Some(_), false) => Err("the address has an object already"),
        (None, true) => Err("the address has no object to depose"),
        _ => Ok(()),
    }
}

fn check_closed(ledger: &Ledger, op: Uuid, outcome: ClosedOutcome) -> Result<(), &'static str> {
    let watched = ledger.watched.get(&op).filter(|_| outcome != ClosedOutcome::Done);
    let intent = ledger.intents.get(&op).or(watched).ok_or("there is no such open intent")?;
    match (&intent.action, outcome) {
        (IntentAction::Create { .. }, ClosedOutcome::Done) => {
            Err("a completed creation must name its object")
        }
        (IntentAction::Delete { .. }, ClosedOutcome::Done) => {
            Err("a completed deletion must name the deleted object")
        }
        _ => Ok(()),
    }
}

fn check_moves(ledger: &Ledger, moves: &BTreeMap<Address, Address>) -> Result<(), &'static str> {
    first_illegal_move(ledger, moves).map_or(Ok(()), |(_, reason)| Err(reason))
}

/// Returns the old address of the first illegal move, and the reason.
#[must_use]
pub fn first_illegal_move<'m>(
    ledger: &Ledger,
    moves: &'m BTreeMap<Address, Address>,
) -> Option<(&'m Address, &'static str)> {
    let open = ledger.intents.values().chain(ledger.questions.values().map(|asked| &asked.intent));
    let open: BTreeSet<&Address> = open.map(|intent| &intent.address).collect();
    let mut new = BTreeSet::new();
    moves.iter().find_map(|(from, to)| {
        let reason = if !ledger.entries.contains_key(from) {
            "there is no entry to move"
        } else if ledger.entries.contains_key(to) {
            "there is an entry at the new address"
        } else if !new.insert(to) {
            "two entries get the same address"
        } else if open.contains(from) || open.contains(to) {
            "a request for the address is open or ambiguous"
        } else {
            return None;
        };
        Some((from, reason))
    })
}

fn check_gone(ledger: &Ledger, op: Option<Uuid>, address: &Address, id: &str) -> Result<(), &'static str> {
    let entry = ledger.entries.get(address).ok_or("there is no such entry")?;
    require_legal(entry_owns_id(entry, id), "the object does not belong to the address")?;
    let Some(op) = op else { return Ok(()) };
    let intent = ledger.intents.get(&op).ok_or("there is no such open intent")?;
    match &intent.action {
        IntentAction::Delete { object } if object.id == id && intent.address == *address => Ok(()),
        _ => Err("the intent is for another operation"),
    }
}

fn check_answered(ledger: &Ledger, op: Uuid, answer: &IntentResolution) -> Result<(), &'static str> {
    let asked = ledger.questions.get(&op).map(|question| &question.intent);
    let known = ledger.intents.get(&op).or(asked).or_else(|| ledger.watched.get(&op));
    let intent = known.ok_or("there is no such open or ambiguous intent")?;
    if matches!(answer, IntentResolution::Made { .. } | IntentResolution::Surplus { .. }) {
        // Otherwise the object that the other request creates would have no free address.
        let other = |open: &Intent| open.op != op && open.address == intent.address;
        require_legal(
            !ledger.intents.values().any(other),
            "another request for the address is open: apply first",
        )?;
    }
    match answer {
        IntentResolution::Made { object } => {
            check_alive(ledger, &intent.kind, object)?;
            check_new(ledger, &intent.address, object)?;
            check_birth(ledger, intent)
        }
        IntentResolution::Surplus { object } => {
            check_alive(ledger, &intent.kind, object)?;
            let creates = matches!(intent.action, IntentAction::Create { .. });
            require_legal(creates, "only a create request creates an object")?;
            let Some(entry) = ledger.entries.get(&intent.address) else { return Ok(()) };
            require_legal(entry.kind == intent.kind, "the entry is of another kind")?;
            require_legal(!entry_owns_id(entry, &object.id), "the object belongs to the address")
        }
        IntentResolution::Nothing | IntentResolution::Dropped => Ok(()),
    }
}

/// Checks that the address does not own the object yet: a deposed object cannot be its own replacement.
fn check_new(ledger: &Ledger, address: &Address, object: &OwnedObject) -> Result<(), &'static str> {
    let is_new = ledger.entries.get(address).is_none_or(|entry| !entry_owns_id(entry, &object.id));
    require_legal(is_new, "the object belongs to the address already")
}

/// Checks that the address has no open request and no ambiguous intent.
fn check_quiet(ledger: &Ledger, address: &Address) -> Result<(), &'static str> {
    let open = ledger.intents.values().any(|intent| intent.address == *address);
    require_legal(!open, "another request for the address is open")?;
    let asked = ledger.questions.values().any(|question| question.intent.address == *address);
    require_legal(!asked, "an ambiguous intent for the address is open")
}
