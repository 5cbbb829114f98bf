//! Comparison of a saved plan with the one that an apply recomputes. In: both plans; out: nothing, or the first part in
//! which they differ. Left out is only what does not affect a decision: times, the nonce, request counts, the ledger's
//! serial, when prices were read, policies, and the directories of files, which depend on where a command runs.

use serde::Serialize;
use uuid::Uuid;

use super::difference::{PlanSide, compare_plans};
use super::fingerprint::decided_rank;
use super::saved_plan::StalePlan;
use crate::model::address::Name;
use crate::model::crypto::digest::json_digest;
use crate::model::live::snapshot::RequestCount;
use crate::model::schema::Effect;
use crate::model::source::SourceLocation;
use crate::plan::model::change::{Change, Plan};
use crate::plan::model::due::DueTotal;

/// Checks that two plans are the same. They are compared in their serialized form: in memory, a secret without
/// a known fingerprint is unequal to everything, even to itself.
///
/// # Errors
/// The first part in which they differ, or that a part cannot be written as JSON.
pub fn check_recomputed(saved: &Plan, computed: &Plan) -> Result<(), StalePlan> {
    let (saved, computed) = (comparable_plan(saved.clone()), comparable_plan(computed.clone()));
    if is_same(&saved, &computed)? {
        return Ok(());
    }
    Err(StalePlan::Differs { what: describe_difference(&saved, &computed)? })
}

fn is_same(saved: &impl Serialize, computed: &impl Serialize) -> Result<bool, StalePlan> {
    let incomparable = |error| incomparable(&error);
    let computed = json_digest("stead compared plan", computed).map_err(incomparable)?;
    Ok(json_digest("stead compared plan", saved).map_err(incomparable)? == computed)
}

fn incomparable(error: &serde_json::Error) -> StalePlan {
    StalePlan::Incomparable { why: error.to_string() }
}

/// Names the first part in which two plans differ: the first address that they decide differently, with a count of the others,
/// or at which a change differs; otherwise a description of the part.
fn describe_difference(saved: &Plan, computed: &Plan) -> Result<String, StalePlan> {
    // By address: one change more moves the steps of all others.
    let side = |plan| PlanSide { plan, ledger: "", stead_version: "" };
    let decided = compare_plans(side(saved), side(computed)).map_err(|error| incomparable(&error))?;
    if let Some((first, others)) = decided.resources.split_first() {
        return Ok(match others.len() {
            0 => first.address.to_string(),
            1 => format!("{} and 1 other resource", first.address),
            count => format!("{} and {count} other resources", first.address),
        });
    }
    for number in 0..saved.changes.len().max(computed.changes.len()) {
        let (one, other) = (saved.changes.get(number), computed.changes.get(number));
        if !is_same(&one, &other)? {
            return Ok(one.or(other).map(|change| change.address.to_string()).unwrap_or_default());
        }
    }
    let parts = [
        (is_same(&saved.base, &computed.base)?, "the inputs"),
        (is_same(&saved.blocks, &computed.blocks)?, "the blockers"),
        (is_same(&saved.bookkeeping, &computed.bookkeeping)?, "the ledger updates without a request"),
        (is_same(&saved.drift, &computed.drift)?, "the drift"),
        (is_same(&saved.outputs, &computed.outputs)?, "the outputs"),
        (is_same(&saved.planned_outputs, &computed.planned_outputs)?, "the values of the outputs"),
        (is_same(&saved.cost, &computed.cost)?, "the prices"),
    ];
    let first = parts.iter().find(|(same, _)| !same).map(|(_, what)| (*what).to_owned());
    Ok(first.unwrap_or_else(|| "the notes and other descriptions".to_owned()))
}

/// Returns a plan without the parts that do not affect a decision; of each source file only its name remains.
fn comparable_plan(mut plan: Plan) -> Plan {
    let base = &mut plan.base;
    (base.made_at, base.nonce, base.serial) = (jiff::Timestamp::UNIX_EPOCH, Uuid::nil(), 0);
    plan.requests = RequestCount::default();
    plan.cost.priced_at = None;
    // Another key may apply the plan than the one that made it, and at another time.
    plan.notes.retain(|note| !note.code.is_about_planning());
    // The sums of what is due depend on the time; the amounts of the steps, of which they are made, do not.
    plan.cost.due = DueTotal::default();
    plan.changes.iter_mut().for_each(|change| change.cost.due_now = None);
    // They follow from the rest.
    plan.digests.clear();
    plan.fingerprint.clear();
    // Another stack may read an output now: that changes nothing here, unless it blocks the plan.
    for output in &mut plan.planned_outputs {
        output.readers.clear();
        output.possible_readers.clear();
    }
    // Policies are decided again, by the time, the environment and the settings of the machine: they change no decision.
    plan.policy.clear();
    plan.blocks.retain(|block| !block.is_ruling());
    plan.undecided.clear();
    let opens = |change: &Change| change.effects.iter().any(|effect| effect.code == Effect::Exposure);
    if plan.changes.iter().any(opens) {
        // Whether a change opens something may depend on the time, and so does its place in the list.
        plan.changes.sort_by(|a, b| (decided_rank(a), &a.address).cmp(&(decided_rank(b), &b.address)));
        for change in &mut plan.changes {
            change.effects.retain(|effect| effect.code != Effect::Exposure);
        }
    }
    for place in source_locations(&mut plan) {
        place.file = Name::new(place.file.rsplit(['/', '\\']).next().unwrap_or_default());
    }
    plan
}

/// Returns every source location in a plan.
fn source_locations(plan: &mut Plan) -> Vec<&mut SourceLocation> {
    let mut all: Vec<&mut Option<SourceLocation>> = Vec::new();
    for change in &mut plan.changes {
        all.push(&mut change.source);
        all.extend(change.was.as_mut().map(|was| &mut was.source));
        all.extend(change.attributes.iter_mut().map(|attribute| &mut attribute.source));
        all.extend(change.rest.iter_mut().map(|unchanged| &mut unchanged.source));
    }
    for drift in &mut plan.drift {
        all.push(&mut drift.source);
        all.extend(drift.leave.as_mut().map(|leave| &mut leave.source));
    }
    all.extend(plan.planned_outputs.iter_mut().map(|output| &mut output.source));
    all.extend(plan.blocks.iter_mut().map(|block| &mut block.source));
    all.extend(plan.policy.iter_mut().map(|ruling| &mut ruling.source));
    all.extend(plan.notes.iter_mut().map(|note| &mut note.source));
    all.into_iter().flatten().collect()
}
