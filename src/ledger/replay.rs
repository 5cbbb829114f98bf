//! Replay: what a record does to a ledger, and which records are legal. Pure.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use thiserror::Error;
use uuid::Uuid;

use super::entry::{Entry, Identity, Intent, IntentAction, Ledger, Owned, Sealing, Tombstone, key_as_hex};
use super::history::{End, Happening, Incident, REMEMBERED, Run};
use super::record::{Answer, ClosedOutcome, Record};
use super::seal::{SealKey, check_writable};
use super::store::StoreError;
use crate::model::address::{Address, Name};
use crate::model::value::{Attributes, Value};

/// How long a deleted object is remembered: longer than any list could show its ghost.
const BURIED_FOR: SignedDuration = SignedDuration::from_hours(30 * 24);

/// A record that is no legal move from where the ledger stands.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("record {serial} is no legal move: {reason}")]
pub struct IllegalRecord {
    /// Its number.
    pub serial: u64,
    /// Why not.
    pub reason: &'static str,
}

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
            .record(&record)
            .map_err(|illegal| corrupt(format!("record {}", illegal.serial), illegal.reason))?;
    }
    Ok(ledger)
}

/// Checks whose ledger records are, that it still is kept here, and that whoever has this key can write it.
pub(super) fn check_owner(
    records: &[Record],
    identity: &Identity,
    key: Option<&SealKey>,
) -> Result<(), StoreError> {
    check_writable(records, key)?;
    for record in records {
        match record {
            Record::MovedAway { to } => return Err(StoreError::Moved { to: to.clone() }),
            Record::Condensed(ledger) => here(ledger)?,
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
pub(super) fn here(ledger: &Ledger) -> Result<(), StoreError> {
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
    pub fn record(&mut self, record: &Record) -> Result<(), IllegalRecord> {
        let serial = self.serial + 1;
        self.check(record).map_err(|reason| IllegalRecord { serial, reason })?;
        self.serial = serial;
        self.follow(record);
        Ok(())
    }

    /// Says which records are legal: the one place that knows.
    fn check(&self, record: &Record) -> Result<(), &'static str> {
        if self.moved_to.is_some() && !matches!(record, Record::Released { .. }) {
            return Err("the ledger is kept elsewhere");
        }
        match record {
            Record::Condensed(_) | Record::Born { .. } => {
                Err("only the first record says whose ledger it is")
            }
            Record::Begin { plan, .. } => {
                allow(!self.applied_plans.contains(plan), "the plan was applied before")
            }
            Record::Intent(intent) => self.check_intent(intent),
            Record::Bound { op, object } => self.check_bound(*op, object),
            Record::Closed { op, outcome } => self.check_closed(*op, *outcome),
            Record::Gone { op, address, id } => self.check_gone(*op, address, id),
            Record::Applied { address, entry } => {
                let known = self.entries.get(address).ok_or("there is no such entry")?;
                allow(known.kind == entry.kind, "the entry is of another kind")
            }
            Record::Merged { address, .. } => {
                allow(self.entries.contains_key(address), "there is no such entry")
            }
            Record::Adopted { address, entry } => {
                let object = entry.current.as_ref().ok_or("there is no object to adopt")?;
                self.check_alive(&entry.kind, object)?;
                allow(self.current(address).is_none(), "the address has an object already")?;
                self.check_quiet(address)
            }
            Record::Forgotten { address } => {
                allow(self.entries.contains_key(address), "there is no such entry")?;
                self.check_quiet(address)
            }
            Record::Moved { moves } => self.check_moves(moves),
            Record::Asked(question) => {
                let op = &question.intent.op;
                let open = self.intents.get(op).or_else(|| self.watched.get(op));
                let open = open.ok_or("there is no such open or watched intent")?;
                allow(*open == question.intent, "the question is about another request")
            }
            Record::Answered { op, answer } => self.check_answered(*op, answer),
            Record::Account { .. }
            | Record::Took { .. }
            | Record::Released { .. }
            | Record::Sealed { .. }
            | Record::Pushed { .. }
            | Record::Noted(_)
            | Record::Generated { .. }
            | Record::MovedAway { .. }
            | Record::Ended { .. } => self.check_of_itself(record),
        }
    }

    /// What a record says of the ledger itself: its lease, its place, its copies.
    fn check_of_itself(&self, record: &Record) -> Result<(), &'static str> {
        match record {
            Record::Account { account } => match &self.identity.account {
                Some(known) if known != account => Err("the ledger belongs to another account"),
                _ => Ok(()),
            },
            Record::Took { epoch, .. } => allow(*epoch > self.epoch, "the lease is an older one"),
            Record::Released { epoch } => {
                let held = self.holder.is_some() && *epoch == self.epoch;
                allow(held, "the lease that is given back is not the one that is held")
            }
            Record::Sealed { .. } => allow(self.sealed.is_none(), "the lines bear MACs already"),
            Record::Pushed { ledger, .. } => {
                let (copy, mine) = (&ledger.identity, &self.identity);
                let same = copy.lineage == mine.lineage
                    && (&copy.stack, &copy.environment) == (&mine.stack, &mine.environment);
                allow(same, "the copy is another ledger's")?;
                allow(ledger.moved_to.is_none(), "the copy is of a ledger that is kept elsewhere")
            }
            _ => Ok(()),
        }
    }

    fn check_intent(&self, intent: &Intent) -> Result<(), &'static str> {
        let op = &intent.op;
        let is_new = !self.intents.contains_key(op) && !self.watched.contains_key(op);
        allow(is_new && !self.questions.contains_key(op), "the operation's id was used before")?;
        self.check_quiet(&intent.address)?;
        let entry = self.entries.get(&intent.address);
        allow(entry.is_none_or(|entry| entry.kind == intent.kind), "the entry is of another kind")?;
        match &intent.action {
            IntentAction::Create { .. } => self.check_birth(intent),
            // An older object may have to let go of another one before it can be deleted.
            IntentAction::Update { id, .. } | IntentAction::Delete { object: Owned { id, .. } } => {
                allow(entry.is_some_and(|entry| owns(entry, id)), "the object is not the address's")
            }
        }
    }

    fn check_bound(&self, op: Uuid, object: &Owned) -> Result<(), &'static str> {
        let intent = self.intents.get(&op).ok_or("there is no such open intent")?;
        self.check_birth(intent)?;
        self.check_alive(&intent.kind, object)?;
        self.check_new(&intent.address, object)?;
        let IntentAction::Create { baseline, .. } = &intent.action else { return Ok(()) };
        allow(!baseline.contains(&object.id), "the object was there before the request")
    }

    /// A creation must not drop an object that the address has.
    fn check_birth(&self, intent: &Intent) -> Result<(), &'static str> {
        let IntentAction::Create { deposes, .. } = &intent.action else {
            return Err("only a creation makes an object");
        };
        match (self.current(&intent.address), deposes) {
            (Some(_), false) => Err("the address has an object already"),
            (None, true) => Err("the address has no object to depose"),
            _ => Ok(()),
        }
    }

    fn check_closed(&self, op: Uuid, outcome: ClosedOutcome) -> Result<(), &'static str> {
        let watched = self.watched.get(&op).filter(|_| outcome != ClosedOutcome::Done);
        let intent = self.intents.get(&op).or(watched).ok_or("there is no such open intent")?;
        match (&intent.action, outcome) {
            (IntentAction::Create { .. }, ClosedOutcome::Done) => {
                Err("a creation that is done names its object")
            }
            (IntentAction::Delete { .. }, ClosedOutcome::Done) => {
                Err("a deletion that is done says what is gone")
            }
            _ => Ok(()),
        }
    }

    fn check_moves(&self, moves: &BTreeMap<Address, Address>) -> Result<(), &'static str> {
        let mut new = BTreeSet::new();
        for (from, to) in moves {
            allow(self.entries.contains_key(from), "there is no entry to move")?;
            allow(!self.entries.contains_key(to), "there is an entry at the new address")?;
            allow(new.insert(to), "two entries get one address")?;
        }
        let open = self.intents.values().chain(self.questions.values().map(|asked| &asked.intent));
        let concerns =
            |intent: &Intent| moves.contains_key(&intent.address) || new.contains(&intent.address);
        allow(!open.into_iter().any(concerns), "a request for the address is open, or a question about it")
    }

    fn check_gone(&self, op: Option<Uuid>, address: &Address, id: &str) -> Result<(), &'static str> {
        let entry = self.entries.get(address).ok_or("there is no such entry")?;
        allow(owns(entry, id), "the object is not the address's")?;
        let Some(op) = op else { return Ok(()) };
        let intent = self.intents.get(&op).ok_or("there is no such open intent")?;
        match &intent.action {
            IntentAction::Delete { object } if object.id == id && intent.address == *address => Ok(()),
            _ => Err("the intent was to do something else"),
        }
    }

    fn check_answered(&self, op: Uuid, answer: &Answer) -> Result<(), &'static str> {
        let asked = self.questions.get(&op).map(|question| &question.intent);
        let known = self.intents.get(&op).or(asked).or_else(|| self.watched.get(&op));
        let intent = known.ok_or("there is no such intent or question")?;
        if matches!(answer, Answer::Made { .. } | Answer::Surplus { .. }) {
            // What that one makes would find the address's place taken.
            let other = |open: &Intent| open.op != op && open.address == intent.address;
            allow(
                !self.intents.values().any(other),
                "another request for the address is open: apply first",
            )?;
        }
        match answer {
            Answer::Made { object } => {
                self.check_alive(&intent.kind, object)?;
                self.check_new(&intent.address, object)?;
                self.check_birth(intent)
            }
            Answer::Surplus { object } => {
                self.check_alive(&intent.kind, object)?;
                let creates = matches!(intent.action, IntentAction::Create { .. });
                allow(creates, "only a creation makes an object")?;
                let Some(entry) = self.entries.get(&intent.address) else { return Ok(()) };
                allow(entry.kind == intent.kind, "the entry is of another kind")?;
                allow(!owns(entry, &object.id), "the object is the address's")
            }
            Answer::Nothing | Answer::Dropped => Ok(()),
        }
    }

    /// Ids are never given again. A child's may be its name, which is.
    fn check_alive(&self, kind: &str, object: &Owned) -> Result<(), &'static str> {
        let ghost = object.parent.is_none() && self.is_buried(kind, &object.id);
        allow(!ghost, "the object was deleted and proven gone")
    }

    /// An address has an object once: what steps down is not what takes its place.
    fn check_new(&self, address: &Address, object: &Owned) -> Result<(), &'static str> {
        let is_new = self.entries.get(address).is_none_or(|entry| !owns(entry, &object.id));
        allow(is_new, "the object is the address's already")
    }

    /// One request at a time for each address, and none while a human is asked.
    fn check_quiet(&self, address: &Address) -> Result<(), &'static str> {
        let open = self.intents.values().any(|intent| intent.address == *address);
        allow(!open, "another request for the address is open")?;
        let asked = self.questions.values().any(|question| question.intent.address == *address);
        allow(!asked, "a question about the address is open")
    }

    fn current(&self, address: &Address) -> Option<&Owned> {
        self.entries.get(address)?.current.as_ref()
    }

    /// Does what a legal record says.
    fn follow(&mut self, record: &Record) {
        match record {
            Record::Condensed(_) | Record::Born { .. } => {}
            Record::Begin { run, plan, who, at, origin } => {
                self.tombstones.retain(|_, stone| at.duration_since(stone.at) < BURIED_FOR);
                let (who, origin) = (who.clone(), origin.clone());
                self.remember(Run { run: *run, plan: *plan, who, at: *at, origin, end: None });
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
                    self.bury(address, id);
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
            Record::Moved { moves } => self.rename(moves),
            Record::Asked(question) => {
                self.intents.remove(&question.intent.op);
                self.watched.remove(&question.intent.op);
                self.questions.insert(question.intent.op, (**question).clone());
            }
            Record::Answered { op, answer } => self.answer(*op, answer),
            Record::Took { .. }
            | Record::Released { .. }
            | Record::Sealed { .. }
            | Record::Pushed { .. }
            | Record::Noted(_)
            | Record::Generated { .. }
            | Record::Account { .. }
            | Record::MovedAway { .. } => self.follow_of_itself(record),
            Record::Ended { run, plan, complete, at, tally, outputs } => {
                self.outputs = outputs.clone().or(self.outputs.take());
                self.applied_plans.insert(*plan);
                if *complete {
                    self.last_applied = Some(*at);
                }
                let end = End { at: *at, complete: *complete, tally: *tally };
                if let Some(known) = self.history.iter_mut().rev().find(|known| known.run == *run) {
                    known.end = Some(end);
                }
            }
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
                    self.happened(Incident { at, who, what, reason });
                }
                if !proven {
                    self.intents.values_mut().for_each(|intent| intent.foreign = true);
                }
            }
            Record::Released { .. } => self.holder = None,
            Record::Sealed { key } => {
                self.sealed = Some(Sealing { key: key.clone(), since: self.serial });
            }
            Record::Pushed { ledger, who, at } => self.become_copy(ledger, who, *at),
            Record::Account { account } => self.identity.account = Some(account.clone()),
            Record::Noted(incident) => self.happened(incident.clone()),
            Record::Generated { variable, generated } => {
                self.generated.insert(variable.clone(), generated.clone());
            }
            Record::MovedAway { to } => self.moved_to = Some(to.clone()),
            _ => {}
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

    fn remember(&mut self, run: Run) {
        if self.history.len() >= REMEMBERED {
            self.history.pop_front();
        }
        self.history.push_back(run);
    }

    fn happened(&mut self, incident: Incident) {
        if let Some(begun) = self.incidents.iter_mut().rev().find(|known| incident.ends(known)) {
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
        *self = Ledger { serial, epoch, holder, sealed: as_there.or(own), ..copy.clone() };
        // A place that was empty has nothing to tell; one that was not knows of more than the copy.
        if before.len() > self.incidents.len() {
            self.incidents = before;
        }
        let what = Happening::Pushed { serial: copy.serial };
        self.happened(Incident { at, who: who.to_owned(), what, reason: None });
    }

    fn answer(&mut self, op: Uuid, answer: &Answer) {
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
    fn bury(&mut self, address: &Address, id: &Name) {
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
        }
    }

    /// Moves entries, and every mention of them.
    fn rename(&mut self, moves: &BTreeMap<Address, Address>) {
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
    }
}

fn owns(entry: &Entry, id: &str) -> bool {
    entry.current.iter().chain(&entry.deposed).any(|object| object.id == id)
}

fn allow(legal: bool, reason: &'static str) -> Result<(), &'static str> {
    if legal { Ok(()) } else { Err(reason) }
}

#[cfg(test)]
#[path = "replay/tests.rs"]
pub(crate) mod tests;
