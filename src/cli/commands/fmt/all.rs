//! `stead fmt --all`: formats the files of the selected stacks. In: the stacks by directory, so that each file is formatted
//! once, whatever environments it has. A stack with a syntax error keeps all its files; the others are written.

use std::path::Path;

use super::stack_formatting::{FormattedFile, format_source, stack_paths};
use crate::cli::args::workspace::UnitArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::files::write_files;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::stack::rewrite_files;
use crate::cli::workspace::review;
use crate::cli::workspace::unit_outputs::{self, UnitOutput};
use crate::cli::workspace::units::{SelectionRequest, Workspace};
use crate::report::json::{FmtSummary, FormattedFiles, ResultStatus};
use crate::report::views::edits;

/// Formats the files of the selected stacks. With `check`, writes nothing and returns `Exit::Failed` if a file would
/// change; `diff` shows the changes.
///
/// # Errors
/// When there is no stack, or the selection is not accepted. The failures of single stacks are shown.
pub(super) fn format_all(
    session: &CommandContext,
    units: &UnitArgs,
    (check, diff): (bool, bool),
) -> Result<Exit, CliFailure> {
    let selection = SelectionRequest::from(units);
    let workspace = Workspace::open(&session.settings, &session.unit_settings, &selection)?;
    let mut outputs: Vec<UnitOutput<'_, Vec<FormattedFile>>> =
        workspace.unreadable.iter().map(UnitOutput::of_unreadable).collect();
    for (stack, directory) in unit_outputs::selected_stacks(&workspace) {
        let result = format_stack(&workspace.root.join(directory.as_str()), check);
        outputs.push(UnitOutput::of_stack(stack, directory, result));
    }
    unit_outputs::sort_worst_first(&mut outputs);
    let changed = || outputs.iter().filter_map(|output| output.result.as_ref().ok()).flat_map(|(r, ..)| r);
    let ui = session.ui;
    if ui.json {
        let summary = FmtSummary {
            stacks: outputs.len(),
            failed: outputs.iter().filter(|output| output.result.is_err()).count(),
            files: changed().count(),
            written: !check,
        };
        ui.write_result(&unit_outputs::document(&outputs, &summary, |files| FormattedFiles {
            files: files.iter().map(|(_, source, _)| source.path.as_str()).collect(),
        }));
    } else {
        for (_, source, text) in changed() {
            ui.write_result(&if diff {
                edits::edit_page(&source.path, &source.text, text, ui.style)
            } else {
                format!("{}\n", source.path)
            });
        }
        unit_outputs::print_failures(ui, &outputs);
    }
    review::print_left_out(ui, &workspace);
    Ok(unit_outputs::exit_of(&outputs))
}

/// Formats all files of a stack before the first is written.
fn format_stack(
    directory: &Path,
    check: bool,
) -> Result<(Vec<FormattedFile>, ResultStatus, Exit), CliFailure> {
    let mut changed: Vec<FormattedFile> = Vec::new();
    for path in stack_paths(directory)? {
        let source = rewrite_files::read_source(&path)?;
        let text = format_source(&source)?;
        if text != *source.text {
            changed.push((path, source, text));
        }
    }
    if !check {
        for (path, _, text) in &changed {
            write_files::rewrite_file(path, text.as_bytes())?;
        }
    }
    let (status, exit) = match (changed.is_empty(), check) {
        (true, _) => (ResultStatus::Done, Exit::Done),
        (false, true) => (ResultStatus::Changed, Exit::Failed),
        (false, false) => (ResultStatus::Changed, Exit::Done),
    };
    Ok((changed, status, exit))
}
