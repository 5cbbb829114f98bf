//! The lock file of a stack: the catalog names that it pins, read and written. Pinned names keep their ids, so that
//! a plan does not change when the service gives a name to another record.

use std::path::Path;

use crate::cli::files::{stack_files, write_files};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::config::load::LoadFailure;
use crate::config::stack::lock_file;
use crate::config::stack::model::Stack;
use crate::kinds::REGISTRY;
use crate::model::live::catalog::Catalog;
use crate::model::source::{Source, Sources};

/// Reads the catalog names that a stack has pinned; `None` if the file does not exist.
///
/// # Errors
/// When the file exists and is not a lock file.
pub(in crate::cli) fn read_pinned_names(path: &Path) -> Result<Option<Catalog>, CliFailure> {
    let Some(text) = stack_files::read_optional(path)? else { return Ok(None) };
    let mut sources = Sources::default();
    let id = sources.add(Source::new(stack_files::display_path(path), text.as_str()));
    match lock_file::parse(id, &text) {
        Ok(lock) => Ok(Some(lock.catalog)),
        Err(problem) => Err(Box::new(LoadFailure::new(sources, vec![*problem])).into()),
    }
}

/// Pins the catalog names that the stack uses and that are not pinned yet; existing pins stay. Writes nothing if
/// there is no new one.
///
/// # Errors
/// When the lock file cannot be written.
pub(in crate::cli) fn pin_catalog_names(
    stack: &Stack,
    path: &Path,
    catalog: &Catalog,
    pinned: Option<&Catalog>,
) -> Result<(), CliFailure> {
    let mut lock = lock_file::build_lock(REGISTRY, stack, catalog);
    let mut now = pinned.cloned().unwrap_or_default();
    now.extend_with(lock.catalog);
    if pinned.is_some_and(|before| before.tables == now.tables) || now.tables.is_empty() {
        return Ok(());
    }
    lock.catalog = now;
    let text = lock_file::render_lock(&lock)
        .map_err(|problem| CliFailure::new(Exit::Failed, problem.summary.clone()))?;
    write_files::write_public(path, text.as_bytes())?;
    Ok(())
}
