//! Text output: pages, tables, line diffs, phrases, escaping and color.

pub mod counts;
pub mod escape;
pub mod junit_xml;
pub mod line_diff;
pub mod page;
pub mod phrases;
pub mod style;
pub mod table;
