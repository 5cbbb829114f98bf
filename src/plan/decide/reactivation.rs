//! Revival: bringing objects back into use (States and transitions) because a change needs that, and detecting changes
//! that no call can make. In: the live status of objects and all decisions; out: the calls that precede an update.

use crate::model::expression::Expression;
use crate::model::schema::{Effect, Revival, RuleCheck};
use crate::model::values::value::Value;
use crate::plan::decision::{AttributeDiff, Decision, DecisionKind, DesiredAttribute};
use crate::plan::diff::current_value::present_value;
use crate::plan::join::joined_state::{JoinedState, ResourceState};
use crate::plan::model::change::Cause;
use crate::plan::model::compare::is_unset;
use crate::plan::model::step::PlannedCall;

/// Returns the revival of an object whose status asks for one; `None` if its kind has none, or the object is in use.
pub(in crate::plan) fn needed_revival(subject: &ResourceState<'_>) -> Option<&'static Revival> {
    let revival = subject.kind.revival.as_ref()?;
    subject.status().is_some_and(|status| revival.from.contains(&status)).then_some(revival)
}

/// Returns the revival of a suspended object, which keeps its contents; `None` for an object in any other state.
pub(in crate::plan) fn resuming_revival(subject: &ResourceState<'_>) -> Option<&'static Revival> {
    needed_revival(subject).filter(|revival| revival.effect == Effect::Resumes)
}

/// Returns the revival that must precede these differences; `None` where they need none,
/// or revive the object themselves.
pub(in crate::plan) fn revival_before(
    subject: &ResourceState<'_>,
    differences: &[AttributeDiff<'_>],
) -> Option<&'static Revival> {
    let changed = differences.iter().map(|difference| difference.attribute);
    needed_revival(subject).filter(|revival| revival.comes_before(changed))
}

/// Returns the call that brings an object back; `None` if the object shows no status. The status is planned like an
/// attribute, with a start and a target value: an object that another writer has brought back meanwhile needs no call.
pub(in crate::plan) fn revival_call(subject: &ResourceState<'_>, revival: &Revival) -> Option<PlannedCall> {
    let ends = (Value::text(subject.status()?), Expression::Value(Value::text(revival.to)));
    let attributes = [(subject.kind.api.ready?.attribute.into(), ends)].into();
    Some(PlannedCall { call: revival.call.name.into(), attributes })
}

/// Brings back the objects that created, changed or deleted objects need in use.
pub(in crate::plan) fn bring_back_what_is_needed(joined: &JoinedState<'_>, decisions: &mut [Decision<'_>]) {
    for n in 0..decisions.len() {
        if !matches!(
            decisions[n].act,
            DecisionKind::Create
                | DecisionKind::Replace { .. }
                | DecisionKind::Update
                | DecisionKind::Delete
        ) {
            continue;
        }
        let user = &joined.subjects[n];
        for needed in user.needs.iter().chain(&user.held) {
            let other = &joined.subjects[*needed];
            let revival =
                needed_revival(other).filter(|revival| revival.needed_by.contains(&user.kind.name));
            let decision = &mut decisions[*needed];
            let (Some(revival), DecisionKind::Keep | DecisionKind::Update) = (revival, decision.act) else {
                continue;
            };
            if decision.act == DecisionKind::Keep && other.resource.is_some() {
                decision.act = DecisionKind::Update;
                decision.cause = Cause::Upstream;
                decision.reason = Some(format!("{} needs it to be active", user.address));
            }
            decision.revival = Some(revival);
        }
    }
}

/// Returns why no call can exchange the one attribute that an object has, of a set of which it has exactly one,
/// for the written one; `None` if the object has the written one.
pub(in crate::plan) fn exchange_reason(
    subject: &ResourceState<'_>,
    wants: &[DesiredAttribute<'_>],
) -> Option<String> {
    let is_set = |value: &Value| !is_unset(value) && value.as_text() != Some("");
    subject.kind.rules.iter().find_map(|rule| {
        let RuleCheck::ExactlyOne { attributes } = rule.check else { return None };
        let has = |name: &&&str| {
            subject.kind.attribute(name).is_some_and(|attribute| is_set(&present_value(subject, attribute)))
        };
        let written =
            wants.iter().find(|want| attributes.contains(&want.attribute.name) && is_set(&want.value))?;
        let name = written.attribute.name;
        let had: Vec<&str> = attributes.iter().filter(has).copied().collect();
        let [had] = had[..] else { return None };
        (had != name).then(|| format!("it was created with {had}, and no call changes that to {name}"))
    })
}
