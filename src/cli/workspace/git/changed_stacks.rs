//! Which stacks of a repository a change touches (`--changed`). In: the root of the working tree, the base, and the reads
//! of each stack's load. Out: for each stack whether it changed since the merge base of the base and `HEAD`, and why.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use gix_hash::ObjectId;

use super::base_choice::base_candidates;
use super::base_name::BaseName;
use super::base_stacks::{self, BaseStack};
use super::git_base::GitBase;
use super::git_error::GitError;
use super::git_repository::GitRepository;
use super::git_revision::{find_similar, resolve_commit};
use crate::cli::files::git_refs::RefValue;
use crate::cli::files::recorded_files::ReadRecorder;
use crate::cli::files::stack_files::full_path;
use crate::cli::process::env::EnvVariables;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::settings::Settings;
use crate::cli::stack::project::LoadedStack;
use crate::workspace::changes::compare::{StackChange, compare_reads};
use crate::workspace::changes::merge_base::{MergeBase, find_merge_base};
use crate::workspace::changes::recorded_reads::RecordedReads;

/// The commit that the stacks of a repository are compared with.
pub(in crate::cli) struct ChangeBase {
    root: PathBuf,
    repository: Rc<GitRepository>,
    base: BaseName,
    /// Merge base of the base and `HEAD`.
    commit: ObjectId,
}

impl ChangeBase {
    /// Finds the commit to compare with: the merge base of `HEAD` and the base that the user names with `given`, else
    /// the target of the request that CI runs for, else the default branch. `root` is the root of the working tree.
    ///
    /// # Errors
    /// When the directory is not the root of a repository, the base must be named or does not exist, or the clone does
    /// not have the objects that are needed.
    pub(in crate::cli) fn open(
        root: &Path,
        given: Option<&str>,
        variables: &EnvVariables,
    ) -> Result<Self, CliFailure> {
        let root = full_path(root);
        let repository = GitRepository::open(&root)?;
        let (base, commit) = find_commit(&repository, given, variables)?;
        Ok(Self { root, repository: Rc::new(repository), base, commit })
    }

    /// Returns the base as it was named, for messages.
    pub(in crate::cli) fn name(&self) -> &BaseName {
        &self.base
    }

    /// Returns the hash of the commit that stacks are compared with.
    pub(in crate::cli) fn commit(&self) -> String {
        self.commit.to_string()
    }

    /// Loads the stack of `settings`, and returns what the load read as well. A stack of several environments is loaded
    /// in each of them; its reads are those of all loads (`RecordedReads::extend`).
    pub(in crate::cli) fn load_stack(
        &self,
        settings: &Settings,
    ) -> (Result<LoadedStack, CliFailure>, RecordedReads) {
        let recorder = ReadRecorder::new(&self.root, self.repository.hash());
        let mut loaded = LoadedStack::open_recorded(settings, &recorder);
        let mut reads = recorder.take();
        match &mut loaded {
            Ok(project) => project.reads = Some(reads.clone()),
            Err(_) => reads.mark_incomplete(),
        }
        (loaded, reads)
    }

    /// Returns for each stack's directory whether the stack changed.
    ///
    /// # Errors
    /// When an object of the base is not in the clone, or is damaged.
    pub(in crate::cli) fn changed_stacks(
        &self,
        stacks: &[(PathBuf, RecordedReads)],
    ) -> Result<BTreeMap<PathBuf, StackChange>, CliFailure> {
        let tree = self.tree();
        let compare = |(directory, reads): &(PathBuf, RecordedReads)| {
            let change = compare_reads(reads, &tree).map_err(|error| self.name_commit(error))?;
            Ok((directory.clone(), change))
        };
        stacks.iter().map(compare).collect::<Result<_, GitError>>().map_err(CliFailure::from)
    }

    /// Returns the stacks that the base has in the directories that a predicate selects.
    ///
    /// # Errors
    /// Those of `changed_stacks`.
    pub(super) fn stacks_at_base(
        &self,
        is_wanted: &dyn Fn(&Path) -> bool,
    ) -> Result<Vec<BaseStack>, CliFailure> {
        let tree = Rc::new(self.tree());
        base_stacks::read_stacks(&tree, is_wanted).map_err(|error| self.name_commit(error).into())
    }

    fn tree(&self) -> GitBase {
        GitBase::new(&self.root, Rc::clone(&self.repository), self.commit)
    }

    /// Adds the commit to the error of a missing object, so that the remedy can name it.
    fn name_commit(&self, error: GitError) -> GitError {
        match error {
            GitError::MissingObject { kind, id, .. } => {
                GitError::MissingObject { kind, id, base: Some(self.commit()) }
            }
            other => other,
        }
    }
}

fn find_commit(
    repository: &GitRepository,
    given: Option<&str>,
    variables: &EnvVariables,
) -> Result<(BaseName, ObjectId), GitError> {
    let head = repository.refs().resolve("HEAD").and_then(|hash| repository.parse_id(&hash));
    let head = head.ok_or(GitError::NoHead)?;
    let (base, commit) = resolve_base(repository, base_candidates(given, variables, repository.refs())?)?;
    match find_merge_base(repository, head, commit)? {
        MergeBase::Unknown => Err(GitError::HistoryTooShort(base)),
        MergeBase::Unrelated => Err(GitError::Unrelated(base)),
        MergeBase::Found(found) if base.is_default && found == head && is_detached(repository) => {
            let why = format!("the commit that is checked out is in `{}`, the default branch", base.name);
            Err(GitError::BaseRequired(why))
        }
        MergeBase::Found(found) => Ok((base, found)),
    }
}

/// Returns the first base that exists.
fn resolve_base(
    repository: &GitRepository,
    candidates: Vec<BaseName>,
) -> Result<(BaseName, ObjectId), GitError> {
    let mut missing = None;
    for base in candidates {
        if let Some(commit) = resolve_commit(repository, &base)? {
            return Ok((base, commit));
        }
        missing.get_or_insert(base);
    }
    let base = missing.unwrap_or_else(|| BaseName::given("HEAD"));
    let similar = find_similar(repository, &base.name);
    Err(GitError::UnknownBase { base, similar })
}

/// Returns whether a commit is checked out without a branch, as in a job of CI.
fn is_detached(repository: &GitRepository) -> bool {
    !matches!(repository.refs().read("HEAD"), Some(RefValue::Symbolic(_)))
}
