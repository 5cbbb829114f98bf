//! The pages of an import and an adoption.

use crate::model::address::Address;
use crate::model::diagnostic::nearest_name;
use crate::plan::import::{ImportOmission, ImportResult};
use crate::plan::model::change::Change;
use crate::report::text::page::{TextLine, TextPage};
use crate::report::text::phrases;
use crate::report::text::style::{Symbol, TextRole, TextStyle};

/// How many skipped objects to list.
const MAX_LISTED_OMISSIONS: usize = 40;

/// Returns the page of an accepted import; with `full`, including the files' texts.
#[must_use]
pub fn takeover_page(accepted: &ImportResult, full: bool, style: TextStyle) -> String {
    let mut page = TextPage::new(style);
    for (name, text) in &accepted.files {
        page.add_line(
            TextLine::indent(0)
                .push_styled(TextRole::Success, "+ ")
                .push_styled(TextRole::Strong, name)
                .push_text(format!("  {}", phrases::count_noun(text.lines().count(), "line"))),
        );
        for line in text.lines().filter(|_| full) {
            page.add_row(TextLine::indent(4).push_text(line));
        }
    }
    let line =
        TextLine::indent(0).push_styled(TextRole::Success, page.sign(Symbol::Adopt)).push_text(format!(
            " {} imported; a plan has no changes",
            phrases::count_noun(accepted.entries.len(), "object")
        ));
    page.add_line(line);
    for variable in &accepted.variables {
        let name = variable.name.to_uppercase();
        let verb = if variable.of.len() > 1 { "are one variable" } else { "is a variable" };
        let text = format!("{} {verb} now: STEAD_VAR_{name} must be set", variable.describe_uses());
        page.add_line(
            TextLine::indent(0)
                .push_styled(TextRole::Warning, page.sign(Symbol::Warning))
                .push_text(" ")
                .push_text(text)
                .continue_at(2),
        );
    }
    in_clear(&mut page, accepted);
    add_unmatched(&mut page, accepted);
    for left in accepted.left.iter().take(MAX_LISTED_OMISSIONS) {
        let line = TextLine::indent(0)
            .push_styled(TextRole::Warning, "left out ")
            .push_styled(TextRole::Strong, left_out_name(left))
            .push_text("  ");
        page.add_row(line.push_text(&left.why).continue_at(4));
    }
    if accepted.left.len() > MAX_LISTED_OMISSIONS {
        page.add_line(
            TextLine::indent(0)
                .push_text(format!("and {} more left out", accepted.left.len() - MAX_LISTED_OMISSIONS)),
        );
    }
    for suggestion in accepted.suggestions.iter().take(MAX_LISTED_OMISSIONS) {
        page.add_line(
            TextLine::indent(0)
                .push_styled(TextRole::Faint, "help: ")
                .push_text(&suggestion.text)
                .continue_at(6),
        );
    }
    page.finish()
}

/// Adds the sensitive values that the files contain as plain text, and how to keep them out.
fn in_clear(page: &mut TextPage, accepted: &ImportResult) {
    let mut places: Vec<(String, Vec<&str>)> = Vec::new();
    for one in &accepted.in_clear {
        let place = format!("{}.{}", one.address, one.attribute);
        match places.last_mut() {
            Some((last, keys)) if *last == place => keys.push(&one.key),
            _ => places.push((place, vec![&one.key])),
        }
    }
    for (place, keys) in places.iter().take(MAX_LISTED_OMISSIONS) {
        let line = TextLine::indent(0)
            .push_styled(TextRole::Warning, "in clear ")
            .push_styled(TextRole::Strong, place)
            .push_text("  ");
        page.add_row(line.push_text(keys.join(", ")).continue_at(4));
    }
    if places.len() > MAX_LISTED_OMISSIONS {
        page.add_line(
            TextLine::indent(0)
                .push_text(format!("and {} more in clear", places.len() - MAX_LISTED_OMISSIONS)),
        );
    }
    if let Some(first) = accepted.in_clear.first() {
        let text = format!(
            "These values are stored in plain text. To make a secret among them a variable: --secret {}, or --secret '*'",
            first.key
        );
        page.add_line(TextLine::indent(4).push_text(text).continue_at(4));
    }
}

/// Adds the keys that were requested as secrets but that no attribute has.
fn add_unmatched(page: &mut TextPage, accepted: &ImportResult) {
    let known: Vec<&str> = accepted.in_clear.iter().map(|one| one.key.as_str()).collect();
    for key in &accepted.unmatched {
        let near = nearest_name(key, known.iter().copied()).map(|near| format!(": did you mean {near}?"));
        let line = TextLine::indent(0)
            .push_styled(TextRole::Warning, page.sign(Symbol::Warning))
            .push_styled(TextRole::Strong, format!(" --secret {key}"));
        let why = "  no imported object has a private value with this key";
        page.add_line(line.push_text(why).push_text(near.unwrap_or_default()).continue_at(4));
    }
}

fn left_out_name(left: &ImportOmission) -> String {
    match &left.attribute {
        Some(attribute) => format!("{}:{} {attribute}", left.key.kind, left.key.id),
        None => format!("{}:{}", left.key.kind, left.key.id),
    }
}

/// Returns the page of one object that an existing block adopts.
#[must_use]
pub fn adoption_page(address: &Address, id: &str, change: Option<&Change>, style: TextStyle) -> String {
    let mut page = TextPage::new(style);
    let head = TextLine::indent(0).push_styled(TextRole::Success, page.sign(Symbol::Adopt)).push_text(" ");
    page.add_line(head.push_styled(TextRole::Strong, address.as_str()).push_text(format!("  {id}")));
    for attribute in change.into_iter().flat_map(|change| &change.attributes) {
        let (before, after) =
            (phrases::format_value(&attribute.before), phrases::format_value(&attribute.after));
        let text = format!("{}  {before} {} {after}", attribute.path, page.sign(Symbol::Arrow));
        page.add_line(TextLine::indent(4).push_styled(TextRole::Change, text));
    }
    page.finish()
}
