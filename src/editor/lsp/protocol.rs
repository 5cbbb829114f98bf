//! The messages of the Language Server Protocol 3.17, as far as the server uses them. Names and shapes are the
//! protocol's; unknown fields are ignored.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A message from the editor.
#[derive(Debug, Deserialize)]
pub(super) struct IncomingMessage {
    /// Request id; `None` in notifications.
    pub(super) id: Option<Value>,
    /// Method name; `None` in responses to the server's own requests.
    pub(super) method: Option<String>,
    /// Parameters of the method.
    #[serde(default)]
    pub(super) params: Value,
}

/// A position between two characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Position {
    /// Line number, from 0.
    pub(super) line: u32,
    /// Offset in UTF-16 code units, from 0.
    pub(super) character: u32,
}

/// The text between two positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LspRange {
    /// Position of the first character.
    pub(super) start: Position,
    /// Position after the last character.
    pub(super) end: Position,
}

/// A range in a file, given by its URI.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Location {
    pub(super) uri: String,
    pub(super) range: LspRange,
}

/// A replacement in a document; an insertion has an empty range.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TextEdit {
    /// Range of the text to replace.
    pub(super) range: LspRange,
    /// Text that replaces the range.
    pub(super) new_text: String,
}

/// A diagnostic in the form of the protocol.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LspDiagnostic {
    pub(super) range: LspRange,
    /// Severity: 1 error, 2 warning, 3 information.
    pub(super) severity: u8,
    /// Stable code of the diagnostic, such as `S0117`.
    pub(super) code: &'static str,
    /// Name of the tool that reports the diagnostic.
    pub(super) source: &'static str,
    /// What is wrong, why, and what to write instead.
    pub(super) message: String,
    /// Other locations that belong to the problem; empty if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) related_information: Vec<RelatedInformation>,
}

/// A related location of a diagnostic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct RelatedInformation {
    pub(super) location: Location,
    /// What is at the location.
    pub(super) message: String,
}

/// One suggestion in the editor's completion list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CompletionItem {
    /// Text in the list.
    pub(super) label: String,
    /// Kind of the item, as the protocol's number.
    pub(super) kind: u8,
    /// A short description beside the label.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) detail: String,
    /// A longer description than `detail`, as Markdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) documentation: Option<MarkupContent>,
    /// Key by which the editor sorts the items.
    pub(super) sort_text: String,
    /// Edit to apply when the user accepts the item.
    pub(super) text_edit: TextEdit,
}

/// Text and its format, such as `markdown`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct MarkupContent {
    kind: &'static str,
    value: String,
}

impl MarkupContent {
    /// Returns content in the format Markdown.
    pub(super) fn markdown(value: String) -> Self {
        Self { kind: "markdown", value }
    }
}

/// The parameter `textDocument` of any method.
#[derive(Debug, Deserialize)]
pub(super) struct TextDocument {
    pub(super) uri: String,
    /// Content in notifications that open a document, else empty.
    #[serde(default)]
    pub(super) text: String,
}

/// Parameters of requests about a position, a range or a file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RequestParams {
    pub(super) text_document: TextDocument,
    pub(super) position: Option<Position>,
    pub(super) range: Option<LspRange>,
    /// The new name in a rename request, else empty.
    #[serde(default)]
    pub(super) new_name: String,
    /// Options of a references request.
    #[serde(default)]
    pub(super) context: ReferenceContext,
    /// Changed parts in a change notification, in the order in which to apply them.
    #[serde(default)]
    pub(super) content_changes: Vec<ContentChange>,
}

/// Options of a request.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReferenceContext {
    /// Whether to include the declaration in the references.
    #[serde(default)]
    pub(super) include_declaration: bool,
}

/// A changed part of a text; without a range, the whole text.
#[derive(Debug, Deserialize)]
pub(super) struct ContentChange {
    /// Range to replace; `None` for the whole document.
    pub(super) range: Option<LspRange>,
    /// Text that replaces the range.
    pub(super) text: String,
}
