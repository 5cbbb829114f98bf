//! `OpenReview`: what was approved for a stack as one of many that are applied together. The ledger keeps it until the stack
//! is done, so that a later attempt of the same apply knows what may still be done. It holds no secret: a plan has
//! fingerprints in their place.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::address::Name;

/// The reviewed plan of a stack, with the review that it is a part of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewedPlan {
    /// The fingerprint of all plans of the review together: 64 hexadecimal digits.
    pub fingerprint: Name,
    /// The fingerprints of the plans of the review with something to do, by stack and environment (`shop/prod`).
    pub units: BTreeMap<Name, Name>,
    /// The plan of this stack, as a saved plan has it.
    pub plan: String,
}

/// A reviewed plan that is not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenReview {
    /// The plan.
    pub reviewed: ReviewedPlan,
    /// Whether a run has started since: some of the changes may be made.
    pub begun: bool,
}
