//! One change: a head line with sign, address, action, cost and time, then reason, attributes,
//! effects and affected resources.

use super::attribute;
use crate::model::address::Address;
use crate::model::schema::Effect;
use crate::model::source::SourceLocation;
use crate::plan::model::change::{Action, Cause, Change, ModuleMove};
use crate::report::move_groups::{self, ChangeLine};
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

/// The column widths that all changes share.
#[derive(Clone, Copy)]
struct ChangeLayout {
    address: usize,
    verbose: bool,
    many: bool,
}

/// Adds all changes, in the plan's order.
pub(super) fn add_changes(page: &mut TextPage, changes: &[Change], verbose: bool) {
    let address =
        changes.iter().map(|change| page::display_width(change.address.as_str())).max().unwrap_or(0);
    let creations = changes.iter().filter(|change| change.action == Action::Create).count();
    let layout = ChangeLayout {
        address: address.min(MAX_ADDRESS_WIDTH),
        verbose,
        many: creations > COMPACT_CREATIONS_THRESHOLD && !verbose,
    };
    if verbose {
        for change in changes {
            add_change(page, change, layout);
        }
    } else {
        for told in move_groups::plan_lines(changes) {
            match told {
                ChangeLine::Single(change) => add_change(page, change, layout),
                ChangeLine::Module(first, module, count) => {
                    add_module_move(page, first, module, (count, layout));
                }
            }
        }
    }
    if layout.many {
        let text = format!(
            "{} are shown in one line each; -v shows their attributes",
            phrases::count_noun(creations, "creation")
        );
        page.add_line(TextLine::indent(2).push_styled(TextRole::Faint, text));
    }
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
    page.add_line(change_head(page, change, layout));
    if let Some(before) = &change.was {
        let address = phrases::describe_previous_address(before);
        page.add_line(previous_address_line(&address, before.source.as_ref()));
    }
    if let Some(reason) = &change.reason {
        let line = TextLine::indent(6).push_styled(action_role(change.action), reason);
        page.add_line(push_change_location(
            line,
            change,
            layout.verbose || change.action != Action::Create,
        ));
    } else if layout.verbose && change.action != Action::Create && change.source.is_some() {
        page.add_line(push_change_location(
            TextLine::indent(6).push_styled(TextRole::Faint, "its block"),
            change,
            true,
        ));
    }
    match change.action {
        Action::Create if !layout.verbose => attribute::add_flowing_values(page, change, layout.many),
        Action::Create | Action::Adopt | Action::Update | Action::Replace => {
            attribute::add_attribute_lines(page, &change.attributes, layout.verbose);
            if layout.verbose {
                attribute::add_unchanged(page, &change.rest);
            }
        }
        Action::Delete | Action::Move | Action::Forget | Action::Read if layout.verbose => {
            attribute::add_attribute_lines(page, &change.attributes, true);
        }
        Action::Delete | Action::Move | Action::Forget | Action::Read => {}
    }
    for effect in &change.effects {
        let role = if effect.code == Effect::DataLoss { TextRole::Danger } else { TextRole::Warning };
        page.add_line(
            TextLine::indent(6)
                .push_styled(role, page.sign(Symbol::Warning))
                .push_styled(role, " ")
                .push_styled(role, &effect.text),
        );
    }
    if !change.hits.is_empty() {
        let most = if layout.verbose { usize::MAX } else { MAX_AFFECTED };
        let hits = phrases::join_words(change.hits.iter().map(Address::as_str), most);
        page.add_line(
            TextLine::indent(6).push_styled(TextRole::Warning, "affects  ").push_text(hits).continue_at(15),
        );
    }
}

fn change_head(page: &TextPage, change: &Change, layout: ChangeLayout) -> TextLine {
    let style = page.style();
    let role = action_role(change.action);
    let start = if style.unicode { 4 } else { 5 };
    let line = TextLine::indent(2)
        .push_styled(role, phrases::sign_of_action(change.action, style))
        .to_column(start)
        .push_styled(TextRole::Strong, change.address.as_str())
        .to_column(start + layout.address + 2)
        .push_styled(role, describe_change(change));
    let cost = phrases::cost_change(&change.cost);
    let columns = style.width;
    let line =
        if cost.is_empty() { line } else { line.ending_at(columns - TIME_WIDTH, TextRole::Plain, cost) };
    if change.seconds == 0 {
        return line;
    }
    line.ending_at(
        columns,
        TextRole::Faint,
        format!("~{}", phrases::format_estimate(change.seconds.into())),
    )
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
        Action::Delete => format!("DELETE {}", id()),
        Action::Update => format!("update in place{why}"),
        Action::Create => format!("create{why}"),
        Action::Adopt => format!("adopt {}", id()),
        Action::Move => "move".to_owned(),
        Action::Forget => match change.cost.monthly_before {
            Some(price) if !price.is_zero() => {
                format!("forget, stays live and billed, {} a month", phrases::format_money(price))
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
