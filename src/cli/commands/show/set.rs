//! `stead show DIRECTORY`: shows a set of saved plans again, or how each differs from the reviewed one. Needs no stack:
//! everything is in the files.

use std::collections::BTreeSet;
use std::path::Path;

use crate::cli::args::global_flags;
use crate::cli::args::report::ReportTarget;
use crate::cli::artifacts::plan_set::{self, LoadedPlanSet};
use crate::cli::artifacts::reviewed_plan::{ReviewedPlans, describe_unreviewed, plan_title};
use crate::cli::command_context::CommandContext;
use crate::cli::files::{stack_files, write_files};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::kinds::REGISTRY;
use crate::plan::artifact::review_difference::UnitDifference;
use crate::plan::model::change::Plan;
use crate::report::json::{self, PlanDocumentOptions};
use crate::report::terminal::{self, PlanContext};
use crate::report::units::review::{ReviewedName, UnitReview, UnitStatus, UnitsReview};
use crate::workspace::unit::UnitName;

/// What the command line asks of a set.
pub(super) struct SetRequest<'a> {
    pub(super) directory: &'a Path,
    /// What it is compared with; `None` shows it alone.
    pub(super) against: Option<&'a Path>,
    pub(super) verify_key: Option<&'a Path>,
    pub(super) reports: &'a [ReportTarget],
}

/// Shows the set in the directory that the command line names.
///
/// # Errors
/// When it is no set, a file was modified or is missing, a signature by a trusted key is missing, or a report cannot be
/// written.
pub(super) fn show(session: &CommandContext, request: &SetRequest<'_>) -> Result<Exit, CliFailure> {
    let set = plan_set::read_set(&session.settings, request.directory, request.verify_key)?;
    if let Some(against) = request.against {
        return show_differences(session, request, (&set, against));
    }
    let reviews = set.plans.iter().map(|(name, saved)| UnitReview {
        name: ReviewedName::Unit(name),
        directory: set.directories.get(name),
        status: UnitStatus::of_plan(&saved.plan),
        exit: Exit::of_plan(&saved.plan, false).code(),
        plan: Some(&saved.plan),
        values: None,
        failure: None,
        upstream: set.upstream.get(name).map_or(&[], Vec::as_slice),
        run: None,
    });
    let review = UnitsReview::new(reviews.collect(), &set.fingerprint, set.destroy);
    let directory = stack_files::display_path(request.directory);
    let command = format!("apply {}", global_flags::quote_shell_word(&directory));
    let no_file = |_: &UnitName| String::new();
    session.report_files(request.reports, None).write_units(&review, &no_file, Some(&command))?;
    let ui = &session.ui;
    let signed = format!("SIGNATURE  {}", set.signer);
    if ui.json || ui.ndjson {
        let options = PlanDocumentOptions { details: ui.verbose, ran: None };
        let document = json::units_document(&review, REGISTRY, options);
        ui.write_result(&if ui.ndjson { json::fold_lines(&document) } else { document.into() });
        ui.write_message(&signed);
    } else {
        let context = |_: &UnitReview<'_>| PlanContext { saved: true, ..PlanContext::default() };
        ui.write_result(&terminal::units_page(&review, &context, ui.verbose, ui.style));
        ui.write_result(&(signed + "\n"));
    }
    Ok(Exit::Done)
}

/// Shows how each plan of a set differs from the reviewed one, and which units only one side has; also to the report `json`.
fn show_differences(
    session: &CommandContext,
    request: &SetRequest<'_>,
    (set, against): (&LoadedPlanSet, &Path),
) -> Result<Exit, CliFailure> {
    let ui = &session.ui;
    if let Some((format, _)) = request.reports.iter().find(|(format, _)| format.name() != "json") {
        let message = format!("--report {} does not show the differences of a set", format.name());
        return Err(CliFailure::new(Exit::Usage, message).help("With a set and --against there is json."));
    }
    let reviewed = ReviewedPlans::read(&session.settings, against, request.verify_key)?;
    let mut gone: BTreeSet<String> = reviewed.units_with_changes().cloned().collect();
    let (mut found, mut new): (Vec<UnitDifference>, Vec<&Plan>) = (Vec::new(), Vec::new());
    for (name, saved) in &set.plans {
        let title = name.to_string();
        gone.remove(&title);
        if reviewed.can_have(&title) {
            let side = (saved.binding.ledger.as_str(), saved.stead_version.as_str());
            found.push((title, reviewed.compare(&saved.plan, side)?));
        } else {
            new.push(&saved.plan);
        }
    }
    let gone: Vec<String> = gone.into_iter().collect();
    let titles: Vec<String> = new.iter().map(|plan| plan_title(plan)).collect();
    let document = || json::units_difference_document(&found, &titles, &gone);
    for (format, path) in request.reports {
        write_files::write_public(path, document().as_bytes())?;
        let path = stack_files::display_path(path);
        ui.write_message(&format!("wrote the {format} report to {path}"));
    }
    if ui.json || ui.ndjson {
        ui.write_result(&document());
        return Ok(Exit::Done);
    }
    for (title, difference) in &found {
        ui.write_result(&terminal::difference_page(title, difference, ui.style));
    }
    for plan in new {
        ui.write_result(&(describe_unreviewed(plan) + "\n"));
    }
    for title in gone {
        ui.write_result(&format!("{title}  was reviewed, and has no plan in this set\n"));
    }
    Ok(Exit::Done)
}
