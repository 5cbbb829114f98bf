//! Access to the forge: GitHub, GitLab and compatible servers. A CI job posts one comment for each stack and
//! environment, and one issue while there is drift; later jobs find both and update them in place.

pub(super) mod api;
pub(super) mod ci_job;
pub(super) mod comments;
