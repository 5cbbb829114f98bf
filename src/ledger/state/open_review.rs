//! `OpenReview`: what was approved for a stack as one of many that are applied together. The ledger keeps it until the stack
//! is done, so that a later attempt of the same apply knows what may still be done. `AppliedReview`: the end of one that was
//! applied, so that a repeated apply knows that it is done. They hold no secret: a plan has fingerprints in their place.

use std::collections::BTreeMap;

use jiff::Timestamp;
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

/// How a stack's part of a review was applied to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewEnd {
    /// The time at which nothing of it was left to do.
    pub at: Timestamp,
    /// The id of the run of many stacks that did the last of it.
    pub common: Name,
    /// The digest of the configuration that was applied.
    pub config: Name,
}

/// The last review that was applied to its end, while no later run and no later review exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedReview {
    /// The fingerprint of all plans of the review together.
    pub fingerprint: Name,
    /// The fingerprints of the plans of the review with something to do, by stack and environment.
    pub units: BTreeMap<Name, Name>,
    /// How this stack's part ended.
    pub end: ReviewEnd,
}
