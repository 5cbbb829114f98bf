//! Edits of files as diffs for a review: removed and added lines with context.

use std::time::Instant;

use similar::udiff::UnifiedHunkHeader;
use similar::{ChangeTag, group_diff_ops};

use crate::report::text::line_diff::diff_operations;
use crate::report::text::page::{TextLine, TextPage};
use crate::report::text::style::{TextRole, TextStyle};

/// Number of context lines around a difference.
const CONTEXT_LINES: usize = 2;

/// Returns the diff of one file as a page.
#[must_use]
pub fn edit_page(path: &str, before: &str, after: &str, style: TextStyle) -> String {
    let (old, new) = (split_lines(before), split_lines(after));
    let mut page = TextPage::new(style);
    page.add_line(TextLine::indent(0).push_styled(TextRole::Strong, path));
    for group in group_diff_ops(diff_operations(&old, &new, None), CONTEXT_LINES) {
        let first = group.first().map_or(0, |op| op.old_range().start);
        page.add_line(TextLine::indent(0).push_styled(TextRole::Faint, format!("@@ line {}", first + 1)));
        for change in group.iter().flat_map(|op| op.iter_changes(&old[..], &new[..])) {
            let (role, sign) = match change.tag() {
                ChangeTag::Delete => (TextRole::Danger, "- "),
                ChangeTag::Insert => (TextRole::Success, "+ "),
                ChangeTag::Equal => (TextRole::Faint, "  "),
            };
            let text = change.value();
            let text = text.strip_suffix('\n').unwrap_or(&text);
            let text = text.strip_suffix('\r').unwrap_or(text);
            page.add_line(TextLine::indent(0).push_styled(role, format!("{sign}{text}")).continue_at(4));
        }
    }
    page.finish()
}

/// Returns the change of one file as a unified diff for `patch`; after `until` it need not be minimal.
#[must_use]
pub fn unified_diff(path: &str, before: &str, after: &str, until: Option<Instant>) -> String {
    let (old, new) = (split_lines(before), split_lines(after));
    let mut text = String::new();
    for group in group_diff_ops(diff_operations(&old, &new, until), CONTEXT_LINES) {
        if text.is_empty() {
            text = format!("--- {path}\n+++ {path}\n");
        }
        text.push_str(&UnifiedHunkHeader::new(&group).to_string());
        text.push('\n');
        for change in group.iter().flat_map(|op| op.iter_changes(&old[..], &new[..])) {
            text.push_str(&change.tag().to_string());
            text.push_str(&change.value());
            if !change.value().ends_with('\n') {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    text
}

fn split_lines(text: &str) -> Vec<String> {
    text.split_inclusive('\n').map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_shows_the_lines_around_a_change() {
        let before = "a: 1\nb: 2\nc: 3\nd: 4\ne: 5\nf: 6\n";
        let after = "a: 1\nb: 2\nc: 3\nd: 5 # x\ne: 5\nf: 6\n";
        insta::assert_snapshot!(edit_page("stead.yaml", before, after, TextStyle::plain(60)), @r"
        stead.yaml
        @@ line 2
          b: 2
          c: 3
        - d: 4
        + d: 5 # x
          e: 5
          f: 6
        ");
    }
    #[test]
    fn a_unified_diff_is_accepted_by_patch() {
        let before = "a: 1\nb: 2\nc: 3\nd: 4\ne: 5\nf: 6\ng: 7\nh: 8";
        let after = "a: 0\nb: 2\nc: 3\nd: 4\ne: 5\nf: 6\ng: 7\nh: 8\ni: 9\n";
        insta::assert_snapshot!(unified_diff("stead.yaml", before, after, None), @r"
        --- stead.yaml
        +++ stead.yaml
        @@ -1,3 +1,3 @@
        -a: 1
        +a: 0
         b: 2
         c: 3
        @@ -6,3 +6,4 @@
         f: 6
         g: 7
        -h: 8
        \ No newline at end of file
        +h: 8
        +i: 9
        ");
        assert_eq!(unified_diff("stead.yaml", before, before, None), "");
    }
}
