//! Conflicts between the plans of units: what the service would refuse, or what would break another unit, although each
//! plan alone is right. In: the plans of one account with their ledgers, and the snapshot. Out: blockers by unit, in both
//! units of a conflict, so that nothing is sent.

mod live_users;
pub mod lookups;
pub mod outside_readers;
mod shared_objects;
pub mod transfer_claims;
mod unit_claims;

use std::collections::{BTreeMap, BTreeSet};

use foldhash::{HashMap, HashMapExt};
use ipnet::Ipv4Net;

use self::live_users::{LiveUsers, live_users};
use self::lookups::{
    BrokenLookup, LookupLoss, PlannedSteps, UnitLookup, find_broken_lookups, planned_attribute,
};
use self::shared_objects::block_shared_objects;
use self::unit_claims::{Claimant, RemovalUse, add_pair, add_pair_with_help, equal_sides};
pub use self::unit_claims::{UnitBlockers, UnitClaims, UsedObjects};
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::model::diagnostic::blocker_code::UNIT_CONFLICT;
use crate::model::live::snapshot::{ObjectKey, Snapshot};
use crate::model::schema::meaning::to_comparable;
use crate::model::schema::{Kind, KindScope, Registry, RuleCheck};
use crate::model::values::value::Value;
use crate::plan::model::block::Blocker;
use crate::plan::model::change::{Action, Plan};
use crate::plan::model::note::{NoteCode, PlanNote};
use crate::plan::model::step::{LedgerUpdate, Operation, Step, TargetProject};

/// What the plans of the units of one account have to do with each other.
#[derive(Debug, Default)]
pub struct UnitConflicts {
    /// The conflicts, in both units of each.
    pub blockers: UnitBlockers,
    /// Who uses what the units delete.
    pub users: RemovalUsers,
    /// What a plan reads that another unit changes, by the position of the unit.
    pub notes: BTreeMap<usize, Vec<PlanNote>>,
}

/// The pairs of a unit and one whose live objects use an object that the first deletes: the deletion has to wait for the second,
/// whose plan ends the use of the object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemovalUsers {
    /// Those whose use the service protects: it refuses the deletion before.
    pub held: BTreeSet<(usize, usize)>,
    /// The others: the service would end the use by itself, such as an attachment, or shows none, such as the copy of an output.
    pub attached: BTreeSet<(usize, usize)>,
}

/// Compares the plans of the units of one account. `snapshot` is the one that all of them were planned with.
#[must_use]
pub fn find_conflicts(registry: Registry, snapshot: &Snapshot, units: &[UnitClaims<'_>]) -> UnitConflicts {
    let mut found = UnitConflicts { notes: stale_read_notes(units), ..UnitConflicts::default() };
    let blockers = &mut found.blockers;
    block_repeated_values(registry, snapshot, units, blockers);
    block_overlaps(registry, units, blockers);
    block_repeated_adoptions(units, blockers);
    block_shared_objects(units, blockers);
    let removed: Vec<Removal<'_>> =
        units.iter().enumerate().flat_map(|(number, unit)| removals(number, unit)).collect();
    if !removed.is_empty() {
        let live = live_users(registry, snapshot, units);
        block_removals_in_use(units, (&removed, &live), blockers);
        found.users = users_of_removed(&removed, &live);
        found.users.attached.extend(former_readers(units, &removed));
    }
    block_broken_lookups(snapshot, units, &mut found.blockers);
    found
}

/// Returns who uses what the units delete.
fn users_of_removed(removed: &[Removal<'_>], live: &LiveUsers<'_>) -> RemovalUsers {
    let mut found = RemovalUsers::default();
    for removal in removed {
        let unit = removal.claimant.0;
        for user in live.get(&removal.key).into_iter().flatten().filter(|user| user.unit != unit) {
            let pairs = if user.is_held { &mut found.held } else { &mut found.attached };
            pairs.insert((unit, user.unit));
        }
    }
    found
}

/// Returns the pairs of a unit that deletes something and one that read its outputs when it was last applied, and no longer does.
/// What that one has of an output may be a mere copy, such as an address, which no live object shows to be a use.
fn former_readers(units: &[UnitClaims<'_>], removed: &[Removal<'_>]) -> BTreeSet<(usize, usize)> {
    let deleting: BTreeSet<usize> = removed.iter().map(|removal| removal.claimant.0).collect();
    let deleting: BTreeMap<Name, usize> =
        deleting.into_iter().map(|unit| (Name::new(units[unit].name.to_string()), unit)).collect();
    let mut pairs = BTreeSet::new();
    for (reader, claims) in units.iter().enumerate() {
        let upstream = claims.ledger.recorded_upstream().filter_map(|name| deleting.get(name).copied());
        let ended =
            upstream.filter(|unit| *unit != reader && !claims.reads.contains_key(units[*unit].name));
        pairs.extend(ended.map(|unit| (unit, reader)));
    }
    pairs
}

/// Returns where the values of a step's object must be unique: the account, a project or a parent. `None` where that does
/// not exist yet: nothing of another unit can be in it.
fn home(step: &Step, kind: &Kind, ledger: &Ledger, snapshot: &Snapshot) -> Option<Name> {
    let id_of = |address: &Address| {
        let entry = ledger.entries.get(address)?;
        entry.current.as_ref().map(|owned| owned.id.clone())
    };
    match (&step.operation, kind.scope) {
        (_, KindScope::Account) => Some(Name::default()),
        (Operation::Create { parent, .. }, KindScope::Child { .. }) => id_of(parent.as_ref()?),
        (Operation::Create { project, .. }, KindScope::Project) => match project {
            TargetProject::Id(project) => Some(project.clone()),
            TargetProject::Resource(address) => id_of(address),
            TargetProject::None => None,
        },
        (Operation::Update { object, .. }, KindScope::Project) => {
            snapshot.objects.get(object.as_ref()?)?.project.clone()
        }
        (Operation::Update { object, .. }, KindScope::Child { .. }) => object.as_ref()?.parent.clone(),
        (Operation::Delete { .. }, _) => None,
    }
}

/// Returns the sets of attributes of a kind whose values must be unique, and whether that is over all projects.
fn unique_sets(kind: &'static Kind) -> Vec<(Vec<&'static str>, bool)> {
    let mut sets = vec![(vec![kind.known_by], false)];
    for rule in kind.rules {
        match rule.check {
            RuleCheck::Unique { attributes } => sets.push((attributes.to_vec(), false)),
            RuleCheck::UniqueOverall { attributes } => sets.push((attributes.to_vec(), true)),
            _ => {}
        }
    }
    sets.sort();
    sets.dedup();
    sets
}

fn block_repeated_values(
    registry: Registry,
    snapshot: &Snapshot,
    units: &[UnitClaims<'_>],
    blockers: &mut UnitBlockers,
) {
    type ValueKey<'k> = (&'k str, Vec<&'static str>, Name, String);
    let mut claimed: HashMap<ValueKey<'_>, Claimant<'_>> = HashMap::new();
    for (number, unit) in units.iter().enumerate() {
        for step in &unit.plan.steps {
            let Some(kind) = registry.kind(&step.kind) else { continue };
            for (attributes, overall) in unique_sets(kind) {
                let scope =
                    if overall { Some(Name::default()) } else { home(step, kind, unit.ledger, snapshot) };
                let Some((scope, values)) = scope.zip(unique_values(step, kind, &attributes, snapshot))
                else {
                    continue;
                };
                let what = format!("would have the same {}", attributes.join(" and "));
                let key = (kind.name, attributes, scope, values);
                match claimed.get(&key) {
                    Some(other) if other.0 != number => {
                        let pair = ((number, &step.address), *other);
                        let texts = equal_sides(units, pair.0, pair.1, |_| what.clone());
                        add_pair(units, pair, texts, blockers);
                    }
                    Some(_) => {}
                    None => drop(claimed.insert(key, (number, &step.address))),
                }
            }
        }
    }
}

/// Returns the values of a set of attributes after a step, each followed by a NUL; `None` if the step sets none of them, or
/// one is unknown or not set.
fn unique_values(
    step: &Step,
    kind: &'static Kind,
    attributes: &[&'static str],
    snapshot: &Snapshot,
) -> Option<String> {
    let live = match &step.operation {
        Operation::Update { object: Some(key), .. } => snapshot.objects.get(key),
        _ => None,
    };
    if !attributes.iter().any(|name| planned_attribute(step, name).is_some()) {
        return None;
    }
    let mut values = String::new();
    for name in attributes {
        let attribute = kind.attribute(name)?;
        let value = planned_attribute(step, name)
            .or_else(|| live.and_then(|object| object.attributes.get(*name)))?;
        if value.is_unknown() || value.is_secret() || *value == Value::Null {
            return None;
        }
        values.push_str(&to_comparable(&attribute.ty, value).to_string());
        values.push('\0');
    }
    Some(values)
}

fn block_overlaps(registry: Registry, units: &[UnitClaims<'_>], blockers: &mut UnitBlockers) {
    for kind in registry.kinds {
        for rule in kind.rules {
            let RuleCheck::NoOverlap { attribute } = rule.check else { continue };
            let mut networks: Vec<(Ipv4Net, Claimant<'_>)> = Vec::new();
            for (number, unit) in units.iter().enumerate() {
                let steps = unit.plan.steps.iter().filter(|step| step.kind == kind.name);
                networks.extend(steps.filter_map(|step| {
                    let network = planned_attribute(step, attribute)?.as_text()?.parse().ok()?;
                    Some((network, (number, &step.address)))
                }));
            }
            // Two networks nest or are disjoint: one that is inside of another comes after it, with nothing but other
            // networks inside of it between them.
            networks
                .sort_by_key(|(network, claimant)| (network.network(), network.prefix_len(), *claimant));
            let mut around: Vec<(Ipv4Net, Claimant<'_>)> = Vec::new();
            for (network, claimant) in networks {
                around.retain(|(outer, _)| outer.contains(&network));
                if let Some((outer, other)) = around.iter().find(|(_, other)| other.0 != claimant.0) {
                    let what = |is_first: bool| {
                        let (own, with) = if is_first { (network, *outer) } else { (*outer, network) };
                        format!("would overlap: {own} and {with}")
                    };
                    add_pair(
                        units,
                        (claimant, *other),
                        equal_sides(units, claimant, *other, what),
                        blockers,
                    );
                }
                around.push((network, claimant));
            }
        }
    }
}

fn block_repeated_adoptions(units: &[UnitClaims<'_>], blockers: &mut UnitBlockers) {
    let mut adopted: BTreeMap<ObjectKey, Claimant<'_>> = BTreeMap::new();
    for (number, unit) in units.iter().enumerate() {
        for update in &unit.plan.bookkeeping {
            let LedgerUpdate::Remember(address, entry) = update else { continue };
            let Some(owned) = &entry.current else { continue };
            let known = unit.ledger.entries.get(address).and_then(|entry| entry.current.as_ref());
            if known.is_some_and(|known| known.id == owned.id) {
                continue;
            }
            match adopted.get(&owned.key(&entry.kind)) {
                Some(other) if other.0 != number => {
                    let pair = ((number, address), *other);
                    let what = |_| format!("would adopt one object, {}", owned.id);
                    add_pair(units, pair, equal_sides(units, pair.0, pair.1, what), blockers);
                }
                Some(_) => {}
                None => drop(adopted.insert(owned.key(&entry.kind), (number, address))),
            }
        }
    }
}

/// What a unit deletes: the object, whether another step must wait for the deletion, and whether that creates the object
/// of the same resource.
struct Removal<'a> {
    claimant: Claimant<'a>,
    key: ObjectKey,
    is_awaited: bool,
    is_replaced: bool,
}

fn removals<'a>(number: usize, unit: &UnitClaims<'a>) -> Vec<Removal<'a>> {
    let awaited = awaited_steps(&unit.plan.steps);
    let removal = |(position, step): (usize, &'a Step)| match &step.operation {
        Operation::Delete { object, deposed } => Some(Removal {
            claimant: (number, &step.address),
            key: object.key(&step.kind),
            is_awaited: awaited[position],
            is_replaced: !deposed && is_deleted_first(unit.plan, &step.address),
        }),
        _ => None,
    };
    unit.plan.steps.iter().enumerate().filter_map(removal).collect()
}

/// Returns whether the object of a resource must be deleted before it is created again.
fn is_deleted_first(plan: &Plan, address: &Address) -> bool {
    let change = plan.changes.iter().find(|change| change.address == *address);
    change.is_some_and(|change| change.action == Action::Replace && change.create_first == Some(false))
}

/// Returns for each step whether a creation or an update waits for it, directly or through others: a deletion of that kind
/// cannot wait until other units no longer use the object.
fn awaited_steps(steps: &[Step]) -> Vec<bool> {
    let mut awaited = vec![false; steps.len()];
    // Each step comes after those that it depends on, so what waits for a step is known before the step.
    for (number, step) in steps.iter().enumerate().rev() {
        let changes = match &step.operation {
            Operation::Delete { .. } => false,
            // A final snapshot is a part of a deletion, and so is an update that only undoes links.
            Operation::Create { remember, .. } => !remember.let_go,
            Operation::Update { desired, .. } => !desired.is_empty(),
        };
        if changes || awaited[number] {
            for before in &step.after {
                awaited[*before] = true;
            }
        }
    }
    awaited
}

/// Blocks the deletion of an object that another unit uses after its plan, and a replacement that deletes first an object
/// that another unit uses until its own plan is applied.
fn block_removals_in_use(
    units: &[UnitClaims<'_>],
    (removed, live): (&[Removal<'_>], &LiveUsers<'_>),
    blockers: &mut UnitBlockers,
) {
    for removal in removed {
        let (number, address) = removal.claimant;
        // Each resource that uses the object counts once, with the reason that no order of the two applies removes.
        let mut users: BTreeMap<Claimant<'_>, RemovalUse> = BTreeMap::new();
        for (other, unit) in units.iter().enumerate().filter(|(other, _)| *other != number) {
            if let Some(user) = unit.uses.used.get(&removal.key) {
                users.insert((other, user), RemovalUse::Planned);
            }
        }
        for user in live.get(&removal.key).into_iter().flatten().filter(|user| user.unit != number) {
            let how = if removal.is_replaced && removal.is_awaited {
                RemovalUse::LiveWhileReplaced
            } else if removal.is_awaited {
                RemovalUse::LiveWhileAwaited
            } else if lets_go(&units[user.unit], user.key, user.attribute) {
                continue;
            } else {
                RemovalUse::Planned
            };
            users.entry((user.unit, user.address)).or_insert(how);
        }
        for (user, how) in users {
            let texts = how.texts(units, removal.claimant, user);
            // A lookup stays as it is when its unit is applied.
            let is_lookup = user.1.root() == "data";
            let remedy = if is_lookup { forced_remedy(units, number, user.0) } else { String::new() };
            add_pair_with_help(units, (removal.claimant, user), (texts, &remedy), blockers);
        }
        if removal.is_replaced {
            block_read_outputs(units, (number, address), blockers);
        }
    }
}

/// Blocks a replacement that deletes first an object that an output shows which an applied unit reads.
fn block_read_outputs(
    units: &[UnitClaims<'_>],
    (number, address): Claimant<'_>,
    blockers: &mut UnitBlockers,
) {
    let unit = &units[number];
    for reader in units {
        let outputs = reader.reads.get(unit.name).filter(|_| !reader.ledger.entries.is_empty());
        let shows = |output: &&Name| {
            unit.plan.outputs.get(*output).is_some_and(|value| value.addresses().contains(address))
        };
        let Some(output) = outputs.and_then(|outputs| outputs.iter().find(shows)) else { continue };
        blockers.entry(number).or_default().push(Blocker {
            code: UNIT_CONFLICT.code.into(),
            address: Some(address.clone()),
            text: format!(
                "{address} must be deleted before it is created again, and {} still uses it: it reads the output `{output}`.",
                reader.name
            ),
            help: "Change in the same commit what keeps the old object and the new one from existing at once, such as an overlapping `cidr`, and set `lifecycle: { replace: create_first }`; or remove what reads the output first.".to_owned(),
            source: None,
        });
    }
}

/// Blocks the change of an attribute by which another unit looks an object up, and a second object that its lookup would find:
/// its next plan would fail.
fn block_broken_lookups(snapshot: &Snapshot, units: &[UnitClaims<'_>], blockers: &mut UnitBlockers) {
    let numbered = || units.iter().enumerate();
    let lookups: Vec<(usize, &UnitLookup)> = numbered()
        .flat_map(|(number, unit)| unit.uses.lookups.iter().map(move |lookup| (number, lookup)))
        .collect();
    let plans = numbered().map(|(unit, one)| PlannedSteps { unit, plan: one.plan, ledger: one.ledger });
    for BrokenLookup { reader: (reader, lookup), owner, loss } in
        find_broken_lookups(&lookups, plans, snapshot)
    {
        let (own, name, lookup) = (owner.1, units[reader].name, &lookup.address);
        let texts = match loss {
            // What still uses a deleted object is compared with all uses of it.
            LookupLoss::Deleted => continue,
            LookupLoss::Changed(attribute) => [
                format!("{own} would have another {attribute}, by which {lookup} of {name} finds it."),
                format!(
                    "{lookup} finds {own} of {} by its {attribute}, which would change.",
                    units[owner.0].name
                ),
            ],
            LookupLoss::Repeated(attributes) => [
                format!(
                    "{own} would have the {attributes} by which {lookup} of {name} finds another object."
                ),
                format!(
                    "{lookup} would find a second object: {own} of {} would have the same {attributes}.",
                    units[owner.0].name
                ),
            ],
        };
        let remedy = forced_remedy(units, owner.0, reader);
        add_pair_with_help(units, (owner, (reader, lookup)), (texts, &remedy), blockers);
    }
}

/// Returns the remedy that applies the one unit, and lets the lookup of the other fail until it is changed.
fn forced_remedy(units: &[UnitClaims<'_>], owner: usize, reader: usize) -> String {
    let (owner, reader) = (units[owner].name, units[reader].name);
    format!(" Or apply --stacks {owner} --force-readers {reader}, and change the lookup after that.")
}

/// Returns notes for the units that read, through a lookup, an attribute that another unit changes: their plans have the value
/// before that.
fn stale_read_notes(units: &[UnitClaims<'_>]) -> BTreeMap<usize, Vec<PlanNote>> {
    type Reads<'a> = Vec<(Option<&'a Name>, Claimant<'a>)>;
    let mut reads: HashMap<&ObjectKey, Reads<'_>> = HashMap::new();
    for (number, unit) in units.iter().enumerate() {
        for ((key, attribute), lookup) in &unit.uses.reads {
            reads.entry(key).or_default().push((attribute.as_ref(), (number, lookup)));
        }
    }
    let mut notes: BTreeMap<usize, Vec<PlanNote>> = BTreeMap::new();
    if reads.is_empty() {
        return notes;
    }
    for (number, unit) in units.iter().enumerate() {
        for step in &unit.plan.steps {
            let Operation::Update { object: Some(key), calls, .. } = &step.operation else { continue };
            for (attribute, (reader, lookup)) in reads.get(key).into_iter().flatten() {
                let changed: BTreeSet<&Name> =
                    calls.iter().flat_map(|call| call.attributes.keys()).collect();
                let read = changed.iter().find(|name| attribute.is_none_or(|wanted| wanted == **name));
                let Some(read) = read.filter(|_| *reader != number) else { continue };
                notes.entry(*reader).or_default().push(PlanNote {
                    code: NoteCode::StaleRead,
                    text: format!(
                        "{lookup} finds {} of {}, which changes its {read}: this plan has the value before that.",
                        step.address, unit.name
                    ),
                    help: "Plan again after that unit is applied, or read an output of it.".to_owned(),
                    source: None,
                    address: Some((*lookup).clone()),
                });
            }
        }
    }
    notes
}

/// Returns whether a unit's plan deletes an object, or changes its attribute.
fn lets_go(unit: &UnitClaims<'_>, key: &ObjectKey, attribute: Option<&'static str>) -> bool {
    unit.plan.steps.iter().any(|step| match &step.operation {
        Operation::Delete { object, .. } => object.key(&step.kind) == *key,
        Operation::Update { object: Some(changed), calls, .. } if changed == key => {
            attribute.is_some_and(|name| calls.iter().any(|call| call.attributes.contains_key(name)))
        }
        _ => false,
    })
}
