//! `stead show`: shows a saved plan again, without any request. Needs no stack: everything is in the file.

use std::path::PathBuf;

use clap::Args;

use crate::cli::args::global_flags;
use crate::cli::args::report::PlanReportArgs;
use crate::cli::artifacts::plan_file;
use crate::cli::artifacts::report_files::ReportContext;
use crate::cli::command_context::CommandContext;
use crate::cli::commands::plan;
use crate::cli::files::stack_files;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::report::review::ReviewSubject;
use crate::report::terminal::PlanContext;

/// Command-line arguments of `stead show`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  stead show prod.plan")]
pub struct ShowArgs {
    /// The saved plan to show
    pub file: PathBuf,
    /// Verify the signature with one of these Ed25519 public keys in PEM form [env: STEAD_PLAN_VERIFY_KEY]
    #[arg(long, value_name = "FILE")]
    pub verify_key: Option<PathBuf>,
    /// Report files to write in addition to the output.
    #[command(flatten)]
    pub reports: PlanReportArgs,
}

/// Shows the plan in a file.
///
/// # Errors
/// When the file is not a plan, was modified, lacks a signature by a trusted key, or a report cannot be written. An
/// expired plan is shown.
pub(in crate::cli) fn run(session: &CommandContext, args: &ShowArgs) -> Result<Exit, CliFailure> {
    let vouched = plan_file::read_verified(&session.settings, &args.file, args.verify_key.as_deref())?;
    let saved = &vouched.saved;
    let command =
        format!("apply {}", global_flags::quote_shell_word(&stack_files::display_path(&args.file)));
    let about =
        ReportContext { stack: None, command: Some(&command), told: ReviewSubject::Plan, values: None };
    session.report_files(&args.reports.wanted).write_plan(&saved.plan, about)?;
    plan::show_plan(
        session,
        &saved.plan,
        &PlanContext { saved: true, ..PlanContext::default() },
        Exit::Done,
    );
    let expires = saved.binding.expires.strftime("%-d %b %Y %H:%M UTC");
    let signed = format!("EXPIRES    {expires}\nSIGNATURE  {}", vouched.describe_signer());
    if session.ui.json || session.ui.ndjson {
        session.ui.write_message(&signed);
    } else {
        session.ui.write_result(&(signed + "\n"));
    }
    Ok(Exit::Done)
}
