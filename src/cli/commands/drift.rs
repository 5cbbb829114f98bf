//! `stead drift`: compares live attributes with the last applied ones, and lists unmanaged objects. In: the stack,
//! its ledger and the live objects. Out: a report, an issue on the forge, and the drift history. It needs no secrets
//! and writes no ledger.

mod all;
mod inventory;

use clap::Args;

use crate::cli::args::report::PlanReportArgs;
use crate::cli::args::workspace::UnitArgs;
use crate::cli::artifacts::drift_history::DriftHistoryFile;
use crate::cli::artifacts::report_files::{ReportContext, ReportFiles};
use crate::cli::command_context::CommandContext;
use crate::cli::commands::ls::{self, UnmanagedObjects};
use crate::cli::commands::{accept, ci, plan as planning};
use crate::cli::ledger::other_ledgers;
use crate::cli::ledger::{ambiguous_intents, held_lock, ledger_io};
use crate::cli::planning::refresh::{self, RefreshResult};
use crate::cli::planning::{claims, key_rights};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::service::connection::StackConnection;
use crate::cli::stack::lock_file::read_pinned_names;
use crate::cli::stack::project::LoadedStack;
use crate::cli::stack::unit_header::UnitHeader;
use crate::kinds::REGISTRY;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::Name;
use crate::model::clock::Clock;
use crate::model::schema::is_exposure_code;
use crate::plan::artifact::drift_history::DriftHistoryDiff;
use crate::plan::decide::checks::lost_ledger;
use crate::plan::diff::confirmation;
use crate::plan::join::project_scope::ProjectScope;
use crate::plan::model::change::{Plan, PlanCost};
use crate::plan::model::drift::count_live;
use crate::plan::model::step::CriticalPath;
use crate::report::json;
use crate::report::review::{ReviewFormat, ReviewSubject};
use crate::report::text::escape;
use crate::report::views::drift::{self, DriftReport, OtherProjectCounts};
use crate::report::views::list::ObjectSummary;

/// Command-line arguments of `stead drift`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead drift -e prod --exit-code\n  stead drift -e prod --accept database.main.storage_gb\n  stead drift --all --exit-code\n\n\
    stead records the drift that it found in .stead/drift, names and times only: keep that directory between cron runs, \
    and each run reports new drift, since when the other drift exists, and what is resolved."
)]
pub struct DriftArgs {
    /// Exit with 3 if there is drift
    #[arg(long, alias = "detailed-exitcode")]
    pub exit_code: bool,
    /// In a job of GitHub Actions or GitLab CI: open an issue with the drift that needs a decision, update it while
    /// there is some, and close it when there is none
    #[arg(long, conflicts_with_all = ["accept", "all"])]
    pub issue: bool,
    /// Report files to write in addition to the output.
    #[command(flatten)]
    pub reports: PlanReportArgs,
    /// Write the live value of this path into the configuration; shows the change, and prompts
    #[arg(long, value_name = "PATH", conflicts_with_all = ["exit_code", "all"])]
    pub accept: Option<Name>,
    /// Do not prompt for confirmation
    #[arg(long, requires = "accept")]
    pub yes: bool,
    /// Stacks that the command covers.
    #[command(flatten)]
    pub units: UnitArgs,
}

/// Compares the live objects with the ledger, and reports drift; with `--accept`, writes one live value into the
/// configuration instead of printing the report. Returns `Exit::Drift` only with `--exit-code`, and only for drift
/// that needs a decision.
///
/// # Errors
/// When the stack has problems, the ledger was lost, the service or the ledger cannot be read, or a report or the
/// issue cannot be written.
pub(in crate::cli) async fn run(session: &CommandContext, args: &DriftArgs) -> Result<Exit, CliFailure> {
    if args.units.all {
        let request = all::UnitsDriftRequest {
            units: &args.units,
            exit_code: args.exit_code,
            reports: &args.reports.wanted,
            looked_at,
        };
        return Box::pin(all::check_all(session, &request)).await;
    }
    Box::pin(check_stack(session, args)).await
}

async fn check_stack(session: &CommandContext, args: &DriftArgs) -> Result<Exit, CliFailure> {
    let project = session.open_or_report(&args.reports.wanted)?;
    let options = session.read_only_options();
    let connection = session.connect(&project)?;
    let ledger = ledger_io::read_ledger(&project, &connection).await?;
    ambiguous_intents::warn_ambiguous_intents(&session.ui, &session.settings, &ledger);
    let pinned = read_pinned_names(&connection.lock_file)?;
    let (mut plan, mut world) =
        refresh::read_and_plan(&connection, &project, &ledger, &options, pinned.as_ref()).await?;
    // Without its ledger, every object of the stack would be reported as unmanaged.
    if let Some(block) = lost_ledger::lost_ledger_blocker(&ledger, &plan) {
        return Err(CliFailure::new(Exit::Blocked, block.text).help(block.help));
    }
    let not_readable = key_rights::mark_not_readable(&connection, &mut plan, &ledger).await;
    let (strangers, unread) =
        find_unmanaged(session, (&project, &connection), (&plan, &ledger), &mut world).await?;
    let place = (&connection.place, &ledger);
    held_lock::add_lock_note(&UnitHeader::from(&project), place, &mut plan).await;
    let looked_at = looked_at(&plan);
    let account = strangers.account.len();
    let elsewhere =
        OtherProjectCounts { projects: strangers.projects, account, unread, ..Default::default() };
    let found = DriftReport {
        stack: &project.stack.name,
        environment: &project.stack.environment.name,
        drift: &plan.drift,
        unmanaged: &strangers.here,
        managed: count_live(&ledger, &plan.drift),
        elsewhere,
        memory: &DriftHistoryDiff::default(),
        notes: &looked_at.notes,
        exposures: &looked_at.policy,
        verbose: session.ui.verbose,
    };
    let diary = DriftHistoryFile::from_ledger(&project, &ledger);
    let now = connection.client.clock().now();
    let (memory, sightings) = DriftHistoryDiff::new_with_history(diary.read(), found.observed_items(), now);
    let found = DriftReport { memory: &memory, ..found };
    let mut about = ReportContext::from_stack(&project.stack);
    about.told = ReviewSubject::Drift(&found);
    session.report_files(&args.reports.wanted, &project.reads).write_plan(&looked_at, about)?;
    planning::warn_of_contest(session, &plan, &ledger);
    if let Some(path) = &args.accept {
        return accept::run(session, &project, &plan.drift, &ledger, (path, args.yes)).await;
    }
    print_drift(session, &found);
    // Stored last: if printing fails, the next run must report the drift as new again.
    diary.write(&session.ui, &sightings);
    if args.issue {
        let report = issue_report(session, &project, (&looked_at, about));
        write_issue(session, &found, &report).await?;
    }
    match (Exit::of_drift(found.to_decide(), args.exit_code), not_readable) {
        (Exit::Done, Some(failure)) => Err(failure),
        (exit, _) => Ok(exit),
    }
}

fn print_drift(session: &CommandContext, found: &DriftReport<'_>) {
    if session.ui.json {
        session.ui.write_result(&json::drift_document(found));
        return;
    }
    session.ui.write_result(&drift::drift_page(found, session.ui.style));
    if found.to_decide() > 0 {
        session.next("plan", "shows what an apply would revert");
    }
}

/// Returns the report of a check for the issue.
fn issue_report(
    session: &CommandContext,
    project: &LoadedStack,
    (plan, about): (&Plan, ReportContext<'_>),
) -> String {
    let commit = session.planned_commit(&project.reads);
    let files = ReportFiles { commit, ..session.problem_reports(&[]) };
    files.plan_text(ReviewFormat::MARKDOWN, plan, about)
}

/// Opens the issue on the forge with the report, updates it, or closes it where nothing needs a decision.
async fn write_issue(
    session: &CommandContext,
    found: &DriftReport<'_>,
    report: &str,
) -> Result<(), CliFailure> {
    let title = format!("{}/{}", found.stack, found.environment);
    let is_open = found.to_decide() > 0 || found.not_readable() > 0;
    let written = ci::write_issue(&title, report, is_open).await?;
    let place = written.url.as_deref().map(|url| format!(": {url}")).unwrap_or_default();
    let outcome = written.how.outcome_keyword();
    session.ui.write_message(&format!("the issue is {outcome}{}", escape::escape_line(&place)));
    Ok(())
}

/// Returns the live objects of the stack's projects that no ledger of the backend owns, of every kind. The flag is
/// true, and the list empty, if another ledger cannot be read: its objects would be reported as unmanaged.
async fn find_unmanaged(
    session: &CommandContext,
    (project, connection): (&LoadedStack, &StackConnection),
    (plan, ledger): (&Plan, &Ledger),
    world: &mut RefreshResult,
) -> Result<(UnmanagedObjects, bool), CliFailure> {
    let owned_elsewhere = match other_ledgers::objects_of_other_ledgers(project, &connection.place).await {
        Ok(owned) => owned,
        Err(failure) => {
            let cause = escape::escape_line(&failure.message);
            session.ui.write_message(&format!(
                "note: the unmanaged objects are not known: another ledger cannot be read: {cause}"
            ));
            return Ok((UnmanagedObjects::default(), true));
        }
    };
    let reach = ProjectScope::from_plan(plan, ledger);
    ls::add_unused_kinds(session, connection, (Some(&reach), &[], true), world).await?;
    ls::redact_secrets(connection, world);
    let claimed = claims::claimed_objects(connection, &world.snapshot).await?;
    let mut strangers = ls::unmanaged_objects(ledger, world, &reach);
    strangers.leave_out_keys_in_use(connection, world);
    strangers.leave_out_owned(&owned_elsewhere);
    // Objects created by the service or by workloads in a managed object are not meant to be managed.
    let made = |row: &ObjectSummary| {
        let object = world.snapshot.objects.get(&row.key());
        let made = object.zip(REGISTRY.kind(&row.kind));
        made.is_some_and(|(object, kind)| kind.is_made_by_service(&object.attributes))
    };
    strangers.here.retain(|row| !claimed.contains_key(&row.key()) && !made(row));
    Ok((strangers, false))
}

/// Returns only the drift and the exposures of a plan, without its changes: a drift check reads no secrets, so it could not compute
/// those. The cost after an apply equals the present one.
fn looked_at(plan: &Plan) -> Plan {
    let bill = plan.cost.monthly_before;
    Plan {
        changes: Vec::new(),
        steps: Vec::new(),
        critical_path: CriticalPath::default(),
        holds_deletions: false,
        blocks: Vec::new(),
        policy: plan
            .policy
            .iter()
            .filter(|result| is_exposure_code(&REGISTRY, &result.name))
            .cloned()
            .collect(),
        undecided: Vec::new(),
        notes: confirmation::notes_of_look(plan),
        planned_outputs: Vec::new(),
        cost: PlanCost { monthly_before: bill, monthly_after: bill, ..PlanCost::default() },
        ..plan.clone()
    }
}
