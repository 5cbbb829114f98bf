//! Adoptions: the reasons why a live object cannot be adopted. In: the requested adoptions and all decisions;
//! out: blockers. Invariant: an object has one address at most.

use std::collections::BTreeMap;

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};

use super::conflicts::name_conflicts::{object_home, planned_home, uniqueness_key};
use crate::model::address::{Address, Name};
use crate::model::diagnostic::blocker_code;
use crate::model::live::snapshot::ObjectKey;
use crate::model::source::Span;
use crate::plan::blockers::Blockers;
use crate::plan::decision::{Decision, DecisionKind};
use crate::plan::join::joined_state::{AdoptionReason, JoinedState, ResourceState, is_adopted};
use crate::plan::join::live_state::{LiveState, is_leaving};

/// Checks the requested adoptions, and that no two addresses adopt the same object.
pub(in crate::plan) fn check<'a>(
    joined: &JoinedState<'a>,
    decisions: &[Decision<'a>],
    blocks: &mut Blockers<'_, 'a>,
) {
    let asked = &joined.inputs.options.adopt;
    let owners = if asked.is_empty() { HashMap::new() } else { object_owners(joined) };
    for (address, id) in asked {
        let subject = joined.index.get(address).map(|n| &joined.subjects[*n]);
        let Some((text, help)) = adoption_obstacle(joined, &owners, (subject, address, id)) else {
            continue;
        };
        let block = subject.and_then(|subject| subject.block).map(|block| block.span);
        blocks.add_at_span(
            blocker_code::ADOPT,
            address,
            import_span(joined, address).or(block),
            text,
            help,
        );
    }
    let mut told = block_shared_objects(joined, blocks);
    told.extend(block_mistaken_adoptions(joined, decisions, blocks));
    for (subject, decision) in joined.subjects.iter().zip(decisions) {
        // For a wrong object the differences are irrelevant.
        if !told.contains(subject.address) {
            check_replacement(subject, decision, blocks);
        }
    }
}

/// Returns the span of the `import` entry that adopts an object for an address; `None` if another source, such
/// as `--adopt`, requests it.
fn import_span(joined: &JoinedState<'_>, address: &Address) -> Option<Span> {
    let id = joined.inputs.options.adopt.get(address)?;
    let mut all = joined.inputs.stack.declarations.imports.iter();
    all.find(|import| import.to == *address && import.id == *id).map(|import| import.span)
}

/// Describes the address that adopts an object, and where the adoption was requested.
fn describe_adopter(joined: &JoinedState<'_>, subject: &ResourceState<'_>) -> String {
    let address = subject.address;
    let place = import_span(joined, address).and_then(|span| joined.inputs.stack.sources.location_of(span));
    match (place, subject.adoption) {
        (Some(place), _) => format!("{address} ({}:{})", place.file, place.line),
        (None, Some(AdoptionReason::Recovered(_))) => format!("{address} (an earlier apply made it)"),
        (None, _) => format!("{address} (--adopt)"),
    }
}

/// Blocks two addresses that would adopt the same object: an action on one of them would affect the
/// other. Returns the blocked addresses.
fn block_shared_objects<'a>(
    joined: &JoinedState<'a>,
    blocks: &mut Blockers<'_, 'a>,
) -> HashSet<&'a Address> {
    let mut told = HashSet::new();
    let mut takers: BTreeMap<ObjectKey, Vec<&ResourceState<'a>>> = BTreeMap::new();
    for subject in joined.subjects.iter().filter(|subject| is_adopted(subject)) {
        if let Some(object) = subject.object() {
            takers.entry(object.key()).or_default().push(subject);
        }
    }
    for (key, subjects) in takers.into_iter().filter(|(_, subjects)| subjects.len() > 1) {
        let Some(last) = subjects.last() else { continue };
        let all: Vec<String> = subjects.iter().map(|subject| describe_adopter(joined, subject)).collect();
        let text = format!("The {} {} would become {}.", key.kind, key.id, all.join(" and "));
        let help = "An object has one address: keep the one that it belongs to, and omit the others.";
        let span = import_span(joined, last.address).or_else(|| last.block.map(|block| block.span));
        blocks.add_at_span(blocker_code::ADOPT, last.address, span, text, help.to_owned());
        told.extend(subjects.iter().map(|subject| subject.address));
    }
    told
}

/// Blocks an adoption of an object whose name another address's new object needs: it was probably meant for that
/// address, or the two would conflict. Returns the addresses that adopt such objects.
fn block_mistaken_adoptions<'a>(
    joined: &JoinedState<'a>,
    decisions: &[Decision<'a>],
    blocks: &mut Blockers<'_, 'a>,
) -> HashSet<&'a Address> {
    let mut told = HashSet::new();
    let all = || joined.subjects.iter().zip(decisions);
    let asked = |subject: &ResourceState<'_>| matches!(subject.adoption, Some(AdoptionReason::Requested));
    let mut renamed = BTreeMap::new();
    let moved = all().filter(|(subject, decision)| asked(subject) && decision.changes(&["name"]));
    for (subject, _) in moved {
        let Some(object) = subject.object() else { continue };
        let name = std::iter::once(object.attributes.get("name"));
        let key = uniqueness_key(subject.kind, object_home(subject.kind, object), name);
        renamed.extend(key.map(|key| (key, (subject, object))));
    }
    if renamed.is_empty() {
        return told;
    }
    for (subject, decision) in all().filter(|(_, decision)| decision.act == DecisionKind::Create) {
        let Some(want) = decision.find_attribute("name") else { continue };
        let name = std::iter::once(Some(&want.value));
        let key = uniqueness_key(subject.kind, planned_home(joined, subject, decision), name);
        let Some((other, object)) = key.and_then(|key| renamed.get(&key)) else { continue };
        let text = format!(
            "The {} {} has the name `{}`, which {} needs, and would be adopted as {}.",
            subject.kind.name,
            object.id,
            want.value,
            subject.address,
            describe_adopter(joined, other)
        );
        let help = format!(
            "Adopt it as {}, or give that resource another name; otherwise a second object would be created.",
            subject.address
        );
        let span = import_span(joined, other.address).or_else(|| want.setting.map(|setting| setting.span));
        blocks.add_for_subject(blocker_code::ADOPT, subject, span, text, help);
        told.insert(other.address);
    }
    told
}

/// Returns the owner of each object of this stack's ledger, deposed objects included.
fn object_owners<'a>(joined: &JoinedState<'a>) -> HashMap<ObjectKey, &'a Address> {
    let mut owners = HashMap::new();
    for subject in &joined.subjects {
        let deposed = subject.entry.into_iter().flat_map(|entry| &entry.deposed);
        for owned in subject.owned_object().into_iter().chain(deposed) {
            owners.insert(owned.key(subject.kind.name), subject.address);
        }
    }
    owners
}

/// Returns why an object cannot be adopted for an address, with the remedy; `None` if it can, or if the
/// address has it already.
fn adoption_obstacle(
    joined: &JoinedState<'_>,
    owners: &HashMap<ObjectKey, &Address>,
    (subject, address, id): (Option<&ResourceState<'_>>, &Address, &Name),
) -> Option<(String, String)> {
    // An object that is gone is no obstacle: then the one to adopt was looked up in its place.
    let has_object = |subject: &&ResourceState<'_>| {
        !matches!(subject.live, LiveState::None)
            && !matches!(subject.adoption, Some(AdoptionReason::Requested))
    };
    if let Some(owned) = subject.filter(has_object).and_then(ResourceState::owned_object) {
        let help = format!("Forget that one first: `stead rm {address} --keep`.");
        return (owned.id != *id).then(|| (format!("{address} owns {} already.", owned.id), help));
    }
    let Some(subject) = subject.filter(|subject| subject.resource.is_some()) else {
        let help = format!("Write the block {address} first.");
        return Some((format!("{address} is not in the configuration."), help));
    };
    let Some(object) = subject.object() else {
        let help = "Look it up with `stead ls --unmanaged`.".to_owned();
        return Some((format!("There is no {} with the id {id}.", subject.kind.name), help));
    };
    if let Some(owner) = joined.inputs.options.foreign.get(&object.key()) {
        let help = "Two ledgers would manage the same object. Forget it in that stack first (`rm ADDRESS --keep`), and apply there.";
        return Some((format!("{id} belongs to {owner} already."), help.to_owned()));
    }
    if is_leaving(subject.kind, object) {
        let help = "Omit the adoption: a new object is created.".to_owned();
        return Some((format!("The service is deleting {id}: it cannot become {address}."), help));
    }
    let owner = owners.get(&object.key())?;
    let help = format!("Give the address {address} to {owner} by a `moved` entry.");
    Some((format!("{id} belongs to {owner} already."), help))
}

/// Blocks the replacement of an adopted object: it would be deleted without ever having been managed.
fn check_replacement(subject: &ResourceState<'_>, decision: &Decision<'_>, blocks: &mut Blockers<'_, '_>) {
    if !is_adopted(subject) || !decision.removes() {
        return;
    }
    let names: Vec<&str> =
        decision.differences.iter().filter(|d| d.forces_replacement()).map(|d| d.attribute.name).collect();
    let text = format!(
        "Adopting {} would replace it at once: {} cannot be changed in place.",
        subject.address,
        if names.is_empty() { "what differs".to_owned() } else { names.join(", ") }
    );
    let help = "Write the values of the live object, adopt it, and change it afterwards.".to_owned();
    let span = decision.differences.iter().find(|d| d.forces_replacement()).and_then(|d| d.setting);
    blocks.add_for_subject(blocker_code::ADOPT, subject, span.map(|setting| setting.span), text, help);
}
