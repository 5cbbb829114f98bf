//! What a comment on a pull or merge request says besides the report: the commit that was planned, or that the
//! plan failed. Hidden lines that programs read stand before everything that a stack could write.

use super::markdown::{comment_marker, marker_of};

/// What the line begins with that names the commit that was planned.
const HEAD_COMMIT_PREFIX: &str = "<!-- stead-head:";

/// Tells whether a text is the whole id of a commit.
fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64)
        && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Returns a report with the commit that it is of, on the line after its marker.
#[must_use]
pub fn with_head(report: &str, commit: Option<&str>) -> String {
    let commit = commit.filter(|commit| is_commit(commit));
    match (marker_of(report), commit) {
        (Some(marker), Some(commit)) => {
            let rest = report.split_once('\n').map_or("", |(_, rest)| rest);
            // A report says nothing of this itself; what stands there already was written by somebody else.
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

/// Returns the commit that a comment's report is of.
#[must_use]
pub fn head_of(comment: &str) -> Option<&str> {
    marker_of(comment)?;
    let commit =
        comment.lines().nth(1)?.trim_end().strip_prefix(HEAD_COMMIT_PREFIX)?.strip_suffix(" -->")?;
    is_commit(commit).then_some(commit)
}

/// Returns the comment that takes the place of a plan's when planning failed.
#[must_use]
pub fn plan_failed(title: &str) -> String {
    let shown = comment_marker(title);
    format!(
        "<!-- stead:{shown} -->\n### ❌ stead · `{shown}` · the plan failed\n\n\
         There is no plan of this commit: the job's log says why. A plan of an earlier commit does not count.\n"
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
