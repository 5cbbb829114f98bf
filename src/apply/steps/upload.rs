//! Uploads of directories: packed, sent to an address that the service signs (Request source upload URL), and
//! only then named by a call with an intent of its own. An upload that no call names has no effect, so it can
//! be repeated: after a crash the next plan finds that the digest differs and uploads again.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{Either, select};

use super::planned_call::PreparedCall;
use super::wait::{POLL_INTERVAL, has_failed, is_leaving, read_when_stable, wait_until_ready};
use crate::apply::context::PackError;
use crate::apply::event::StepError;
use crate::apply::step::{MutationTarget, StepContext, read_failed};
use crate::apply::step_parts::StepParts;
use crate::cloud::error::MutationOutcome;
use crate::cloud::http::message::{SignedUpload, Transport, UploadGrant};
use crate::cloud::write::upload::{UploadError, request_grant};
use crate::ledger::journal::store::Store;
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::live::snapshot::Object;
use crate::model::schema::meaning::is_unset;
use crate::model::schema::{ApiCall, Attribute, Kind, RunSchema, UpdateStrategy};
use crate::model::values::value::{Attributes, Value};

/// The limit on grants and on uploads of one step.
const MAX_UPLOAD_ATTEMPTS: usize = 3;

/// The longest time between two reads while waiting.
const UPLOAD_POLL_INTERVAL: Duration = Duration::from_secs(15);

/// An upload that one call names.
struct PlannedUpload {
    attribute: &'static Attribute,
    grant: &'static ApiCall,
    digest: Name,
}

/// Returns the values that a call sends: its targets, with upload keys in place of digests; and the step's
/// deadline, extended by the time of the uploads, which depends on the network and not on the service.
///
/// # Errors
/// When the directory is not as it was planned with, or cannot be packed or uploaded.
pub(in crate::apply) async fn to_send<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    target: &MutationTarget,
    step: &PreparedCall,
) -> Result<(Attributes, Duration), StepError> {
    let (mut sent, mut until) = (step.targets(), job.until);
    for delivery in upload_deliveries(job.kind, step.call, &sent) {
        rested_before(parts, job, target, step).await?;
        let begun = parts.clock().elapsed();
        let key = upload_directory(parts, job, target, &delivery).await?;
        until += parts.clock().elapsed().saturating_sub(begun);
        sent.insert(delivery.attribute.name.into(), Value::Text(key));
    }
    Ok((sent, until))
}

/// Reads an object in full before a call. An object that was created without a source may have any status until it
/// gets one: only then is there anything to wait for.
///
/// # Errors
/// When the object cannot be read, or does not become ready in time.
pub(in crate::apply) async fn rested_before<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    target: &MutationTarget,
    step: &PreparedCall,
) -> Result<Object, StepError> {
    if !is_first_source(parts, job, step) {
        return read_when_stable(parts, job, target).await;
    }
    match parts.get(&target.key).await? {
        Some(object) if !is_leaving(job.kind, &object) => Ok(object),
        _ => read_when_stable(parts, job, target).await,
    }
}

/// Returns whether a call delivers the first source of an object, whose creation is not finished.
fn is_first_source<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    step: &PreparedCall,
) -> bool {
    let unfinished =
        parts.context.journal.ledger().entries.get(job.address).is_some_and(|entry| entry.unfinished);
    unfinished && !upload_deliveries(job.kind, step.call, &step.targets()).is_empty()
}

/// Waits until a new object is ready, beginning with its state as just read. An object that still needs its source
/// is not waited for: the service may finish it only then.
pub(in crate::apply) async fn settle_new<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    target: &MutationTarget,
    values: &Attributes,
    object: Object,
) -> Result<Object, StepError> {
    let is_source =
        |(name, value): (&Name, &Value)| !is_unset(value) && is_upload(job.kind.attribute(name));
    let is_ended = has_failed(job.kind, &object) || is_leaving(job.kind, &object);
    if !is_ended && values.iter().any(is_source) {
        return Ok(object);
    }
    wait_until_ready(parts, job, target, Some(object)).await
}

async fn upload_directory<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    target: &MutationTarget,
    what: &PlannedUpload,
) -> Result<Name, StepError> {
    // From here on the step queues for its upload, and not for the rate limiter.
    if let Some(entrance) = job.entrance {
        entrance.release_slot();
    }
    // Memory holds one archive at a time.
    let _alone = parts.uploads.lock().await;
    let pieces = pack_directory(parts, job, what).await?;
    let mut attempts = 1;
    loop {
        let grant = obtain_grant(parts, job, target, what.grant).await?;
        match send_archive(parts, job, SignedUpload::new(grant.url, pieces.clone())).await {
            Ok(()) => return Ok(grant.key),
            Err(UploadError::Transient(reason)) if attempts < MAX_UPLOAD_ATTEMPTS => {
                parts.emit_progress(job, format!("the upload failed: {reason}; trying again"));
                parts.clock().sleep(POLL_INTERVAL).await;
            }
            Err(UploadError::Transient(reason)) => {
                return Err(StepError::Unreachable(format!("the upload failed: {reason}")));
            }
            Err(UploadError::Final(reason)) => {
                return Err(StepError::Failed(format!("the upload failed: {reason}")));
            }
        }
        attempts += 1;
    }
}

/// Packs a directory, and yields to other steps after each chunk.
async fn pack_directory<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    what: &PlannedUpload,
) -> Result<Vec<Bytes>, StepError> {
    let mut pieces = Vec::new();
    for piece in parts.context.sources.pack(job.address, what.attribute.name, &what.digest) {
        pieces.push(piece.map_err(|error| match error {
            PackError::DigestChanged(text) => StepError::ObjectChanged(text),
            PackError::Failed(text) => StepError::Failed(text),
        })?);
        yield_now().await;
    }
    pieces.retain(|piece| !piece.is_empty());
    Ok(pieces)
}

/// Requests a signed address to upload to. Without a response it is requested again: a grant changes nothing.
async fn obtain_grant<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    target: &MutationTarget,
    grant: &'static ApiCall,
) -> Result<UploadGrant, StepError> {
    let gate = |_| parts.check_may_send().map_err(|error| error.to_string());
    let mut attempts = 1;
    loop {
        parts.check_may_send()?;
        let changes = parts.context.client.changes(&gate);
        let (reason, answer) =
            match request_grant(&changes, grant, &target.key, target.project.as_ref()).await {
                Ok(granted) => return Ok(granted),
                // The object is still being created, and takes a source only after that.
                Err(MutationOutcome::Refused(refusal)) if refusal.status == 409 && attempts == 1 => {
                    read_when_stable(parts, job, target).await?;
                    (refusal.to_string(), Some(refusal))
                }
                Err(MutationOutcome::Refused(refusal)) => return Err(StepError::Refused(refusal)),
                Err(MutationOutcome::NotSent(reason)) => (reason, None),
                Err(MutationOutcome::Unknown { reason, answer, .. }) => (reason, answer),
                Err(MutationOutcome::Done(..)) => {
                    ("the response contains no signed upload URL".to_owned(), None)
                }
            };
        if attempts == MAX_UPLOAD_ATTEMPTS {
            return Err(StepError::from_unanswered(reason, answer));
        }
        attempts += 1;
        parts.emit_progress(job, format!("{reason}; trying again"));
        parts.clock().sleep(POLL_INTERVAL).await;
    }
}

/// Sends the archive, and emits every second how many bytes were sent.
async fn send_archive<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    upload: SignedUpload,
) -> Result<(), UploadError> {
    let whole = upload.length();
    let mut going = pin!(parts.context.client.upload(&upload));
    loop {
        match select(going, pin!(parts.clock().sleep(POLL_INTERVAL))).await {
            Either::Left((ended, _)) => return ended,
            Either::Right(((), still)) => {
                let sent = upload.sent.load(Ordering::Relaxed);
                parts.emit_progress(
                    job,
                    format!("uploading, {} of {}", format_size(sent), format_size(whole)),
                );
                going = still;
            }
        }
    }
}

/// Waits until the record that a delivery began has ended. A record that is not listed within the listing bound
/// is not waited for.
///
/// # Errors
/// When it failed, or did not end in time.
pub(in crate::apply) async fn wait_until_finished<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    target: &MutationTarget,
    (run, id): (&'static RunSchema, &str),
) -> Result<(), StepError> {
    let name = || format!("{} of {} {}: {id}", run.listed_by, job.kind.name, target.key.id);
    let begun = parts.clock().elapsed();
    let unlisted = begun + parts.context.bounds.listing;
    let mut last = None;
    loop {
        let client = parts.context.client;
        let status = client.run_status(job.kind, &target.key, run, id).await.map_err(read_failed)?;
        let now = parts.clock().elapsed();
        let why = status.as_ref().and_then(|record| record.error.clone());
        let status = status.map(|record| record.status);
        match status.as_deref() {
            Some(status) if run.done.contains(&status) => return Ok(()),
            Some(status) if run.failed.contains(&status) => {
                let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                return Err(StepError::NotReady(format!("{} is {status}{why}", name())));
            }
            // The service does not list the record: the object's own status decides.
            None if now >= unlisted => return Ok(()),
            None => {}
            Some(status) if now >= job.until => {
                let text = format!("{} is still {status}, and the timeout has expired", name());
                return Err(StepError::NotReady(text));
            }
            Some(status) if last.as_deref() == Some(status) => {}
            Some(status) => parts.emit_progress(job, format!("waiting, deployment {status}")),
        }
        last = status;
        parts
            .clock()
            .sleep((now.saturating_sub(begun) / 4).clamp(POLL_INTERVAL, UPLOAD_POLL_INTERVAL))
            .await;
    }
}

/// Returns the schema of the record that a call begins and that is waited for; `None` if it begins none.
pub(in crate::apply) fn begun_by(
    kind: &Kind,
    call: &ApiCall,
    targets: &Attributes,
) -> Option<&'static RunSchema> {
    let mut names = targets.keys().filter_map(|name| kind.attribute(name));
    names.find_map(|attribute| match attribute.change {
        UpdateStrategy::Upload { deliver, run, .. } if deliver.name == call.name => run,
        _ => None,
    })
}

/// Returns whether an attribute is set by an upload after creation; false for `None`.
fn is_upload(attribute: Option<&Attribute>) -> bool {
    attribute.is_some_and(|attribute| {
        !attribute.at_creation && matches!(attribute.change, UpdateStrategy::Upload { .. })
    })
}

fn upload_deliveries(kind: &'static Kind, call: &ApiCall, targets: &Attributes) -> Vec<PlannedUpload> {
    let delivery = |(name, value): (&Name, &Value)| {
        let (attribute, Value::Text(digest)) = (kind.attribute(name)?, value) else { return None };
        match attribute.change {
            UpdateStrategy::Upload { grant, deliver, .. } if deliver.name == call.name => {
                Some(PlannedUpload { attribute, grant, digest: digest.clone() })
            }
            _ => None,
        }
    };
    targets.iter().filter_map(delivery).collect()
}

/// Yields once to other tasks.
async fn yield_now() {
    let mut had = false;
    poll_fn(|context| {
        if std::mem::replace(&mut had, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Formats a number of bytes for display, in decimal units.
fn format_size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_formatted_with_decimal_units() {
        let table =
            [(0, "0 B"), (999, "999 B"), (1_000, "1 kB"), (999_999, "999 kB"), (12_345_678, "12.3 MB")];
        for (bytes, text) in table {
            assert_eq!(format_size(bytes), text);
        }
    }
}
