//! How long steps take: the usual duration and the time limit of each, and the longest chain of steps. In:
//! estimates of the kind's table and `lifecycle.timeouts`; out: seconds.

use std::time::Duration;

use crate::model::schema::{Effect, Kind};
use crate::plan::join::joined_state::ResourceState;
use crate::plan::model::step::{CriticalPath, Operation, PlannedCall, Step};

/// The shortest time limit of a step, in seconds.
const MIN_TIMEOUT_SECS: u32 = 300;

/// The duration of a call that only stores a value, in seconds.
const METADATA_CALL_SECS: u32 = 1;

/// The time limit of a step, as a multiple of its usual duration.
const TIMEOUT_FACTOR: u32 = 20;

/// Returns the usual duration and the time limit of a step, in seconds. The limit is the block's, else
/// `TIMEOUT_FACTOR` times the duration and at least `MIN_TIMEOUT_SECS`.
pub(super) fn step_durations(subject: &ResourceState<'_>, operation: &Operation) -> (u32, u32) {
    let estimate = subject.kind.estimate;
    let timeouts = subject.block.map(|block| block.lifecycle.timeouts).unwrap_or_default();
    let (seconds, allowed) = match operation {
        Operation::Create { .. } => (estimate.create, timeouts.create),
        Operation::Update { calls, .. } => {
            // A later roll-out replaces the earlier one, so only one of them is waited for.
            let (rolls_out, others): (Vec<_>, Vec<_>) =
                calls.iter().partition(|call| rolls_out(subject.kind, call));
            let seconds = |call: &&PlannedCall| call_duration(subject.kind, call);
            let last = rolls_out.iter().map(seconds).max().unwrap_or(0);
            (others.iter().map(seconds).fold(last, u32::saturating_add), timeouts.update)
        }
        Operation::Delete { .. } => (estimate.delete, timeouts.delete),
    };
    let allowed = allowed.map(|limit: Duration| u32::try_from(limit.as_secs()).unwrap_or(u32::MAX));
    (seconds, allowed.unwrap_or_else(|| seconds.saturating_mul(TIMEOUT_FACTOR).max(MIN_TIMEOUT_SECS)))
}

/// Returns whether a call begins a roll-out.
fn rolls_out(kind: &Kind, call: &PlannedCall) -> bool {
    let mut attributes = call.attributes.keys().filter_map(|name| kind.attribute(name));
    attributes.any(|attribute| attribute.effects.contains(&Effect::Deploys))
}

/// Returns the usual duration of a call in seconds; one that only stores a value takes at most `METADATA_CALL_SECS`.
fn call_duration(kind: &Kind, call: &PlannedCall) -> u32 {
    let changed = call.attributes.iter().filter(|(_, (before, after))| after.known_value() != Some(before));
    let mut changed = changed.filter_map(|(name, _)| kind.attribute(name)).peekable();
    let at_once = changed.peek().is_some() && changed.all(|attribute| attribute.at_once);
    if at_once { kind.estimate.update.min(METADATA_CALL_SECS) } else { kind.estimate.update }
}

/// Returns the longest chain of steps by duration; of equally long ones that with the lower step numbers, so
/// that the result is deterministic.
pub(in crate::plan) fn critical_path(steps: &[Step]) -> CriticalPath {
    let mut best: Vec<(u32, Option<usize>)> = Vec::with_capacity(steps.len());
    for step in steps {
        let before = step.after.iter().max_by_key(|n| (best[**n].0, std::cmp::Reverse(**n)));
        let seconds = before.map_or(0, |n| best[*n].0).saturating_add(step.seconds);
        best.push((seconds, before.copied()));
    }
    let last = (0..steps.len()).max_by_key(|n| (best[*n].0, std::cmp::Reverse(*n)));
    let mut path: Vec<usize> = std::iter::successors(last, |n| best[*n].1).collect();
    path.reverse();
    CriticalPath { seconds: last.map_or(0, |n| best[n].0), steps: path }
}
