//! All checks of the probe, in the order in which they are reported.

use super::evidence::Evidence;
use super::finding::Finding;
use super::{catalogs, endpoints, fields, general};
use crate::model::schema::Registry;

/// Compares every assumption of the contract with what the service answered.
#[must_use]
pub fn findings(evidence: &Evidence, registry: Registry) -> Vec<Finding> {
    let mut findings = general::findings(evidence);
    findings.extend(catalogs::findings(registry, evidence));
    for kind in registry.kinds {
        findings.extend(endpoints::findings(kind, evidence));
        findings.extend(fields::findings(kind, evidence));
    }
    findings
}
