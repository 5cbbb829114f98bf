//! `DeposedObjects`: deposed objects that must still be deleted: a replacement left them, or the user declared
//! them surplus. A new object that conflicts with one is created after its deletion.

use foldhash::{HashSet, HashSetExt};

use super::conflicts::unique_index::UniqueIndex;
use crate::model::address::Name;
use crate::model::live::snapshot::{Object, ObjectKey};
use crate::model::schema::Kind;
use crate::plan::decision::Decision;
use crate::plan::join::joined_state::{JoinedState, ResourceState, referenced_keys};

/// The deposed objects of a plan.
#[derive(Default)]
pub(in crate::plan) struct DeposedObjects<'a> {
    all: Vec<DeposedObject<'a>>,
    /// The unique values of the objects; their numbers are indexes into `all`.
    holdings: UniqueIndex<'a>,
    /// Objects that objects of the stack refer to, or are in.
    used: HashSet<ObjectKey>,
}

/// A deposed object that is live.
pub(in crate::plan) struct DeposedObject<'a> {
    /// The number of the resource that owns it, an index into `joined.subjects`.
    pub n: usize,
    pub id: &'a Name,
    kind: &'static Kind,
    object: &'a Object,
}

impl<'a> DeposedObjects<'a> {
    /// Collects the live deposed objects of all resources.
    pub fn from_state(joined: &JoinedState<'a>) -> Self {
        let mut all = Vec::new();
        for (n, subject) in joined.subjects.iter().enumerate() {
            for owned in subject.entry.into_iter().flat_map(|entry| &entry.deposed) {
                let object = joined.inputs.snapshot.objects.get(&owned.key(subject.kind.name));
                all.extend(object.map(|object| DeposedObject {
                    n,
                    id: &owned.id,
                    kind: subject.kind,
                    object,
                }));
            }
        }
        if all.is_empty() {
            return Self::default();
        }
        let numbered = all.iter().enumerate().map(|(number, left)| (left.kind, left.object, number));
        let holdings = UniqueIndex::from_objects(numbered, |_, _| true);
        let used = referenced_objects(joined, &all);
        Self { all, holdings, used }
    }

    /// Returns the deposed objects that conflict with the new object of a resource, whichever resource owns them.
    pub fn in_the_way(
        &self,
        joined: &JoinedState<'a>,
        n: usize,
        decision: &Decision<'a>,
    ) -> Vec<&DeposedObject<'a>> {
        if self.all.is_empty() {
            return Vec::new();
        }
        let numbers = self.holdings.holders_of(joined, n, decision);
        numbers.into_iter().filter_map(|number| self.all.get(number)).collect()
    }

    /// Returns whether a conflicting deposed object of the resource itself is still used by others: they must switch
    /// before it can be deleted and the new one created.
    pub fn blocks_creation(&self, joined: &JoinedState<'a>, n: usize, decision: &Decision<'a>) -> bool {
        self.in_the_way(joined, n, decision).iter().any(|left| left.n == n && self.is_used(left))
    }

    /// Returns whether a live object of the stack, deposed ones included, refers to a deposed object, or is in it.
    pub fn is_used(&self, leftover: &DeposedObject<'a>) -> bool {
        self.used.contains(&leftover.object.key())
    }
}

/// Returns whether an object of a resource that a replacement was to delete is still live.
pub(in crate::plan) fn has_older_object(joined: &JoinedState<'_>, subject: &ResourceState<'_>) -> bool {
    let mut older = subject.entry.into_iter().flat_map(|entry| &entry.deposed);
    older.any(|owned| joined.inputs.snapshot.objects.contains_key(&owned.key(subject.kind.name)))
}

/// Returns the objects that a stack's objects, deposed ones included, refer to or are in.
fn referenced_objects(joined: &JoinedState<'_>, older: &[DeposedObject<'_>]) -> HashSet<ObjectKey> {
    let current = joined.subjects.iter().filter_map(|subject| Some((subject.kind, subject.object()?)));
    let mut used = HashSet::new();
    for (kind, object) in current.chain(older.iter().map(|left| (left.kind, left.object))) {
        used.extend(referenced_keys(kind, object));
        let parent = kind.child_of().zip(object.parent.clone());
        used.extend(parent.map(|((of, _), id)| ObjectKey { kind: of.into(), parent: None, id }));
    }
    used
}
