//! Drawings of a plan without a script: the dependencies between the changes as SVG, their schedule and cost as bars.

use std::collections::BTreeSet;

use foldhash::{HashMap, HashMapExt};
use maud::{Markup, html};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

use crate::model::address::Address;
use crate::model::schema::format_money;
use crate::plan::model::change::{Action, Change, Plan};
use crate::report::groups::PlanEntry;
use crate::report::review::view::{self, PlanReview};
use crate::report::text::phrases;
use crate::report::units::drawing::{DrawnBox, draw_boxes};

/// Number of boxes above which the map is unreadable; the page then has a sentence instead.
const MAX_NODES: usize = 60;

/// Limit on the bars of a chart; the rest is counted.
const MAX_BARS: usize = 25;

/// Draws the order of the steps, a box for each entry of the plan and operation, and the resources that the changes
/// affect; nothing for a single box.
pub(super) fn dependency_map(plan: &Plan, entries: &[PlanEntry<'_>], prefix: &str) -> Markup {
    let map = ChangeMap::new(plan, entries, prefix);
    html! {
        @if map.boxes.len() > MAX_NODES {
            figure { figcaption { "Map" } p.quiet { (map.boxes.len()) " steps are too many to draw." } }
        } @else if map.boxes.len() > 1 {
            figure {
                figcaption { "Map" }
                div.scroll tabindex="0" role="region" aria-label="Map of changes" {
                    (draw_boxes(&map.boxes, &map.edges.iter().copied().collect::<Vec<_>>(), "Map of changes"))
                }
            }
        }
    }
}

/// The boxes of the map and the edges between them. The deletion and the creation of a replacement are two boxes: a replaced
/// parent is deleted after its children and created before them.
struct ChangeMap<'p> {
    boxes: Vec<DrawnBox>,
    edges: BTreeSet<(usize, usize)>,
    /// The number of the box of an entry, or of a resource that has none, and an operation.
    numbers: HashMap<(Result<usize, &'p str>, &'static str), usize>,
    /// The entry of each changed address.
    entry_of: HashMap<&'p str, usize>,
}

impl<'p> ChangeMap<'p> {
    fn new(plan: &'p Plan, entries: &[PlanEntry<'p>], prefix: &str) -> Self {
        let mut map = Self {
            boxes: Vec::new(),
            edges: BTreeSet::new(),
            numbers: HashMap::new(),
            entry_of: HashMap::new(),
        };
        for (number, entry) in entries.iter().enumerate() {
            map.entry_of
                .extend(entry.members().into_iter().map(|change| (change.address.as_str(), number)));
        }
        let of_step: Vec<usize> = plan
            .steps
            .iter()
            .map(|step| {
                let verb = phrases::operation_keyword(&step.operation);
                map.number_of(step.address.as_str(), verb, (entries, prefix))
            })
            .collect();
        for (step, number) in plan.steps.iter().zip(&of_step) {
            for before in step.after.iter().filter_map(|before| of_step.get(*before)) {
                map.edges.insert((*before, *number));
            }
        }
        for change in entries.iter().flat_map(PlanEntry::members) {
            let verb = phrases::action_keyword(change.action);
            let number = match change.steps.last().and_then(|step| of_step.get(*step)) {
                Some(number) => *number,
                None => map.number_of(change.address.as_str(), verb, (entries, prefix)),
            };
            for affected in change.hits.iter().map(Address::as_str) {
                if !map.entry_of.contains_key(affected) {
                    let affected = map.number_of(affected, "affected", (entries, prefix));
                    map.edges.insert((number, affected));
                }
            }
        }
        map.edges.retain(|(before, after)| before != after);
        map
    }

    /// Returns the number of the box of an address and an operation, which is added if it is new.
    fn number_of(
        &mut self,
        address: &'p str,
        verb: &'static str,
        (entries, prefix): (&[PlanEntry<'p>], &str),
    ) -> usize {
        let entry = self.entry_of.get(address).copied();
        let next = self.boxes.len();
        let number = *self.numbers.entry((entry.ok_or(address), verb)).or_insert(next);
        if number == next {
            let shown = entry.and_then(|entry| entries.get(entry));
            self.boxes.push(DrawnBox {
                id: format!("{prefix}map-{number}"),
                name: shown.map_or_else(|| address.to_owned(), PlanEntry::title),
                detail: verb.to_owned(),
                class: shown.map_or("felt", |entry| box_class(entry.representative(), verb)),
                link: shown.map(|_| format!("{prefix}{address}")),
            });
        }
        number
    }
}

fn box_class(change: &Change, verb: &str) -> &'static str {
    match (change.action, verb) {
        (Action::Replace, "create") => "new",
        (action, _) => action_class(action),
    }
}

const fn action_class(action: Action) -> &'static str {
    match action {
        Action::Replace | Action::Delete => "danger",
        Action::Create | Action::Adopt => "new",
        Action::Update | Action::Move | Action::Forget | Action::Read => "change",
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
                            span { (phrases::operation_keyword(&step.operation)) " " (step.address) } em { (phrases::format_estimate(end - start)) }
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
pub(super) fn cost_chart(of: &PlanReview<'_>) -> Markup {
    let plan = of.plan;
    let delta = |at: usize| -> Decimal {
        let cost = plan.changes.get(at).map(|change| &change.cost);
        let known = cost.filter(|cost| !cost.unpriced);
        known
            .map(|cost| cost.monthly_after.unwrap_or_default() - cost.monthly_before.unwrap_or_default())
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
                "Cost, " (format_money(bill.monthly_before)) " → " (format_money(bill.monthly_after)) " a month"
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
            @let due = of.due().facts();
            @if !due.is_empty() { p { (due.join(" · ")) } }
            @if let Some(names) = view::charged_at_once(plan) { p.quiet { "charged or credited at once: " (names) } }
            @if let Some(left_out) = phrases::unpriced_count(bill.unpriced) { p.quiet { (left_out) } }
        }
    }
}
