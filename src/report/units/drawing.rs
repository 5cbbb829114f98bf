//! The layered drawing of a graph, of units or of changes: what is done first is to the left. In: the boxes and the edges
//! between them. Out: an SVG element that loads nothing; a page adds its own style. The result is the
//! same in each run.

use std::fmt::Write as _;

use maud::{Markup, html};

use crate::model::graph::layout::lay_out;

const COLUMN_WIDTH: usize = 230;
const ROW_HEIGHT: f64 = 52.0;
const BOX_WIDTH: usize = 190;
const BOX_HEIGHT: usize = 40;
const MARGIN: usize = 4;

/// How many characters of a name fit into a box.
const MAX_NAME_CHARS: usize = 27;

/// A box of the drawing.
#[derive(Debug, Clone, Default)]
pub struct DrawnBox {
    /// Identifier in the page, which edges and scripts refer to.
    pub id: String,
    /// First line.
    pub name: String,
    /// Second line; empty for none.
    pub detail: String,
    /// Class for the style.
    pub class: &'static str,
    /// Identifier of what the box is a link to; `None` for no link.
    pub link: Option<String>,
}

/// Returns the SVG element of a graph; each edge is `(before, after)`, by the numbers of the boxes. An edge that a longer
/// path implies is not drawn.
#[must_use]
pub fn draw_boxes(boxes: &[DrawnBox], edges: &[(usize, usize)], label: &str) -> Markup {
    let layout = lay_out(boxes.len(), edges);
    let columns = layout.columns.iter().map(|column| column + 1).max().unwrap_or(1);
    let width = (columns - 1) * COLUMN_WIDTH + BOX_WIDTH + 2 * MARGIN;
    let height = top(layout.height - 1.0) + BOX_HEIGHT + MARGIN;
    html! {
        svg.map xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {width} {height}"))
            width=(width) height=(height) role="group" aria-label=(label)
        {
            @for line in &layout.lines {
                @let (before, after) = edges[line.edge];
                path data-from=(boxes[before].id) data-to=(boxes[after].id) d=(edge_path(&line.points)) {}
            }
            @for ((one, column), row) in boxes.iter().zip(&layout.columns).zip(&layout.rows) {
                @if let Some(link) = &one.link {
                    a href=(format!("#{link}")) data-node=(one.id) class=(one.class) {
                        (box_markup(one, left(*column), top(*row)))
                    }
                } @else {
                    g data-node=(one.id) class=(one.class) { (box_markup(one, left(*column), top(*row))) }
                }
            }
        }
    }
}

const fn left(column: usize) -> usize {
    MARGIN + column * COLUMN_WIDTH
}

/// Returns the upper edge of a box, in pixels.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rows are neither negative nor many"
)]
fn top(row: f64) -> usize {
    MARGIN + (row.max(0.0) * ROW_HEIGHT).round() as usize
}

fn box_markup(one: &DrawnBox, left: usize, top: usize) -> Markup {
    html! {
        title { (one.name) @if !one.detail.is_empty() { ": " (one.detail) } }
        rect x=(left) y=(top) width=(BOX_WIDTH) height=(BOX_HEIGHT) rx="5" {}
        @if one.detail.is_empty() {
            text x=(left + 8) y=(top + 24) { (shorten(&one.name)) }
        } @else {
            text x=(left + 8) y=(top + 16) { (shorten(&one.name)) }
            text.detail x=(left + 8) y=(top + 32) { (shorten(&one.detail)) }
        }
    }
}

/// Returns a curve through the points of a line: horizontal across each column that it passes.
fn edge_path(points: &[(usize, f64)]) -> String {
    let mut path = String::new();
    for (number, pair) in points.windows(2).enumerate() {
        let ((column, row), (next, next_row)) = (pair[0], pair[1]);
        let (x1, y1) = (left(column) + BOX_WIDTH, top(row) + BOX_HEIGHT / 2);
        let (x2, y2) = (left(next), top(next_row) + BOX_HEIGHT / 2);
        let lead = if number == 0 { 'M' } else { 'L' };
        let _ = write!(path, "{lead}{x1} {y1} C{} {y1} {} {y2} {x2} {y2} ", x1 + 24, x2.saturating_sub(24));
    }
    path.truncate(path.trim_end().len());
    path
}

fn shorten(name: &str) -> String {
    match name.char_indices().nth(MAX_NAME_CHARS) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_and_shortened() {
        let one = DrawnBox { id: "x".into(), name: "<b>\"&".repeat(9), ..DrawnBox::default() };
        let text = draw_boxes(&[one], &[], "Stacks").into_string();
        assert!(!text.contains("<b>") && text.contains("&lt;b&gt;") && text.contains('…'), "{text}");
    }

    #[test]
    fn a_long_edge_bends_around_the_boxes_between_its_ends() {
        let boxes = vec![DrawnBox::default(); 4];
        let text = draw_boxes(&boxes, &[(0, 1), (1, 2), (3, 2)], "Steps").into_string();
        // The node 3 is in the first column, its edge passes the second one.
        assert_eq!(text.matches("<path").count(), 3, "{text}");
        assert_eq!(text.matches(" C").count(), 4, "{text}");
    }
}
