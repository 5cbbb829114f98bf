//! The attributes of a change: `before → after` with location and cause, or a single wrapped line for a creation.
//! Secrets are shown as `(secret)` and, where known, the first digits of their fingerprint.

use crate::model::values::value::Value;
use crate::plan::model::change::{AttributeChange, Cause, Change, UnchangedAttribute};
use crate::report::text::named_ids::{named_value, named_values};
use crate::report::text::page::{self, TextLine, TextPage};
use crate::report::text::style::{Symbol, TextRole, TextStyle};
use crate::report::text::{line_diff, phrases};

/// Number of blanks before an unchanged attribute.
const INDENT: usize = 6;

/// Limit on the width of the column of attribute names.
const MAX_NAME_WIDTH: usize = 32;

/// Length limit in characters of a value, unless the output is verbose.
const MAX_VALUE_CHARS: usize = 200;

/// Length limit in characters of a value in a wrapped line.
const MAX_INLINE_CHARS: usize = 60;

/// Limit on the lines of a diff, unless the output is verbose; the rest is counted.
const MAX_DIFF_LINES: usize = 40;

/// Adds a line for each attribute, or several if a value is long.
pub(super) fn add_attribute_lines(
    page: &mut TextPage,
    attributes: &[AttributeChange],
    (indent, verbose): (usize, bool),
) {
    let widest = attributes.iter().map(|attribute| page::display_width(&attribute.path)).max().unwrap_or(0);
    let column = indent + widest.min(MAX_NAME_WIDTH) + 2;
    for attribute in attributes {
        add_attribute_line(page, attribute, (indent, column), verbose);
    }
}

/// Adds unchanged attributes, one line each, for verbose output.
pub(super) fn add_unchanged(page: &mut TextPage, rest: &[UnchangedAttribute]) {
    let widest = rest.iter().map(|one| page::display_width(&one.path)).max().unwrap_or(0);
    let column = INDENT + widest.min(MAX_NAME_WIDTH) + 2;
    for UnchangedAttribute { path, value, source, names, live_names } in rest {
        let line = TextLine::indent(INDENT)
            .push_styled(TextRole::Faint, path)
            .to_column(column)
            .continue_at(column);
        let line = line
            .push_styled(TextRole::Faint, phrases::format_value(&named_value(value, names, live_names)))
            .push_styled(TextRole::Faint, "  unchanged");
        page.add_line(match source {
            Some(place) => line.at_end(TextRole::Faint, format!("{}:{}", place.file, place.line)),
            None => line,
        });
    }
}

fn add_attribute_line(
    page: &mut TextPage,
    attribute: &AttributeChange,
    (indent, column): (usize, usize),
    verbose: bool,
) {
    let style = page.style();
    let room = style.width.saturating_sub(column) / 2;
    let line = TextLine::indent(indent).push_text(&attribute.path).to_column(column).continue_at(column);
    if line_diff::is_long(&attribute.before, &attribute.after, room) {
        page.add_line(push_location(push_note(line, attribute), attribute));
        let most = if verbose { usize::MAX } else { MAX_DIFF_LINES };
        page.add_lines(line_diff::diff_lines(&attribute.before, &attribute.after, indent + 2, most, style));
        return;
    }
    let line = push_values(line, attribute, verbose, style);
    page.add_line(push_location(push_note(line, attribute), attribute));
}

/// Adds the values before and after. For a secret it shows only whether the value changes; for a value that was not
/// set before, only the new one.
fn push_values(line: TextLine, attribute: &AttributeChange, verbose: bool, style: TextStyle) -> TextLine {
    let (before, after) = named_values(attribute);
    let (before, after) = (before.as_ref(), after.as_ref());
    let arrow = style.sign(Symbol::Arrow);
    if let (Value::Secret(_), _) | (Value::Null, Value::Secret(_)) = (before, after) {
        return push_secret(line, attribute, arrow);
    }
    let most = if verbose { usize::MAX } else { MAX_VALUE_CHARS };
    let (old, mut new) = phrases::distinguish_values(before, after);
    if after == &Value::Null {
        removal_note(attribute).clone_into(&mut new);
    }
    let role = if attribute.forces_replacement { TextRole::Danger } else { TextRole::Change };
    let line = match before {
        Value::Null => line,
        _ => line
            .push_text(phrases::shorten_text(old, most, style))
            .push_styled(TextRole::Faint, format!(" {arrow} ")),
    };
    line.push_styled(role, phrases::shorten_text(new, most, style))
}

/// Returns the text for a value that the configuration no longer sets.
const fn removal_note(attribute: &AttributeChange) -> &'static str {
    if attribute.removed { "(removed)" } else { "(default)" }
}

fn push_secret(line: TextLine, attribute: &AttributeChange, arrow: &str) -> TextLine {
    let (before, after) = (&attribute.before, &attribute.after);
    let digest = |value: &Value| match value {
        Value::Secret(secret) => phrases::secret_fingerprint(secret).map(str::to_owned),
        _ => None,
    };
    let (old, new) = (digest(before), digest(after));
    let line = match after {
        Value::Secret(_) => line.push_styled(TextRole::Change, "(secret)"),
        Value::Null => {
            return line
                .push_styled(TextRole::Change, format!("(secret) {arrow} {}", removal_note(attribute)));
        }
        other => {
            return line.push_styled(
                TextRole::Change,
                format!("(secret) {arrow} {}", phrases::format_value(other)),
            );
        }
    };
    match (old, new) {
        (Some(old), Some(new)) => line.push_text(format!("  fingerprint {old} {arrow} {new}")),
        (None, Some(new)) => line.push_text(format!("  fingerprint {new}")),
        (_, None) => line,
    }
}

fn push_note(line: TextLine, attribute: &AttributeChange) -> TextLine {
    let last = attribute
        .last_applied
        .as_ref()
        .map(|last| phrases::format_value(&named_value(last, &attribute.names, &attribute.live_names)));
    let line = match (attribute.cause, last) {
        (Cause::Drift, _) => line.push_styled(TextRole::Warning, "  changed outside stead"),
        (Cause::Both | Cause::Upstream, Some(last)) => {
            line.push_styled(TextRole::Warning, format!("  changed outside stead too; last applied {last}"))
        }
        (Cause::Both, None) => line.push_styled(TextRole::Warning, "  changed outside stead too"),
        (Cause::Unconfirmed, _) => line.push_styled(TextRole::Warning, "  differs from what was applied"),
        (Cause::NotKept, _) => line.push_styled(TextRole::Warning, "  not kept by the service"),
        (Cause::Config | Cause::Upstream | Cause::Unfinished, _) => line,
    };
    let line = if attribute.forces_replacement {
        line.push_styled(TextRole::Danger, "  forces the replacement")
    } else {
        line
    };
    match &attribute.set_by {
        Some(set_by) => line.push_styled(TextRole::Faint, format!("  {set_by}")),
        None => line,
    }
}

fn push_location(line: TextLine, attribute: &AttributeChange) -> TextLine {
    match &attribute.source {
        Some(place) => line.at_end(TextRole::Faint, format!("{}:{}", place.file, place.line)),
        None => line,
    }
}

/// Adds the attributes of a creation as wrapped text: `plan cpu-4c-8g · template ubuntu-24.04`; with `one_line`, cut
/// to the width. Adds nothing if no attribute says more than the address.
pub(super) fn add_flowing_values(page: &mut TextPage, change: &Change, (indent, one_line): (usize, bool)) {
    let style = page.style();
    let mut line = TextLine::indent(indent).continue_at(indent);
    let mut first = true;
    for attribute in &change.attributes {
        if says_nothing(change, attribute) {
            continue;
        }
        if !std::mem::take(&mut first) {
            line = line.push_styled(TextRole::Faint, format!(" {} ", style.sign(Symbol::Dot)));
        }
        line = line
            .push_styled(TextRole::Faint, format!("{} ", attribute.path))
            .push_text(brief_value(&named_values(attribute).1, style));
    }
    if first {
        return;
    }
    if one_line { page.cut_line(line) } else { page.add_line(line) }
}

/// Returns whether an attribute only repeats the address, as the default name does.
fn says_nothing(change: &Change, attribute: &AttributeChange) -> bool {
    let Value::Text(text) = &attribute.after else { return false };
    let mut ends = change.address.as_str().rsplitn(3, '.');
    let (last, before) = (ends.next().unwrap_or_default(), ends.next().unwrap_or_default());
    attribute.path == "name"
        && (text == last || text.strip_suffix(last).and_then(|rest| rest.strip_suffix('-')) == Some(before))
}

fn brief_value(value: &Value, style: TextStyle) -> String {
    match value {
        Value::Text(text) if text.trim_end().contains('\n') => {
            phrases::count_noun(text.lines().count(), "line")
        }
        Value::Secret(_) => "(secret)".to_owned(),
        other => phrases::shorten_text(phrases::format_value(other), MAX_INLINE_CHARS, style),
    }
}
