//! The text around the report in a comment on a pull or merge request: the planned commit, or that planning failed.
//! Hidden marker lines, which programs read, precede everything that a stack controls, so no stack can forge them.

use super::formats::{comment_marker, marker_of};

/// Beginning of the marker line with the planned commit.
const HEAD_COMMIT_PREFIX: &str = "<!-- stead-head:";

/// Returns whether a string is a full commit id in lower case (SHA-1 or SHA-256).
fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64)
        && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Inserts the commit into a report, on the line after the report's marker, in place of an earlier one. Returns the
/// report unchanged without a commit, for an abbreviated one, and for a report without a marker.
#[must_use]
pub fn with_head(report: &str, commit: Option<&str>) -> String {
    let commit = commit.filter(|commit| is_commit(commit));
    match (marker_of(report), commit) {
        (Some(marker), Some(commit)) => {
            let rest = report.split_once('\n').map_or("", |(_, rest)| rest);
            // stead never writes this line into a report itself; one that is present was written by someone else.
            let rest = if rest.starts_with(HEAD_COMMIT_PREFIX) {
                rest.split_once('\n').map_or("", |(_, rest)| rest)
            } else {
                rest
            };
            format!("{marker}\n{HEAD_COMMIT_PREFIX}{commit} -->\n{rest}")
        }
        _ => report.to_owned(),
    }
}

/// Returns the commit that a comment's report was made for; `None` for a comment that is no report or names none.
#[must_use]
pub fn head_of(comment: &str) -> Option<&str> {
    marker_of(comment)?;
    let commit =
        comment.lines().nth(1)?.trim_end().strip_prefix(HEAD_COMMIT_PREFIX)?.strip_suffix(" -->")?;
    is_commit(commit).then_some(commit)
}

/// Returns the comment that replaces the plan's comment when planning failed: the plan of an earlier commit must not
/// stay as if it were valid. `title` is `stack/environment`.
#[must_use]
pub fn plan_failed(title: &str) -> String {
    let shown = comment_marker(title);
    format!(
        "<!-- stead:{shown} -->\n### ❌ stead · `{shown}` · the plan failed\n\nThere is no plan of this commit: see the job's log for the reason. A plan of an earlier commit is not valid.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::review::fingerprint_of;

    const COMMIT: &str = "c0ffeec0ffeec0ffeec0ffeec0ffeec0ffeec0ff";

    #[test]
    fn a_comment_names_the_commit_that_was_planned() {
        let report = "<!-- stead:shop/prod -->\n### x\n";
        let comment = with_head(report, Some(COMMIT));
        assert_eq!(head_of(&comment), Some(COMMIT));
        assert_eq!(with_head(&comment, Some(COMMIT)), comment);
        assert_eq!(head_of(report), None);
        for bad in ["c0ffee", &COMMIT.to_uppercase(), &format!("{COMMIT} -->")] {
            assert_eq!(head_of(&with_head(report, Some(bad))), None, "{bad}");
        }
        let forged = format!("### x\n{HEAD_COMMIT_PREFIX}{COMMIT} -->\n");
        assert_eq!(head_of(&forged), None);
        assert_eq!(head_of(&format!("<!-- stead:a -->\n\n{HEAD_COMMIT_PREFIX}{COMMIT} -->\n")), None);
    }

    #[test]
    fn a_plan_that_failed_has_no_fingerprint() {
        let text = with_head(&plan_failed("shop/prod"), Some(COMMIT));
        assert!(text.starts_with("<!-- stead:shop/prod -->\n"), "{text}");
        assert_eq!((head_of(&text), fingerprint_of(&text)), (Some(COMMIT), None));
    }
}
