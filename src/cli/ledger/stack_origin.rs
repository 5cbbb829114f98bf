//! The origin of a stack: its repository, read from `.git` without running Git, and its directory relative to the
//! root. In: a directory and the origins in its ledger; out: the origin's status, for plans of shared ledgers. A
//! copied directory has the ledger of its original only if the backend is shared, so other ledgers need no origin.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::cli::files::git_config::settings_of;
use crate::cli::files::git_dir;
use crate::cli::files::stack_files::{self, SharedRoot, Trust};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::ledger_settings;
use crate::cli::process::settings::Settings;
use crate::cli::stack::project::{self, LoadedStack};
use crate::config::load;
use crate::kinds::REGISTRY;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::state::origins::{CurrentOrigin, StackOrigin, repository_of};
use crate::model::address::Name;

/// Returns the origin status of a stack; `None` if its ledger is not on a shared backend.
///
/// # Errors
/// When `STEAD_ORIGIN` is invalid.
pub(in crate::cli) fn current_origin(
    project: &LoadedStack,
    ledger: &Ledger,
) -> Result<Option<CurrentOrigin>, CliFailure> {
    let settings = &project.settings;
    if !ledger_settings::is_shared(settings) {
        return Ok(None);
    }
    find_origin(settings, &project.directory, &project.stack.name, &ledger.origins).map(Some)
}

/// Returns the origin of a stack in a directory, and what is needed to compare it with the known origins of its
/// ledger. The origin is `None` outside of a repository with a remote.
///
/// # Errors
/// When `STEAD_ORIGIN` is invalid.
pub(in crate::cli) fn find_origin(
    settings: &Settings,
    directory: &Path,
    stack: &str,
    known: &BTreeSet<StackOrigin>,
) -> Result<CurrentOrigin, CliFailure> {
    let SharedRoot { root, place } = SharedRoot::find_root(directory, false);
    let git = git_dir::git_directory(&root).map(|git| git_dir::common_directory(&git));
    let place: Vec<&str> = place.iter().map(Name::as_str).collect();
    let config = git.as_ref().and_then(|common| git_dir::read_git_file(&common.join("config")));
    let here = match &settings.origin {
        Some(text) => Some(StackOrigin::parse(text, &place.join("/")).ok_or_else(|| {
            CliFailure::new(Exit::Usage, format!("STEAD_ORIGIN is `{text}`, which names no repository"))
                .help("Write it as HOST/PATH, or as HOST/PATH//DIRECTORY.")
        })?),
        None => config
            .as_deref()
            .and_then(remote_url)
            .and_then(|url| StackOrigin::parse(&repository_of(&url)?, &place.join("/"))),
    };
    let in_repository = |one: &&StackOrigin| {
        git.is_some() && here.as_ref().is_some_and(|here| here.repository == one.repository)
    };
    let directories = known.iter().filter(in_repository).map(|one| &one.directory);
    let vacated = directories.filter(|old| !may_stand(settings, &root, old, (directory, stack)));
    let sparse = is_sparse_checkout(&root);
    Ok(CurrentOrigin { vacated: vacated.cloned().collect(), origin: here, sparse })
}

/// Returns whether the working tree with this root is a sparse checkout, in which a missing directory proves nothing.
pub(in crate::cli) fn is_sparse_checkout(root: &Path) -> bool {
    let Some(own) = git_dir::git_directory(root) else { return false };
    let common = git_dir::common_directory(&own).join("config");
    let configs = [common, own.join("config.worktree")].map(|path| git_dir::read_git_file(&path));
    configs.iter().flatten().any(|config| is_sparse(config))
}

/// Returns whether another directory of the repository can contain a stack of this name: only if it cannot, the
/// stack was moved from there. An unreadable directory can.
fn may_stand(settings: &Settings, root: &Path, old: &str, (here, stack): (&Path, &str)) -> bool {
    let relative = PathBuf::from(old);
    if !relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return true;
    }
    let directory = root.join(relative);
    // A link at the old path to this directory does not count as another directory.
    let Some(real) = stack_files::real_path(&directory) else {
        // A link that leads nowhere here may lead to a stack elsewhere.
        let leads_nowhere =
            |at: &Path| stack_files::path_exists(at) && stack_files::real_path(at).is_none();
        return directory.ancestors().take_while(|above| *above != root).any(leads_nowhere);
    };
    if stack_files::real_path(here).is_some_and(|here| here == real) {
        return false;
    }
    let Ok(found) = stack_files::read_stack(&directory) else { return true };
    if found.sources.iter().next().is_none() {
        return !found.diagnostics.is_empty();
    }
    let trust = if settings.untrusted { Trust::None } else { Trust::Full };
    let below = project::confined_files(&directory, trust, settings.allow_outside);
    load::read_header(REGISTRY, &found.sources, &below).is_none_or(|peek| peek.name == stack)
}

/// Returns the name of the repository with this root: host and path of its remote, else the name of the directory.
pub(in crate::cli) fn repository_name(root: &Path) -> Option<String> {
    let config = git_dir::git_directory(root).map(|git| git_dir::common_directory(&git).join("config"));
    let config = config.and_then(|path| git_dir::read_git_file(&path));
    let remote = config.as_deref().and_then(remote_url).and_then(|url| repository_of(&url));
    let directory = || root.file_name().map(|name| name.to_string_lossy().into_owned());
    remote.map(|name| name.to_string()).or_else(directory)
}

/// Returns the URL of the remote `origin` in a Git configuration; `None` if it has none.
fn remote_url(config: &str) -> Option<String> {
    settings_of(config).find_map(|(section, key, value)| {
        let name = section.strip_suffix('"').and_then(|section| section.split_once('"'));
        let is_origin = name
            .is_some_and(|(word, name)| word.trim_end().eq_ignore_ascii_case("remote") && name == "origin");
        (is_origin && key.eq_ignore_ascii_case("url")).then_some(value)
    })
}

/// Returns whether a Git configuration enables sparse checkout.
fn is_sparse(config: &str) -> bool {
    settings_of(config).any(|(section, key, value)| {
        section.eq_ignore_ascii_case("core")
            && key.eq_ignore_ascii_case("sparsecheckout")
            // As in Git, a key without a value is true, and so is any number except 0.
            && !["false", "no", "off", "0"].contains(&value.to_lowercase().as_str())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remote_url_is_parsed_from_the_git_config() {
        let url = |config: &str| remote_url(config);
        let plain = "[core]\n\tbare = false\n[remote \"up]stream\"]\n\turl = u\n[remote \"origin\"]\n\turl = \
                     git@h:a/b.git\n\tfetch = x\n[branch \"main\"]\n\turl = other\n";
        assert_eq!(url(plain).as_deref(), Some("git@h:a/b.git"));
        assert_eq!(url("[remote \"origin\"] url = https://h/a # b\n").as_deref(), Some("https://h/a"));
        assert_eq!(url("[Remote \"origin\"]\nURL=\"https://h/a#b\"\n").as_deref(), Some("https://h/a#b"));
        assert_eq!(url("[remote \"Origin\"]\nurl = x\n; [remote \"origin\"]\n"), None);
        assert_eq!(url(""), None);
    }

    #[test]
    fn a_sparse_checkout_is_recognized() {
        assert!(is_sparse("[core]\n\tsparseCheckout = true\n"));
        assert!(is_sparse("[core]\n\tsparsecheckout\n"));
        assert!(!is_sparse("[core]\n\tsparseCheckout = false\n\tsparseCheckoutCone = true\n"));
        assert!(!is_sparse("[extensions]\n\tworktreeConfig = true\n"));
    }
}
