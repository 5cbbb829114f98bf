//! What the lookups of units find, and the steps of other units after which they would find nothing, or several objects. In:
//! lookups with the object that each finds now, and the plans of one account. Out: each lookup that a step breaks, and how.
//! Pure.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::HashMap;

use crate::config::stack::model::DataLookup;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::model::expression::Expression;
use crate::model::live::snapshot::{Object, ObjectKey, Snapshot};
use crate::model::schema::PROJECT;
use crate::model::values::value::Value;
use crate::plan::model::change::Plan;
use crate::plan::model::step::{Operation, Step, TargetProject};

/// A lookup of a unit, and the only object that it finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitLookup {
    /// Its address, such as `data.vpc.main`.
    pub address: Address,
    /// The object that it finds.
    pub found: ObjectKey,
    /// The attributes by which it finds the object, with their values as text.
    pub fields: BTreeMap<Name, String>,
}

impl UnitLookup {
    /// Returns a lookup that finds this object. A project that it names counts by its id.
    #[must_use]
    pub fn new(address: &Address, found: &Object, lookup: &DataLookup) -> Self {
        let text = |(name, field): (&Name, &Expression)| {
            let written = field.known_value()?.to_string();
            let project = found.project.as_ref().filter(|_| name == PROJECT).map(Name::to_string);
            Some((name.clone(), project.unwrap_or(written)))
        };
        let fields = lookup.fields.iter().filter_map(text).collect();
        Self { address: address.clone(), found: found.key(), fields }
    }
}

/// The plan of a unit.
#[derive(Debug, Clone, Copy)]
pub struct PlannedSteps<'a> {
    /// Number of the unit.
    pub unit: usize,
    /// Its plan.
    pub plan: &'a Plan,
    /// Its ledger when the plan was made.
    pub ledger: &'a Ledger,
}

/// Why a lookup no longer finds its object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum LookupLoss {
    /// The object is deleted.
    Deleted,
    /// This attribute, by which it finds the object, changes.
    Changed(Name),
    /// Another object gets the values of these attributes, by which it finds the object: `name and region`.
    Repeated(Name),
}

/// A lookup that a step of another unit breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenLookup<'a> {
    /// The unit that has the lookup, and the lookup.
    pub reader: (usize, &'a UnitLookup),
    /// The unit that has the step, and the address of the step's resource.
    pub owner: (usize, &'a Address),
    /// What the step does to it.
    pub loss: LookupLoss,
}

/// Returns the lookups that steps of other units break. `snapshot` has the live objects of the account.
#[must_use]
pub fn find_broken_lookups<'a>(
    lookups: &[(usize, &'a UnitLookup)],
    plans: impl IntoIterator<Item = PlannedSteps<'a>>,
    snapshot: &Snapshot,
) -> Vec<BrokenLookup<'a>> {
    let mut broken = Vec::new();
    if lookups.is_empty() {
        return broken;
    }
    let mut by_object: HashMap<&ObjectKey, Vec<(usize, &'a UnitLookup)>> = HashMap::default();
    for (reader, lookup) in lookups {
        by_object.entry(&lookup.found).or_default().push((*reader, lookup));
    }
    let searches = Searches::new(lookups);
    for of_unit in plans {
        let deleted: BTreeSet<ObjectKey> = of_unit.plan.steps.iter().filter_map(deleted_object).collect();
        for step in &of_unit.plan.steps {
            let owner = (of_unit.unit, &step.address);
            let mut add = |reader: (usize, &'a UnitLookup), loss| {
                if reader.0 != of_unit.unit {
                    broken.push(BrokenLookup { reader, owner, loss });
                }
            };
            let object = match &step.operation {
                Operation::Delete { object, .. } => {
                    for reader in by_object.get(&object.key(&step.kind)).into_iter().flatten() {
                        add(*reader, LookupLoss::Deleted);
                    }
                    continue;
                }
                Operation::Update { object, .. } => object.as_ref(),
                Operation::Create { .. } => None,
            };
            for reader in object.and_then(|key| by_object.get(key)).into_iter().flatten() {
                if let Some(name) = reader.1.fields.keys().find(|name| changes(step, name)) {
                    add(*reader, LookupLoss::Changed(name.clone()));
                }
            }
            for reader in searches.that_would_find((step, object), of_unit.ledger, snapshot) {
                // Where the unit also deletes the object that is found now, the deletion is what breaks the lookup.
                if object != Some(&reader.1.found) && !deleted.contains(&reader.1.found) {
                    let names: Vec<&str> = reader.1.fields.keys().map(Name::as_str).collect();
                    add(reader, LookupLoss::Repeated(Name::new(names.join(" and "))));
                }
            }
        }
    }
    broken
}

fn deleted_object(step: &Step) -> Option<ObjectKey> {
    match &step.operation {
        Operation::Delete { object, .. } => Some(object.key(&step.kind)),
        _ => None,
    }
}

/// Lookups by the kind and the attributes that they search, then by the values.
type BySearch<'a> =
    BTreeMap<(&'a Name, Vec<&'a Name>), HashMap<Vec<&'a str>, Vec<(usize, &'a UnitLookup)>>>;

struct Searches<'a>(BySearch<'a>);

impl<'a> Searches<'a> {
    fn new(lookups: &[(usize, &'a UnitLookup)]) -> Self {
        let mut all = BySearch::new();
        for (reader, lookup) in lookups {
            let names: Vec<&Name> = lookup.fields.keys().collect();
            let values: Vec<&str> = lookup.fields.values().map(String::as_str).collect();
            let of_search = all.entry((&lookup.found.kind, names)).or_default();
            of_search.entry(values).or_default().push((*reader, lookup));
        }
        Self(all)
    }

    /// Returns the lookups that would find the object of a step after it, because the step sets an attribute that they search.
    fn that_would_find(
        &self,
        (step, object): (&Step, Option<&ObjectKey>),
        ledger: &Ledger,
        snapshot: &Snapshot,
    ) -> Vec<(usize, &'a UnitLookup)> {
        let live = object.and_then(|key| snapshot.objects.get(key));
        let value_of = |name: &Name| -> Option<String> {
            if name == "id" {
                return object.map(|key| key.id.to_string());
            }
            if name == PROJECT {
                let known = live.and_then(|object| object.project.as_ref());
                return known.map(Name::to_string).or_else(|| project_of_created(step, ledger));
            }
            let set = planned_attribute(step, name);
            set.or_else(|| live?.attributes.get(name)).map(Value::to_string)
        };
        let mut found = Vec::new();
        for ((_, names), searches) in self.0.iter().filter(|((kind, _), _)| **kind == step.kind) {
            if !names.iter().any(|name| planned_attribute(step, name).is_some()) {
                continue;
            }
            let values: Option<Vec<String>> = names.iter().map(|name| value_of(name)).collect();
            let Some(values) = values else { continue };
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            found.extend(searches.get(&values).into_iter().flatten());
        }
        found
    }
}

/// Returns the id of the project that a step creates its object in; `None` if that does not exist yet, or there is none.
fn project_of_created(step: &Step, ledger: &Ledger) -> Option<String> {
    match &step.operation {
        Operation::Create { project: TargetProject::Id(id), .. } => Some(id.to_string()),
        Operation::Create { project: TargetProject::Resource(address), .. } => {
            let project = ledger.entries.get(address)?.current.as_ref()?;
            Some(project.id.to_string())
        }
        _ => None,
    }
}

/// Returns the value of an attribute that a step sets; `None` if it does not set it, or the value is not known.
pub(super) fn planned_attribute<'a>(step: &'a Step, name: &str) -> Option<&'a Value> {
    match &step.operation {
        Operation::Create { desired, remember, .. } if !remember.let_go => {
            desired.get(name).and_then(|expression| expression.known_value())
        }
        Operation::Update { calls, .. } => {
            let changed = calls.iter().find_map(|call| call.attributes.get(name));
            changed.and_then(|(_, after)| after.known_value())
        }
        _ => None,
    }
}

/// Returns whether a step changes an attribute of its object.
fn changes(step: &Step, attribute: &Name) -> bool {
    match &step.operation {
        Operation::Update { calls, .. } => calls.iter().any(|call| call.attributes.contains_key(attribute)),
        _ => false,
    }
}
