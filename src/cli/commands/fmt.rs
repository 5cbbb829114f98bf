//! `stead fmt`: formats files in the canonical form; comments are kept. All files are formatted before the first is
//! written, so that a syntax error changes none.

mod all;
mod stack_formatting;

use std::path::{Path, PathBuf};

use clap::Args;

use self::stack_formatting::{FormattedFile, format_source, stack_paths};
use crate::cli::args::values::FileSyntax;
use crate::cli::args::workspace::UnitArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::files::write_files;
use crate::cli::planning::prune;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::stack::rewrite_files;
use crate::model::source::Source;
use crate::report::json;
use crate::report::views::edits;

/// Command-line arguments of `stead fmt`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead fmt\n  stead fmt --check\n  stead fmt --diff shop.stead.yaml\n  stead fmt --prune\n  stead fmt --all --check\n  stead fmt - --format kdl < stead.kdl"
)]
pub struct FmtArgs {
    /// Files, or `-` for standard input; the stack's own files when omitted
    #[arg(value_name = "FILE", conflicts_with = "all")]
    pub files: Vec<PathBuf>,
    /// Write nothing; exit with 1 and list the files that would change
    #[arg(long)]
    pub check: bool,
    /// Show the changes as a diff
    #[arg(long)]
    pub diff: bool,
    /// Remove `moved`, `import` and `removed` entries that are done in every environment; shows the change
    #[arg(long, conflicts_with_all = ["files", "all"])]
    pub prune: bool,
    /// Syntax of the text on standard input
    #[arg(long, default_value = "yaml")]
    pub format: FileSyntax,
    /// Stacks that the command covers.
    #[command(flatten)]
    pub units: UnitArgs,
}

/// Formats the given files, those of the stack, or standard input for `-`. With `--check`, writes nothing and
/// returns `Exit::Failed` if a file would change.
///
/// # Errors
/// When a file cannot be read or has syntax errors, in which case no file is changed; or cannot be written.
pub(in crate::cli) async fn run(session: &CommandContext, args: &FmtArgs) -> Result<Exit, CliFailure> {
    if args.units.all {
        return all::format_all(session, &args.units, (args.check, args.diff));
    }
    if let [path] = args.files.as_slice()
        && path == Path::new("-")
    {
        return format_stdin(session, args);
    }
    let mut changed: Vec<FormattedFile> = Vec::new();
    for (path, before, source) in read_and_format(session, args).await? {
        let text = format_source(&source)?;
        if text != *before.text {
            changed.push((path, before, text));
        }
    }
    let shown = args.diff || args.prune;
    if shown && !session.ui.json {
        for (_, source, text) in &changed {
            session.ui.write_result(&edits::edit_page(&source.path, &source.text, text, session.ui.style));
        }
    }
    if !args.check {
        for (path, _, text) in &changed {
            write_files::rewrite_file(path, text.as_bytes())?;
        }
    }
    let names: Vec<&str> = changed.iter().map(|(_, source, _)| source.path.as_str()).collect();
    if session.ui.json {
        session.ui.write_result(&json::formatted_document(&names, !args.check));
    } else if !shown {
        session.ui.write_result(&names.iter().map(|name| format!("{name}\n")).collect::<Vec<_>>().concat());
    }
    Ok(if args.check && !changed.is_empty() { Exit::Failed } else { Exit::Done })
}

/// Returns the files with their present content and the content to format, which differ only with `--prune`.
async fn read_and_format(
    session: &CommandContext,
    args: &FmtArgs,
) -> Result<Vec<(PathBuf, Source, Source)>, CliFailure> {
    if !args.prune {
        let read =
            |path: PathBuf| rewrite_files::read_source(&path).map(|source| (path, source.clone(), source));
        return source_paths(session, args)?.into_iter().map(read).collect();
    }
    let pruned = prune::prune_declarations(&session.settings).await?;
    for text in &pruned.dropped {
        session.ui.write_message(&format!("{text} is obsolete: removed"));
    }
    for text in &pruned.kept {
        session.ui.write_message(&format!("{text}, is obsolete here; other stacks may need it: kept"));
    }
    if pruned.dropped.is_empty() && pruned.kept.is_empty() {
        session.ui.write_message("No declaration is obsolete in every environment.");
    }
    let named = |(before, after): (Source, Source)| (PathBuf::from(&before.path), before, after);
    Ok(pruned.files.into_iter().map(named).collect())
}

/// Formats standard input to standard output.
fn format_stdin(session: &CommandContext, args: &FmtArgs) -> Result<Exit, CliFailure> {
    let name = match args.format {
        FileSyntax::Yaml => "stdin.yaml",
        FileSyntax::Kdl => "stdin.kdl",
    };
    let source = rewrite_files::read_standard_input(name)?;
    let text = format_source(&source)?;
    let same = text == *source.text;
    if session.ui.json {
        let names: &[&str] = if same { &[] } else { &["-"] };
        session.ui.write_result(&json::formatted_document(names, false));
    } else if !args.check {
        session.ui.write_result(&text);
    }
    Ok(if args.check && !same { Exit::Failed } else { Exit::Done })
}

/// Returns the given files, else the stack's own; no stack is an error.
fn source_paths(session: &CommandContext, args: &FmtArgs) -> Result<Vec<PathBuf>, CliFailure> {
    if !args.files.is_empty() {
        return Ok(args.files.clone());
    }
    stack_paths(&session.settings.dir)
}
