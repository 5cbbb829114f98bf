//! Replay: what a record does to a ledger. Pure.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::error::{IllegalRecord, StoreError};
use super::mac::{SealKey, check_writable};
use super::record::{Answer, ClosedOutcome, Record};
use crate::ledger::state::entry::{
    Entry, Identity, Intent, IntentAction, Owned, Sealing, Tombstone, key_as_hex,
};
use crate::ledger::state::kept_secrets::{RotationStep, VARS};
use crate::ledger::state::ledger::Ledger;
use crate::ledger::state::run_history::{End, Happening, Incident, REMEMBERED, Run};
use crate::model::address::{Address, Name};
use crate::model::value::{Attributes, Value};

/// How long a deleted object is remembered: longer than any list could show its ghost.
const BURIED_FOR: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Replays records into a ledger. The first one says whose it is.
///
/// # Errors
/// When there are none, or one is no legal move: the ledger was not written by stead alone.
pub fn load_ledger(records: impl IntoIterator<Item = Record>) -> Result<Ledger, StoreError> {
    let corrupt = |place: String, reason: &str| StoreError::Corrupt { place, reason: reason.to_owned() };
    let mut records = records.into_iter();
    let mut ledger = match records.next() {
        Some(Record::Condensed(ledger)) => *ledger,
        Some(born @ Record::Born { .. }) => {
            let identity =
                born_as(&born).ok_or_else(|| corrupt("record 1".to_owned(), "its key is no key"))?;
            let mut ledger = Ledger::new(identity);
            ledger.serial = 1;
            ledger
        }
        Some(_) => return Err(corrupt("record 1".to_owned(), "the ledger does not begin with its birth")),
        None => return Err(corrupt("the ledger".to_owned(), "it has no records")),
    };
    for record in records {
        ledger
            .apply_record(&record)
            .map_err(|illegal| corrupt(format!("record {}", illegal.serial), illegal.reason))?;
    }
    Ok(ledger)
}

/// Checks whose ledger records are, that it still is kept here, and that whoever has this key can write it.
pub(in crate::ledger) fn check_owner(
    records: &[Record],
    identity: &Identity,
    key: Option<&SealKey>,
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
        // Replay refuses it.
        _ => return Ok(()),
    };
    same_owner(stack, environment, &identity.stack, &identity.environment)
}

/// Checks that a stack and an environment are the wanted ones.
pub fn same_owner(stack: &str, environment: &str, wanted: &str, wanted_in: &str) -> Result<(), StoreError> {
    if stack == wanted && environment == wanted_in {
        return Ok(());
    }
    Err(StoreError::Foreign {
        found: format!("{stack}/{environment}"),
        wanted: format!("{wanted}/{wanted_in}"),
    })
}

/// Checks that a ledger still is kept where it was read.
pub(in crate::ledger) fn check_not_moved(ledger: &Ledger) -> Result<(), StoreError> {
    match &ledger.moved_to {
        Some(to) => Err(StoreError::Moved { to: to.clone() }),
        None => Ok(()),
    }
}

fn born_as(born: &Record) -> Option<Identity> {
    let Record::Born { lineage, stack, environment, key } = born else { return None };
    Some(Identity {
        lineage: *lineage,
        stack: stack.clone(),
        environment: environment.clone(),
        account: None,
        key: key_as_hex::parse(key)?,
    })
}

impl Ledger {
    /// Makes a record part of the ledger.
    ///
    /// # Errors
    /// When it is no legal move; the ledger is as before then.
    pub fn apply_record(&mut self, record: &Record) -> Result<(), IllegalRecord> {
        let serial = self.serial + 1;
        self.check(record).map_err(|reason| IllegalRecord { serial, reason })?;
        self.serial = serial;
        // Before the record: it may remove the last entry.
        self.had_entries |= !self.entries.is_empty();
        self.apply_legal(record);
        Ok(())
    }

    pub(super) fn current_object(&self, address: &Address) -> Option<&Owned> {
        self.entries.get(address)?.current.as_ref()
    }

    /// Does what a legal record says.
    fn apply_legal(&mut self, record: &Record) {
        match record {
            Record::Condensed(_) | Record::Born { .. } => {}
            Record::Begin { run, plan, who, at, origin } => {
                self.tombstones.retain(|_, stone| at.duration_since(stone.at) < BURIED_FOR);
                let (who, origin) = (who.clone(), origin.clone());
                self.remember_run(Run { run: *run, plan: *plan, who, at: *at, origin, end: None });
            }
            Record::Intent(intent) => {
                self.intents.insert(intent.op, intent.clone());
            }
            Record::Bound { op, object } => {
                let intent = self.intents.remove(op);
                // What was only found may be somebody else's, and ours still to come.
                let found = intent.clone().filter(|_| object.provisional);
                self.watched.extend(found.map(|intent| (*op, intent)));
                self.bind(intent, object);
            }
            Record::Closed { op, outcome } => self.close(*op, *outcome),
            Record::Gone { op, address, id } => {
                if op.and_then(|op| self.intents.remove(&op)).is_some() {
                    self.add_tombstone(address, id);
                }
                self.drop_object(address, id);
            }
            Record::Applied { address, entry } => {
                if let Some(known) = self.entries.get_mut(address) {
                    let (current, deposed) = (known.current.take(), std::mem::take(&mut known.deposed));
                    *known = Entry { current, deposed, ..(**entry).clone() };
                }
            }
            Record::Merged { address, attributes } => self.merge(address, attributes),
            Record::Adopted { address, entry } => self.settle_in(address, (**entry).clone()),
            Record::Forgotten { address } => self.let_go(address),
            Record::Moved { moves } => self.move_entries(moves),
            Record::Asked(question) => {
                self.intents.remove(&question.intent.op);
                self.watched.remove(&question.intent.op);
                self.questions.insert(question.intent.op, (**question).clone());
            }
            Record::Answered { op, answer } => self.apply_answer(*op, answer),
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
            | Record::MovedAway { .. } => self.follow_of_itself(record),
            Record::Ended { run, plan, complete, at, tally, outputs } => {
                self.outputs = outputs.clone().or(self.outputs.take());
                self.applied_plans.insert(*plan);
                self.end_run(*run, End { at: *at, complete: *complete, tally: *tally });
            }
        }
    }

    /// Remembers how a run ended.
    fn end_run(&mut self, run: Uuid, end: End) {
        if end.complete {
            self.last_applied = Some(end.at);
        }
        if let Some(known) = self.history.iter_mut().rev().find(|known| known.run == run) {
            known.end = Some(end);
        }
    }

    /// Does what a legal record says of the ledger itself.
    fn follow_of_itself(&mut self, record: &Record) {
        match record {
            Record::Took { epoch, holder, proven, reason } => {
                self.epoch = *epoch;
                let before = self.holder.replace(holder.clone());
                if reason.is_some() {
                    let what = Happening::Broken { from: before.map(|before| before.who) };
                    let (at, who, reason) = (holder.since, holder.who.clone(), reason.clone());
                    self.add_incident(Incident { at, who, what, reason });
                }
                if !proven {
                    self.intents.values_mut().for_each(|intent| intent.foreign = true);
                }
            }
            Record::Released { .. } => self.holder = None,
            Record::Sealed { key } => {
                self.sealed = Some(Sealing { key: key.clone(), since: self.serial, previous: Vec::new() });
            }
            Record::Pushed { ledger, who, at } => self.become_copy(ledger, who, *at),
            Record::Account { account } => self.identity.account = Some(account.clone()),
            Record::Noted(incident) => self.add_incident(incident.clone()),
            Record::Generated { variable, generated } => {
                self.generated.insert(variable.clone(), generated.clone());
            }
            Record::Delivered { target, delivery } => self.remember_delivery(target, delivery),
            Record::SecretRecipients { recipients } => self.secrets.set_recipients(recipients),
            Record::SecretKept { address, value, pending } => {
                self.secrets.store_version(address, value, *pending);
            }
            Record::SecretRotation { address, step } => self.rotate_secret(address, *step),
            Record::Origins { origins } => self.origins.clone_from(origins),
            Record::MovedAway { to } => self.moved_to = Some(to.clone()),
            _ => {}
        }
    }

    /// Does a step of a rotation. A variable's new value is the one that plans compare with from then on.
    fn rotate_secret(&mut self, address: &Name, step: RotationStep) {
        self.secrets.rotate(address, step);
        let variable = address.strip_prefix(VARS).filter(|_| step == RotationStep::Done);
        if let Some((generated, kept)) = variable
            .and_then(|name| self.generated.get_mut(name))
            .zip(self.secrets.values.get(address.as_str()))
        {
            generated.fingerprint.clone_from(&kept.current.fingerprint);
        }
    }

    /// Lets go of an address's object: what it is known to have had is no late effect of a request that was
    /// given up. What is still to be deleted stays: nobody else knows of it.
    fn let_go(&mut self, address: &Address) {
        let Some(entry) = self.entries.get_mut(address) else { return };
        let current = entry.current.take();
        let kind = entry.kind.clone();
        if entry.deposed.is_empty() {
            self.entries.remove(address);
        }
        if let Some(object) = &current {
            self.remember_kept(address, &kind, object);
        }
        let Some(object) = current.filter(|object| !object.provisional) else { return };
        for intent in self.watched.values_mut().filter(|intent| intent.kind == kind) {
            if let IntentAction::Create { baseline, .. } = &mut intent.action
                && intent.parent == object.parent
            {
                baseline.push(object.id.clone());
            }
        }
    }

    fn remember_run(&mut self, run: Run) {
        if self.history.len() >= REMEMBERED {
            self.history.pop_front();
        }
        self.history.push_back(run);
    }

    fn add_incident(&mut self, incident: Incident) {
        if let Some(begun) = self.incidents.iter_mut().rev().find(|known| incident.is_end_of(known)) {
            *begun = incident;
            return;
        }
        if self.incidents.len() >= REMEMBERED {
            self.incidents.pop_front();
        }
        self.incidents.push_back(incident);
    }

    /// Takes everything from a copy but what belongs to this place: its own number of records, its
    /// lease, and what happened here.
    fn become_copy(&mut self, copy: &Ledger, who: &str, at: Timestamp) {
        let (epoch, holder) = (self.epoch, self.holder.take());
        let serial = self.serial.max(copy.serial + 1);
        let before = std::mem::take(&mut self.incidents);
        // The lines of this place bear what they bear, whatever the copy's bore; with the same key, since then.
        let key = |sealing: &Sealing| sealing.key.clone();
        let own = self.sealed.take();
        let as_there = copy.sealed.clone().filter(|there| own.as_ref().map(key) == Some(key(there)));
        let had_entries = self.had_entries || copy.had_entries;
        *self = Ledger { serial, epoch, holder, sealed: as_there.or(own), had_entries, ..copy.clone() };
        // A place that was empty has nothing to tell; one that was not knows of more than the copy.
        if before.len() > self.incidents.len() {
            self.incidents = before;
        }
        let what = Happening::Pushed { serial: copy.serial };
        self.add_incident(Incident { at, who: who.to_owned(), what, reason: None });
    }

    fn apply_answer(&mut self, op: Uuid, answer: &Answer) {
        let (asked, candidates) = match self.questions.remove(&op) {
            Some(question) => (Some(question.intent), question.candidates),
            None => (None, Vec::new()),
        };
        let intent = self.intents.remove(&op).or(asked).or_else(|| self.watched.remove(&op));
        let Some(mut intent) = intent else { return };
        match answer {
            Answer::Made { object } => self.bind(Some(intent), object),
            Answer::Surplus { object } => {
                let IntentAction::Create { entry, .. } = intent.action else { return };
                let unmade = || Entry { current: None, deposed: Vec::new(), ..*entry };
                let entry = self.entries.entry(intent.address).or_insert_with(unmade);
                entry.deposed.push(object.clone());
            }
            Answer::Nothing => {
                if let IntentAction::Create { baseline, .. } = &mut intent.action {
                    // What was none of its making is not asked about again.
                    baseline.extend(candidates);
                    self.watched.insert(op, intent);
                }
            }
            Answer::Dropped => {}
        }
    }

    fn merge(&mut self, address: &Address, attributes: &Attributes) {
        let Some(entry) = self.entries.get_mut(address) else { return };
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

    /// The object of a creation becomes the address's; the one before it steps down.
    fn bind(&mut self, intent: Option<Intent>, object: &Owned) {
        let Some(Intent { address, action: IntentAction::Create { entry, .. }, .. }) = intent else {
            return;
        };
        let mut entry = Entry { deposed: Vec::new(), ..*entry };
        entry.current = Some(object.clone());
        self.settle_in(&address, entry);
    }

    /// Puts an entry at an address. What was live there before is still to be deleted.
    fn settle_in(&mut self, address: &Address, mut entry: Entry) {
        if let Some(known) = self.entries.remove(address) {
            entry.deposed = known.deposed;
            entry.deposed.extend(known.current);
        }
        self.kept.remove(address);
        self.entries.insert(address.clone(), entry);
    }

    fn close(&mut self, op: Uuid, outcome: ClosedOutcome) {
        self.watched.remove(&op);
        let Some(intent) = self.intents.remove(&op) else { return };
        let creates = matches!(intent.action, IntentAction::Create { .. });
        if creates && outcome == ClosedOutcome::PresumedAbsent {
            self.watched.insert(op, intent);
        }
    }

    /// Remembers an object that a deletion of ours is proven to have removed.
    fn add_tombstone(&mut self, address: &Address, id: &Name) {
        let Some(entry) = self.entries.get(address) else { return };
        let mut objects = entry.current.iter().chain(&entry.deposed);
        let is_child = objects.any(|object| object.id == *id && object.parent.is_some());
        // What there is once has its kind's name for an id, and comes back with it.
        let comes_back = is_child || *id == entry.kind;
        let at = self.history.back().map(|run| run.at);
        if let Some(at) = at.filter(|_| !comes_back) {
            self.tombstones.insert(id.clone(), Tombstone { kind: entry.kind.clone(), at });
        }
    }

    /// An entry without any object is no entry.
    fn drop_object(&mut self, address: &Address, id: &str) {
        let Some(entry) = self.entries.get_mut(address) else { return };
        if entry.current.as_ref().is_some_and(|object| object.id == id) {
            entry.current = None;
        } else {
            entry.deposed.retain(|object| object.id != id);
        }
        if entry.current.is_none() && entry.deposed.is_empty() {
            self.entries.remove(address);
            // The secret of an object that is gone opens nothing.
            self.secrets.values.remove(address.as_str());
        }
    }

    /// Moves entries, and every mention of them.
    fn move_entries(&mut self, moves: &BTreeMap<Address, Address>) {
        for (from, to) in moves {
            if let Some(entry) = self.entries.remove(from) {
                self.entries.insert(to.clone(), entry);
            }
        }
        let new = |address: &mut Address| {
            if let Some(to) = moves.get(address) {
                address.clone_from(to);
            }
        };
        for entry in self.entries.values_mut() {
            entry.parent.iter_mut().chain(&mut entry.depends_on).for_each(new);
        }
        self.watched.values_mut().for_each(|intent| new(&mut intent.address));
        self.secrets.follow_moves(moves);
    }
}

pub(super) fn entry_owns_id(entry: &Entry, id: &str) -> bool {
    entry.current.iter().chain(&entry.deposed).any(|object| object.id == id)
}

#[cfg(test)]
pub(crate) mod tests;
