//! One change: a head line with sign, address, action, cost and time, then reason, attributes,
//! effects and affected resources.

use super::attribute;
use crate::model::address::Address;
use crate::model::schema::{Effect, format_money};
use crate::model::source::SourceLocation;
use crate::plan::model::change::{Action, Cause, Change, ChangeCost, ChangeEffect, ModuleMove, Plan};
use crate::report::groups::{self, ChangeGroup, ModuleGroup, PlanEntry};
use crate::report::text::page::{self, TextLine, TextPage};
use crate::report::text::phrases;
use crate::report::text::style::{Symbol, TextRole};

/// Limit on the width of the address column; a longer address shifts its own line only.
const MAX_ADDRESS_WIDTH: usize = 36;

/// Width of the time column, and of the cost column before it.
const TIME_WIDTH: usize = 10;

/// Number of creations above which each shows only one line of attributes.
const COMPACT_CREATIONS_THRESHOLD: usize = 40;

/// How many affected resources to name before counting the rest.
const MAX_AFFECTED: usize = 8;

/// How many members of a group to name before counting the rest.
const MAX_MEMBERS: usize = 3;

/// Number of entries of creations above which the rest is only counted.
const MAX_CREATIONS: usize = 60;

/// How many resources of a module's instance to show before counting the rest.
const MAX_MODULE_ENTRIES: usize = 12;

/// Indentation of what is shown of one change, and of one within a module.
const DETAIL_INDENT: usize = 6;
const NESTED_INDENT: usize = 10;

/// The column widths that all changes share.
#[derive(Clone, Copy)]
struct ChangeLayout {
    address: usize,
    verbose: bool,
    many: bool,
    /// Whether a line below the changes says which differences are charged at once.
    charge_below: bool,
}

/// Adds all changes, in the plan's order: equal ones as one entry, unless `complete` is set. `verbose` adds all attributes.
pub(super) fn add_changes(page: &mut TextPage, plan: &Plan, complete: bool, verbose: bool) {
    let entries = if complete || verbose {
        groups::single_entries(plan)
    } else {
        groups::plan_entries(plan, &|_| String::new())
    };
    let address = entries.iter().map(|entry| page::display_width(&entry.title())).max().unwrap_or(0);
    let is_creation = |entry: &&PlanEntry<'_>| entry.representative().action == Action::Create;
    let creations = entries.iter().filter(is_creation).count();
    let layout = ChangeLayout {
        address: address.min(MAX_ADDRESS_WIDTH),
        verbose,
        many: creations > COMPACT_CREATIONS_THRESHOLD && !verbose,
        charge_below: !groups::charged_at_once(plan).is_empty(),
    };
    let mut shown = 0;
    let mut left_out = 0;
    for entry in &entries {
        if is_creation(&entry) {
            shown += 1;
            if shown > MAX_CREATIONS && !complete && !verbose {
                left_out += entry.resource_count();
                continue;
            }
        }
        add_entry(page, entry, layout);
    }
    if layout.many {
        add_creation_note(page, creations, left_out);
    }
}

/// Adds a line about creations that are shortened or left out.
fn add_creation_note(page: &mut TextPage, creations: usize, left_out: usize) {
    let text = if left_out > 0 {
        format!("{} more; -v shows all of them", phrases::count_noun(left_out, "creation"))
    } else {
        format!(
            "{} are shown in one line each; -v shows their attributes",
            phrases::count_noun(creations, "creation")
        )
    };
    page.add_line(TextLine::indent(2).push_styled(TextRole::Faint, text));
}

fn add_entry(page: &mut TextPage, entry: &PlanEntry<'_>, layout: ChangeLayout) {
    match entry {
        PlanEntry::Single(change) => add_change(page, change, layout),
        PlanEntry::ModuleMove(module, members) => {
            add_module_move(page, members[0], module, (members.len(), layout));
        }
        PlanEntry::Group(group) => add_group(page, group, layout),
        PlanEntry::Module(module) => add_module(page, module, layout),
    }
}

/// Adds equal changes: a head line, the first of them, and what they have in common.
fn add_group(page: &mut TextPage, group: &ChangeGroup<'_>, layout: ChangeLayout) {
    let head = change_head(page, (&group.title(), &group.shown), layout);
    page.add_line(head);
    add_members(page, &group.named_members(MAX_MEMBERS));
    add_change_details(page, &group.shown, (layout, DETAIL_INDENT));
}

/// Adds a module whose instances have equal changes: a head line, the first instances, and the changes of each.
fn add_module(page: &mut TextPage, module: &ModuleGroup<'_>, layout: ChangeLayout) {
    let role = action_role(module.action);
    let start = if page.style().unicode { 4 } else { 5 };
    let line = TextLine::indent(2)
        .push_styled(role, phrases::sign_of_action(module.action, page.style()))
        .to_column(start)
        .push_styled(TextRole::Strong, module.title())
        .to_column(start + layout.address + 2)
        .push_styled(role, module.describe_changes());
    let seconds = module.members.iter().map(|change| change.seconds).max().unwrap_or(0);
    page.add_line(push_cost_and_time(line, page.style().width, (&module.cost, seconds)));
    add_members(page, &format!("{}; in each:", module.named_instances(MAX_MEMBERS)));
    for (address, change) in module.entries.iter().take(MAX_MODULE_ENTRIES) {
        page.add_line(
            TextLine::indent(DETAIL_INDENT)
                .push_styled(role, phrases::sign_of_action(change.action, page.style()))
                .push_text(" ")
                .push_styled(TextRole::Strong, address)
                .continue_at(NESTED_INDENT),
        );
        add_change_details(page, change, (layout, NESTED_INDENT));
    }
    let rest = module.entries.len().saturating_sub(MAX_MODULE_ENTRIES);
    if rest > 0 {
        let text = format!("and {rest} more");
        page.add_line(TextLine::indent(DETAIL_INDENT).push_styled(TextRole::Faint, text));
    }
}

fn add_members(page: &mut TextPage, names: &str) {
    page.add_line(
        TextLine::indent(DETAIL_INDENT).push_styled(TextRole::Faint, names).continue_at(DETAIL_INDENT),
    );
}

/// Adds a module whose resources all move without any other change.
fn add_module_move(
    page: &mut TextPage,
    first: &Change,
    module: &ModuleMove,
    (count, layout): (usize, ChangeLayout),
) {
    let style = page.style();
    let start = if style.unicode { 4 } else { 5 };
    let role = action_role(Action::Move);
    let line = TextLine::indent(2)
        .push_styled(role, phrases::sign_of_action(Action::Move, style))
        .to_column(start)
        .push_styled(TextRole::Strong, module.to.as_str())
        .to_column(start + layout.address + 2)
        .push_styled(role, format!("move of {}", phrases::count_noun(count, "resource")));
    page.add_line(line);
    let source = first.was.as_ref().and_then(|was| was.source.as_ref());
    page.add_line(previous_address_line(&module.from, source));
}

fn previous_address_line(address: &str, source: Option<&SourceLocation>) -> TextLine {
    let line =
        TextLine::indent(6).push_styled(TextRole::Change, "was ").push_styled(TextRole::Strong, address);
    match source {
        Some(place) => line.at_end(TextRole::Faint, format!("{}:{}", place.file, place.line)),
        None => line,
    }
}

fn add_change(page: &mut TextPage, change: &Change, layout: ChangeLayout) {
    let head = change_head(page, (change.address.as_str(), change), layout);
    page.add_line(head);
    add_change_details(page, change, (layout, DETAIL_INDENT));
}

/// Adds what is below the head line of a change: reason, attributes, effects and affected resources.
fn add_change_details(page: &mut TextPage, change: &Change, (layout, indent): (ChangeLayout, usize)) {
    if let Some(before) = &change.was {
        let address = phrases::describe_previous_address(before);
        page.add_line(previous_address_line(&address, before.source.as_ref()));
    }
    if let Some(reason) = &change.reason {
        let line = TextLine::indent(indent).push_styled(action_role(change.action), reason);
        page.add_line(push_change_location(
            line,
            change,
            layout.verbose || change.action != Action::Create,
        ));
    } else if layout.verbose && change.action != Action::Create && change.source.is_some() {
        page.add_line(push_change_location(
            TextLine::indent(indent).push_styled(TextRole::Faint, "its block"),
            change,
            true,
        ));
    }
    match change.action {
        Action::Create if !layout.verbose => {
            attribute::add_flowing_values(page, change, (indent, layout.many));
        }
        Action::Create | Action::Adopt | Action::Update | Action::Replace => {
            attribute::add_attribute_lines(page, &change.attributes, (indent, layout.verbose));
            if layout.verbose {
                attribute::add_unchanged(page, &change.rest);
            }
        }
        Action::Delete | Action::Move | Action::Forget | Action::Read if layout.verbose => {
            attribute::add_attribute_lines(page, &change.attributes, (indent, true));
        }
        Action::Delete | Action::Move | Action::Forget | Action::Read => {}
    }
    let is_shown = |effect: &&ChangeEffect| effect.code != Effect::Charge || !layout.charge_below;
    for effect in change.effects.iter().filter(is_shown) {
        let role = if effect.code == Effect::DataLoss { TextRole::Danger } else { TextRole::Warning };
        page.add_line(
            TextLine::indent(indent)
                .push_styled(role, page.sign(Symbol::Warning))
                .push_styled(role, " ")
                .push_styled(role, &effect.text),
        );
    }
    if !change.hits.is_empty() {
        let most = if layout.verbose { usize::MAX } else { MAX_AFFECTED };
        let hits = phrases::join_words(change.hits.iter().map(Address::as_str), most);
        page.add_line(
            TextLine::indent(indent)
                .push_styled(TextRole::Warning, "affects  ")
                .push_text(hits)
                .continue_at(indent + 9),
        );
    }
}

fn change_head(page: &TextPage, (title, change): (&str, &Change), layout: ChangeLayout) -> TextLine {
    let style = page.style();
    let role = action_role(change.action);
    let start = if style.unicode { 4 } else { 5 };
    let line = TextLine::indent(2)
        .push_styled(role, phrases::sign_of_action(change.action, style))
        .to_column(start)
        .push_styled(TextRole::Strong, title)
        .to_column(start + layout.address + 2)
        .push_styled(role, describe_change(change));
    push_cost_and_time(line, style.width, (&change.cost, change.seconds))
}

/// Adds the columns of the monthly cost and of the usual duration.
fn push_cost_and_time(line: TextLine, columns: usize, (cost, seconds): (&ChangeCost, u32)) -> TextLine {
    let cost = phrases::cost_change(cost);
    let line =
        if cost.is_empty() { line } else { line.ending_at(columns - TIME_WIDTH, TextRole::Plain, cost) };
    if seconds == 0 {
        return line;
    }
    line.ending_at(columns, TextRole::Faint, format!("~{}", phrases::format_estimate(seconds.into())))
}

fn push_change_location(line: TextLine, change: &Change, wanted: bool) -> TextLine {
    match &change.source {
        Some(place) if wanted => line.at_end(TextRole::Faint, format!("{}:{}", place.file, place.line)),
        _ => line,
    }
}

fn action_role(action: Action) -> TextRole {
    match action {
        Action::Replace | Action::Delete => TextRole::Danger,
        Action::Update | Action::Move => TextRole::Change,
        Action::Create | Action::Adopt => TextRole::Success,
        Action::Forget => TextRole::Warning,
        Action::Read => TextRole::Faint,
    }
}

/// Returns the action in a few words, with its cause if that is not the configuration.
fn describe_change(change: &Change) -> String {
    let why = match change.cause {
        Cause::Config => "",
        Cause::Drift if change.action == Action::Create => ", it is gone",
        Cause::Drift => ", changed outside stead",
        Cause::Both => ", changed here and outside stead",
        Cause::Upstream => ", because a resource that it refers to changes",
        Cause::Unfinished => ", completes an earlier apply",
        Cause::Unconfirmed => ", differs from what was applied",
        Cause::NotKept => ", sent again: the service did not keep it",
    };
    let id = || change.id.as_deref().map(short_id).unwrap_or_default();
    match change.action {
        Action::Replace => {
            let order = match change.create_first {
                Some(true) => ", new one first",
                Some(false) => ", old one deleted first",
                None => "",
            };
            format!("REPLACE{order}{why}")
        }
        Action::Delete => format!("DELETE {}", id()).trim_end().to_owned(),
        Action::Update => format!("update in place{why}"),
        Action::Create => format!("create{why}"),
        Action::Adopt => format!("adopt {}", id()).trim_end().to_owned(),
        Action::Move => "move".to_owned(),
        Action::Forget => match change.cost.monthly_before {
            Some(price) if !price.is_zero() => {
                format!("forget, stays live and billed, {} a month", format_money(price))
            }
            _ => "forget, stays live".to_owned(),
        },
        Action::Read => "read".to_owned(),
    }
}

/// Returns enough of an id to recognize it: the first part of a UUID; any other id in full.
fn short_id(id: &str) -> &str {
    if id.len() == 36 && id.is_char_boundary(8) { &id[..8] } else { id }
}
