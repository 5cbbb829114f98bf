//! The lock file of a stack: the catalog names that it pins, read and written.

use std::path::Path;

use crate::cli::files::stack_files;
use crate::cli::process::failure::Failure;
use crate::config::load::Rejected;
use crate::config::stack::lock_file;
use crate::model::catalog::Catalog;
use crate::model::source::{Source, Sources};

/// Reads the catalog names that a stack has pinned.
///
/// # Errors
/// When the file is there and is no lock file.
pub(in crate::cli) fn read_pinned_names(path: &Path) -> Result<Option<Catalog>, Failure> {
    let Some(text) = stack_files::read_optional(path)? else { return Ok(None) };
    let mut sources = Sources::default();
    let id = sources.add(Source::new(stack_files::display_path(path), text.as_str()));
    match lock_file::parse(id, &text) {
        Ok(lock) => Ok(Some(lock.catalog)),
        Err(problem) => Err(Box::new(Rejected { sources, diagnostics: vec![*problem] }).into()),
    }
}
