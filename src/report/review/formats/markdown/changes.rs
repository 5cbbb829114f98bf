//! The changes in a comment: the alerts about dangerous ones, the table, and the attributes of each. Equal changes are one
//! entry, which counts its members and names the first.

use std::fmt::Write as _;

use super::escaping::{escape_prose, fence_code, inline_code};
use super::page::{MAX_DIFF_CHARS, MAX_VALUE_CHARS, MarkdownPage, location_suffix, push_if_fits};
use crate::plan::model::change::{Action, AttributeChange, Change};
use crate::report::groups::PlanEntry;
use crate::report::review::view::{self, PlanReview};
use crate::report::text::style::TextStyle;
use crate::report::text::{escape, phrases};

/// Size limit of the table of changes, in bytes. What remains of the comment's limit is reserved for the attribute diffs
/// below it.
const MAX_TABLE_BYTES: usize = 24_000;

/// How many attributes a row of the table shows.
const MAX_ATTRIBUTES_PER_ROW: usize = 3;

/// How many members of a group are named.
const MAX_MEMBERS: usize = 3;

/// How many affected resources are named.
const MAX_AFFECTED: usize = 8;

/// Returns the line about dangerous changes.
pub(super) fn danger_alert(of: &PlanReview<'_>, entry: &PlanEntry<'_>, charge_below: bool) -> String {
    let change = entry.representative();
    let verb = match (change.action, entry.resource_count()) {
        (Action::Replace, 1) => "is replaced",
        (Action::Replace, _) => "are replaced",
        (Action::Delete, 1) => "is deleted",
        (Action::Delete, _) => "are deleted",
        (Action::Create, 1) => "is created",
        (Action::Create, _) => "are created",
        (Action::Forget, 1) => "is left unmanaged",
        (Action::Forget, _) => "are left unmanaged",
        (_, 1) => "is changed",
        _ => "are changed",
    };
    let mut said: Vec<String> = members(entry).iter().map(|names| inline_code(names)).collect();
    match entry {
        PlanEntry::Module(module) => {
            for (address, change) in &module.entries {
                let parts = consequences(change, charge_below);
                if !parts.is_empty() {
                    said.push(format!("{}: {}", inline_code(address), parts.join(", ")));
                }
            }
        }
        _ => said.extend(consequences(change, charge_below)),
    }
    let place = location_suffix(of, view::decided_at(change));
    format!("> ❗ **{} {verb}**{place} {}\n", inline_code(&entry.title()), said.join("; "))
}

/// Returns why a change is made, its effects, and whom it affects.
fn consequences(change: &Change, charge_below: bool) -> Vec<String> {
    let mut said: Vec<String> = change.reason.iter().map(|reason| escape_prose(reason)).collect();
    said.extend(view::ordered_effects(change, charge_below).map(|effect| escape_prose(&effect.text)));
    if !change.hits.is_empty() {
        said.push(format!("affects {}", inline_code(&view::affected_addresses(change, MAX_AFFECTED))));
    }
    said
}

/// Returns the first members of a group; `None` for a single change.
fn members(entry: &PlanEntry<'_>) -> Option<String> {
    match entry {
        PlanEntry::Single(_) | PlanEntry::ModuleMove(..) => None,
        PlanEntry::Group(group) => Some(group.named_members(MAX_MEMBERS)),
        PlanEntry::Module(module) => Some(module.named_instances(MAX_MEMBERS)),
    }
}

/// Adds the table of changes, as many rows as there is room for, and a count of the rest.
pub(super) fn add_change_table(page: &mut MarkdownPage, of: &PlanReview<'_>, entries: &[PlanEntry<'_>]) {
    let start = page.text.len();
    let (title, rule) = if of.run_report().is_some() { (" outcome |", "---|") } else { ("", "") };
    let head = format!("| | resource | change | $/mo |{title}\n|---|---|---|---:|{rule}\n");
    if entries.is_empty() || !page.add_if_fits(&head) {
        return;
    }
    let mut shown = 0;
    for entry in entries {
        let row = entry_row(of, entry);
        if page.text.len() + row.len() > start + MAX_TABLE_BYTES || !page.add_if_fits(&row) {
            break;
        }
        shown += 1;
    }
    if shown < entries.len() {
        let rest = entries.iter().skip(shown).map(PlanEntry::resource_count).sum();
        let rest = phrases::count_noun(rest, "resource");
        page.add_if_fits(&format!(
            "| … | **{rest} more** | omitted here, the dangerous ones are listed first | |\n"
        ));
    }
    page.add_if_fits("\n");
    if let Some(names) = view::charged_at_once(of.plan) {
        page.add_if_fits(&format!("Charged or credited at once: {}\n\n", inline_code(&names)));
    }
}

fn entry_row(of: &PlanReview<'_>, entry: &PlanEntry<'_>) -> String {
    let change = entry.representative();
    let (summary, price) = match entry {
        PlanEntry::Single(change) => (summarize_change(change), view::monthly_price(change)),
        PlanEntry::ModuleMove(module, members) => {
            let count = phrases::count_noun(members.len(), "resource");
            (format!("{count}, was {}", inline_code(&module.from)), String::new())
        }
        PlanEntry::Group(group) => {
            let names = inline_code(&group.named_members(MAX_MEMBERS));
            (format!("{names}: {}", summarize_change(&group.shown)), view::monthly_price(&group.shown))
        }
        PlanEntry::Module(module) => {
            let names = inline_code(&module.named_instances(MAX_MEMBERS));
            let parts = module.entries.iter().map(|(address, _)| address);
            let parts = inline_code(&phrases::join_words(parts, MAX_AFFECTED));
            let price = phrases::cost_change(&module.cost);
            (format!("{names}: {}: {parts}", module.describe_changes()), price)
        }
    };
    // Where an alert names them, they are not said twice.
    let is_alerted = of.run_report().is_none() && view::is_dangerous(change);
    let charge_below = view::charged_at_once(of.plan).is_some();
    let effects = view::ordered_effects(change, charge_below).filter(|_| !is_alerted);
    let effects: Vec<String> = effects.map(|effect| escape_prose(&effect.text)).collect();
    let effects = if effects.is_empty() { String::new() } else { format!("; {}", effects.join("; ")) };
    let is_group = entry.resource_count() > 1;
    let result = of.result_text(first_member(entry), is_group);
    let result = result.map(|text| format!(" {} |", escape_prose(&text))).unwrap_or_default();
    format!(
        "| {} | {} | {summary}{effects} | {price} |{result}\n",
        phrases::sign_of_action(change.action, TextStyle::plain(80)),
        inline_code(&entry.title()),
    )
}

/// Returns a change of the plan itself that the entry has.
fn first_member<'e>(entry: &'e PlanEntry<'_>) -> &'e Change {
    match entry {
        PlanEntry::Single(change) => change,
        PlanEntry::ModuleMove(_, members) => members[0],
        PlanEntry::Group(group) => group.members[0],
        PlanEntry::Module(module) => module.members[0],
    }
}

/// Returns a summary of a change for a table cell, escaped: its first attributes, or its action and reason.
fn summarize_change(change: &Change) -> String {
    if !matches!(change.action, Action::Create | Action::Update | Action::Replace | Action::Adopt) {
        return escape_prose(&view::change_headline(change));
    }
    let mut said: Vec<String> =
        change.attributes.iter().take(MAX_ATTRIBUTES_PER_ROW).map(attribute_cell).collect();
    let rest = change.attributes.len().saturating_sub(MAX_ATTRIBUTES_PER_ROW);
    if rest > 0 {
        said.push(format!("{rest} more"));
    }
    if said.is_empty() { phrases::action_keyword(change.action).to_owned() } else { said.join(", ") }
}

fn attribute_cell(attribute: &AttributeChange) -> String {
    let short =
        |text: String| inline_code(&phrases::shorten_text(text, MAX_VALUE_CHARS, TextStyle::plain(80)));
    let path = escape_prose(&attribute.path);
    match view::before_and_after(attribute) {
        (None, Some(new)) => format!("{path} {}", short(new)),
        (Some(old), Some(new)) => format!("{path} {} → {}", short(old), short(new)),
        (Some(old), None) => format!("{path} {} → not set", short(old)),
        (None, None) => path,
    }
}

/// Adds the changes attribute by attribute in a code fence, as many as there is room for, and a count of the rest.
pub(super) fn add_attributes(page: &mut MarkdownPage, of: &PlanReview<'_>, entries: &[PlanEntry<'_>]) {
    if entries.is_empty() {
        return;
    }
    let all = phrases::count_noun(of.plan.changes.len(), "resource");
    let opening = format!("<details><summary>{all}, attribute by attribute</summary>\n\n");
    let closing = "\n</details>\n\n";
    let room = page.room.saturating_sub(page.text.len() + opening.len() + closing.len() + 200);
    let mut text = String::new();
    let fits = |piece: &String| text.len() + piece.len() < room && push_if_fits(&mut text, piece);
    let shown = entries.iter().map(|entry| entry_diff(of, entry)).take_while(fits).count();
    if shown == 0 {
        return;
    }
    let mut piece = opening + &fence_code(&text);
    if shown < entries.len() {
        let rest = entries.iter().skip(shown).map(PlanEntry::resource_count).sum();
        let rest = phrases::count_noun(rest, "resource");
        let _ = writeln!(piece, "{rest} more did not fit; the reports `html` and `json` have them all.");
    }
    if !page.add_if_fits(&(piece + closing)) {
        page.add_if_fits(&format!(
            "{all}, attribute by attribute, did not fit; the report `html` has them.\n\n"
        ));
    }
}

fn entry_diff(of: &PlanReview<'_>, entry: &PlanEntry<'_>) -> String {
    let mut text = match entry {
        PlanEntry::Single(change) => return change_diff(of, change.address.as_str(), change),
        PlanEntry::ModuleMove(module, members) => {
            let sign = phrases::sign_of_action(Action::Move, TextStyle::plain(80));
            let count = phrases::count_noun(members.len(), "resource");
            return format!("{sign} {}  move of {count}, was {}\n", module.to, module.from);
        }
        PlanEntry::Group(group) => return change_diff(of, &group.title(), &group.shown),
        PlanEntry::Module(module) => {
            let sign = phrases::sign_of_action(module.action, TextStyle::plain(80));
            format!("{sign} {}  {}\n", module.title(), module.describe_changes())
        }
    };
    if let PlanEntry::Module(module) = entry {
        for (address, change) in &module.entries {
            text.push_str(&change_diff(of, address, change));
        }
    }
    text
}

fn change_diff(of: &PlanReview<'_>, title: &str, change: &Change) -> String {
    let place = change.source.as_ref().map(|place| of.location_text(place)).unwrap_or_default();
    let mut text = format!(
        "{} {}  {}   {}",
        phrases::sign_of_action(change.action, TextStyle::plain(80)),
        title,
        escape::escape_line(&view::change_headline(change)),
        escape::escape_line(&place)
    );
    text.truncate(text.trim_end().len());
    text.push('\n');
    for attribute in &change.attributes {
        let (old, new) = view::before_and_after(attribute);
        for (sign, side) in [('-', old), ('+', new)] {
            let Some(side) = side else { continue };
            let side = phrases::shorten_text(side, MAX_DIFF_CHARS, TextStyle::plain(80));
            for (at, line) in side.split('\n').enumerate() {
                let lead = if at == 0 { format!("{}: ", attribute.path) } else { "    ".to_owned() };
                let _ =
                    writeln!(text, "{sign}   {}{}", escape::escape_line(&lead), escape::escape_line(line));
            }
        }
    }
    text
}
