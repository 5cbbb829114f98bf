//! `stead show`: shows a saved plan or a set of plans again, or how it differs from what was reviewed, without any request.
//! Needs no stack: everything is in the files.

mod set;

use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::args::report::PlanReportArgs;
use crate::cli::artifacts::report_files::ReportContext;
use crate::cli::artifacts::reviewed_plan::{ReviewedPlans, difference_markdown, plan_title};
use crate::cli::artifacts::{plan_file, plan_set};
use crate::cli::command_context::CommandContext;
use crate::cli::commands::plan;
use crate::cli::files::shell_path::quote_path;
use crate::cli::files::{stack_files, write_files};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::plan::artifact::saved_plan::SavedPlan;
use crate::report::json;
use crate::report::review::ReviewSubject;
use crate::report::terminal::{self, PlanContext};

/// Command-line arguments of `stead show`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead show prod.plan\n  stead show new.plan --against old.plan\n  stead show new.plan --against reviewed.md --output json\n  stead show plans/ --report html=plans.html    # what plan --all -o plans/ saved"
)]
pub struct ShowArgs {
    /// The saved plan to show, or the directory of a set
    pub file: PathBuf,
    /// Show how the plan differs from a reviewed one: a saved plan, a set, or a comment or report in Markdown
    #[arg(long, value_name = "FILE")]
    pub against: Option<PathBuf>,
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
    if plan_set::is_directory(&args.file) {
        let request = set::SetRequest {
            directory: &args.file,
            against: args.against.as_deref(),
            verify_key: args.verify_key.as_deref(),
            reports: &args.reports.wanted,
        };
        return set::show(session, &request);
    }
    let vouched = plan_file::read_verified(&session.settings, &args.file, args.verify_key.as_deref())?;
    let saved = &vouched.saved;
    if let Some(against) = &args.against {
        return show_difference(session, args, (saved, against));
    }
    let command = format!("apply {}", quote_path(&args.file));
    let about =
        ReportContext { stack: None, command: Some(&command), told: ReviewSubject::Plan, values: None };
    session.report_files(&args.reports.wanted, None).write_plan(&saved.plan, about)?;
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

/// Shows how a saved plan differs from what was reviewed, and writes the difference to the reports `md` and `json`.
fn show_difference(
    session: &CommandContext,
    args: &ShowArgs,
    (saved, against): (&SavedPlan, &Path),
) -> Result<Exit, CliFailure> {
    let reviewed = ReviewedPlans::read(&session.settings, against, args.verify_key.as_deref())?;
    let difference = reviewed.compare(&saved.plan, (&saved.binding.ledger, &saved.stead_version))?;
    let title = plan_title(&saved.plan);
    for (format, path) in &args.reports.wanted {
        let text = match format.name() {
            "md" => difference_markdown(&title, &difference),
            "json" => json::difference_document(&difference),
            other => {
                return Err(CliFailure::new(
                    Exit::Usage,
                    format!("--report {other} does not show a difference"),
                )
                .help("With --against there are md and json."));
            }
        };
        write_files::write_public(path, text.as_bytes())?;
        let path = stack_files::display_path(path);
        session.ui.write_message(&format!("wrote the {format} report to {path}"));
    }
    let text = if session.ui.json || session.ui.ndjson {
        json::difference_document(&difference)
    } else {
        terminal::difference_page(&title, &difference, session.ui.style)
    };
    session.ui.write_result(&text);
    Ok(Exit::Done)
}
