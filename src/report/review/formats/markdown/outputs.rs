//! The table of the outputs that a plan changes.

use super::escaping::{escape_prose, inline_code};
use super::page::MarkdownPage;
use crate::report::review::view::PlanReview;
use crate::report::text::phrases;
use crate::report::text::style::TextStyle;

/// Length limit in characters of the values of an output.
const MAX_VALUE_CHARS: usize = 120;

/// Size limit of the table, in bytes.
const MAX_OUTPUTS_BYTES: usize = 8_000;

/// Adds a table of the outputs that change, as many as there is room for, and a count of the rest.
pub(super) fn add_outputs(page: &mut MarkdownPage, of: &PlanReview<'_>) {
    let outputs = of.output_lines(false);
    let start = page.text.len();
    if outputs.is_empty() || !page.add_if_fits("| | output | value | |\n|---|---|---|---|\n") {
        return;
    }
    let mut shown = 0;
    for line in &outputs {
        let values = phrases::shorten_text(line.values.clone(), MAX_VALUE_CHARS, TextStyle::plain(80));
        let (name, notes) = (inline_code(line.name), escape_prose(&line.notes));
        let row = format!("| {} | {name} | {} | {notes} |\n", line.sign.trim(), inline_code(&values));
        if page.text.len() + row.len() > start + MAX_OUTPUTS_BYTES || !page.add_if_fits(&row) {
            break;
        }
        shown += 1;
    }
    if shown < outputs.len() {
        let rest = phrases::count_noun(outputs.len() - shown, "output");
        page.add_if_fits(&format!("| … | **{rest} more** | the report `json` has them | |\n"));
    }
    page.add_if_fits("\n");
}
