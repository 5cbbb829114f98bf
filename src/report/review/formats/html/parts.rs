//! Parts that all sections of a page use: escaped text, values, places and signs.

use maud::{Markup, html};

use crate::model::source::SourceLocation;
use crate::plan::model::change::Action;
use crate::report::review::view::PlanReview;
use crate::report::text::style::TextStyle;
use crate::report::text::{escape, phrases};

/// Returns untrusted text as one line, with control and invisible characters escaped; `html!` escapes the markup.
pub(super) fn escape_text(text: &str) -> String {
    escape::escape_line(text).into_owned()
}

/// Returns a value, escaped; one with several lines is collapsed.
pub(super) fn fold_value(value: &str) -> Markup {
    let lines: Vec<String> = value.trim_end_matches('\n').split('\n').map(escape_text).collect();
    html! {
        @if lines.len() > 1 {
            details { summary { (phrases::count_noun(lines.len(), "line")) } pre { (lines.join("\n")) } }
        } @else { (lines.join("")) }
    }
}

pub(super) fn location_markup(of: &PlanReview<'_>, place: Option<&SourceLocation>) -> Markup {
    html! { @if let Some(place) = place { code.place { (escape_text(&of.location_text(place))) } } }
}

pub(super) fn action_sign(action: Action) -> &'static str {
    phrases::sign_of_action(action, TextStyle::plain(80))
}
