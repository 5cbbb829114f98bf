//! `stead init`: writes an example stack; needs no account and no settings. Checks all files before
//! it writes the first.

use std::io;
use std::path::PathBuf;

use clap::Args;

use crate::cli::args::values::FileSyntax;
use crate::cli::artifacts::templates::{self, StackTemplate};
use crate::cli::command_context::CommandContext;
use crate::cli::files::stack_files;
use crate::cli::files::write_files;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::report::json;

/// Command-line arguments of `stead init`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  stead init\n  stead init --template shop --format kdl my-shop")]
pub struct InitArgs {
    /// Directory to write to
    #[arg(value_name = "DIR", default_value = ".")]
    pub into: PathBuf,
    /// Example to write; prompts for it on a terminal when omitted
    #[arg(long)]
    pub template: Option<StackTemplate>,
    /// Syntax of the files; prompts for it on a terminal when omitted
    #[arg(long)]
    pub format: Option<FileSyntax>,
    /// Overwrite files that exist
    #[arg(long)]
    pub force: bool,
}

/// Writes an example stack, whose name is derived from the directory's.
///
/// # Errors
/// When a file exists and `--force` is not given, or a file cannot be written.
pub(in crate::cli) fn run(session: &CommandContext, args: &InitArgs) -> Result<Exit, CliFailure> {
    let ui = &session.ui;
    let asked = |error: io::Error| CliFailure::from(anyhow::Error::from(error));
    let template = match args.template {
        Some(template) => template,
        None => match ui.choose("Which example?", &["minimal", "shop"]).map_err(asked)? {
            1 => StackTemplate::Shop,
            _ => StackTemplate::Minimal,
        },
    };
    let format = match args.format {
        Some(format) => format,
        None => match ui.choose("Which syntax?", &["yaml", "kdl"]).map_err(asked)? {
            1 => FileSyntax::Kdl,
            _ => FileSyntax::Yaml,
        },
    };
    let stack = templates::stack_name(&stack_files::directory_name(&args.into));
    let written = templates::template_files(template, format, &stack);
    let there: Vec<_> = written
        .iter()
        .map(|(name, _)| args.into.join(name))
        .filter(|path| stack_files::path_exists(path))
        .collect();
    if let Some(path) = there.first().filter(|_| !args.force) {
        return Err(CliFailure::existing_file(&stack_files::display_path(path))
            .help("Choose another directory, or overwrite with --force."));
    }
    for (name, text) in &written {
        let path = args.into.join(name);
        write_files::write_public(&path, text.as_bytes())?;
        if !ui.json {
            ui.write_result(&format!("wrote {}\n", stack_files::display_path(&path)));
        }
    }
    if ui.json {
        let names: Vec<String> =
            written.iter().map(|(name, _)| stack_files::display_path(&args.into.join(name))).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        ui.write_result(&json::formatted_document(&names, true));
    }
    let directory = stack_files::display_path(&args.into);
    let flag = if directory == "." { String::new() } else { format!("-C {directory} ") };
    ui.next(&format!("stead {flag}plan --cloud local"));
    Ok(Exit::Done)
}
