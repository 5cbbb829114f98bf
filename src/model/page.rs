//! `BASE_STYLE`: the style sheet with the colors that all HTML pages share.

/// The shared beginning of each HTML page's style sheet.
pub const BASE_STYLE: &str = include_str!("page.css");
