//! The few messages of the Language Server Protocol that are spoken here, as far as they are used.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A message from the editor.
#[derive(Debug, Deserialize)]
pub(super) struct IncomingMessage {
    /// Missing in notifications.
    pub(super) id: Option<Value>,
    /// Missing in answers to what the server asked.
    pub(super) method: Option<String>,
    /// What the method is about.
    #[serde(default)]
    pub(super) params: Value,
}

/// A place between two characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Position {
    /// From 0.
    pub(super) line: u32,
    /// In UTF-16 units, from 0.
    pub(super) character: u32,
}

/// What lies between two places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LspRange {
    /// Its first place.
    pub(super) start: Position,
    /// The place behind it.
    pub(super) end: Position,
}

/// A range of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Location {
    /// The file.
    pub(super) uri: String,
    /// The range.
    pub(super) range: LspRange,
}

/// A change of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TextEdit {
    /// What is replaced.
    pub(super) range: LspRange,
    /// By what.
    pub(super) new_text: String,
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LspDiagnostic {
    /// Where.
    pub(super) range: LspRange,
    /// 1 error, 2 warning, 3 information.
    pub(super) severity: u8,
    /// Its stable code.
    pub(super) code: &'static str,
    /// Who says so.
    pub(super) source: &'static str,
    /// What, why, and what to write instead.
    pub(super) message: String,
    /// Other places.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) related_information: Vec<RelatedInformation>,
}

/// Another place of a problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct RelatedInformation {
    /// Where.
    pub(super) location: Location,
    /// What is there.
    pub(super) message: String,
}

/// One thing that can be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CompletionItem {
    /// What is listed.
    pub(super) label: String,
    /// What it is, as the protocol's number.
    pub(super) kind: u8,
    /// A few words beside the label.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) detail: String,
    /// More of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) documentation: Option<MarkupContent>,
    /// How it sorts.
    pub(super) sort_text: String,
    /// What is written.
    pub(super) text_edit: TextEdit,
}

/// Text for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct MarkupContent {
    kind: &'static str,
    value: String,
}

impl MarkupContent {
    /// Returns Markdown.
    pub(super) fn markdown(value: String) -> Self {
        Self { kind: "markdown", value }
    }
}

/// `textDocument`, wherever it stands.
#[derive(Debug, Deserialize)]
pub(super) struct TextDocument {
    /// The file.
    pub(super) uri: String,
    /// Its text, where it is opened.
    #[serde(default)]
    pub(super) text: String,
}

/// A request about a place, or about a file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RequestParams {
    /// The file.
    pub(super) text_document: TextDocument,
    /// The place.
    pub(super) position: Option<Position>,
    /// The range.
    pub(super) range: Option<LspRange>,
    /// A rename's new name.
    #[serde(default)]
    pub(super) new_name: String,
    /// What of references is asked for.
    #[serde(default)]
    pub(super) context: ReferenceContext,
    /// A change's parts.
    #[serde(default)]
    pub(super) content_changes: Vec<ContentChange>,
}

/// What a request asks for besides.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReferenceContext {
    /// The declaration counts among its references.
    #[serde(default)]
    pub(super) include_declaration: bool,
}

/// A part of a text that changed; the whole text without a range.
#[derive(Debug, Deserialize)]
pub(super) struct ContentChange {
    /// What was replaced.
    pub(super) range: Option<LspRange>,
    /// By what.
    pub(super) text: String,
}
