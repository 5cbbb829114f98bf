//! Parsing of a source in the syntax that its path names.

use super::document::{Document, Syntax};
use super::limits::syntax_of;
use super::{kdl, yaml};
use crate::model::diagnostic::Diagnostic;
use crate::model::source::{Source, SourceId};

/// Parses a source in the syntax of its path's extension; `None` for an unknown extension, diagnostics for
/// a file with errors.
///
/// `is_kind` distinguishes a block with a name (`vpc main`) from a value (`stack shop`): in YAML the difference
/// is visible, in KDL it is not. For a file of plain values it is false for every keyword.
pub fn parse(
    id: SourceId,
    source: &Source,
    is_kind: &dyn Fn(&str) -> bool,
) -> Option<Result<Document, Vec<Diagnostic>>> {
    Some(match syntax_of(&source.path)? {
        Syntax::Yaml => yaml::parse(id, source),
        Syntax::Kdl => kdl::parse(id, source, is_kind),
    })
}

#[cfg(test)]
mod tests;
