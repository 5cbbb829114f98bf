//! Errors of reading a base commit, with what to do about each. None of them may look like "nothing changed".

use super::base_name::BaseName;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;

/// Reason why the stacks cannot be compared with a base.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::cli) enum GitError {
    /// The directory is not the root of a repository.
    #[error("`--changed` compares with a commit, but {0} is not in a Git repository")]
    NoRepository(String),
    /// References are stored in a format that is not read here.
    #[error("the repository stores its references in the format `{0}`, which stead does not read")]
    RefFormat(String),
    /// The hash of the objects is not known.
    #[error("the repository names its objects by `{0}`, which stead does not read")]
    HashFormat(String),
    /// The directory of the objects cannot be read.
    #[error("the objects of the repository cannot be read: {0}")]
    NoObjects(String),
    /// There is no commit to compare.
    #[error("the repository has no commit: `HEAD` names none")]
    NoHead,
    /// There is no default branch, or it is checked out.
    #[error("`--changed` needs a base: {0}")]
    BaseRequired(String),
    /// The base does not exist in this clone.
    #[error("{base} does not exist in this clone")]
    UnknownBase {
        /// The base as it was named.
        base: BaseName,
        /// A similar name that exists.
        similar: Option<String>,
    },
    /// The base is a form of Git's syntax that is not supported.
    #[error("{0} is not the name of a branch, a tag or a commit")]
    UnsupportedBase(BaseName),
    /// Several objects have a hash that begins like this.
    #[error("{0} is the beginning of more than one object's hash")]
    AmbiguousBase(BaseName),
    /// The base names something else than a commit.
    #[error("{0} is a {1}, not a commit")]
    NoCommit(BaseName, &'static str),
    /// History does not reach the merge base.
    #[error("the history in this clone does not reach the commit at which `HEAD` and {0} diverged")]
    HistoryTooShort(BaseName),
    /// There is no merge base.
    #[error("`HEAD` and {0} have no common history")]
    Unrelated(BaseName),
    /// An object is not in this clone.
    #[error("the {kind} `{id}` is not in this clone")]
    MissingObject {
        /// Type of the object.
        kind: &'static str,
        /// Hash of the object.
        id: String,
        /// Base whose history or tree has it; `None` if it is the history of `HEAD`.
        base: Option<String>,
    },
    /// An object cannot be parsed.
    #[error("the {kind} `{id}` is damaged: {reason}")]
    DamagedObject {
        /// Type of the object.
        kind: &'static str,
        /// Hash of the object.
        id: String,
        /// Reason, as a clause.
        reason: String,
    },
}

impl GitError {
    fn help(&self) -> Vec<String> {
        let one = |text: &str| vec![text.to_owned()];
        match self {
            Self::NoRepository(_) => one("Run it in a clone of the repository, or without `--changed`."),
            Self::RefFormat(_) => one("Convert them: git refs migrate --ref-format=files"),
            Self::HashFormat(_) | Self::NoObjects(_) => one("Run it without `--changed`: every stack is planned."),
            Self::NoHead => one("Make the first commit, or run it without `--changed`."),
            Self::BaseRequired(_) => {
                one("Name a commit, a branch or a tag, for example the last release: --changed=v1.2.0, or --changed=HEAD~1")
            }
            Self::UnknownBase { base, similar } => {
                let similar = similar.iter().map(|name| format!("Did you mean `{name}`?"));
                similar.chain(base.fetch_help()).collect()
            }
            Self::UnsupportedBase(_) => {
                one("Write it as a branch, a tag or a hash; `~2` or `^2` can follow it.")
            }
            Self::AmbiguousBase(_) => one("Write more of the hash."),
            Self::NoCommit(..) => one("Name a branch, a tag or a commit."),
            Self::HistoryTooShort(_) => vec![
                "Fetch the rest of the history: git fetch --unshallow".to_owned(),
                "Or more of it: git fetch --deepen=100. In GitHub Actions give actions/checkout `fetch-depth: 0`; in \
                 GitLab CI set GIT_DEPTH to 0."
                    .to_owned(),
            ],
            Self::Unrelated(_) => one("Name a base from which `HEAD` descends."),
            Self::MissingObject { base, .. } => {
                let commit = base.as_deref().unwrap_or("HEAD");
                vec![format!(
                    "In a partial clone, Git fetches it with: git ls-tree -r -t {commit}. Otherwise the repository is \
                     damaged: git fsck shows it."
                )]
            }
            Self::DamagedObject { .. } => one("git fsck shows what is damaged. A new clone has none of it."),
        }
    }
}

impl From<GitError> for CliFailure {
    fn from(error: GitError) -> Self {
        let exit = if matches!(error, GitError::BaseRequired(_)) { Exit::Usage } else { Exit::Failed };
        error.help().into_iter().fold(Self::new(exit, error.to_string()), Self::help)
    }
}
