//! The outputs that a plan changes: a line each, with the values before and after, and who reads it.

use crate::plan::model::change::Plan;
use crate::plan::model::output::{OutputAction, PlannedOutput};
use crate::report::text::output_line::OutputLine;
use crate::report::text::page::{self, TextLine, TextPage};
use crate::report::text::style::TextRole;

/// Limit on the width of the column of names; a longer name shifts its own line only.
const MAX_NAME_WIDTH: usize = 32;

/// Adds the outputs that change; nothing if none does.
pub(super) fn add_outputs(page: &mut TextPage, plan: &Plan, verbose: bool) {
    let outputs: Vec<&PlannedOutput> = plan.output_changes().collect();
    let Some(widest) = outputs.iter().map(|output| page::display_width(&output.name)).max() else { return };
    page.add_line(TextLine::indent(0).push_styled(TextRole::Strong, "OUTPUTS"));
    let column = 6 + widest.min(MAX_NAME_WIDTH);
    for output in outputs {
        let shown = OutputLine::new(output, verbose, page.style());
        let role = match output.action() {
            OutputAction::Remove => TextRole::Danger,
            OutputAction::Add => TextRole::Success,
            OutputAction::Change | OutputAction::Keep => TextRole::Change,
        };
        let line = TextLine::indent(2)
            .push_styled(role, shown.sign)
            .to_column(4)
            .push_styled(TextRole::Strong, shown.name)
            .to_column(column)
            .continue_at(column)
            .push_text(&shown.values);
        page.add_line(match output.source.as_ref().filter(|_| verbose) {
            Some(place) => line.at_end(TextRole::Faint, format!("{}:{}", place.file, place.line)),
            None => line,
        });
        if !shown.notes.is_empty() {
            page.add_line(TextLine::indent(6).push_styled(TextRole::Warning, &shown.notes).continue_at(6));
        }
    }
}
