//! Roll-outs: the service accepts a change of how an object runs at once, and then begins a record of its own
//! (a deployment) that must succeed. The object does not show it, as the previous version runs on meanwhile.
//! In: the records before and after the calls; out: success, or the service's own error.

use std::collections::BTreeSet;
use std::time::Duration;

use super::wait::{POLL_INTERVAL, is_in_use};
use crate::apply::event::StepError;
use crate::apply::step::{MutationTarget, StepContext, read_failed};
use crate::apply::step_parts::StepParts;
use crate::cloud::http::message::Transport;
use crate::cloud::wait::run_records::ServiceRun;
use crate::ledger::journal::record::Record;
use crate::ledger::journal::store::Store;
use crate::ledger::state::entry::Entry;
use crate::model::address::{Address, Name};
use crate::model::clock::{Clock, Random};
use crate::model::live::snapshot::Object;
use crate::model::schema::{Action, ActionCompletion, Effect, Kind, RunSchema};
use crate::plan::model::step::PlannedCall;

/// The longest time between two reads while waiting.
const ROLLOUT_POLL_INTERVAL: Duration = Duration::from_secs(15);

/// A roll-out that is waited for after the calls are made.
pub(in crate::apply) struct Rollout {
    /// The rolled-out object: the changed one, or the parent of a created or deleted child.
    of: RolloutTarget,
    run: &'static RunSchema,
    /// Preexisting records; `None` if an earlier apply made the calls: then the newest record counts.
    known: Option<BTreeSet<Name>>,
}

/// An object that is rolled out.
struct RolloutTarget {
    address: Address,
    kind: &'static Kind,
    target: MutationTarget,
}

/// Reads the records of the parent before a child is created or deleted, to recognize the roll-out that this
/// begins; `None` if it begins none.
pub(in crate::apply) async fn foresee_at_parent<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    parent: Option<&Address>,
) -> Result<Option<Rollout>, StepError> {
    let Some((of, run)) = rolled_out_parent(parts, job, parent)? else { return Ok(None) };
    let before = list_runs(parts, &of, run).await?;
    let known = Some(before.into_iter().map(|record| record.id).collect());
    Ok(Some(Rollout { of, run, known }))
}

/// Returns the parent that creating or deleting a child rolls out; `None` if it rolls out none, or has no object.
fn rolled_out_parent<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    parent: Option<&Address>,
) -> Result<Option<(RolloutTarget, &'static RunSchema)>, StepError> {
    let Some(address) = parent.filter(|_| job.kind.rolls_out_parent) else { return Ok(None) };
    let entry = parts.context.journal.ledger().entries.get(address).cloned();
    let Some((name, owned)) = entry.and_then(|entry| Some((entry.kind, entry.current?))) else {
        return Ok(None);
    };
    let kind = parts.kind(&name)?;
    let target = MutationTarget::from_owned(kind, &owned);
    Ok(kind.rollout.map(|run| (RolloutTarget { address: address.clone(), kind, target }, run)))
}

/// Waits until the roll-out that a child began at its parent has ended. A parent that is not in use begins none.
///
/// # Errors
/// The errors of `roll_out`.
pub(in crate::apply) async fn roll_out_parent<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    rollout: &Rollout,
) -> Result<(), StepError> {
    match parts.get(&rollout.of.target.key).await? {
        Some(object) => roll_out(parts, job, &object, rollout).await,
        None => Ok(()),
    }
}

/// Reads the records before a change, to recognize the roll-out that it begins; `None` if it begins none. From then on
/// the ledger has the resource as unfinished: if this apply is aborted, the next one checks how the roll-out ended.
pub(in crate::apply) async fn foresee_rollout<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    target: &MutationTarget,
    calls: &[PlannedCall],
) -> Result<Option<Rollout>, StepError> {
    let entry = parts.context.journal.ledger().entries.get(job.address).cloned();
    let Some(entry) = entry else { return Ok(None) };
    if let Some((of, run)) = rolled_out_parent(parts, job, entry.parent.as_ref())? {
        return Ok(entry.unfinished.then_some(Rollout { of, run, known: None }));
    }
    let Some(run) = job.kind.rollout else { return Ok(None) };
    if calls.is_empty() {
        let of = RolloutTarget { address: job.address.clone(), kind: job.kind, target: target.clone() };
        return Ok(entry.unfinished.then_some(Rollout { of, run, known: None }));
    }
    let changed = calls.iter().flat_map(|call| call.attributes.keys());
    foresee_own_rollout(parts, job, target, changed).await
}

/// Reads the records before calls with these attributes, to recognize the roll-out that they begin at the
/// object itself; `None` if they begin none.
pub(in crate::apply) async fn foresee_own_rollout<'n, C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    target: &MutationTarget,
    mut changed: impl Iterator<Item = &'n Name>,
) -> Result<Option<Rollout>, StepError> {
    let entry = parts.context.journal.ledger().entries.get(job.address).cloned();
    let Some((entry, run)) = entry.zip(job.kind.rollout) else { return Ok(None) };
    if !changed.any(|name| rolls_out(job.kind, name)) {
        return Ok(None);
    }
    let of = RolloutTarget { address: job.address.clone(), kind: job.kind, target: target.clone() };
    let before = list_runs(parts, &of, run).await?;
    let known = before.into_iter().map(|record| record.id).collect();
    if !entry.unfinished {
        let entry = Entry { current: None, deposed: Vec::new(), unfinished: true, ..entry };
        parts.commit([Record::Applied { address: job.address.clone(), entry: Box::new(entry) }]).await?;
    }
    Ok(Some(Rollout { of, run, known: Some(known) }))
}

/// Waits until the roll-out of a change has ended. If no record appears within the listing bound, there is none.
///
/// # Errors
/// When it failed, with the service's own message, or did not end in time.
pub(in crate::apply) async fn roll_out<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    object: &Object,
    rollout: &Rollout,
) -> Result<(), StepError> {
    if !is_in_use(rollout.of.kind, object) {
        // An object that is not in use begins no roll-out before it is in use again.
        return Ok(());
    }
    let (run, begun) = (rollout.run, parts.clock().elapsed());
    let mut told = None;
    loop {
        let records = list_runs(parts, &rollout.of, run).await?;
        let now = parts.clock().elapsed();
        let is_new =
            |record: &&ServiceRun| rollout.known.as_ref().is_none_or(|known| !known.contains(&record.id));
        // The newest come first and replace those before them. Of two that began at the same time, the replaced one
        // may be listed first.
        let stands = |record: &&ServiceRun| !run.replaced.contains(&record.status.as_str());
        let new = || records.iter().filter(is_new);
        let newest = match new().find(stands).or_else(|| new().next()) {
            None if rollout.known.is_none() => return Ok(()),
            // The call began no roll-out, or an earlier apply made the same call.
            None if now >= begun + parts.context.bounds.listing => {
                records.first().filter(|record| !run.failed.contains(&record.status.as_str()))
            }
            newest => newest,
        };
        match newest {
            None if now >= begun + parts.context.bounds.listing => return Ok(()),
            None => {}
            Some(record) if run.done.contains(&record.status.as_str()) => return Ok(()),
            Some(record) if run.failed.contains(&record.status.as_str()) => {
                return Err(StepError::NotReady(
                    describe_failed_run(parts, &rollout.of, run, record).await,
                ));
            }
            Some(record) if now >= job.until => {
                let (what, id, status) = (record_noun(run), &record.id, &record.status);
                let text = format!("{what} {id} is still {status}, and the timeout has expired");
                return Err(StepError::NotReady(text));
            }
            Some(record) if told.as_ref() == Some(&record.status) => {}
            Some(record) => {
                parts.emit_progress(job, format!("waiting, {} {}", record_noun(run), record.status));
                told = Some(record.status.clone());
            }
        }
        // A quarter of the time so far: a long roll-out costs few requests, and its end is seen in proportion.
        parts
            .clock()
            .sleep((now.saturating_sub(begun) / 4).clamp(POLL_INTERVAL, ROLLOUT_POLL_INTERVAL))
            .await;
    }
}

/// Adds the reason from the newest roll-out record to the error of an object that did not become ready; without
/// a failed record the error stays as it is.
pub(in crate::apply) async fn explain_failure<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    target: &MutationTarget,
    error: StepError,
) -> StepError {
    let (StepError::NotReady(text), Some(run)) = (&error, job.kind.rollout) else { return error };
    // Records that cannot be read explain nothing; the error stays as it is.
    let of = RolloutTarget { address: job.address.clone(), kind: job.kind, target: target.clone() };
    let Ok(records) = list_runs(parts, &of, run).await else { return error };
    match records.first().filter(|record| run.failed.contains(&record.status.as_str())) {
        Some(record) => {
            let why = describe_failed_run(parts, &of, run, record).await;
            StepError::NotReady(format!("{text}; {why}"))
        }
        None => error,
    }
}

async fn describe_failed_run<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    of: &RolloutTarget,
    run: &RunSchema,
    record: &ServiceRun,
) -> String {
    let mut text = format!("{} {} is {}", record_noun(run), record.id, record.status);
    if let Some(error) = &record.error {
        text = format!("{text}: {error}");
    } else {
        let tail = parts.context.client.run_tail(of.kind, &of.target.key, run).await.unwrap_or_default();
        if !tail.is_empty() {
            text = format!("{text}; last messages: {}", tail.join(" · "));
        }
    }
    let address = &of.address;
    if let Some((feed, _)) = run.told_by {
        text = format!("{text}; `stead do {feed} {address}` shows what happened");
    }
    match restart_action(of.kind, run) {
        Some(action) => format!("{text}, `stead do {action} {address}` retries it"),
        None => text,
    }
}

async fn list_runs<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    of: &RolloutTarget,
    run: &RunSchema,
) -> Result<Vec<ServiceRun>, StepError> {
    parts.context.client.runs(of.kind, &of.target.key, run).await.map_err(read_failed)
}

/// Returns the name of one record: `deployment`.
fn record_noun(run: &RunSchema) -> &'static str {
    run.listed_by.strip_suffix('s').unwrap_or(run.listed_by)
}

/// Returns the action that begins another roll-out; `None` if the kind has none.
fn restart_action(kind: &Kind, run: &RunSchema) -> Option<&'static str> {
    let begins =
        |action: &&Action| matches!(action.until, ActionCompletion::RunFinished(other) if other == run);
    kind.actions.iter().find(begins).map(|action| action.name)
}

/// Returns whether setting an attribute begins a roll-out.
fn rolls_out(kind: &Kind, name: &str) -> bool {
    kind.attribute(name).is_some_and(|attribute| attribute.effects.contains(&Effect::Deploys))
}
