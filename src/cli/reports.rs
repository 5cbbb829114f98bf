//! Writes the reports that were asked for. They are of what was read once: nothing is asked again.

use std::env;
use std::path::Path;

use super::args::Wanted;
use super::failure::Failure;
use super::files;
use super::origin;
use super::project::Project;
use super::session::Session;
use super::settings::DEFAULT_DIR;
use crate::config::load::Rejected;
use crate::kinds::REGISTRY;
use crate::model::diagnostic::Diagnostic;
use crate::model::source::Sources;
use crate::plan::change::Plan;
use crate::report::review::{Problems, Reviewed, Root};

/// Writes reports of a plan.
///
/// # Errors
/// When a file cannot be written.
pub(super) fn plan(session: &Session, wanted: &[Wanted], plan: &Plan) -> Result<(), Failure> {
    if wanted.is_empty() {
        return Ok(());
    }
    let (root, flags) = (root(), flags(session, plan));
    let commit = origin::commit(&session.settings.dir).or_else(|| session.commit.clone());
    let reviewed =
        Reviewed { plan, registry: REGISTRY, root: &root, commit: commit.as_deref(), flags: &flags };
    for (format, path) in wanted {
        files::write_public(path, format.plan(&reviewed).as_bytes())?;
        session.ui.say(&format!("{format} is written to {}", files::shown(path)));
    }
    Ok(())
}

/// Writes reports of problems, in the forms that have a place for them.
///
/// # Errors
/// When a file cannot be written.
pub(super) fn problems(
    session: &Session,
    wanted: &[Wanted],
    (diagnostics, sources): (&[Diagnostic], &Sources),
) -> Result<(), Failure> {
    let root = root();
    let problems = Problems { diagnostics, sources, root: &root };
    for (format, path) in wanted {
        if let Some(text) = format.problems(&problems) {
            files::write_public(path, text.as_bytes())?;
            session.ui.say(&format!("{format} is written to {}", files::shown(path)));
        }
    }
    Ok(())
}

/// Reads and resolves the stack; where it has problems, they are what the reports say.
///
/// # Errors
/// All its problems together; or that a file cannot be written.
pub(super) fn opened(session: &Session, wanted: &[Wanted]) -> Result<Project, Failure> {
    let opened = session.open();
    if let Err(Failure { rejected: Some(rejected), .. }) = &opened {
        let Rejected { diagnostics, sources } = &**rejected;
        problems(session, wanted, (diagnostics, sources))?;
    }
    opened
}

/// Returns the flags that name the stack and the environment of a plan.
fn flags(session: &Session, plan: &Plan) -> String {
    let dir = &session.settings.dir;
    let environment = &plan.base.environment;
    if dir.as_os_str() == DEFAULT_DIR {
        format!("-e {environment}")
    } else {
        format!("-C {} -e {environment}", files::shown(dir))
    }
}

/// Finds the repository that this process is in.
fn root() -> Root {
    let Ok(here) = env::current_dir() else { return Root::default() };
    let text = |path: &Path| path.to_string_lossy().trim_end_matches('/').to_owned();
    match here.ancestors().find(|above| files::exists(&above.join(".git"))) {
        Some(repository) => Root {
            here: here.strip_prefix(repository).map(text).unwrap_or_default(),
            repository: text(repository),
        },
        None => Root { repository: text(&here), here: String::new() },
    }
}
