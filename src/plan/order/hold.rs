//! Leaves out the deletions that nothing else in the plan waits for: another run makes them once the units that still use
//! the objects have switched. In: ordered steps. Out: the steps without these deletions, and without what only prepares
//! them, numbered again. The ledger keeps the objects, a replaced one as deposed, so that the next plan deletes them.

use super::steps::StepOrder;
use crate::plan::decision::{Decision, DecisionKind};
use crate::plan::model::step::{Operation, Step};

/// Returns the steps without the deletions that no creation and no update waits for.
pub(in crate::plan) fn hold_deletions(ordered: StepOrder, decisions: &[Decision<'_>]) -> StepOrder {
    let StepOrder { steps, of, cycle, .. } = ordered;
    let mut resource = vec![0; steps.len()];
    for (n, numbers) in of.iter().enumerate() {
        for number in numbers {
            resource[*number] = n;
        }
    }
    // Each step comes after those that it depends on, so the dependents of a step are decided before it.
    let mut is_needed = vec![false; steps.len()];
    for (number, step) in steps.iter().enumerate().rev() {
        let prepares = prepares_deletion(step, &decisions[resource[number]]);
        is_needed[number] |= !prepares;
        if is_needed[number] {
            for before in &step.after {
                is_needed[*before] = true;
            }
        }
    }
    let mut numbers = vec![None; steps.len()];
    let mut kept: Vec<Step> = Vec::new();
    for (number, mut step) in steps.into_iter().enumerate() {
        if is_needed[number] {
            numbers[number] = Some(kept.len());
            step.after = step.after.iter().filter_map(|before| numbers[*before]).collect();
            kept.push(step);
        }
    }
    let holds_deletions = numbers.contains(&None);
    let of = of.into_iter().map(|all| all.into_iter().filter_map(|number| numbers[number]).collect());
    StepOrder { steps: kept, of: of.collect(), cycle, holds_deletions }
}

/// Returns whether a step deletes an object, or only prepares a deletion: it undoes a link of an object that goes, or takes
/// a final snapshot of it.
fn prepares_deletion(step: &Step, decision: &Decision<'_>) -> bool {
    match &step.operation {
        Operation::Delete { .. } => true,
        Operation::Create { remember, .. } => remember.let_go,
        Operation::Update { desired, .. } => {
            desired.is_empty()
                || matches!(decision.act, DecisionKind::Delete | DecisionKind::Replace { .. })
        }
    }
}
