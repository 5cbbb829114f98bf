//! Paths of secret sinks: which files must not receive a secret. In: a path as written. Out: the reason of a refusal. No
//! file that is accepted decides what a later run of stead, git, CI or an editor does.

use super::discovery::{is_stack_file, is_test_file};

/// Names of directories and files, in lower case, whose content version control, CI systems, editors and development
/// tools execute or obey: a secret that the service returns must not decide what these do. Every name that begins
/// with `.git` is refused as well.
const TOOL_CONTROLLED_PATHS: &[&str] = &[
    ".azure-pipelines",
    ".bitbucket",
    ".buildkite",
    ".bzr",
    ".cargo",
    ".circleci",
    ".cirrus.star",
    ".cirrus.yml",
    ".claude",
    ".config",
    ".cursor",
    ".devcontainer",
    ".devcontainer.json",
    ".direnv",
    ".drone.star",
    ".drone.yml",
    ".editorconfig",
    ".envrc",
    ".fleet",
    ".forgejo",
    ".hg",
    ".husky",
    ".idea",
    ".jj",
    ".pre-commit-config.yaml",
    ".run",
    ".semaphore",
    ".settings",
    ".stead",
    ".steadignore",
    ".svn",
    ".teamcity",
    ".travis.yml",
    ".vim",
    ".vs",
    ".vscode",
    ".woodpecker",
    ".woodpecker.yml",
    ".zed",
    "appveyor.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    "jenkinsfile",
    "lefthook.yml",
];

/// File name of the lock file with the pinned catalog names.
const LOCK_FILE_NAME: &str = "stead.lock";

/// Returns a normalized path, equal for all spellings of one file: without `.` and empty parts, and in one case,
/// because some file systems do not distinguish upper case from lower case.
pub(in crate::config) fn fold_path(path: &str) -> String {
    let parts = path.split('/').filter(|part| !part.is_empty() && *part != ".");
    // By way of upper case: the long s is a lower-case letter, and an `s` to a file system that knows no case.
    let parts: Vec<String> = parts.map(|part| part.to_uppercase().to_lowercase()).collect();
    parts.join("/")
}

/// Returns why no secret may be delivered to a path, as a sentence without its period; `None` if one may be.
/// Whether the path leaves the stack's directory is checked elsewhere.
pub(in crate::config) fn sink_path_refusal(path: &str) -> Option<String> {
    // Two spellings of such a name are one file on some systems, or look like one to a reader.
    if path.chars().any(is_ambiguous) {
        return Some("the path has control characters, invisible ones or combining accents".to_owned());
    }
    let folded = fold_path(path);
    for part in folded.split('/') {
        // Windows reads these as the same name: dots and blanks at the end, streams, short names.
        let plain = part.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
        let is_git = plain.starts_with(".git") || plain.starts_with("git~");
        if is_git || TOOL_CONTROLLED_PATHS.contains(&plain) {
            return Some(format!(
                "`{plain}` belongs to version control, CI, an editor or stead itself: its content controls what they do"
            ));
        }
    }
    let name = folded.rsplit('/').next().unwrap_or_default();
    (name == LOCK_FILE_NAME || is_stack_file(name) || is_test_file(name))
        .then(|| format!("`{name}` is the name of a stack's configuration file"))
}

fn is_ambiguous(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{300}'..='\u{36f}' | '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sink_in_a_file_that_tools_execute_is_rejected_in_every_spelling() {
        for path in [
            ".git/config",
            "./.GIT/hooks/pre-commit",
            "a/.git/x",
            ".gitignore",
            ".gitattributes",
            ".github/workflows/x.yml",
            ".GitHub/workflows/x.yml",
            ".gitlab-ci.yml",
            ".gitlab/x.yml",
            ".git./config",
            ".git /config",
            ".git::$INDEX_ALLOCATION/config",
            "git~1/config",
            ".stead/x",
            ".circleci/config.yml",
            ".vscode/tasks.json",
            ".idea/x",
            ".husky/pre-commit",
            ".envrc",
            "Jenkinsfile",
            "stead.yaml",
            "sub/Stead.KDL",
            "x.stead.yaml",
            "shop.test.yaml",
            "stead.lock",
            ".g\u{200c}it/config",
            "secrets/e\u{301}",
            "secrets/a\nb",
            // The long s is an S to a file system that knows no case.
            ".\u{17f}tead/x",
        ] {
            assert!(sink_path_refusal(path).is_some(), "{path:?}");
        }
        for path in [".env", "./secrets/ci", "git/x", "secrets/é", "gitlab.env", "stead.env", "a.b/c..d"] {
            assert_eq!(sink_path_refusal(path), None, "{path}");
        }
    }
}
