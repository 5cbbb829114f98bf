//! `World`: a stack's inputs built by hand, and a pure model of apply: small enough to be believed.

#![allow(clippy::needless_pass_by_value, reason = "`json!(…)` is written in place, as a block is")]

mod apply;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Value as Json, json};
use uuid::Uuid;

use super::expressions::setting;
use super::prices::catalog;
use crate::config::stack::declarations::Declarations;
use crate::config::stack::model::{
    AttributeSetting, ConfirmationMode, Environment, Lifecycle, Resource, Stack,
};
use crate::config::stack::module_path::module_of;
use crate::kinds::REGISTRY;
use crate::ledger::state::entry::LedgerIdentity;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name, OrderedMap};
use crate::model::expression::Expression;
use crate::model::live::catalog::Catalog;
use crate::model::live::snapshot::{Object, ObjectKey, Snapshot};
use crate::model::schema::{Kind, KindScope, Registry};
use crate::model::source::{Source, SourceId, Sources, Span};
use crate::model::values::secret::{FingerprintKey, Secret};
use crate::model::values::value::Value;
use crate::plan::artifact::consistency;
use crate::plan::import::rebuild_ledger::{RebuiltLedger, rebuild_ledger};
use crate::plan::inputs::{PlanInputs, PlanningOptions};
use crate::plan::model::change::Plan;
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
                resources: OrderedMap::default(),
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
                deferred_secrets: BTreeMap::new(),
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

    /// Writes a block, or replaces it. `"$vpc.main"` is a reference.
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
            attributes: written.into(),
            lifecycle: Lifecycle::default(),
            depends_on: Vec::new(),
            project: None,
            deliver_secret: None,
            allowed_exposures: Vec::new(),
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
                is_read: false,
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
