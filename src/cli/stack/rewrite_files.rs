//! Functions that commands which rewrite files share: reading a file, reporting why it is not changed, showing the
//! change and asking for confirmation. A file that changed during the prompt is not overwritten.

use std::path::{Path, PathBuf};

use crate::cli::files::stack_files;
use crate::cli::files::write_files;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::output::Ui;
use crate::config::edit::EditError;
use crate::config::load::LoadFailure;
use crate::config::syntax::decode;
use crate::model::diagnostic::Diagnostic;
use crate::model::source::{Source, SourceId, Sources};
use crate::report::views::edits;

/// Old and new content of a file.
#[derive(Debug)]
pub(in crate::cli) struct FileRewrite {
    /// Path of the file to write.
    pub(in crate::cli) path: PathBuf,
    /// Present content of the file.
    pub(in crate::cli) before: Source,
    /// New content of the file.
    pub(in crate::cli) after: String,
}

/// Reads one file of a stack.
///
/// # Errors
/// When it cannot be read, is too large or is not UTF-8.
pub(in crate::cli) fn read_source(path: &Path) -> Result<Source, CliFailure> {
    decode_source(&stack_files::display_path(path), stack_files::read_text(path)?)
}

/// Reads standard input as a file with this name, whose extension selects the syntax.
///
/// # Errors
/// When it cannot be read, is too large or is not UTF-8.
pub(in crate::cli) fn read_standard_input(name: &str) -> Result<Source, CliFailure> {
    decode_source(name, stack_files::read_standard_input()?)
}

fn decode_source(name: &str, bytes: Vec<u8>) -> Result<Source, CliFailure> {
    match decode::decode_utf8(SourceId(0), bytes) {
        Ok(text) => Ok(Source::new(name, text)),
        Err(unreadable) => {
            let source = Source::new(name, unreadable.shown);
            Err(source_failure(&source, vec![unreadable.diagnostic]))
        }
    }
}

/// Returns the failure for diagnostics in one file.
pub(in crate::cli) fn source_failure(source: &Source, diagnostics: Vec<Diagnostic>) -> CliFailure {
    let mut sources = Sources::default();
    sources.add(source.clone());
    Box::new(LoadFailure::new(sources, diagnostics)).into()
}

/// Returns the failure for an edit that was refused.
pub(in crate::cli) fn edit_failure(source: &Source, refusal: EditError) -> CliFailure {
    source_failure(source, vec![*refusal.0])
}

/// Shows changes, asks for confirmation, and writes them; returns whether they were written.
///
/// # Errors
/// When there is no terminal to ask on, or a file changed meanwhile or cannot be written; files before it are
/// written.
pub(in crate::cli) async fn write_rewrites(
    ui: &Ui,
    rewrites: &[FileRewrite],
    yes: bool,
) -> Result<bool, CliFailure> {
    for rewrite in rewrites {
        let FileRewrite { before, after, .. } = rewrite;
        let style = ui.message_style;
        ui.write_message(edits::edit_page(&before.path, &before.text, after, style).trim_end());
    }
    if !ui.confirm_action(yes, "Write this?").await? {
        return Ok(false);
    }
    for rewrite in rewrites {
        // The user may have edited the file during the prompt.
        let now = read_source(&rewrite.path)?;
        if now.text != rewrite.before.text {
            return Err(CliFailure::new(
                Exit::OutOfDate,
                format!("{} changed meanwhile; it was left alone", now.path),
            ));
        }
        write_files::rewrite_file(&rewrite.path, rewrite.after.as_bytes())?;
    }
    Ok(true)
}
