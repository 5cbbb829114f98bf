//! Repeatable pseudo-randomness: numbers, ids and passwords computed from a seed and a counter. There is no state to
//! store but the counter, and a world that restarts continues the same sequence. Not for real secrets.

use uuid::{Builder, Uuid};

/// Returns the `index`-th number of the sequence that `seed` starts (SplitMix64).
pub(super) fn nth_number(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Returns the `index`-th number of the sequence as a fraction in `0.0..1.0`.
pub(super) fn nth_fraction(seed: u64, index: u64) -> f64 {
    let [a, b, c, d, ..] = nth_number(seed, index).to_be_bytes();
    f64::from(u32::from_be_bytes([a, b, c, d])) / (f64::from(u32::MAX) + 1.0)
}

/// Returns the `index`-th id of the sequence, in the shape of a random UUID.
pub(super) fn nth_uuid(seed: u64, index: u64) -> Uuid {
    let halves =
        (nth_number(seed, index.wrapping_mul(2)), nth_number(seed, index.wrapping_mul(2).wrapping_add(1)));
    Builder::from_random_bytes(*Uuid::from_u64_pair(halves.0, halves.1).as_bytes()).into_uuid()
}

/// Returns `length` characters of `alphabet`, computed from an id and a number for the purpose, so that one record
/// can have several passwords. With an empty alphabet it never returns.
pub(super) fn derive_text(id: Uuid, purpose: u64, alphabet: &[u8], length: usize) -> String {
    let (high, low) = id.as_u64_pair();
    let size = u64::try_from(alphabet.len()).unwrap_or(1).max(1);
    (0..)
        .map(|index| nth_number(high ^ low.rotate_left(17) ^ purpose, index) % size)
        .filter_map(|at| alphabet.get(usize::try_from(at).ok()?))
        .take(length)
        .map(|byte| char::from(*byte))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn generated_ids_are_reproducible_and_distinct() {
        let ids: HashSet<Uuid> = (0..10_000).map(|index| nth_uuid(7, index)).collect();
        assert_eq!(ids.len(), 10_000);
        assert!(ids.iter().all(|id| id.get_version_num() == 4));
        assert_eq!(nth_uuid(7, 3), nth_uuid(7, 3));
        assert_ne!(nth_uuid(7, 3), nth_uuid(8, 3));
    }

    #[test]
    fn fractions_are_uniformly_distributed() {
        // The published first number of SplitMix64 from 0.
        assert_eq!(nth_number(0, 0), 0xe220_a839_7b1d_cdaf);
        let sum: f64 = (0..100_000).map(|index| nth_fraction(2, index)).sum();
        assert!((49_500.0..50_500.0).contains(&sum), "{sum}");
        assert!((0..10_000).map(|index| nth_fraction(1, index)).all(|f| (0.0..1.0).contains(&f)));
    }

    #[test]
    fn generated_text_uses_its_alphabet_only() {
        let made = derive_text(nth_uuid(1, 1), 0, b"ab", 64);
        assert_eq!(made.len(), 64);
        assert!(made.contains('a') && made.contains('b') && made.bytes().all(|b| b"ab".contains(&b)));
        assert_ne!(made, derive_text(nth_uuid(1, 1), 1, b"ab", 64));
    }
}
