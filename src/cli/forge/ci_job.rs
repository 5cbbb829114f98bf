//! Determines the forge of a CI job, and its pull or merge request, from the variables that the forge sets. Pure:
//! the payload of an event is a file that the caller reads.

use super::api::Forge;
use crate::cli::process::env::EnvVariables;
use crate::model::values::secret::Secret;

/// A CI job, with the properties that posting notes needs.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::cli) struct CiJob {
    pub(in crate::cli) forge: Forge,
    /// Base URL of the API, not yet checked.
    pub(in crate::cli) api: String,
    /// The project, as it appears in paths of the API; has only characters that cannot change the path.
    pub(in crate::cli) project: String,
    /// URL of the project for a browser; `None` if its variable is not set.
    pub(in crate::cli) home: Option<String>,
    /// Number of the pull or merge request that the job runs for; `None` for a job of a branch.
    pub(in crate::cli) review: Option<u64>,
    /// Path of the file with GitHub's event payload; `None` on GitLab.
    pub(in crate::cli) event: Option<String>,
    /// Commit that the job runs for; not checked to be a hash.
    pub(in crate::cli) commit: Option<String>,
    /// Newest commit of the pull or merge request, if the forge states it in a variable; `None` on GitHub.
    pub(in crate::cli) head: Option<String>,
    /// Token that authorizes requests; secret.
    pub(in crate::cli) token: Secret,
}

/// Reason why the process is not a job of a supported forge.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::cli) enum CiJobError {
    /// No variable of a supported CI system is set.
    #[error(
        "this is not a job of GitHub Actions or GitLab CI: neither GITHUB_REPOSITORY nor CI_API_V4_URL is set"
    )]
    NotInCi,
    /// A required variable is missing.
    #[error("{0} is not set")]
    MissingVariable(&'static str),
    /// The project's name would change the request's path.
    #[error("{0} does not name a project")]
    InvalidProject(&'static str),
}

impl CiJobError {
    /// Returns advice for the user.
    pub(in crate::cli) fn help(&self) -> &'static str {
        match self {
            Self::NotInCi => {
                "Run it in a job of one of them; by hand: GITHUB_REPOSITORY=owner/name GITHUB_TOKEN=…"
            }
            Self::MissingVariable("GITHUB_TOKEN") => {
                "Give the step `env: { GITHUB_TOKEN: ${{ github.token }} }`."
            }
            Self::MissingVariable("GITLAB_TOKEN") => {
                "Create a project access token with the scope `api`, and a masked variable GITLAB_TOKEN with it: a job's own token may not write comments."
            }
            Self::MissingVariable(_) | Self::InvalidProject(_) => "The CI system sets it.",
        }
    }
}

impl CiJob {
    /// Returns the job that the variables describe; an empty variable counts as not set.
    ///
    /// # Errors
    /// When they describe no job of a supported forge, or a required one is missing or invalid.
    pub(in crate::cli) fn from_env(variables: &EnvVariables) -> Result<Self, CiJobError> {
        let set = |name: &str| variables.get(name).filter(|value| !value.is_empty()).cloned();
        let token = |name| set(name).map(Secret::new).ok_or(CiJobError::MissingVariable(name));
        if let Some(project) = set("GITHUB_REPOSITORY") {
            let is_plain = |part: &str| !part.starts_with('.') && part.bytes().all(is_of_name);
            if !project.split_once('/').is_some_and(|(owner, name)| is_plain(owner) && is_plain(name)) {
                return Err(CiJobError::InvalidProject("GITHUB_REPOSITORY"));
            }
            return Ok(Self {
                forge: Forge::GitHub,
                api: set("GITHUB_API_URL").unwrap_or_else(|| "https://api.github.com".to_owned()),
                home: set("GITHUB_SERVER_URL").map(|server| format!("{server}/{project}")),
                project,
                review: set("GITHUB_REF").and_then(|reference| pull_request(&reference)),
                event: set("GITHUB_EVENT_PATH"),
                commit: set("GITHUB_SHA"),
                head: None,
                token: token("GITHUB_TOKEN")?,
            });
        }
        let api = set("CI_API_V4_URL").ok_or(CiJobError::NotInCi)?;
        let project = set("CI_PROJECT_ID").ok_or(CiJobError::MissingVariable("CI_PROJECT_ID"))?;
        if !project.bytes().all(|b| b.is_ascii_digit()) {
            return Err(CiJobError::InvalidProject("CI_PROJECT_ID"));
        }
        Ok(Self {
            forge: Forge::GitLab,
            api,
            project,
            home: set("CI_PROJECT_URL"),
            review: set("CI_MERGE_REQUEST_IID").and_then(|number| number.parse().ok()),
            event: None,
            // A merged-results pipeline checks out a temporary merge commit; the commit of the source
            // branch is in another variable.
            head: set("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA")
                .or_else(|| set("CI_MERGE_REQUEST_IID").and_then(|_| set("CI_COMMIT_SHA"))),
            commit: set("CI_COMMIT_SHA"),
            token: token("GITLAB_TOKEN")?,
        })
    }

    /// Returns the browser URL of a comment, for an API that returns only its number; `None` if the project's
    /// URL is not known.
    pub(in crate::cli) fn comment_url(&self, review: u64, comment: u64) -> Option<String> {
        let home = self.home.as_ref()?;
        Some(match self.forge {
            Forge::GitHub => format!("{home}/pull/{review}#issuecomment-{comment}"),
            Forge::GitLab => format!("{home}/-/merge_requests/{review}#note_{comment}"),
        })
    }
}

/// Returns whether a byte can be part of an owner's or repository's name.
const fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
}

/// Parses the number in `refs/pull/7/merge`; `None` for another reference.
fn pull_request(reference: &str) -> Option<u64> {
    reference.strip_prefix("refs/pull/")?.split('/').next()?.parse().ok()
}

/// Parses the number of the pull request from GitHub's event payload; `None` if the event is not about one.
pub(in crate::cli) fn of_event(text: &str) -> Option<u64> {
    let event: serde_json::Value = serde_json::from_str(text).ok()?;
    event.pointer("/pull_request/number").or_else(|| event.pointer("/issue/number"))?.as_u64()
}

/// Parses the newest commit of the pull request from GitHub's event payload; `None` if the event does not contain it.
pub(in crate::cli) fn head_of_event(text: &str) -> Option<String> {
    let event: serde_json::Value = serde_json::from_str(text).ok()?;
    event.pointer("/pull_request/head/sha")?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(variables: &[(&str, &str)]) -> Result<CiJob, CiJobError> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        CiJob::from_env(&variables.iter().map(owned).collect())
    }

    #[test]
    fn the_variables_of_each_ci_system_describe_its_jobs() {
        let hub = job(&[
            ("GITHUB_REPOSITORY", "acme/infra"),
            ("GITHUB_REF", "refs/pull/7/merge"),
            ("GITHUB_SERVER_URL", "https://github.com"),
            ("GITHUB_TOKEN", "canary"),
        ])
        .unwrap();
        assert_eq!((hub.forge, hub.review), (Forge::GitHub, Some(7)));
        assert_eq!(hub.comment_url(7, 9).unwrap(), "https://github.com/acme/infra/pull/7#issuecomment-9");
        assert!(!format!("{hub:?}").contains("canary"));
        let lab = job(&[
            ("CI_API_V4_URL", "https://gitlab.example.com/api/v4"),
            ("CI_PROJECT_ID", "42"),
            ("CI_PROJECT_URL", "https://gitlab.example.com/a/b"),
            ("CI_MERGE_REQUEST_IID", "3"),
            ("GITLAB_TOKEN", "canary"),
        ])
        .unwrap();
        assert_eq!((lab.forge, lab.review), (Forge::GitLab, Some(3)));
        assert_eq!(
            lab.comment_url(3, 5).unwrap(),
            "https://gitlab.example.com/a/b/-/merge_requests/3#note_5"
        );
    }

    #[test]
    fn missing_or_unsafe_ci_variables_are_named() {
        assert_eq!(job(&[]), Err(CiJobError::NotInCi));
        assert_eq!(
            job(&[("GITHUB_REPOSITORY", "a/b"), ("GITHUB_TOKEN", "")]),
            Err(CiJobError::MissingVariable("GITHUB_TOKEN"))
        );
        for name in ["a", "a/b/c", "../a", "a/..", "a/b?x", "a/b#x"] {
            let found = job(&[("GITHUB_REPOSITORY", name), ("GITHUB_TOKEN", "t")]);
            assert_eq!(found, Err(CiJobError::InvalidProject("GITHUB_REPOSITORY")), "{name}");
        }
        let lab =
            job(&[("CI_API_V4_URL", "https://g"), ("CI_PROJECT_ID", "4/../5"), ("GITLAB_TOKEN", "t")]);
        assert_eq!(lab, Err(CiJobError::InvalidProject("CI_PROJECT_ID")));
    }

    #[test]
    fn a_pull_request_number_is_read_from_the_ref_or_the_event() {
        assert_eq!(pull_request("refs/heads/main"), None);
        assert_eq!(of_event(r#"{"pull_request": {"number": 12}}"#), Some(12));
        assert_eq!(of_event(r#"{"issue": {"number": 13}}"#), Some(13));
        assert_eq!(of_event("no JSON"), None);
        let head = head_of_event(r#"{"pull_request": {"number": 12, "head": {"sha": "abc"}}}"#);
        assert_eq!(head.as_deref(), Some("abc"));
    }
}
