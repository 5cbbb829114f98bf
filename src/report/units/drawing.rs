//! The layered drawing of a graph of units: a column for each wave, upstream units to the left of their readers. In: the
//! boxes and the edges between them. Out: an SVG element that loads nothing; a page adds its own style. The result is the
//! same in each run.

use maud::{Markup, html};

const COLUMN_WIDTH: usize = 230;
const ROW_HEIGHT: usize = 52;
const BOX_WIDTH: usize = 190;
const BOX_HEIGHT: usize = 40;
const MARGIN: usize = 4;

/// How many characters of a name fit into a box.
const MAX_NAME_CHARS: usize = 27;

/// Number of passes, in alternating directions, that reorder the columns so that fewer edges cross.
const SWEEPS: usize = 6;

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
    /// Whether the page has something at the identifier, so that the box is a link to it.
    pub is_link: bool,
}

/// Returns the SVG element of a graph; `edges` lead from upstream units to their readers, by the numbers of the boxes.
#[must_use]
pub fn draw_units(boxes: &[DrawnBox], edges: &[(usize, usize)], label: &str) -> Markup {
    let cells = assign_cells(boxes.len(), edges);
    let columns = cells.iter().map(|(column, _)| column + 1).max().unwrap_or(1);
    let rows = cells.iter().map(|(_, row)| row + 1).max().unwrap_or(1);
    let width = (columns - 1) * COLUMN_WIDTH + BOX_WIDTH + 2 * MARGIN;
    let height = (rows - 1) * ROW_HEIGHT + BOX_HEIGHT + 2 * MARGIN;
    let left = |number: usize| MARGIN + cells[number].0 * COLUMN_WIDTH;
    let top = |number: usize| MARGIN + cells[number].1 * ROW_HEIGHT;
    html! {
        svg.map.units xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {width} {height}"))
            width=(width) height=(height) role="group" aria-label=(label)
        {
            @for (above, reader) in edges {
                path data-from=(boxes[*above].id) data-to=(boxes[*reader].id)
                    d=(edge_path((left(*above), top(*above)), (left(*reader), top(*reader)))) {}
            }
            @for (number, one) in boxes.iter().enumerate() {
                @if one.is_link {
                    a href=(format!("#{}", one.id)) data-node=(one.id) class=(one.class) {
                        (box_markup(one, left(number), top(number)))
                    }
                } @else {
                    g data-node=(one.id) class=(one.class) { (box_markup(one, left(number), top(number))) }
                }
            }
        }
    }
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

fn edge_path((left, top): (usize, usize), (to_left, to_top): (usize, usize)) -> String {
    let (x1, y1) = (left + BOX_WIDTH, top + BOX_HEIGHT / 2);
    let (x2, y2) = (to_left, to_top + BOX_HEIGHT / 2);
    format!("M{x1} {y1} C{} {y1} {} {y2} {x2} {y2}", x1 + 24, x2.saturating_sub(24))
}

fn shorten(name: &str) -> String {
    match name.char_indices().nth(MAX_NAME_CHARS) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// Returns column and row of each box. The members of a cycle are in the first columns.
fn assign_cells(count: usize, edges: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let (mut upstream, mut readers) = (vec![Vec::new(); count], vec![Vec::new(); count]);
    for (above, reader) in edges {
        upstream[*reader].push(*above);
        readers[*above].push(*reader);
    }
    let mut columns = vec![0; count];
    let mut open: Vec<usize> = upstream.iter().map(Vec::len).collect();
    let mut ready: Vec<usize> = (0..count).filter(|number| open[*number] == 0).collect();
    while let Some(number) = ready.pop() {
        for reader in &readers[number] {
            columns[*reader] = columns[*reader].max(columns[number] + 1);
            open[*reader] -= 1;
            if open[*reader] == 0 {
                ready.push(*reader);
            }
        }
    }
    let last = columns.iter().max().copied().unwrap_or(0);
    let mut order: Vec<Vec<usize>> = vec![Vec::new(); last + 1];
    for (number, column) in columns.iter().enumerate() {
        order[*column].push(number);
    }
    let mut rows = vec![0; count];
    let place = |column: &[usize], rows: &mut Vec<usize>| {
        for (row, number) in column.iter().enumerate() {
            rows[*number] = row;
        }
    };
    for column in &order {
        place(column, &mut rows);
    }
    for sweep in 0..SWEEPS {
        let is_forward = sweep % 2 == 0;
        let side = if is_forward { &upstream } else { &readers };
        for step in 0..=last {
            let column = &mut order[if is_forward { step } else { last - step }];
            // Without a neighbor on this side, a box keeps its row.
            column.sort_by_key(|number| {
                let near = &side[*number];
                let sum: usize = near.iter().map(|other| rows[*other]).sum();
                (sum * 1000).checked_div(near.len()).unwrap_or(rows[*number] * 1000)
            });
            place(column, &mut rows);
        }
    }
    columns.into_iter().zip(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_box_has_a_cell_of_its_own_right_of_its_upstream_units() {
        let edges = [(0, 2), (1, 2), (2, 3), (0, 3), (5, 4), (4, 5)];
        let cells = assign_cells(7, &edges);
        let mut unique = cells.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), 7, "{cells:?}");
        for (above, reader) in &edges[..4] {
            assert!(cells[*above].0 < cells[*reader].0, "{cells:?}");
        }
        // Edges of equal columns do not cross where they need not.
        let cells = assign_cells(4, &[(0, 3), (1, 2)]);
        assert_eq!(cells[0].1 < cells[1].1, cells[3].1 < cells[2].1, "{cells:?}");
    }

    #[test]
    fn names_are_escaped_and_shortened() {
        let one = DrawnBox { id: "x".into(), name: "<b>\"&".repeat(9), ..DrawnBox::default() };
        let text = draw_units(&[one], &[], "Stacks").into_string();
        assert!(!text.contains("<b>") && text.contains("&lt;b&gt;") && text.contains('…'), "{text}");
    }
}
