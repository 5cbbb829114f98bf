//! The JSON documents. Each one has `schema_version`.
//!
//! The types derive the files in `schemas/`: a doc comment is a description there, and a key exists once. A new document
//! is a type that derives `Serialize` and, in tests, `JsonSchema`, and a row in `cli/commands/schema.rs`.

mod ambiguous_intents;
#[cfg(test)]
pub(crate) mod derived_schema;
mod diagnostics;
mod doctor;
mod edits;
mod failure;
mod fmt;
mod history;
mod import;
mod ledger_check;
mod list;
pub mod plan;
mod recovery;
mod unit_results;
mod units;

pub use self::ambiguous_intents::{AmbiguousIntentEntry, questions_document};
pub use self::fmt::formatted_document;
pub use self::import::{adoption_document, takeover_document};
pub use self::ledger_check::{check_document, repair_document};
#[cfg(test)]
pub(crate) use self::plan::apply_events::ApplyStreamLine;
pub use self::plan::change_entry::PlanDocumentOptions;
pub use self::plan::difference::{
    PlanDifferenceDocument, UnitsDifferenceDocument, difference_document, units_difference_document,
};
pub use self::plan::document::{PlanDocument, plan_to, render_plan_document};
#[cfg(test)]
pub(crate) use self::plan::events::PlanStreamLine;
pub use self::plan::events::plan_events;
pub use self::plan::step_entry::step_requests;
pub use crate::report::json_value::JsonValue;
pub use crate::report::json_writer::{
    SCHEMA_VERSION, SchemaVersion, fold_lines, result_document, to_compact, to_pretty,
};
pub use diagnostics::{
    CheckedUnitsDocument, DiagnosticsDocument, checked_units_document, diagnostics_document,
};
pub use doctor::{contract_document, doctor_document};
pub use edits::edits_document;
pub use failure::{CommandFailure, FailureDocument};
pub use history::{HistoryDocument, LockDocument, history_document, lock_document};
#[cfg(test)]
pub(crate) use list::LsDocument;
pub use list::{DriftDocument, ListDocument, drift_document, list_document, object_document};
pub use recovery::{RecoveryDocument, recovery_document};
pub use unit_results::{
    CostSummary, FmtSummary, FormattedFiles, ListSummary, ResultStatus, TestSummary, UnitResult,
    UnitResultsDocument, unit_results_document,
};
pub use units::{UnitsDocument, units_document};
