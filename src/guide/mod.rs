//! The documentation: texts in CommonMark under `pages`, and reference pages that derive from tables. In: the texts, the
//! registry, and the pages that `cli` derives from its own tables. Out: a page as text for a terminal, all pages as the
//! files of a web site, and the results of a search. A page has one `PageContent`, so that each output says the same.
//!
//! Order: `document` → `markdown`, `explained`, `embedded` → `written` → `library` → `page_list`, `reference`, `terminal`,
//! `search` → `site`.

pub mod document;
pub mod embedded;
pub mod explained;
pub mod library;
pub mod markdown;
pub mod page_list;
pub mod reference;
pub mod search;
pub mod site;
pub mod terminal;
mod written;
