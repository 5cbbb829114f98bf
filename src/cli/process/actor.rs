//! The actor of this process: `user@host`, and the CI job if there is one, for locks and journals. It identifies a
//! holder to people and is never used to grant access.

use super::env::EnvVariables;
use crate::model::address::Name;

/// Variables with the URL of the running CI job, in order of preference; the URL of a pipeline is less exact.
const JOB_URL_VARIABLES: &[&str] = &[
    "CI_JOB_URL",
    "BUILDKITE_BUILD_URL",
    "CIRCLE_BUILD_URL",
    "CI_PIPELINE_URL",
    "CI_STEP_URL",
    "BUILD_URL",
];

/// Variables with the commit that a CI job checked out, in order of preference.
const COMMIT_VARIABLES: &[&str] = &[
    "GITHUB_SHA",
    "CI_COMMIT_SHA",
    "BUILDKITE_COMMIT",
    "CIRCLE_SHA1",
    "BUILD_SOURCEVERSION",
    "GIT_COMMIT",
];

/// Returns the actor: `user@host`, with `someone` for an unknown user, and in CI the job's URL. Not escaped.
pub(in crate::cli) fn current_actor(variables: &EnvVariables) -> String {
    let user =
        ["USER", "LOGNAME"].iter().find_map(|name| variables.get(*name)).map_or("someone", String::as_str);
    let uname = rustix::system::uname();
    let host = uname.nodename().to_string_lossy();
    match ci_job(variables) {
        Some(job) => format!("{user}@{host} ({job})"),
        None => format!("{user}@{host}"),
    }
}

/// Returns the URL or the number of the CI job that this process is part of; `None` outside of CI, or if the job
/// does not state it.
fn ci_job(variables: &EnvVariables) -> Option<String> {
    let set = |name: &str| variables.get(name).filter(|value| !value.is_empty());
    if let Some(run) = set("GITHUB_RUN_ID") {
        return Some(match (set("GITHUB_SERVER_URL"), set("GITHUB_REPOSITORY")) {
            (Some(server), Some(repository)) => format!("{server}/{repository}/actions/runs/{run}"),
            _ => format!("GitHub run {run}"),
        });
    }
    set("CI")?;
    JOB_URL_VARIABLES.iter().find_map(|name| set(name)).cloned()
}

/// Returns the commit that the CI job reports as checked out; `None` if no variable holds a full hash.
pub(in crate::cli) fn ci_commit(variables: &EnvVariables) -> Option<Name> {
    COMMIT_VARIABLES
        .iter()
        .filter_map(|name| variables.get(*name))
        .find(|text| is_commit(text))
        .map(Name::new)
}

/// Variables with the branch of a CI job, in order of preference: that of a pull or merge request first.
const BRANCH_VARIABLES: &[&str] = &[
    "GITHUB_HEAD_REF",
    "GITHUB_REF_NAME",
    "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME",
    "CI_COMMIT_REF_NAME",
    "BUILDKITE_BRANCH",
    "CIRCLE_BRANCH",
    "BUILD_SOURCEBRANCHNAME",
    "GIT_BRANCH",
];

/// Returns the branch that the CI job states; `None` outside of CI.
pub(in crate::cli) fn ci_branch(variables: &EnvVariables) -> Option<Name> {
    let set = |name: &&str| variables.get(*name).filter(|value| !value.is_empty());
    BRANCH_VARIABLES.iter().find_map(set).map(Name::new)
}

/// Returns whether a string is a full commit hash: SHA-1 or SHA-256, in hexadecimal.
pub(in crate::cli) fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(given: &[(&str, &str)]) -> EnvVariables {
        given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_branch_of_a_request_precedes_that_of_the_job() {
        let github = variables(&[("GITHUB_REF_NAME", "7/merge"), ("GITHUB_HEAD_REF", "freeze")]);
        assert_eq!(ci_branch(&github).as_deref(), Some("freeze"));
        let pushed = variables(&[("GITHUB_REF_NAME", "main"), ("GITHUB_HEAD_REF", "")]);
        assert_eq!(ci_branch(&pushed).as_deref(), Some("main"));
        assert_eq!(ci_branch(&variables(&[("CI_COMMIT_REF_NAME", "main")])).as_deref(), Some("main"));
        assert_eq!(ci_branch(&variables(&[])), None);
    }

    #[test]
    fn the_actor_of_a_ci_job_includes_its_url() {
        let github = variables(&[
            ("USER", "runner"),
            ("CI", "true"),
            ("GITHUB_RUN_ID", "7"),
            ("GITHUB_SERVER_URL", "https://github.com"),
            ("GITHUB_REPOSITORY", "a/b"),
        ]);
        assert!(current_actor(&github).starts_with("runner@"));
        assert!(
            current_actor(&github).ends_with(" (https://github.com/a/b/actions/runs/7)"),
            "{}",
            current_actor(&github)
        );
        let gitlab = variables(&[("CI", "true"), ("CI_JOB_URL", "https://g/j/1")]);
        assert!(current_actor(&gitlab).ends_with(" (https://g/j/1)"));
        assert!(
            !current_actor(&variables(&[("USER", "ada"), ("CI_JOB_URL", "https://g/j/1")])).contains('(')
        );
    }

    #[test]
    fn only_a_full_sha_is_accepted_as_a_commit() {
        let sha = "0123456789abcdef0123456789abcdef01234567";
        let table = [
            (&[("GITHUB_SHA", sha)][..], Some(sha)),
            (&[("GITHUB_SHA", "main"), ("CI_COMMIT_SHA", sha)], Some(sha)),
            (&[("GIT_COMMIT", "\u{1b}[2J")], None),
            (&[], None),
        ];
        for (given, wanted) in table {
            assert_eq!(ci_commit(&variables(given)).as_deref(), wanted);
        }
    }
}
