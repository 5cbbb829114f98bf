//! `ChildIndex`: index of child records by parent, ordered by age; and `ChildKind`, the kinds that have one.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::table::{RecordKind, Table, TableRecord};
use crate::emulator::world::Time;

/// The records of one kind as (parent, creation time, id), so that one range holds a parent's children by age.
#[derive(Debug, Default)]
pub(in crate::emulator::world) struct ChildIndex(BTreeSet<(Uuid, Time, Uuid)>);

impl ChildIndex {
    /// Adds a record to its parent's children if it is `present`, and removes it otherwise.
    pub(in crate::emulator::world) fn index_record<T>(
        &mut self,
        parent: Uuid,
        record: &TableRecord<T>,
        present: bool,
    ) {
        let key = (parent, record.created_at, record.id);
        if present {
            self.0.insert(key);
        } else {
            self.0.remove(&key);
        }
    }

    /// Returns the ids of a parent's children, oldest first.
    pub(in crate::emulator::world) fn child_ids(
        &self,
        parent: Uuid,
    ) -> impl DoubleEndedIterator<Item = Uuid> {
        let all = (parent, Time::MIN, Uuid::nil())..=(parent, Time::MAX, Uuid::max());
        self.0.range(all).map(|(_, _, id)| *id)
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

    /// Removes a parent's children, except for the youngest `keep` and those for which `stays` holds.
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
