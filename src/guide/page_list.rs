//! The document of `stead docs --output json`: the pages of a list or a search, or a page with its text.

use serde::Serialize;

use super::document::plain_text;
use super::library::Page;
use crate::report::json::{SCHEMA_VERSION, SchemaVersion, to_pretty};

/// The document of `stead docs --output json`: a page, or the pages of a list or a search.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DocsDocument {
    schema_version: SchemaVersion,
    /// The words that were searched; absent for a list or a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    query: Option<String>,
    /// The pages: one that was named, all, or the results of the search, best first.
    pages: Vec<PageEntry>,
}

/// A page in the document.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PageEntry {
    /// Address of the page, such as `how-to/test-a-stack`.
    address: String,
    /// Title of the page.
    title: String,
    /// What the page gives, in a sentence or two.
    summary: String,
    /// The page as plain text; only for a page that was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

impl PageEntry {
    /// Returns a page, with its `text` if it was named.
    #[must_use]
    pub fn new(page: &Page, text: Option<String>) -> Self {
        Self {
            address: page.address.clone(),
            title: page.content.title.clone(),
            summary: plain_text(&page.content.summary),
            text,
        }
    }
}

/// Returns the document of some pages; `query` has the words of a search.
#[must_use]
pub fn docs_document(query: Option<String>, pages: Vec<PageEntry>) -> String {
    to_pretty(&DocsDocument { schema_version: SCHEMA_VERSION, query, pages })
}
