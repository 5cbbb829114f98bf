//! The JSON documents of `doctor`.

use serde::Serialize;

use crate::report::json_writer::{SCHEMA_VERSION, SchemaVersion, to_pretty};
use crate::report::views::conformance::{AssumptionResult, ConformanceReport};
use crate::report::views::doctor::DoctorCheck;

#[derive(Serialize)]
struct DoctorDocument<'a> {
    schema_version: SchemaVersion,
    checks: &'a [DoctorCheck],
}

/// Returns the JSON document of a checklist.
#[must_use]
pub fn doctor_document(checks: &[DoctorCheck]) -> String {
    to_pretty(&DoctorDocument { schema_version: SCHEMA_VERSION, checks })
}

#[derive(Serialize)]
struct ConformanceDocument<'a> {
    schema_version: SchemaVersion,
    service: &'a str,
    requests: u32,
    page_limit: Option<usize>,
    requests_per_second: Option<u32>,
    learned: &'a [String],
    assumptions: &'a [AssumptionResult],
}

/// Returns the JSON document of a service's conformance to the contract.
#[must_use]
pub fn contract_document(report: &ConformanceReport) -> String {
    to_pretty(&ConformanceDocument {
        schema_version: SCHEMA_VERSION,
        service: &report.service,
        requests: report.requests,
        page_limit: report.page_limit,
        requests_per_second: report.rate,
        learned: &report.learned,
        assumptions: &report.rows,
    })
}
