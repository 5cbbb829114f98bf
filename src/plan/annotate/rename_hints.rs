//! Detection of renamed resources: a deletion and a creation of one kind with the same content. Out: notes with
//! the `moved` entry to write; the plan itself still deletes and creates.

use std::collections::BTreeMap;

use super::module_rename_hints;
use super::similarity::{comparison_key, created_attributes, deleted_attributes};
use crate::config::stack::module_path::kind_at;
use crate::model::address::Address;
use crate::model::schema::Type;
use crate::plan::decision::{Decision, DecisionKind};
use crate::plan::join::joined_state::{JoinedState, ResourceState};
use crate::plan::model::note::{NoteCode, PlanNote};

/// The limit on rename hints in one plan, those for modules included.
const MAX_HINTS: usize = 20;

/// Returns a hint for each deletion and creation that look alike, with the `moved` entry to write. A destroy
/// creates nothing, and gets none.
pub(in crate::plan) fn rename_notes(joined: &JoinedState<'_>, decisions: &[Decision<'_>]) -> Vec<PlanNote> {
    let deletes = decisions.iter().any(|decision| decision.act == DecisionKind::Delete);
    if joined.inputs.options.destroy || !deletes {
        return Vec::new();
    }
    let modules = module_rename_hints::find_renamed_modules(joined, decisions);
    let mut pairs = similar_pairs(joined, decisions);
    pairs.retain(|(from, to)| {
        !modules
            .iter()
            .any(|module| module.contains_address(from.as_str()) || module.contains_address(to.as_str()))
    });
    let told = merge_instances(joined, pairs).into_iter().map(|(from, to)| {
        let block = joined.subjects.get(*joined.index.get(&to).unwrap_or(&usize::MAX));
        let span = block.and_then(|subject| subject.block).map(|block| block.span);
        let help = format!("to keep the object, write `moved: [{{ from: {from}, to: {to} }}]`");
        PlanNote {
            code: NoteCode::Rename,
            text: format!("the deletion of {from} and the creation of {to} look like a rename"),
            help: joined.render_help(span, &help),
            source: span.and_then(|span| joined.inputs.stack.sources.location_of(span)),
            address: None,
        }
    });
    let modules = modules.iter().map(|module| module_rename_hints::module_rename_note(joined, module));
    modules.chain(told).take(MAX_HINTS).collect()
}

fn similar_pairs(joined: &JoinedState<'_>, decisions: &[Decision<'_>]) -> Vec<(Address, Address)> {
    let mut gone: BTreeMap<String, Vec<&ResourceState<'_>>> = BTreeMap::new();
    let mut new: BTreeMap<String, Vec<(&ResourceState<'_>, &Decision<'_>)>> = BTreeMap::new();
    for (subject, decision) in joined.subjects.iter().zip(decisions) {
        let parent_goes = subject.resource.is_none() && goes_with_parent(joined, decisions, subject);
        match decision.act {
            DecisionKind::Delete if !parent_goes => {
                let look = deleted_attributes(subject);
                gone.entry(comparison_key(&look)).or_default().push(subject);
            }
            DecisionKind::Create if subject.entry.is_none() => {
                let look = created_attributes(joined, subject, decision);
                new.entry(comparison_key(&look)).or_default().push((subject, decision));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    for (look, left) in gone {
        let Some(come) = new.get(&look) else { continue };
        match (left.as_slice(), come.as_slice()) {
            ([from], [(to, decision)]) if refers_alike(from, decision) => {
                found.push((from.address.clone(), to.address.clone()));
            }
            ([_], [_]) => {}
            // Several candidates with the same content are paired by key or name.
            (left, come) => {
                let mut by_last: BTreeMap<&str, Vec<&ResourceState<'_>>> = BTreeMap::new();
                for (to, _) in come {
                    by_last.entry(to.address.last()).or_default().push(to);
                }
                let to =
                    |from: &&ResourceState<'_>| match by_last.get(from.address.last()).map(Vec::as_slice) {
                        Some([to]) => Some((from.address.clone(), to.address.clone())),
                        _ => None,
                    };
                found.extend(left.iter().filter_map(to));
            }
        }
    }
    found.sort();
    found
}

/// Returns whether the parent of a resource is deleted, too: a child moves with its parent, so one hint is enough.
fn goes_with_parent(
    joined: &JoinedState<'_>,
    decisions: &[Decision<'_>],
    subject: &ResourceState<'_>,
) -> bool {
    let parent = subject.parent().and_then(|parent| joined.index.get(parent));
    parent.is_some_and(|n| decisions[*n].act == DecisionKind::Delete)
}

/// Merges the hints of all instances of one block into one hint for the block.
fn merge_instances(joined: &JoinedState<'_>, pairs: Vec<(Address, Address)>) -> Vec<(Address, Address)> {
    let block = |address: &Address| {
        let (block, _) = address.as_str().rsplit_once('.')?;
        let block = Address::parse(block).ok()?;
        let of = |address| kind_at(&joined.inputs.registry, address).map(|kind| kind.name);
        (of(&block) == of(address)).then_some(block)
    };
    let mut groups: BTreeMap<(Address, Address), Vec<(Address, Address)>> = BTreeMap::new();
    for (from, to) in pairs {
        let same_key = from.last() == to.last();
        let blocks = block(&from).zip(block(&to)).filter(|_| same_key);
        groups.entry(blocks.unwrap_or_else(|| (from.clone(), to.clone()))).or_default().push((from, to));
    }
    // By block: the number of instances without a configuration, and with one.
    let mut counts: BTreeMap<Address, (usize, usize)> = BTreeMap::new();
    let several = groups.values().any(|members| members.len() > 1);
    for subject in joined.subjects.iter().filter(|_| several) {
        let Some(block) = block(subject.address) else { continue };
        let (gone, wanted) = counts.entry(block).or_default();
        *if subject.resource.is_some() { wanted } else { gone } += 1;
    }
    let counted = |of: &Address| counts.get(of).copied().unwrap_or_default();
    let mut found = Vec::new();
    for ((from, to), members) in groups {
        let whole =
            members.len() > 1 && counted(&from).0 == members.len() && counted(&to).1 == members.len();
        if whole {
            found.push((from, to));
        } else {
            found.extend(members);
        }
    }
    found
}

/// Returns whether every reference that is known already has the same target as before.
fn refers_alike(from: &ResourceState<'_>, decision: &Decision<'_>) -> bool {
    let before = |name: &str| from.entry.and_then(|entry| entry.applied.get(name));
    decision.wants.iter().all(|want| {
        let value = want.stored_value();
        !matches!(want.attribute.ty, Type::Reference(_))
            || value.is_unknown()
            || before(want.attribute.name).is_none_or(|before| before == value)
    })
}
