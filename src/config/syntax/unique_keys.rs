//! Mapping with unique keys, built while a file is parsed.

use foldhash::HashMap;

use super::document::DocumentEntry;
use crate::model::address::Name;

/// Up to this number of entries a linear search is used, which needs no index.
const MAX_LINEAR_ENTRIES: usize = 12;

/// Entries in the order written, with lookup of a key in constant time.
#[derive(Debug, Default)]
pub(in crate::config) struct UniqueKeys {
    entries: Vec<DocumentEntry>,
    index: HashMap<Name, usize>,
}

impl UniqueKeys {
    /// Returns the position of a key; `None` if it does not exist.
    pub(in crate::config) fn position(&self, key: &str) -> Option<usize> {
        if self.index.is_empty() {
            self.entries.iter().position(|entry| entry.key == key)
        } else {
            self.index.get(key).copied()
        }
    }

    /// Returns the entry of a key; `None` if it does not exist.
    pub(in crate::config) fn get(&self, key: &str) -> Option<&DocumentEntry> {
        self.entries.get(self.position(key)?)
    }

    /// Appends an entry. The caller has checked that its key does not exist yet.
    pub(in crate::config) fn push(&mut self, entry: DocumentEntry) {
        if !self.index.is_empty() {
            self.index.insert(entry.key.clone(), self.entries.len());
        } else if self.entries.len() == MAX_LINEAR_ENTRIES {
            let known = self.entries.iter().chain([&entry]).enumerate();
            self.index = known.map(|(i, entry)| (entry.key.clone(), i)).collect();
        }
        self.entries.push(entry);
    }

    pub(in crate::config) fn entries(&self) -> &[DocumentEntry] {
        &self.entries
    }

    /// Returns the entries in the order written.
    pub(in crate::config) fn into_entries(self) -> Vec<DocumentEntry> {
        self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::super::document::{Node, NodeValue};
    use super::super::limits::byte_span;
    use super::*;
    use crate::model::source::SourceId;

    #[test]
    fn keys_are_found_in_small_and_large_maps() {
        let mut unique = UniqueKeys::default();
        let at = byte_span(SourceId(0), 0, 0);
        for n in 0..100 {
            let key: Name = format!("k{n}").into();
            assert!(unique.get(&key).is_none());
            let value = Node { value: NodeValue::Null, span: at, through: None };
            unique.push(DocumentEntry { key: key.clone(), key_span: at, value });
            assert_eq!(unique.position(&key), Some(n));
            assert_eq!(unique.position("k0"), Some(0));
        }
        assert_eq!(unique.into_entries().len(), 100);
    }
}
