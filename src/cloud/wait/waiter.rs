//! `Waiter`: waits until an object is ready, visible or gone, and shares list reads between concurrent waits. An
//! absence counts only while the object's project is visible: a lost permission hides an object, too.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use foldhash::HashMap;
use thiserror::Error;
use tokio::sync::Mutex;

use super::list_poll::{WaitGroup, WaitGroupKey, WaitGuard, WatchedObject};
use crate::cloud::error::ReadError;
use crate::cloud::http::message::Transport;
use crate::cloud::read::find_object::find_object;
use crate::cloud::read::object_project::{is_default_project, project_kind, show_default};
use crate::cloud::read::object_reader::ObjectReader;
use crate::cloud::read::paging::{ListScope, list_consistently, list_stable};
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::live::snapshot::{Object, ObjectKey};
use crate::model::schema::{Kind, ReadinessRule};
use crate::model::values::value::Value;

/// First and minimum delay between two reads.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Maximum delay between two reads.
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(2);

/// The reason why a wait ended without success.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WaitError {
    /// The object has a failed status.
    #[error("its final status is {status}{}", detail.as_deref().map(|text| format!(": {text}")).unwrap_or_default())]
    Failed {
        /// The status that shows the failure.
        status: Name,
        /// The service's `status_message`; `None` when it is missing or empty.
        detail: Option<Name>,
    },
    /// Its status shows that it is being deleted or was deleted.
    #[error("it is being deleted, or does not exist any more")]
    Deleting,
    /// The time limit of the wait has passed.
    #[error("it is still {status} after {} s", within.as_secs())]
    TimedOut {
        /// The last observed status; `not listed` or `there` when no read showed one.
        status: Name,
        /// The time limit that has passed.
        within: Duration,
    },
    /// No read shows the object, but none shows its project either: that does not prove its absence.
    #[error("neither it nor its project is visible after {} s: that does not prove that it does not exist", within.as_secs())]
    Unproven {
        /// The time limit that has passed.
        within: Duration,
    },
    /// The object cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// All waits of a client, grouped by list.
#[derive(Default)]
pub(in crate::cloud) struct Waiter {
    groups: RefCell<HashMap<WaitGroupKey, Rc<WaitGroup>>>,
    /// The projects that the key can see, from the last read; `None` before the first one.
    canary: Mutex<Option<VisibilityCheck>>,
    /// The number of reads of the projects that were started.
    canaries: Cell<u64>,
}

/// The objects that must be visible for an absence to count.
struct VisibilityCheck {
    /// The number of the read.
    number: u64,
    projects: BTreeSet<Name>,
    /// Whether the account's default project is visible.
    default: bool,
}

/// The required detail of a ready object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DetailLevel {
    /// The attributes in its list.
    Listed,
    /// The attributes in its read by id.
    Full,
}

/// The state of an object that is being deleted.
enum DeletionState {
    /// The object still exists.
    Present(Box<Object>),
    /// It is gone, and a lost permission is ruled out.
    Deleted,
    /// No read shows it, which does not prove its absence.
    Unproven,
}

/// The meaning of a status for a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaitStatus {
    Ready,
    Failed,
    Deleting,
    /// In transition, or an unknown status.
    Pending,
}

impl Waiter {
    /// Waits until an object is ready and returns it as its read by id shows it.
    ///
    /// Many waits for objects of one kind (in a project, or under a parent) share their requests. An unknown status
    /// counts as in transition. `on_status` receives every new status.
    ///
    /// # Errors
    /// When it fails, is deleted, cannot be read, or has not settled `within` the time.
    pub async fn wait_until_ready<C: Transport, K: Clock, R: Random>(
        &self,
        reader: &ObjectReader<C, K, R>,
        watch: WatchedObject<'_>,
        on_status: &dyn Fn(&str),
    ) -> Result<Object, WaitError> {
        self.until_settled(reader, watch, on_status, DetailLevel::Full, (None, None)).await
    }

    /// Waits as `wait_until_ready`, after a request that starts a change of the object. A read that shows it equal
    /// to `before` may be outdated: it counts only after a read that differs from `before`, or after the time by
    /// which reads may lag.
    ///
    /// # Errors
    /// The errors of `wait_until_ready`.
    pub async fn settled_after_change<C: Transport, K: Clock, R: Random>(
        &self,
        reader: &ObjectReader<C, K, R>,
        watch: WatchedObject<'_>,
        before: &Object,
        on_status: &dyn Fn(&str),
    ) -> Result<Object, WaitError> {
        self.until_settled(reader, watch, on_status, DetailLevel::Full, (Some(before), None)).await
    }

    /// Returns an object as soon as any read shows it: its list, which many waits share, or its by-id read. `None` when
    /// no read shows it until the time limit.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn wait_until_visible<C: Transport, K: Clock, R: Random>(
        &self,
        reader: &ObjectReader<C, K, R>,
        mut watch: WatchedObject<'_>,
    ) -> Result<Option<Object>, ReadError> {
        let (kind, key, project) = (watch.kind, watch.key, watch.project);
        let group = self.join_group(kind, key, project);
        let status = Name::new_static("not listed");
        loop {
            if let Some(object) = group.group().read_object(reader, &mut watch).await? {
                return Ok(Some(object));
            }
            if let Some(object) = second_look(reader, kind, key, project).await? {
                return Ok(Some(object));
            }
            if sleep_until_next_read(&reader.requests.clock, &watch, &status).await.is_err() {
                return Ok(None);
            }
        }
    }

    /// Waits until an object is ready, like `wait_until_ready`, and returns it as its list or by-id read shows it: this
    /// saves one request per object. `known` is the object as just read; `None` when it must be read.
    ///
    /// # Errors
    /// The errors of `wait_until_ready`.
    pub async fn settled_as_listed<C: Transport, K: Clock, R: Random>(
        &self,
        reader: &ObjectReader<C, K, R>,
        watch: WatchedObject<'_>,
        known: Option<Object>,
        on_status: &dyn Fn(&str),
    ) -> Result<Object, WaitError> {
        self.until_settled(reader, watch, on_status, DetailLevel::Listed, (None, known)).await
    }

    /// Reads until an object is ready. `before` is its state before a change started, `None` without a change; `known`
    /// is its state as just read, `None` when it must be read.
    async fn until_settled<C: Transport, K: Clock, R: Random>(
        &self,
        reader: &ObjectReader<C, K, R>,
        mut watch: WatchedObject<'_>,
        on_status: &dyn Fn(&str),
        show: DetailLevel,
        (mut before, mut known): (Option<&Object>, Option<Object>),
    ) -> Result<Object, WaitError> {
        let (kind, key) = (watch.kind, watch.key);
        let group = self.join_group(kind, key, watch.project);
        let mut status = Name::new_static("not listed");
        loop {
            let seen = match known.take() {
                None => group.group().read_object(reader, &mut watch).await?,
                known => known,
            };
            if let Some(object) = seen {
                report_status(kind, &object, &mut status, on_status);
                // As soon as the object differs from its earlier state, no later read is outdated.
                before = before.filter(|before| is_same(before, &object) && may_lag(reader, &watch));
                let enough = object.detailed || kind.api.read.is_none() || show == DetailLevel::Listed;
                match status_state(kind, &object) {
                    WaitStatus::Ready | WaitStatus::Failed if before.is_some() => {}
                    WaitStatus::Failed => return Err(failed_status(status, &object)),
                    WaitStatus::Deleting => return Err(WaitError::Deleting),
                    WaitStatus::Ready if enough => return Ok(object),
                    WaitStatus::Ready => {
                        let confirmed = find_object(reader, key)
                            .await?
                            .filter(|o| status_state(kind, o) == WaitStatus::Ready);
                        if let Some(object) = confirmed {
                            return Ok(object);
                        }
                    }
                    WaitStatus::Pending => {}
                }
            }
            sleep_until_next_read(&reader.requests.clock, &watch, &status).await?;
        }
    }

    /// Waits until an object is proven to be gone: neither its list nor its read by id shows it, while its project is
    /// visible. Otherwise a wrong project or a lost permission would look the same.
    ///
    /// # Errors
    /// When its status shows a failure, it cannot be read, or its absence is not proven before the time limit.
    pub async fn wait_until_gone<C: Transport, K: Clock, R: Random>(
        &self,
        reader: &ObjectReader<C, K, R>,
        mut watch: WatchedObject<'_>,
        on_status: &dyn Fn(&str),
    ) -> Result<(), WaitError> {
        let (kind, key, project) = (watch.kind, watch.key, watch.project);
        let group = self.join_group(kind, key, project);
        let mut status = Name::new_static("there");
        loop {
            let trace = match group.group().read_object(reader, &mut watch).await? {
                Some(object) => DeletionState::Present(Box::new(object)),
                None => self.trace_deletion(reader, kind, key, project).await?,
            };
            let pause = match trace {
                DeletionState::Deleted => return Ok(()),
                DeletionState::Unproven => sleep_until_next_read(&reader.requests.clock, &watch, &status)
                    .await
                    .map_err(|_| WaitError::Unproven { within: watch.within }),
                DeletionState::Present(object) => {
                    report_status(kind, &object, &mut status, on_status);
                    if status_state(kind, &object) == WaitStatus::Failed {
                        return Err(failed_status(status, &object));
                    }
                    sleep_until_next_read(&reader.requests.clock, &watch, &status).await
                }
            };
            pause?;
        }
    }

    /// Checks an object that the first read did not show, with its project visible both before and after: a permission
    /// that was lost or restored in between would hide it, too.
    async fn trace_deletion<C: Transport, K: Clock, R: Random>(
        &self,
        reader: &ObjectReader<C, K, R>,
        kind: &'static Kind,
        key: &ObjectKey,
        project: Option<&Name>,
    ) -> Result<DeletionState, ReadError> {
        let before = self.sees_home(reader, kind, key, project).await?;
        if let Some(object) = second_look(reader, kind, key, project).await? {
            return Ok(DeletionState::Present(Box::new(object)));
        }
        let proven = before && self.sees_home(reader, kind, key, project).await?;
        Ok(if proven { DeletionState::Deleted } else { DeletionState::Unproven })
    }

    /// Returns whether the project of an absent object is visible, or is proven to be gone itself. Without a project,
    /// the account's default one represents the account.
    async fn sees_home<C: Transport, K: Clock, R: Random>(
        &self,
        reader: &ObjectReader<C, K, R>,
        kind: &'static Kind,
        key: &ObjectKey,
        project: Option<&Name>,
    ) -> Result<bool, ReadError> {
        let Some(projects) = project_kind(reader.registry) else { return Ok(true) };
        let home = project.filter(|_| kind.name != projects.name || project != Some(&key.id));
        // The clock may show the same time twice; a counter does not.
        let begun = self.canaries.get();
        let (seen, default) = {
            let mut canary = self.canary.lock().await;
            // A read that started earlier proves nothing about this moment.
            if canary.as_ref().is_none_or(|canary| canary.number <= begun) {
                let number = self.canaries.get() + 1;
                self.canaries.set(number);
                let objects = show_default(
                    reader,
                    list_consistently(reader, &ListScope { kind: projects, parent: None, project: None })
                        .await?,
                )
                .await?;
                let default = objects.iter().any(is_default_project);
                let projects = objects.into_iter().map(|object| object.id).collect();
                *canary = Some(VisibilityCheck { number, projects, default });
            }
            let canary = canary.as_ref();
            let seen = |canary: &VisibilityCheck| home.is_none_or(|home| canary.projects.contains(home));
            (canary.is_some_and(seen), canary.is_some_and(|canary| canary.default))
        };
        match home {
            Some(id) if !seen && default => {
                let key = ObjectKey { kind: projects.name.into(), parent: None, id: id.clone() };
                Ok(find_object(reader, &key).await?.is_none())
            }
            Some(_) => Ok(seen),
            None => Ok(default),
        }
    }

    fn join_group(&self, kind: &'static Kind, key: &ObjectKey, project: Option<&Name>) -> WaitGuard {
        let name = WaitGroupKey { kind: kind.name, parent: key.parent.clone(), project: project.cloned() };
        let group = Rc::clone(self.groups.borrow_mut().entry(name).or_default());
        WaitGuard::new(group, key.id.clone())
    }
}

/// Reads by id, and then in the list, whichever of the two the first read used: one of them may lag behind. `None` when
/// neither shows the object.
async fn second_look<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    kind: &'static Kind,
    key: &ObjectKey,
    project: Option<&Name>,
) -> Result<Option<Object>, ReadError> {
    if kind.api.read.is_some() {
        let object = find_object(reader, key).await?;
        if object.is_some() {
            return Ok(object);
        }
    }
    match list_stable(reader, &ListScope { kind, parent: key.parent.as_ref(), project }).await {
        Ok((objects, _)) => {
            let id = reader.ids.main_id(kind.name, &key.id);
            let id = id.as_ref().unwrap_or(&key.id);
            Ok(objects.into_iter().find(|object| object.id == *id))
        }
        Err(error) if error.is_not_found() && reader.parent_is_gone(kind, key).await? => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns whether a read may still show the state from before the wait.
fn may_lag<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    watch: &WatchedObject<'_>,
) -> bool {
    reader.requests.clock.elapsed().saturating_sub(watch.started) < reader.lag.get()
}

/// Sleeps until the next read: a quarter of the time so far, within limits.
///
/// # Errors
/// `TimedOut` when the wait's time is over; it does not sleep then.
async fn sleep_until_next_read(
    clock: &impl Clock,
    watch: &WatchedObject<'_>,
    status: &Name,
) -> Result<(), WaitError> {
    let waited = clock.elapsed().saturating_sub(watch.started);
    let Some(left) = watch.within.checked_sub(waited).filter(|left| !left.is_zero()) else {
        return Err(WaitError::TimedOut { status: status.clone(), within: watch.within });
    };
    clock.sleep((waited / 4).clamp(MIN_POLL_INTERVAL, MAX_POLL_INTERVAL).min(left)).await;
    Ok(())
}

/// Returns whether two reads of an object show the same, as far as both show it.
fn is_same(one: &Object, other: &Object) -> bool {
    // A list can omit a value that a read by id shows.
    let says_nothing = |there: &Value| *there == Value::Null && !other.detailed;
    let shown = |(name, value): (&Name, &Value)| {
        other.attributes.get(name).is_none_or(|there| there == value || says_nothing(there))
    };
    one.id == other.id && one.attributes.iter().all(shown)
}

/// Reports a status that differs from the last reported one, and stores it in `status`.
fn report_status(kind: &Kind, object: &Object, status: &mut Name, on_status: &dyn Fn(&str)) {
    let Some(now) = kind.api.ready.and_then(|ready| object.status(ready.attribute)) else { return };
    if now != status.as_str() {
        on_status(now);
        *status = Name::new(now);
    }
}

fn failed_status(status: Name, object: &Object) -> WaitError {
    let detail = object.status("status_message").filter(|text| !text.is_empty()).map(Name::new);
    WaitError::Failed { status, detail }
}

/// Classifies a status by the kind's table. An object without a status is ready at once.
fn status_state(kind: &Kind, object: &Object) -> WaitStatus {
    let Some(ReadinessRule { attribute, wanted, resting, failed, leaving }) = kind.api.ready else {
        return WaitStatus::Ready;
    };
    match object.status(attribute) {
        None => WaitStatus::Ready,
        Some(status) if wanted.contains(&status) || resting.contains(&status) => WaitStatus::Ready,
        Some(status) if failed.contains(&status) => WaitStatus::Failed,
        Some(status) if leaving.contains(&status) => WaitStatus::Deleting,
        Some(_) => WaitStatus::Pending,
    }
}

#[cfg(test)]
mod tests;
