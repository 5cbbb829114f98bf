//! `LOOKS`: the colours, and the little besides, that all pages for browsers share.

/// The beginning of each page's style sheet.
pub const LOOKS: &str = include_str!("page.css");
