//! Dependency cycles among the steps of a plan: which step waits for which, with the lines of their blocks, and a
//! remedy that was verified by planning again. In: the cycle and the inputs of the plan; out: one blocker.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::steps::CycleStep;
use crate::config::stack::model::Stack;
use crate::model::address::Address;
use crate::model::diagnostic::blocker_code;
use crate::model::expression::Expression;
use crate::model::schema::ReplaceOrder;
use crate::model::source::Span;
use crate::model::values::value::Value;
use crate::plan::blockers::Blockers;
use crate::plan::decide::conflicts::name_conflicts::unique_attributes;
use crate::plan::decision::{Decision, DecisionKind};
use crate::plan::inputs::PlanInputs;
use crate::plan::join::joined_state::JoinedState;
use crate::plan::model::block::Blocker;
use crate::plan::model::change::Plan;

/// The limit on steps of a cycle that a message names.
const MAX_LISTED_STEPS: usize = 12;
/// The limit on plans that are made to find a remedy: each one costs as much as the plan itself.
const MAX_FIX_ATTEMPTS: usize = 24;

/// A change of the plan's inputs that may remove the cycle.
enum CycleFix {
    /// Set `lifecycle.replace` of a block to this order.
    Order(Address, ReplaceOrder),
    /// Leave the resource out of a first apply.
    Exclude(Address),
    /// Give a unique attribute another value in a first apply.
    Value(Address, &'static str, String),
}

/// Adds the blocker for a dependency cycle. `original` are the inputs before the declarations were resolved, and
/// `plan_again` makes a plan without searching for remedies.
pub(in crate::plan) fn add_cycle_blocker(
    joined: &JoinedState<'_>,
    decisions: &[Decision<'_>],
    cycle: &[CycleStep],
    (original, plan_again): (&PlanInputs<'_>, &dyn Fn(&PlanInputs<'_>) -> Plan),
    blocks: &mut Blockers<'_, '_>,
) {
    let known: BTreeSet<_> = blocks.as_slice().iter().map(blocker_identity).collect();
    let ways = candidate_remedies(joined, decisions, cycle);
    let found =
        ways.into_iter().take(MAX_FIX_ATTEMPTS).find(|way| leads_out(original, plan_again, way, &known));
    let help = match &found {
        Some(way) => describe_way(joined, way),
        None => "No other replacement order and no excluded resource removes the cycle (tried). For a first apply, revert one of these changes."
            .to_owned(),
    };
    let span = cycle.first().and_then(|step| subject_span(joined, step.n));
    blocks.at_place(
        blocker_code::CYCLE,
        span,
        describe_cycle(joined, cycle),
        joined.render_help(span, &help),
    );
}

fn blocker_identity(block: &Blocker) -> (String, Option<Address>) {
    (block.code.to_string(), block.address.clone())
}

/// Describes the cycle in a sentence.
fn describe_cycle(joined: &JoinedState<'_>, cycle: &[CycleStep]) -> String {
    let step = |step: &CycleStep| {
        format!("{} `{}`{}", step.doing, joined.subjects[step.n].address, describe_location(joined, step.n))
    };
    let mut text = "Dependency cycle: ".to_owned();
    for (number, waiting) in cycle.iter().take(MAX_LISTED_STEPS).enumerate() {
        let joint = match number {
            0 => "",
            1 => " waits for ",
            _ => ", which waits for ",
        };
        let _ = write!(text, "{joint}{}", step(waiting));
    }
    match cycle.len().checked_sub(MAX_LISTED_STEPS).filter(|more| *more > 0) {
        Some(more) => drop(write!(text, ", and so on over {more} more steps, back to the first.")),
        None => text.push_str(", which waits for the first."),
    }
    text
}

fn subject_span(joined: &JoinedState<'_>, n: usize) -> Option<Span> {
    let subject = &joined.subjects[n];
    let left_out = || joined.left_out(subject.address).map(|(_, span)| span);
    subject.block.map(|block| block.span).or_else(left_out)
}

/// Returns the location of a block, in parentheses.
fn describe_location(joined: &JoinedState<'_>, n: usize) -> String {
    let place = subject_span(joined, n).and_then(|span| joined.inputs.stack.sources.location_of(span));
    place.map_or_else(|| " (no block)".to_owned(), |place| format!(" ({}:{})", place.file, place.line))
}

/// Returns the remedies to try: those that need only one apply come first.
fn candidate_remedies(
    joined: &JoinedState<'_>,
    decisions: &[Decision<'_>],
    cycle: &[CycleStep],
) -> Vec<CycleFix> {
    let members: BTreeSet<usize> = cycle.iter().map(|step| step.n).collect();
    let members: Vec<usize> = members.into_iter().filter(|n| joined.subjects[*n].block.is_some()).collect();
    let address = |n: usize| joined.subjects[n].address.clone();
    let mut ways = Vec::new();
    for &n in &members {
        if let DecisionKind::Replace { create_first } = decisions[n].act {
            let other = if create_first { ReplaceOrder::DeleteFirst } else { ReplaceOrder::CreateFirst };
            ways.push(CycleFix::Order(address(n), other));
        }
    }
    let orders = ways.len();
    for &n in &members {
        let alone: Vec<&str> = unique_attributes(joined.subjects[n].kind).flatten().copied().collect();
        let handed_over = decisions[n].differences.iter().filter(|d| alone.contains(&d.attribute.name));
        ways.extend(handed_over.filter_map(|difference| {
            let text = difference.after.as_text()?;
            Some(CycleFix::Value(address(n), difference.attribute.name, format!("{text}-2")))
        }));
    }
    // A resource that is left out keeps the name for which another one waits.
    if ways.len() == orders {
        ways.extend(members.iter().map(|n| CycleFix::Exclude(address(*n))));
    }
    ways
}

/// Returns whether a plan with the remedy has no cycle and no additional blocker.
fn leads_out(
    original: &PlanInputs<'_>,
    plan_again: &dyn Fn(&PlanInputs<'_>) -> Plan,
    way: &CycleFix,
    known: &BTreeSet<(String, Option<Address>)>,
) -> bool {
    let (mut stack, mut options): (Stack, _) = (original.stack.clone(), original.options.clone());
    match way {
        CycleFix::Order(address, order) => {
            let Some(resource) = stack.resources.get_mut(address) else { return false };
            resource.lifecycle.replace = Some(*order);
        }
        CycleFix::Exclude(address) => drop(options.excluded.insert(address.clone())),
        CycleFix::Value(address, attribute, value) => {
            let resource = stack.resources.get_mut(address);
            let Some(setting) = resource.and_then(|one| one.attributes.get_mut(*attribute)) else {
                return false;
            };
            setting.expression = Expression::Value(Value::text(value));
        }
    }
    let plan = plan_again(&PlanInputs { stack: &stack, options: &options, ..*original });
    let counts = |block: &&Blocker| block.code != blocker_code::POLICY.code;
    !plan.steps.is_empty()
        && plan.blocks.iter().filter(counts).all(|block| known.contains(&blocker_identity(block)))
}

fn describe_way(joined: &JoinedState<'_>, way: &CycleFix) -> String {
    let line = |address: &Address| {
        joined.index.get(address).map_or_else(String::new, |n| describe_location(joined, *n))
    };
    match way {
        CycleFix::Order(address, order) => {
            let word = match order {
                ReplaceOrder::CreateFirst => "create_first",
                _ => "delete_first",
            };
            format!(
                "Write `lifecycle: {{ replace: {word} }}` in {address}{}: the plan has no cycle then (tried).",
                line(address)
            )
        }
        CycleFix::Exclude(address) => format!(
            "Apply in two runs: `stead apply --exclude {address}` has no cycle (tried); then `stead apply` does \
             the rest."
        ),
        CycleFix::Value(address, attribute, value) => format!(
            "Apply in two runs: with `{attribute}: {value}` in {address}{} the plan has no cycle (tried); then write the intended value.",
            line(address)
        ),
    }
}
