//! Revival: what is brought back because a change needs it in use, and what cannot be changed at all
//! into what is written.

use crate::model::expression::Expression;
use crate::model::schema::{Effect, Revival, RuleCheck};
use crate::model::value::Value;
use crate::plan::decision::{AttributeDiff, Decision, DecisionKind, DesiredAttribute};
use crate::plan::diff::current_value::present_value;
use crate::plan::join::joined_state::{JoinedState, ResourceState};
use crate::plan::model::change::Cause;
use crate::plan::model::compare::is_unset;
use crate::plan::model::step::PlannedCall;

/// Returns what brings an object back, where its status asks for it.
pub(in crate::plan) fn needed_revival(subject: &ResourceState<'_>) -> Option<&'static Revival> {
    let revival = subject.kind.revival.as_ref()?;
    subject.status().is_some_and(|status| revival.from.contains(&status)).then_some(revival)
}

/// Returns what wakes an object that rests, with everything that is in it.
pub(in crate::plan) fn resuming_revival(subject: &ResourceState<'_>) -> Option<&'static Revival> {
    needed_revival(subject).filter(|revival| revival.effect == Effect::Resumes)
}

/// Returns what brings an object back before these differences go away; `None` where they need nothing,
/// or do it themselves.
pub(in crate::plan) fn revival_before(
    subject: &ResourceState<'_>,
    differences: &[AttributeDiff<'_>],
) -> Option<&'static Revival> {
    let changed = differences.iter().map(|difference| difference.attribute);
    needed_revival(subject).filter(|revival| revival.comes_before(changed))
}

/// Returns the call that brings an object back. Its status has two ends, as other attributes have: one
/// that somebody else has brought back meanwhile is there already.
pub(in crate::plan) fn revival_call(subject: &ResourceState<'_>, revival: &Revival) -> Option<PlannedCall> {
    let ends = (Value::text(subject.status()?), Expression::Value(Value::text(revival.to)));
    let attributes = [(subject.kind.api.ready?.attribute.into(), ends)].into();
    Some(PlannedCall { call: revival.call.name.into(), attributes })
}

/// Brings back what objects need in use that come, change or go themselves.
pub(in crate::plan) fn bring_back_what_is_needed(survey: &JoinedState<'_>, verdicts: &mut [Decision<'_>]) {
    for n in 0..verdicts.len() {
        if !matches!(
            verdicts[n].act,
            DecisionKind::Create
                | DecisionKind::Replace { .. }
                | DecisionKind::Update
                | DecisionKind::Delete
        ) {
            continue;
        }
        let user = &survey.subjects[n];
        for needed in user.needs.iter().chain(&user.held) {
            let other = &survey.subjects[*needed];
            let revival =
                needed_revival(other).filter(|revival| revival.needed_by.contains(&user.kind.name));
            let verdict = &mut verdicts[*needed];
            let (Some(revival), DecisionKind::Keep | DecisionKind::Update) = (revival, verdict.act) else {
                continue;
            };
            if verdict.act == DecisionKind::Keep && other.resource.is_some() {
                verdict.act = DecisionKind::Update;
                verdict.cause = Cause::Upstream;
                verdict.reason = Some(format!("{} needs it in use", user.address));
            }
            verdict.revival = Some(revival);
        }
    }
}

/// Returns why no call makes the written one out of what an object has, of attributes of which it has
/// exactly one.
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
        (had != name).then(|| format!("it was made with {had}, and no call makes one with {name} of it"))
    })
}
