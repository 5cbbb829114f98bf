//! Replay: the effect of each record on a ledger. Pure.

mod runs;
pub mod transfers;

use std::collections::BTreeMap;

use jiff::Timestamp;
use uuid::Uuid;

use self::runs::{begin_run, drop_overrides, end_run, follow_request};
use super::error::{IllegalRecord, StoreError};
use super::legal::check_record;
use super::mac::{MacKey, check_writable};
use super::record::{ClosedOutcome, IntentResolution, Record};
use crate::ledger::state::entry::{
    Entry, Intent, IntentAction, LedgerIdentity, MacState, OwnedObject, Tombstone,
};
use crate::ledger::state::kept_secrets::{RotationStep, VARIABLE_PREFIX};
use crate::ledger::state::key_as_hex;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::state::open_review::{AppliedReview, OpenReview, ReviewedPlan};
use crate::ledger::state::run_details::changed_outputs;
use crate::ledger::state::run_history::{Incident, IncidentKind, MAX_RUNS, Run, RunEnd, number_runs};
use crate::model::address::{Address, Name};
use crate::model::values::value::{Attributes, Value};

/// Replays records into a ledger. The first record identifies the stack and environment.
///
/// # Errors
/// When there are none, or one is not legal where it stands: the ledger was not written by stead alone.
pub fn load_ledger(records: impl IntoIterator<Item = Record>) -> Result<Ledger, StoreError> {
    let corrupt = |place: String, reason: &str| StoreError::Corrupt { place, reason: reason.to_owned() };
    let mut records = records.into_iter();
    let mut ledger = match records.next() {
        Some(Record::Condensed(mut ledger)) => {
            ledger.last_run = number_runs(&mut ledger.history, ledger.last_run);
            *ledger
        }
        Some(born @ Record::Born { .. }) => {
            let identity =
                born_as(&born).ok_or_else(|| corrupt("record 1".to_owned(), "its key is not valid"))?;
            let mut ledger = Ledger::new(identity);
            ledger.serial = 1;
            ledger
        }
        Some(_) => {
            return Err(corrupt(
                "record 1".to_owned(),
                "the ledger does not begin with the record of its creation",
            ));
        }
        None => return Err(corrupt("the ledger".to_owned(), "it has no records")),
    };
    for record in records {
        apply_record(&mut ledger, &record)
            .map_err(|illegal| corrupt(format!("record {}", illegal.serial), illegal.reason))?;
    }
    Ok(ledger)
}

/// Checks the owner of the records, that the ledger was not moved away, and that this key can extend it.
pub(in crate::ledger) fn check_owner(
    records: &[Record],
    identity: &LedgerIdentity,
    key: Option<&MacKey>,
) -> Result<(), StoreError> {
    check_writable(records, key)?;
    for record in records {
        match record {
            Record::MovedAway { to } => return Err(StoreError::Moved { to: to.clone() }),
            Record::Condensed(ledger) => check_not_moved(ledger)?,
            _ => {}
        }
    }
    let (stack, environment) = match records.first() {
        Some(Record::Born { stack, environment, .. }) => (stack, environment),
        Some(Record::Condensed(ledger)) => (&ledger.identity.stack, &ledger.identity.environment),
        // Without an identity record, replay reports the error.
        _ => return Ok(()),
    };
    same_owner(stack, environment, &identity.stack, &identity.environment)
}

/// Checks that a stack and an environment are the expected ones.
pub fn same_owner(stack: &str, environment: &str, wanted: &str, wanted_in: &str) -> Result<(), StoreError> {
    if stack == wanted && environment == wanted_in {
        return Ok(());
    }
    Err(StoreError::Foreign {
        found: format!("{stack}/{environment}"),
        wanted: format!("{wanted}/{wanted_in}"),
    })
}

/// Checks that a ledger was not moved to another location.
pub(in crate::ledger) fn check_not_moved(ledger: &Ledger) -> Result<(), StoreError> {
    match &ledger.moved_to {
        Some(to) => Err(StoreError::Moved { to: to.clone() }),
        None => Ok(()),
    }
}

fn born_as(born: &Record) -> Option<LedgerIdentity> {
    let Record::Born { lineage, stack, environment, key } = born else { return None };
    Some(LedgerIdentity {
        lineage: *lineage,
        stack: stack.clone(),
        environment: environment.clone(),
        account: None,
        key: key_as_hex::parse(key)?,
    })
}

/// Applies a record to the ledger.
///
/// # Errors
/// When the record is not legal in the current state of the ledger, which is unchanged then.
pub fn apply_record(ledger: &mut Ledger, record: &Record) -> Result<(), IllegalRecord> {
    let serial = ledger.serial + 1;
    check_record(ledger, record).map_err(|reason| IllegalRecord { serial, reason })?;
    ledger.serial = serial;
    // Before the record is applied, because it may remove the last entry.
    ledger.had_entries |= !ledger.entries.is_empty();
    follow_request(&mut ledger.history, record);
    apply_legal(ledger, record);
    Ok(())
}

/// Applies the record of a run's end.
fn follow_end(ledger: &mut Ledger, record: &Record) {
    let Record::Ended { run, plan, complete, at, tally, outputs, resources, policies, unused_overrides } =
        record
    else {
        return;
    };
    let changed = outputs.as_ref().map(|after| changed_outputs(ledger.outputs.as_ref(), after));
    ledger.replace_outputs(outputs.as_ref());
    ledger.applied_plans.insert(*plan);
    let end = RunEnd { at: *at, complete: *complete, tally: *tally };
    end_run(ledger, *run, end, (resources, policies, changed.unwrap_or_default()));
    drop_overrides(ledger, *run, unused_overrides);
}

/// Applies a legal record.
fn apply_legal(ledger: &mut Ledger, record: &Record) {
    match record {
        Record::Condensed(_) | Record::Born { .. } => {}
        Record::Begin { run, plan, who, at, origin } => {
            let (run, plan, who, at) = (*run, *plan, who.clone(), *at);
            begin_run(ledger, Run { run, plan, who, at, origin: origin.clone(), ..Run::default() });
        }
        Record::Intent(intent) => drop(ledger.intents.insert(intent.op, intent.clone())),
        Record::Bound { op, object } => {
            let intent = ledger.intents.remove(op);
            // An unconfirmed object may belong to someone else, and ours may still appear, so keep watching.
            let found = intent.clone().filter(|_| object.provisional);
            ledger.watched.extend(found.map(|intent| (*op, intent)));
            bind(ledger, intent, object);
        }
        Record::Closed { op, outcome } => close(ledger, *op, *outcome),
        Record::Gone { op, address, id } => {
            if op.and_then(|op| ledger.intents.remove(&op)).is_some() {
                add_tombstone(ledger, address, id);
            }
            drop_object(ledger, address, id);
        }
        Record::Applied { address, entry } => replace_values(ledger, address, entry),
        Record::Merged { address, attributes } => merge(ledger, address, attributes),
        Record::Adopted { address, entry } => settle_in(ledger, address, (**entry).clone()),
        Record::Forgotten { address } => let_go(ledger, address),
        Record::Moved { moves } => move_entries(ledger, moves),
        Record::Asked(question) => {
            ledger.intents.remove(&question.intent.op);
            ledger.watched.remove(&question.intent.op);
            ledger.questions.insert(question.intent.op, (**question).clone());
        }
        Record::Answered { op, answer } => apply_answer(ledger, *op, answer),
        Record::TransferOffered(_)
        | Record::TransferPending(_)
        | Record::TransferGiven { .. }
        | Record::TransferOwned { .. }
        | Record::TransferWithdrawn { .. }
        | Record::TransferSettled { .. } => transfers::follow_transfer(ledger, record),
        Record::Took { .. }
        | Record::Released { .. }
        | Record::Sealed { .. }
        | Record::Pushed { .. }
        | Record::Noted(_)
        | Record::Generated { .. }
        | Record::Delivered { .. }
        | Record::SecretRecipients { .. }
        | Record::SecretKept { .. }
        | Record::SecretRotation { .. }
        | Record::Account { .. }
        | Record::Origins { .. }
        | Record::Reviewed(_)
        | Record::ReviewDone { .. }
        | Record::MovedAway { .. } => follow_of_itself(ledger, record),
        Record::Ended { .. } => follow_end(ledger, record),
    }
}

/// Replaces an entry, except for its objects.
fn replace_values(ledger: &mut Ledger, address: &Address, entry: &Entry) {
    if let Some(known) = ledger.entries.get_mut(address) {
        let (current, deposed) = (known.current.take(), std::mem::take(&mut known.deposed));
        *known = Entry { current, deposed, ..entry.clone() };
    }
}

/// Applies a legal record about the ledger itself.
fn follow_of_itself(ledger: &mut Ledger, record: &Record) {
    match record {
        Record::Took { epoch, holder, proven, reason } => {
            ledger.epoch = *epoch;
            let before = ledger.holder.replace(holder.clone());
            if reason.is_some() {
                let what = IncidentKind::Broken { from: before.map(|before| before.who) };
                let (at, who, reason) = (holder.since, holder.who.clone(), reason.clone());
                add_incident(ledger, Incident { at, who, what, reason });
            }
            if !proven {
                ledger.intents.values_mut().for_each(|intent| intent.foreign = true);
            }
        }
        Record::Released { .. } => ledger.holder = None,
        Record::Sealed { key } => {
            ledger.sealed = Some(MacState { key: key.clone(), since: ledger.serial, previous: Vec::new() });
        }
        Record::Pushed { ledger: copy, who, at } => become_copy(ledger, copy, who, *at),
        Record::Account { account } => ledger.identity.account = Some(account.clone()),
        Record::Noted(incident) => add_incident(ledger, incident.clone()),
        Record::Generated { variable, generated } => {
            ledger.generated.insert(variable.clone(), generated.clone());
        }
        Record::Delivered { target, delivery } => ledger.remember_delivery(target, delivery),
        Record::SecretRecipients { recipients } => ledger.secrets.set_recipients(recipients),
        Record::SecretKept { address, value, pending } => {
            ledger.secrets.store_version(address, value, *pending);
        }
        Record::SecretRotation { address, step } => rotate_secret(ledger, address, *step),
        Record::Origins { origins } => ledger.origins.clone_from(origins),
        Record::Reviewed(reviewed) => {
            let reviewed = (**reviewed).clone();
            ledger.review = Some(Box::new(OpenReview { reviewed, begun: false }));
            ledger.applied_review = None;
        }
        Record::ReviewDone { fingerprint, applied } => {
            let done = ledger.review.take_if(|review| review.reviewed.fingerprint == *fingerprint);
            ledger.applied_review = done.zip(applied.clone()).map(|(done, end)| {
                let ReviewedPlan { fingerprint, units, .. } = done.reviewed;
                Box::new(AppliedReview { fingerprint, units, end })
            });
        }
        Record::MovedAway { to } => ledger.moved_to = Some(to.clone()),
        _ => {}
    }
}

/// Applies a rotation step. From then on, plans compare a variable with its new value.
fn rotate_secret(ledger: &mut Ledger, address: &Name, step: RotationStep) {
    ledger.secrets.rotate(address, step);
    let variable = address.strip_prefix(VARIABLE_PREFIX).filter(|_| step == RotationStep::Done);
    if let Some((generated, kept)) = variable
        .and_then(|name| ledger.generated.get_mut(name))
        .zip(ledger.secrets.values.get(address.as_str()))
    {
        generated.fingerprint.clone_from(&kept.current.fingerprint);
    }
}

/// Forgets the object of an address and stops watching for late effects that it explains. Deposed objects stay:
/// they are recorded in no other place.
fn let_go(ledger: &mut Ledger, address: &Address) {
    let Some(entry) = ledger.entries.get_mut(address) else { return };
    let current = entry.current.take();
    let kind = entry.kind.clone();
    if entry.deposed.is_empty() {
        ledger.entries.remove(address);
    }
    if let Some(object) = &current {
        ledger.remember_kept(address, &kind, object);
    }
    let Some(object) = current.filter(|object| !object.provisional) else { return };
    for intent in ledger.watched.values_mut().filter(|intent| intent.kind == kind) {
        if let IntentAction::Create { baseline, .. } = &mut intent.action
            && intent.parent == object.parent
        {
            baseline.push(object.id.clone());
        }
    }
}

fn add_incident(ledger: &mut Ledger, incident: Incident) {
    if let Some(begun) = ledger.incidents.iter_mut().rev().find(|known| incident.is_end_of(known)) {
        *begun = incident;
        return;
    }
    if ledger.incidents.len() >= MAX_RUNS {
        ledger.incidents.pop_front();
    }
    ledger.incidents.push_back(incident);
}

/// Takes over a copy, except for the parts that belong to this location: its number of records,
/// its lease and its incidents.
fn become_copy(ledger: &mut Ledger, copy: &Ledger, who: &str, at: Timestamp) {
    let (epoch, holder) = (ledger.epoch, ledger.holder.take());
    let serial = ledger.serial.max(copy.serial + 1);
    let before = std::mem::take(&mut ledger.incidents);
    // Whether the lines at this location have MACs does not depend on the copy.
    let key = |sealing: &MacState| sealing.key.clone();
    let own = ledger.sealed.take();
    let as_there = copy.sealed.clone().filter(|there| own.as_ref().map(key) == Some(key(there)));
    let had_entries = ledger.had_entries || copy.had_entries;
    let last_run = ledger.last_run;
    *ledger = Ledger { serial, epoch, holder, sealed: as_there.or(own), had_entries, ..copy.clone() };
    // No number is used again, whichever of the two used it.
    ledger.last_run = number_runs(&mut ledger.history, ledger.last_run).max(last_run);
    // An empty location has no incidents of its own; otherwise it may have more than the copy.
    if before.len() > ledger.incidents.len() {
        ledger.incidents = before;
    }
    let what = IncidentKind::Pushed { serial: copy.serial };
    add_incident(ledger, Incident { at, who: who.to_owned(), what, reason: None });
}

fn apply_answer(ledger: &mut Ledger, op: Uuid, answer: &IntentResolution) {
    let (asked, candidates) = match ledger.questions.remove(&op) {
        Some(question) => (Some(question.intent), question.candidates),
        None => (None, Vec::new()),
    };
    let intent = ledger.intents.remove(&op).or(asked).or_else(|| ledger.watched.remove(&op));
    let Some(mut intent) = intent else { return };
    match answer {
        IntentResolution::Made { object } => bind(ledger, Some(intent), object),
        IntentResolution::Surplus { object } => {
            let IntentAction::Create { entry, .. } = intent.action else { return };
            let unmade = || Entry { current: None, deposed: Vec::new(), ..*entry };
            let entry = ledger.entries.entry(intent.address).or_insert_with(unmade);
            entry.deposed.push(object.clone());
        }
        IntentResolution::Nothing => {
            if let IntentAction::Create { baseline, .. } = &mut intent.action {
                // The user reported that these objects are not the intent's result, so they are not candidates again.
                baseline.extend(candidates);
                ledger.watched.insert(op, intent);
            }
        }
        IntentResolution::Dropped => {}
    }
}

fn merge(ledger: &mut Ledger, address: &Address, attributes: &Attributes) {
    let Some(entry) = ledger.entries.get_mut(address) else { return };
    for (name, value) in attributes {
        if *value == Value::Null {
            entry.applied.remove(name);
        } else {
            entry.applied.insert(name.clone(), value.clone());
        }
        if let Some(verified) = &mut entry.verified {
            verified.drop_attribute(name);
        }
    }
}

/// Binds the object of a creation to its address; the previous object becomes deposed.
fn bind(ledger: &mut Ledger, intent: Option<Intent>, object: &OwnedObject) {
    let Some(Intent { address, action: IntentAction::Create { entry, .. }, .. }) = intent else {
        return;
    };
    let mut entry = Entry { deposed: Vec::new(), ..*entry };
    entry.current = Some(object.clone());
    settle_in(ledger, &address, entry);
}

/// Puts an entry at an address. An object that was live there before becomes deposed.
fn settle_in(ledger: &mut Ledger, address: &Address, mut entry: Entry) {
    if let Some(known) = ledger.entries.remove(address) {
        entry.deposed = known.deposed;
        entry.deposed.extend(known.current);
    }
    ledger.kept.remove(address);
    ledger.entries.insert(address.clone(), entry);
}

fn close(ledger: &mut Ledger, op: Uuid, outcome: ClosedOutcome) {
    ledger.watched.remove(&op);
    let Some(intent) = ledger.intents.remove(&op) else { return };
    let creates = matches!(intent.action, IntentAction::Create { .. });
    if creates && outcome == ClosedOutcome::PresumedAbsent {
        ledger.watched.insert(op, intent);
    }
}

/// Remembers an object that a deletion of ours is proven to have removed.
fn add_tombstone(ledger: &mut Ledger, address: &Address, id: &Name) {
    let Some(entry) = ledger.entries.get(address) else { return };
    let mut objects = entry.current.iter().chain(&entry.deposed);
    let is_child = objects.any(|object| object.id == *id && object.parent.is_some());
    // A singleton has its kind's name as its id and may reappear with the same id.
    let comes_back = is_child || *id == entry.kind;
    let at = ledger.history.back().map(|run| run.at);
    if let Some(at) = at.filter(|_| !comes_back) {
        ledger.tombstones.insert(id.clone(), Tombstone { kind: entry.kind.clone(), at });
    }
}

/// Drops an object of an address, and the entry when it has no object left.
fn drop_object(ledger: &mut Ledger, address: &Address, id: &str) {
    let Some(entry) = ledger.entries.get_mut(address) else { return };
    if entry.current.as_ref().is_some_and(|object| object.id == id) {
        entry.current = None;
    } else {
        entry.deposed.retain(|object| object.id != id);
    }
    if entry.current.is_none() && entry.deposed.is_empty() {
        ledger.entries.remove(address);
        // The secret of a deleted object is of no use.
        ledger.secrets.values.remove(address.as_str());
    }
}

/// Moves entries and updates every reference to their addresses.
fn move_entries(ledger: &mut Ledger, moves: &BTreeMap<Address, Address>) {
    for (from, to) in moves {
        if let Some(entry) = ledger.entries.remove(from) {
            ledger.entries.insert(to.clone(), entry);
        }
    }
    let new = |address: &mut Address| {
        if let Some(to) = moves.get(address) {
            address.clone_from(to);
        }
    };
    for entry in ledger.entries.values_mut() {
        entry.parent.iter_mut().chain(&mut entry.depends_on).for_each(new);
    }
    ledger.watched.values_mut().for_each(|intent| new(&mut intent.address));
    ledger.secrets.follow_moves(moves);
}

#[cfg(test)]
pub(crate) mod tests;
