//! `World`: a stack's inputs built by hand, and a pure model of apply: small enough to be believed.

#![allow(clippy::needless_pass_by_value, reason = "`json!(…)` occurs in place, as a block does")]

use crate::ledger::journal::replay::apply_record;
use crate::model::evaluate::evaluate_expression;
use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use jiff::Timestamp;
use serde_json::{Value as Json, json};
use uuid::Uuid;

use super::alone::{assert_alone, take_along};
use super::expressions::setting;
use super::prices::catalog;
use super::{with_what_stays, with_written};
use crate::config::stack::declarations::Declarations;
use crate::config::stack::model::{
    AttributeSetting, ConfirmationMode, Environment, Lifecycle, Resource, Stack,
};
use crate::config::stack::module_path::module_of;
use crate::kinds::REGISTRY;
use crate::ledger::journal::record::Record;
use crate::ledger::state::entry::{Entry, LedgerIdentity, OwnedObject};
use crate::ledger::state::ledger::Ledger;
use crate::ledger::state::verification::Verification;
use crate::model::address::{Address, Name};
use crate::model::catalog::Catalog;
use crate::model::expression::{AttributeLookup, Expression};
use crate::model::schema::{Kind, KindScope, Presence, Registry, Type};
use crate::model::secret::{FingerprintKey, Secret};
use crate::model::snapshot::{Object, ObjectKey, Snapshot};
use crate::model::source::{Source, SourceId, Sources, Span};
use crate::model::value::{Attributes, Value};
use crate::plan::artifact::consistency;
use crate::plan::import::rebuild_ledger::{RebuiltLedger, rebuild_ledger};
use crate::plan::inputs::{PlanInputs, PlanningOptions};
use crate::plan::model::change::Plan;
use crate::plan::model::compare::{fingerprint_secrets, is_unset};
use crate::plan::model::step::{LedgerMetadata, LedgerUpdate, Operation, TargetProject};
use crate::plan::pipeline::{danger_rank, make_plan};

pub const KEY: FingerprintKey = FingerprintKey([7; 32]);
pub(super) const SPAN: Span = Span { source: SourceId(0), start: 0, end: 1 };

/// What a plan is made from, and what an apply changes.
#[derive(Clone)]
pub struct World {
    pub registry: Registry,
    pub stack: Stack,
    pub ledger: Ledger,
    pub live: BTreeMap<ObjectKey, Object>,
    pub absent: BTreeSet<ObjectKey>,
    pub catalog: Catalog,
    pub pinned: Option<Catalog>,
    pub options: PlanningOptions,
    pub now: Timestamp,
    pub consents: bool,
    made: u32,
}

impl World {
    pub fn new() -> Self {
        Self::with(REGISTRY)
    }

    pub fn with(registry: Registry) -> Self {
        let mut sources = Sources::default();
        sources.add(Source::new("shop.yaml", "stack: shop\n"));
        Self {
            registry,
            stack: Stack {
                name: "shop".into(),
                environment: Environment { name: "prod".into(), confirm: ConfirmationMode::YesOrNo },
                environments: Vec::new(),
                resources: IndexMap::new(),
                outputs: BTreeMap::new(),
                project: None,
                declarations: Declarations::default(),
                policies: Vec::new(),
                backend_required: false,
                digest: "0".repeat(16),
                data: BTreeMap::new(),
                stacks: BTreeMap::new(),
                modules: BTreeMap::new(),
                left_out: BTreeMap::new(),
                awaited: BTreeMap::new(),
                sinks: Vec::new(),
                recipients: None,
                reads: String::new(),
                evaluated: None,
                named: BTreeMap::new(),
                sources,
            },
            ledger: Ledger {
                serial: 1,
                ..Ledger::new(LedgerIdentity {
                    lineage: Uuid::from_u128(1),
                    stack: "shop".into(),
                    environment: "prod".into(),
                    account: Some("account".into()),
                    key: KEY,
                })
            },
            live: BTreeMap::new(),
            absent: BTreeSet::new(),
            catalog: catalog(),
            pinned: None,
            options: PlanningOptions::default(),
            now: "2026-07-01T12:00:00Z".parse().unwrap(),
            consents: false,
            made: 0,
        }
    }

    /// Writes a block, or writes it anew. `"$vpc.main"` is a reference.
    pub fn write(&mut self, address: &str, attributes: Json) -> &mut Self {
        let address = Address::parse(address).unwrap();
        let (kind, parent) = self.kind_of(&address);
        let mut written: BTreeMap<Name, AttributeSetting> = BTreeMap::new();
        if kind.attribute("name").is_some() {
            written.insert("name".into(), setting(&json!(address.last())));
        }
        for (name, value) in attributes.as_object().unwrap() {
            assert!(kind.attribute(name).is_some(), "{} has no {name}", kind.name);
            written.insert(name.as_str().into(), setting(value));
        }
        let resource = Resource {
            address: address.clone(),
            kind,
            parent,
            key: None,
            attributes: written,
            lifecycle: Lifecycle::default(),
            depends_on: Vec::new(),
            project: None,
            deliver_secret: None,
            span: SPAN,
        };
        self.stack.resources.insert(address, resource);
        self.stack.resources.sort_keys();
        self
    }

    pub fn secret(&mut self, address: &str, attribute: &str, text: &str) -> &mut Self {
        let value = Value::Secret(Secret::new(text));
        self.block(address).attributes.insert(
            attribute.into(),
            AttributeSetting {
                expression: Expression::Value(value),
                span: SPAN,
                set_by: None,
                parts: None,
                directory: None,
                exclusive: false,
            },
        );
        self
    }

    /// Writes one attribute of a block.
    pub fn set(&mut self, address: &str, attribute: &str, value: Json) -> &mut Self {
        let kind = self.block(address).kind;
        assert!(kind.attribute(attribute).is_some(), "{} has no {attribute}", kind.name);
        self.block(address).attributes.insert(attribute.into(), setting(&value));
        self
    }

    /// Takes one attribute out of a block.
    pub fn unset(&mut self, address: &str, attribute: &str) -> &mut Self {
        self.block(address).attributes.remove(attribute).unwrap();
        self
    }

    pub fn block(&mut self, address: &str) -> &mut Resource {
        self.stack.resources.get_mut(address).unwrap()
    }

    pub fn lifecycle(&mut self, address: &str, change: impl FnOnce(&mut Lifecycle)) -> &mut Self {
        change(&mut self.block(address).lifecycle);
        self
    }

    pub fn remove(&mut self, address: &str) -> &mut Self {
        self.stack.resources.shift_remove(address).unwrap();
        self
    }

    fn kind_of(&self, address: &Address) -> (&'static Kind, Option<Address>) {
        let (module, rest) = module_of(&self.registry, address.as_str());
        let parts: Vec<&str> = rest.split('.').collect();
        match parts[..] {
            [kind, name, collection, _] => {
                let child = self.registry.child(kind, collection).unwrap();
                (child, Some(Address::new(kind, name).in_module(module)))
            }
            _ => (self.registry.kind(parts[0]).unwrap(), None),
        }
    }

    /// Changes an owned object behind stead's back.
    pub fn mutate(&mut self, address: &str, attribute: &str, value: Json) -> &mut Self {
        let key = self.key(address);
        let value = Value::from_json(&value);
        self.live.get_mut(&key).unwrap().attributes.insert(attribute.into(), value);
        self
    }

    /// Deletes an owned object behind stead's back.
    pub fn vanish(&mut self, address: &str) -> &mut Self {
        let key = self.key(address);
        self.live.remove(&key).unwrap();
        self.absent.insert(key);
        self
    }

    /// Adds an object that nobody of this stack owns.
    pub fn stranger(&mut self, kind: &str, id: &str, attributes: Json) -> &mut Self {
        let kind = self.registry.kind(kind).unwrap();
        let Value::Map(attributes) = Value::from_json(&attributes) else { panic!("no map") };
        let object = Object {
            kind: kind.name.into(),
            id: id.into(),
            parent: None,
            project: (kind.scope == KindScope::Project).then(|| "default".into()),
            created_at: Some("2026-01-01T00:00:00Z".into()),
            attributes,
            detailed: true,
        };
        self.live.insert(object.key(), object);
        self
    }

    pub fn key(&self, address: &str) -> ObjectKey {
        let entry = &self.ledger.entries[address];
        let owned = entry.current.as_ref().unwrap();
        ObjectKey { kind: entry.kind.clone(), parent: owned.parent.clone(), id: owned.id.clone() }
    }

    pub fn id(&self, address: &str) -> Name {
        self.key(address).id
    }

    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            account: Some("account".into()),
            default_project: Some("default".into()),
            objects: self.live.clone(),
            absent: self.absent.clone(),
            ..Snapshot::default()
        }
    }

    fn asked(&self) -> PlanningOptions {
        let mut options = self.options.clone();
        let machines = self.stack.resources.values().filter(|one| self.consents && one.kind.local_data);
        options.replace.extend(machines.map(|one| one.address.clone()));
        options.delete_data.extend(self.ledger.entries.keys().filter(|_| self.consents).cloned());
        options
    }

    pub fn plan(&self) -> Plan {
        let snapshot = self.snapshot();
        let plan = make_plan(&PlanInputs {
            registry: self.registry,
            stack: &self.stack,
            ledger: &self.ledger,
            snapshot: &snapshot,
            catalog: &self.catalog,
            pinned: self.pinned.as_ref(),
            options: &self.asked(),
            now: self.now,
            nonce: Uuid::from_u128(9),
        });
        check_shape(&plan);
        assert_eq!(consistency::check(&plan, self.registry), Ok(()), "{}", super::show(&plan));
        plan
    }

    /// Looks for the objects of a lost ledger.
    pub fn recover(&self) -> RebuiltLedger {
        rebuild_ledger(&PlanInputs {
            registry: self.registry,
            stack: &self.stack,
            ledger: &self.ledger,
            snapshot: &self.snapshot(),
            catalog: &self.catalog,
            pinned: None,
            options: &self.options,
            now: self.now,
            nonce: Uuid::from_u128(9),
        })
    }

    pub fn remember(&mut self, recovery: &RebuiltLedger) {
        let found = recovery.found.iter();
        self.ledger.entries.extend(found.map(|found| (found.address.clone(), (*found.entry).clone())));
    }

    /// Plans, applies, and expects that nothing is left to do.
    pub fn settle(&mut self) -> Plan {
        let plan = self.plan();
        assert!(plan.blocks.is_empty(), "{:#?}", plan.blocks);
        self.apply(&plan);
        let next = self.plan();
        assert!(is_empty(&next), "not settled: {}\n{:#?}", super::show(&next), next.bookkeeping);
        plan
    }

    pub fn apply(&mut self, plan: &Plan) {
        self.ledger.had_entries |= !self.ledger.entries.is_empty();
        for correction in &plan.bookkeeping {
            match correction.clone() {
                LedgerUpdate::Gone(address, id) => {
                    let entry = self.ledger.entries.get_mut(&address).unwrap();
                    entry.deposed.retain(|owned| owned.id != id);
                    entry.current.take_if(|owned| owned.id == id);
                    if entry.current.is_none() && entry.deposed.is_empty() {
                        self.ledger.entries.remove(&address);
                    }
                }
                LedgerUpdate::Remember(address, entry) => {
                    self.ledger.entries.insert(address, *entry);
                }
                LedgerUpdate::Move(moves) => {
                    apply_record(&mut self.ledger, &Record::Moved { moves }).unwrap();
                }
                LedgerUpdate::PinRecipients(recipients) => {
                    apply_record(&mut self.ledger, &Record::SecretRecipients { recipients }).unwrap();
                }
                LedgerUpdate::Forget(address) => {
                    apply_record(&mut self.ledger, &Record::Forgotten { address }).unwrap();
                }
            }
        }
        for step in &plan.steps {
            let kind = self.registry.kind(&step.kind).unwrap();
            self.step(kind, &step.address, &step.operation);
        }
        self.ledger.serial += 1;
        self.ledger.applied_plans.insert(plan.base.nonce);
    }

    fn step(&mut self, kind: &'static Kind, address: &Address, operation: &Operation) {
        match operation {
            Operation::Create { desired, project, parent, remember, deposes } => {
                let sent = self.evaluate(address, desired);
                let owned = self.create(kind, &sent, project, parent.as_ref());
                let entry = self.ledger.entries.entry(address.clone()).or_insert_with(|| entry(kind));
                let old = entry.current.replace(owned);
                assert_eq!(old.is_some(), *deposes, "{address}");
                entry.deposed.extend(old);
                entry.parent.clone_from(parent);
                settle(entry, sent, remember);
            }
            Operation::Update { object, calls, desired, remember } => {
                let key = object.clone().unwrap_or_else(|| self.key(address.as_str()));
                for call in calls {
                    assert!(kind.call(&call.call).is_some(), "{}", call.call);
                    for (name, (before, after)) in &call.attributes {
                        let after = self.resolve(address, name, after);
                        let attribute = kind.attribute(name).unwrap();
                        let live = self.live.get_mut(&key).unwrap();
                        let after = with_what_stays(after, live.attributes.get(name));
                        if attribute.is_readable() && !before.is_secret() {
                            let now = live.attributes.get(name).cloned().unwrap_or_default();
                            assert!(
                                now == *before || is_unset(&now) && is_unset(before),
                                "{address}.{name}"
                            );
                        }
                        live.attributes.insert(name.clone(), after);
                    }
                }
                assert_alone(&self.live, kind, &key);
                let sent = self.evaluate(address, desired);
                let entry = self.ledger.entries.get_mut(address).unwrap();
                if entry.deposed.iter().all(|old| old.key(kind.name) != key) {
                    settle(entry, sent, remember);
                }
            }
            Operation::Delete { object, deposed } => {
                let key = ObjectKey {
                    kind: kind.name.into(),
                    parent: object.parent.clone(),
                    id: object.id.clone(),
                };
                let gone = self.live.remove(&key).expect("deleted once");
                for link in kind.attributes.iter().filter(|attribute| attribute.undone_before_delete) {
                    assert_eq!(gone.attributes[link.name], Value::Null, "{address}.{}", link.name);
                }
                self.assert_unused(kind, &object.id);
                let entry = self.ledger.entries.get_mut(address).unwrap();
                if *deposed {
                    entry.deposed.retain(|owned| owned.id != object.id);
                } else {
                    entry.current = None;
                }
                let is_over = entry.current.is_none() && entry.deposed.is_empty();
                if is_over && (!self.stack.resources.contains_key(address) || self.options.destroy) {
                    self.ledger.entries.remove(address);
                }
            }
        }
    }

    fn create(
        &mut self,
        kind: &'static Kind,
        sent: &Attributes,
        project: &TargetProject,
        parent: Option<&Address>,
    ) -> OwnedObject {
        self.made += 1;
        let mut attributes = sent.clone();
        for attribute in kind.attributes {
            let start = match attribute.presence {
                Presence::Default(literal) => literal.value(),
                Presence::Computed => Value::text(format!("{}-{}", attribute.name, self.made)),
                Presence::Required | Presence::Optional | Presence::WriteOnly => Value::Null,
            };
            let slot = attributes.entry(attribute.name.into()).or_insert_with(|| start.clone());
            if *slot == Value::Null {
                *slot = start;
            }
            if attribute.presence == Presence::WriteOnly {
                attributes.remove(attribute.name);
            }
        }
        if let Some(ready) = kind.api.ready {
            attributes.insert(ready.attribute.into(), Value::text(ready.wanted[0]));
        }
        let id = if kind.api.id == "id" {
            format!("{}-{}", kind.name, self.made)
        } else {
            sent["name"].to_string()
        };
        let project = match project {
            TargetProject::None => None,
            TargetProject::Id(id) => Some(id.clone()),
            TargetProject::Resource(address) => Some(self.id(address.as_str())),
        };
        let object = Object {
            kind: kind.name.into(),
            id: id.into(),
            parent: parent.map(|parent| self.id(parent.as_str())),
            project,
            created_at: Some(format!("2026-01-01T00:00:00.{}Z", self.made).into()),
            attributes,
            detailed: true,
        };
        for (_, name) in references(kind, &object) {
            assert!(self.live.keys().any(|key| key.id == name), "{} refers to no {name}", object.id);
        }
        let owned = OwnedObject {
            id: object.id.clone(),
            parent: object.parent.clone(),
            project: object.project.clone(),
            created_at: object.created_at.clone(),
            provisional: false,
        };
        let key = object.key();
        assert!(self.live.insert(key.clone(), object).is_none(), "two of one name");
        assert_alone(&self.live, kind, &key);
        owned
    }

    /// What is deleted takes its children along, and must not be referred to any more.
    fn assert_unused(&mut self, kind: &Kind, id: &str) {
        take_along(&mut self.live, &mut self.ledger, id);
        for object in self.live.values() {
            let other = self.registry.kind(&object.kind).unwrap();
            assert!(object.parent.as_deref() != Some(id), "{} stands under {id}", object.id);
            for (of, name) in references(other, object) {
                assert!(of != kind.name || name != id, "{} still refers to {id}", object.id);
            }
        }
    }

    fn evaluate(&self, address: &Address, desired: &BTreeMap<Name, Expression>) -> Attributes {
        desired.iter().map(|(name, e)| (name.clone(), self.resolve(address, name, e))).collect()
    }

    fn resolve(&self, address: &Address, name: &str, expression: &Expression) -> Value {
        let mut value = evaluate_expression(expression, &Bound(self)).unwrap();
        assert!(!value.is_unknown(), "{address}.{name} waits for {:?}", value.waits_for());
        if value.is_secret() {
            let written = &self.stack.resources[address].attributes[name].expression;
            value = with_written(value, evaluate_expression(written, &Bound(self)).unwrap());
            assert!(format!("{expression:?}").contains("(secret)"));
        }
        value
    }
}

/// What apply sees: bindings and live objects.
struct Bound<'w>(&'w World);

impl AttributeLookup for Bound<'_> {
    fn attribute(&self, address: &Address, attribute: Option<&str>) -> Value {
        let key = self.0.key(address.as_str());
        match attribute {
            None => Value::Text(key.id),
            Some(name) => self.0.live[&key].attributes.get(name).cloned().unwrap_or_default(),
        }
    }

    fn object(&self, address: &Address) -> (Attributes, bool) {
        (self.0.live[&self.0.key(address.as_str())].attributes.clone(), true)
    }
}

fn references(kind: &'static Kind, object: &Object) -> Vec<(&'static str, Name)> {
    let mut found = Vec::new();
    for attribute in kind.attributes {
        let value = object.attributes.get(attribute.name).cloned().unwrap_or_default();
        match (attribute.ty, value) {
            (Type::Reference(of), Value::Text(id)) if !id.is_empty() => found.push((of, id)),
            (Type::Set { of: Type::Reference(of), .. }, Value::List(ids)) => {
                found.extend(ids.iter().map(|id| (*of, Name::new(id.as_text().unwrap()))));
            }
            _ => {}
        }
    }
    found
}

fn entry(kind: &Kind) -> Entry {
    Entry {
        kind: kind.name.into(),
        current: None,
        deposed: Vec::new(),
        parent: None,
        applied: Attributes::new(),
        depends_on: Vec::new(),
        protect: false,
        keep_on_remove: false,
        delete_on_remove: false,
        unfinished: false,
        secret_lost: false,
        final_snapshot: false,
        verified: Some(Verification::default()),
    }
}

fn settle(entry: &mut Entry, sent: Attributes, remember: &LedgerMetadata) {
    entry.applied =
        sent.iter().map(|(name, value)| (name.clone(), fingerprint_secrets(value, &KEY))).collect();
    entry.depends_on.clone_from(&remember.depends_on);
    entry.protect = remember.protect;
    entry.keep_on_remove = remember.keep_on_remove;
    entry.delete_on_remove = remember.delete_on_remove;
    entry.final_snapshot = remember.final_snapshot;
    entry.unfinished = false;
}

/// Tells whether a plan asks for nothing at all.
pub fn is_empty(plan: &Plan) -> bool {
    plan.changes.is_empty()
        && plan.steps.is_empty()
        && plan.bookkeeping.is_empty()
        && plan.blocks.is_empty()
}

/// What every plan keeps to.
fn check_shape(plan: &Plan) {
    for (number, step) in plan.steps.iter().enumerate() {
        assert!(step.after.iter().all(|before| *before < number), "{step:?}");
    }
    let mut seen = BTreeSet::new();
    for change in &plan.changes {
        assert!(change.steps.iter().all(|step| seen.insert(*step)), "{change:?}");
        assert!(change.steps.iter().all(|step| plan.steps[*step].address.is_within(&change.address)));
    }
    assert_eq!(seen.len(), plan.steps.len(), "a step without a line");
    let order: Vec<_> = plan.changes.iter().map(|change| (danger_rank(change), &change.address)).collect();
    assert!(order.is_sorted(), "{order:?}");
    let lines: rust_decimal::Decimal =
        plan.changes.iter().filter_map(|change| change.cost.monthly_after).sum();
    assert!(lines <= plan.cost.monthly_after);
}
