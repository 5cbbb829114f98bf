//! The JSON documents of `state verify` and `state repair`.

use serde::Serialize;

use crate::report::json_writer::{SCHEMA_VERSION, SchemaVersion, to_pretty};
use crate::report::views::ledger_check::{LedgerCheckReport, LostRecords};

#[derive(Serialize)]
struct LedgerCheckDocument<'a> {
    schema_version: SchemaVersion,
    place: &'a str,
    whole: bool,
    serial: u64,
    summaries: usize,
    journals: usize,
    records: usize,
    torn: bool,
    damages: Vec<DamageEntry<'a>>,
}

#[derive(Serialize)]
struct DamageEntry<'a> {
    place: &'a str,
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<&'a [String]>,
}

/// Returns the JSON document of a ledger check.
#[must_use]
pub fn check_document(checked: &LedgerCheckReport) -> String {
    to_pretty(&LedgerCheckDocument {
        schema_version: SCHEMA_VERSION,
        place: &checked.place,
        whole: checked.flaws.is_empty(),
        serial: checked.serial,
        summaries: checked.summaries,
        journals: checked.journals,
        records: checked.records,
        torn: checked.torn,
        damages: checked
            .flaws
            .iter()
            .map(|flaw| DamageEntry { place: &flaw.place, reason: &flaw.reason, records: None })
            .collect(),
    })
}

#[derive(Serialize)]
struct LedgerRepairDocument<'a> {
    schema_version: SchemaVersion,
    kept: usize,
    lost: Vec<DamageEntry<'a>>,
}

/// Returns the JSON document of a repair before it is carried out.
#[must_use]
pub fn repair_document(kept: usize, losses: &[LostRecords]) -> String {
    let lost = losses
        .iter()
        .map(|loss| DamageEntry { place: &loss.place, reason: &loss.reason, records: Some(&loss.records) })
        .collect();
    to_pretty(&LedgerRepairDocument { schema_version: SCHEMA_VERSION, kept, lost })
}
