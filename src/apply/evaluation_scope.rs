//! `EvaluationScope`: the values that expressions see while an apply runs: ids from the ledger, attributes from the
//! objects as they were last read. `ReadyObjects`: the objects that this run has seen ready, as far as expressions read
//! them. Invariant: a secret stays marked as one, so that values computed from it are sensitive.

use std::cell::{Ref, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use crate::ledger::state::entry::Entry;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::Address;
use crate::model::expression::{AttributeLookup, Expression, Reference};
use crate::model::live::snapshot::Object;
use crate::model::schema::Registry;
use crate::model::values::value::{Attributes, Value};
use crate::plan::model::change::Plan;
use crate::plan::model::step::Operation;

/// The ledger and the objects by address, for evaluating expressions.
pub(super) struct EvaluationScope<'a> {
    pub(super) registry: Registry,
    pub(super) ledger: &'a Ledger,
    pub(super) seen: &'a BTreeMap<Address, Object>,
}

impl EvaluationScope<'_> {
    /// Returns a live value in which every part that was applied as a secret, or that may be another writer's secret,
    /// is a secret: values computed from it stay sensitive.
    fn mark_live_secrets(&self, entry: &Entry, name: &str, live: Value) -> Value {
        match self.registry.kind(&entry.kind).and_then(|kind| kind.attribute(name)) {
            Some(attribute) => attribute.hidden([entry.applied.get(name), None], live),
            None => live,
        }
    }
}

impl AttributeLookup for EvaluationScope<'_> {
    fn attribute(&self, address: &Address, attribute: Option<&str>) -> Value {
        let entry = self.ledger.entries.get(address);
        let Some((entry, current)) = entry.and_then(|entry| Some((entry, entry.current.as_ref()?))) else {
            return Value::unknown(vec![address.clone()]);
        };
        match attribute {
            None | Some("id") => Value::Text(current.id.clone()),
            Some(name) => match self.seen.get(address) {
                Some(object) => self.mark_live_secrets(
                    entry,
                    name,
                    object.attributes.get(name).cloned().unwrap_or_default(),
                ),
                None => Value::unknown(vec![address.clone()]),
            },
        }
    }

    fn object(&self, address: &Address) -> (Attributes, bool) {
        let id = self.attribute(address, None);
        match (self.seen.get(address), self.ledger.entries.get(address)) {
            (Some(object), Some(entry)) if !id.is_unknown() => {
                let all = object.attributes.iter();
                let shielded = all
                    .map(|(name, live)| (name.clone(), self.mark_live_secrets(entry, name, live.clone())));
                let mut attributes: Attributes = shielded.collect();
                attributes.insert("id".into(), id);
                (attributes, true)
            }
            _ if id.is_unknown() => (Attributes::new(), false),
            _ => (Attributes::from([("id".into(), id)]), false),
        }
    }
}

/// Returns the resources of which an expression reads an attribute other than the id: their objects must be read first.
pub(super) fn looked_into(expression: &Expression) -> BTreeSet<&Address> {
    fn collect_addresses<'a>(expression: &'a Expression, into: &mut BTreeSet<&'a Address>) {
        match expression {
            Expression::Reference(Reference { address, attribute: Some(_) }) => {
                into.insert(address);
            }
            Expression::Value(_) | Expression::Reference(_) => {}
            Expression::Text(parts) | Expression::List(parts) => {
                for part in parts {
                    collect_addresses(part, into);
                }
            }
            Expression::Map(map) => map.values().for_each(|part| collect_addresses(part, into)),
            Expression::Cel(cel) => {
                into.extend(&cel.objects);
                cel.waiting.values().for_each(|part| collect_addresses(part, into));
            }
        }
    }
    let mut found = BTreeSet::new();
    collect_addresses(expression, &mut found);
    found
}

/// Returns the resources whose attributes some expression of the plan reads: only their objects are cached.
pub(super) fn looked_into_by(plan: &Plan) -> BTreeSet<Address> {
    let mut found: BTreeSet<&Address> = plan.outputs.values().flat_map(looked_into).collect();
    found.extend(plan.undecided.iter().flat_map(|policy| looked_into(&policy.condition)));
    for step in &plan.steps {
        match &step.operation {
            Operation::Create { desired, .. } => found.extend(desired.values().flat_map(looked_into)),
            Operation::Update { desired, calls, .. } => {
                found.extend(desired.values().flat_map(looked_into));
                let targets = calls.iter().flat_map(|call| call.attributes.values());
                found.extend(targets.flat_map(|(_, after)| looked_into(after)));
            }
            Operation::Delete { .. } => {}
        }
    }
    found.into_iter().cloned().collect()
}

/// The objects that became ready in this run, and those that expressions read.
#[derive(Default)]
pub(super) struct ReadyObjects {
    /// Resources whose attributes some expression reads: only their objects are cached.
    looked_into: BTreeSet<Address>,
    seen: RefCell<BTreeMap<Address, Object>>,
    /// Resources whose objects became ready in this run.
    at_rest: RefCell<BTreeSet<Address>>,
}

impl ReadyObjects {
    /// Creates the state before the first step: nothing is ready.
    pub(super) fn new(looked_into: BTreeSet<Address>) -> Self {
        Self { looked_into, ..Self::default() }
    }

    /// Returns the objects that were kept or read for expressions.
    pub(super) fn seen(&self) -> Ref<'_, BTreeMap<Address, Object>> {
        self.seen.borrow()
    }

    /// Keeps an object that was read for an expression.
    pub(super) fn keep_object(&self, address: &Address, object: Object) {
        self.seen.borrow_mut().insert(address.clone(), object);
    }

    /// Drops the objects of some resources: the next expression that reads them reads them again.
    pub(super) fn drop_objects(&self, is_outdated: impl Fn(&Address) -> bool) {
        self.seen.borrow_mut().retain(|address, _| !is_outdated(address));
    }

    /// Marks a resource's object as ready.
    pub(super) fn mark_ready(&self, address: &Address) {
        self.at_rest.borrow_mut().insert(address.clone());
    }

    /// Marks a resource's object as changing: it must become ready again.
    pub(super) fn mark_changing(&self, address: &Address) {
        self.at_rest.borrow_mut().remove(address);
    }

    pub(super) fn is_ready(&self, address: &Address) -> bool {
        self.at_rest.borrow().contains(address)
    }

    /// Marks an object as ready, and caches it if expressions read its attributes.
    pub(super) fn store_ready_object(&self, address: &Address, object: Object) {
        self.mark_ready(address);
        if self.looked_into.contains(address) {
            self.seen.borrow_mut().insert(address.clone(), object);
        }
    }

    /// Drops the cached object of an address.
    pub(super) fn drop_object(&self, address: &Address) {
        self.seen.borrow_mut().remove(address);
    }
}
