//! `Oracle`: knows which request made which object, and every record; says which promise was broken.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value as Json;
use stead::apply::event::Outcome;
use stead::cloud::http::message::HttpRequest;
use stead::config::stack::model::Stack;
use stead::kinds::REGISTRY;
use stead::ledger::journal::record::{IntentResolution, Record};
use stead::ledger::journal::replay::apply_record;
use stead::ledger::state::entry::{Intent, IntentAction};
use stead::ledger::state::ledger::Ledger;
use stead::model::address::Address;
use stead::model::address::name_map::NameMap;
use stead::model::expression::Expression;
use stead::model::schema::{Kind, Method};
use stead::model::values::value::{Attributes, Value};
use stead::plan::model::change::Plan;
use stead::plan::model::step::Operation;
use uuid::Uuid;

use super::schedule::{Class, Place, Schedule};
use super::universe::{Sent, Universe, identity};

/// An object: kind, parent's id, id.
pub type Key = (&'static str, String, String);

/// What is known of a creation's request.
pub struct Op {
    pub address: Address,
    /// How many objects the address had been given before.
    generation: u32,
    sent: u32,
    /// When it left for the first time.
    pub left: Option<Duration>,
}

/// An object that a request of ours made.
pub struct Made {
    pub op: Uuid,
    pub at: Duration,
}

pub struct Oracle {
    /// The ledger as everything durable says.
    pub ledger: Ledger,
    pub ops: BTreeMap<Uuid, Op>,
    pub made: BTreeMap<Key, Made>,
    /// Objects of people.
    pub strangers: BTreeMap<Key, Duration>,
    /// What people said is theirs, or none of the ledger's business.
    pub released: BTreeSet<Key>,
    given: BTreeMap<Address, u32>,
    /// Who wrote the last taking of the lease.
    writer: Option<usize>,
    shared: bool,
    class: Class,
    pub broken: Vec<String>,
    /// Processes that are no more.
    pub dead: BTreeSet<usize>,
    /// What no output may show.
    pub secrets: BTreeSet<String>,
}

impl Oracle {
    pub fn new(schedule: &Schedule, stack: &Stack) -> Self {
        let mut ledger = Ledger::new(identity(stack));
        ledger.serial = 1;
        Self {
            ledger,
            ops: BTreeMap::new(),
            made: BTreeMap::new(),
            strangers: BTreeMap::new(),
            released: BTreeSet::new(),
            given: BTreeMap::new(),
            writer: None,
            shared: schedule.place == Place::Shelf,
            class: schedule.class,
            broken: Vec::new(),
            dead: BTreeSet::new(),
            secrets: BTreeSet::new(),
        }
    }

    /// Returns the request of ours that made an object.
    pub fn of_op(&self, op: Uuid) -> impl Iterator<Item = &Key> {
        self.made.iter().filter(move |(_, made)| made.op == op).map(|(key, _)| key)
    }

    pub fn owned(&self) -> BTreeSet<Key> {
        let mut owned = BTreeSet::new();
        for entry in self.ledger.entries.values() {
            let Some(kind) = REGISTRY.kind(&entry.kind) else { continue };
            owned.extend(entry.current.iter().chain(&entry.deposed).map(|o| {
                (kind.name, o.parent.as_deref().unwrap_or_default().to_owned(), o.id.to_string())
            }));
        }
        owned
    }

    /// Records became durable. Returns what they took out of the ledger.
    fn follow(&mut self, process: usize, records: &[Record]) -> BTreeSet<Key> {
        let before = self.owned();
        for record in records {
            match record {
                Record::Born { .. } => continue,
                Record::Took { epoch, .. } => {
                    if *epoch <= self.ledger.epoch {
                        self.broken.push(format!("I6: epoch {epoch} after {}", self.ledger.epoch));
                    }
                    self.writer = Some(process);
                }
                Record::Intent(intent) => self.intended(intent),
                Record::Bound { op, .. }
                | Record::Answered { op, answer: IntentResolution::Made { .. } } => {
                    if let Some(address) = self.address_of(*op) {
                        *self.given.entry(address).or_default() += 1;
                    }
                }
                Record::Adopted { address, .. } => *self.given.entry(address.clone()).or_default() += 1,
                _ => {}
            }
            if self.shared && self.writer != Some(process) {
                self.broken
                    .push(format!("I6: process {process} writes under the lease of {:?}", self.writer));
            }
            if let Err(illegal) = apply_record(&mut self.ledger, record) {
                self.broken.push(format!("replay: {illegal}: {record:?}"));
            }
        }
        let after = self.owned();
        before.difference(&after).filter(|key| !self.released.contains(*key)).cloned().collect()
    }

    fn address_of(&self, op: Uuid) -> Option<Address> {
        self.ops.get(&op).map(|op| op.address.clone())
    }

    fn intended(&mut self, intent: &Intent) {
        let generation = self.given.get(&intent.address).copied().unwrap_or_default();
        let op = Op { address: intent.address.clone(), generation, sent: 0, left: None };
        self.ops.insert(intent.op, op);
    }

    /// Returns the durable intent that means a request. In a shared ledger another may have turned it
    /// into a question meanwhile.
    fn meant(&self, request: &HttpRequest) -> Option<&Intent> {
        let asked = self.ledger.questions.values().map(|question| &question.intent);
        let others = asked.chain(self.ledger.watched.values()).filter(|_| self.shared);
        let mut all: Vec<&Intent> =
            self.ledger.intents.values().chain(others).filter(|intent| means(intent, request)).collect();
        // Of two that mean the same, the one that was not sent yet.
        all.sort_by_key(|intent| self.ops.get(&intent.op).map_or(0, |op| op.sent));
        all.first().copied()
    }
}

fn means(intent: &Intent, request: &HttpRequest) -> bool {
    let Some(kind) = REGISTRY.kind(&intent.kind) else { return false };
    let (endpoint, id) = match &intent.action {
        IntentAction::Create { .. } => (kind.api.create, ""),
        IntentAction::Update { id, call, .. } => match kind.call(call) {
            Some(call) => (call.endpoint, id.as_str()),
            None => return false,
        },
        IntentAction::Delete { object } => (kind.api.delete, object.id.as_str()),
    };
    if endpoint.method != request.method {
        return false;
    }
    let parent = intent.parent.as_deref().unwrap_or_default();
    let path = endpoint.path.replace("{id}", id).replace("{parent}", parent);
    let same = match &intent.action {
        IntentAction::Create { expected, .. } => {
            expected.iter().all(|(name, value)| carries(kind, request, name, value))
        }
        _ => true,
    };
    path == request.path && same
}

/// Tells whether a creation's body has an attribute at a value, as far as the two can be compared.
fn carries(kind: &Kind, request: &HttpRequest, name: &str, value: &Value) -> bool {
    let wire = kind.attribute(name).map_or(name, |attribute| attribute.wire);
    let Some(sent) = request.body.as_ref().and_then(|body| body.get(wire)) else {
        return name != "name";
    };
    match (sent, value.as_text()) {
        (Json::String(sent), Some(text)) => sent == text,
        _ => true,
    }
}

/// Returns the object under an answer's payload.
pub fn payload(json: &Json) -> Option<&Json> {
    ["data", "database"].iter().find_map(|key| json.get(key)).filter(|json| json.is_object())
}

/// Returns the kind that a creation makes, and its parent's id.
pub fn created_by(request: &HttpRequest) -> Option<(&'static Kind, String)> {
    REGISTRY.kinds.iter().filter(|kind| kind.api.create.method == request.method).find_map(|kind| {
        let (head, tail) =
            kind.api.create.path.split_once("{parent}").unwrap_or((kind.api.create.path, ""));
        if !kind.api.create.path.contains("{parent}") {
            return (head == request.path).then(|| (*kind, String::new()));
        }
        let parent = request.path.strip_prefix(head)?.strip_suffix(tail)?;
        (!parent.contains('/')).then(|| (*kind, parent.to_owned()))
    })
}

impl Universe {
    /// Some process made records durable.
    pub fn followed(&self, process: usize, records: &[Record]) {
        self.note(|| format!("p{process} records {}", in_words(records)), 40 + records.len() as u64);
        let lost = self.oracle.borrow_mut().follow(process, records);
        for key in lost {
            if self.status_of(&key).is_some() {
                self.broken(format!("I4: {key:?} left the ledger and is live"));
            }
        }
    }

    /// A line reaches the shelf.
    pub fn line_of(&self, process: usize, epoch: u64, line: &[u8]) {
        let json = line.get(74..).unwrap_or_default();
        let Ok(records) = serde_json::from_slice::<Vec<Record>>(json) else {
            return self.broken(format!("a line that is none: {}", String::from_utf8_lossy(line)));
        };
        let takes = records.iter().any(|record| matches!(record, Record::Took { .. }));
        let now = self.oracle.borrow().ledger.epoch;
        if !takes && epoch != now {
            self.broken(format!("I6: a line of epoch {epoch} after the one of {now}"));
        }
        self.followed(process, &records);
    }

    /// A request that changes something is about to leave: its intent is durable, and the plan that
    /// was shown has it. Returns the intent.
    pub fn leaves(&self, process: usize, request: &HttpRequest, plan: Option<&Plan>) -> Option<Uuid> {
        let name = || format!("{} {}", request.method, request.path);
        let mut oracle = self.oracle.borrow_mut();
        let Some(intent) = oracle.meant(request).cloned() else {
            drop(oracle);
            self.broken(format!("I5: {} leaves without an intent", name()));
            return None;
        };
        if let Some(op) = oracle.ops.get_mut(&intent.op) {
            op.sent += 1;
            op.left.get_or_insert(self.now());
            if op.sent > 1 && matches!(intent.action, IntentAction::Create { .. }) {
                drop(oracle);
                self.broken(format!("I5: {} leaves again for {}", name(), intent.op));
                return Some(intent.op);
            }
        }
        drop(oracle);
        if !plan.is_some_and(|plan| planned(plan, &intent)) {
            self.broken(format!("I8: {} of {} is not in the plan", name(), intent.address));
        }
        self.note(|| format!("p{process} sends {} for {}", name(), intent.address), 50);
        Some(intent.op)
    }

    /// The limiter refused it: it may leave again.
    pub fn came_back(&self, op: Option<Uuid>) {
        let mut oracle = self.oracle.borrow_mut();
        if let Some(op) = op.and_then(|op| oracle.ops.get_mut(&op)) {
            op.sent -= 1;
        }
    }

    /// A request of ours arrives: it must not be to a stranger's object.
    pub fn touches(&self, sent: &Sent) {
        let request = &sent.request;
        let oracle = self.oracle.borrow();
        let theirs = oracle.strangers.keys().find(|key| {
            key.0 != "database_user"
                && request.path.contains(key.2.as_str())
                && created_by(request).is_none()
        });
        let Some(theirs) = theirs.cloned() else { return };
        let entry =
            oracle.ledger.entries.values().find(|entry| {
                entry.current.iter().chain(&entry.deposed).any(|owned| *owned.id == theirs.2)
            });
        let deletes = REGISTRY.kinds.iter().any(|kind| {
            kind.api.delete.method == request.method
                && kind.api.delete.path.replace("{id}", &theirs.2) == request.path
        });
        let adopted = oracle.released.contains(&theirs);
        let managed = entry.is_some() && !deletes;
        drop(oracle);
        if !adopted && !managed {
            self.broken(format!("I3: {} {} is a stranger's", request.method, request.path));
        }
    }

    /// Returns the status of a live object; nothing when it is gone.
    pub fn status_of(&self, key: &Key) -> Option<String> {
        let kind = REGISTRY.kind(key.0)?;
        let json = if let Some(endpoint) = kind.api.read {
            let (status, json) = self.ask(Method::Get, &endpoint.path.replace("{id}", &key.2), None, None);
            (status == 200).then_some(json)?
        } else {
            let (_, json) =
                self.ask(Method::Get, &kind.api.list.path.replace("{parent}", &key.1), None, None);
            json["data"].as_array()?.iter().find(|row| row[kind.api.id] == key.2.as_str())?.clone()
        };
        let status = payload(&json).and_then(|data| data.get("status")?.as_str());
        Some(status.unwrap_or("there").to_owned())
    }

    /// Returns whether an object is live, and not on its way out.
    pub fn is_live(&self, key: &Key) -> bool {
        self.status_of(key).is_some_and(|status| status != "deleting")
    }

    /// Looks at everything after a run, ended or killed; `began` is when its apply did.
    pub fn look(&self, outcome: Option<(&Outcome, Duration)>) {
        let made: Vec<(Key, Uuid, Duration)> = {
            let oracle = self.oracle.borrow();
            oracle.made.iter().map(|(key, made)| (key.clone(), made.op, made.at)).collect()
        };
        let mut by_wish: BTreeMap<(Address, u32), Vec<Key>> = BTreeMap::new();
        for (key, op, at) in made {
            if !self.is_live(&key) {
                continue;
            }
            if let Some(silent) = self.silent(&key, op, at, outcome) {
                self.broken(silent);
            }
            let oracle = self.oracle.borrow();
            if let Some(op) = oracle.ops.get(&op).filter(|_| !oracle.released.contains(&key)) {
                by_wish.entry((op.address.clone(), op.generation)).or_default().push(key);
            }
        }
        for ((address, _), keys) in by_wish.into_iter().filter(|(_, keys)| keys.len() > 1) {
            if self.oracle.borrow().class == Class::Within {
                self.broken(format!("I2: {address} has {keys:?}"));
            }
        }
    }

    /// Says of an object of ours that nobody would hear of it.
    fn silent(
        &self,
        key: &Key,
        op: Uuid,
        at: Duration,
        outcome: Option<(&Outcome, Duration)>,
    ) -> Option<String> {
        let oracle = self.oracle.borrow();
        let ledger = &oracle.ledger;
        if oracle.released.contains(key)
            || oracle.owned().contains(key)
            || ledger.intents.contains_key(&op)
            || ledger.questions.contains_key(&op)
        {
            return None;
        }
        let address = oracle.ops.get(&op).map(|op| op.address.clone());
        if !ledger.watched.contains_key(&op) {
            return Some(format!("I1: {key:?} of {address:?} is lost"));
        }
        let (outcome, began) = outcome?;
        let shown = at + Duration::from_millis(self.schedule.lag) < began;
        let told = outcome.questions.iter().any(|text| text.contains(key.2.as_str()));
        // A run that could not look says so, by the address, and that it does not know.
        let in_doubt = |note: &String| address.as_ref().is_some_and(|a| note.starts_with(&format!("{a}:")));
        let told = told || outcome.notes.iter().any(in_doubt);
        (shown && !told).then(|| format!("I1: {key:?} of {address:?} is not reported: {outcome:?}"))
    }
}

/// Tells whether the plan has the step of an intent.
fn planned(plan: &Plan, intent: &Intent) -> bool {
    plan.steps.iter().filter(|step| step.address == intent.address).any(|step| {
        match (&step.operation, &intent.action) {
            (Operation::Create { .. }, IntentAction::Create { .. } | IntentAction::Update { .. }) => true,
            (Operation::Update { calls, desired, .. }, IntentAction::Update { call, target, .. }) => {
                // After its calls a step sends another one, for what is declared and was changed meanwhile.
                calls.iter().any(|planned| planned.call == *call) || is_declared(desired, target)
            }
            (Operation::Delete { object, .. }, IntentAction::Delete { object: deleted }) => {
                object.id == deleted.id
            }
            _ => false,
        }
    })
}

/// Tells whether a call sets declared attributes alone, and those whose values the plan knows to these values.
fn is_declared(desired: &NameMap<Expression>, target: &Attributes) -> bool {
    target.iter().all(|(name, value)| match desired.get(name) {
        Some(Expression::Value(wanted)) => wanted.is_secret() || wanted == value,
        Some(_) => true,
        None => false,
    })
}

fn in_words(records: &[Record]) -> String {
    let words = records.iter().map(|record| match record {
        Record::Intent(intent) => {
            let what = match &intent.action {
                IntentAction::Create { .. } => "create".to_owned(),
                IntentAction::Update { call, .. } => call.to_string(),
                IntentAction::Delete { object } => format!("delete {}", object.id),
            };
            format!("intent {} {what} ({})", intent.address, intent.op)
        }
        Record::Bound { op, object } => {
            format!("bound {op} {}{}", object.id, if object.provisional { " provisionally" } else { "" })
        }
        Record::Closed { op, outcome } => format!("closed {op} {outcome:?}"),
        Record::Gone { address, id, .. } => format!("gone {address} {id}"),
        Record::Asked(question) => format!("asked {}", question.text),
        Record::Answered { op, answer } => format!("answered {op} {answer:?}"),
        Record::Took { epoch, holder, proven, .. } => {
            format!("took {epoch} {} proven {proven}", holder.who)
        }
        other => format!("{other:?}").chars().take(60).collect(),
    });
    words.collect::<Vec<_>>().join(", ")
}
