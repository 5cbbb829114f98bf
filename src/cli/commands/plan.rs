//! `stead plan`: shows all changes that an apply would make. In: the stack, its ledger and the live objects. Out: the
//! plan, and the requested files. Sends only GET requests, takes no lock, and writes no file but the requested ones.

mod all;

use std::io::{BufWriter, stdout};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use jiff::SignedDuration;

use crate::cli::args::plan::{LeftoverArgs, PlanScopeArgs};
use crate::cli::args::report::{self, PlanReportArgs};
use crate::cli::args::workspace::{ReaderArgs, RemovalArgs, UnitArgs};
use crate::cli::artifacts::plan_file;
use crate::cli::artifacts::report_files::ReportContext;
use crate::cli::command_context::CommandContext;
use crate::cli::files::shell_path::quote_path;
use crate::cli::files::stack_files;
use crate::cli::ledger::high_water_mark::RollbackDetected;
use crate::cli::ledger::{ambiguous_intents, held_lock, ledger_io};
use crate::cli::planning::key_rights;
use crate::cli::planning::refresh::{self, RefreshResult};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::secrets::kept_secrets;
use crate::cli::service::connection::StackConnection;
use crate::cli::stack::lock_file::read_pinned_names;
use crate::cli::stack::unit_header::UnitHeader;
use crate::cli::workspace::blockers::single_stack::with_other_stacks;
use crate::cli::workspace::review;
use crate::cloud::system_clock::SystemClock;
use crate::config::stack::lock_file;
use crate::config::stack::model::Stack;
use crate::kinds::REGISTRY;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::Name;
use crate::model::clock::Clock;
use crate::model::live::catalog::Catalog;
use crate::plan::artifact::binding::{self, NewLedgerKey, PlanBinding, SavedPlanOptions};
use crate::plan::artifact::signature::SigningKey;
use crate::plan::decide::conflicts::competing_writers;
use crate::plan::inputs::PlanningOptions;
use crate::plan::model::change::Plan;
use crate::report::json::{self, PlanDocumentOptions};
use crate::report::terminal::{self, PlanContext};

/// Command-line arguments of `stead plan`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead plan -e prod\n  stead plan -o prod.plan && stead apply prod.plan\n  stead plan -o prod.plan --expires 12h --sign-key plan.pem\n  stead plan --exit-code --output json > plan.json\n  stead plan --all -e prod\n  stead plan --all --allow-deletes=shop/dev\n  stead plan --all --remove old/prod"
)]
pub struct PlanArgs {
    /// Save the plan to this file, for a later apply; with --all, the plans into this directory
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Sign the saved plan with this Ed25519 private key in PEM form [env: STEAD_PLAN_SIGN_KEY]
    #[arg(long, value_name = "FILE", requires = "out")]
    pub sign_key: Option<PathBuf>,
    /// Reject the saved plan after this time, from 1m to 30d [default: 7d]
    #[arg(long, value_name = "TIME", requires = "out", value_parser = parse_lifetime)]
    pub expires: Option<SignedDuration>,
    /// Exit with 2 when there are changes
    #[arg(long, alias = "detailed-exitcode")]
    pub exit_code: bool,
    /// Report files to write in addition to the output.
    #[command(flatten)]
    pub reports: PlanReportArgs,
    /// Plan the deletion of the stack's resources; a protected one blocks it
    #[arg(long)]
    pub destroy: bool,
    /// Whether objects derived from the stack's objects are deleted, too.
    #[command(flatten)]
    pub leftovers: LeftoverArgs,
    /// Treat the stack as untrusted, as in pull requests from forks: reads no file outside of it, runs nothing, writes
    /// only reports, prompts for no secret; requires STEAD_READONLY_API_KEY, and refuses STEAD_API_KEY
    #[arg(long, conflicts_with = "out")]
    pub untrusted: bool,
    /// Resources that the plan covers.
    #[command(flatten)]
    pub scope: PlanScopeArgs,
    /// Stacks that the command covers.
    #[command(flatten)]
    pub units: UnitArgs,
    /// Removed units whose objects are deleted.
    #[command(flatten)]
    pub removals: RemovalArgs,
    /// Units that may lose what they use.
    #[command(flatten)]
    pub readers: ReaderArgs,
}

/// Plans and shows the plan. Returns `Exit::Blocked` for a blocked plan, and `Exit::Changes` only with `--exit-code`.
///
/// # Errors
/// When the stack has errors, the service or the ledger cannot be read, a name is not pinned with `--locked`, or a
/// file cannot be written.
pub(in crate::cli) async fn run(session: &CommandContext, args: &PlanArgs) -> Result<Exit, CliFailure> {
    if args.units.all {
        return Box::pin(all::plan_all(session, args.into())).await;
    }
    review::reject_unit_names(&args.scope)?;
    let project = session.open_or_report(&args.reports.wanted)?;
    let key = match &args.out {
        Some(_) => plan_file::signing_key(&session.settings, args.sign_key.as_deref())?,
        None => None,
    };
    let mut options = session.options(&args.scope, args.destroy);
    options.apply_command = session.command_line(&next_command(args));
    options.with_leftovers = with_leftovers(args)?;
    options.wants_values = report::shows_whole(&args.reports.wanted);
    let connection = session.connect(&project)?;
    let (ledger, objection) = ledger_io::read_for_plan(&project, &connection).await?;
    if args.out.is_some() && ledger.identity.key.is_none() {
        // The ledger does not exist yet, so the digests in the plan file use a key that is generated for the file.
        options.image_key = Some(ledger_io::new_identity(&project).key);
    }
    warn_of_ledger(session, objection, &ledger);
    let pinned = read_pinned_names(&connection.lock_file)?;
    // `start` times the reading only, so that the duration of a prompt does not count.
    let clock = connection.client.clock();
    let start = clock.elapsed();
    let (plan, world) =
        refresh::read_and_plan(&connection, &project, &ledger, &options, pinned.as_ref()).await?;
    let sources = (&session.settings, &session.unit_settings);
    let mut plan = Box::pin(with_other_stacks(sources, (&project, &ledger), (plan, &options))).await;
    key_rights::add_key_notes(&connection, &mut plan, &ledger, 0).await;
    let place = (&connection.place, &ledger);
    held_lock::add_lock_note(&UnitHeader::from(&project), place, &mut plan).await;
    let terms = (args.scope.locked, !ledger.entries.is_empty());
    check_lock(session, &connection, &project.stack, &world.catalog, pinned.as_ref(), terms)?;
    let facts = plan_details(&ledger, clock, start, &world);
    let exit = Exit::of_plan(&plan, args.exit_code);
    // Files are written before the output, because the output reports success.
    if let Some(path) = &args.out {
        let binding = bind_plan(args, (&project.stack, &options), &ledger, &plan, world.secrets.clone())?;
        write_plan_file(session, path, (&plan, binding), key.as_ref())?;
    }
    // A partial plan or a destroy plan needs more flags than its fingerprint to be applied.
    let expecting = format!("apply --expect {}", plan.fingerprint);
    let is_whole = !args.destroy && args.scope == PlanScopeArgs::default();
    let command = is_whole.then_some(expecting.as_str());
    let values = Some(&world.values).filter(|_| options.wants_values);
    let about = ReportContext { command, values, ..ReportContext::from_stack(&project.stack) };
    session.report_files(&args.reports.wanted, &project.reads).write_plan(&plan, about)?;
    show_plan(session, &plan, &facts, exit);
    warn_of_contest(session, &plan, &ledger);
    let condition = key_rights::apply_condition(std::iter::once(&plan), objection.is_some());
    match &args.out {
        _ if !plan.blocks.is_empty() => {}
        Some(path) => session.next(&format!("apply {}", quote_path(path)), condition),
        None if plan.has_changes() => session.next(&next_command(args), condition),
        None => {}
    }
    // The process ends now: freeing the parts of a large plan one by one takes a twentieth of its time.
    std::mem::forget((plan, project, world, ledger));
    Ok(exit)
}

impl<'a> From<&'a PlanArgs> for all::UnitsPlanRequest<'a> {
    fn from(args: &'a PlanArgs) -> Self {
        Self {
            units: &args.units,
            removals: &args.removals,
            readers: &args.readers,
            scope: &args.scope,
            destroy: args.destroy,
            exit_code: args.exit_code,
            file: args.out.as_deref(),
            sign_key: args.sign_key.as_deref(),
            expires: args.expires.unwrap_or(binding::DEFAULT_LIFETIME),
            reports: &args.reports.wanted,
        }
    }
}

/// Warns of what is wrong with the ledger that a plan was made from.
fn warn_of_ledger(session: &CommandContext, objection: Option<RollbackDetected>, ledger: &Ledger) {
    if let Some(rollback) = objection {
        session.ui.write_message(&format!("warning: {}", rollback.describe()));
    }
    ambiguous_intents::warn_ambiguous_intents(&session.ui, &session.settings, ledger);
    kept_secrets::warn_unauthenticated(&session.settings, ledger);
}

/// Returns the command that applies what a plan shows.
fn next_command(args: &PlanArgs) -> String {
    args.scope.format_command(args.destroy, args.leftovers.with_leftovers)
}

/// Checks that the catalog names that a plan uses are pinned. `terms` are whether this is required (`--locked`), and
/// whether the ledger has resources already.
///
/// # Errors
/// Those of `ledger_io::check_lock`.
pub(super) fn check_lock(
    session: &CommandContext,
    connection: &StackConnection,
    stack: &Stack,
    catalog: &Catalog,
    pinned: Option<&Catalog>,
    terms: (bool, bool),
) -> Result<(), CliFailure> {
    let used = lock_file::build_lock(REGISTRY, stack, catalog).catalog;
    ledger_io::check_lock(&session.settings, &session.ui, &connection.lock_file, &used, pinned, terms)
}

/// Returns whether the plan of a destroy includes objects derived from the stack's objects. A saved plan cannot: it
/// binds only objects of the ledger.
fn with_leftovers(args: &PlanArgs) -> Result<bool, CliFailure> {
    let asked = args.leftovers.with_leftovers;
    if asked && (!args.destroy || args.out.is_some()) {
        return Err(CliFailure::new(
            Exit::Usage,
            "--with-leftovers needs plan --destroy, and excludes --out",
        )
        .help("A destroy lists what it deletes and asks: stead destroy --with-leftovers"));
    }
    Ok(asked)
}

/// Returns the recipients of a stack's stored secrets, as a saved plan binds them; empty if the stack names none.
pub(in crate::cli) fn secret_recipients(stack: &Stack) -> Vec<Name> {
    stack.recipients.iter().flat_map(|recipients| recipients.names.iter().cloned()).collect()
}

/// Writes a plan to a file, and says how private the file is and who signed it.
fn write_plan_file(
    session: &CommandContext,
    path: &Path,
    (plan, binding): (&Plan, PlanBinding),
    key: Option<&SigningKey>,
) -> Result<(), CliFailure> {
    let holds_key = binding.unborn.is_some();
    plan_file::save_plan(path, plan.clone(), binding, key)?;
    if holds_key {
        session.ui.hint(&format!(
            "The ledger does not exist yet, so {} contains a new fingerprint key: keep the file as private as the ledger.",
            stack_files::display_path(path)
        ));
    }
    if let Some(key) = key {
        session.ui.hint(&format!("The plan is signed by the key {}.", key.id()));
    }
    Ok(())
}

/// Returns the state that a saved plan is bound to; `secrets` is the digest of the secrets' values, `None`
/// if none was computed.
fn bind_plan(
    args: &PlanArgs,
    (stack, options): (&Stack, &PlanningOptions),
    ledger: &Ledger,
    plan: &Plan,
    secrets: Option<String>,
) -> Result<PlanBinding, CliFailure> {
    let lifetime = args.expires.unwrap_or(binding::DEFAULT_LIFETIME);
    let expires = plan.base.made_at.checked_add(lifetime).map_err(anyhow::Error::from)?;
    let ledger = binding::ledger_digest(ledger).map_err(anyhow::Error::from)?;
    let unborn = options.image_key.clone().zip(secrets).map(|(key, secrets)| NewLedgerKey { key, secrets });
    let requested = SavedPlanOptions::from_options(options);
    Ok(PlanBinding { expires, ledger, requested, recipients: secret_recipients(stack), unborn })
}

/// Warns of attributes that drift again after each apply: competing writers.
pub(in crate::cli) fn warn_of_contest(session: &CommandContext, plan: &Plan, ledger: &Ledger) {
    for name in competing_writers::find_competing_writes(&plan.drift, ledger.history.iter()) {
        session.ui.write_message(&format!(
            "warning: {name} differs again although the last applies reverted it: another writer changes it, too. Let one of them manage it; `ignore_drift` leaves it to the other."
        ));
    }
}

/// Shows a plan in the requested format; `exit` is the exit code that the events report.
pub(in crate::cli) fn show_plan(session: &CommandContext, plan: &Plan, facts: &PlanContext, exit: Exit) {
    let ui = &session.ui;
    if ui.json || ui.ndjson {
        let options = PlanDocumentOptions { details: ui.verbose, ran: None };
        let mut out = BufWriter::new(stdout().lock());
        // A closed pipe (`| head`) is not an error.
        let _ = if ui.ndjson {
            json::plan_events(&mut out, plan, REGISTRY, options, (None, SystemClock.now(), exit.code()))
        } else {
            json::plan_to(&mut out, plan, REGISTRY, options)
        };
    } else {
        ui.write_result(&terminal::plan_page(plan, facts, ui.verbose, ui.style));
        if ui.verbose {
            ui.write_result(&terminal::plan_steps_page(plan, REGISTRY, ui.very_verbose, ui.style));
        }
    }
}

/// Returns the details for the display of a plan; `start` is the clock's elapsed time when the reading began.
pub(in crate::cli) fn plan_details(
    ledger: &Ledger,
    clock: &impl Clock,
    start: Duration,
    world: &RefreshResult,
) -> PlanContext {
    PlanContext {
        objects: Some(world.snapshot.objects.len()),
        read_in: Some(clock.elapsed().saturating_sub(start)),
        last_applied: ledger.last_applied,
        begun: ledger.history.back().filter(|run| !run.is_complete()).map(|run| run.at),
        now: Some(clock.now()),
        saved: false,
    }
}

/// Parses the lifetime of a saved plan, within its limits; `d` (days) is not a unit of durations elsewhere.
fn parse_lifetime(text: &str) -> Result<SignedDuration, String> {
    let days = text.strip_suffix('d').and_then(|days| days.parse::<u16>().ok());
    let lifetime = match days {
        Some(days) => SignedDuration::from_hours(24 * i64::from(days)),
        None => text.parse().map_err(|_| "expected the form 90m, 12h or 7d".to_owned())?,
    };
    if binding::LIFETIME_RANGE.contains(&lifetime) {
        Ok(lifetime)
    } else {
        Err("expected a duration from 1m to 30d".to_owned())
    }
}
