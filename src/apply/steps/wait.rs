//! Waiting for objects to come to rest, or to be gone: the client's shared reads, in a step's words.

use std::time::Duration;

use crate::apply::event::StepError;
use crate::apply::step::{Job, Target, read_failed};
use crate::apply::step_parts::StepParts;
use crate::cloud::http::message::Cloud;
use crate::cloud::wait::waiter::Unsettled;
use crate::ledger::journal::store::Store;
use crate::model::clock::{Clock, Random};
use crate::model::schema::Kind;
use crate::model::snapshot::Object;

/// Time between two looks at something that should show at once.
pub(in crate::apply) const TICK: Duration = Duration::from_secs(1);

/// What a status means for a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// It can be used, or rests.
    Settled,
    /// It will not settle by itself.
    Failed,
    /// It is on its way out.
    Leaving,
    /// It is under way, or its status is not one that we know.
    Moving,
}

fn object_readiness(kind: &Kind, object: &Object) -> Rest {
    let Some(ready) = kind.api.ready else { return Rest::Settled };
    let Some(status) = object.status(ready.attribute) else { return Rest::Settled };
    let among = |statuses: &[&str]| statuses.contains(&status);
    if among(ready.wanted) || among(ready.resting) {
        Rest::Settled
    } else if among(ready.failed) {
        Rest::Failed
    } else if among(ready.leaving) {
        Rest::Leaving
    } else {
        Rest::Moving
    }
}

/// Tells whether an object is in no transition, and shows its status.
pub(in crate::apply) fn at_rest(kind: &Kind, object: &Object) -> bool {
    let shown = kind.api.ready.is_none_or(|ready| object.status(ready.attribute).is_some());
    shown && object_readiness(kind, object) == Rest::Settled
}

/// Tells whether an object will not settle by itself.
pub(in crate::apply) fn has_failed(kind: &Kind, object: &Object) -> bool {
    object_readiness(kind, object) == Rest::Failed
}

/// Tells whether an object is in use.
pub(in crate::apply) fn is_in_use(kind: &Kind, object: &Object) -> bool {
    kind.api.ready.is_some_and(|ready| {
        object.status(ready.attribute).is_some_and(|status| ready.wanted.contains(&status))
    })
}

/// Tells whether an object is on its way out.
pub(in crate::apply) fn is_leaving(kind: &Kind, object: &Object) -> bool {
    object_readiness(kind, object) == Rest::Leaving
}

/// Waits until an object can be used, beginning with how it was just read. Returns what a list
/// shows of it, or more.
pub(in crate::apply) async fn wait_until_ready<C: Cloud, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &Job<'_>,
    target: &Target,
    known: Option<Object>,
) -> Result<Object, StepError> {
    let known = match known {
        Some(object) if at_rest(job.kind, &object) => return Ok(object),
        known => known,
    };
    let on_status = |status: &str| parts.emit_progress(job, format!("waiting, {status}"));
    let (key, project, within) = (&target.key, target.project.as_ref(), wait_limit(parts, job));
    let client = parts.context.client;
    let settled = client.settled_as_listed((job.kind, key), project, within, known, &on_status).await;
    settled.map_err(|error| wait_error(job, target, error))
}

/// Reads an object whole once it is in no transition; one that failed is at rest, too.
pub(in crate::apply) async fn read_when_stable<C: Cloud, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &Job<'_>,
    target: &Target,
) -> Result<Object, StepError> {
    let name = || format!("{} {}", job.kind.name, target.key.id);
    let Some(object) = parts.get(&target.key).await? else {
        return Err(StepError::Moved(format!("{} is gone", name())));
    };
    match object_readiness(job.kind, &object) {
        Rest::Settled | Rest::Failed => Ok(object),
        Rest::Leaving => Err(StepError::Moved(format!("{} is being deleted", name()))),
        Rest::Moving => {
            let on_status = |status: &str| parts.emit_progress(job, format!("waiting, {status}"));
            let (key, project, within) = (&target.key, target.project.as_ref(), wait_limit(parts, job));
            let settled =
                parts.context.client.wait_until_ready(job.kind, key, project, within, &on_status).await;
            settled.map_err(|error| wait_error(job, target, error))
        }
    }
}

/// Waits until nothing answers to an id any more and no list shows it: both, because a wrong
/// project or a lost permission looks like a 404, and lists lag.
pub(in crate::apply) async fn wait_until_gone<C: Cloud, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &Job<'_>,
    target: &Target,
) -> Result<(), StepError> {
    let on_status = |status: &str| parts.emit_progress(job, format!("waiting, {status}"));
    let (key, project, within) = (&target.key, target.project.as_ref(), wait_limit(parts, job));
    let gone = parts.context.client.wait_until_gone(job.kind, key, project, within, &on_status).await;
    gone.map_err(|error| wait_error(job, target, error))
}

/// Waits for what a step refers to, as far as this run has not seen it at rest; tells whether there
/// was any. Asked only when the service refuses: what a run changes itself comes to rest before
/// anything that depends on it begins, but an earlier run may have been killed half-way.
pub(in crate::apply) async fn needs_come_to_rest<C: Cloud, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &Job<'_>,
) -> Result<bool, StepError> {
    let mut waited = false;
    for address in job.needs.iter().filter(|address| !parts.objects.is_ready(address)) {
        let entry = parts.context.journal.ledger().entries.get(address).cloned();
        let Some((name, owned)) = entry.and_then(|entry| Some((entry.kind, entry.current?))) else {
            continue;
        };
        let need = Job { kind: parts.kind(&name)?, ..*job };
        if need.kind.api.ready.is_some() {
            parts.emit_progress(job, format!("waiting for {address}"));
            wait_until_ready(parts, &need, &Target::from_owned(need.kind, &owned), None).await?;
            parts.objects.mark_ready(address);
            waited = true;
        }
    }
    Ok(waited)
}

fn wait_limit<C: Cloud, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &Job<'_>,
) -> Duration {
    job.until.saturating_sub(parts.clock().elapsed())
}

fn wait_error(job: &Job<'_>, target: &Target, error: Unsettled) -> StepError {
    let text = format!("{} {}: {error}", job.kind.name, target.key.id);
    match error {
        Unsettled::Failed { .. } | Unsettled::TimedOut { .. } | Unsettled::Unproven { .. } => {
            StepError::Unsettled(text)
        }
        Unsettled::Leaving => StepError::Moved(text),
        Unsettled::Read(error) => read_failed(error),
    }
}
