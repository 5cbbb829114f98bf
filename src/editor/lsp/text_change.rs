//! Converts a file's old and new text to edits for the editor, in linear time. Small edits keep the editor's cursor
//! and folds in place.

use super::lines::LineIndex;
use super::protocol::TextEdit;
use crate::model::source::shared_ends;

/// Returns the edits that turn one text into the other: none if they are equal, one per changed line if the lines
/// correspond, else a single edit from the first to the last line that differs.
pub(super) fn compute_edits(old: &str, new: &str) -> Vec<TextEdit> {
    if old == new {
        return Vec::new();
    }
    let (before, after): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let (same, tail) = shared_ends(&before, &after);
    let lines = LineIndex::new(old);
    let mut at: usize = before[..same].iter().map(|line| line.len()).sum();
    let (before, after) = (&before[same..before.len() - tail], &after[same..after.len() - tail]);
    if before.len() != after.len() {
        let end = at + before.iter().map(|line| line.len()).sum::<usize>();
        return vec![TextEdit { range: lines.range(at, end), new_text: after.concat() }];
    }
    let mut edits = Vec::new();
    for (old, new) in before.iter().zip(after) {
        if old != new {
            edits.push(TextEdit { range: lines.range(at, at + old.len()), new_text: (*new).to_owned() });
        }
        at += old.len();
    }
    edits
}

#[cfg(test)]
pub(super) fn apply_edits(text: &str, edits: &[TextEdit]) -> String {
    let lines = LineIndex::new(text);
    let mut new = text.to_owned();
    for edit in edits.iter().rev() {
        new.replace_range(lines.offset(edit.range.start)..lines.offset(edit.range.end), &edit.new_text);
    }
    new
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn applying_the_computed_edits_yields_the_new_text(old in "[ab\n]{0,12}", new in "[ab\n]{0,12}") {
            prop_assert_eq!(apply_edits(&old, &compute_edits(&old, &new)), new);
        }
    }

    #[test]
    fn edits_contain_only_the_lines_that_differ() {
        assert_eq!(compute_edits("a\nb\nc\nd\n", "a\nx\nc\ny\n").len(), 2);
        assert_eq!(compute_edits("a\n", "a\n"), []);
    }
}
