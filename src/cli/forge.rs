//! Where code is reviewed: GitHub, GitLab, and what speaks like them. A CI job leaves one comment for each stack and
//! environment there, and one issue while there is drift; both are found again and rewritten in place.

pub(super) mod api;
pub(super) mod ci_job;
pub(super) mod comments;
