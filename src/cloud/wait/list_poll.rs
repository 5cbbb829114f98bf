//! One list for many waits: objects of one kind, parent and project that are waited for at the same time share the reads
//! of their list. In: a wait. Out: its object, as a read that is newer than the wait's last look shows it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::Mutex;

use crate::cloud::error::ReadError;
use crate::cloud::http::message::Transport;
use crate::cloud::read::find_object::find_object;
use crate::cloud::read::object_reader::ObjectReader;
use crate::cloud::read::paging::{FirstPages, ListScope, list_consistently};
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::live::snapshot::{Object, ObjectKey};
use crate::model::schema::Kind;

/// Maximum number of objects that are read by id whatever their list costs.
const MAX_INDIVIDUAL_READS: usize = 2;

/// Number of reads by id, for each page that a list took without sparing requests, after which the list is tried again.
const READS_BY_ID_PER_PAGE: usize = 16;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct WaitGroupKey {
    pub kind: &'static str,
    pub parent: Option<Name>,
    pub project: Option<Name>,
}

/// Objects in one list, and the last result of reading it.
#[derive(Default)]
pub(super) struct WaitGroup {
    /// The ids that are waited for, with the number of waits for each.
    waiting: RefCell<BTreeMap<Name, usize>>,
    /// Held while the list is read: concurrent waits then use its result.
    last: Mutex<ListRead>,
}

#[derive(Default)]
struct ListRead {
    /// The start of the read, by the client's clock; `None` before the first one.
    began: Option<Duration>,
    objects: BTreeMap<Name, Object>,
    /// Whether the objects are the whole list.
    whole: bool,
    cost: ListCost,
    /// Reads by id since then.
    reads_by_id: usize,
}

/// What the last read of a list took, and what it spared.
#[derive(Debug, Clone, Copy, Default)]
struct ListCost {
    pages: usize,
    /// Number of objects that were waited for.
    waited: usize,
    /// Number of these that it did not show.
    missing: usize,
}

impl ListCost {
    /// Returns whether `waiting` reads by id take no more requests than the list would: its pages, and a read by id for
    /// each object that they do not show.
    fn exceeds_reads_by_id(self, waiting: usize) -> bool {
        let shown = self.waited - self.missing;
        waiting * shown <= self.pages * self.waited
    }
}

/// Counts a wait until it is dropped.
pub(super) struct WaitGuard {
    group: Rc<WaitGroup>,
    id: Name,
}

impl WaitGuard {
    /// Counts one more wait for an object of a group.
    pub fn new(group: Rc<WaitGroup>, id: Name) -> Self {
        *group.waiting.borrow_mut().entry(id.clone()).or_default() += 1;
        Self { group, id }
    }

    /// Returns the group that this wait belongs to.
    pub fn group(&self) -> &WaitGroup {
        &self.group
    }
}

impl Drop for WaitGuard {
    fn drop(&mut self) {
        let mut waiting = self.group.waiting.borrow_mut();
        if let Some(count) = waiting.get_mut(&self.id) {
            *count -= 1;
            if *count == 0 {
                waiting.remove(&self.id);
            }
        }
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
    /// Reads the object: from a list read that is newer than this wait's last one, from a new one, or by id where that
    /// takes fewer requests. `None` when that read does not show the object, which does not prove that it is gone.
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
        let has_read = watch.kind.api.read.is_some();
        if !is_news && has_read && last.is_dearer_than_reads_by_id(self.waiting.borrow().len()) {
            last.reads_by_id += 1;
            drop(last);
            return find_object(reader, watch.key).await;
        }
        if !is_news {
            *last = match self.read_list(reader, watch).await {
                // While other objects change the list, a single object can still be read by id.
                Err(ReadError::ListChanging { .. }) if has_read => {
                    drop(last);
                    return find_object(reader, watch.key).await;
                }
                read => read?,
            };
        }
        watch.looked = last.began;
        let id = reader.ids.main_id(watch.kind.name, &watch.key.id);
        let shown = last.objects.get(id.as_ref().unwrap_or(&watch.key.id)).cloned();
        if shown.is_none() && !last.whole {
            last.reads_by_id += 1;
            drop(last);
            return find_object(reader, watch.key).await;
        }
        Ok(shown)
    }

    /// Reads the list, newest objects first, as far as its pages take fewer requests than reading by id what they do
    /// not show. Objects that are waited for are mostly new ones: the first page shows them, whatever the length of the
    /// list. What a page shows is true whether or not the list changes under the next one.
    async fn read_list<C: Transport, K: Clock, R: Random>(
        &self,
        reader: &ObjectReader<C, K, R>,
        watch: &WatchedObject<'_>,
    ) -> Result<ListRead, ReadError> {
        let WatchedObject { kind, key, project, .. } = *watch;
        let began = Some(reader.requests.clock.elapsed());
        let mut missing: BTreeSet<Name> = self.waiting.borrow().keys().cloned().collect();
        missing = missing.into_iter().map(|id| reader.ids.main_id(kind.name, &id).unwrap_or(id)).collect();
        let waited = missing.len();
        let mut shown = BTreeMap::new();
        let mut pages = 0;
        if kind.api.read.is_some() {
            let mut first = FirstPages::new(ListScope { kind, parent: key.parent.as_ref(), project });
            loop {
                let before = missing.len();
                let Some(rows) = or_none(reader, kind, key, first.read_next(reader).await).await? else {
                    break;
                };
                pages += 1;
                for object in rows {
                    missing.remove(&object.id);
                    shown.insert(object.id.clone(), object);
                }
                // The next page spares nothing unless it shows at least two.
                let is_worthwhile = before - missing.len() >= 2 && !missing.is_empty();
                if first.left() == Some(0) || !is_worthwhile {
                    break;
                }
            }
            let whole = first.left() == Some(0);
            if whole || missing.len() <= first.left().unwrap_or(0) {
                let cost = ListCost { pages, waited, missing: missing.len() };
                return Ok(ListRead { began, objects: shown, whole, cost, reads_by_id: 0 });
            }
        }
        let before = reader.requests.count.get().pages;
        let listed =
            list_consistently(reader, &ListScope { kind, parent: key.parent.as_ref(), project }).await;
        let objects = or_none(reader, kind, key, listed).await?.unwrap_or_default();
        pages += (reader.requests.count.get().pages - before) as usize;
        let objects = objects.into_iter().map(|object| (object.id.clone(), object)).collect();
        let cost = ListCost { pages, waited, missing: 0 };
        Ok(ListRead { began, objects, whole: true, cost, reads_by_id: 0 })
    }
}

impl ListRead {
    /// Returns whether reads by id of all `waiting` objects probably take no more requests than this list. Which objects
    /// are waited for changes, so after some reads by id the list is tried again.
    fn is_dearer_than_reads_by_id(&self, waiting: usize) -> bool {
        let is_recent = self.reads_by_id < READS_BY_ID_PER_PAGE * self.cost.pages;
        waiting <= MAX_INDIVIDUAL_READS || (is_recent && self.cost.exceeds_reads_by_id(waiting))
    }
}

/// Returns what the read of a list shows. A 404 is `None` only when the parent is proven to be gone, otherwise an error.
async fn or_none<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    kind: &'static Kind,
    key: &ObjectKey,
    read: Result<Vec<Object>, ReadError>,
) -> Result<Option<Vec<Object>>, ReadError> {
    match read {
        Err(error) if error.is_not_found() && reader.parent_is_gone(kind, key).await? => Ok(None),
        read => read.map(Some),
    }
}
