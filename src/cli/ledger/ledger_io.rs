//! Reads and opens the ledger of a stack, checks it against its high-water mark, and checks that catalog names are
//! pinned. A read needs no lock. A writer holds the lock from `open_journal` to `close_after`, which every command
//! calls also after an error.

use std::cell::Cell;
use std::path::Path;
use std::time::Duration;

use super::high_water_mark::{HighWaterMarkStore, RollbackDetected};
use super::inspection::{LedgerReadResult, inspect_ledger};
use super::open::{CommandStore, seal_key};
use crate::cli::files::stack_files::{self};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::output::Ui;
use crate::cli::process::settings::{CloudEndpoint, Settings};
use crate::cli::process::signals::{self, SignalOutcome};
use crate::cli::service::command_client::CommandClock;
use crate::cli::service::connection::StackConnection;
use crate::cli::stack::project::LoadedStack;
use crate::cli::stack::unit_header::UnitHeader;
use crate::cloud::system_clock::{SystemClock, SystemRandom};
use crate::ledger::journal::error::StoreError;
use crate::ledger::journal::handle::Journal;
use crate::ledger::journal::mac::MacKey;
use crate::ledger::state::entry::LedgerIdentity;
use crate::ledger::state::holder::{LeaseHolder, ProcessIdentity};
use crate::ledger::state::ledger::Ledger;
use crate::ledger::stores::file::process;
use crate::ledger::stores::location::LedgerLocation;
use crate::ledger::stores::open_options::OpenOptions;
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::live::catalog::Catalog;
use crate::model::values::value::Value;

/// Timeout for releasing the ledger's lock after the second stop signal.
pub(in crate::cli) const RELEASE_TIMEOUT: Duration = Duration::from_secs(2);

/// The journal type of all commands.
pub(in crate::cli) type CommandJournal = Journal<CommandStore>;

/// How to open a ledger for writing.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct LedgerOpenOptions<'a> {
    /// Identity for a ledger that does not exist yet; an existing one keeps its own.
    pub(in crate::cli) identity: &'a LedgerIdentity,
    /// Time after which a request of a displaced lock holder can no longer take effect.
    pub(in crate::cli) effect: Duration,
    /// Reason for breaking a held lock, which the history records; `None` does not break it.
    pub(in crate::cli) force: Option<&'a str>,
    /// Processes that a person stated to be dead, besides those that are proven dead.
    pub(in crate::cli) vouched: &'a [ProcessIdentity],
}

/// Reads the ledger without its lock, and warns if it is not authenticated; `None` if it does not exist.
///
/// # Errors
/// When it cannot be read, is damaged, or has no MACs although a key is configured.
pub(in crate::cli) async fn find_ledger<'a>(
    unit: impl Into<UnitHeader<'a>>,
    place: &LedgerLocation,
) -> Result<Option<Ledger>, CliFailure> {
    let looked = inspect_ledger(unit, place).await?;
    looked.warn_if_unproven();
    Ok(looked.found)
}

/// Version that a command requires of a ledger that it opens for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum ExpectedLedger {
    /// The high-water mark of this machine, or newer, if the ledger has or had MACs.
    Newest,
    /// The high-water mark of this machine, or newer, also for a ledger without MACs: required by an apply.
    NewestForApply,
    /// Any version: the user accepts an older one.
    Any,
    /// No ledger or an empty one, which will be rebuilt.
    LostOrEmpty,
}

impl ExpectedLedger {
    /// Returns what an apply requires, unless the user accepts an older ledger.
    pub(in crate::cli) const fn for_apply(accepts_older: bool) -> Self {
        if accepts_older { Self::Any } else { Self::NewestForApply }
    }
}

/// Reads the ledger for a plan, without its lock; an empty one if it does not exist.
///
/// # Errors
/// When it cannot be read or is damaged, or is missing although it is required.
pub(in crate::cli) async fn read_ledger(
    project: &LoadedStack,
    connection: &StackConnection,
) -> Result<Ledger, CliFailure> {
    let (stack, place) = (&project.stack, &connection.place);
    let found = find_ledger(project, place).await?;
    check_required(project, place, found.as_ref())?;
    let unborn = || Ledger::new(LedgerIdentity::new_placeholder(&stack.name, &stack.environment.name));
    Ok(found.map_or_else(unborn, Ledger::for_plans))
}

/// Checks that the catalog names of a stack are pinned; otherwise their ids come from the catalog at the time of the
/// run, and can differ later. The flags are whether this is required (`--locked`), and whether the stack was applied
/// before. An unpinned name that is not required is at most a warning.
///
/// # Errors
/// When a name is not pinned, and `locked` forbids that.
pub(in crate::cli) fn check_lock(
    settings: &Settings,
    ui: &Ui,
    lock_file: &Path,
    used: &Catalog,
    pinned: Option<&Catalog>,
    (locked, is_born): (bool, bool),
) -> Result<(), CliFailure> {
    let has = |table: &Name, id: &Value| {
        let records = pinned.and_then(|pinned| pinned.tables.get(table));
        records.is_some_and(|records| records.iter().any(|record| record.id == *id))
    };
    let mut records = used.tables.iter().flat_map(|(table, all)| all.iter().map(move |one| (table, one)));
    let Some((table, first)) = records.find(|(table, record)| !has(table, &record.id)) else {
        return Ok(());
    };
    let path = stack_files::display_path(lock_file);
    let what = match pinned {
        None => format!(
            "{path} is missing: names such as {} are resolved with the service's current catalog",
            first.slug
        ),
        Some(_) => format!("{path} lacks {table} {}, which the stack uses", first.slug),
    };
    if locked {
        return Err(CliFailure::new(Exit::Failed, what)
            .help("Pin the names with `stead catalog update`, and commit the file. Nothing was sent."));
    }
    // The first apply writes the lock file; a stack of the built-in cloud does not commit one.
    let expected = is_born || settings.ci;
    if pinned.is_none() && expected && settings.cloud != CloudEndpoint::Local {
        ui.write_message(&format!("warning: {what}. `stead catalog update` pins them; commit the file."));
    }
    Ok(())
}

/// Reads the ledger for a plan, without its lock; an empty one if it does not exist. Also returns the problem of one
/// that is older than this machine's high-water mark, `None` if there is none.
///
/// # Errors
/// When it cannot be read or is damaged, or is missing although it is required.
pub(in crate::cli) async fn read_for_plan(
    project: &LoadedStack,
    connection: &StackConnection,
) -> Result<(Ledger, Option<RollbackDetected>), CliFailure> {
    let (stack, place) = (&project.stack, &connection.place);
    let (name, environment, key) = (&stack.name, &stack.environment.name, seal_key(&project.settings)?);
    let read = CommandStore::read_with_trail(place, name, environment, key.as_ref()).await?;
    let unproven = key.is_none() && read.as_ref().is_some_and(|(ledger, _)| ledger.sealed.is_some());
    LedgerReadResult { found: (), unproven }.warn_if_unproven();
    check_required(project, place, read.as_ref().map(|(ledger, _)| ledger))?;
    let objection = high_water_marks(project, place)?
        .detect_rollback(read.as_ref().map(|(ledger, trail)| (ledger, trail)))?;
    let unborn = || Ledger::new(LedgerIdentity::new_placeholder(name, environment));
    Ok((read.map_or_else(unborn, |(ledger, _)| ledger.for_plans()), objection))
}

/// Returns the high-water marks of a stack's ledger at a location.
///
/// # Errors
/// When the MAC key cannot be read.
pub(in crate::cli) fn high_water_marks<'a>(
    unit: impl Into<UnitHeader<'a>>,
    place: &LedgerLocation,
) -> Result<HighWaterMarkStore, CliFailure> {
    let UnitHeader { settings, stack, environment, .. } = unit.into();
    Ok(HighWaterMarkStore::new(settings, seal_key(settings)?, place, (&stack, &environment)))
}

/// Returns the problem of a ledger that is older than this machine's high-water mark; `None` if there is none.
///
/// # Errors
/// When it cannot be read or is damaged, or a mark cannot be read.
pub(in crate::cli) async fn detect_rollback<'a>(
    unit: impl Into<UnitHeader<'a>>,
    place: &LedgerLocation,
) -> Result<Option<RollbackDetected>, CliFailure> {
    let unit = unit.into();
    let key = seal_key(unit.settings)?;
    let found = CommandStore::read_with_trail(place, &unit.stack, &unit.environment, key.as_ref()).await?;
    Ok(high_water_marks(unit, place)?
        .detect_rollback(found.as_ref().map(|(ledger, trail)| (ledger, trail)))?)
}

/// Fails if a ledger is missing or empty and `STEAD_REQUIRE_LEDGER` is set: a deleted ledger looks like
/// one that never existed.
fn check_required(
    project: &LoadedStack,
    place: &LedgerLocation,
    found: Option<&Ledger>,
) -> Result<(), CliFailure> {
    let settings = &project.settings;
    if !settings.require_ledger
        || settings.cloud == CloudEndpoint::Local
        || found.is_some_and(|it| !is_empty(it))
    {
        return Ok(());
    }
    let state = if found.is_some() { "the ledger is empty" } else { "there is no ledger" };
    Err(CliFailure::new(Exit::Blocked, format!("{state} at {place}, and `STEAD_REQUIRE_LEDGER` is set"))
        .help("If it was deleted, its objects would be created a second time: restore a copy with stead state push FILE, or rebuild it with stead recover.")
        .help("If the stack was never applied there, apply it once without STEAD_REQUIRE_LEDGER."))
}

/// Returns whether a ledger records no resource, no request and no run. Its identity may exist already.
pub(in crate::cli) fn is_empty(ledger: &Ledger) -> bool {
    ledger.entries.is_empty()
        && ledger.intents.is_empty()
        && ledger.watched.is_empty()
        && ledger.questions.is_empty()
        && ledger.history.is_empty()
}

/// Opens the ledger of a stack for writing; creates one that does not exist.
///
/// # Errors
/// When it is locked, damaged, cannot be written, is missing although it is required, or is older than `expected`
/// allows.
pub(in crate::cli) async fn open_journal(
    project: &LoadedStack,
    connection: &StackConnection,
    who: &str,
    expected: ExpectedLedger,
) -> Result<CommandJournal, CliFailure> {
    open_journal_after(project, connection, who, expected, &[]).await
}

/// Opens the ledger as `open_journal` does, with its errors. Processes in `vouched` count as dead: a person said so.
pub(in crate::cli) async fn open_journal_after(
    project: &LoadedStack,
    connection: &StackConnection,
    who: &str,
    expected: ExpectedLedger,
    vouched: &[ProcessIdentity],
) -> Result<CommandJournal, CliFailure> {
    let place = &connection.place;
    let marks = high_water_marks(project, place)?;
    check_found(project, place, &marks, expected).await?;
    let terms = LedgerOpenOptions {
        identity: &new_identity(project),
        effect: connection.bounds.effect,
        force: None,
        vouched,
    };
    let journal = open_at(&project.settings, who, place, &terms).await?;
    // Under the lock: before it, another process could still change the ledger.
    let checked = check_newest(&journal, &marks, expected);
    match checked {
        Ok(()) => Ok(journal),
        Err(failure) => close_after(journal, Err(failure)).await,
    }
}

/// Checks, before a new ledger is created, whether one must exist already: opening it would create an empty
/// one in its place.
async fn check_found(
    project: &LoadedStack,
    place: &LedgerLocation,
    marks: &HighWaterMarkStore,
    expected: ExpectedLedger,
) -> Result<(), CliFailure> {
    let (must, saw) = (project.settings.require_ledger, marks.saw_macs(None)?);
    if expected == ExpectedLedger::LostOrEmpty || !(must || saw) {
        return Ok(());
    }
    let (stack, key) = (&project.stack, seal_key(&project.settings)?);
    let found = CommandStore::read(place, &stack.name, &stack.environment.name, key.as_ref()).await?;
    if found.is_none()
        && expected != ExpectedLedger::Any
        && let Some(objection) = marks.detect_rollback(None)?
    {
        return Err(objection.into());
    }
    check_required(project, place, found.as_ref())
}

/// Refuses a ledger that is older than the high-water mark or a different one; otherwise advances the mark of
/// a ledger with MACs.
fn check_newest(
    journal: &CommandJournal,
    marks: &HighWaterMarkStore,
    expected: ExpectedLedger,
) -> Result<(), CliFailure> {
    let (ledger, trail) = (journal.ledger(), journal.trail());
    let has_macs = ledger.sealed.is_some() || marks.saw_macs(Some(&ledger))?;
    match expected {
        ExpectedLedger::Newest if !has_macs => return Ok(()),
        ExpectedLedger::Any | ExpectedLedger::LostOrEmpty => return Ok(()),
        ExpectedLedger::Newest | ExpectedLedger::NewestForApply => {}
    }
    if let Some(objection) = marks.detect_rollback(Some((&ledger, &trail)))? {
        return Err(objection.into());
    }
    if ledger.sealed.is_some() {
        if !marks.can_notice(&ledger)? {
            Ui::write_error(
                "note: this machine never saw this ledger before, so it cannot notice an old copy or a deleted ledger. \
                 In a pipeline, keep the state directory in a cache, and set STEAD_REQUIRE_LEDGER=1 after the first apply.",
            );
        }
        advance_marks(marks, journal);
    }
    Ok(())
}

/// Checks that an open ledger with MACs is not older than the high-water mark, or a different one;
/// one without MACs passes.
///
/// # Errors
/// When it is refused, or a mark cannot be read.
pub(in crate::cli) fn check_unrolled<'a>(
    unit: impl Into<UnitHeader<'a>>,
    place: &LedgerLocation,
    journal: &CommandJournal,
) -> Result<(), CliFailure> {
    let (ledger, marks) = (journal.ledger(), high_water_marks(unit, place)?);
    if ledger.sealed.is_none() {
        return Ok(());
    }
    marks
        .detect_rollback(Some((&ledger, &journal.trail())))?
        .map_or(Ok(()), |objection| Err(objection.into()))
}

/// Sets the high-water marks to a ledger's last record; prints a warning if they cannot be written.
pub(in crate::cli) fn advance_marks(marks: &HighWaterMarkStore, journal: &CommandJournal) {
    if let Err(error) = marks.advance_marks(&journal.ledger(), &journal.trail()) {
        Ui::write_error(&format!("This machine cannot notice an older ledger: {error:#}"));
    }
}

/// Sets this machine's high-water marks to a ledger's last record; prints a warning if they cannot be read or written.
pub(in crate::cli) fn remember_ledger(
    project: &LoadedStack,
    place: &LedgerLocation,
    journal: &CommandJournal,
) {
    match high_water_marks(project, place) {
        Ok(marks) => advance_marks(&marks, journal),
        Err(failure) => {
            Ui::write_error(&format!("This machine cannot notice an older ledger: {}", failure.message));
        }
    }
}

impl From<RollbackDetected> for CliFailure {
    fn from(objection: RollbackDetected) -> Self {
        let what = format!("{}: {}", objection.what, objection.means);
        Self::new(Exit::OutOfDate, what).help(objection.remedy)
    }
}

/// Returns a new identity for a stack's ledger, with a random lineage and fingerprint key.
pub(in crate::cli) fn new_identity<'a>(unit: impl Into<UnitHeader<'a>>) -> LedgerIdentity {
    let unit = unit.into();
    LedgerIdentity::new_random(&unit.stack, &unit.environment, &SystemRandom)
}

/// Returns this process as a lock holder; `who` is its actor. Each call is another holder.
pub(in crate::cli) fn lock_holder(who: &str) -> LeaseHolder {
    let (session, since) = (SystemRandom.uuid(), SystemClock.now());
    LeaseHolder { session, who: who.to_owned(), process: process::current_process(), since }
}

/// Opens a ledger at any location for writing, with the MAC key of the settings; creates one that does not exist.
///
/// # Errors
/// When the key cannot be read, or the ledger is locked, damaged, or cannot be written.
pub(in crate::cli) async fn open_at(
    settings: &Settings,
    who: &str,
    place: &LedgerLocation,
    terms: &LedgerOpenOptions<'_>,
) -> Result<CommandJournal, CliFailure> {
    open_with(seal_key(settings)?.as_ref(), who, place, terms).await
}

/// Opens a ledger at any location for writing; creates one that does not exist. `key` is `None` for
/// a ledger without MACs.
///
/// # Errors
/// When it is locked, damaged, has other MACs than those of the key, or cannot be written.
pub(in crate::cli) async fn open_with(
    key: Option<&MacKey>,
    who: &str,
    place: &LedgerLocation,
    terms: &LedgerOpenOptions<'_>,
) -> Result<CommandJournal, CliFailure> {
    let is_dead = |process: &ProcessIdentity| process::is_dead(process) || terms.vouched.contains(process);
    let options = OpenOptions {
        identity: terms.identity,
        holder: lock_holder(who),
        effect: terms.effect,
        is_dead: &is_dead,
        force: terms.force,
        seal: key,
    };
    let store = CommandStore::open(place, CommandClock::System, &options).await?;
    let journal = Journal::open(store).await?;
    if journal.ledger().sealed.is_some() && journal.ledger().is_blank() {
        Ui::write_error("The ledger's records have MACs from now on: writing it needs the key.");
    }
    Ok(journal)
}

/// Runs work while the ledger is open and no change is sent: renews the lock, and aborts the work on
/// the first stop signal.
///
/// # Errors
/// When the lock is lost, a signal arrived, or the work fails.
pub(in crate::cli) async fn while_kept<T>(
    journal: &CommandJournal,
    work: impl Future<Output = Result<T, CliFailure>>,
) -> Result<T, CliFailure> {
    let kept = async {
        tokio::select! {
            done = work => done,
            lost = journal.keep_lease() => Err(CliFailure::from(lost)),
        }
    };
    let at_once = Cell::new(true);
    match signals::watch_stop_signals(kept, &at_once, || {}, || {}).await.map_err(anyhow::Error::from)? {
        SignalOutcome::Finished(done) => done,
        SignalOutcome::Abandoned => {
            Err(CliFailure::new(Exit::Interrupted, "interrupted").help("Nothing was sent."))
        }
    }
}

/// Ends the work on an open ledger: writes the checkpoint and releases the lock, also after an error.
///
/// # Errors
/// The error of the work, else that of closing.
pub(in crate::cli) async fn close_after<T>(
    journal: CommandJournal,
    done: Result<T, CliFailure>,
) -> Result<T, CliFailure> {
    let closed = close_ledger(journal).await;
    done.and_then(|done| closed.map(|()| done))
}

/// Writes the checkpoint and releases the lock. After a failed write it only tries to release the lock, because the
/// error was reported already.
///
/// # Errors
/// When the checkpoint cannot be written, or the lock cannot be released.
pub(in crate::cli) async fn close_ledger(journal: CommandJournal) -> Result<(), CliFailure> {
    match journal.close().await {
        Ok(()) | Err(StoreError::Poisoned) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
