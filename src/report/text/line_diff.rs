//! Line diffs of long values: multi-line strings, lists and maps.

use std::time::Instant;

use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::{ChangeTag, DiffOp, group_diff_ops};

use super::page::TextLine;
use super::phrases;
use super::style::{Symbol, TextRole, TextStyle};
use crate::model::values::value::Value;

/// Number of context lines around a difference.
const CONTEXT_LINES: usize = 1;

/// Number of lines on both sides together above which no diff is computed: it would take too long to compute and read.
const MAX_COMPARED_LINES: usize = 4_000;

/// Returns whether two values are better shown as a line diff than as `before → after` in `room` columns for each.
#[must_use]
pub fn is_long(before: &Value, after: &Value, room: usize) -> bool {
    let many = |value: &Value| match value {
        Value::Text(text) => text.trim_end().contains('\n'),
        Value::List(items) => phrases::format_value(value).len() > room && items.len() > 1,
        Value::Map(map) => phrases::format_value(value).len() > room && map.len() > 1,
        _ => false,
    };
    many(before) || many(after)
}

/// Returns a value as lines: the lines of a string, the items of a list, or the entries of a map; none for null.
fn value_lines(value: &Value) -> Vec<String> {
    match value {
        Value::Null => Vec::new(),
        Value::Text(text) => text.lines().map(str::to_owned).collect(),
        Value::List(items) => items.iter().map(phrases::format_value).collect(),
        Value::Map(map) => {
            map.iter().map(|(key, item)| format!("{key}: {}", phrases::format_value(item))).collect()
        }
        other => vec![phrases::format_value(other)],
    }
}

/// Returns the lines that differ with their context, at most `most`, and a line with the number of omitted lines. For
/// very long values one line with the numbers of lines.
#[must_use]
pub fn diff_lines(
    before: &Value,
    after: &Value,
    indent: usize,
    most: usize,
    style: TextStyle,
) -> Vec<TextLine> {
    let (old, new) = (value_lines(before), value_lines(after));
    let at = |role, sign: &str, text: &str| {
        TextLine::indent(indent).push_styled(role, sign).push_styled(role, text).continue_at(indent + 4)
    };
    if old.len() + new.len() > MAX_COMPARED_LINES {
        let text = format!(
            "{} {} {}",
            phrases::count_noun(old.len(), "line"),
            style.sign(Symbol::Arrow),
            new.len()
        );
        return vec![at(TextRole::Faint, "", &text)];
    }
    let mut shown = Vec::new();
    let mut left_out = 0;
    for (number, group) in
        group_diff_ops(diff_operations(&old, &new, None), CONTEXT_LINES).iter().enumerate()
    {
        if number > 0 && shown.len() < most {
            shown.push(at(TextRole::Faint, "  ", style.sign(Symbol::Ellipsis)));
        }
        for change in group.iter().flat_map(|op| op.iter_changes(&old[..], &new[..])) {
            let (role, sign) = match change.tag() {
                ChangeTag::Delete => (TextRole::Danger, "- "),
                ChangeTag::Insert => (TextRole::Success, "+ "),
                ChangeTag::Equal => (TextRole::Faint, "  "),
            };
            if shown.len() < most {
                shown.push(at(role, sign, &change.value()));
            } else {
                left_out += 1;
            }
        }
    }
    if left_out > 0 {
        let text = format!("{} and {left_out} more lines (-v)", style.sign(Symbol::Ellipsis));
        shown.push(at(TextRole::Faint, "  ", &text));
    }
    shown
}

/// Returns the steps of the diff; after `until` it need not be minimal, and `None` always gives a minimal one. The
/// call names the algorithm: a dispatch over all algorithms would link each of them into the binary.
pub(in crate::report) fn diff_operations(
    old: &[String],
    new: &[String],
    until: Option<Instant>,
) -> Vec<DiffOp> {
    let mut capture = Compact::new(Replace::new(Capture::new()), old, new);
    match myers::diff_deadline(&mut capture, old, 0..old.len(), new, 0..new.len(), until) {
        Ok(()) => capture.into_inner().into_inner().into_ops(),
        Err(never) => match never {},
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::text::page::TextPage;

    fn shown(before: &Value, after: &Value, most: usize) -> String {
        let mut page = TextPage::new(TextStyle::plain(60));
        page.add_lines(diff_lines(before, after, 2, most, TextStyle::plain(60)));
        page.finish()
    }

    #[test]
    fn a_line_diff_shows_differences_with_context() {
        let before = Value::text("#!/bin/sh\na\nb\nc\nd\ne\nf\ng\nlast\n");
        let after = Value::text("#!/bin/sh\nA\nb\nc\nd\ne\nf\ng\nlast\nmore\u{1b}[2J\n");
        insta::assert_snapshot!(shown(&before, &after, 40), @r"
            #!/bin/sh
          - a
          + A
            b
            …
            last
          + more\u{1b}[2J
        ");
        insta::assert_snapshot!(shown(&before, &after, 2), @r"
            #!/bin/sh
          - a
            … and 4 more lines (-v)
        ");
    }

    #[test]
    fn lists_are_compared_item_by_item() {
        let list = |items: &[&str]| Value::List(items.iter().map(Value::text).collect());
        let (before, after) = (list(&["10.0.0.0/8", "a"]), list(&["10.0.0.0/8", "b"]));
        assert!(is_long(&before, &after, 10) && !is_long(&before, &after, 80));
        insta::assert_snapshot!(shown(&before, &after, 40), @r"
            10.0.0.0/8
          - a
          + b
        ");
    }
}
