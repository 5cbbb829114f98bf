//! The graph as an SVG image: boxes in columns, and lines from dependencies to dependents. Lengths are in pixels.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{DependencyGraph, DependencyNode};

/// Height of a row.
const ROW: f64 = 44.0;
/// Height of a box in a row.
const BOX: f64 = 32.0;
/// Gap between columns.
const GAP: f64 = 56.0;
/// Margin around the image.
const MARGIN: f64 = 16.0;
/// Width of a letter: the font is monospaced, so the text needs no measuring.
const LETTER: f64 = 7.3;
/// Padding on both sides of a name.
const PAD: f64 = 12.0;
/// Length of a name above which it is shortened.
const MAX_NAME_CHARS: usize = 44;
/// Hues in degrees that distinguish the kinds; they repeat after twelve kinds.
const HUES: [u16; 12] = [210, 140, 30, 280, 350, 180, 60, 310, 100, 240, 10, 160];

const STYLE: &str = "\
text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#1b1f24}\
rect{stroke-width:1.2}\
path{fill:none;stroke:#7d8590;stroke-width:1.2}\
.elsewhere rect{stroke-dasharray:4 3}\
svg{background:#fff}";

/// Returns the graph as an SVG document, without edges that a longer path implies. Names in it are escaped.
#[must_use]
pub fn render_svg(graph: &DependencyGraph) -> String {
    let layout = graph.layout();
    let count = layout.columns.iter().copied().max().map_or(0, |last| last + 1);
    let mut widths = vec![0.0_f64; count];
    for (node, column) in graph.nodes.iter().zip(&layout.columns) {
        widths[*column] = widths[*column].max(node_width(node));
    }
    let mut lefts = Vec::with_capacity(count);
    let mut right = MARGIN;
    for width in &widths {
        lefts.push(right);
        right += width + GAP;
    }
    let page = ((right - GAP).max(MARGIN) + MARGIN, layout.height * ROW + 2.0 * MARGIN);
    let mut out = String::new();
    _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0}\" height=\"{1:.0}\" viewBox=\"0 0 {0:.0} {1:.0}\" role=\"img\">",
        page.0, page.1
    );
    _ = writeln!(out, "<title>Dependencies</title><style>{STYLE}</style>");
    let middle = |row: f64| MARGIN + row * ROW + ROW / 2.0;
    let places = layout.columns.iter().zip(&layout.rows).map(|(column, row)| (*column, row.to_bits()));
    let boxes: BTreeMap<(usize, u64), f64> = places.zip(graph.nodes.iter().map(node_width)).collect();
    for line in layout.lines.iter().map(|line| &line.points) {
        let start = line.first().and_then(|(column, row)| boxes.get(&(*column, row.to_bits())));
        let edge = (start.copied().unwrap_or_default(), widths.as_slice());
        _ = writeln!(out, "<path d=\"{}\"/>", curve_path(line, &lefts, edge, middle));
    }
    let hues = assign_hues(graph);
    for ((node, column), row) in graph.nodes.iter().zip(&layout.columns).zip(&layout.rows) {
        let hue = node.kind.as_deref().and_then(|kind| hues.get(kind)).copied().unwrap_or(0);
        draw_node(&mut out, node, (lefts[*column], middle(*row)), hue);
    }
    out.push_str("</svg>\n");
    out
}

/// Returns a hue for each kind, by its position among the kinds of the graph.
fn assign_hues(graph: &DependencyGraph) -> BTreeMap<&str, u16> {
    let mut hues: BTreeMap<&str, u16> =
        graph.nodes.iter().filter_map(|node| Some((node.kind.as_deref()?, 0))).collect();
    for (hue, next) in hues.values_mut().zip(HUES.iter().cycle()) {
        *hue = *next;
    }
    hues
}

fn draw_node(out: &mut String, node: &DependencyNode, (left, middle): (f64, f64), hue: u16) {
    let class = if node.elsewhere { " class=\"elsewhere\"" } else { "" };
    let place = node.source.as_ref().map(|place| format!(" at {}:{}", place.file, place.line));
    let tip = format!("{}{}", node.address, place.unwrap_or_default());
    _ = writeln!(
        out,
        "<g{class}><title>{}</title><rect x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{BOX:.0}\" rx=\"6\" \
         fill=\"hsl({hue} 70% 95%)\" stroke=\"hsl({hue} 45% 50%)\"/><text x=\"{:.1}\" y=\"{:.1}\">{}</text></g>",
        escape_xml(&tip),
        middle - BOX / 2.0,
        node_width(node),
        left + PAD,
        middle + 4.0,
        escape_xml(&node_label(node)),
    );
}

/// Returns a curve through the points of a line. It is horizontal from the box where it starts to the end of
/// that column, where it reaches a box, and where it passes a column. `start` is the width of the first box.
fn curve_path(
    line: &[(usize, f64)],
    lefts: &[f64],
    (start, widths): (f64, &[f64]),
    middle: impl Fn(f64) -> f64,
) -> String {
    let mut path = String::new();
    for (step, pair) in line.windows(2).enumerate() {
        let ((from, above), (to, below)) = (pair[0], pair[1]);
        let (x, y) = (lefts[from] + widths[from], middle(above));
        let (end, below) = (lefts[to], middle(below));
        if step == 0 {
            _ = write!(path, "M{:.1} {y:.1}", lefts[from] + start);
        }
        _ = write!(path, " L{x:.1} {y:.1}");
        let bend = f64::midpoint(x, end);
        _ = write!(path, " C{bend:.1} {y:.1} {bend:.1} {below:.1} {end:.1} {below:.1}");
    }
    path
}

/// Returns the text of a box: the address; a long one is shortened in the middle.
fn node_label(node: &DependencyNode) -> String {
    let address = node.address.as_str();
    if address.len() <= MAX_NAME_CHARS {
        return address.to_owned();
    }
    // Addresses are ASCII, so byte offsets are character boundaries.
    let half = MAX_NAME_CHARS / 2;
    let (start, end) = (address.get(..half), address.get(address.len() - half + 1..));
    format!("{}…{}", start.unwrap_or_default(), end.unwrap_or_default())
}

fn node_width(node: &DependencyNode) -> f64 {
    let letters = u16::try_from(node_label(node).chars().count()).unwrap_or(u16::MAX);
    f64::from(letters) * LETTER + 2.0 * PAD
}

fn escape_xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
