//! Review reports: one plan, or the problems of a configuration, in formats for other programs and for
//! reviewers. Each format is one file, based on the shared views in `view` and `finding`.

mod codequality;
mod comment;
mod finding;
mod format;
mod gitlab;
mod html;
mod identity;
mod junit;

mod markdown;
mod mermaid;
mod prometheus;
mod sarif;
mod tfjson;
mod view;

pub use self::finding::ReviewDiagnostics;
pub use comment::{head_of, plan_failed, with_head};
pub use format::ReviewFormat;
pub use markdown::{comment_marker, fingerprint_of, marker_of};
pub use view::{PlanReview, RepositoryRoot, ReviewSubject};

#[cfg(test)]
mod tests;
