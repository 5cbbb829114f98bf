//! Consistency of a plan's changes with its steps. A saved plan shows its changes, but an apply runs its steps: a file
//! in which they differ was edited, and is neither shown nor applied. Values that follow only from live objects or the
//! catalog (names of catalog entries, prices, locations) are not compared here, as the apply recomputes the plan.

use crate::model::address::path_prefixes;
use crate::model::diagnostic::blocker_code;
use crate::model::expression::Expression;
use crate::model::schema::{Kind, Registry, Type};
use crate::model::values::value::Value;
use crate::plan::model::change::{Action, AttributeChange, Change, Plan};
use crate::plan::model::compare::{part_type, to_canonical};
use crate::plan::model::due::{DueTotal, sum_due};
use crate::plan::model::step::{Operation, PlannedCall, Step};
use crate::plan::order::durations::critical_path;

/// Checks that a plan's changes match its steps: every step belongs to exactly one change, follows the steps
/// that it waits for, and sends the values that the change shows.
///
/// # Errors
/// The first mismatch, as a phrase: `step 3 belongs to no change`.
pub(in crate::plan) fn check(plan: &Plan, registry: Registry) -> Result<(), String> {
    // A dependency cycle has no order: the plan has no steps, and is blocked.
    if plan.steps.is_empty() && plan.blocks.iter().any(|block| block.code == blocker_code::CYCLE.code) {
        return Ok(());
    }
    let mut owned = vec![false; plan.steps.len()];
    for change in &plan.changes {
        check_change(change, plan, &mut owned)?;
        if let Some(kind) = registry.kind(&change.kind) {
            check_attributes(change, plan, kind)?;
        }
    }
    if let Some(number) = owned.iter().position(|owned| !owned) {
        return Err(format!("step {number} belongs to no change"));
    }
    for (number, step) in plan.steps.iter().enumerate() {
        if step.after.iter().any(|before| *before >= number) {
            return Err(format!("step {number} is ordered before a step that it waits for"));
        }
    }
    check_due(plan)?;
    if critical_path(&plan.steps) != plan.critical_path {
        return Err("the critical path does not match the steps".to_owned());
    }
    Ok(())
}

/// Checks that what is due is the sum of the amounts of the steps, at the time that the plan states.
fn check_due(plan: &Plan) -> Result<(), String> {
    let mut total = DueTotal::default();
    // An earlier version of stead saved the plan, without what is due.
    if plan.changes.iter().all(|change| change.cost.due.is_empty() && change.cost.due_now.is_none()) {
        return Ok(());
    }
    let at = plan.cost.due.at.unwrap_or(plan.base.made_at);
    for Change { address, cost, steps, .. } in &plan.changes {
        if cost.due_now != sum_due(&cost.due, at) {
            return Err(format!("what is due for {address} is not the sum of its steps"));
        }
        if cost.due.iter().any(|due| !steps.contains(&due.step)) {
            return Err(format!("{address} has an amount for a step of another change"));
        }
        total.add(&cost.due, at);
    }
    if total == plan.cost.due {
        Ok(())
    } else {
        Err("what is due is not the sum of the changes".to_owned())
    }
}

fn check_change(change: &Change, plan: &Plan, owned: &mut [bool]) -> Result<(), String> {
    let address = &change.address;
    let mut seconds: u32 = 0;
    for number in &change.steps {
        let step =
            plan.steps.get(*number).ok_or_else(|| format!("{address} has a step that is missing"))?;
        if std::mem::replace(&mut owned[*number], true) {
            return Err(format!("step {number} belongs to two changes"));
        }
        // The final snapshot of a deleted object has an address below the object's.
        let is_copy = matches!(&step.operation, Operation::Create { remember, .. } if remember.let_go)
            && path_prefixes(step.address.as_str()).any(|above| above == address.as_str());
        if !is_copy && (step.address != *address || step.kind != change.kind) {
            return Err(format!("step {number} does not belong to {address}"));
        }
        seconds = seconds.saturating_add(step.seconds);
    }
    if seconds != change.seconds {
        return Err(format!("the duration of {address} is not the sum of its steps"));
    }
    let steps = || change.steps.iter().filter_map(|number| plan.steps.get(*number));
    if is_action_of(change.action, steps()) {
        Ok(())
    } else {
        Err(format!("the steps of {address} do not match the action of its change"))
    }
}

/// Returns whether these steps are the ones that a plan has for an action.
fn is_action_of<'p>(action: Action, steps: impl Iterator<Item = &'p Step>) -> bool {
    let (mut creates, mut updates, mut deletes, mut removes_deposed) = (false, false, false, false);
    for step in steps {
        match &step.operation {
            // The final snapshot of a deleted object is not the resource's own object.
            Operation::Create { remember, .. } if remember.let_go => {}
            Operation::Create { .. } => creates = true,
            Operation::Update { .. } => updates = true,
            Operation::Delete { deposed: true, .. } => removes_deposed = true,
            Operation::Delete { deposed: false, .. } => deletes = true,
        }
    }
    match action {
        Action::Create => creates && !deletes,
        Action::Replace => creates,
        Action::Update => updates && !creates && !deletes,
        // An object that is deleted together with its parent needs no step of its own.
        Action::Delete => !creates,
        Action::Adopt | Action::Move | Action::Forget => !creates && !deletes,
        Action::Read => !creates && !updates && !deletes && !removes_deposed,
    }
}

/// Checks that the shown attributes match those of the steps, as far as both use the same representation.
fn check_attributes(change: &Change, plan: &Plan, kind: &Kind) -> Result<(), String> {
    for number in &change.steps {
        let Some(step) = plan.steps.get(*number) else { continue };
        match &step.operation {
            Operation::Create { desired, remember, .. } if !remember.let_go => {
                if change.action == Action::Create
                    && let Some(name) = desired.iter().find(|(name, wanted)| {
                        wanted.known_value() != Some(&Value::Null)
                            && change.attributes.iter().all(|shown| shown.path != **name)
                    })
                {
                    return Err(format!("{}.{} is not shown", change.address, name.0));
                }
                for shown in &change.attributes {
                    let planned = desired.get(attribute_of(&shown.path)).and_then(Expression::known_value);
                    check_value(change, kind, shown, planned)?;
                }
            }
            Operation::Update { calls, .. } => {
                for shown in &change.attributes {
                    check_value(change, kind, shown, final_value(calls, attribute_of(&shown.path)))?;
                }
            }
            Operation::Create { .. } | Operation::Delete { .. } => {}
        }
    }
    Ok(())
}

/// Returns the value of an attribute after the last call that changes it; `None` if no call does, or if the
/// value is known only after apply.
fn final_value<'c>(calls: &'c [PlannedCall], name: &str) -> Option<&'c Value> {
    let mut all = calls.iter().filter_map(|call| call.attributes.get(name));
    all.next_back().and_then(|(_, after)| after.known_value())
}

fn attribute_of(path: &str) -> &str {
    path.split_once('.').map_or(path, |(name, _)| name)
}

fn check_value(
    change: &Change,
    kind: &Kind,
    shown: &AttributeChange,
    planned: Option<&Value>,
) -> Result<(), String> {
    let Some(attribute) = kind.attribute(attribute_of(&shown.path)) else { return Ok(()) };
    let key = shown.path.split_once('.').map(|(_, key)| key);
    let ty = match key {
        None => Some(&attribute.ty),
        Some(key) => part_type(&attribute.ty, key),
    };
    // Catalog entries and references are shown by name, but steps contain ids.
    let Some(ty) = ty.filter(|ty| is_shown_as_planned(ty)) else { return Ok(()) };
    let planned =
        planned.map(|planned| key.map_or_else(|| planned.clone(), |key| value_at_key(planned, key)));
    // A secret without a fingerprint compares equal to nothing.
    let comparable = |planned: &Value| !planned.is_unknown() && !planned.lacks_fingerprint();
    match planned.filter(comparable) {
        Some(planned) if to_canonical(ty, &planned) != to_canonical(ty, &shown.after) => {
            Err(format!("{}.{} is not what its step says", change.address, shown.path))
        }
        _ => Ok(()),
    }
}

fn value_at_key(value: &Value, key: &str) -> Value {
    match value {
        Value::Map(map) => map.get(key).cloned().unwrap_or_default(),
        _ => Value::Null,
    }
}

fn is_shown_as_planned(ty: &Type) -> bool {
    matches!(ty, Type::Boolean | Type::Integer { .. } | Type::Decimal | Type::Text { .. } | Type::Enum(_))
}
