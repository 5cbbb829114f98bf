//! Text output: pages, tables, line diffs, phrases, escaping and color. It knows no terminal: the caller
//! passes in a `TextStyle`.

pub mod counts;
pub mod difference_line;
pub mod escape;
pub mod junit_xml;
pub mod line_diff;
pub(super) mod named_ids;
pub(super) mod notes;
pub mod output_line;
pub mod page;
pub mod phrases;
pub(super) mod policy_results;
pub mod style;
pub mod table;
