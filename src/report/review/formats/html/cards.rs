//! The cards of a page: one for each change that is like no other, one for equal changes, which lists all of its members, and
//! one for a module whose instances have equal changes. In: an entry of the plan. Out: a card that filters and links find.

use maud::{Markup, html};

use super::parts::{action_sign, escape_text, fold_value, location_markup};
use crate::plan::model::change::{AttributeChange, Change};
use crate::report::groups::{ModuleGroup, PlanEntry};
use crate::report::review::view::{self, PlanReview};
use crate::report::text::phrases;

/// Number of members up to which the list of a group is open at first.
const MAX_OPEN_MEMBERS: usize = 6;

/// What all cards of a plan share.
#[derive(Clone, Copy)]
pub(super) struct CardOptions<'a> {
    /// Distinguishes the addresses of several plans on one page.
    pub(super) prefix: &'a str,
    /// Whether the page says elsewhere which differences are charged at once.
    pub(super) charge_below: bool,
}

/// Returns the card of an entry; `open` expands it.
pub(super) fn entry_card(
    of: &PlanReview<'_>,
    entry: &PlanEntry<'_>,
    options: CardOptions<'_>,
    open: bool,
) -> Markup {
    let prefix = options.prefix;
    let card = |change: &Change, members: &[&Change], body: &Markup| {
        let title = entry.title();
        let what = match entry {
            PlanEntry::Module(module) => module.describe_changes(),
            _ => view::change_headline(change),
        };
        let (price, seconds) = match entry {
            PlanEntry::Module(module) => (phrases::cost_change(&module.cost), longest(members)),
            _ => (view::monthly_price(change), change.seconds),
        };
        let danger = view::is_dangerous(change);
        let id = members.is_empty().then(|| format!("{prefix}{}", change.address));
        html! {
            details.card.danger[danger] open[open] id=[id]
                data-action=(phrases::action_keyword(change.action)) data-danger=(danger)
            {
                summary {
                    span.sign { (action_sign(change.action)) } " "
                    strong { (escape_text(&title)) } " "
                    span.what { (escape_text(&what)) }
                    span.right {
                        (price)
                        @if seconds > 0 { " ~" (phrases::format_estimate(seconds.into())) }
                    }
                }
                (body)
                @if !members.is_empty() { (member_list(of, members, prefix)) }
            }
        }
    };
    match entry {
        PlanEntry::Single(change) => card(change, &[], &single_body(of, change, options)),
        PlanEntry::ModuleMove(module, members) => {
            let count = phrases::count_noun(members.len(), "resource");
            card(members[0], members, &html! { p { (count) " was " code { (escape_text(&module.from)) } } })
        }
        PlanEntry::Group(group) => {
            card(&group.shown, &group.members, &change_details(of, &group.shown, options))
        }
        PlanEntry::Module(module) => {
            card(module.members[0], &module.members, &module_body(of, module, options))
        }
    }
}

fn longest(members: &[&Change]) -> u32 {
    members.iter().map(|change| change.seconds).max().unwrap_or(0)
}

fn single_body(of: &PlanReview<'_>, change: &Change, options: CardOptions<'_>) -> Markup {
    html! {
        @if let Some(result) = of.result_text(change, false) { p.fate { (escape_text(&result)) } }
        (change_details(of, change, options))
        p.quiet { (location_markup(of, change.source.as_ref())) @if let Some(id) = &change.id { " id " code { (escape_text(id)) } } }
    }
}

fn module_body(of: &PlanReview<'_>, module: &ModuleGroup<'_>, options: CardOptions<'_>) -> Markup {
    html! {
        p { (escape_text(&module.named_instances(MAX_OPEN_MEMBERS))) "; in each:" }
        @for (address, change) in &module.entries {
            h3 { span.sign { (action_sign(change.action)) } " " (escape_text(address)) }
            (change_details(of, change, options))
        }
    }
}

/// Returns what a change does: its previous address, effects, affected resources and attributes.
fn change_details(of: &PlanReview<'_>, change: &Change, options: CardOptions<'_>) -> Markup {
    html! {
        @if let Some(was) = &change.was { p { "was " code { (escape_text(&phrases::describe_previous_address(was))) } } }
        @for effect in view::ordered_effects(change, options.charge_below) { p.effect[view::affects_users(effect.code)] { (escape_text(&effect.text)) } }
        @if !change.hits.is_empty() {
            p { "affects "
                @for (at, hit) in change.hits.iter().enumerate() { @if at > 0 { ", " } a href=(format!("#{}{hit}", options.prefix)) { (hit) } }
            }
        }
        @if !change.attributes.is_empty() {
            div.scroll { table { tbody { @for attribute in &change.attributes { (attribute_row(of, attribute)) } } } }
        }
    }
}

/// Returns all members of a group, each with what is its own: id, place and result.
fn member_list(of: &PlanReview<'_>, members: &[&Change], prefix: &str) -> Markup {
    html! {
        details.members open[members.len() <= MAX_OPEN_MEMBERS] {
            summary { (phrases::count_noun(members.len(), "resource")) }
            ul {
                @for change in members {
                    li id=(format!("{prefix}{}", change.address)) {
                        code { (change.address) }
                        @if let Some(id) = &change.id { " id " code { (escape_text(id)) } }
                        @if let Some(result) = of.result_text(change, false) { " " (escape_text(&result)) }
                        " " (location_markup(of, change.source.as_ref()))
                    }
                }
            }
        }
    }
}

fn attribute_row(of: &PlanReview<'_>, attribute: &AttributeChange) -> Markup {
    let (old, new) = view::before_and_after(attribute);
    html! {
        tr.forces[attribute.forces_replacement] {
            th scope="row" { code { (escape_text(&attribute.path)) } }
            td.old { @if let Some(old) = old { (fold_value(&old)) } }
            td.new { @match new { Some(new) => (fold_value(&new)), None => span.quiet { "not set" } } }
            td.quiet {
                @if attribute.forces_replacement { "forces the replacement " }
                @if let Some(set_by) = &attribute.set_by { (escape_text(set_by)) " " }
                (location_markup(of, attribute.source.as_ref()))
            }
        }
    }
}
