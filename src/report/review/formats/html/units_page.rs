//! The page of many units: the graph of units with what changes where, a table of all units, and the changes of each unit,
//! worst first. Its size is bounded: what does not fit is counted, and the report `json` has it.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::cards::{CardOptions, entry_card};
use super::parts::{action_sign, escape_text};
use super::{
    MAX_EXPANDED, alerts_markup, commit_markup, drift_markup, html_page, outputs_markup, toolbar_markup,
};
use crate::plan::model::change::{Action, Change, Plan};
use crate::report::json::{self, PlanDocumentOptions};
use crate::report::review::formats::units::UnitsReport;
use crate::report::review::view::{self, PlanReview};
use crate::report::text::counts::{ActionCounts, RARE};
use crate::report::text::phrases;
use crate::report::units::drawing::{DrawnBox, draw_boxes};
use crate::report::units::review::{UnitReview, UnitStatus};
use crate::report::views::drift::object_name;
use crate::workspace::unit::UnitName;

/// Number of units up to which the graph has all of them; above it, those without changes are drawn only beside others.
const MAX_WHOLE_GRAPH: usize = 150;

/// Number of units above which a graph cannot be read; the table has them.
const MAX_DRAWN: usize = 400;

/// Limit on the rows of the table.
const MAX_ROWS: usize = 2_000;

/// Size in bytes from which on no further unit is added; a browser still opens such a page at once.
const MAX_CHANGES_BYTES: usize = 6_000_000;

/// Size limit in bytes of the JSON document on the page.
const MAX_DOCUMENT_BYTES: usize = 4_000_000;

/// Limit on the unmanaged objects of an account.
const MAX_LISTED: usize = 200;

/// Actions in the order in which the graph and the table count them.
const COUNTED: [Action; 4] = [Action::Create, Action::Update, Action::Replace, Action::Delete];

/// Returns the report of many units as one HTML page.
pub(in crate::report::review::formats) fn units_html(of: &UnitsReport<'_>) -> String {
    let review = of.review;
    let facts = headline_facts(of);
    let sections = UnitSections::new(of);
    let changes = || review.plans().flat_map(|plan: &Plan| plan.changes.iter());
    let dangerous = changes().filter(|change: &&Change| view::is_dangerous(change)).count();
    let counts: Vec<(Action, usize)> =
        COUNTED.into_iter().chain(RARE).map(|action| (action, review.count(action))).collect();
    let title = format!("{} · {}", phrases::count_noun(review.units().len(), "unit"), facts.join(" · "));
    let options = PlanDocumentOptions { details: true, ran: None };
    let document = json::units_document(review, of.registry, options);
    let document = Some(document).filter(|text| text.len() <= MAX_DOCUMENT_BYTES);
    let body = html! {
        (head_markup(of, &facts))
        (toolbar_markup((changes().count(), dangerous), &counts))
        main.whole {
            section aria-label="Stacks" {
                (graph_markup(of, &sections.positions))
                (table_markup(of, &sections.positions))
                (accounts_markup(of))
            }
            section.changes aria-label="Changes" {
                (sections.markup)
                @if sections.left_out > 0 {
                    p.quiet { (phrases::count_noun(sections.left_out, "unit")) " did not fit here; the report " code { "json" } " has them." }
                }
                p.none hidden { "Nothing fits the filter." }
            }
        }
        (footer_markup(of, document.is_none()))
    };
    html_page(&title, &body, document.as_deref())
}

/// The units that are shown with their changes.
struct UnitSections {
    markup: Markup,
    /// Position of each unit that has a section.
    positions: BTreeMap<UnitName, usize>,
    left_out: usize,
}

impl UnitSections {
    fn new(of: &UnitsReport<'_>) -> Self {
        let (mut pieces, mut size) = (Vec::new(), 0);
        let (mut positions, mut left_out, mut cards) = (BTreeMap::new(), 0, 0);
        for (position, unit) in of.review.units().iter().enumerate() {
            if unit.is_unremarkable() {
                continue;
            }
            if size > MAX_CHANGES_BYTES {
                left_out += 1;
                continue;
            }
            let plan = of.plans.get(&position);
            let piece = unit_section(position, unit, (plan, cards));
            cards += plan.map_or(0, |plan| plan.plan.changes.len());
            size += piece.0.len();
            positions.extend(unit.name.unit().map(|name| (name.clone(), position)));
            pieces.push(piece);
        }
        let markup = html! {
            @for piece in &pieces { (piece) }
            @if pieces.is_empty() { p.quiet { "No changes to make." } }
        };
        Self { markup, positions, left_out }
    }
}

fn unit_id(position: usize) -> String {
    format!("unit-{position}")
}

/// Returns the section of a unit; `cards` is the number of changes before it on the page.
fn unit_section(
    position: usize,
    unit: &UnitReview<'_>,
    (plan, cards): (Option<&PlanReview<'_>>, usize),
) -> Markup {
    let name = escape_text(&unit.name.to_string());
    let prefix = format!("{}.", unit_id(position));
    let title = format!("{}-title", unit_id(position));
    let charge_below = plan.is_some_and(|plan| view::charged_at_once(plan.plan).is_some());
    let options = CardOptions { prefix: &prefix, charge_below };
    html! {
        section.unit id=(unit_id(position)) data-unit=(name) aria-labelledby=(title) {
            h2 id=(title) { (sign(unit.status)) " " (name) " " span.quiet { (unit.status.as_text()) } }
            @if let Some(failure) = unit.failure {
                div.alert.bad {
                    (escape_text(failure.message))
                    @for help in failure.help.iter().filter(|help| !help.is_empty()) { p { (escape_text(help)) } }
                }
            }
            @if let Some(plan) = plan {
                (alerts_markup(plan))
                (drift_markup(plan))
                (outputs_markup(plan))
                @for (at, entry) in plan.entries().iter().enumerate() {
                    (entry_card(plan, entry, options, cards + at < MAX_EXPANDED))
                }
            }
        }
    }
}

const fn sign(status: UnitStatus) -> &'static str {
    match status {
        UnitStatus::Failed | UnitStatus::Partly | UnitStatus::Blocked | UnitStatus::OutOfDate => "⛔",
        UnitStatus::Locked | UnitStatus::Skipped | UnitStatus::Drifted => "❗",
        UnitStatus::Changed => "🔷",
        UnitStatus::Applied | UnitStatus::Unchanged => "✅",
    }
}

fn headline_facts(of: &UnitsReport<'_>) -> Vec<String> {
    let review = of.review;
    let statuses = review.status_counts();
    let mut facts: Vec<String> =
        statuses.into_iter().map(|(status, count)| format!("{count} {}", status.as_text())).collect();
    let counted = COUNTED.map(|action| (action, review.count(action)));
    facts.extend(
        counted
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(action, count)| format!("{count} {}", phrases::action_keyword(action))),
    );
    let outputs = review.output_count();
    facts.extend((outputs > 0).then(|| phrases::count_noun(outputs, "output")));
    facts.extend(phrases::blocked_changes(review.blocked_count()));
    let cost = review.cost();
    if cost.after != cost.before {
        facts.push(format!(
            "{}{}/mo",
            review.planned_word(),
            phrases::bill_change(cost.after - cost.before, cost.unpriced)
        ));
    }
    facts.extend(review.due().facts());
    if review.destroy {
        facts.insert(0, phrases::DESTROY_FACT.to_owned());
    }
    facts
}

fn head_markup(of: &UnitsReport<'_>, facts: &[String]) -> Markup {
    let worst = of.review.units().first().map_or(UnitStatus::Unchanged, |unit| unit.status);
    let first = of.plans.values().next();
    html! {
        header {
            h1 { (sign(worst)) " " (phrases::count_noun(of.review.units().len(), "unit")) }
            ul.facts { @for fact in facts { li { (fact) } } }
            p.quiet {
                "fingerprint " code { (escape_text(of.review.fingerprint)) }
                @if let Some(plan) = first { (commit_markup(plan)) }
                @if let Some(made) = first.map(|plan| plan.plan.base.made_at) {
                    " · planned " time datetime=(made) { (made.strftime("%-d %b %Y %H:%M UTC")) }
                }
            }
        }
    }
}

fn footer_markup(of: &UnitsReport<'_>, lacks_document: bool) -> Markup {
    let cost = of.review.cost();
    html! {
        footer {
            "stead " (env!("CARGO_PKG_VERSION"))
            @for left_out in cost.left_out() { " · " (left_out) }
            @if lacks_document { " · the plans are too large to be embedded as JSON; the report " code { "json" } " has them" }
            @if let Some(command) = of.command { " · after the merge: " code { (escape_text(command)) } }
        }
    }
}

/// Returns how many changes of each action a unit has, as a few words; empty without changes.
fn counts_text(unit: &UnitReview<'_>) -> String {
    let counts = unit.plan.map(ActionCounts::from_plan).unwrap_or_default();
    let said = COUNTED.into_iter().chain(RARE).filter(|action| counts.get(*action) > 0);
    let said = said.map(|action| format!("{}{}", action_sign(action), counts.get(action)));
    let outputs = unit.output_count();
    let outputs = (outputs > 0).then(|| phrases::count_noun(outputs, "output"));
    said.chain(outputs).collect::<Vec<_>>().join(" ")
}

/// Draws the units and which of them read outputs of which. `positions` has those with a section on the page.
fn graph_markup(of: &UnitsReport<'_>, positions: &BTreeMap<UnitName, usize>) -> Markup {
    let units = of.review.units();
    let is_whole = units.len() <= MAX_WHOLE_GRAPH;
    let shown: Vec<&UnitReview<'_>> =
        units.iter().filter(|unit| is_whole || unit.status != UnitStatus::Unchanged).collect();
    let known: BTreeMap<&UnitName, &UnitReview<'_>> =
        units.iter().filter_map(|unit| Some((unit.name.unit()?, unit))).collect();
    let mut boxes = Vec::with_capacity(shown.len());
    let mut numbers: BTreeMap<&UnitName, usize> = BTreeMap::new();
    for unit in &shown {
        numbers.extend(unit.name.unit().map(|name| (name, boxes.len())));
        boxes.push(unit_box(unit, boxes.len(), positions));
    }
    let mut edges = Vec::new();
    for (reader, unit) in shown.iter().enumerate() {
        for above in unit.upstream {
            let number = *numbers.entry(above).or_insert_with(|| {
                boxes.push(match known.get(above) {
                    Some(unit) => unit_box(unit, boxes.len(), positions),
                    None => DrawnBox {
                        id: format!("box-{}", boxes.len()),
                        name: escape_text(&above.to_string()),
                        detail: "not selected".to_owned(),
                        class: "outside",
                        link: None,
                    },
                });
                boxes.len() - 1
            });
            edges.push((number, reader));
        }
    }
    let is_drawn = |unit: &UnitReview<'_>| unit.name.unit().is_none_or(|name| numbers.contains_key(name));
    let left_out = units.iter().filter(|unit| !is_drawn(unit)).count();
    html! {
        figure {
            figcaption { "Stacks" }
            @if boxes.len() > MAX_DRAWN {
                p.quiet { (boxes.len()) " units are too many to draw." }
            } @else if !boxes.is_empty() {
                div.scroll tabindex="0" role="region" aria-label="Graph of stacks" {
                    (draw_boxes(&boxes, &edges, "Stacks, and which of them read outputs of which"))
                }
            }
            @if left_out > 0 { p.quiet { (phrases::count_noun(left_out, "unit")) " without changes not drawn." } }
        }
    }
}

fn unit_box(unit: &UnitReview<'_>, number: usize, positions: &BTreeMap<UnitName, usize>) -> DrawnBox {
    let counts = counts_text(unit);
    let detail = match unit.status {
        UnitStatus::Changed if !counts.is_empty() => counts,
        UnitStatus::Blocked => format!("⊘ blocked {counts}").trim_end().to_owned(),
        status => status.as_text().to_owned(),
    };
    let position = unit.name.unit().and_then(|name| positions.get(name));
    DrawnBox {
        id: position.map_or_else(|| format!("box-{number}"), |position| unit_id(*position)),
        name: escape_text(&unit.name.to_string()),
        detail,
        class: match unit.status {
            UnitStatus::Failed | UnitStatus::Blocked | UnitStatus::Partly | UnitStatus::OutOfDate => {
                "blocked"
            }
            _ if unit.plan.is_some_and(|plan| plan.changes.iter().any(view::is_dangerous)) => "danger",
            UnitStatus::Changed | UnitStatus::Drifted => "change",
            _ => "same",
        },
        link: position.map(|position| unit_id(*position)),
    }
}

fn table_markup(of: &UnitsReport<'_>, positions: &BTreeMap<UnitName, usize>) -> Markup {
    let units = of.review.units();
    let row = |unit: &UnitReview<'_>| {
        let counts = unit.plan.map(ActionCounts::from_plan).unwrap_or_default();
        let name = escape_text(&unit.name.to_string());
        let upstream: Vec<String> =
            unit.upstream.iter().map(|above| escape_text(&above.to_string())).collect();
        html! {
            tr {
                th scope="row" {
                    @match unit.name.unit().and_then(|name| positions.get(name)) {
                        Some(position) => a href=(format!("#{}", unit_id(*position))) { (name) },
                        None => (name),
                    }
                }
                td { (unit.status.as_text()) }
                @for action in COUNTED { td.number { (counts.get(action)) } }
                td.number { (unit.output_count()) }
                td.number { @if let Some(price) = unit.bill_change() { (price) } }
                td.quiet { (upstream.join(", ")) }
            }
        }
    };
    html! {
        details.drift open[units.len() <= MAX_EXPANDED] {
            summary { "Units: " (units.len()) }
            div.scroll tabindex="0" role="region" aria-label="Table of units" { table {
                thead { tr {
                    th scope="col" { "unit" } th scope="col" { "status" }
                    @for action in COUNTED { th.number scope="col" { (phrases::action_keyword(action)) } }
                    th.number scope="col" { "outputs" } th.number scope="col" { "$/mo" } th scope="col" { "upstream" }
                } }
                tbody { @for unit in units.iter().take(MAX_ROWS) { (row(unit)) } }
            } }
            @if units.len() > MAX_ROWS { p.quiet { "and " (units.len() - MAX_ROWS) " more" } }
        }
    }
}

/// Returns what a drift check found in each account; nothing for a plan.
fn accounts_markup(of: &UnitsReport<'_>) -> Markup {
    let Some(found) = of.review.drift else { return html! {} };
    html! {
        @for account in &found.accounts {
            details.drift open[!account.is_known()] {
                summary {
                    (escape_text(&account.name)) ": "
                    @if account.is_known() { (phrases::count_noun(account.unmanaged.len(), "unmanaged object")) }
                    @else { "unmanaged objects are not known" }
                }
                ul {
                    @for reason in account.unknown.iter().take(MAX_LISTED) { li { (escape_text(reason)) } }
                    @for object in account.unmanaged.iter().take(MAX_LISTED) { li { code { (escape_text(&object_name(object))) } } }
                    @if account.unmanaged.len() > MAX_LISTED { li { (account.unmanaged.len() - MAX_LISTED) " more" } }
                }
            }
        }
        @for (unit, reason) in found.not_applied.iter().take(MAX_LISTED) {
            p { code { (escape_text(&unit.to_string())) } " is not applied as configured: " (reason.as_text()) }
        }
    }
}
