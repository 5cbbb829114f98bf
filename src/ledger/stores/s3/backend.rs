//! `S3Backend`: a ledger in a bucket of S3, or of a compatible store that enforces `If-None-Match` and `If-Match`.
//!
//! `<prefix>/<stack>/<environment>/` contains `lease.json`, `lines/<20 digits>` and `summaries/<20 digits>.json`. Lines
//! and checkpoints are created, never replaced; the lease is replaced under the condition of its entity tag. The newest
//! state is never determined from a list alone, which may lag: the lease names the newest checkpoint, and lines are
//! read until one does not exist.
//!
//! A write without a response is repeated under the same condition, which is safe: at most one of the attempts has an
//! effect. The writer of a line recognizes its own line if it already exists; a lease has the id of its
//! write and is recognized here.
#![allow(
    clippy::disallowed_methods,
    reason = "the edge where objects are written, with pauses between tries"
)]

use std::cell::Cell;
use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use jiff::Timestamp;
use object_store::path::Path;
use object_store::{Error, GetOptions, ObjectStore, PutMode, PutOptions, PutPayload, UpdateVersion};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::connector::{S3Refusal, ServerTime};
use super::settings::BucketClients;
use crate::ledger::journal::error::StoreError;
use crate::ledger::stores::https::{root_cause_text, sanitize_server_text};
use crate::ledger::stores::shared::backend::{BackendError, LeaseVersion, SharedBackend, StoredLease};
use crate::ledger::stores::shared::lease::Lease;
use crate::model::address::is_legal_segment;

/// Maximum number of attempts for a write.
const MAX_WRITE_ATTEMPTS: u32 = 5;

/// Maximum number of concurrent reads.
const MAX_CONCURRENT_READS: usize = 16;

/// Numbers that a list may omit before a later number counts as foreign.
const MAX_LISTING_GAP: u64 = 1_000;

/// The location of a ledger in a bucket.
pub struct S3Backend {
    bucket: BucketClients,
    /// The location for messages.
    place: String,
    /// The common prefix of all object names, with a slash at the end.
    root: String,
    /// The newest known checkpoint, for the next lease.
    newest: Cell<u64>,
    /// The write of a lease whose outcome is unknown.
    unsure: Cell<Option<Uuid>>,
}

/// The lease as it is stored.
#[derive(Serialize, Deserialize)]
struct LeaseObject {
    lease: Lease,
    /// A unique id of the write, so that no two have the same entity tag.
    write: Uuid,
    /// The number of the newest checkpoint.
    #[serde(default)]
    summary: u64,
}

/// The content and metadata of an object.
struct S3Object {
    bytes: Bytes,
    tag: Option<String>,
    /// Its age by the server's clock.
    age: Option<Duration>,
}

/// The outcome of a conditional write.
enum PutOutcome {
    /// It succeeded; with the entity tag.
    Done(Option<String>),
    /// The condition was not met.
    PreconditionFailed,
    /// It is unknown whether it had an effect.
    Ambiguous(BackendError),
}

impl S3Backend {
    /// Opens the location of a ledger in a bucket. The settings are the usual variables: `AWS_REGION`,
    /// `AWS_ENDPOINT_URL`, `AWS_ACCESS_KEY_ID` and so on.
    ///
    /// # Errors
    /// When a setting is missing or unsafe, or there are no credentials.
    pub async fn open(
        bucket: &str,
        prefix: &str,
        (stack, environment): (&str, &str),
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, StoreError> {
        let path = [prefix, stack, environment].into_iter().filter(|part| !part.is_empty());
        let path = path.collect::<Vec<_>>().join("/");
        let place = format!("s3://{bucket}/{path}");
        let failed = |reason: String| StoreError::Shared { action: "use", place: place.clone(), reason };
        if let Some(name) = [stack, environment].into_iter().find(|name| !is_legal_segment(name)) {
            return Err(failed(format!(
                "`{}` is not a valid name of a stack or an environment",
                sanitize_server_text(name)
            )));
        }
        let bucket = BucketClients::from_variables(bucket, variables).map_err(failed)?;
        if let Err(error) = bucket.patient.credentials().get_credential().await {
            let advice = bucket.credentials.advice();
            return Err(failed(format!("there are no credentials: {advice} ({})", failure_reason(&error))));
        }
        let root = format!("{path}/");
        Ok(Self { bucket, place, root, newest: Cell::new(0), unsure: Cell::new(None) })
    }

    async fn list_folders(&self, path: &Path) -> Result<Vec<Path>, BackendError> {
        let listed = self.bucket.patient.list_with_delimiter(Some(path)).await;
        Ok(listed.map_err(|error| object_store_error("list the ledgers", &error))?.common_prefixes)
    }

    fn object_path(&self, name: &str) -> Path {
        Path::from(format!("{}{name}", self.root))
    }

    fn line_path(&self, number: u64) -> Path {
        self.object_path(&format!("lines/{number:020}"))
    }

    fn summary_path(&self, number: u64) -> Path {
        self.object_path(&format!("summaries/{number:020}.json"))
    }

    /// Reads an object; `None` when there is none.
    async fn get(&self, path: &Path, action: &str) -> Result<Option<S3Object>, BackendError> {
        let answer = match self.bucket.patient.get_opts(path, GetOptions::default()).await {
            Ok(answer) => answer,
            Err(Error::NotFound { source, .. }) if !is_bucket_missing(&*source) => return Ok(None),
            Err(error) => return Err(object_store_error(action, &error)),
        };
        let written = Timestamp::from_second(answer.meta.last_modified.timestamp()).ok();
        let now = answer.extensions.get::<ServerTime>().map(|now| now.0);
        let age = now.zip(written).map(|(now, written)| now.duration_since(written));
        let tag = answer.meta.e_tag.clone();
        let bytes = answer.bytes().await.map_err(|error| object_store_error(action, &error))?;
        // Both times are rounded to seconds: prefer the smaller age, so that a lease does not seem to have expired.
        let age = age.map(|age| Duration::try_from(age).unwrap_or_default());
        Ok(Some(S3Object { bytes, tag, age: age.map(|age| age.saturating_sub(Duration::from_secs(1))) }))
    }

    async fn put_object(
        &self,
        path: &Path,
        bytes: &Bytes,
        mode: PutMode,
        action: &str,
    ) -> Result<PutOutcome, BackendError> {
        let payload = PutPayload::from_bytes(bytes.clone());
        let options = PutOptions { mode, ..PutOptions::default() };
        match self.bucket.once.put_opts(path, payload, options).await {
            Ok(done) => Ok(PutOutcome::Done(done.e_tag)),
            Err(Error::Precondition { .. }) => Ok(PutOutcome::PreconditionFailed),
            Err(Error::AlreadyExists { source, .. }) if source.is::<Error>() => {
                Ok(PutOutcome::PreconditionFailed)
            }
            Err(error) if S3Refusal::is_cause_of(&error) => Err(object_store_error(action, &error)),
            // 409: another write to the object is in progress. 5xx and missing responses: the outcome is unknown.
            Err(error @ (Error::AlreadyExists { .. } | Error::Generic { .. })) => {
                Ok(PutOutcome::Ambiguous(object_store_error(action, &error)))
            }
            Err(error) => Err(object_store_error(action, &error)),
        }
    }

    /// Creates an object that does not exist yet.
    async fn create(&self, path: &Path, bytes: &[u8], action: &str) -> Result<(), BackendError> {
        let bytes = Bytes::copy_from_slice(bytes);
        let mut tried = 0;
        loop {
            match self.put_object(path, &bytes, PutMode::Create, action).await? {
                PutOutcome::Done(_) => return Ok(()),
                PutOutcome::PreconditionFailed => return Err(BackendError::Conflict),
                PutOutcome::Ambiguous(error) => pause_before_retry(&mut tried, error).await?,
            }
        }
    }

    async fn read_stored_lease(&self) -> Result<Option<(LeaseObject, S3Object)>, BackendError> {
        let action = "read the lease";
        let Some(object) = self.get(&self.object_path("lease.json"), action).await? else {
            return Ok(None);
        };
        let kept: LeaseObject =
            serde_json::from_slice(&object.bytes).map_err(|_| BackendError::Failed {
                action: action.to_owned(),
                reason: "the object is not a lease that this version knows".to_owned(),
            })?;
        self.newest.set(self.newest.get().max(kept.summary));
        Ok(Some((kept, object)))
    }

    /// Lists the numbers greater than `after` in the object names of a folder.
    async fn list_numbers(
        &self,
        folder: &str,
        after: u64,
        action: &str,
    ) -> Result<BTreeSet<u64>, BackendError> {
        let prefix = self.object_path(folder);
        let offset = self.object_path(&format!("{folder}/{after:020}"));
        let names = self.bucket.patient.list_with_offset(Some(&prefix), &offset);
        let number = |name: &str| {
            name.trim_end_matches(".json").parse::<u64>().ok().filter(|number| *number > after)
        };
        names
            .try_filter_map(|meta| async move { Ok(meta.location.filename().and_then(number)) })
            .try_collect()
            .await
            .map_err(|error| object_store_error(action, &error))
    }

    async fn read_line(&self, number: u64) -> Result<Option<(u64, Vec<u8>)>, BackendError> {
        let found = self.get(&self.line_path(number), &format!("read line {number}")).await?;
        Ok(found.map(|object| (number, object.bytes.into())))
    }
}

impl SharedBackend for S3Backend {
    fn display_location(&self) -> String {
        self.place.clone()
    }

    /// Sends one request, and one for each stack.
    async fn list_ledgers(&self) -> Result<Vec<String>, BackendError> {
        let own: Vec<&str> = self.root.trim_end_matches('/').rsplitn(3, '/').collect();
        let above = own.get(2).copied().unwrap_or_default();
        let mut found = Vec::new();
        for stack in self.list_folders(&Path::from(above)).await? {
            let environments = self.list_folders(&stack).await?;
            let name = |path: &Path| path.filename().map(str::to_owned);
            let names =
                environments.iter().filter_map(|one| Some(format!("{}/{}", name(&stack)?, name(one)?)));
            found.extend(names);
        }
        Ok(found)
    }

    async fn lease(&self) -> Result<Option<StoredLease>, BackendError> {
        let Some((kept, object)) = self.read_stored_lease().await? else { return Ok(None) };
        let lacks = |what: &str| BackendError::Failed {
            action: "read the lease".to_owned(),
            reason: format!("the store's answer has no {what}"),
        };
        let age = object.age.ok_or_else(|| lacks("`Date`"))?;
        let mark = LeaseVersion(object.tag.ok_or_else(|| lacks("`ETag`"))?);
        Ok(Some(StoredLease { lease: kept.lease, mark, age }))
    }

    async fn put_lease(
        &self,
        lease: &Lease,
        mark: Option<&LeaseVersion>,
    ) -> Result<LeaseVersion, BackendError> {
        let action = "write the lease";
        let (write, summary) = (Uuid::new_v4(), self.newest.get());
        let kept = LeaseObject { lease: lease.clone(), write, summary };
        let bytes = Bytes::from(serde_json::to_vec(&kept).map_err(|error| BackendError::Failed {
            action: action.to_owned(),
            reason: error.to_string(),
        })?);
        let (mut mark, mut tried) = (mark.cloned(), 0);
        let written = |tag: Option<String>| {
            self.unsure.set(None);
            let reason = || "the store's answer has no `ETag`".to_owned();
            tag.map(LeaseVersion)
                .ok_or_else(|| BackendError::Failed { action: action.to_owned(), reason: reason() })
        };
        loop {
            let mode = mark.as_ref().map_or(PutMode::Create, |LeaseVersion(tag)| {
                PutMode::Update(UpdateVersion { e_tag: Some(tag.clone()), version: None })
            });
            match self.put_object(&self.object_path("lease.json"), &bytes, mode, action).await? {
                PutOutcome::Done(tag) => return written(tag),
                PutOutcome::Ambiguous(error) => {
                    self.unsure.set(Some(write));
                    pause_before_retry(&mut tried, error).await?;
                }
                PutOutcome::PreconditionFailed => match self.read_stored_lease().await? {
                    // An earlier attempt succeeded, and its response was lost.
                    Some((found, object)) if found.write == write => return written(object.tag),
                    // An earlier renewal succeeded: no other process wrote since.
                    Some((found, object)) if self.unsure.get() == Some(found.write) => {
                        self.unsure.set(None);
                        mark = object.tag.map(LeaseVersion);
                    }
                    _ => return Err(BackendError::Conflict),
                },
            }
        }
    }

    async fn lines(&self, after: u64) -> Result<Vec<(u64, Vec<u8>)>, BackendError> {
        let listed = self.list_numbers("lines", after, "list lines").await?;
        // A line that the list omits may still exist; a number far beyond the gap does not belong to this ledger.
        let mut wanted = Vec::new();
        let mut last = after;
        for number in &listed {
            let first = if number - last <= MAX_LISTING_GAP { last + 1 } else { *number };
            wanted.extend(first..=*number);
            last = *number;
        }
        let reads = wanted.into_iter().map(|number| self.read_line(number));
        let found: Vec<_> = stream::iter(reads).buffered(MAX_CONCURRENT_READS).try_collect().await?;
        let mut lines: Vec<_> = found.into_iter().flatten().collect();
        while let Some(next) = self.read_line(last + 1).await? {
            last = next.0;
            lines.push(next);
        }
        Ok(lines)
    }

    async fn put_line(&self, number: u64, _epoch: u64, line: &[u8]) -> Result<(), BackendError> {
        self.create(&self.line_path(number), line, &format!("write line {number}")).await
    }

    async fn summaries(&self) -> Result<Vec<u64>, BackendError> {
        let mut numbers = self.list_numbers("summaries", 0, "list summaries").await?;
        self.read_stored_lease().await?;
        let newest = numbers.last().copied().unwrap_or(0).max(self.newest.get());
        self.newest.set(newest);
        numbers.extend(Some(newest).filter(|newest| *newest > 0));
        Ok(numbers.into_iter().collect())
    }

    async fn summary(&self, number: u64) -> Result<Option<Vec<u8>>, BackendError> {
        let found = self.get(&self.summary_path(number), "read a summary").await?;
        Ok(found.map(|object| object.bytes.into()))
    }

    async fn put_summary(&self, number: u64, summary: &[u8]) -> Result<(), BackendError> {
        let done = self.create(&self.summary_path(number), summary, "write a summary").await;
        if matches!(done, Ok(()) | Err(BackendError::Conflict)) {
            self.newest.set(self.newest.get().max(number));
        }
        done
    }

    async fn prune(&self, before: u64) -> Result<(), BackendError> {
        let action = "remove old lines";
        let summaries = self.list_numbers("summaries", 0, action).await?;
        let lines = self.list_numbers("lines", 0, action).await?;
        let old =
            summaries.into_iter().filter(|number| *number < before).map(|number| self.summary_path(number));
        let old = old.chain(
            lines.into_iter().filter(|number| *number <= before).map(|number| self.line_path(number)),
        );
        let old: Vec<_> = old.map(Ok).collect();
        let mut gone = self.bucket.patient.delete_stream(stream::iter(old).boxed());
        while let Some(removed) = gone.next().await {
            match removed {
                Ok(_) | Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(object_store_error(action, &error)),
            }
        }
        Ok(())
    }
}

/// Returns the environment variables for S3's usual settings.
pub fn s3_variables() -> Vec<(String, String)> {
    let texts = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    texts.filter(|(name, _)| name.starts_with("AWS_")).collect()
}

/// Returns the addresses of the service that the variables name, sorted: the same bucket name is another
/// bucket at another service.
pub(in crate::ledger) fn endpoint_urls() -> Vec<String> {
    let is_endpoint = |(name, _): &(String, String)| name.starts_with("AWS_ENDPOINT_URL");
    let mut endpoints: Vec<_> = s3_variables().into_iter().filter(is_endpoint).collect();
    endpoints.sort();
    endpoints.iter().map(|(_, url)| url.trim_end_matches('/').to_lowercase()).collect()
}

/// Waits before another attempt, longer each time; returns the error after the last one.
async fn pause_before_retry(tried: &mut u32, error: BackendError) -> Result<(), BackendError> {
    *tried += 1;
    if *tried >= MAX_WRITE_ATTEMPTS {
        return Err(error);
    }
    let jitter = u64::from(Uuid::new_v4().as_bytes()[0]);
    tokio::time::sleep(Duration::from_millis((100 << *tried) + jitter)).await;
    Ok(())
}

fn object_store_error(action: &str, error: &Error) -> BackendError {
    BackendError::Failed { action: action.to_owned(), reason: failure_reason(error) }
}

/// Returns the reason without keys: the response's code or the connection's error.
fn failure_reason(error: &Error) -> String {
    let words = sanitize_server_text(&root_cause_text(error));
    if words.contains("NoSuchBucket") {
        return "the bucket does not exist".to_owned();
    }
    words
}

fn is_bucket_missing(error: &(dyn std::error::Error + 'static)) -> bool {
    root_cause_text(error).contains("NoSuchBucket")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_golden_lease_is_read_and_written_as_before() {
        let golden = include_str!("../../../../tests/golden/files/s3-lease.json").trim_end();
        let kept: LeaseObject = serde_json::from_str(golden).unwrap();
        assert_eq!(serde_json::to_string(&kept).unwrap(), golden);
    }
}
