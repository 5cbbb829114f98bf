//! Review reports: one plan, or the problems of a configuration, in formats for other programs and for
//! reviewers. Each format is one file below `formats`, based on the shared views in `view` and `finding`.

mod comment;
mod finding;
mod formats;
mod identity;
mod view;

pub use self::finding::ReviewDiagnostics;
pub use comment::{head_of, plan_failed, with_head};
pub use formats::{
    ReviewFormat, UnitsReport, comment_marker, difference_markdown, digests_of, fingerprint_of,
    has_digest_line, marker_of, units_of,
};
pub use view::{PlanReview, RepositoryRoot, ReviewSubject, ReviewedCommit};

#[cfg(test)]
mod tests;
