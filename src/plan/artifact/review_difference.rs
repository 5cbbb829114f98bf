//! `ReviewDifference`: how a later plan differs from what was reviewed: from a saved plan by resource and attribute, from the
//! digests of a comment by address only.

use super::change_digests::DigestDifference;
use super::difference::PlanDifference;

/// How a later plan differs from a reviewed one.
#[derive(Debug, Clone, PartialEq)]
pub enum ReviewDifference {
    /// By resource and attribute.
    Parts(PlanDifference),
    /// By address only.
    Addresses {
        /// The addresses that are known to differ.
        found: DigestDifference,
        /// Whether the fingerprints are equal.
        is_same: bool,
    },
}

impl ReviewDifference {
    /// Returns whether the plans decide the same.
    #[must_use]
    pub fn is_same(&self) -> bool {
        match self {
            Self::Parts(difference) => difference.is_empty(),
            Self::Addresses { is_same, .. } => *is_same,
        }
    }
}

/// The difference of one of several plans, with the stack and the environment of the plan, such as `shop/prod`.
pub type UnitDifference = (String, ReviewDifference);
