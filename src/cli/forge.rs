//! Access to the forge: GitHub, GitLab and compatible servers. A CI job posts one comment for each stack and
//! environment, and one issue while there is drift; later jobs find both by a marker in their first line and update
//! them in place. `api` has the requests as data, `ci_job` the variables of a job, `comments` sends.

pub(super) mod api;
pub(super) mod ci_job;
pub(super) mod comments;
