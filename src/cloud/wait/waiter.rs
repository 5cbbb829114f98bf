//! Settling: waits until an object is ready, or gone, with one list read a tick for all objects of a
//! kind that are waited for, however many there are.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::time::Duration;

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
use crate::model::schema::{Kind, ReadinessRule};
use crate::model::snapshot::{Object, ObjectKey};
use crate::model::value::Value;

/// First and shortest wait between two looks.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Longest wait between two looks.
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Why a wait ended without what was waited for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WaitError {
    /// The service gave up on it.
    #[error("it ended as {status}{}", detail.as_deref().map(|text| format!(": {text}")).unwrap_or_default())]
    Failed {
        /// The status.
        status: Name,
        /// The service's own words.
        detail: Option<Name>,
    },
    /// It is being deleted, or is gone.
    #[error("it is being deleted, or is gone")]
    Deleting,
    /// Time is up.
    #[error("it is still {status} after {} s", within.as_secs())]
    TimedOut {
        /// What it was last seen as: a status, or `not listed`.
        status: Name,
        /// How long was waited.
        within: Duration,
    },
    /// Nothing shows it, and nothing shows the project that it was in either: that proves nothing.
    #[error("nothing shows it, but nothing shows its project either, after {} s: that is no proof", within.as_secs())]
    Unproven {
        /// How long was waited.
        within: Duration,
    },
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// All waits of a client, by list.
#[derive(Default)]
pub(in crate::cloud) struct Waiter {
    groups: RefCell<HashMap<WaitGroupKey, Rc<WaitGroup>>>,
    /// The projects that the key can see, as they were last read.
    canary: Mutex<Option<VisibilityCheck>>,
    /// Reads of the projects that have begun.
    canaries: Cell<u64>,
}

/// What must still be visible for an absence to count.
struct VisibilityCheck {
    /// Which of the reads it is.
    number: u64,
    projects: BTreeSet<Name>,
    default: bool,
}

/// How much of a settled object is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DetailLevel {
    /// What a list shows.
    Listed,
    /// What its by-id read shows.
    Full,
}

/// What is left of an object that is to go.
enum DeletionState {
    /// It is there.
    Present(Box<Object>),
    /// Nothing, and what would hide it is ruled out.
    Deleted,
    /// Nothing shows it, which proves nothing.
    Unproven,
}

/// What a status means for a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaitStatus {
    Ready,
    Failed,
    Deleting,
    /// On its way, or a status that nobody knows.
    Pending,
}

impl Waiter {
    /// Waits until an object has settled and returns it as its by-id read shows it.
    ///
    /// Many waits for objects of one kind (in a project, or under a parent) share their requests.
    /// A status that nobody knows is waited for. `on_status` hears every new status.
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

    /// Waits as `settled`, after a request that sets an object in motion. A look that shows it settled and
    /// just as it was `before` may be an old one: it counts when the object was seen on its way, or when
    /// nothing can lag behind any more.
    ///
    /// # Errors
    /// As `settled`.
    pub async fn settled_anew<C: Transport, K: Clock, R: Random>(
        &self,
        reader: &ObjectReader<C, K, R>,
        watch: WatchedObject<'_>,
        before: &Object,
        on_status: &dyn Fn(&str),
    ) -> Result<Object, WaitError> {
        self.until_settled(reader, watch, on_status, DetailLevel::Full, (Some(before), None)).await
    }

    /// Returns an object as soon as anything shows it: its list, which many share, or its by-id read. `None`
    /// when nothing does `within` the time.
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

    /// Waits until an object has settled, as `settled`, and returns it as its list shows it, or better:
    /// one request less for each object. What is `known` of it was just read, and is not read again.
    ///
    /// # Errors
    /// As `settled`.
    pub async fn settled_as_listed<C: Transport, K: Clock, R: Random>(
        &self,
        reader: &ObjectReader<C, K, R>,
        watch: WatchedObject<'_>,
        known: Option<Object>,
        on_status: &dyn Fn(&str),
    ) -> Result<Object, WaitError> {
        self.until_settled(reader, watch, on_status, DetailLevel::Listed, (None, known)).await
    }

    /// Looks until an object has settled: `before` is how it was before it was set in motion, `known` how it
    /// was just read.
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
                // Once it is another one than it was, every look is a new one.
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

    /// Waits until an object is proven gone: neither its list nor its by-id read shows it, while its
    /// project is seen. A wrong project or a lost permission looks the same but for that.
    ///
    /// # Errors
    /// When it fails to go, cannot be read, or is still there `within` the time.
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

    /// Looks for an object that the first look did not show, with its project seen before as well as
    /// after: a permission that was lost or came back in between would hide it all the same.
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

    /// Tells whether the project of an absent object is seen, or is proven gone itself. Without a
    /// project the account's default one stands for the account.
    async fn sees_home<C: Transport, K: Clock, R: Random>(
        &self,
        reader: &ObjectReader<C, K, R>,
        kind: &'static Kind,
        key: &ObjectKey,
        project: Option<&Name>,
    ) -> Result<bool, ReadError> {
        let Some(projects) = project_kind(reader.registry) else { return Ok(true) };
        let home = project.filter(|_| kind.name != projects.name || project != Some(&key.id));
        // A clock may show the same moment twice; a count does not.
        let begun = self.canaries.get();
        let (seen, default) = {
            let mut canary = self.canary.lock().await;
            // One that began before now says nothing about this moment.
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
        WaitGuard::new(group)
    }
}

/// Looks both ways: by id and in the list, whichever the first look was.
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

/// Tells whether a look of now can show how it was when the wait began.
fn may_lag<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    watch: &WatchedObject<'_>,
) -> bool {
    reader.requests.clock.elapsed().saturating_sub(watch.started) < reader.lag.get()
}

/// Waits until the next look: a quarter of the time so far, within bounds.
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

/// Tells whether two looks at an object show the same, as far as both show it.
fn is_same(one: &Object, other: &Object) -> bool {
    // A list can show nothing where a by-id read shows a value.
    let says_nothing = |there: &Value| *there == Value::Null && !other.detailed;
    let shown = |(name, value): (&Name, &Value)| {
        other.attributes.get(name).is_none_or(|there| there == value || says_nothing(there))
    };
    one.id == other.id && one.attributes.iter().all(shown)
}

/// Tells a status that was not told yet.
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

/// Reads a status by the kind's table. A service that shows none has settled at once.
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
