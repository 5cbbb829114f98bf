//! What the plans of many units say together: whether there is something to do, and one fingerprint for a review. In: the
//! plans by unit. Out: values that do not depend on the order of the units, or on those that have nothing to do.

use std::collections::BTreeMap;

use super::unit::UnitName;
use crate::model::crypto::digest::json_digest;
use crate::plan::model::change::Plan;

/// Returns whether applying a plan would send or record anything.
#[must_use]
pub fn has_work(plan: &Plan) -> bool {
    plan.has_changes() || !plan.steps.is_empty() || !plan.bookkeeping.is_empty()
}

/// Returns the fingerprint of a review of many units: 64 hexadecimal digits. It covers the fingerprints of the units with
/// something to do, so that more units without changes do not change it.
///
/// # Errors
/// When it cannot be written as JSON.
pub fn combined_fingerprint<'p>(
    plans: impl Iterator<Item = (&'p UnitName, &'p Plan)>,
    destroy: bool,
) -> Result<String, serde_json::Error> {
    let fingerprints: BTreeMap<String, &str> = plans
        .filter(|(_, plan)| has_work(plan))
        .map(|(name, plan)| (name.to_string(), plan.fingerprint.as_str()))
        .collect();
    digest_of(&fingerprints, destroy)
}

/// Returns the fingerprint of a review, from the fingerprints of its units with something to do.
///
/// # Errors
/// When it cannot be written as JSON.
pub fn digest_of(
    fingerprints: &BTreeMap<String, &str>,
    destroy: bool,
) -> Result<String, serde_json::Error> {
    json_digest("stead units 1", &(fingerprints, destroy))
}
