//! All checks of the probe, in the order in which they are reported.

use super::finding::Finding;
use super::observations::Evidence;
use super::{catalogs, contract, endpoints, fields};
use crate::model::schema::Registry;

/// Compares every assumption of the contract with what the service answered.
#[must_use]
pub fn findings(evidence: &Evidence, registry: Registry) -> Vec<Finding> {
    let mut findings = contract::findings(evidence);
    findings.extend(catalogs::findings(registry, evidence));
    for kind in registry.kinds {
        findings.extend(endpoints::findings(kind, evidence));
        findings.extend(fields::findings(kind, evidence));
    }
    findings
}
