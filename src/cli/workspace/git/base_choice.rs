//! The choice of the base that the stacks are compared with: the one that the user names, else the target of the
//! request that CI runs for, else the default branch. Pure but for the references that it looks up.

use super::base_name::BaseName;
use super::git_error::GitError;
use crate::cli::files::git_refs::{GitRefs, RefValue};
use crate::cli::process::env::EnvVariables;

/// Variables with the target of a request, in order of preference. The commit that GitLab merged with is exact, the
/// target branch can be newer than the merge, and the base of the diff is the oldest.
const TARGET_VARIABLES: &[(&str, TargetKind)] = &[
    ("GITHUB_BASE_REF", TargetKind::Branch),
    ("CI_MERGE_REQUEST_TARGET_BRANCH_SHA", TargetKind::Commit),
    ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", TargetKind::Branch),
    ("CI_MERGE_REQUEST_DIFF_BASE_SHA", TargetKind::Commit),
];

/// Names of default branches, where the clone does not say which one it is.
const DEFAULT_BRANCHES: [&str; 2] = ["main", "master"];

/// Reference that names the server's default branch.
const REMOTE_HEAD: &str = "refs/remotes/origin/HEAD";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TargetKind {
    Branch,
    Commit,
}

/// Returns the bases to try, in order of preference; at least one.
///
/// # Errors
/// When the user must name it: the clone has no default branch, or that branch is checked out.
pub(super) fn base_candidates(
    given: Option<&str>,
    variables: &EnvVariables,
    refs: &GitRefs,
) -> Result<Vec<BaseName>, GitError> {
    if let Some(name) = given {
        return Ok(vec![BaseName::given(name)]);
    }
    let targets = request_targets(variables);
    if targets.is_empty() { default_branch(refs).map(|base| vec![base]) } else { Ok(targets) }
}

fn request_targets(variables: &EnvVariables) -> Vec<BaseName> {
    let set = |name: &str| variables.get(name).filter(|value| !value.is_empty());
    let named =
        TARGET_VARIABLES.iter().filter_map(|(variable, kind)| Some((*variable, *kind, set(variable)?)));
    let mut found = Vec::new();
    for (variable, kind, value) in named {
        let base = |name: String| BaseName { name, variable: Some(variable), is_default: false };
        match kind {
            // CI checks out one branch: a local branch of the target's name would be an older copy.
            TargetKind::Branch => found.extend([base(format!("origin/{value}")), base(value.clone())]),
            TargetKind::Commit => found.push(base(value.clone())),
        }
    }
    found
}

/// Returns the default branch, which must not be checked out.
fn default_branch(refs: &GitRefs) -> Result<BaseName, GitError> {
    let of_remote = |name: &str| format!("refs/remotes/origin/{name}");
    let of_clone = |name: &str| format!("refs/heads/{name}");
    let remote = match refs.read(REMOTE_HEAD) {
        Some(RefValue::Symbolic(name)) if refs.resolve(&name).is_some() => Some(name),
        _ => None,
    };
    let guessed = || {
        let names = DEFAULT_BRANCHES.iter().flat_map(|name| [of_remote(name), of_clone(name)]);
        names.into_iter().find(|name| refs.resolve(name).is_some())
    };
    let Some(full) = remote.or_else(guessed) else {
        return Err(GitError::BaseRequired("the clone has no default branch".to_owned()));
    };
    let short =
        full.strip_prefix("refs/remotes/").or_else(|| full.strip_prefix("refs/heads/")).unwrap_or(&full);
    let branch = short.strip_prefix("origin/").unwrap_or(short);
    if refs.read("HEAD") == Some(RefValue::Symbolic(of_clone(branch))) {
        let why = format!("`{branch}` is checked out, which is the default branch");
        return Err(GitError::BaseRequired(why));
    }
    Ok(BaseName { name: short.to_owned(), variable: None, is_default: true })
}
