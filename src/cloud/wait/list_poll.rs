//! One list for many waits: objects of one kind, parent and project that are waited for at the same time share the reads
//! of their list. In: a wait. Out: its object, as a read that is newer than the wait's last look shows it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::Mutex;

use crate::cloud::error::ReadError;
use crate::cloud::http::message::Transport;
use crate::cloud::read::find_object::find_object;
use crate::cloud::read::object_reader::ObjectReader;
use crate::cloud::read::paging::{ListScope, list_consistently};
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::live::snapshot::{Object, ObjectKey};
use crate::model::schema::Kind;

/// Maximum number of waits that read by id while their list is not known to have more pages than this.
const MAX_INDIVIDUAL_READS: usize = 2;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct WaitGroupKey {
    pub kind: &'static str,
    pub parent: Option<Name>,
    pub project: Option<Name>,
}

/// Objects in one list, and the last result of reading it.
#[derive(Default)]
pub(super) struct WaitGroup {
    waiting: Cell<usize>,
    /// Held while the list is read: concurrent waits then use its result.
    last: Mutex<ListRead>,
}

#[derive(Default)]
struct ListRead {
    /// The start of the read, by the client's clock; `None` before the first one.
    began: Option<Duration>,
    objects: BTreeMap<Name, Object>,
    /// Pages that the client requested during the last read: those of the list, and of lists read concurrently.
    pages: u32,
}

/// Counts a wait until it is dropped.
pub(super) struct WaitGuard(Rc<WaitGroup>);

impl WaitGuard {
    /// Counts one more wait for objects of a group.
    pub fn new(group: Rc<WaitGroup>) -> Self {
        group.waiting.set(group.waiting.get() + 1);
        Self(group)
    }

    /// Returns the group that this wait belongs to.
    pub fn group(&self) -> &WaitGroup {
        &self.0
    }
}

impl Drop for WaitGuard {
    fn drop(&mut self) {
        self.0.waiting.set(self.0.waiting.get().saturating_sub(1));
    }
}

/// The wait for one object.
pub(in crate::cloud) struct WatchedObject<'a> {
    pub kind: &'static Kind,
    pub key: &'a ObjectKey,
    pub project: Option<&'a Name>,
    pub started: Duration,
    pub within: Duration,
    /// The start of the last list read that this wait used; `None` before the first one.
    looked: Option<Duration>,
}

impl<'a> WatchedObject<'a> {
    /// Returns a wait that begins now.
    pub fn new(
        clock: &impl Clock,
        kind: &'static Kind,
        key: &'a ObjectKey,
        project: Option<&'a Name>,
        within: Duration,
    ) -> Self {
        Self { kind, key, project, started: clock.elapsed(), within, looked: None }
    }
}

impl WaitGroup {
    /// Reads the object: from a list read that is newer than this wait's last one, from a new one, or by id when
    /// few objects of the list are waited for. `None` when that read does not show the object, which does not prove
    /// that it is gone.
    ///
    /// # Errors
    /// When the read is refused or has no usable answer.
    pub async fn read_object<C: Transport, K: Clock, R: Random>(
        &self,
        reader: &ObjectReader<C, K, R>,
        watch: &mut WatchedObject<'_>,
    ) -> Result<Option<Object>, ReadError> {
        let mut last = self.last.lock().await;
        let is_news =
            last.began.is_some_and(|at| at >= watch.started && watch.looked.is_none_or(|seen| at > seen));
        let few = MAX_INDIVIDUAL_READS.max(last.pages as usize);
        if !is_news && watch.kind.api.read.is_some() && self.waiting.get() <= few {
            drop(last);
            return find_object(reader, watch.key).await;
        }
        if !is_news {
            let began = reader.requests.clock.elapsed();
            let pages = reader.requests.count.get().pages;
            let objects = match list_or_none(reader, watch.kind, watch.key, watch.project).await {
                // While other objects change the list, a single object can still be read by id.
                Err(ReadError::ListChanging { .. }) if watch.kind.api.read.is_some() => {
                    drop(last);
                    return find_object(reader, watch.key).await;
                }
                objects => objects?,
            };
            last.began = Some(began);
            last.pages = reader.requests.count.get().pages - pages;
            last.objects = objects.into_iter().map(|object| (object.id.clone(), object)).collect();
        }
        watch.looked = last.began;
        let id = reader.ids.main_id(watch.kind.name, &watch.key.id);
        Ok(last.objects.get(id.as_ref().unwrap_or(&watch.key.id)).cloned())
    }
}

/// Reads a list. A 404 is an empty list only when the parent is proven to be gone, otherwise an error.
async fn list_or_none<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    kind: &'static Kind,
    key: &ObjectKey,
    project: Option<&Name>,
) -> Result<Vec<Object>, ReadError> {
    match list_consistently(reader, &ListScope { kind, parent: key.parent.as_ref(), project }).await {
        Err(error) if error.is_not_found() && reader.parent_is_gone(kind, key).await? => Ok(Vec::new()),
        other => other,
    }
}
