//! Checks of a stack's secret sinks across environments and in Git: no other environment delivers to the same file, and
//! Git does not commit a delivered secret.

use std::collections::BTreeSet;
use std::path::{Component, PathBuf};

use crate::cli::files::git_ignored;
use crate::cli::files::stack_files::{self, ConfinedFiles, SharedRoot, Trust};
use crate::config::check::secret_sinks::{not_ignored, shared_with, target_of};
use crate::config::input::request::{LoadRequest, SecretAccess};
use crate::config::load;
use crate::config::stack::model::{SecretSink, SinkUse, Stack};
use crate::kinds::REGISTRY;
use crate::model::address::Name;
use crate::model::diagnostic::Diagnostic;
use crate::model::source::Sources;

/// Returns diagnostics for sinks that another environment of the stack uses, too; empty if there are none. An
/// environment that cannot be resolved is skipped, because it cannot be applied, either.
pub(in crate::cli) fn across_environments(
    stack: &Stack,
    files: &Sources,
    request: &LoadRequest,
    below: &ConfinedFiles,
) -> Vec<Diagnostic> {
    let own = &stack.environment.name;
    if !stack.sinks.iter().any(|one| target_of(&one.sink).is_some()) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for other in stack.environments.iter().filter(|name| *name != own) {
        let secrets = match request.secrets {
            SecretAccess::Denied => SecretAccess::Denied,
            SecretAccess::Optional | SecretAccess::Required => SecretAccess::Optional,
        };
        let request =
            LoadRequest { environment: Some(other.clone()), secrets, expression: None, ..request.clone() };
        if let Ok((there, _)) = load::load(REGISTRY, files.clone(), &request, below) {
            found.extend(shared_with(&stack.sinks, own, other, &there.sinks));
        }
    }
    let mut told = BTreeSet::new();
    // A sink that several environments share is reported once.
    found.retain(|problem| told.insert(problem.span()));
    found
}

/// Returns a warning for each sink that Git would commit; empty outside of a repository, and for an untrusted stack,
/// of which no file is read.
pub(in crate::cli) fn not_ignored_by_git(stack: &Stack, below: &ConfinedFiles) -> Vec<Diagnostic> {
    if below.trust == Trust::None {
        return Vec::new();
    }
    let shared = SharedRoot::find_root(&below.root, false);
    if !stack_files::path_exists(&shared.root.join(".git")) {
        return Vec::new();
    }
    let Ok(mut ignore_files) = git_ignored::IgnoreFiles::open(&shared.root) else { return Vec::new() };
    let mut warning = |one: &SinkUse| {
        let (SecretSink::File(path) | SecretSink::EnvFile { path, .. }) = &one.sink else { return None };
        let line = git_ignored::line_for(&shared.place, path);
        let place: PathBuf = shared.place.iter().map(Name::as_str).collect();
        let file: PathBuf =
            place.join(path).components().filter(|part| *part != Component::CurDir).collect();
        // An unreadable ignore file ignores nothing.
        let is_ignored = ignore_files.ignores(&file).unwrap_or(false);
        (!is_ignored).then(|| not_ignored(one, ".gitignore at the repository's root", &line))
    };
    stack.sinks.iter().filter_map(&mut warning).collect()
}
