//! Documents of `doctor`.

use serde::Serialize;

use super::writer::{SCHEMA_VERSION, to_pretty};
use crate::report::views::conformance::{Report, Row};
use crate::report::views::doctor::Check;

#[derive(Serialize)]
struct DoctorDocument<'a> {
    schema_version: u32,
    checks: &'a [Check],
}

/// Returns the document of a checklist.
#[must_use]
pub fn doctor_document(checks: &[Check]) -> String {
    to_pretty(&DoctorDocument { schema_version: SCHEMA_VERSION, checks })
}

#[derive(Serialize)]
struct ContractDocument<'a> {
    schema_version: u32,
    service: &'a str,
    requests: u32,
    page_limit: Option<usize>,
    requests_per_second: Option<u32>,
    learned: &'a [String],
    assumptions: &'a [Row],
}

/// Returns the document of what a service showed of the contract.
#[must_use]
pub fn contract_document(report: &Report) -> String {
    to_pretty(&ContractDocument {
        schema_version: SCHEMA_VERSION,
        service: &report.service,
        requests: report.requests,
        page_limit: report.page_limit,
        requests_per_second: report.rate,
        learned: &report.learned,
        assumptions: &report.rows,
    })
}
