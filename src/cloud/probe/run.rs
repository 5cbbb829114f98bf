//! All checks of the probe, in the order of the report.

use super::finding::ProbeFinding;
use super::observations::Observations;
use super::{catalogs, contract, endpoints, fields};
use crate::model::schema::Registry;

/// Compares every assumption of the contract with the service's responses.
#[must_use]
pub fn findings(evidence: &Observations, registry: Registry) -> Vec<ProbeFinding> {
    let mut findings = contract::check_contract(evidence);
    findings.extend(catalogs::check_catalogs(registry, evidence));
    for kind in registry.kinds {
        findings.extend(endpoints::check_endpoints(kind, evidence));
        findings.extend(fields::check_fields(kind, evidence));
    }
    findings
}
