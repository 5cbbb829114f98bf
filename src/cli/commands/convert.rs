//! `stead convert`: converts a stack's file to the other syntax, or another tool's file to a stack. In: one file or
//! standard input. Out: configuration, and a note for each setting that could not be converted. Sends no request.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::cli::args::values::FileSyntax;
use crate::cli::artifacts::templates;
use crate::cli::command_context::CommandContext;
use crate::cli::files::stack_files;
use crate::cli::files::write_files;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::stack::rewrite_files;
use crate::config::edit::EditableFile;
use crate::config::syntax::document::Syntax;
use crate::config::syntax::limits::syntax_of;
use crate::config::{convert, format};
use crate::kinds::REGISTRY;
use crate::model::source::Source;
use crate::report::json;

/// Command-line arguments of `stead convert`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead convert --to kdl stead.yaml > stead.kdl\n  stead convert docker-compose.yml -o stead.yaml\n  stead convert --from render render.yaml --to kdl -o stead.kdl\n  stead convert --from app-spec .do/app.yaml"
)]
pub struct ConvertArgs {
    /// The file, or `-` for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Syntax of the result; for a stack's own file, the other syntax by default
    #[arg(long)]
    pub to: Option<FileSyntax>,
    /// Tool that the file belongs to [default: detected from its content]
    #[arg(long)]
    pub from: Option<SourceFormatChoice>,
    /// File to write to
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long)]
    pub force: bool,
}

/// Tool whose files `convert` reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SourceFormatChoice {
    /// File of Docker Compose, `compose.yaml`.
    Compose,
    /// Blueprint file of Render, `render.yaml`.
    Render,
    /// DigitalOcean's app spec, `.do/app.yaml`.
    AppSpec,
}

/// Converts a file to stead's configuration, or to its other syntax.
///
/// # Errors
/// When it cannot be read, converted or written, or the output file exists and `--force` is not given.
pub(in crate::cli) fn run(session: &CommandContext, args: &ConvertArgs) -> Result<Exit, CliFailure> {
    let source = if args.file == Path::new("-") {
        rewrite_files::read_standard_input("stdin.yaml")?
    } else {
        rewrite_files::read_source(&args.file)?
    };
    let origin = args.from.map(origin_of).or_else(|| guess_tool(session, &source));
    let (text, notes) = match origin {
        Some(origin) => convert_foreign_file(args, &source, origin)?,
        None => convert_stack_file(args, &source)?,
    };
    for note in notes.iter().filter(|_| !session.ui.json) {
        session.ui.write_message(&format!("note: {note}"));
    }
    let told = |file: Option<String>, text: Option<&str>| {
        json::to_pretty(&serde_json::json!({
            "schema_version": json::SCHEMA_VERSION, "file": file, "text": text, "notes": notes,
        }))
    };
    let Some(out) = &args.out else {
        session.ui.write_result(&if session.ui.json { told(None, Some(&text)) } else { text });
        return Ok(Exit::Done);
    };
    if stack_files::path_exists(out) && !args.force {
        return Err(CliFailure::existing_file(&stack_files::display_path(out))
            .help("Choose another file, or overwrite with --force."));
    }
    write_files::write_public(out, text.as_bytes())?;
    let shown = stack_files::display_path(out);
    session.ui.write_result(&if session.ui.json {
        told(Some(shown), None)
    } else {
        format!("wrote {shown}\n")
    });
    Ok(Exit::Done)
}

const fn to_syntax(format: FileSyntax) -> Syntax {
    match format {
        FileSyntax::Yaml => Syntax::Yaml,
        FileSyntax::Kdl => Syntax::Kdl,
    }
}

const fn origin_of(origin: SourceFormatChoice) -> convert::SourceFormat {
    match origin {
        SourceFormatChoice::Compose => convert::SourceFormat::Compose,
        SourceFormatChoice::Render => convert::SourceFormat::Render,
        SourceFormatChoice::AppSpec => convert::SourceFormat::AppSpec,
    }
}

/// Detects from its content which tool a YAML file belongs to, and prints a note with the result. `None` if the file is
/// not YAML or no tool matches.
fn guess_tool(session: &CommandContext, source: &Source) -> Option<convert::SourceFormat> {
    let is_yaml = syntax_of(&source.path) == Some(Syntax::Yaml);
    let origin = convert::guess_origin(source).filter(|_| is_yaml)?;
    let (what, word) = match origin {
        convert::SourceFormat::Compose => ("a Compose file", "compose"),
        convert::SourceFormat::Render => ("a Render blueprint", "render"),
        convert::SourceFormat::AppSpec => ("an app spec", "app-spec"),
    };
    session.ui.write_message(&format!(
        "note: read as {what}, because of its content; to set the format: --from {word}"
    ));
    Some(origin)
}

/// Converts a stack's own file. Returns the result, and notes about what the other syntax cannot express.
fn convert_stack_file(args: &ConvertArgs, source: &Source) -> Result<(String, Vec<String>), CliFailure> {
    let Some(from) = syntax_of(&source.path) else {
        return Err(CliFailure::new(
            Exit::Usage,
            format!("{} ends in neither .yaml, .yml nor .kdl", source.path),
        )
        .help("Name its format: --from compose, render or app-spec."));
    };
    let to = args.to.map_or(if from == Syntax::Yaml { Syntax::Kdl } else { Syntax::Yaml }, to_syntax);
    let file = EditableFile { source, registry: &REGISTRY };
    let (text, repeated) =
        format::convert_file(&file, to).map_err(|refusal| rewrite_files::edit_failure(source, refusal))?;
    let note = || format!("KDL has no anchors: {repeated} aliases and merges were written out");
    Ok((text, (repeated > 0).then(note).into_iter().collect()))
}

/// Converts another tool's file. Returns the result, and notes: the settings without a counterpart, and
/// the variables to give.
fn convert_foreign_file(
    args: &ConvertArgs,
    source: &Source,
    origin: convert::SourceFormat,
) -> Result<(String, Vec<String>), CliFailure> {
    let beside = args.file.parent().filter(|path| !path.as_os_str().is_empty());
    let stack = templates::stack_name(&stack_files::directory_name(beside.unwrap_or(Path::new("."))));
    let to = to_syntax(args.to.unwrap_or_default());
    let converted = convert::convert_foreign_file(source, origin, &stack, to, &REGISTRY)
        .map_err(|problem| rewrite_files::source_failure(source, vec![*problem]))?;
    let mut notes = converted.left_out;
    if !converted.needed.is_empty() {
        notes.push(format!("before a plan, give {}", converted.needed.join(", ")));
    }
    Ok((converted.text, notes))
}
