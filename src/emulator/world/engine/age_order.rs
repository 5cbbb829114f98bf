//! `AgeOrder`: ids ordered by age, with paging by position that neither sorts nor copies the whole list.

use uuid::Uuid;

use crate::emulator::world::Time;

/// Limit on the entries of a block; a fuller block is split in two.
const MAX_BLOCK_LEN: usize = 512;

/// Sort key of a record: creation time, then id.
pub(in crate::emulator::world) type AgeKey = (Time, Uuid);

/// A sorted sequence in blocks: paging skips whole blocks by their lengths, and an insertion or removal moves the
/// entries of one block only. No block is empty.
#[derive(Debug, Default)]
pub(in crate::emulator::world) struct AgeOrder {
    blocks: Vec<Vec<AgeKey>>,
    len: usize,
}

impl AgeOrder {
    pub(in crate::emulator::world) fn len(&self) -> usize {
        self.len
    }

    /// Adds a key; has no effect if the key is present.
    pub(in crate::emulator::world) fn insert(&mut self, place: AgeKey) {
        let at = self.block_of(place);
        let Some(block) = self.blocks.get_mut(at) else {
            self.blocks.push(vec![place]);
            self.len += 1;
            return;
        };
        let Err(position) = block.binary_search(&place) else { return };
        block.insert(position, place);
        self.len += 1;
        if block.len() > MAX_BLOCK_LEN {
            let rest = block.split_off(MAX_BLOCK_LEN / 2);
            self.blocks.insert(at + 1, rest);
        }
    }

    /// Removes a key, if it is present.
    pub(in crate::emulator::world) fn remove(&mut self, place: AgeKey) {
        let at = self.block_of(place);
        let Some(block) = self.blocks.get_mut(at) else { return };
        let Ok(position) = block.binary_search(&place) else { return };
        block.remove(position);
        self.len -= 1;
        if block.is_empty() {
            self.blocks.remove(at);
        }
    }

    /// Returns the index of the last block that begins at or before the key; 0 if none does.
    fn block_of(&self, place: AgeKey) -> usize {
        self.blocks
            .partition_point(|block| block.first().is_some_and(|first| *first <= place))
            .saturating_sub(1)
    }

    /// Skips `offset` ids and returns up to `limit` more, youngest first.
    pub(in crate::emulator::world) fn page(
        &self,
        offset: usize,
        limit: usize,
    ) -> impl Iterator<Item = Uuid> {
        let mut skip = offset;
        let mut first = self.blocks.len();
        while let Some(block) = first.checked_sub(1).and_then(|index| self.blocks.get(index)) {
            if skip < block.len() {
                break;
            }
            skip -= block.len();
            first -= 1;
        }
        let blocks = self.blocks.get(..first).unwrap_or_default();
        blocks.iter().rev().flat_map(|block| block.iter().rev()).skip(skip).take(limit).map(|(_, id)| *id)
    }

    /// Returns all ids, oldest first.
    pub(in crate::emulator::world) fn iter(&self) -> impl Iterator<Item = Uuid> {
        self.blocks.iter().flatten().map(|(_, id)| *id)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn place(n: u16) -> AgeKey {
        // Two ids share each time, so that the second criterion counts too.
        (Time::from_second(i64::from(n / 2)).unwrap(), Uuid::from_u128(u128::from(n)))
    }

    proptest! {
        #[test]
        fn the_age_order_behaves_as_a_sorted_set(
            operations in prop::collection::vec((any::<bool>(), 0u16..2_000), 0..3_000),
            offset in 0usize..2_000,
            limit in 0usize..200,
        ) {
            let mut ordered = AgeOrder::default();
            let mut model = BTreeSet::new();
            for (add, n) in operations {
                if add || n % 3 != 0 {
                    ordered.insert(place(n));
                    model.insert(place(n));
                } else {
                    ordered.remove(place(n));
                    model.remove(&place(n));
                }
            }
            prop_assert_eq!(ordered.len(), model.len());
            let wanted: Vec<_> = model.iter().rev().skip(offset).take(limit).map(|(_, id)| *id).collect();
            prop_assert_eq!(ordered.page(offset, limit).collect::<Vec<_>>(), wanted);
            prop_assert!(ordered.iter().eq(model.iter().map(|(_, id)| *id)));
        }
    }

    #[test]
    fn pages_concatenate_to_the_whole() {
        let mut ordered = AgeOrder::default();
        (0..5_000).rev().for_each(|n| ordered.insert(place(n)));
        let paged: Vec<_> =
            (0..50).flat_map(|page| ordered.page(page * 100, 100).collect::<Vec<_>>()).collect();
        assert!(paged.iter().copied().eq((0..5_000).rev().map(|n| place(n).1)));
        assert_eq!(ordered.page(5_000, 100).count(), 0);
        assert_eq!(ordered.page(usize::MAX, 100).count(), 0);
    }
}
