//! What `fmt` does with one file: in: a source; out: its canonical form. Nothing is written.

use std::path::{Path, PathBuf};

use crate::cli::files::stack_files;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::stack::rewrite_files;
use crate::config::edit::EditableFile;
use crate::config::format;
use crate::kinds::REGISTRY;
use crate::model::source::Source;

/// A file that is not in canonical form: its path, its present content and the formatted one.
pub(super) type FormattedFile = (PathBuf, Source, String);

/// Returns the files of the stack in a directory; no stack is an error.
pub(super) fn stack_paths(directory: &Path) -> Result<Vec<PathBuf>, CliFailure> {
    let stack = stack_files::read_stack(directory)?;
    let shown = stack.sources.iter().map(|(_, source)| PathBuf::from(&source.path));
    let paths: Vec<PathBuf> = shown.collect();
    if paths.is_empty() {
        return Err(CliFailure::new(
            Exit::Failed,
            format!("there is no stack in {}", stack_files::display_path(directory)),
        )
        .help("Name the files to format, or a directory with -C."));
    }
    Ok(paths)
}

/// Returns the canonical form of a file.
///
/// # Errors
/// When it has syntax errors.
pub(super) fn format_source(source: &Source) -> Result<String, CliFailure> {
    let file = EditableFile { source, registry: &REGISTRY };
    format::format_file(&file).map_err(|refusal| rewrite_files::edit_failure(source, refusal))
}
