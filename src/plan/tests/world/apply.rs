//! `World::apply`: what an apply does to the live objects and to the ledger, and what it must never do.

use super::{KEY, World};
use crate::ledger::journal::record::Record;
use crate::ledger::journal::replay::apply_record;
use crate::ledger::state::entry::{Entry, OwnedObject};
use crate::ledger::state::verification::Verification;
use crate::model::address::name_map::NameMap;
use crate::model::address::{Address, Name};
use crate::model::evaluate::evaluate_expression;
use crate::model::expression::{AttributeLookup, Expression};
use crate::model::live::snapshot::{Object, ObjectKey};
use crate::model::schema::{Kind, Presence, Type};
use crate::model::values::value::{Attributes, Value};
use crate::plan::model::change::Plan;
use crate::plan::model::compare::{fingerprint_secrets, is_unset};
use crate::plan::model::step::{LedgerMetadata, LedgerUpdate, Operation, TargetProject};
use crate::plan::tests::alone::{assert_alone, take_along};
use crate::plan::tests::{with_what_stays, with_written};

impl World {
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
                LedgerUpdate::Transfer(..) => panic!("the world has one ledger"),
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
            if attributes.get(attribute.name).is_none_or(|written| *written == Value::Null) {
                attributes.insert(attribute.name.into(), start);
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

    fn evaluate(&self, address: &Address, desired: &NameMap<Expression>) -> Attributes {
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
        secret_origin: None,
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
