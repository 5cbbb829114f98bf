//! A layered graph layout (after Sugiyama): dependencies are to the left of their dependents, each node one column
//! after its last dependency; the order within a column keeps the number of crossings low. The result is the same in
//! each run, so a committed image changes only with the stack.

use super::reduce::needed_edges;
use super::{DependencyGraph, TraversalDirection};

/// Number of passes, in alternating directions, that reorder the columns.
const SWEEPS: usize = 12;
/// Height of a bend, in rows.
const BEND: f64 = 0.3;
/// Limit on the bends of edges that span several columns; above it, such edges are straight and may cross boxes.
const MAX_BENDS: usize = 200_000;

/// The position of each node and edge, in columns and rows.
pub(super) struct GraphLayout {
    /// The column of each node.
    pub(super) columns: Vec<usize>,
    /// The row of each node; two nodes in a column are at least one row apart.
    pub(super) rows: Vec<f64>,
    /// The edges that no longer path implies: the points where each one begins, bends and ends, from left to
    /// right, as `(column, row)`.
    pub(super) lines: Vec<Vec<(usize, f64)>>,
    /// Height of the layout, in rows.
    pub(super) height: f64,
}

/// Nodes and bends as one graph, in which each edge leads to the next column.
struct LayeredGraph {
    columns: Vec<usize>,
    left: Vec<Vec<usize>>,
    right: Vec<Vec<usize>>,
}

impl LayeredGraph {
    fn add(&mut self, column: usize) -> usize {
        self.columns.push(column);
        self.left.push(Vec::new());
        self.right.push(Vec::new());
        self.columns.len() - 1
    }

    fn connect(&mut self, left: usize, right: usize) {
        self.right[left].push(right);
        self.left[right].push(left);
    }
}

/// Computes the layout of an acyclic graph; the nodes of a cycle would all be in the first column.
pub(super) fn lay_out(graph: &DependencyGraph) -> GraphLayout {
    let edges = needed_edges(graph);
    let columns = assign_columns(graph);
    let mut points = LayeredGraph { columns: Vec::new(), left: Vec::new(), right: Vec::new() };
    for column in &columns {
        points.add(*column);
    }
    let spans = edges.iter().map(|n| columns[graph.edges[*n].from] - columns[graph.edges[*n].to]);
    let bends = spans.sum::<usize>() <= MAX_BENDS;
    let mut ways = Vec::with_capacity(edges.len());
    for edge in edges.iter().map(|n| &graph.edges[*n]) {
        let mut way = vec![edge.to];
        if bends {
            for column in columns[edge.to] + 1..columns[edge.from] {
                let bend = points.add(column);
                points.connect(way[way.len() - 1], bend);
                way.push(bend);
            }
        }
        points.connect(way[way.len() - 1], edge.from);
        way.push(edge.from);
        ways.push(way);
    }
    let rows = assign_rows(&points, graph.nodes.len());
    let height = rows.iter().copied().fold(0.0, f64::max) + 1.0;
    let line = |way: Vec<usize>| way.into_iter().map(|n| (points.columns[n], rows[n])).collect();
    let lines = ways.into_iter().map(line).collect();
    GraphLayout { rows: rows[..graph.nodes.len()].to_vec(), columns, lines, height }
}

/// Returns the column of each node: one more than the highest column of its dependencies.
fn assign_columns(graph: &DependencyGraph) -> Vec<usize> {
    let needs = graph.adjacent_nodes(TraversalDirection::Dependencies);
    let needed_by = graph.adjacent_nodes(TraversalDirection::Dependents);
    let mut columns = vec![0; graph.nodes.len()];
    let mut open: Vec<usize> = needs.iter().map(Vec::len).collect();
    let mut ready: Vec<usize> = (0..open.len()).filter(|n| open[*n] == 0).collect();
    while let Some(n) = ready.pop() {
        for next in &needed_by[n] {
            columns[*next] = columns[*next].max(columns[n] + 1);
            open[*next] -= 1;
            if open[*next] == 0 {
                ready.push(*next);
            }
        }
    }
    columns
}

/// Returns the row of each point, the topmost at 0; the nodes are first, followed by the bends.
fn assign_rows(points: &LayeredGraph, nodes: usize) -> Vec<f64> {
    let last = points.columns.iter().copied().max().unwrap_or(0);
    let mut order: Vec<Vec<usize>> = vec![Vec::new(); last + 1];
    for (n, column) in points.columns.iter().enumerate() {
        order[*column].push(n);
    }
    let mut rows = vec![0.0; points.columns.len()];
    for column in &order {
        for (row, n) in column.iter().enumerate() {
            rows[*n] = as_row(row);
        }
    }
    for sweep in 0..SWEEPS {
        let forward = sweep % 2 == 0;
        let side = if forward { &points.left } else { &points.right };
        for step in 0..=last {
            let column = &mut order[if forward { step } else { last - step }];
            let wanted = |n: usize, rows: &[f64]| mean_row(&side[n], rows).unwrap_or(rows[n]);
            column.sort_by(|a, b| wanted(*a, &rows).total_cmp(&wanted(*b, &rows)));
            let size = |n: usize| if n < nodes { 1.0 } else { BEND };
            let places: Vec<(f64, f64)> = column.iter().map(|n| (wanted(*n, &rows), size(*n))).collect();
            for (n, row) in column.iter().zip(spread_apart(&places)) {
                rows[*n] = row;
            }
        }
    }
    let top = rows.iter().copied().fold(f64::INFINITY, f64::min);
    rows.iter().map(|row| row - top).collect()
}

/// Returns the mean row of some points; `None` if there are none.
fn mean_row(points: &[usize], rows: &[f64]) -> Option<f64> {
    (!points.is_empty()).then(|| points.iter().map(|n| rows[*n]).sum::<f64>() / as_row(points.len()))
}

#[expect(clippy::cast_precision_loss, reason = "a picture has far fewer rows than a float has digits")]
fn as_row(count: usize) -> f64 {
    count as f64
}

/// Returns positions as close as possible to the wanted ones, in the same order and with enough room for the
/// size of each. Neighbors that are too close are placed together, as a block around the
/// mean of their wanted positions.
fn spread_apart(wanted: &[(f64, f64)]) -> Vec<f64> {
    // After subtracting the room of its predecessors, a position may equal the one before it,
    // but must not be smaller.
    let mut room = 0.0;
    let mut last = None;
    let mut offsets = Vec::with_capacity(wanted.len());
    for (_, size) in wanted {
        room += last.map_or(0.0, |last: f64| f64::midpoint(last, *size));
        last = Some(*size);
        offsets.push(room);
    }
    // (sum of the wanted positions, number of points)
    let mut blocks: Vec<(f64, usize)> = Vec::with_capacity(wanted.len());
    for ((row, _), offset) in wanted.iter().zip(&offsets) {
        let mut block = (row - offset, 1);
        let before = |known: &mut (f64, usize), block: (f64, usize)| {
            known.0 / as_row(known.1) > block.0 / as_row(block.1)
        };
        while let Some((sum, count)) = blocks.pop_if(|known| before(known, block)) {
            block = (block.0 + sum, block.1 + count);
        }
        blocks.push(block);
    }
    let starts = blocks.iter().flat_map(|(sum, count)| std::iter::repeat_n(sum / as_row(*count), *count));
    starts.zip(offsets).map(|(start, offset)| start + offset).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nodes_with_one_desired_position_are_centered_on_it() {
        assert_eq!(spread_apart(&[(1.0, 1.0), (1.0, 1.0), (1.0, 1.0)]), [0.0, 1.0, 2.0]);
        assert_eq!(spread_apart(&[(0.0, 1.0), (5.0, 1.0)]), [0.0, 5.0]);
        assert_eq!(spread_apart(&[]), Vec::<f64>::new());
    }

    proptest! {
        #[test]
        fn positions_do_not_overlap(mut wanted in prop::collection::vec((0.0..50.0f64, 0.1..1.0f64), 0..40)) {
            wanted.sort_by(|a, b| a.0.total_cmp(&b.0));
            let places = spread_apart(&wanted);
            prop_assert_eq!(places.len(), wanted.len());
            for (pair, sizes) in places.windows(2).zip(wanted.windows(2)) {
                let room = f64::midpoint(sizes[0].1, sizes[1].1);
                prop_assert!(pair[1] - pair[0] >= room - 1e-9, "{:?}", places);
            }
        }
    }
}
