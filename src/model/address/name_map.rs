//! `NameMap`: a map of a few names, sorted, in one allocation of its size. In: names with values. Out: the same order
//! and the same serialized form as a `BTreeMap`, whose smallest node has room for eleven entries: a stack has a map for
//! each resource, with about five.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Index;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Name;

/// Maximum number of entries among which a name is searched one by one.
const MAX_COMPARED: usize = 32;

/// Values by name. Insertion is linear in the number of names, unless they are inserted in order; a
/// map of all at once sorts them.
#[derive(Clone, PartialEq, Eq)]
pub struct NameMap<V>(Vec<(Name, V)>);

impl<V> NameMap<V> {
    /// Returns an empty map, without an allocation.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Returns an empty map with room for `count` entries.
    #[must_use]
    pub fn with_capacity(count: usize) -> Self {
        Self(Vec::with_capacity(count))
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether the map has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the position of a name; `None` for a name that the map does not have. A few names are compared one after
    /// the other: most differ in their lengths.
    fn find(&self, name: &str) -> Option<usize> {
        if self.0.len() <= MAX_COMPARED {
            return self.0.iter().position(|(key, _)| key == name);
        }
        self.0.binary_search_by(|(key, _)| key.as_str().cmp(name)).ok()
    }

    /// Returns the position of a name, or where it would be inserted: last, where names are inserted in order.
    fn position(&self, name: &str) -> Result<usize, usize> {
        match self.0.last() {
            Some((last, _)) if last.as_str() < name => Err(self.0.len()),
            _ => self.0.binary_search_by(|(key, _)| key.as_str().cmp(name)),
        }
    }

    /// Returns the value of a name; `None` for a name that the map does not have.
    #[must_use]
    pub fn get<Q: AsRef<str> + ?Sized>(&self, name: &Q) -> Option<&V> {
        self.find(name.as_ref()).map(|at| &self.0[at].1)
    }

    /// Returns the value of a name, to change it; `None` for a name that the map does not have.
    pub fn get_mut<Q: AsRef<str> + ?Sized>(&mut self, name: &Q) -> Option<&mut V> {
        self.find(name.as_ref()).map(|at| &mut self.0[at].1)
    }

    /// Returns whether the map has a name.
    #[must_use]
    pub fn contains_key<Q: AsRef<str> + ?Sized>(&self, name: &Q) -> bool {
        self.find(name.as_ref()).is_some()
    }

    /// Sets the value of a name, and returns the one before; `None` for a new name.
    pub fn insert(&mut self, name: Name, value: V) -> Option<V> {
        match self.position(&name) {
            Ok(at) => Some(std::mem::replace(&mut self.0[at].1, value)),
            Err(at) => {
                self.0.insert(at, (name, value));
                None
            }
        }
    }

    /// Returns the value of a name, to change it; a new name gets the value that `make` returns.
    pub fn get_or_insert_with(&mut self, name: Name, make: impl FnOnce() -> V) -> &mut V {
        let at = match self.position(&name) {
            Ok(at) => at,
            Err(at) => {
                self.0.insert(at, (name, make()));
                at
            }
        };
        &mut self.0[at].1
    }

    /// Removes a name, and returns its value; `None` for a name that the map does not have.
    pub fn remove<Q: AsRef<str> + ?Sized>(&mut self, name: &Q) -> Option<V> {
        self.find(name.as_ref()).map(|at| self.0.remove(at).1)
    }

    /// Keeps the entries for which `keep` returns true.
    pub fn retain(&mut self, mut keep: impl FnMut(&Name, &mut V) -> bool) {
        self.0.retain_mut(|(name, value)| keep(name, value));
    }

    /// Returns the entries, sorted by name.
    pub fn iter(&self) -> Iter<'_, V> {
        self.into_iter()
    }

    /// Returns the entries, sorted by name, with values that can be changed.
    pub fn iter_mut(&mut self) -> IterMut<'_, V> {
        self.into_iter()
    }

    /// Returns the names, sorted.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Name> + ExactSizeIterator + Clone {
        self.0.iter().map(|(name, _)| name)
    }

    /// Returns the values, in the order of their names.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.0.iter().map(|(_, value)| value)
    }

    /// Returns the values, to change them, in the order of their names.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.0.iter_mut().map(|(_, value)| value)
    }
}

/// The entries of a map, sorted by name.
pub type Iter<'m, V> =
    std::iter::Map<std::slice::Iter<'m, (Name, V)>, fn(&'m (Name, V)) -> (&'m Name, &'m V)>;

/// The entries of a map, sorted by name, with values that can be changed.
pub type IterMut<'m, V> =
    std::iter::Map<std::slice::IterMut<'m, (Name, V)>, fn(&'m mut (Name, V)) -> (&'m Name, &'m mut V)>;

impl<V> Default for NameMap<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: fmt::Debug> fmt::Debug for NameMap<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl<'m, V> IntoIterator for &'m NameMap<V> {
    type Item = (&'m Name, &'m V);
    type IntoIter = Iter<'m, V>;

    fn into_iter(self) -> Iter<'m, V> {
        self.0.iter().map(|(name, value)| (name, value))
    }
}

impl<'m, V> IntoIterator for &'m mut NameMap<V> {
    type Item = (&'m Name, &'m mut V);
    type IntoIter = IterMut<'m, V>;

    fn into_iter(self) -> IterMut<'m, V> {
        self.0.iter_mut().map(|(name, value)| (&*name, value))
    }
}

impl<V> IntoIterator for NameMap<V> {
    type Item = (Name, V);
    type IntoIter = std::vec::IntoIter<(Name, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<V> Extend<(Name, V)> for NameMap<V> {
    fn extend<I: IntoIterator<Item = (Name, V)>>(&mut self, entries: I) {
        for (name, value) in entries {
            self.insert(name, value);
        }
    }
}

/// Sorts the entries; of several with one name, the last stays.
impl<V> From<Vec<(Name, V)>> for NameMap<V> {
    fn from(mut entries: Vec<(Name, V)>) -> Self {
        if !entries.is_sorted_by(|(first, _), (second, _)| first < second) {
            // Reversed, the last of equal names is the first of them, which `dedup_by` keeps.
            entries.reverse();
            entries.sort_by(|(first, _), (second, _)| first.cmp(second));
            entries.dedup_by(|(second, _), (first, _)| first == second);
        }
        Self(entries)
    }
}

impl<V> FromIterator<(Name, V)> for NameMap<V> {
    fn from_iter<I: IntoIterator<Item = (Name, V)>>(entries: I) -> Self {
        entries.into_iter().collect::<Vec<_>>().into()
    }
}

impl<V> From<NameMap<V>> for BTreeMap<Name, V> {
    fn from(entries: NameMap<V>) -> Self {
        entries.into_iter().collect()
    }
}

impl<V, const N: usize> From<[(Name, V); N]> for NameMap<V> {
    fn from(entries: [(Name, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<V> From<BTreeMap<Name, V>> for NameMap<V> {
    fn from(entries: BTreeMap<Name, V>) -> Self {
        entries.into_iter().collect()
    }
}

impl<V> Index<&str> for NameMap<V> {
    type Output = V;

    /// Panics for a name that the map does not have, as the index of every map does.
    fn index(&self, name: &str) -> &V {
        &self.0[self.find(name).unwrap_or(self.0.len())].1
    }
}

impl<V: Serialize> Serialize for NameMap<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for NameMap<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(NameMapVisitor(PhantomData))
    }
}

struct NameMapVisitor<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for NameMapVisitor<V> {
    type Value = NameMap<V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<NameMap<V>, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(entries.into())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Edit {
        Insert(String, u8),
        Remove(String),
    }

    fn edits() -> impl Strategy<Value = Vec<Edit>> {
        let edit = prop_oneof![
            3 => ("[a-h]{0,2}", any::<u8>()).prop_map(|(name, value)| Edit::Insert(name, value)),
            1 => "[a-h]{0,2}".prop_map(Edit::Remove),
        ];
        prop::collection::vec(edit, 0..160)
    }

    proptest! {
        #[test]
        fn it_behaves_as_a_btree_map(edits in edits(), asked in "[a-h]{0,2}") {
            let (mut map, mut tree) = (NameMap::new(), BTreeMap::new());
            for edit in edits {
                match edit {
                    Edit::Insert(name, value) => {
                        let name = Name::new(name);
                        prop_assert_eq!(map.insert(name.clone(), value), tree.insert(name, value));
                    }
                    Edit::Remove(name) => prop_assert_eq!(map.remove(&name), tree.remove(name.as_str())),
                }
                prop_assert!(map.iter().eq(&tree));
            }
            prop_assert_eq!(map.get(&asked), tree.get(asked.as_str()));
            prop_assert_eq!(map.contains_key(&asked), tree.contains_key(asked.as_str()));
            let json = serde_json::to_string(&map).unwrap();
            prop_assert_eq!(&json, &serde_json::to_string(&tree).unwrap());
            prop_assert_eq!(serde_json::from_str::<NameMap<u8>>(&json).unwrap(), map.clone());
            prop_assert_eq!(format!("{map:?}"), format!("{tree:?}"));
            prop_assert_eq!(NameMap::from(tree), map);
        }

        #[test]
        fn a_map_of_all_at_once_has_the_last_of_equal_names(entries: Vec<(u8, u8)>) {
            let entries = entries.into_iter().map(|(name, value)| (Name::new((name % 16).to_string()), value));
            let tree: BTreeMap<Name, u8> = entries.clone().collect();
            prop_assert_eq!(entries.collect::<NameMap<u8>>(), NameMap::from(tree));
        }
    }
}
