//! `BASE_STYLE`: the colours, and the little besides, that all pages for browsers share.

/// The beginning of each page's style sheet.
pub const BASE_STYLE: &str = include_str!("page.css");
