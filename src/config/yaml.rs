//! YAML text → `Document`.

use super::document::Document;
use crate::model::diagnostic::Diagnostic;
use crate::model::source::{Source, SourceId};

/// Parses a YAML file.
///
/// # Errors
/// Every syntax problem that could be told apart; likely slips get the corrected text.
pub fn parse(_id: SourceId, _source: &Source) -> Result<Document, Vec<Diagnostic>> {
    unimplemented!("SYNTAX")
}
