//! A layered graph layout (after Sugiyama): upstream nodes are to the left, each node one column after the last one that it
//! follows; the order within a column keeps the number of crossings low. In: the number of nodes, and edges between their
//! numbers. Out: a column and a row for each node, and the lines to draw. The result is the same in each run, so a
//! committed image changes only with the graph.

/// Number of passes, in alternating directions, that reorder the columns.
const SWEEPS: usize = 12;
/// Height of a bend, in rows.
const BEND: f64 = 0.3;
/// Limit on the bends of edges that span several columns; above it, such edges are straight and may cross boxes.
const MAX_BENDS: usize = 200_000;

/// Limit on the search effort for longer paths (nodes times edges); a larger graph is drawn with all edges.
const MAX_STEPS: usize = 20_000_000;

/// The position of each node and edge, in columns and rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GraphLayout {
    /// The column of each node.
    pub columns: Vec<usize>,
    /// The row of each node; two nodes in a column are at least one row apart.
    pub rows: Vec<f64>,
    /// The edges to draw: those that no longer path implies, without those that would close a cycle.
    pub lines: Vec<GraphLine>,
    /// Height of the layout, in rows.
    pub height: f64,
}

/// The line of an edge.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphLine {
    /// The number of the edge.
    pub edge: usize,
    /// The points where it begins, bends and ends, from left to right, as `(column, row)`.
    pub points: Vec<(usize, f64)>,
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

/// Computes the layout of a graph. Each edge is `(before, after)`, and `before` is to the left; in a cycle, one edge is left
/// out.
#[must_use]
pub fn lay_out(count: usize, edges: &[(usize, usize)]) -> GraphLayout {
    let columns = assign_columns(count, edges);
    let forward: Vec<usize> =
        (0..edges.len()).filter(|edge| columns[edges[*edge].0] < columns[edges[*edge].1]).collect();
    let kept = needed_edges(count, edges, &forward);
    let mut points = LayeredGraph { columns: Vec::new(), left: Vec::new(), right: Vec::new() };
    for column in &columns {
        points.add(*column);
    }
    let spans = kept.iter().map(|edge| columns[edges[*edge].1] - columns[edges[*edge].0]);
    let bends = spans.sum::<usize>() <= MAX_BENDS;
    let mut ways = Vec::with_capacity(kept.len());
    for edge in kept {
        let (before, after) = edges[edge];
        let mut way = vec![before];
        if bends {
            for column in columns[before] + 1..columns[after] {
                let bend = points.add(column);
                points.connect(way[way.len() - 1], bend);
                way.push(bend);
            }
        }
        points.connect(way[way.len() - 1], after);
        way.push(after);
        ways.push((edge, way));
    }
    let rows = assign_rows(&points, count);
    let height = rows.iter().copied().fold(0.0, f64::max) + 1.0;
    let line = |(edge, way): (usize, Vec<usize>)| GraphLine {
        edge,
        points: way.into_iter().map(|point| (points.columns[point], rows[point])).collect(),
    };
    let lines = ways.into_iter().map(line).collect();
    GraphLayout { rows: rows[..count].to_vec(), columns, lines, height }
}

/// Returns the column of each node: one more than the highest column of those before it. In a cycle, the node with the
/// lowest number comes first.
fn assign_columns(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut after = vec![Vec::new(); count];
    let mut open = vec![0_usize; count];
    for (before, next) in edges {
        after[*before].push(*next);
        open[*next] += 1;
    }
    let mut columns = vec![0; count];
    let mut is_done = vec![false; count];
    let mut ready: Vec<usize> = (0..count).filter(|node| open[*node] == 0).collect();
    let mut unplaced = 0..count;
    loop {
        while let Some(node) = ready.pop() {
            is_done[node] = true;
            for next in &after[node] {
                if is_done[*next] {
                    continue;
                }
                columns[*next] = columns[*next].max(columns[node] + 1);
                open[*next] -= 1;
                if open[*next] == 0 {
                    ready.push(*next);
                }
            }
        }
        let Some(first) = unplaced.by_ref().find(|node| !is_done[*node]) else { return columns };
        ready.push(first);
    }
}

/// Returns the edges among some that no longer path of them implies, in their order. They must form no cycle.
fn needed_edges(count: usize, edges: &[(usize, usize)], among: &[usize]) -> Vec<usize> {
    if count.saturating_mul(among.len()) > MAX_STEPS {
        return among.to_vec();
    }
    let mut before = vec![Vec::new(); count];
    for edge in among {
        before[edges[*edge].1].push(edges[*edge].0);
    }
    let mut by_end: Vec<Vec<usize>> = vec![Vec::new(); count];
    for edge in among {
        by_end[edges[*edge].1].push(*edge);
    }
    let mut seen = vec![usize::MAX; count];
    let mut kept = Vec::new();
    for (end, incoming) in by_end.iter().enumerate() {
        let mut waiting: Vec<usize> = before[end].iter().flat_map(|node| &before[*node]).copied().collect();
        while let Some(node) = waiting.pop() {
            if seen[node] != end {
                seen[node] = end;
                waiting.extend(&before[node]);
            }
        }
        // Of equal edges the first is drawn.
        for edge in incoming {
            let start = edges[*edge].0;
            if seen[start] != end {
                seen[start] = end;
                kept.push(*edge);
            }
        }
    }
    kept.sort_unstable();
    kept
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
    fn every_node_has_a_cell_of_its_own_right_of_what_it_follows() {
        let edges = [(0, 2), (1, 2), (2, 3), (0, 3), (5, 4), (4, 5)];
        let layout = lay_out(7, &edges);
        let cells: Vec<(usize, f64)> =
            layout.columns.iter().copied().zip(layout.rows.iter().copied()).collect();
        for (number, cell) in cells.iter().enumerate() {
            for other in &cells[number + 1..] {
                assert!(cell.0 != other.0 || (cell.1 - other.1).abs() >= 0.999, "{cells:?}");
            }
        }
        for (before, after) in &edges[..4] {
            assert!(cells[*before].0 < cells[*after].0, "{cells:?}");
        }
        // The longer path implies one edge, and one of the cycle is left out.
        let drawn: Vec<usize> = layout.lines.iter().map(|line| line.edge).collect();
        assert_eq!(drawn, [0, 1, 2, 5]);
        for line in &layout.lines {
            assert!(line.points.windows(2).all(|pair| pair[0].0 < pair[1].0), "{line:?}");
        }
        // Edges of equal columns do not cross where they need not.
        let rows = lay_out(4, &[(0, 3), (1, 2)]).rows;
        assert_eq!(rows[0] < rows[1], rows[3] < rows[2], "{rows:?}");
    }

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
