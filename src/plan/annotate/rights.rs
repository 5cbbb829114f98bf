//! The rights that the steps of a plan need, compared with those of a key. In: a plan, the ledger and what the service
//! shows about the key; out: the needs that the key does not meet, and those of which that is not known. Pure. Nothing
//! here is part of a plan's decisions: a plan that one key makes may be applied with another one.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};

use crate::ledger::state::entry::OwnedObject;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::model::expression::Expression;
use crate::model::live::key_access::{KeyAccess, RightPlace, RightStatus};
use crate::model::schema::{HandedOn, KindScope, Registry, RightScope, Rights};
use crate::model::values::value::Value;
use crate::plan::model::change::Plan;
use crate::plan::model::step::{LedgerUpdate, Operation, Step, TargetProject};

/// A right that steps need.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NeededRight {
    /// The name of the right, such as `compute:write`; of a kind without a known right, the kind's name.
    pub right: Name,
    /// The project in which it is needed: its id, or the address of a project that the plan creates. `None` for the account.
    pub project: Option<Name>,
}

/// The steps that need a right, and the objects that only a key with the right can know to be gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeedingSteps {
    /// What they need.
    pub needed: NeededRight,
    /// Their numbers in the plan, ascending.
    pub steps: Vec<usize>,
    /// The addresses of the objects that the plan takes for gone. The service shows no object of a project to a key that may
    /// not read there, and answers for each as if it did not exist.
    pub gone: Vec<Address>,
}

/// The rights of a key, compared with the needs of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RightsReview {
    /// Needs that the key does not meet: the service would refuse these steps.
    pub missing: Vec<NeedingSteps>,
    /// Needs of which it is not known whether the key meets them.
    pub unknown: Vec<NeedingSteps>,
}

/// Needs with their status: the numbers of the steps, and the addresses of the objects that are taken for gone.
type FoundNeeds = BTreeMap<(RightStatus, NeededRight), (Vec<usize>, Vec<Address>)>;

/// Compares what the steps of a plan need with the rights of a key.
#[must_use]
pub fn review_rights(plan: &Plan, ledger: &Ledger, registry: Registry, key: &KeyAccess) -> RightsReview {
    let scan = Scan::new(plan, ledger, registry, key);
    let mut found = scan.needs_to_see();
    for (number, step) in plan.steps.iter().enumerate() {
        let mut needs: Vec<(NeededRight, RightStatus)> = scan.needs_of(step);
        needs.retain(|(_, status)| *status != RightStatus::Held);
        needs.sort();
        needs.dedup();
        for (needed, status) in needs {
            found.entry((status, needed)).or_default().0.push(number);
        }
    }
    sort_needs(found)
}

/// Compares what a check of the objects that a plan takes for gone needs with the rights of a key.
#[must_use]
pub fn review_unseen(plan: &Plan, ledger: &Ledger, registry: Registry, key: &KeyAccess) -> RightsReview {
    sort_needs(Scan::new(plan, ledger, registry, key).needs_to_see())
}

fn sort_needs(found: FoundNeeds) -> RightsReview {
    let mut review = RightsReview::default();
    for ((status, needed), (steps, gone)) in found {
        let one = NeedingSteps { needed, steps, gone };
        match status {
            RightStatus::Held => {}
            RightStatus::Unknown => review.unknown.push(one),
            RightStatus::Missing => review.missing.push(one),
        }
    }
    review
}

/// Returns the objects that a plan takes for gone, by address and id.
pub fn gone_objects(plan: &Plan) -> impl Iterator<Item = (&Address, &Name)> {
    plan.bookkeeping.iter().filter_map(|update| match update {
        LedgerUpdate::Gone(address, id) => Some((address, id)),
        _ => None,
    })
}

/// Returns the right that a step needs for its object, such as `compute:write`; `None` if no right of its kind is known.
#[must_use]
pub fn step_right(step: &Step, registry: Registry) -> Option<&'static str> {
    registry.kind(&step.kind)?.rights.map(|rights| right_of(step, &rights))
}

const fn right_of(step: &Step, rights: &Rights) -> &'static str {
    match step.operation {
        Operation::Create { .. } => rights.create,
        Operation::Update { .. } => rights.update,
        Operation::Delete { .. } => rights.delete,
    }
}

/// The project of a step.
enum StepProject {
    /// An object of the account.
    Account,
    /// The project with this id.
    Known(Name),
    /// A project that the plan creates.
    New(Address),
}

struct Scan<'a> {
    plan: &'a Plan,
    ledger: &'a Ledger,
    registry: Registry,
    key: &'a KeyAccess,
    /// The first step that creates an object of each address.
    creations: HashMap<&'a Address, &'a Step>,
    /// The new projects that the plan gives members.
    with_members: HashSet<&'a Address>,
    /// The addresses of the roles that the ledger owns, by id.
    roles: HashMap<&'a Name, &'a Address>,
    /// The steps that give roles their rights, by the address of the role, in order.
    role_steps: HashMap<&'a Address, Vec<&'a Step>>,
}

impl<'a> Scan<'a> {
    fn new(plan: &'a Plan, ledger: &'a Ledger, registry: Registry, key: &'a KeyAccess) -> Self {
        let (mut creations, mut with_members) = (HashMap::new(), HashSet::new());
        let mut role_steps: HashMap<&Address, Vec<&Step>> = HashMap::new();
        let rights_of = |kind: &Name| registry.kind(kind).and_then(|kind| kind.rights);
        let gives_rights = |kind: &Name| {
            matches!(rights_of(kind).and_then(|rights| rights.hands_on), Some(HandedOn::Listed(_)))
        };
        for step in &plan.steps {
            if gives_rights(&step.kind) {
                role_steps.entry(&step.address).or_default().push(step);
            }
            let Operation::Create { parent, .. } = &step.operation else { continue };
            creations.entry(&step.address).or_insert(step);
            let scope = rights_of(&step.kind).map(|rights| rights.scope);
            with_members.extend(parent.as_ref().filter(|_| scope == Some(RightScope::ProjectItself)));
        }
        let roles = ledger.entries.iter().filter(|(_, entry)| gives_rights(&entry.kind));
        let roles = roles.filter_map(|(address, entry)| Some((&entry.current.as_ref()?.id, address)));
        Self { plan, ledger, registry, key, creations, with_members, roles: roles.collect(), role_steps }
    }

    fn needs_of(&self, step: &Step) -> Vec<(NeededRight, RightStatus)> {
        let rights = self.registry.kind(&step.kind).and_then(|kind| kind.rights);
        let Some(rights) = rights else {
            let needed = NeededRight { right: step.kind.clone(), project: None };
            return vec![(needed, RightStatus::Unknown)];
        };
        let right = right_of(step, &rights);
        let project = self.project_of(step);
        let mut needs: Vec<(NeededRight, RightStatus)> =
            [right, rights.read].map(|right| self.need(right, &rights, &project)).into();
        // The rights that it hands on, the caller must have in the same place.
        let handed_on = self.handed_on(step, &rights).unwrap_or_default();
        needs.extend(handed_on.iter().map(|right| self.need(right, &rights, &project)));
        needs
    }

    /// Returns the rights that are needed to see the objects that the plan takes for gone.
    fn needs_to_see(&self) -> FoundNeeds {
        let mut found = FoundNeeds::new();
        for (address, id) in gone_objects(self.plan) {
            if let Some((needed, status)) = self.need_to_see(address, id) {
                found.entry((status, needed)).or_default().1.push(address.clone());
            }
        }
        found
    }

    /// Returns the right that is needed to see an object of the ledger; `None` if no right of its kind is known.
    fn need_to_see(&self, address: &Address, id: &Name) -> Option<(NeededRight, RightStatus)> {
        let entry = self.ledger.entries.get(address)?;
        let kind = self.registry.kind(&entry.kind)?;
        let rights = kind.rights?;
        let owned = entry.current.iter().chain(&entry.deposed).find(|owned| owned.id == *id)?;
        let project = match (rights.scope, kind.scope) {
            (RightScope::ProjectItself, _) if kind.child_of().is_none() => StepProject::Known(id.clone()),
            (RightScope::ProjectItself, _) => {
                entry.parent.as_ref().map_or(StepProject::Account, |parent| self.project_at(parent))
            }
            (_, KindScope::Account) => StepProject::Account,
            (_, KindScope::Project | KindScope::Child { .. }) => self.project_of_object(owned, address),
        };
        Some(self.need(rights.read, &rights, &project))
    }

    fn need(&self, right: &str, rights: &Rights, project: &StepProject) -> (NeededRight, RightStatus) {
        let name = match (rights.scope, project) {
            (RightScope::Account, _) | (_, StepProject::Account) => None,
            (_, StepProject::Known(id)) => Some(id.clone()),
            (_, StepProject::New(address)) => Some(Name::new(address.as_str())),
        };
        let id = match project {
            StepProject::Known(id) => Some(id),
            StepProject::Account | StepProject::New(_) => None,
        };
        let place = match rights.scope {
            RightScope::Account => RightPlace::Account,
            RightScope::Project => RightPlace::InProject(id),
            RightScope::ProjectItself if matches!(project, StepProject::Account) => RightPlace::Account,
            RightScope::ProjectItself => RightPlace::Project(id),
        };
        let status = match (self.key.status(right, place), project) {
            // The plan may give the key access to the project that it creates.
            (RightStatus::Missing, StepProject::New(project)) if self.with_members.contains(project) => {
                RightStatus::Unknown
            }
            (status, _) => status,
        };
        (NeededRight { right: right.into(), project: name }, status)
    }

    fn project_of(&self, step: &Step) -> StepProject {
        let kind = self.registry.kind(&step.kind);
        let scope = kind.and_then(|kind| kind.rights).map(|rights| rights.scope);
        if scope == Some(RightScope::ProjectItself) {
            return self.project_itself(step, kind.is_some_and(|kind| kind.child_of().is_some()));
        }
        match kind.map(|kind| kind.scope) {
            Some(KindScope::Account) | None => return StepProject::Account,
            Some(KindScope::Project | KindScope::Child { .. }) => {}
        }
        match &step.operation {
            Operation::Create { project, parent, .. } => match (project, parent) {
                (TargetProject::Id(id), _) => StepProject::Known(id.clone()),
                (TargetProject::Resource(address), _) => self.project_at(address),
                (TargetProject::None, Some(parent)) => self.project_of_entry(parent),
                (TargetProject::None, None) => self.default_project(),
            },
            Operation::Update { object, .. } => {
                let entry = self.ledger.entries.get(&step.address);
                let owned = entry.into_iter().flat_map(|entry| entry.current.iter().chain(&entry.deposed));
                let mut owned = owned.filter(|one| object.as_ref().is_none_or(|key| key.id == one.id));
                match owned.next() {
                    Some(owned) => self.project_of_object(owned, &step.address),
                    // The object is created earlier in the same plan.
                    None => self.project_of_created(&step.address),
                }
            }
            Operation::Delete { object, .. } => self.project_of_object(object, &step.address),
        }
    }

    /// Returns the project of a step on a project itself, or on one of its members; the account for a new project.
    fn project_itself(&self, step: &Step, is_child: bool) -> StepProject {
        if is_child {
            let parent = match &step.operation {
                Operation::Create { parent, .. } => parent.clone(),
                Operation::Update { .. } | Operation::Delete { .. } => {
                    self.ledger.entries.get(&step.address).and_then(|entry| entry.parent.clone())
                }
            };
            return parent.map_or(StepProject::Account, |parent| self.project_at(&parent));
        }
        match &step.operation {
            Operation::Create { .. } => StepProject::Account,
            Operation::Update { .. } => self.project_at(&step.address),
            Operation::Delete { object, .. } => StepProject::Known(object.id.clone()),
        }
    }

    fn project_at(&self, address: &Address) -> StepProject {
        let current = self.ledger.entries.get(address).and_then(|entry| entry.current.as_ref());
        match current {
            Some(owned) => StepProject::Known(owned.id.clone()),
            None => StepProject::New(address.clone()),
        }
    }

    fn project_of_object(&self, owned: &OwnedObject, address: &Address) -> StepProject {
        if let Some(project) = &owned.project {
            return StepProject::Known(project.clone());
        }
        let parent = self.ledger.entries.get(address).and_then(|entry| entry.parent.as_ref());
        parent.map_or_else(|| self.default_project(), |parent| self.project_of_entry(parent))
    }

    fn project_of_entry(&self, address: &Address) -> StepProject {
        let current = self.ledger.entries.get(address).and_then(|entry| entry.current.as_ref());
        match current {
            Some(owned) => self.project_of_object(owned, address),
            None => self.project_of_created(address),
        }
    }

    fn project_of_created(&self, address: &Address) -> StepProject {
        match self.creations.get(address) {
            Some(step) => self.project_of(step),
            None => self.default_project(),
        }
    }

    /// Returns the account's default project, by which a plan identifies the account.
    fn default_project(&self) -> StepProject {
        match self.plan.base.account.as_str() {
            "" => StepProject::Account,
            _ => StepProject::Known(self.plan.base.account.clone()),
        }
    }

    /// Returns the rights that a step hands on, as far as they are known; `None` if it hands on nothing.
    fn handed_on(&self, step: &Step, rights: &Rights) -> Option<BTreeSet<Name>> {
        let what = rights.hands_on?;
        let (HandedOn::Role(name) | HandedOn::Listed(name)) = what;
        let sent = match &step.operation {
            Operation::Create { desired, .. } => desired.get(name),
            Operation::Update { calls, .. } => {
                calls.iter().find_map(|call| Some(&call.attributes.get(name)?.1))
            }
            Operation::Delete { .. } => None,
        }?;
        match what {
            HandedOn::Listed(_) => sent.known_value().map(texts_of),
            HandedOn::Role(_) => Some(self.rights_of_role(sent)),
        }
    }

    /// Returns the rights of a role as they are when the plan refers to it; none if they are not known.
    fn rights_of_role(&self, role: &Expression) -> BTreeSet<Name> {
        if let Some(address) = role.addresses().first() {
            let entry = self.ledger.entries.get(*address).and_then(|entry| entry.current.as_ref());
            return self.rights_of_role_at(address, entry.map(|owned| &owned.id));
        }
        let Some(id) = role.known_value().and_then(Value::as_text).map(Name::new) else {
            return BTreeSet::new();
        };
        match self.roles.get(&id) {
            Some(address) => self.rights_of_role_at(address, Some(&id)),
            None => self.key.roles.get(&id).cloned().unwrap_or_default(),
        }
    }

    /// Returns the rights of the role of an address: those that the plan gives it, or those that it has already.
    fn rights_of_role_at(&self, address: &Address, id: Option<&Name>) -> BTreeSet<Name> {
        // Only the steps of this role: those of other objects may hand on the rights of roles in turn.
        let given = |step: &&Step| {
            let rights = self.registry.kind(&step.kind)?.rights?;
            self.handed_on(step, &rights)
        };
        let planned = self.role_steps.get(address).and_then(|steps| steps.iter().rev().find_map(given));
        planned.or_else(|| self.key.roles.get(id?).cloned()).unwrap_or_default()
    }
}

fn texts_of(value: &Value) -> BTreeSet<Name> {
    match value {
        Value::List(items) => items.iter().filter_map(Value::as_text).map(Name::new).collect(),
        _ => BTreeSet::new(),
    }
}
