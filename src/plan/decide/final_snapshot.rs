//! Final snapshots: copies of an object's data that are made before its deletion, and that stay live and
//! unmanaged. In: the lifecycle of a block or, without a block, what the ledger recorded of it; out: the steps
//! that copy, and descriptions for the plan. Copies are recognized by their names, because no ledger owns them.

use std::collections::{BTreeMap, BTreeSet};

use crate::ledger::state::entry::OwnedObject;
use crate::model::address::name_map::NameMap;
use crate::model::address::{Address, Name};
use crate::model::expression::Expression;
use crate::model::live::snapshot::Object;
use crate::model::schema::{FinalSnapshot, Kind, PROJECT, Type, format_monthly};
use crate::model::values::value::{Attributes, Value};
use crate::plan::decision::{Decision, DecisionKind};
use crate::plan::join::joined_state::{JoinedState, ResourceState};
use crate::plan::join::live_state::LiveState;
use crate::plan::join::prices::ObjectPrices;
use crate::plan::model::step::{LedgerMetadata, Operation, Step, TargetProject};

/// The number of characters of the source's id in a copy's name: enough to tell two sources of one name apart.
const ID_CHARS: usize = 8;
/// What separates the source's name from its id in a copy's name. Later runs recognize copies by it, so
/// it must not change.
const INFIX: &str = "-final-";
/// The limit on characters of the source's name in a copy's name.
const MAX_SOURCE_NAME_CHARS: usize = 40;
/// The timeout of a copy: the larger of this many seconds and this many times its estimated duration. A copy
/// takes as long as the data is large, which the estimate does not know.
const TIMEOUT_SECS_AND_FACTOR: (u32, u32) = (1800, 20);

/// Returns the kind of copy that keeps the data of a resource's objects; `None` if no final snapshot is
/// declared, or the kind has none.
fn copy_of(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
) -> Option<(FinalSnapshot, &'static Kind)> {
    let remembered = subject.entry.is_some_and(|entry| entry.final_snapshot);
    let wanted = subject.block.map_or(remembered, |block| block.lifecycle.final_snapshot);
    let copy = subject.kind.final_copy.filter(|_| wanted)?;
    Some((copy, joined.inputs.registry.kind(copy.kind)?))
}

/// Returns whether the data of a resource's objects is copied before their deletion.
pub(in crate::plan) fn is_copied(joined: &JoinedState<'_>, subject: &ResourceState<'_>) -> bool {
    copy_of(joined, subject).is_some()
}

/// Returns the address of an object's copy, below the object's own.
fn copy_address(subject: &ResourceState<'_>, object: &OwnedObject) -> Address {
    subject.address.join(&format!("final-{}", object_mark(object)))
}

fn object_mark(object: &OwnedObject) -> String {
    mark_from_id(&object.id)
}

fn mark_from_id(id: &str) -> String {
    id.chars().filter(char::is_ascii_alphanumeric).take(ID_CHARS).collect::<String>().to_lowercase()
}

fn copy_name(subject: &ResourceState<'_>, object: &OwnedObject) -> String {
    let known = subject.object().and_then(|live| live.attributes.get("name")).and_then(Value::as_text);
    let own: String = known.unwrap_or(subject.address.last()).chars().take(MAX_SOURCE_NAME_CHARS).collect();
    format!("{own}{INFIX}{}", object_mark(object))
}

/// Returns whether an earlier apply made the copy of an object already: also one that was interrupted, if the copy is ready.
fn is_made(joined: &JoinedState<'_>, address: &Address) -> bool {
    let subject = joined.index.get(address).map(|n| &joined.subjects[*n]);
    subject.is_some_and(|made| {
        let finished = made.entry.is_some_and(|entry| !entry.unfinished);
        matches!(made.live, LiveState::Present(object) if finished || is_ready(made.kind, object))
    })
}

/// Returns whether an object has the status of one that is ready; true for a kind without one.
pub(in crate::plan) fn is_ready(kind: &Kind, object: &Object) -> bool {
    kind.api.ready.is_none_or(|ready| {
        object.status(ready.attribute).is_some_and(|status| ready.wanted.contains(&status))
    })
}

/// Returns the step that copies an object's data before its deletion; `None` if no copy is declared, or an
/// earlier apply made it. The step's `after` is empty: the order of steps is computed later.
pub(in crate::plan) fn copy_step(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    object: &OwnedObject,
) -> Option<Step> {
    let (copy, kind) = copy_of(joined, subject)?;
    let address = copy_address(subject, object);
    if is_made(joined, &address) {
        return None;
    }
    let text = |text: &str| Expression::Value(Value::text(text));
    let desired = NameMap::from([
        (Name::new_static("name"), text(&copy_name(subject, object))),
        (Name::new_static(copy.of), text(&object.id)),
    ]);
    let remember = LedgerMetadata {
        depends_on: vec![subject.address.clone()],
        keep_on_remove: true,
        let_go: true,
        ..LedgerMetadata::default()
    };
    let project = object.project.clone().map_or(TargetProject::None, TargetProject::Id);
    Some(Step {
        address,
        kind: kind.name.into(),
        operation: Operation::Create { desired, project, parent: None, remember, deposes: false },
        after: Vec::new(),
        seconds: kind.estimate.create,
        timeout_seconds: kind
            .estimate
            .create
            .saturating_mul(TIMEOUT_SECS_AND_FACTOR.1)
            .max(TIMEOUT_SECS_AND_FACTOR.0),
    })
}

/// The attributes of a planned copy that determine its price.
pub(in crate::plan) struct FinalSnapshotSpec {
    pub kind: &'static Kind,
    /// The attribute `size`, which determines the price.
    pub attributes: Attributes,
}

/// Returns the copies that the plan makes of a resource's objects, the current one first, then deposed ones.
/// Copies that earlier applies made are not included.
pub(in crate::plan) fn planned_copies(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
) -> Vec<FinalSnapshotSpec> {
    let Some((copy, kind)) = copy_of(joined, subject) else { return Vec::new() };
    let current = subject.owned_object().filter(|_| decision.removes());
    let deposed = subject.entry.into_iter().flat_map(|entry| &entry.deposed);
    let deposed = deposed.filter(|_| decision.act != DecisionKind::Frozen);
    let made =
        current.into_iter().chain(deposed).filter(|owned| !is_made(joined, &copy_address(subject, owned)));
    made.filter_map(|owned| {
        let object = joined.inputs.snapshot.objects.get(&owned.key(subject.kind.name))?;
        let size = copy_size(joined, subject.kind, object, copy).unwrap_or_default();
        Some(FinalSnapshotSpec { kind, attributes: Attributes::from([("size".into(), size)]) })
    })
    .collect()
}

/// Returns the copies of a resource's object that an earlier attempt made whose deletion then failed: no ledger owns them, and
/// the next attempt copies the data as it is then. Empty where the object is not deleted.
pub(in crate::plan) fn copies_of_earlier_attempts<'a>(
    joined: &JoinedState<'a>,
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
) -> Vec<(&'static Kind, &'a Object)> {
    let Some((_, kind)) = copy_of(joined, subject).filter(|_| decision.removes()) else {
        return Vec::new();
    };
    let Some(name) = subject.owned_object().map(|object| copy_name(subject, object)) else {
        return Vec::new();
    };
    let made = joined.copies.get(&(kind.name, name.as_str()));
    made.into_iter().flatten().map(|object| (kind, *object)).collect()
}

/// Describes the copy that stays after an object's deletion, with its monthly price (USD) where that is known, and those that
/// earlier attempts made; `None` if no copy is declared or the object is not live.
pub(in crate::plan) fn describe_copy(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
) -> Option<String> {
    let (copy, kind) = copy_of(joined, subject).filter(|_| decision.removes())?;
    let name = copy_name(subject, subject.owned_object()?);
    let attributes =
        Attributes::from([("size".into(), copy_size(joined, subject.kind, subject.object()?, copy)?)]);
    let price = ObjectPrices::new(joined.inputs.catalog).monthly(kind, &attributes);
    let price = price.map(format_monthly).unwrap_or_default();
    let copy =
        format!("the {} {name} is created first and stays live, unmanaged and billed{price}", kind.name);
    let earlier =
        copies_of_earlier_attempts(joined, subject, decision).into_iter().map(|(kind, object)| {
            let price = ObjectPrices::new(joined.inputs.catalog).monthly(kind, &object.attributes);
            let price = price.map(format_monthly).unwrap_or_default();
            format!("; so does the one that an earlier attempt made, {}{price}", object.id)
        });
    Some(std::iter::once(copy).chain(earlier).collect())
}

/// Returns the size of an object's future copy (GB): its own attribute, or a field of its catalog record.
/// `None` if it is not shown.
fn copy_size(joined: &JoinedState<'_>, of: &Kind, object: &Object, copy: FinalSnapshot) -> Option<Value> {
    let (attribute, field) = copy.size;
    let live = object.attributes.get(attribute)?;
    match (field, of.attribute(attribute)?.ty) {
        (Some(field), Type::Catalog(table)) => joined.names.find(table, live)?.fields.get(field).cloned(),
        _ => Some(live.clone()),
    }
}

/// Keeps each project in which a copy stays, as it cannot be deleted. As long as its block exists, it stays in this
/// stack, and the next apply finds it.
pub(in crate::plan) fn leave_their_projects(joined: &JoinedState<'_>, decisions: &mut [Decision<'_>]) {
    let is_project =
        |n: &usize| joined.subjects[*n].kind.name == PROJECT && decisions[*n].act == DecisionKind::Delete;
    let projects: Vec<usize> = (0..decisions.len()).filter(is_project).collect();
    if projects.is_empty() {
        return;
    }
    let keeps = |n: &usize| decisions[*n].removes() && copy_of(joined, &joined.subjects[*n]).is_some();
    let mut kept: BTreeMap<&Name, Vec<String>> = BTreeMap::new();
    for subject in (0..decisions.len()).filter(keeps).map(|n| &joined.subjects[n]) {
        if let Some(project) = subject.owned_object().and_then(|owned| owned.project.as_ref()) {
            let why = format!("the final snapshot of {} stays in it", subject.address);
            kept.entry(project).or_default().push(why);
        }
    }
    for (project, copy) in earlier_copies(joined) {
        let why = format!("the {} {} is in it", copy.kind, object_name(copy));
        kept.entry(project).or_default().push(why);
    }
    for n in projects {
        let subject = &joined.subjects[n];
        if let Some(why) = subject.owned_object().and_then(|owned| kept.remove(&owned.id)) {
            decisions[n].act =
                if subject.block.is_some() { DecisionKind::Keep } else { DecisionKind::Forget };
            decisions[n].reason = Some(why.join(", and "));
        }
    }
}

/// Returns whether an object has the name of a final snapshot.
pub(in crate::plan) fn is_final_copy(object: &Object) -> bool {
    object_name(object).contains(INFIX)
}

fn object_name(object: &Object) -> &str {
    object.attributes.get("name").and_then(Value::as_text).unwrap_or(object.id.as_str())
}

/// Returns the copies that earlier applies left, with their projects. They are recognized by the ids of
/// objects that this stack deleted.
pub(in crate::plan) fn earlier_copies<'a>(
    joined: &JoinedState<'a>,
) -> impl Iterator<Item = (&'a Name, &'a Object)> {
    let buried = joined.inputs.ledger.tombstones.iter();
    let marks: BTreeSet<(&str, String)> = buried
        .filter_map(|(id, stone)| {
            let copy = joined.inputs.registry.kind(&stone.kind)?.final_copy?;
            Some((copy.kind, mark_from_id(id)))
        })
        .collect();
    let is_copy = move |object: &&&'a Object| {
        let mark = object_name(object).rsplit_once(INFIX).map(|(_, mark)| mark.to_owned());
        mark.is_some_and(|mark| marks.contains(&(object.kind.as_str(), mark)))
    };
    let unowned = joined.unowned.iter().filter(is_copy);
    unowned.filter_map(|object| Some((object.project.as_ref()?, *object))).collect::<Vec<_>>().into_iter()
}
