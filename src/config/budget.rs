//! `Budget`: how many values a file may produce, so that memory stays in proportion to its text.

use super::syntax::MAX_NODES;

/// Values that a file may produce besides ten for each of its bytes: small files may repeat freely.
const BASE: usize = 100_000;

/// What is left of it.
#[derive(Debug)]
pub(super) struct Budget {
    left: usize,
}

impl Budget {
    /// Returns the budget of a text of so many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        Self { left: bytes.saturating_mul(10).saturating_add(BASE).min(MAX_NODES) }
    }

    /// Spends some of it; false when it does not suffice.
    pub(super) fn spend(&mut self, values: usize) -> bool {
        let left = self.left.checked_sub(values);
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_with_the_text_and_ends() {
        let mut small = Budget::new(10);
        assert!(small.spend(BASE + 100));
        assert!(!small.spend(1));
        let mut large = Budget::new(usize::MAX);
        assert!(!large.spend(MAX_NODES + 1));
        assert!(large.spend(MAX_NODES));
        assert!(!large.spend(1));
    }
}
