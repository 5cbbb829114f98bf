//! `ChildIndex`: index of child records by parent, ordered by age; and `ChildKind`, the kinds that have one.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::age_order::AgeKey;
use crate::emulator::world::Time;

/// The records of one kind as (parent, creation time, id), so that one range holds a parent's children by age.
#[derive(Debug, Default)]
pub(in crate::emulator::world) struct ChildIndex(BTreeSet<(Uuid, Time, Uuid)>);

impl ChildIndex {
    /// Adds a record to its parent's children if it is `present`, and removes it otherwise.
    pub(in crate::emulator::world) fn index_child(&mut self, parent: Uuid, child: AgeKey, present: bool) {
        let key = (parent, child.0, child.1);
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
