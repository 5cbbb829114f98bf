//! `Table`: the records of one kind, with the indexes that keep each request cheap: by age, by project, by the kind's
//! own keys, by renewal and by event. Every change passes through `insert`, `amend` and `remove`, which keep the
//! indexes and the list of changed records in step.

use std::collections::{BTreeSet, BinaryHeap, HashMap};

use rust_decimal::Decimal;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use super::age_order::{AgeKey, AgeOrder};
use super::billing::Charge;
use super::child_index::ChildIndex;
use super::status_timeline::Timeline;
use crate::emulator::world::Time;

/// One object: the fields that all kinds share, and the kind's own body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::emulator::world) struct TableRecord<T> {
    pub(in crate::emulator::world) id: Uuid,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// Project that owns the object; `None` for objects of the account.
    pub(in crate::emulator::world) project: Option<Uuid>,
    pub(in crate::emulator::world) created_at: Time,
    pub(in crate::emulator::world) updated_at: Time,
    pub(in crate::emulator::world) timeline: Timeline,
    pub(in crate::emulator::world) body: T,
}

impl<T> TableRecord<T> {
    /// Returns the status at a time; `mutate` can replace it.
    pub(in crate::emulator::world) fn status(&self, now: Time) -> &str {
        self.timeline.status(now)
    }

    /// Returns the record's sort key among records of its kind.
    pub(in crate::emulator::world) fn age_key(&self) -> AgeKey {
        (self.created_at, self.id)
    }
}

/// The kind-specific part of a record: its names, its index, its price and its next scheduled event.
pub(in crate::emulator::world) trait RecordKind:
    Clone + Serialize + DeserializeOwned + 'static
{
    /// The kind's name in storage keys and in the emulator's own endpoints.
    const KIND: &'static str;
    /// The kind's name in error messages.
    const TITLE: &'static str;
    /// Whether a record is an object of its own; `false` for records that are only the history of an object.
    const IS_OBJECT: bool = true;
    /// Kind-specific index, for searches other than by id and age.
    type Index: Default;

    /// Adds a record to the index if it is `present`, and removes it otherwise. The record is the one that was added.
    fn index(index: &mut Self::Index, record: &TableRecord<Self>, present: bool);
    /// Returns the price of a record; `None` if it is free.
    fn charge(_: &TableRecord<Self>) -> Option<Charge> {
        None
    }
    /// Records that a subscription is paid up to a later time; kinds without a price do nothing.
    fn renew(_: &mut TableRecord<Self>, _until: Time) {}
    /// Updates time-dependent state up to now, before a change of the record.
    fn settle(_: &mut TableRecord<Self>, _now: Time) {}
    /// Returns the time of the record's next scheduled event, `None` if there is none; by default, the
    /// end of its deletion.
    fn next(record: &TableRecord<Self>) -> Option<Time> {
        record.timeline.gone_at()
    }
}

/// The table of one kind: its records and their indexes.
pub(in crate::emulator::world) struct Table<T: RecordKind> {
    records: HashMap<Uuid, TableRecord<T>>,
    order: AgeOrder,
    by_project: HashMap<Uuid, AgeOrder>,
    index: T::Index,
    /// Total hourly price of all records that are billed by the hour.
    rate: Decimal,
    /// When each subscription is due for renewal, earliest first.
    renewals: BTreeSet<(Time, Uuid)>,
    /// The next scheduled event of each record that has one, earliest first.
    agenda: BTreeSet<(Time, Uuid)>,
    /// Ids of the records that changed or were removed since `take_changes`.
    dirty: BTreeSet<Uuid>,
}

impl<T: RecordKind> Default for Table<T> {
    fn default() -> Self {
        Self {
            records: HashMap::new(),
            order: AgeOrder::default(),
            by_project: HashMap::new(),
            index: T::Index::default(),
            rate: Decimal::ZERO,
            renewals: BTreeSet::new(),
            agenda: BTreeSet::new(),
            dirty: BTreeSet::new(),
        }
    }
}

impl<T: RecordKind> Table<T> {
    pub(in crate::emulator::world) fn get(&self, id: Uuid) -> Option<&TableRecord<T>> {
        self.records.get(&id)
    }

    pub(in crate::emulator::world) fn index(&self) -> &T::Index {
        &self.index
    }

    /// Returns the number of records, in all projects or in one.
    pub(in crate::emulator::world) fn len(&self, project: Option<Uuid>) -> usize {
        self.order(project).map_or(0, AgeOrder::len)
    }

    fn order(&self, project: Option<Uuid>) -> Option<&AgeOrder> {
        project.map_or(Some(&self.order), |project| self.by_project.get(&project))
    }

    /// Returns a page of records, youngest first; of all projects if `project` is `None`.
    pub(in crate::emulator::world) fn page(
        &self,
        project: Option<Uuid>,
        offset: usize,
        limit: usize,
    ) -> impl Iterator<Item = &TableRecord<T>> {
        self.order(project)
            .into_iter()
            .flat_map(move |order| order.page(offset, limit))
            .filter_map(|id| self.records.get(&id))
    }

    /// Returns a page of the records of several projects, youngest first, as one sequence.
    pub(in crate::emulator::world) fn merged_page(
        &self,
        projects: &[Uuid],
        offset: usize,
        limit: usize,
    ) -> impl Iterator<Item = &TableRecord<T>> {
        // A merge of sorted lists: a key may see many projects, and only the page's records are looked up.
        let mut queue = BinaryHeap::new();
        let mut rest: Vec<_> =
            projects.iter().map(|project| self.page(Some(*project), 0, usize::MAX)).collect();
        let place = |index: usize, record: &'_ TableRecord<T>| (record.age_key(), index);
        for (index, records) in rest.iter_mut().enumerate() {
            queue.extend(records.next().map(|record| place(index, record)));
        }
        let merged = std::iter::from_fn(move || {
            let ((_, id), index) = queue.pop()?;
            let next = rest.get_mut(index).and_then(Iterator::next);
            queue.extend(next.map(|record| place(index, record)));
            self.get(id)
        });
        merged.skip(offset).take(limit)
    }

    /// Returns all records, oldest first.
    pub(in crate::emulator::world) fn iter(&self) -> impl Iterator<Item = &TableRecord<T>> {
        self.order.iter().filter_map(|id| self.records.get(&id))
    }

    /// Returns the total hourly price, in USD, of all records that are billed by the hour.
    pub(in crate::emulator::world) fn hourly_rate(&self) -> Decimal {
        self.rate
    }

    /// Returns the subscription with the earliest renewal and its time; `None` if that is not due yet.
    pub(in crate::emulator::world) fn due_subscription(&self, now: Time) -> Option<(Time, Uuid)> {
        self.renewals.first().copied().filter(|(time, _)| *time <= now)
    }

    /// Returns the record with the earliest scheduled event and the event's time; `None` if nothing is scheduled.
    pub(in crate::emulator::world) fn next(&self) -> Option<(Time, Uuid)> {
        self.agenda.first().copied()
    }

    fn update_index(&mut self, record: &TableRecord<T>, present: bool) {
        T::index(&mut self.index, record, present);
        match (T::next(record), present) {
            (Some(time), true) => drop(self.agenda.insert((time, record.id))),
            (Some(time), false) => drop(self.agenda.remove(&(time, record.id))),
            (None, _) => {}
        }
        let Some(charge) = T::charge(record) else { return };
        match (charge.paid_until, present) {
            (None, true) => self.rate += charge.hourly_price(),
            (None, false) => self.rate -= charge.hourly_price(),
            (Some(time), true) => drop(self.renewals.insert((time, record.id))),
            (Some(time), false) => drop(self.renewals.remove(&(time, record.id))),
        }
    }

    pub(in crate::emulator::world) fn insert(&mut self, record: TableRecord<T>) {
        let place = record.age_key();
        self.order.insert(place);
        if let Some(project) = record.project {
            self.by_project.entry(project).or_default().insert(place);
        }
        self.update_index(&record, true);
        self.dirty.insert(record.id);
        self.records.insert(record.id, record);
    }

    /// Changes a record and its modification time; no effect if it is missing. Its age and project must stay the same,
    /// because `order` and `by_project` are not updated.
    pub(in crate::emulator::world) fn update(
        &mut self,
        id: Uuid,
        now: Time,
        change: impl FnOnce(&mut TableRecord<T>),
    ) {
        self.amend(id, |record| {
            change(record);
            record.updated_at = now;
        });
    }

    /// Changes a record without a new modification time, for changes that no request asked for; no effect
    /// if it is missing.
    pub(in crate::emulator::world) fn amend(&mut self, id: Uuid, change: impl FnOnce(&mut TableRecord<T>)) {
        let Some(mut record) = self.records.remove(&id) else { return };
        self.update_index(&record, false);
        change(&mut record);
        self.update_index(&record, true);
        self.records.insert(id, record);
        self.dirty.insert(id);
    }

    pub(in crate::emulator::world) fn remove(&mut self, id: Uuid) -> Option<TableRecord<T>> {
        let record = self.records.remove(&id)?;
        let place = record.age_key();
        self.order.remove(place);
        if let Some(project) = record.project
            && let Some(order) = self.by_project.get_mut(&project)
        {
            order.remove(place);
            if order.len() == 0 {
                self.by_project.remove(&project);
            }
        }
        self.update_index(&record, false);
        self.dirty.insert(id);
        Some(record)
    }

    /// Returns the records that changed since the last call, by id; `None` for a removed one.
    pub(in crate::emulator::world) fn take_changes(
        &mut self,
    ) -> impl Iterator<Item = (Uuid, Option<&TableRecord<T>>)> {
        let records = &self.records;
        std::mem::take(&mut self.dirty).into_iter().map(|id| (id, records.get(&id)))
    }

    /// Marks every record as changed.
    pub(in crate::emulator::world) fn touch_all(&mut self) {
        self.dirty.extend(self.records.keys());
    }

    /// Marks the ids of another table's records as changed, so that those missing here are stored as removed.
    pub(in crate::emulator::world) fn mark_superseded(&mut self, earlier: &Self) {
        self.dirty.extend(earlier.records.keys().chain(&earlier.dirty));
        self.touch_all();
    }
}

/// A kind whose records each belong to a record of another kind.
pub(in crate::emulator::world) trait ChildKind: RecordKind {
    fn children(table: &Table<Self>) -> &ChildIndex;
}

impl<T: ChildKind> Table<T> {
    /// Returns a parent's children, youngest first.
    pub(in crate::emulator::world) fn children_of(
        &self,
        parent: Uuid,
    ) -> impl Iterator<Item = &TableRecord<T>> {
        T::children(self).child_ids(parent).rev().filter_map(|id| self.get(id))
    }

    /// Removes all children of a parent.
    pub(in crate::emulator::world) fn remove_all(&mut self, parent: Uuid) {
        let ids: Vec<_> = T::children(self).child_ids(parent).collect();
        for id in ids {
            self.remove(id);
        }
    }

    /// Removes a parent's oldest children, except for the youngest `keep` and those for which `stays` holds.
    pub(in crate::emulator::world) fn prune(
        &mut self,
        parent: Uuid,
        keep: usize,
        stays: impl Fn(&TableRecord<T>) -> bool,
    ) {
        let older = self.children_of(parent).skip(keep).filter(|record| !stays(record));
        let ids: Vec<_> = older.map(|record| record.id).collect();
        for id in ids {
            self.remove(id);
        }
    }
}

impl<T: RecordKind> Serialize for Table<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de, T: RecordKind> Deserialize<'de> for Table<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut table = Self::default();
        for record in Vec::<TableRecord<T>>::deserialize(deserializer)? {
            if table.get(record.id).is_some() {
                return Err(serde::de::Error::custom(format!("two records have the id {}", record.id)));
            }
            table.insert(record);
        }
        // What was just read is already stored.
        table.dirty.clear();
        Ok(table)
    }
}
