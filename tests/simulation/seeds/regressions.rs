//! Seeds that once broke a promise, each with a word.

/// Seeds and what they were about.
pub const SEEDS: &[(u64, &str)] = &[];
