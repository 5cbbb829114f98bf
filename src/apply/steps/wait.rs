//! Waiting until objects are ready or gone: the client's shared reads, with a step's progress messages and
//! errors. The step's deadline limits every wait.

use std::time::Duration;

use crate::apply::event::StepError;
use crate::apply::step::{MutationTarget, StepContext, read_failed};
use crate::apply::step_parts::StepParts;
use crate::cloud::http::message::Transport;
use crate::cloud::wait::waiter::WaitError;
use crate::ledger::journal::store::Store;
use crate::model::clock::{Clock, Random};
use crate::model::live::snapshot::Object;
use crate::model::schema::Kind;

/// Time between two reads of an object that should show a change at once.
pub(in crate::apply) const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The meaning of a status for a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Readiness {
    /// Ready for use, or in a resting status.
    Ready,
    /// It will not become ready by itself.
    Failed,
    /// It is being deleted.
    Deleting,
    /// In transition, or in a status that this version does not know.
    Pending,
}

fn object_readiness(kind: &Kind, object: &Object) -> Readiness {
    let Some(ready) = kind.api.ready else { return Readiness::Ready };
    let Some(status) = object.status(ready.attribute) else { return Readiness::Ready };
    let among = |statuses: &[&str]| statuses.contains(&status);
    if among(ready.wanted) || among(ready.resting) {
        Readiness::Ready
    } else if among(ready.failed) {
        Readiness::Failed
    } else if among(ready.leaving) {
        Readiness::Deleting
    } else {
        Readiness::Pending
    }
}

/// Returns whether an object shows its status and is ready or resting; true for a kind without a status.
pub(in crate::apply) fn at_rest(kind: &Kind, object: &Object) -> bool {
    let shown = kind.api.ready.is_none_or(|ready| object.status(ready.attribute).is_some());
    shown && object_readiness(kind, object) == Readiness::Ready
}

/// Returns whether an object has failed and will not become ready by itself.
pub(in crate::apply) fn has_failed(kind: &Kind, object: &Object) -> bool {
    object_readiness(kind, object) == Readiness::Failed
}

/// Returns whether an object is ready and in use; false for a kind without a status, and for
/// a resting (suspended) object.
pub(in crate::apply) fn is_in_use(kind: &Kind, object: &Object) -> bool {
    kind.api.ready.is_some_and(|ready| {
        object.status(ready.attribute).is_some_and(|status| ready.wanted.contains(&status))
    })
}

/// Returns whether an object is being deleted.
pub(in crate::apply) fn is_leaving(kind: &Kind, object: &Object) -> bool {
    object_readiness(kind, object) == Readiness::Deleting
}

/// Waits until an object is ready, beginning with its state as just read (`known`). Returns at least the
/// attributes that a list shows.
///
/// # Errors
/// When it fails, is being deleted, or is not ready before the step's deadline.
pub(in crate::apply) async fn wait_until_ready<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    target: &MutationTarget,
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

/// Reads an object in full once it is in no transition; a failed one is in no transition either.
///
/// # Errors
/// When it is gone, is being deleted, or stays in transition until the step's deadline.
pub(in crate::apply) async fn read_when_stable<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    target: &MutationTarget,
) -> Result<Object, StepError> {
    let name = || format!("{} {}", job.kind.name, target.key.id);
    let Some(object) = parts.get(&target.key).await? else {
        return Err(StepError::ObjectChanged(format!("{} is gone", name())));
    };
    match object_readiness(job.kind, &object) {
        Readiness::Ready | Readiness::Failed => Ok(object),
        Readiness::Deleting => Err(StepError::ObjectChanged(format!("{} is being deleted", name()))),
        Readiness::Pending => {
            let on_status = |status: &str| parts.emit_progress(job, format!("waiting, {status}"));
            let (key, project, within) = (&target.key, target.project.as_ref(), wait_limit(parts, job));
            let settled =
                parts.context.client.wait_until_ready(job.kind, key, project, within, &on_status).await;
            settled.map_err(|error| wait_error(job, target, error))
        }
    }
}

/// Waits until no object has the id any more and no list shows it. Both are needed: a wrong project or a lost
/// permission looks like a 404, and lists lag.
///
/// # Errors
/// When that is not proven before the step's deadline.
pub(in crate::apply) async fn wait_until_gone<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    target: &MutationTarget,
) -> Result<(), StepError> {
    let on_status = |status: &str| parts.emit_progress(job, format!("waiting, {status}"));
    let (key, project, within) = (&target.key, target.project.as_ref(), wait_limit(parts, job));
    let gone = parts.context.client.wait_until_gone(job.kind, key, project, within, &on_status).await;
    gone.map_err(|error| wait_error(job, target, error))
}

/// Waits for those dependencies of a step that this run has not seen ready; returns whether there were any. Called
/// only after a refusal: objects that this run changes become ready before their dependents begin, but an earlier
/// run may have been killed half-way.
pub(in crate::apply) async fn wait_for_dependencies<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
) -> Result<bool, StepError> {
    let mut waited = false;
    for address in job.needs.iter().filter(|address| !parts.objects.is_ready(address)) {
        let entry = parts.context.journal.ledger().entries.get(address).cloned();
        let Some((name, owned)) = entry.and_then(|entry| Some((entry.kind, entry.current?))) else {
            continue;
        };
        let need = StepContext { kind: parts.kind(&name)?, ..*job };
        if need.kind.api.ready.is_some() {
            parts.emit_progress(job, format!("waiting for {address}"));
            wait_until_ready(parts, &need, &MutationTarget::from_owned(need.kind, &owned), None).await?;
            parts.objects.mark_ready(address);
            waited = true;
        }
    }
    Ok(waited)
}

fn wait_limit<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
) -> Duration {
    job.until.saturating_sub(parts.clock().elapsed())
}

fn wait_error(job: &StepContext<'_>, target: &MutationTarget, error: WaitError) -> StepError {
    let text = format!("{} {}: {error}", job.kind.name, target.key.id);
    match error {
        WaitError::Failed { .. } | WaitError::TimedOut { .. } | WaitError::Unproven { .. } => {
            StepError::NotReady(text)
        }
        WaitError::Deleting => StepError::ObjectChanged(text),
        WaitError::Read(error) => read_failed(error),
    }
}
