//! `stead state`: lists, copies, moves, verifies and repairs the ledger itself. Sends no request to the service. A
//! subcommand that writes takes the lock, and never replaces a ledger by one of another lineage.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::adopt_directory::{self, AdoptDirectoryArgs};
use super::ledger_copy::{missing_ledger, same_content, write_copy};
use super::migrate::{self, StateMigrateArgs};
use super::repair::{self, StateRepairArgs};
use super::seal::{self, StateSealArgs};
use crate::apply::context::TimingBounds;
use crate::cli::command_context::CommandContext;
use crate::cli::files::stack_files;
use crate::cli::files::write_files;
use crate::cli::ledger::high_water_mark::{HighWaterMarkStore, RollbackDetected};
use crate::cli::ledger::inspection;
use crate::cli::ledger::ledger_io::{self, CommandJournal, LedgerOpenOptions};
use crate::cli::ledger::open::{self, CommandStore};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::ledger_settings;
use crate::cli::process::output::Ui;
use crate::cli::stack::unit_header::UnitHeader;
use crate::ledger::integrity::export;
use crate::ledger::journal::mac::MacKey;
use crate::ledger::journal::replay::same_owner;
use crate::ledger::journal::trail::HeadHistory;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::stores::location::LedgerLocation;
use crate::report::json;
use crate::report::text::phrases::count_noun;
use crate::report::views::list::{self, ObjectSummary};

/// Command-line arguments of `stead state`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead state list\n  stead state pull -o ledger.json\n  stead state push ledger.json\n  stead state migrate --to s3://bucket/prefix\n  stead state seal\n  stead state verify"
)]
pub struct StateArgs {
    /// What to do with the ledger
    #[command(subcommand)]
    pub action: StateAction,
}

/// Subcommands of `stead state`.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum StateAction {
    /// List the objects that it owns, without a request to the service
    #[command(after_help = "Example:\n  stead state list --output json")]
    List,
    /// Export it as one document with its own digest
    Pull(StatePullArgs),
    /// Replace it by an exported document
    Push(StatePushArgs),
    /// Move it to another backend
    Migrate(StateMigrateArgs),
    /// Add MACs to a ledger without them, or replace their key
    Seal(StateSealArgs),
    /// Allow this directory to apply the stack of a ledger on a shared backend, too
    AdoptDirectory(AdoptDirectoryArgs),
    /// Verify every stored record, digest and checkpoint
    #[command(after_help = "Example:\n  stead state verify -e prod")]
    Verify,
    /// Repair a damaged ledger as far as possible
    Repair(StateRepairArgs),
}

/// Command-line arguments of `stead state pull`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Example:\n  stead state pull -o ledger.json\n\nThe document contains the key of the secrets' fingerprints, but no secret: keep it as private as the ledger."
)]
pub struct StatePullArgs {
    /// Output file, readable only by its owner; standard output when omitted
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Command-line arguments of `stead state push`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  stead state push ledger.json")]
pub struct StatePushArgs {
    /// A document written by `state pull`
    pub file: PathBuf,
    /// Push although the ledger has new records since the document was pulled
    #[arg(long)]
    pub force: bool,
    /// Do not prompt for confirmation
    #[arg(long)]
    pub yes: bool,
}

/// Runs a subcommand of `stead state`.
///
/// # Errors
/// When the name or the environment of the stack is not known, the ledger cannot be read or written, or a copy is older than
/// the ledger.
pub(in crate::cli) async fn run(session: &CommandContext, args: &StateArgs) -> Result<Exit, CliFailure> {
    if let StateAction::AdoptDirectory(args) = &args.action {
        // The root of a repository does not need a stack of its own.
        return Box::pin(adopt_directory::run(session, args)).await;
    }
    let unit = UnitHeader::read(&session.settings)?;
    let place = unit.ledger_location()?;
    match &args.action {
        StateAction::List => list_entries(session, &unit, &place).await,
        StateAction::Pull(args) => pull_ledger(session, args, &unit, &place).await,
        StateAction::Push(args) => push_ledger(session, args, &unit, &place).await,
        StateAction::Migrate(args) => Box::pin(migrate::run(session, args, &unit, &place)).await,
        StateAction::Seal(args) => Box::pin(seal::run(session, args, &unit, &place)).await,
        StateAction::AdoptDirectory(_) => Ok(Exit::Done),
        StateAction::Verify => repair::verify_ledger(session, &unit, &place).await,
        StateAction::Repair(args) => repair::run(session, args, &unit, &place).await,
    }
}

/// Lists the owned objects, deposed ones included, as the ledger records them; no ledger is an empty list.
async fn list_entries(
    session: &CommandContext,
    unit: &UnitHeader<'_>,
    place: &LedgerLocation,
) -> Result<Exit, CliFailure> {
    let ledger = ledger_io::find_ledger(unit, place).await?;
    let entries = ledger.map(|ledger| ledger.entries).unwrap_or_default();
    let mut rows = Vec::with_capacity(entries.len());
    for (address, entry) in &entries {
        let current = entry.current.iter().map(|owned| (owned, None));
        let deposed = entry.deposed.iter().map(|owned| (owned, Some("deposed")));
        rows.extend(current.chain(deposed).map(|(owned, deposed)| ObjectSummary {
            address: Some(address.clone()),
            kind: entry.kind.clone(),
            id: owned.id.clone(),
            status: deposed.or(owned.provisional.then_some("provisional")).map(Into::into),
            project: owned.project.clone(),
            created_at: owned.created_at.clone(),
            ..ObjectSummary::default()
        }));
    }
    let table = list::owned_table(&rows, session.ui.json || session.ui.verbose);
    session.ui.write_result(&if session.ui.json {
        json::list_document("objects", &table)
    } else {
        table.to_text("Nothing is managed yet.", session.ui.style)
    });
    Ok(Exit::Done)
}

/// Writes the ledger as one document, with a MAC if a key is configured.
async fn pull_ledger(
    session: &CommandContext,
    args: &StatePullArgs,
    unit: &UnitHeader<'_>,
    place: &LedgerLocation,
) -> Result<Exit, CliFailure> {
    let key = open::seal_key(&session.settings)?;
    // A ledger without MACs can be copied, too, for inspection or as a backup before `state seal`.
    let lenient = key.as_ref().map(MacKey::accepting_unsealed);
    let ledger = CommandStore::read(place, &unit.stack, &unit.environment, lenient.as_ref()).await?;
    let hint = ledger_settings::built_in_hint(&session.settings, &unit.environment);
    let ledger = ledger.ok_or_else(|| missing_ledger(place).help(hint.unwrap_or_default()))?;
    match (&key, &ledger.sealed) {
        (None, Some(_)) => Ui::write_error(&format!("warning: {}", inspection::UNPROVEN)),
        (Some(_), None) if !ledger.is_blank() => {
            Ui::write_error("warning: ledger not authenticated: it has no MACs");
        }
        _ => {}
    }
    let bytes = export::write_document(&ledger, key.as_ref())?;
    match &args.out {
        None => session.ui.write_result(&String::from_utf8_lossy(&bytes)),
        Some(path) => {
            write_files::write_private(path, &bytes)?;
            let (count, shown) =
                (count_noun(ledger.entries.len(), "resource"), stack_files::display_path(path));
            session.ui.report_done(&format!("Record {} with {count} is in {shown}.", ledger.serial));
        }
    }
    session
        .ui
        .write_message("It contains the key of the secrets' fingerprints, but no secret: keep it private.");
    Ok(Exit::Done)
}

/// Replaces the ledger by a copy, or creates a missing one from it.
async fn push_ledger(
    session: &CommandContext,
    args: &StatePushArgs,
    unit: &UnitHeader<'_>,
    place: &LedgerLocation,
) -> Result<Exit, CliFailure> {
    let shown = stack_files::display_path(&args.file);
    let bytes = stack_files::read_whole(&args.file)?
        .ok_or_else(|| CliFailure::new(Exit::Failed, format!("there is no file {shown}")))?;
    let key = open::seal_key(&session.settings)?;
    let lenient = key.as_ref().map(MacKey::accepting_unsealed);
    let copy = export::parse(&bytes, &shown, lenient.as_ref())?;
    if key.is_some() && copy.sealed.is_none() {
        if !args.force {
            return Err(CliFailure::new(
                Exit::Failed,
                format!("{shown} has no MAC, so a change to it cannot be detected, and `STEAD_LEDGER_KEY` is set"),
            )
            .help("Push a copy that was pulled with the key. If there is none and you know who wrote this one: --force."));
        }
        session
            .ui
            .write_message(&format!("warning: {shown} has no MAC: a change to it cannot be detected"));
    }
    // A copy of another environment has the same resources, and would make this one delete or replace them.
    same_owner(&copy.identity.stack, &copy.identity.environment, &unit.stack, &unit.environment)?;
    let terms =
        // A missing ledger gets the identity of the copy, so that the fingerprints in it stay valid.
        LedgerOpenOptions { identity: &copy.identity, effect: TimingBounds::default().effect, force: None, vouched: &[] };
    let journal = ledger_io::open_at(&session.settings, &session.who, place, &terms).await?;
    let marks = ledger_io::high_water_marks(unit, place)?;
    let done = replace_ledger(session, args, &journal, copy.clone(), &marks).await;
    ledger_io::close_after(journal, done).await
}

/// Replaces an open ledger by a copy, after a prompt unless the ledger is new.
async fn replace_ledger(
    session: &CommandContext,
    args: &StatePushArgs,
    journal: &CommandJournal,
    copy: Ledger,
    marks: &HighWaterMarkStore,
) -> Result<Exit, CliFailure> {
    let (here, lineage) = (journal.ledger().clone(), copy.identity.lineage);
    if here.identity.lineage != lineage {
        return Err(CliFailure::new(
            Exit::Failed,
            format!("the ledger here has another lineage ({}), not {lineage}", here.identity.lineage),
        )
        .help("A copy can only replace the ledger that it was pulled from, or create a missing one."));
    }
    if same_content(&here, &copy) {
        session.ui.report_done("The ledger has the same content already: nothing was written.");
        return Ok(Exit::Done);
    }
    let began = ledger_io::is_empty(&here);
    if !began && here.serial > copy.serial && !args.force {
        return Err(CliFailure::new(
            Exit::Failed,
            format!(
                "the ledger is at record {}, the copy at {}: the copy is older",
                here.serial, copy.serial
            ),
        )
        .help("Everything recorded since would be lost, objects included. If that is intended: --force."));
    }
    if !args.force && marks.saw_macs(Some(&copy))? {
        // A ledger that was deleted here may be newer than the copy.
        let objection = marks.detect_rollback(Some((&copy, &HeadHistory::default())))?;
        if let Some(RollbackDetected { what, means, .. }) = objection {
            return Err(CliFailure::new(Exit::OutOfDate, format!("the copy is refused: {what}: {means}"))
                .help("Push a newer copy. If this one is intended: --force."));
        }
    }
    let (from, to) = (here.entries.len(), copy.entries.len());
    session.ui.write_message(&format!("The ledger has {from} resources, the copy {to}."));
    if !began
        && !ledger_io::while_kept(
            journal,
            session.ui.confirm_action(args.yes, "Replace the ledger by the copy?"),
        )
        .await?
    {
        return Ok(Exit::Failed);
    }
    write_copy(session, journal, copy).await?;
    ledger_io::advance_marks(marks, journal);
    session.ui.report_done("The copy is the ledger now.");
    session.next("plan", "compares it with the live objects");
    Ok(Exit::Done)
}
