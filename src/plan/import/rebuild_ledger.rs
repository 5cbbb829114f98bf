//! Rebuilding a lost ledger: finds the live objects of a stack's resources. Pure.
//!
//! The kind's table gives the attributes that identify an object: the name, a network that must not overlap, or else
//! what must be unique. References are resolved as their targets are found. An object is assigned only if
//! exactly one resource matches it.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::{HashMap, HashMapExt};

use crate::config::stack::model::Stack;
use crate::ledger::state::entry::Entry;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::model::live::snapshot::{Object, RefreshRequest};
use crate::model::schema::{Kind, Presence, Registry, RuleCheck};
use crate::model::values::value::Value;
use crate::plan::blockers::Blockers;
use crate::plan::decide::classify::dependencies_first;
use crate::plan::decide::conflicts::name_conflicts::{
    NameScope, UniqueNameKey, object_home, planned_home, uniqueness_key,
};
use crate::plan::decide::project_assignment::ProjectAssignment;
use crate::plan::decision::{Decision, DecisionKind, DesiredAttribute};
use crate::plan::diff::attributes::returned_value;
use crate::plan::diff::confirmation;
use crate::plan::diff::desired::desired_attributes;
use crate::plan::diff::planned_values::{KnownDecisions, PlannedValues, is_settled};
use crate::plan::inputs::{PlanInputs, PlanningOptions};
use crate::plan::join::joined_state::{JoinedState, ResourceState, owned_from_object};
use crate::plan::join::live_state::is_leaving;
use crate::plan::model::change::Cause;
use crate::plan::model::compare::{self, are_equivalent, fingerprint_secrets, to_canonical};
use crate::plan::moves::resolved::ResolvedDeclarations;
use crate::plan::order::ledger_metadata::build_remember;
use crate::plan::pipeline::refresh_request;

/// The result of matching a stack's resources with live objects.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RebuiltLedger {
    /// Resources whose object was found.
    pub found: Vec<RebuiltEntry>,
    /// Resources that several objects match, or that match the same object as another; the user must choose.
    pub ties: Vec<AmbiguousMatch>,
    /// Resources without a matching object.
    pub missing: Vec<Address>,
}

/// A resource whose object was found.
#[derive(Debug, Clone, PartialEq)]
pub struct RebuiltEntry {
    /// The address of the resource.
    pub address: Address,
    /// The object that was found.
    pub candidate: MatchCandidate,
    /// The entry for the ledger. An object that differs is unconfirmed: deleting or replacing it
    /// needs the user's confirmation.
    pub entry: Box<Entry>,
}

/// A resource that several objects match, or that matches the same object as another.
#[derive(Debug, Clone, PartialEq)]
pub struct AmbiguousMatch {
    /// The address of the resource.
    pub address: Address,
    /// The objects that match it; never empty.
    pub candidates: Vec<MatchCandidate>,
    /// Other resources that match one of these objects equally well; empty if the resource
    /// matches several objects alone.
    pub rivals: Vec<Address>,
}

/// An object that matches a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchCandidate {
    /// The object's kind, as in the tables.
    pub kind: Name,
    /// The object's id at the service.
    pub id: Name,
    /// The creation time as the service shows it (RFC 3339); `None` if it shows none.
    pub created_at: Option<Name>,
    /// Written attributes of which the object shows another value; empty for an exact match.
    pub differs: Vec<&'static str>,
}

impl MatchCandidate {
    /// Returns whether every readable attribute has the written value.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.differs.is_empty()
    }
}

/// Returns the objects and tables to read for the next round, from the objects found so far (`options.adopt`):
/// the children of a found object can be listed only then.
#[must_use]
pub fn rebuild_request<'a>(
    registry: Registry,
    stack: &Stack,
    ledger: &Ledger,
    options: &PlanningOptions,
) -> (RefreshRequest, BTreeSet<&'a str>) {
    let (mut wanted, tables) = refresh_request(registry, stack, ledger, options);
    for resource in stack.resources.values() {
        let parent = resource.parent.as_ref().and_then(|parent| options.adopt.get(parent));
        wanted.parents.extend(parent.map(|id| (resource.kind.name.into(), id.clone())));
    }
    (wanted, tables)
}

/// Finds the objects of a stack's resources. `options.adopt` contains the user's choices; `inputs.ledger`
/// is the new, empty ledger.
#[must_use]
pub fn rebuild_ledger(inputs: &PlanInputs<'_>) -> RebuiltLedger {
    let mut options = inputs.options.clone();
    loop {
        let before = options.adopt.len();
        let recovery = search_once(&PlanInputs { options: &options, ..*inputs });
        let new = recovery.found.iter().map(|found| (found.address.clone(), found.candidate.id.clone()));
        options.adopt.extend(new);
        // Every round finds an object or is the last one, so there are at most as many rounds as chained references.
        if options.adopt.len() == before {
            return recovery;
        }
    }
}

/// Finds the objects that can be identified with those found so far. Entries in `found` are sorted by address.
fn search_once(inputs: &PlanInputs<'_>) -> RebuiltLedger {
    let declared = ResolvedDeclarations::default();
    let joined = JoinedState::new(*inputs, &declared);
    let mut blocks = Blockers::new(&joined);
    let decisions = evaluate_blocks(&joined, &mut blocks);
    let there = index_unowned(&joined);
    let open: Vec<(usize, Vec<&Object>)> = (0..joined.subjects.len())
        .filter(|n| joined.subjects[*n].resource.is_some() && joined.subjects[*n].object().is_none())
        .map(|n| (n, matching_objects(&joined, &joined.subjects[n], &decisions[n], &there)))
        .collect();
    let rivals = rival_addresses(&joined, &open);
    let mut recovery = RebuiltLedger::default();
    for (subject, decision) in joined.subjects.iter().zip(&decisions) {
        let object = subject.object().filter(|_| subject.resource.is_some());
        recovery.found.extend(object.map(|object| found_object(&joined, subject, decision, object)));
    }
    for (n, objects) in &open {
        let (subject, decision) = (&joined.subjects[*n], &decisions[*n]);
        let rivals = rivals.get(n).cloned().unwrap_or_default();
        match objects[..] {
            [] => recovery.missing.push(subject.address.clone()),
            [object] if rivals.is_empty() => {
                recovery.found.push(found_object(&joined, subject, decision, object));
            }
            _ => recovery.ties.push(AmbiguousMatch {
                address: subject.address.clone(),
                candidates: objects
                    .iter()
                    .map(|object| compare_candidate(&joined, decision, object))
                    .collect(),
                rivals,
            }),
        }
    }
    recovery.found.sort_by(|a, b| a.address.cmp(&b.address));
    recovery
}

/// Evaluates every block, as if each known object stays as it is: differences are left to the next plan.
fn evaluate_blocks<'a>(joined: &JoinedState<'a>, blocks: &mut Blockers<'_, 'a>) -> Vec<Decision<'a>> {
    let projects = ProjectAssignment::new(joined, blocks);
    let mut decisions: Vec<Option<Decision<'a>>> = Vec::new();
    decisions.resize_with(joined.subjects.len(), || None);
    for n in dependencies_first(joined, blocks) {
        let subject = &joined.subjects[n];
        let Some(resource) = subject.resource else { continue };
        let act = if subject.object().is_some() { DecisionKind::Keep } else { DecisionKind::Create };
        let mut decision = Decision::without_differences(act, Cause::Config);
        let outlook = PlannedValues { joined, decisions: KnownDecisions::SoFar(&decisions) };
        decision.wants = desired_attributes(joined, subject, resource, &outlook, blocks);
        decision.project = projects.project_of(joined, subject, &outlook);
        decisions[n] = Some(decision);
    }
    let nothing = || Decision::without_differences(DecisionKind::Frozen, Cause::Config);
    decisions.into_iter().map(|decision| decision.unwrap_or_else(nothing)).collect()
}

/// Returns the attributes that identify an object of a kind: the name, if it can be written and read, and any network
/// that must not overlap with another; else the attributes of the first uniqueness rule; else all required attributes.
fn identity_attributes(kind: &'static Kind) -> Vec<&'static str> {
    let named = kind.attribute("name").filter(|name| name.is_writable() && name.is_readable());
    let apart = kind.rules.iter().filter_map(|rule| match rule.check {
        RuleCheck::NoOverlap { attribute } => Some(attribute),
        _ => None,
    });
    let unique = kind.rules.iter().find_map(|rule| match rule.check {
        RuleCheck::Unique { attributes } => Some(attributes),
        _ => None,
    });
    let required = || {
        let all = kind.attributes.iter().filter(|attribute| attribute.presence == Presence::Required);
        all.map(|attribute| attribute.name).collect::<Vec<_>>()
    };
    match (named, unique) {
        (Some(name), _) => std::iter::once(name.name).chain(apart).collect(),
        (None, Some(unique)) => unique.to_vec(),
        (None, None) => required(),
    }
}

/// Returns the unassigned objects by their identifying values; an object that the service is deleting is left out.
fn index_unowned<'a>(joined: &JoinedState<'a>) -> HashMap<UniqueNameKey<'static>, Vec<&'a Object>> {
    let mut there: HashMap<UniqueNameKey<'_>, Vec<&Object>> = HashMap::with_capacity(joined.unowned.len());
    for object in &joined.unowned {
        let Some(kind) = joined.inputs.registry.kind(&object.kind) else { continue };
        // An object of another ledger has an owner, however well it fits.
        if is_leaving(kind, object) || joined.inputs.options.foreign.contains_key(&object.key()) {
            continue;
        }
        let values = identity_attributes(kind).into_iter().map(|name| (name, object.attributes.get(name)));
        if let Some(key) = identity_key(kind, object_home(kind, object), values) {
            there.entry(key).or_default().push(object);
        }
    }
    there
}

fn identity_key<'v>(
    kind: &'static Kind,
    home: Option<NameScope>,
    values: impl Iterator<Item = (&'static str, Option<&'v Value>)>,
) -> Option<UniqueNameKey<'static>> {
    let values: Vec<Option<Value>> =
        values.map(|(name, value)| Some(to_canonical(&kind.attribute(name)?.ty, value?))).collect();
    uniqueness_key(kind, home, values.iter().map(Option::as_ref))
}

/// Returns the objects that match a resource; none while a reference of it is unknown.
fn matching_objects<'a>(
    joined: &JoinedState<'a>,
    subject: &ResourceState<'a>,
    decision: &Decision<'a>,
    there: &HashMap<UniqueNameKey<'static>, Vec<&'a Object>>,
) -> Vec<&'a Object> {
    let value = |name| decision.find_attribute(name).map(DesiredAttribute::stored_value);
    let values = identity_attributes(subject.kind).into_iter().map(|name| (name, value(name)));
    let key = identity_key(subject.kind, planned_home(joined, subject, decision), values);
    key.and_then(|key| there.get(&key)).cloned().unwrap_or_default()
}

/// Returns, by resource, the other resources that match one of its objects.
fn rival_addresses(
    joined: &JoinedState<'_>,
    open: &[(usize, Vec<&Object>)],
) -> HashMap<usize, Vec<Address>> {
    let mut claims: HashMap<*const Object, Vec<usize>> = HashMap::new();
    for (n, objects) in open {
        // All objects of a resource have the same identifying values, so the first represents them.
        if let Some(first) = objects.first() {
            claims.entry(std::ptr::from_ref(*first)).or_default().push(*n);
        }
    }
    let mut found = HashMap::new();
    for rivals in claims.into_values().filter(|claimants| claimants.len() > 1) {
        for n in &rivals {
            let others = rivals.iter().filter(|other| *other != n);
            found.insert(*n, others.map(|other| joined.subjects[*other].address.clone()).collect());
        }
    }
    found
}

fn compare_candidate(joined: &JoinedState<'_>, decision: &Decision<'_>, object: &Object) -> MatchCandidate {
    MatchCandidate {
        kind: object.kind.clone(),
        id: object.id.clone(),
        created_at: object.created_at.clone(),
        differs: decision
            .wants
            .iter()
            .filter(|want| contradicts_object(joined, want, object))
            .map(attribute_name)
            .collect(),
    }
}

fn attribute_name(want: &DesiredAttribute<'_>) -> &'static str {
    want.attribute.name
}

/// Returns whether an object shows another value of a written attribute. A value that is unknown or
/// not shown counts as equal.
fn contradicts_object(joined: &JoinedState<'_>, want: &DesiredAttribute<'_>, object: &Object) -> bool {
    let written = want.setting.is_some() && !want.value.is_unknown() && *want.stored_value() != Value::Null;
    let Some(live) = returned_value(want.attribute, object).filter(|_| written && !want.attribute.secret)
    else {
        return false;
    };
    match (want.stored_value(), &live) {
        // Only the written keys of a map are managed.
        (Value::Map(written), Value::Map(live)) => written.iter().any(|(key, value)| {
            let ty = compare::part_type(&want.attribute.ty, key);
            let value = fingerprint_secrets(value, joined.key());
            !value.is_secret()
                && ty.is_some_and(|ty| !are_equivalent(ty, &value, live.get(key).unwrap_or(&Value::Null)))
        }),
        (written, live) => !written.is_secret() && !are_equivalent(&want.attribute.ty, written, live),
    }
}

fn found_object(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
    object: &Object,
) -> RebuiltEntry {
    let candidate = compare_candidate(joined, decision, object);
    let entry = rebuilt_entry(joined, subject, decision, object, &candidate);
    RebuiltEntry { address: subject.address.clone(), entry: Box::new(entry), candidate }
}

/// Returns the ledger entry for a found object. Its applied values are those of the block, without attributes that are
/// unknown or that differ from the live object. An attribute that cannot be read is recorded as written.
fn rebuilt_entry(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
    object: &Object,
    candidate: &MatchCandidate,
) -> Entry {
    let as_written = |want: &&DesiredAttribute<'_>| {
        want.setting.is_some()
            && !want.value.is_unknown()
            && !candidate.differs.contains(&attribute_name(want))
    };
    let applied = decision.wants.iter().filter(as_written);
    let remember = build_remember(joined, subject);
    Entry {
        kind: subject.kind.name.into(),
        current: Some(owned_from_object(object, !candidate.is_exact())),
        deposed: Vec::new(),
        parent: subject.parent().cloned(),
        applied: applied
            .map(|want| {
                (attribute_name(want).into(), fingerprint_secrets(want.stored_value(), joined.key()))
            })
            .collect(),
        depends_on: remember.depends_on,
        protect: remember.protect,
        keep_on_remove: remember.keep_on_remove,
        delete_on_remove: remember.delete_on_remove,
        unfinished: !is_settled(subject.kind, &object.attributes),
        secret_lost: false,
        secret_origin: None,
        final_snapshot: false,
        verified: Some(confirmation::observe_written(&decision.wants, object)),
    }
}

/// Returns the found objects, as the `adopt` option of the next round.
#[must_use]
pub fn known_ids(recovery: &RebuiltLedger) -> BTreeMap<Address, Name> {
    recovery.found.iter().map(|found| (found.address.clone(), found.candidate.id.clone())).collect()
}
