//! Drawings of a plan without a script: the dependencies between the changes as SVG, their schedule and cost as bars.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

use crate::plan::model::change::{Action, Plan};
use crate::plan::model::step::{Operation, Step};
use crate::report::text::phrases;

/// Number of nodes above which the dependency map is unreadable; the page then has a sentence instead.
const MAX_NODES: usize = 60;

/// Limit on the bars of a chart; the rest is counted.
const MAX_BARS: usize = 25;

const COLUMN_WIDTH: usize = 190;
const ROW_HEIGHT: usize = 30;
const BOX_SIZE: (usize, usize) = (170, 22);

/// How many characters of a name fit into a box.
const MAX_NAME_CHARS: usize = 26;

/// Draws the dependencies between changed and affected resources; nothing for a single one.
pub(super) fn dependency_map(plan: &Plan) -> Markup {
    let mut edges: BTreeSet<(&str, &str)> = BTreeSet::new();
    let mut nodes: BTreeSet<&str> = plan.changes.iter().map(|change| change.address.as_str()).collect();
    for change in &plan.changes {
        for hit in &change.hits {
            nodes.insert(hit.as_str());
            edges.insert((change.address.as_str(), hit.as_str()));
        }
    }
    // The deletion of a deposed object comes last: with a node of its own, each replacement
    // would be a dependency cycle.
    let stays = |step: &&Step| !matches!(step.operation, Operation::Delete { deposed: true, .. });
    for step in plan.steps.iter().filter(stays) {
        for before in step.after.iter().filter_map(|number| plan.steps.get(*number)).filter(stays) {
            if before.address != step.address {
                edges.insert((before.address.as_str(), step.address.as_str()));
            }
        }
    }
    edges.retain(|(from, to)| nodes.contains(from) && nodes.contains(to));
    html! {
        @if nodes.len() > MAX_NODES {
            figure { figcaption { "Map" } p.quiet { (nodes.len()) " resources are too many to draw." } }
        } @else if nodes.len() > 1 {
            figure { figcaption { "Map" } div.scroll { (draw_map(plan, &nodes, &edges)) } }
        }
    }
}

fn draw_map(plan: &Plan, nodes: &BTreeSet<&str>, edges: &BTreeSet<(&str, &str)>) -> Markup {
    let spots = assign_cells(nodes, edges);
    let columns = spots.values().map(|(column, _)| column + 1).max().unwrap_or(1);
    let rows = spots.values().map(|(_, row)| row + 1).max().unwrap_or(1);
    let (width, height) = (columns * COLUMN_WIDTH, rows * ROW_HEIGHT);
    let action =
        |name: &str| plan.changes.iter().find(|change| change.address.as_str() == name).map(|c| c.action);
    html! {
        svg.map viewBox=(format!("0 0 {width} {height}")) width=(width) height=(height) role="img" aria-label="Map of changes" {
            @for (from, to) in edges {
                @let (x1, y1) = spots.get(from).map_or((0, 0), |at| (at.0 * COLUMN_WIDTH + BOX_SIZE.0, at.1 * ROW_HEIGHT + BOX_SIZE.1 / 2));
                @let (x2, y2) = spots.get(to).map_or((0, 0), |at| (at.0 * COLUMN_WIDTH, at.1 * ROW_HEIGHT + BOX_SIZE.1 / 2));
                path data-from=(from) data-to=(to) d=(format!("M{x1} {y1} C{} {y1} {} {y2} {x2} {y2}", x1 + 20, x2.saturating_sub(20))) {}
            }
            @for (name, (column, row)) in &spots {
                a href=(format!("#{name}")) data-node=(name) class=(action(name).map_or("felt", action_class)) {
                    rect x=(column * COLUMN_WIDTH) y=(row * ROW_HEIGHT) width=(BOX_SIZE.0) height=(BOX_SIZE.1) rx="4" {}
                    text x=(column * COLUMN_WIDTH + 7) y=(row * ROW_HEIGHT + 15) { (shorten_name(name)) }
                    title { (name) }
                }
            }
        }
    }
}

const fn action_class(action: Action) -> &'static str {
    match action {
        Action::Replace | Action::Delete => "danger",
        Action::Create | Action::Adopt => "new",
        Action::Update | Action::Move | Action::Forget | Action::Read => "change",
    }
}

/// Assigns each node a column after those that it depends on, and a row within the column.
fn assign_cells<'a>(
    nodes: &BTreeSet<&'a str>,
    edges: &BTreeSet<(&'a str, &'a str)>,
) -> BTreeMap<&'a str, (usize, usize)> {
    let mut column: BTreeMap<&str, usize> = nodes.iter().map(|name| (*name, 0)).collect();
    // As many rounds as there are nodes are enough for each chain; after them a dependency cycle is left as it is.
    for _ in 0..nodes.len() {
        let mut moved = false;
        for (from, to) in edges {
            let least = column.get(from).map_or(0, |at| at + 1).min(nodes.len());
            if let Some(at) = column.get_mut(to)
                && *at < least
            {
                (*at, moved) = (least, true);
            }
        }
        if !moved {
            break;
        }
    }
    let used: BTreeSet<usize> = column.values().copied().collect();
    let place: BTreeMap<usize, usize> = used.into_iter().zip(0..).collect();
    let mut rows: BTreeMap<usize, usize> = BTreeMap::new();
    column
        .into_iter()
        .map(|(name, at)| {
            let at = place.get(&at).copied().unwrap_or_default();
            let row = rows.entry(at).or_default();
            *row += 1;
            (name, (at, *row - 1))
        })
        .collect()
}

fn shorten_name(name: &str) -> String {
    match name.char_indices().nth(MAX_NAME_CHARS) {
        Some((at, _)) => format!("{}…", &name[..at]),
        None => name.to_owned(),
    }
}

/// Draws the schedule of the steps if each takes its usual time, those of the critical path first; nothing if
/// no step takes time.
pub(super) fn time_chart(plan: &Plan) -> Markup {
    let mut ends: Vec<u64> = Vec::with_capacity(plan.steps.len());
    let mut bars: Vec<(u64, u64, usize)> = Vec::new();
    for (number, step) in plan.steps.iter().enumerate() {
        let start = step.after.iter().filter_map(|before| ends.get(*before)).max().copied().unwrap_or(0);
        let end = start + u64::from(step.seconds);
        ends.push(end);
        bars.push((start, end, number));
    }
    let all = ends.iter().max().copied().unwrap_or(0);
    let critical: BTreeSet<usize> = plan.critical_path.steps.iter().copied().collect();
    bars.sort_by_key(|(start, end, number)| (!critical.contains(number), *start, *end));
    let share = |seconds: u64| seconds * 100 / all.max(1);
    html! {
        @if all > 0 {
            figure {
                figcaption { "Time, about " (phrases::format_estimate(all)) }
                @for (start, end, number) in bars.iter().take(MAX_BARS) {
                    @if let Some(step) = plan.steps.get(*number) {
                        div.bar.critical[critical.contains(number)] {
                            span { (step.address) } em { (phrases::format_estimate(end - start)) }
                            i style=(format!("margin-left:{}%;width:{}%", share(*start), share(end - start).max(1))) {}
                        }
                    }
                }
                @if bars.len() > MAX_BARS { p.quiet { "and " (bars.len() - MAX_BARS) " more steps" } }
            }
        }
    }
}

/// Draws the effect of each change on the monthly bill in USD, the largest first.
pub(super) fn cost_chart(plan: &Plan) -> Markup {
    let delta = |at: usize| -> Decimal {
        let cost = plan.changes.get(at).map(|change| &change.cost);
        cost.map(|cost| cost.monthly_after.unwrap_or_default() - cost.monthly_before.unwrap_or_default())
            .unwrap_or_default()
    };
    let mut moved: Vec<(usize, Decimal)> =
        (0..plan.changes.len()).map(|at| (at, delta(at))).filter(|(_, delta)| !delta.is_zero()).collect();
    moved.sort_by_key(|(_, delta)| std::cmp::Reverse(delta.abs()));
    let largest = moved.first().map_or(Decimal::ONE, |(_, delta)| delta.abs());
    let share =
        |delta: Decimal| (delta.abs() * Decimal::ONE_HUNDRED / largest).to_u32().unwrap_or(0).max(1);
    let bill = &plan.cost;
    html! {
        figure {
            figcaption {
                "Cost, " (phrases::format_money(bill.monthly_before)) " → " (phrases::format_money(bill.monthly_after)) " a month"
            }
            @for (at, delta) in moved.iter().take(MAX_BARS) {
                @if let Some(change) = plan.changes.get(*at) {
                    div.bar.less[delta.is_sign_negative()] {
                        span { (change.address) } em { (phrases::money_change(*delta)) }
                        i style=(format!("width:{}%", share(*delta))) {}
                    }
                }
            }
            @if moved.len() > MAX_BARS { p.quiet { "and " (moved.len() - MAX_BARS) " more" } }
            @if let Some((amount, unknown)) = phrases::due_total(&bill.due) {
                p { "due now: " (amount) @if !unknown.is_empty() { " · " (unknown) } }
            }
            @if bill.unpriced > 0 { p.quiet { (phrases::count_noun(bill.unpriced, "resource")) " without a known price" } }
        }
    }
}
