//! Objects that are not deleted because another object, which stays, needs them. In: decisions of all
//! resources; out: deletions turned into `Frozen`, `Keep` or `Forget`. Without this the service would refuse
//! the deletion in the middle of an apply.

use foldhash::HashMap;
use rust_decimal::Decimal;

use super::checks::guards;
use crate::model::address::Address;
use crate::model::live::snapshot::Object;
use crate::model::schema::{RuleCheck, format_monthly};
use crate::model::values::value::Value;
use crate::plan::decision::{Decision, DecisionKind};
use crate::plan::join::joined_state::{JoinedState, ResourceState};
use crate::plan::model::note::{NoteCode, PlanNote};

/// Freezes the deletion of objects that a frozen resource still uses, directly or through other objects.
pub(super) fn keep_what_is_held(joined: &JoinedState<'_>, decisions: &mut [Decision<'_>]) {
    let frozen = |n: &usize| {
        decisions[*n].act == DecisionKind::Frozen && joined.subjects[*n].owned_object().is_some()
    };
    let mut queue: Vec<usize> = (0..decisions.len()).filter(frozen).collect();
    while let Some(n) = queue.pop() {
        for held in &joined.subjects[n].held {
            if decisions[*held].act == DecisionKind::Delete {
                decisions[*held].act = DecisionKind::Frozen;
                queue.push(*held);
            }
        }
    }
}

/// Returns whether a destroy leaves an object live.
fn is_left(subject: &ResourceState<'_>, decision: &Decision<'_>) -> bool {
    let destroyed = subject.resource.is_none() && subject.block.is_some();
    destroyed && decision.act == DecisionKind::Keep && subject.object().is_some()
}

/// Returns a note for each object that a destroy leaves live; `price` returns the monthly price of an object in USD.
pub(in crate::plan) fn destroy_notes<'a>(
    joined: &JoinedState<'a>,
    decisions: &[Decision<'a>],
    mut price: impl FnMut(&ResourceState<'a>) -> Option<Decimal>,
) -> Vec<PlanNote> {
    let left =
        joined.subjects.iter().zip(decisions).filter(|(subject, decision)| is_left(subject, decision));
    left.map(|(subject, decision)| PlanNote {
        code: NoteCode::Left,
        text: format!(
            "{} stays live and managed by this stack{}: {}",
            subject.address,
            price(subject).map(format_monthly).unwrap_or_default(),
            decision.reason.as_deref().unwrap_or("another object needs it")
        ),
        help: "the next apply uses it again; once no object needs it, another destroy deletes it"
            .to_owned(),
        source: subject.block.and_then(|block| joined.inputs.stack.sources.location_of(block.span)),
        address: Some(subject.address.clone()),
    })
    .collect()
}

/// Forgets the children of a forgotten object: they stay live with it.
pub(super) fn keep_what_is_part_of_the_kept(joined: &JoinedState<'_>, decisions: &mut [Decision<'_>]) {
    // A parent's address is a prefix of its children's, so it comes first.
    for n in 0..decisions.len() {
        let parent = joined.subjects[n].parent().and_then(|parent| joined.index.get(parent));
        let Some(parent) = parent.filter(|parent| decisions[**parent].act == DecisionKind::Forget) else {
            continue;
        };
        if decisions[n].act == DecisionKind::Delete {
            decisions[n].act = DecisionKind::Forget;
            decisions[n].reason =
                Some(format!("{} stays live, with its children", joined.subjects[*parent].address));
        }
    }
}

/// Keeps the objects that a forgotten object is in, or refers to: they cannot be deleted. As long as its block exists,
/// such an object stays in this stack, and the next apply finds it. A link is undone automatically, unless the service
/// refuses to delete its target.
pub(super) fn leave_what_holds_the_kept(joined: &JoinedState<'_>, decisions: &mut [Decision<'_>]) {
    let stays = |n: &usize| decisions[*n].act == DecisionKind::Forget;
    let mut queue: Vec<usize> = (0..decisions.len()).filter(stays).collect();
    queue.extend(leave_what_holds_the_kept_before(joined, decisions));
    while let Some(n) = queue.pop() {
        let kept = &joined.subjects[n];
        for held in &kept.held {
            let other = &joined.subjects[*held];
            let is_inside = kept.object().and_then(|object| object.project.as_ref())
                == other.owned_object().map(|owned| &owned.id);
            let is_refused = kept.object().is_some_and(|object| is_refused(object, other));
            let needed = is_inside || guards::referring_attribute(kept, other).is_some() || is_refused;
            if needed && decisions[*held].act == DecisionKind::Delete {
                decisions[*held].act =
                    if other.block.is_some() { DecisionKind::Keep } else { DecisionKind::Forget };
                decisions[*held].reason = Some(format!("{} stays, and needs it", kept.address));
                queue.push(*held);
            }
        }
    }
}

/// Keeps the objects that need to stay for objects that earlier applies forgot and that are still live. Returns
/// the numbers of the kept resources.
fn leave_what_holds_the_kept_before(
    joined: &JoinedState<'_>,
    decisions: &mut [Decision<'_>],
) -> Vec<usize> {
    let kept = joined.inputs.ledger.kept.iter();
    let kept: HashMap<(&str, &str), &Address> =
        kept.map(|(address, kept)| ((kept.kind.as_str(), kept.id.as_str()), address)).collect();
    let mut stays = Vec::new();
    for object in joined.unowned.iter().filter(|_| !kept.is_empty()) {
        let Some(address) = kept.get(&(object.kind.as_str(), object.id.as_str())) else { continue };
        for (n, decision) in
            decisions.iter_mut().enumerate().filter(|(_, decision)| decision.act == DecisionKind::Delete)
        {
            let other = &joined.subjects[n];
            let is_inside =
                other.owned_object().is_some_and(|owned| object.project.as_ref() == Some(&owned.id));
            if other.block.is_some() && (is_inside || is_refused(object, other)) {
                decision.act = DecisionKind::Keep;
                decision.reason = Some(format!("{address} stayed, and needs it"));
                stays.push(n);
            }
        }
    }
    stays
}

/// Returns whether the service refuses to delete an object because another one uses it.
fn is_refused(user: &Object, used: &ResourceState<'_>) -> bool {
    let Some(id) = used.owned_object().map(|owned| owned.id.as_str()) else { return false };
    used.kind.rules.iter().any(|rule| match rule.check {
        RuleCheck::NotUsed { by } => by.iter().any(|(kind, attribute)| {
            *kind == user.kind && user.attributes.get(*attribute).and_then(Value::as_text) == Some(id)
        }),
        _ => false,
    })
}
