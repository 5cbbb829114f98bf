//! The effect of records on the history of runs.

use std::collections::VecDeque;

use jiff::SignedDuration;
use uuid::Uuid;

use crate::ledger::journal::record::{ClosedOutcome, IntentResolution, Record};
use crate::ledger::state::ledger::Ledger;
use crate::ledger::state::run_details::{OutputRun, PolicyRun, RequestOutcome, ResourceRun};
use crate::ledger::state::run_history::{
    MAX_RUNS, Run, RunEnd, add_request, drop_old_details, number_runs, set_request_outcome,
};
use crate::model::address::Name;

/// The time for which a deleted object is remembered: longer than any list may still show it.
const TOMBSTONE_RETENTION: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Adds a request that is about to be sent to its run, or what a record states of the outcome of one.
pub(super) fn follow_request(history: &mut VecDeque<Run>, record: &Record) {
    let (op, outcome) = match record {
        Record::Intent(intent) => return add_request(history, intent),
        Record::Bound { op, .. } | Record::Gone { op: Some(op), .. } => (*op, RequestOutcome::Done),
        Record::Closed { op, outcome } => match outcome {
            ClosedOutcome::Done => (*op, RequestOutcome::Done),
            ClosedOutcome::Refused => (*op, RequestOutcome::Refused),
            ClosedOutcome::NotSent => (*op, RequestOutcome::NotSent),
            ClosedOutcome::PresumedAbsent => (*op, RequestOutcome::NoEffect),
        },
        Record::Asked(question) => (question.intent.op, RequestOutcome::Ambiguous),
        Record::Answered { op, answer } => match answer {
            IntentResolution::Made { .. } | IntentResolution::Surplus { .. } => (*op, RequestOutcome::Done),
            IntentResolution::Nothing => (*op, RequestOutcome::NoEffect),
            IntentResolution::Dropped => return,
        },
        _ => return,
    };
    set_request_outcome(history, op, outcome);
}

/// Records the start of a run: from now on, some changes of a review may be made, and what an earlier review left can be
/// changed.
pub(super) fn begin_run(ledger: &mut Ledger, run: Run) {
    ledger.applied_review = None;
    if let Some(review) = &mut ledger.review {
        review.begun = true;
    }
    ledger.tombstones.retain(|_, stone| run.at.duration_since(stone.at) < TOMBSTONE_RETENTION);
    if ledger.history.len() >= MAX_RUNS {
        ledger.history.pop_front();
    }
    ledger.last_run = number_runs(&mut ledger.history, ledger.last_run) + 1;
    ledger.history.push_back(Run { number: ledger.last_run, ..run });
    // Runs that are killed record no end, which would drop the details of older ones.
    drop_old_details(&mut ledger.history);
}

/// Removes overrides that a run did not need: it began with those that a step could need.
pub(super) fn drop_overrides(ledger: &mut Ledger, run: Uuid, unused: &[Name]) {
    let known = ledger.history.iter_mut().rev().find(|known| known.run == run);
    let Some(Run { origin, .. }) = known.filter(|_| !unused.is_empty()) else { return };
    origin.overridden.retain(|name| !unused.contains(name));
    origin.reason = origin.reason.take().filter(|_| !origin.overridden.is_empty());
}

/// Records the end of a run in the history.
pub(super) fn end_run(
    ledger: &mut Ledger,
    run: Uuid,
    end: RunEnd,
    (resources, policies, outputs): (&[ResourceRun], &[PolicyRun], Vec<OutputRun>),
) {
    if end.complete {
        ledger.last_applied = Some(end.at);
    }
    if let Some(known) = ledger.history.iter_mut().rev().find(|known| known.run == run) {
        known.end = Some(end);
        known.resources = resources.to_vec();
        known.outputs = outputs;
        // They are part of what it did to each resource.
        known.begun = Vec::new();
        known.policies = policies.to_vec();
    }
    drop_old_details(&mut ledger.history);
}
