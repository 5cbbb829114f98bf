//! Byproducts: live objects in no ledger that provably originate from the stack's own objects, as copies of
//! them or as volumes of claims in them. A destroy leaves them, live and billed, or deletes them on request.
//! In: the ledger and the snapshot; out: notes, and the entries that a plan adds in order to delete them.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::HashMap;
use jiff::Timestamp;

use super::final_snapshot;
use crate::config::stack::declarations::RemovedAction;
use crate::config::stack::model::OnRemove;
use crate::ledger::state::entry::Entry;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::model::live::snapshot::{Object, ObjectKey};
use crate::model::schema::{Kind, PROJECT, Type, format_monthly};
use crate::model::values::value::{Attributes, Value};
use crate::plan::inputs::PlanInputs;
use crate::plan::join::joined_state::{JoinedState, ResourceState, owned_from_object};
use crate::plan::join::live_state::{LiveState, is_leaving};
use crate::plan::join::prices::ObjectPrices;
use crate::plan::model::note::{NoteCode, PlanNote};
use crate::plan::moves::resolved::{AddedEntry, ResolvedDeclarations};

/// A live object that originates from one of the stack's objects.
pub(in crate::plan) struct Byproduct<'a> {
    object: &'a Object,
    kind: &'static Kind,
    /// The address of the source object; `None` if that object is deleted already.
    source: Option<&'a Address>,
    /// The kind of the source object.
    source_kind: Name,
    /// Whether it is a volume that something inside the source object claimed.
    claimed: bool,
}

/// The name prefix of added entries. A later destroy recognizes them by it, so it must not change.
const ADDED_NAME_PREFIX: &str = "leftover-";

/// Returns the byproducts of what a destroy deletes; empty for a plan that is not a destroy. Final snapshots,
/// and objects that another ledger owns or that were forgotten, are not byproducts.
fn find_byproducts<'a>(
    inputs: &PlanInputs<'a>,
    declared: &ResolvedDeclarations<'_>,
    ledger: &'a Ledger,
) -> Vec<Byproduct<'a>> {
    if !inputs.options.destroy {
        return Vec::new();
    }
    let mut sources: HashMap<(&str, &str), Option<&Address>> =
        ledger.tombstones.iter().map(|(id, stone)| ((stone.kind.as_str(), id.as_str()), None)).collect();
    // Objects of other ledgers, and objects that this stack forgot, stay on purpose.
    let mut taken: BTreeSet<ObjectKey> = inputs.options.foreign.keys().cloned().collect();
    taken.extend(ledger.kept.values().map(|kept| ObjectKey {
        kind: kept.kind.clone(),
        parent: None,
        id: kept.id.clone(),
    }));
    for (address, entry) in &ledger.entries {
        for owned in entry.current.iter().chain(&entry.deposed) {
            taken.insert(owned.key(&entry.kind));
            if !stays_live(inputs, declared, address, entry) {
                sources.insert((entry.kind.as_str(), owned.id.as_str()), Some(address));
            }
        }
    }
    let objects = inputs.snapshot.objects.values();
    let free =
        objects.filter(|object| !taken.contains(&object.key()) && !final_snapshot::is_final_copy(object));
    free.filter_map(|object| {
        let kind = inputs.registry.kind(&object.kind).filter(|kind| !is_leaving(kind, object))?;
        let copied = kind.copy_of.iter().find_map(|name| {
            let Type::Reference(of) = kind.attribute(name)?.ty else { return None };
            let id = object.attributes.get(*name)?.as_text()?;
            Some((*sources.get(&(of, id))?, Name::new_static(of), false))
        });
        let claimed = || {
            let owner = inputs.options.claimed.get(&object.key())?;
            Some((*sources.get(&(owner.kind.as_str(), owner.id.as_str()))?, owner.kind.clone(), true))
        };
        let (source, source_kind, claimed) = copied.or_else(claimed)?;
        Some(Byproduct { object, kind, source, source_kind, claimed })
    })
    .collect()
}

/// Returns whether a destroy leaves an object live: then its byproducts stay, too.
fn stays_live(
    inputs: &PlanInputs<'_>,
    declared: &ResolvedDeclarations<'_>,
    address: &Address,
    entry: &Entry,
) -> bool {
    let block = inputs.stack.resources.get(address);
    let kept = block.map_or(entry.keep_on_remove, |block| block.lifecycle.on_remove == OnRemove::Keep);
    declared.removal_action(address).map_or(kept, |action| action == RemovedAction::Forget)
}

/// Adds the byproducts to the ledger that a plan is made from, if they must be deleted. Returns the new ledger
/// and its changed entries; `None` if nothing was requested, or if an ambiguous intent is open.
pub(in crate::plan) fn add_byproducts(
    inputs: &PlanInputs<'_>,
    declared: &ResolvedDeclarations<'_>,
    ledger: &Ledger,
) -> Option<(Ledger, BTreeMap<Address, AddedEntry>)> {
    // The outcome of an ambiguous intent is not known: nothing beyond the stack itself is deleted.
    if !inputs.options.with_leftovers || !ledger.questions.is_empty() {
        return None;
    }
    let found = find_byproducts(inputs, declared, ledger);
    let mut extended = ledger.clone();
    let mut added = BTreeMap::new();
    for byproduct in found {
        let object = byproduct.object;
        let address = free_address(&extended, inputs, object);
        let home = object.project.as_ref().and_then(|id| {
            let mut all = ledger.entries.iter();
            let is_home =
                |entry: &Entry| entry.kind == PROJECT && entry.current.iter().any(|one| one.id == *id);
            all.find(|(_, entry)| is_home(entry)).map(|(address, _)| address.clone())
        });
        let entry = Entry {
            kind: object.kind.clone(),
            current: Some(owned_from_object(object, false)),
            deposed: Vec::new(),
            parent: None,
            applied: Attributes::new(),
            depends_on: home.into_iter().collect(),
            protect: false,
            keep_on_remove: false,
            delete_on_remove: false,
            unfinished: false,
            secret_lost: false,
            secret_origin: None,
            final_snapshot: false,
            verified: None,
        };
        extended.entries.insert(address.clone(), entry.clone());
        let reason =
            format!("{}, {}", describe_origin(&byproduct), describe_age(object, inputs.service_time()));
        added.insert(address.clone(), AddedEntry { entry, reason });
        // The service keeps a claimed volume as long as its claimant exists, so the claimant is deleted first.
        let owner = byproduct.source.filter(|_| byproduct.claimed);
        if let Some((owner, entry)) = owner.and_then(|owner| extended.entries.get_key_value(owner)) {
            let (owner, mut entry) = (owner.clone(), entry.clone());
            entry.depends_on.push(address);
            extended.entries.insert(owner.clone(), entry.clone());
            added.insert(owner, AddedEntry { entry, reason: String::new() });
        }
    }
    Some((extended, added))
}

/// Returns an address of an object's kind that neither the ledger nor the stack has, made of the first eight
/// characters of the id.
fn free_address(ledger: &Ledger, inputs: &PlanInputs<'_>, object: &Object) -> Address {
    let legal = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let id: String = object.id.chars().take(8).map(legal).collect();
    let name = |number: usize| {
        let more = if number == 0 { String::new() } else { format!("-{number}") };
        Address::new(&object.kind, &format!("{ADDED_NAME_PREFIX}{id}{more}"))
    };
    let is_free = |address: &Address| {
        !ledger.entries.contains_key(address) && !inputs.stack.resources.contains_key(address)
    };
    // There is one name more than there are entries, so one of them is free.
    let most = ledger.entries.len() + inputs.stack.resources.len();
    (0..=most).map(name).find(is_free).unwrap_or_else(|| name(0))
}

/// Returns whether an incomplete destroy added an entry to the ledger in order to delete its object. Nothing was ever
/// applied to such an object.
fn is_added_before(subject: &ResourceState<'_>) -> bool {
    let is_named =
        subject.address.as_str().rsplit('.').next().is_some_and(|name| name.starts_with(ADDED_NAME_PREFIX));
    is_named && subject.block.is_none() && subject.entry.is_some_and(|entry| entry.applied.is_empty())
}

/// Returns whether a byproduct from an earlier destroy stays: it is deleted only on request.
pub(in crate::plan) fn stays_as_leftover(joined: &JoinedState<'_>, subject: &ResourceState<'_>) -> bool {
    let options = joined.inputs.options;
    let is_asked_for = options.with_leftovers
        || options.may_delete_data(subject.address)
        || joined.declared.removal_action(subject.address).is_some();
    !is_asked_for && is_added_before(subject)
}

/// Describes the origin of a byproduct.
fn describe_origin(byproduct: &Byproduct<'_>) -> String {
    let source = byproduct.source.map_or_else(
        || format!("a {} that this stack deleted", byproduct.source_kind),
        ToString::to_string,
    );
    if byproduct.claimed { format!("claimed in {source}") } else { format!("a copy of {source}") }
}

/// Returns a note for each byproduct that a destroy leaves live.
pub(in crate::plan) fn byproduct_notes(joined: &JoinedState<'_>) -> Vec<PlanNote> {
    let inputs = &joined.inputs;
    if inputs.options.with_leftovers {
        return final_copy_notes(joined).collect();
    }
    let told = |byproduct: Byproduct<'_>| PlanNote {
        code: NoteCode::Left,
        text: format!(
            "the {} {} stays live and billed: {}",
            byproduct.kind.name,
            describe_priced_object(inputs, byproduct.object),
            describe_origin(&byproduct)
        ),
        help: "destroy --with-leftovers also deletes objects that originate from this stack's objects"
            .to_owned(),
        source: None,
        address: None,
    };
    let found = find_byproducts(inputs, joined.declared, inputs.ledger).into_iter().map(told);
    found.chain(earlier_leftovers(joined)).chain(final_copy_notes(joined)).collect()
}

/// Returns the objects outside of the ledger that a destroy leaves live: final snapshots that earlier applies made, and the
/// byproducts, unless it deletes them.
pub(in crate::plan) fn outliving_objects<'a>(joined: &JoinedState<'a>) -> impl Iterator<Item = &'a Object> {
    let inputs = &joined.inputs;
    let found = if inputs.options.with_leftovers {
        Vec::new()
    } else {
        find_byproducts(inputs, joined.declared, inputs.ledger)
    };
    found.into_iter().map(|byproduct| byproduct.object).chain(earlier_final_copies(joined))
}

/// Returns the final snapshots of earlier applies that a destroy leaves live; none for a plan that is not a destroy.
fn earlier_final_copies<'a>(joined: &JoinedState<'a>) -> impl Iterator<Item = &'a Object> {
    let is_destroy = joined.inputs.options.destroy;
    let copies = is_destroy.then(|| final_snapshot::earlier_copies(joined));
    copies.into_iter().flatten().map(|(_, copy)| copy)
}

/// Returns a note for each final snapshot of an earlier apply.
fn final_copy_notes<'s>(joined: &'s JoinedState<'_>) -> impl Iterator<Item = PlanNote> + 's {
    earlier_final_copies(joined).map(|copy| PlanNote {
        code: NoteCode::Left,
        text: format!(
            "the {} {} stays live and billed: the final snapshot of an object that this stack deleted",
            copy.kind,
            describe_priced_object(&joined.inputs, copy)
        ),
        help: "no destroy deletes a final snapshot: delete it in the service once it is not needed"
            .to_owned(),
        source: None,
        address: None,
    })
}

/// Returns a note for each byproduct of an earlier destroy that is still live.
fn earlier_leftovers<'s>(joined: &'s JoinedState<'_>) -> impl Iterator<Item = PlanNote> + 's {
    let subjects = joined.subjects.iter().filter(|subject| stays_as_leftover(joined, subject));
    let live = subjects.filter_map(|subject| match subject.live {
        LiveState::Present(_) => Some((subject, subject.object()?)),
        _ => None,
    });
    live.map(|(subject, object)| PlanNote {
        code: NoteCode::Left,
        text: format!(
            "{} stays live and billed, because an earlier destroy did not delete it: the {} {}",
            subject.address,
            subject.kind.name,
            describe_priced_object(&joined.inputs, object)
        ),
        help: format!(
            "destroy --with-leftovers deletes it; apply --delete-data {0} deletes it alone; `removed: [{{ from: {0}, action: forget }}]` removes it from the ledger",
            subject.address
        ),
        source: None,
        address: Some(subject.address.clone()),
    })
}

/// Returns the keys of the objects that `--with-leftovers` would delete; empty for a plan that is not a destroy.
pub(in crate::plan) fn byproduct_keys(joined: &JoinedState<'_>) -> BTreeSet<ObjectKey> {
    let found = find_byproducts(&joined.inputs, joined.declared, joined.inputs.ledger);
    found.into_iter().map(|byproduct| byproduct.object.key()).collect()
}

/// Describes an object by name, id, age and monthly price; a price of zero is omitted.
pub(in crate::plan) fn describe_priced_object(inputs: &PlanInputs<'_>, object: &Object) -> String {
    let name = object.attributes.get("name").and_then(Value::as_text).unwrap_or_default();
    let name = if name.is_empty() { object.id.to_string() } else { format!("{name} ({})", object.id) };
    let kind = inputs.registry.kind(&object.kind);
    let price = kind.and_then(|kind| ObjectPrices::new(inputs.catalog).monthly(kind, &object.attributes));
    let price = match price {
        Some(price) => format_monthly(price),
        None => ", price not known".to_owned(),
    };
    format!("{name}, {}{price}", describe_age(object, inputs.service_time()))
}

/// Formats the age of an object: in hours up to two days, in days from then on. A creation time in the future,
/// as a skewed clock gives, counts as now.
#[must_use]
pub fn describe_age(object: &Object, now: Timestamp) -> String {
    let made = object.created_at.as_ref().and_then(|at| at.parse::<Timestamp>().ok());
    match made.map(|made| now.duration_since(made).as_hours().max(0)) {
        None => "of unknown age".to_owned(),
        Some(hours) if hours < 1 => "less than an hour old".to_owned(),
        Some(1) => "1 hour old".to_owned(),
        Some(hours) if hours < 48 => format!("{hours} hours old"),
        Some(hours) => format!("{} days old", hours / 24),
    }
}
