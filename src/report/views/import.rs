//! What is taken over, as people read it.

use crate::model::address::Address;
use crate::model::diagnostic::nearest;
use crate::plan::import::{Accepted, Left};
use crate::plan::model::change::Change;
use crate::report::text::page::{Line, Page};
use crate::report::text::phrases;
use crate::report::text::style::{Role, Sign, Style};

/// Things left out that are told one by one.
const MOST: usize = 40;

/// Returns the page of an accepted takeover; in full with the files' texts.
#[must_use]
pub fn page(accepted: &Accepted, full: bool, style: Style) -> String {
    let mut page = Page::new(style);
    for (name, text) in &accepted.files {
        page.line(
            Line::indent(0)
                .put(Role::Good, "+ ")
                .put(Role::Strong, name)
                .say(format!("  {}", phrases::counted(text.lines().count(), "line"))),
        );
        for line in text.lines().filter(|_| full) {
            page.row(Line::indent(4).say(line));
        }
    }
    let line = Line::indent(0).put(Role::Good, page.sign(Sign::Adopt)).say(format!(
        " {} taken over; a plan of it has nothing to do",
        phrases::counted(accepted.entries.len(), "object")
    ));
    page.line(line);
    for variable in &accepted.variables {
        let name = variable.name.to_uppercase();
        let verb = if variable.of.len() > 1 { "are one variable" } else { "is a variable" };
        let text = format!("{} {verb} now: STEAD_VAR_{name} must be set", variable.places());
        page.line(Line::indent(0).put(Role::Warn, page.sign(Sign::Bang)).say(" ").say(text).hanging(2));
    }
    in_clear(&mut page, accepted);
    unmatched(&mut page, accepted);
    for left in accepted.left.iter().take(MOST) {
        let line = Line::indent(0).put(Role::Warn, "left out ").put(Role::Strong, what(left)).say("  ");
        page.row(line.say(&left.why).hanging(4));
    }
    if accepted.left.len() > MOST {
        page.line(Line::indent(0).say(format!("and {} more left out", accepted.left.len() - MOST)));
    }
    for suggestion in accepted.suggestions.iter().take(MOST) {
        page.line(Line::indent(0).put(Role::Faint, "help: ").say(&suggestion.text).hanging(6));
    }
    page.finish()
}

/// Tells which private values can be read in the files, and how to keep them out.
fn in_clear(page: &mut Page, accepted: &Accepted) {
    let mut places: Vec<(String, Vec<&str>)> = Vec::new();
    for one in &accepted.in_clear {
        let place = format!("{}.{}", one.address, one.attribute);
        match places.last_mut() {
            Some((last, keys)) if *last == place => keys.push(&one.key),
            _ => places.push((place, vec![&one.key])),
        }
    }
    for (place, keys) in places.iter().take(MOST) {
        let line = Line::indent(0).put(Role::Warn, "in clear ").put(Role::Strong, place).say("  ");
        page.row(line.say(keys.join(", ")).hanging(4));
    }
    if places.len() > MOST {
        page.line(Line::indent(0).say(format!("and {} more in clear", places.len() - MOST)));
    }
    if let Some(first) = accepted.in_clear.first() {
        let text = format!(
            "Whoever reads the files reads these. A secret among them becomes a variable: --secret {}, or --secret '*'",
            first.key
        );
        page.line(Line::indent(4).say(text).hanging(4));
    }
}

/// Tells which keys that were to be secrets nothing has.
fn unmatched(page: &mut Page, accepted: &Accepted) {
    let known: Vec<&str> = accepted.in_clear.iter().map(|one| one.key.as_str()).collect();
    for key in &accepted.unmatched {
        let near = nearest(key, known.iter().copied()).map(|near| format!(": did you mean {near}?"));
        let line = Line::indent(0)
            .put(Role::Warn, page.sign(Sign::Bang))
            .put(Role::Strong, format!(" --secret {key}"));
        let why = "  nothing that is taken over has a private value of this key";
        page.line(line.say(why).say(near.unwrap_or_default()).hanging(4));
    }
}

fn what(left: &Left) -> String {
    match &left.attribute {
        Some(attribute) => format!("{}:{} {attribute}", left.key.kind, left.key.id),
        None => format!("{}:{}", left.key.kind, left.key.id),
    }
}

/// Returns the page of one object that a written block takes over.
#[must_use]
pub fn adoption(address: &Address, id: &str, change: Option<&Change>, style: Style) -> String {
    let mut page = Page::new(style);
    let head = Line::indent(0).put(Role::Good, page.sign(Sign::Adopt)).say(" ");
    page.line(head.put(Role::Strong, address.as_str()).say(format!("  {id}")));
    for attribute in change.into_iter().flat_map(|change| &change.attributes) {
        let (before, after) = (phrases::value(&attribute.before), phrases::value(&attribute.after));
        let text = format!("{}  {before} {} {after}", attribute.path, page.sign(Sign::Arrow));
        page.line(Line::indent(4).put(Role::Change, text));
    }
    page.finish()
}
