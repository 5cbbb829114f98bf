//! The plan as a picture: the text of a terminal with its colors, as SVG. In: the plan. Out: one SVG document, which
//! loads nothing and whose text can be selected.

use anstyle_svg::{Term, WIN10_CONSOLE};

use crate::report::review::view::PlanReview;
use crate::report::terminal::{PlanContext, plan_page};
use crate::report::text::style::TextStyle;

/// Width of the picture, in columns of text.
const COLUMNS: usize = 100;

/// Returns the plan as a picture.
pub(super) fn plan_picture(of: &PlanReview<'_>) -> String {
    let style = TextStyle { colour: true, ..TextStyle::plain(COLUMNS) };
    let text = plan_page(of.plan, &PlanContext::default(), false, style);
    let picture = Term::new().palette(WIN10_CONSOLE).render_svg(&text);
    // Faint text is readable on the dark background at this opacity: a contrast of 5 to 1.
    picture.replace(".dimmed { opacity: 0.4; }", ".dimmed { opacity: 0.75; }")
}
