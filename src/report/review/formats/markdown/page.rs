//! The comment under construction, and the parts that all of its sections use.

use super::escaping::inline_code;
use crate::model::source::SourceLocation;
use crate::report::review::view::PlanReview;

/// Length limit in characters of a value in the table or in a sentence.
pub(super) const MAX_VALUE_CHARS: usize = 60;

/// Length limit in characters of a value in a diff.
pub(super) const MAX_DIFF_CHARS: usize = 2_000;

/// The report under construction; `room` is its limit in bytes without the last line.
pub(super) struct MarkdownPage {
    pub(super) text: String,
    pub(super) room: usize,
}

impl MarkdownPage {
    /// Adds a piece of text completely; returns `false` and adds nothing if there is not enough room.
    pub(super) fn add_if_fits(&mut self, piece: &str) -> bool {
        let fits = self.text.len() + piece.len() <= self.room;
        if fits {
            self.text.push_str(piece);
        }
        fits
    }
}

/// Returns a location with a blank before it; empty if there is none.
pub(super) fn location_suffix(of: &PlanReview<'_>, place: Option<&SourceLocation>) -> String {
    place.map(|place| format!(" {}", inline_code(&of.location_text(place)))).unwrap_or_default()
}

pub(super) fn push_if_fits(text: &mut String, line: &str) -> bool {
    text.push_str(line);
    true
}
