//! The graph of a repository's units: a tree, a Mermaid flow chart, Graphviz source, or an SVG image. In: the rows of
//! `stacks`. A unit that is read but not listed is drawn as an outside one.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use maud::html;

use super::drawing::{DrawnBox, draw_boxes};
use super::list::UnitRow;
use crate::workspace::unit::UnitName;

/// Limit on the levels of a tree; deeper units are only marked, because their lines would be mostly blanks.
const MAX_DEPTH: usize = 60;

/// The listed units, followed by those that they read from outside of the list; with the upstream units of each.
struct DrawnUnits {
    names: Vec<String>,
    upstream: Vec<Vec<usize>>,
    /// Number of the listed units, which come first.
    listed: usize,
}

impl DrawnUnits {
    fn new(units: &[UnitRow]) -> Self {
        let name =
            |unit: &UnitRow| UnitName { stack: unit.stack.clone(), environment: unit.environment.clone() };
        let mut numbers: BTreeMap<UnitName, usize> =
            units.iter().enumerate().map(|(number, unit)| (name(unit), number)).collect();
        let mut names: Vec<String> = units.iter().map(|unit| name(unit).to_string()).collect();
        let mut upstream = Vec::with_capacity(units.len());
        for unit in units {
            let mut above = Vec::with_capacity(unit.upstream.len());
            for other in &unit.upstream {
                let number = *numbers.entry(other.clone()).or_insert_with(|| {
                    names.push(other.to_string());
                    names.len() - 1
                });
                above.push(number);
            }
            upstream.push(above);
        }
        upstream.resize(names.len(), Vec::new());
        Self { names, upstream, listed: units.len() }
    }

    /// Returns the units at which a tree begins: those that no other one reads, and one of each cycle that none of them leads
    /// to.
    fn tree_roots(&self) -> Vec<usize> {
        let mut is_read = vec![false; self.names.len()];
        for (above, _) in self.edges() {
            is_read[above] = true;
        }
        let mut roots = Vec::new();
        let mut is_reached = vec![false; self.names.len()];
        let all = 0..self.names.len();
        let unread = all.clone().filter(|number| !is_read[*number]);
        for root in unread.chain(all.clone().filter(|number| is_read[*number])) {
            if is_reached[root] {
                continue;
            }
            roots.push(root);
            let mut waiting = vec![root];
            while let Some(number) = waiting.pop() {
                if !std::mem::replace(&mut is_reached[number], true) {
                    waiting.extend(&self.upstream[number]);
                }
            }
        }
        roots
    }

    /// Returns the edges, each from an upstream unit to its reader.
    fn edges(&self) -> impl Iterator<Item = (usize, usize)> {
        let readers = self.upstream.iter().enumerate();
        readers.flat_map(|(reader, upstream)| upstream.iter().map(move |above| (*above, reader)))
    }
}

/// Returns a tree for each unit that no other one reads, and for each cycle, with its upstream units below it. A unit that was
/// printed before is marked and not expanded again.
#[must_use]
pub fn render_unit_tree(units: &[UnitRow], unicode: bool) -> String {
    let drawn = DrawnUnits::new(units);
    let [branch, last, bar, more] =
        if unicode { ["├─ ", "└─ ", "│  ", " …"] } else { ["|- ", "`- ", "|  ", " ..."] };
    let mut is_printed = vec![false; drawn.names.len()];
    let mut text = String::new();
    // (unit, level, prefix of its line, prefix of the lines of its upstream units)
    let roots = drawn.tree_roots().into_iter().rev();
    let mut waiting: Vec<(usize, usize, String, String)> =
        roots.map(|number| (number, 0, String::new(), String::new())).collect();
    while let Some((number, level, before, indent)) = waiting.pop() {
        let above = &drawn.upstream[number];
        let ends = is_printed[number] || level >= MAX_DEPTH;
        let mark = if ends && !above.is_empty() { more } else { "" };
        _ = writeln!(text, "{before}{}{mark}", drawn.names[number]);
        if ends {
            continue;
        }
        is_printed[number] = true;
        for (position, next) in above.iter().rev().enumerate() {
            let (sign, rest) = if position == 0 { (last, "   ") } else { (branch, bar) };
            waiting.push((*next, level + 1, format!("{indent}{sign}"), format!("{indent}{rest}")));
        }
    }
    text
}

/// Returns a Mermaid flow chart. Arrows lead from upstream units to their readers.
#[must_use]
pub fn render_unit_mermaid(units: &[UnitRow]) -> String {
    let drawn = DrawnUnits::new(units);
    let mut text = String::from("flowchart LR\n");
    for (number, name) in drawn.names.iter().enumerate() {
        let (open, close) = if number < drawn.listed { ("[", "]") } else { ("([", "])") };
        let name = name.replace('#', "#35;").replace('"', "#quot;").replace('<', "#lt;");
        _ = writeln!(text, "  n{number}{open}\"{name}\"{close}");
    }
    for (above, reader) in drawn.edges() {
        _ = writeln!(text, "  n{above} --> n{reader}");
    }
    text
}

/// Returns the graph in Graphviz's language. Arrows lead from upstream units to their readers.
#[must_use]
pub fn render_unit_dot(units: &[UnitRow]) -> String {
    let drawn = DrawnUnits::new(units);
    let quoted = |number: usize| {
        let name = drawn.names[number].replace('\\', "\\\\").replace('"', "\\\"");
        format!("\"{name}\"")
    };
    let mut text = String::from("digraph stacks {\n  rankdir=LR;\n  node [shape=box, style=rounded];\n");
    for number in 0..drawn.names.len() {
        let style = if number < drawn.listed { "" } else { " [style=dashed]" };
        _ = writeln!(text, "  {}{style};", quoted(number));
    }
    for (above, reader) in drawn.edges() {
        _ = writeln!(text, "  {} -> {};", quoted(above), quoted(reader));
    }
    text.push_str("}\n");
    text
}

/// Style of the image, in light and dark mode.
const SVG_STYLE: &str = "text{font:11px ui-monospace,Menlo,Consolas,monospace;fill:#1b1f24}.map path{fill:none;stroke:#7d8590}rect{fill:#fff;stroke:#57606a}.outside rect{stroke-dasharray:4 3}svg{background:#fff}@media(prefers-color-scheme:dark){text{fill:#e6edf3}rect{fill:#161b22;stroke:#8b949e}svg{background:#0d1117}}";

/// Returns the graph as an SVG document: a column for each wave, upstream units to the left of their readers.
#[must_use]
pub fn render_unit_svg(units: &[UnitRow]) -> String {
    let drawn = DrawnUnits::new(units);
    let boxes: Vec<DrawnBox> = drawn
        .names
        .iter()
        .enumerate()
        .map(|(number, name)| DrawnBox {
            id: format!("unit-{number}"),
            name: name.clone(),
            detail: match units.get(number).and_then(|unit| unit.changed) {
                Some(true) => "changed".to_owned(),
                _ => String::new(),
            },
            class: if number < drawn.listed { "unit" } else { "outside" },
            link: None,
        })
        .collect();
    let edges: Vec<(usize, usize)> = drawn.edges().collect();
    let image = draw_boxes(&boxes, &edges, "Stacks").into_string();
    let style = html! { style { (SVG_STYLE) } }.into_string();
    // The style is the first child: a drawing in a page takes that of the page.
    let (open, rest) = image.split_once('>').unwrap_or((&image, ""));
    format!("{open}>{style}{rest}\n")
}
