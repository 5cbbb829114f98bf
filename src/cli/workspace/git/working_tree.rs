//! The origin of a run, with whether the working tree differs from the commit that it names. In: the plan, the stack, and
//! what its load read. Only these files count: another change in the repository concerns another stack.

use std::path::Path;
use std::rc::Rc;

use super::git_base::GitBase;
use super::git_repository::GitRepository;
use crate::cli::files::git_dir::find_working_tree;
use crate::cli::files::git_origin;
use crate::cli::ledger::remote_stacks;
use crate::cli::stack::project::LoadedStack;
use crate::ledger::state::run_history::RunOrigin;
use crate::model::address::Name;
use crate::plan::model::change::Plan;
use crate::workspace::changes::compare;
use crate::workspace::changes::recorded_reads::RecordedReads;

/// Returns the origin of a run of a plan; `said` is the commit that the CI job states.
pub(in crate::cli) fn run_origin(plan: &Plan, project: &LoadedStack, said: Option<&Name>) -> RunOrigin {
    let origin = git_origin::plan_origin(plan, &project.directory, said);
    let read = origin.commit.as_ref().zip(project.reads.as_ref());
    let dirty =
        read.and_then(|(commit, reads)| has_uncommitted_changes(&project.directory, commit, [reads]));
    // After a destroy, nothing depends on other units.
    let upstream = if plan.base.destroy { Vec::new() } else { remote_stacks::upstream_names(project) };
    RunOrigin { dirty, upstream, ..origin }
}

/// Returns whether a file that some stacks read differs from a commit of their repository. `None` if that is not known:
/// outside of a repository, if the clone does not have the commit's trees, or if a file cannot be compared and no other
/// one differs.
pub(in crate::cli) fn has_uncommitted_changes<'r>(
    directory: &Path,
    commit: &str,
    reads: impl IntoIterator<Item = &'r RecordedReads>,
) -> Option<bool> {
    let (root, _) = find_working_tree(directory)?;
    let repository = GitRepository::open(&root).ok()?;
    let commit = repository.parse_id(commit)?;
    let base = GitBase::new(&root, Rc::new(repository), commit);
    let mut are_same = Some(false);
    for reads in reads {
        match compare::has_uncommitted_changes(reads, &base).ok().flatten() {
            Some(true) => return Some(true),
            Some(false) => {}
            None => are_same = None,
        }
    }
    are_same
}
