//! `stead man`: generates manual pages from the command line's declaration, so that they always agree with `--help`.

use std::path::{Path, PathBuf};

use clap::Args;
use clap_mangen::Man;

use crate::cli::command_context::CommandContext;
use crate::cli::files::stack_files;
use crate::cli::files::write_files;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;

/// Command-line arguments of `stead man`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  stead man plan | man -l -\n  stead man --out ~/.local/share/man/man1")]
pub struct ManArgs {
    /// The command, word by word; stead itself when omitted
    #[arg(value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Write the pages of all commands into this directory
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub out: Option<PathBuf>,
}

/// Prints the page of stead or of a command, or writes all pages into a directory.
///
/// # Errors
/// When there is no such command, or a page cannot be written.
pub(in crate::cli) fn run(
    session: &CommandContext,
    args: &ManArgs,
    program: clap::Command,
) -> Result<Exit, CliFailure> {
    let mut root = program.disable_help_subcommand(true);
    root.build();
    if let Some(directory) = &args.out {
        let count = write_pages(&root, "stead", directory)?;
        session.ui.write_message(&format!("{count} pages are in {}", stack_files::display_path(directory)));
        return Ok(Exit::Done);
    }
    let mut command = &root;
    let mut name = "stead".to_owned();
    for word in &args.command {
        let found =
            command.get_subcommands().find(|command| command.get_name() == word && !command.is_hide_set());
        command = found.ok_or_else(|| {
            CliFailure::new(Exit::Usage, format!("{name} has no command {word}"))
                .help(format!("{name} --help lists them."))
        })?;
        name = format!("{name}-{word}");
    }
    session.ui.write_result(&String::from_utf8_lossy(&render_page(command, &name)?));
    Ok(Exit::Done)
}

fn render_page(command: &clap::Command, name: &str) -> Result<Vec<u8>, CliFailure> {
    // The page's name has dashes (`stead-ci-init`), its usage line has spaces.
    let command = command.clone().display_name(name.to_owned());
    let mut text = Vec::new();
    Man::new(command)
        .title(name)
        .source(concat!("stead ", env!("CARGO_PKG_VERSION")))
        .render(&mut text)
        .map_err(anyhow::Error::from)?;
    Ok(text)
}

/// Writes the pages of a command and its subcommands into a directory; returns their number.
fn write_pages(command: &clap::Command, name: &str, directory: &Path) -> Result<usize, CliFailure> {
    write_files::write_public(&directory.join(format!("{name}.1")), &render_page(command, name)?)?;
    let below =
        command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help");
    below
        .map(|below| write_pages(below, &format!("{name}-{}", below.get_name()), directory))
        .sum::<Result<usize, CliFailure>>()
        .map(|count| count + 1)
}
