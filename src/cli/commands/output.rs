//! `stead output`: prints the outputs that the last apply recorded, from the ledger alone. In: the ledger of a stack, or of
//! the selected units; of the files only what names it. Out: text, a document, or one value as it is. Sends no request; the
//! text of a secret is printed only with `--show`, and only if the ledger keeps it.

mod all;
mod document;
mod recorded;

use clap::Args;

pub(in crate::cli) use self::document::OutputsDocument;
#[cfg(test)]
pub(in crate::cli) use self::document::OutputsSummary;
use self::recorded::{OutputQuery, add_outputs, display_text, raw_text, read_outputs};
use crate::cli::args::workspace::UnitArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::stack::unit_header::UnitHeader;
use crate::model::address::Name;
use crate::report::json;
use crate::report::text::page::{TextLine, TextPage};
use crate::report::text::style::TextStyle;

/// Command-line arguments of `stead output`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead output -e prod\n  stead output url\n  stead output url --raw | xargs curl\n  stead output --output json\n  stead output db_password --show --raw\n  stead output --all -e prod\n\nIt reads the ledger alone: the rest of the configuration may be invalid, and variables need no values."
)]
pub struct OutputArgs {
    /// Only this output
    #[arg(value_name = "OUTPUT")]
    pub name: Option<Name>,
    /// Write one text, number or bool as it is, without a line end
    #[arg(long, requires = "name", conflicts_with = "all")]
    pub raw: bool,
    /// Show the text of secret outputs that the ledger keeps
    #[arg(long)]
    pub show: bool,
    /// Stacks that the command covers.
    #[command(flatten)]
    pub units: UnitArgs,
}

/// Prints the outputs of a stack, or one of them; with `--all`, those of the selected units.
///
/// # Errors
/// When the name or the environment of the stack is not known, it was never applied, the ledger cannot be read, there is no
/// such output, or a secret one cannot be shown as requested.
pub(in crate::cli) async fn run(session: &CommandContext, args: &OutputArgs) -> Result<Exit, CliFailure> {
    let query = OutputQuery { name: args.name.clone(), show: args.show };
    if args.units.all {
        return Box::pin(all::print_all(session, &args.units, &query)).await;
    }
    let ui = session.ui;
    if args.raw && (ui.json || ui.ndjson) {
        return Err(CliFailure::new(Exit::Usage, "--raw and --output json exclude each other")
            .help("Leave one of them out: --raw writes a value as it is."));
    }
    let unit = UnitHeader::read(&session.settings)?;
    let recorded = read_outputs(&unit, &query).await?;
    if args.raw {
        let text = recorded.outputs.iter().map(raw_text).collect::<Result<String, CliFailure>>()?;
        ui.write_result(&text);
    } else if ui.json || ui.ndjson {
        ui.write_result(&json::to_pretty(&OutputsDocument::new(&recorded)));
    } else if let (Some(_), [only]) = (&args.name, recorded.outputs.as_slice()) {
        let mut page = TextPage::new(TextStyle { width: usize::MAX, ..ui.style });
        page.add_line(TextLine::indent(0).push_text(display_text(only)));
        ui.write_result(&page.finish());
    } else {
        let mut page = TextPage::new(ui.style);
        add_outputs(&mut page, 0, &recorded.outputs);
        ui.write_result(&page.finish());
    }
    Ok(Exit::Done)
}
