//! `BASE_STYLE`: the style sheet with the colors that all HTML pages share. It is compiled into the program, so that a
//! page needs no other file.

/// The beginning of each HTML page's style sheet, as CSS without the `style` element. A page appends its own rules.
pub const BASE_STYLE: &str = include_str!("page.css");
