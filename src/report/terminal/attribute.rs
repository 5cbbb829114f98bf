//! Attributes of a change: `before → after` with place and cause, or one flowing line of a creation.

use crate::model::value::Value;
use crate::plan::model::change::{AttributeChange, Cause, Change, Unchanged};
use crate::report::text::page::{self, Line, Page};
use crate::report::text::style::{Role, Sign, Style};
use crate::report::text::{line_diff, phrases};

/// Blanks before an attribute.
const INDENT: usize = 6;

/// The widest column of attribute names.
const WIDEST_NAME: usize = 32;

/// Characters of a value, unless everything is asked for.
const MOST_OF_VALUE: usize = 200;

/// Characters of a value in a flowing line.
const MOST_IN_FLOW: usize = 60;

/// Lines of a difference, unless everything is asked for.
const MOST_LINES: usize = 40;

/// Adds one line for each attribute; more where a value is long.
pub(super) fn add_attribute_lines(page: &mut Page, attributes: &[AttributeChange], verbose: bool) {
    let widest = attributes.iter().map(|attribute| page::display_width(&attribute.path)).max().unwrap_or(0);
    let column = INDENT + widest.min(WIDEST_NAME) + 2;
    for attribute in attributes {
        add_attribute_line(page, attribute, column, verbose);
    }
}

/// Adds what stays as it is, in one line each.
pub(super) fn add_unchanged(page: &mut Page, rest: &[Unchanged]) {
    let widest = rest.iter().map(|one| page::display_width(&one.path)).max().unwrap_or(0);
    let column = INDENT + widest.min(WIDEST_NAME) + 2;
    for Unchanged { path, value, source } in rest {
        let line =
            Line::indent(INDENT).push_styled(Role::Faint, path).to_column(column).continue_at(column);
        let line = line
            .push_styled(Role::Faint, phrases::format_value(value))
            .push_styled(Role::Faint, "  unchanged");
        page.add_line(match source {
            Some(place) => line.at_end(Role::Faint, format!("{}:{}", place.file, place.line)),
            None => line,
        });
    }
}

fn add_attribute_line(page: &mut Page, attribute: &AttributeChange, column: usize, verbose: bool) {
    let style = page.style();
    let room = style.width.saturating_sub(column) / 2;
    let line = Line::indent(INDENT).push_text(&attribute.path).to_column(column).continue_at(column);
    if line_diff::is_long(&attribute.before, &attribute.after, room) {
        page.add_line(push_location(push_note(line, attribute), attribute));
        let most = if verbose { usize::MAX } else { MOST_LINES };
        page.add_lines(line_diff::diff_lines(&attribute.before, &attribute.after, INDENT + 2, most, style));
        return;
    }
    let line = push_values(line, attribute, verbose, style);
    page.add_line(push_location(push_note(line, attribute), attribute));
}

/// Adds before and after. A secret shows nothing but whether it is another one.
fn push_values(line: Line, attribute: &AttributeChange, verbose: bool, style: Style) -> Line {
    let (before, after) = (&attribute.before, &attribute.after);
    let arrow = style.sign(Sign::Arrow);
    if let (Value::Secret(_), _) | (Value::Null, Value::Secret(_)) = (before, after) {
        return push_secret(line, attribute, arrow);
    }
    let most = if verbose { usize::MAX } else { MOST_OF_VALUE };
    let (old, mut new) = phrases::distinguish_values(before, after);
    if after == &Value::Null {
        removal_note(attribute).clone_into(&mut new);
    }
    let role = if attribute.forces_replacement { Role::Danger } else { Role::Change };
    let line = match before {
        Value::Null => line,
        _ => line
            .push_text(phrases::shorten_text(old, most, style))
            .push_styled(Role::Faint, format!(" {arrow} ")),
    };
    line.push_styled(role, phrases::shorten_text(new, most, style))
}

/// Says what takes the place of a value that is not written any more.
const fn removal_note(attribute: &AttributeChange) -> &'static str {
    if attribute.removed { "(removed)" } else { "(default)" }
}

fn push_secret(line: Line, attribute: &AttributeChange, arrow: &str) -> Line {
    let (before, after) = (&attribute.before, &attribute.after);
    let digest = |value: &Value| match value {
        Value::Secret(secret) => phrases::secret_fingerprint(secret).map(str::to_owned),
        _ => None,
    };
    let (old, new) = (digest(before), digest(after));
    let line = match after {
        Value::Secret(_) => line.push_styled(Role::Change, "(secret)"),
        Value::Null => {
            return line.push_styled(Role::Change, format!("(secret) {arrow} {}", removal_note(attribute)));
        }
        other => {
            return line
                .push_styled(Role::Change, format!("(secret) {arrow} {}", phrases::format_value(other)));
        }
    };
    match (old, new) {
        (Some(old), Some(new)) => line.push_text(format!("  fingerprint {old} {arrow} {new}")),
        (None, Some(new)) => line.push_text(format!("  fingerprint {new}")),
        (_, None) => line,
    }
}

fn push_note(line: Line, attribute: &AttributeChange) -> Line {
    let last = attribute.last_applied.as_ref().map(phrases::format_value);
    let line = match (attribute.cause, last) {
        (Cause::Drift, _) => line.push_styled(Role::Warn, "  changed outside stead"),
        (Cause::Both, Some(last)) => {
            line.push_styled(Role::Warn, format!("  changed outside stead too; last applied {last}"))
        }
        (Cause::Both, None) => line.push_styled(Role::Warn, "  changed outside stead too"),
        (Cause::Unconfirmed, _) => line.push_styled(Role::Warn, "  differs from what was applied"),
        (Cause::NotKept, _) => line.push_styled(Role::Warn, "  not kept by the service"),
        (Cause::Config | Cause::Upstream | Cause::Unfinished, _) => line,
    };
    let line = if attribute.forces_replacement {
        line.push_styled(Role::Danger, "  forces the replacement")
    } else {
        line
    };
    match &attribute.set_by {
        Some(set_by) => line.push_styled(Role::Faint, format!("  {set_by}")),
        None => line,
    }
}

fn push_location(line: Line, attribute: &AttributeChange) -> Line {
    match &attribute.source {
        Some(place) => line.at_end(Role::Faint, format!("{}:{}", place.file, place.line)),
        None => line,
    }
}

/// Adds what a creation writes as flowing text: `plan cpu-4c-8g · template ubuntu-24.04`.
pub(super) fn add_flowing_values(page: &mut Page, change: &Change, one_line: bool) {
    let style = page.style();
    let mut line = Line::indent(INDENT).continue_at(INDENT);
    let mut first = true;
    for attribute in &change.attributes {
        if says_nothing(change, attribute) {
            continue;
        }
        if !std::mem::take(&mut first) {
            line = line.push_styled(Role::Faint, format!(" {} ", style.sign(Sign::Dot)));
        }
        line = line
            .push_styled(Role::Faint, format!("{} ", attribute.path))
            .push_text(brief_value(&attribute.after, style));
    }
    if first {
        return;
    }
    if one_line { page.cut_line(line) } else { page.add_line(line) }
}

/// Tells whether an attribute only repeats the address, as a name by default does.
fn says_nothing(change: &Change, attribute: &AttributeChange) -> bool {
    let Value::Text(text) = &attribute.after else { return false };
    let mut ends = change.address.as_str().rsplitn(3, '.');
    let (last, before) = (ends.next().unwrap_or_default(), ends.next().unwrap_or_default());
    attribute.path == "name"
        && (text == last || text.strip_suffix(last).and_then(|rest| rest.strip_suffix('-')) == Some(before))
}

fn brief_value(value: &Value, style: Style) -> String {
    match value {
        Value::Text(text) if text.trim_end().contains('\n') => {
            phrases::count_noun(text.lines().count(), "line")
        }
        Value::Secret(_) => "(secret)".to_owned(),
        other => phrases::shorten_text(phrases::format_value(other), MOST_IN_FLOW, style),
    }
}
