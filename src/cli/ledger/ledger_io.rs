//! The books of a stack: its ledger and its pinned catalog names, on the disk.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::high_water_mark::{HighWaterMarkStore, RollbackDetected};
use super::open::{CommandStore, seal_key};
use super::remote_stacks;
use crate::cli::files::repository_walk;
use crate::cli::files::stack_files::{self, SharedRoot};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::output::Ui;
use crate::cli::process::settings::{CloudEndpoint, Settings};
use crate::cli::process::signals::{self, SignalOutcome};
use crate::cli::service::connection::StackConnection;
use crate::cli::service::embedded_cloud;
use crate::cli::stack::project::LoadedStack;
use crate::cloud::system_clock::{SystemClock, SystemRandom};
use crate::ledger::journal::error::{MacError, StoreError};
use crate::ledger::journal::handle::Journal;
use crate::ledger::journal::mac::MacKey;
use crate::ledger::state::entry::{Entry, LedgerIdentity};
use crate::ledger::state::holder::LeaseHolder;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::stores::any_store::{self, StoreOptions};
use crate::ledger::stores::file::process;
use crate::ledger::stores::location::LedgerLocation;
use crate::model::address::{Address, Name, is_legal_segment};
use crate::model::catalog::Catalog;
use crate::model::clock::{Clock, Random};
use crate::model::snapshot::ObjectKey;
use crate::model::value::Value;

/// The journal of every command.
pub(in crate::cli) type CommandJournal = Journal<CommandStore>;

/// How a ledger is opened for writing.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct LedgerOpenOptions<'a> {
    /// Whose ledger it is, if it is not there yet.
    pub(in crate::cli) identity: &'a LedgerIdentity,
    /// The bound within which a request of a displaced holder has its effect.
    pub(in crate::cli) effect: Duration,
    /// Takes the lock from whoever has it, for this reason.
    pub(in crate::cli) force: Option<&'a str>,
}

/// Reads the ledger as it is; `None` when there is none.
///
/// # Errors
/// When it cannot be read or is damaged.
pub(in crate::cli) async fn find_ledger(
    project: &LoadedStack,
    place: &LedgerLocation,
) -> Result<Option<Ledger>, CliFailure> {
    let looked = inspect_ledger(project, place).await?;
    looked.warn_if_unproven();
    Ok(looked.found)
}

/// What a command that opens a ledger for writing takes it for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum ExpectedLedger {
    /// The version that was last seen on this machine, or a later one.
    Newest,
    /// The same, for an apply: also where no ledger has MACs.
    NewestForApply,
    /// Any version: the user accepts an older one.
    Any,
    /// None, or an empty one: it is rebuilt.
    LostOrEmpty,
}

/// Something that was read of a ledger.
#[derive(Debug)]
pub(in crate::cli) struct LedgerReadResult<T> {
    /// What was read.
    pub(in crate::cli) found: T,
    /// Nothing proves who wrote it: its lines bear MACs, and no key was given.
    pub(in crate::cli) unproven: bool,
}

impl<T> LedgerReadResult<T> {
    /// Says so if nothing proves who wrote it.
    pub(in crate::cli) fn warn_if_unproven(&self) {
        if self.unproven {
            Ui::write_error(&format!("warning: {UNPROVEN}"));
        }
    }
}

/// What there is to say of a ledger whose writer nothing proves.
pub(in crate::cli) const UNPROVEN: &str = "ledger not authenticated: `STEAD_LEDGER_KEY` is not set";

/// Reads the ledger as it is, and says nothing; `None` when there is none.
///
/// # Errors
/// When it cannot be read or is damaged.
pub(in crate::cli) async fn inspect_ledger(
    project: &LoadedStack,
    place: &LedgerLocation,
) -> Result<LedgerReadResult<Option<Ledger>>, CliFailure> {
    let stack = &project.stack;
    let key = seal_key(&project.settings)?;
    let found = CommandStore::read(place, &stack.name, &stack.environment.name, key.as_ref()).await?;
    let unproven = key.is_none() && found.as_ref().is_some_and(|ledger| ledger.sealed.is_some());
    Ok(LedgerReadResult { found, unproven })
}

/// Reads the ledger as plans see it, without taking its lock; an empty one when there is none.
///
/// # Errors
/// When it cannot be read or is damaged.
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

/// Checks that the catalog names of a stack are pinned: else their ids are what the service says today, and an
/// answer of tomorrow may say another.
///
/// # Errors
/// When one is not, and `locked` says that this is one too many.
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
            "{path} is missing: names such as {} are taken as the service lists them now",
            first.slug
        ),
        Some(_) => format!("{path} lacks {table} {}, which the stack uses", first.slug),
    };
    if locked {
        return Err(CliFailure::new(Exit::Failed, what)
            .help("Pin the names with `stead catalog update`, and commit the file. Nothing was sent."));
    }
    // The first apply writes it; a stack of the embedded cloud commits none.
    let expected = is_born || settings.ci;
    if pinned.is_none() && expected && settings.cloud != CloudEndpoint::Local {
        ui.write_message(&format!("warning: {what}. `stead catalog update` pins them; commit the file."));
    }
    Ok(())
}

/// Reads the ledger as plans see it, and says what is wrong with it where this machine saw another version.
///
/// # Errors
/// When it cannot be read or is damaged, or is not there though it must be.
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

/// Returns the high-water marks of a stack's ledger at a place.
///
/// # Errors
/// When the key of ledgers cannot be used.
pub(in crate::cli) fn high_water_marks(
    project: &LoadedStack,
    place: &LedgerLocation,
) -> Result<HighWaterMarkStore, CliFailure> {
    let (settings, stack) = (&project.settings, &project.stack);
    Ok(HighWaterMarkStore::new(
        settings,
        seal_key(settings)?,
        place,
        (&stack.name, &stack.environment.name),
    ))
}

/// Tells what is wrong with a ledger where this machine saw another version.
///
/// # Errors
/// When it cannot be read or is damaged.
pub(in crate::cli) async fn detect_rollback(
    project: &LoadedStack,
    place: &LedgerLocation,
) -> Result<Option<RollbackDetected>, CliFailure> {
    let (stack, key) = (&project.stack, seal_key(&project.settings)?);
    let found =
        CommandStore::read_with_trail(place, &stack.name, &stack.environment.name, key.as_ref()).await?;
    Ok(high_water_marks(project, place)?
        .detect_rollback(found.as_ref().map(|(ledger, trail)| (ledger, trail)))?)
}

/// Fails when the ledger must be there and is not: a deleted one looks like one that was never begun.
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
        .help("If it was deleted, its objects would be made a second time: put a copy back with stead state push FILE, \
               or rebuild it with stead recover.")
        .help("If the stack was never applied there, apply it once without STEAD_REQUIRE_LEDGER."))
}

/// Tells whether a ledger remembers nothing yet.
pub(in crate::cli) fn is_empty(ledger: &Ledger) -> bool {
    ledger.entries.is_empty()
        && ledger.intents.is_empty()
        && ledger.watched.is_empty()
        && ledger.questions.is_empty()
        && ledger.history.is_empty()
}

/// Returns what other ledgers own, and whose it is: those of the stack's other environments, of the stacks
/// that it reads, and of all that keep theirs in the same directory, database or bucket.
///
/// # Errors
/// When one cannot be read or is damaged.
pub(in crate::cli) async fn objects_of_other_ledgers(
    project: &LoadedStack,
    place: &LedgerLocation,
) -> Result<BTreeMap<ObjectKey, Name>, CliFailure> {
    let (stack, key) = (&project.stack, seal_key(&project.settings)?);
    let own = &stack.environment.name;
    let mut owned = BTreeMap::new();
    for other in stack.environments.iter().filter(|name| *name != own) {
        let ledger = read_other_environment(project, place, other, key.as_ref()).await?;
        owned.extend(ledger.iter().flat_map(owned_objects));
    }
    // Ledgers of others may be sealed with keys of others: what they own is asked, and nothing done by it.
    for (place, name, environment) in neighbor_ledgers(project) {
        let ledger = CommandStore::read(&place, &name, &environment, None).await?;
        owned.extend(ledger.iter().flat_map(owned_objects));
    }
    if !project.settings.untrusted {
        for (name, environment) in any_store::list_ledgers(place, (&stack.name, own)).await? {
            if name != stack.name.as_str() {
                let ledger = CommandStore::read(place, &name, &environment, None).await?;
                owned.extend(ledger.iter().flat_map(owned_objects));
            }
        }
    }
    for (name, other) in stack.stacks.iter().filter(|_| !project.settings.untrusted) {
        let ledger = remote_stacks::read_remote_ledger(project, name, other).await?;
        let ledger = ledger
            .filter(|ledger| (&ledger.identity.stack, &ledger.identity.environment) != (&stack.name, own));
        owned.extend(ledger.iter().flat_map(owned_objects));
    }
    Ok(owned)
}

/// Reads the ledger of another environment: only what it owns is asked. One without MACs is taken with a warning, as
/// each environment gets them by itself, but not where this machine saw that it had them.
async fn read_other_environment(
    project: &LoadedStack,
    place: &LedgerLocation,
    environment: &Name,
    key: Option<&MacKey>,
) -> Result<Option<Ledger>, CliFailure> {
    let stack = &project.stack.name;
    let lenient = key.map(MacKey::accepting_unsealed);
    let ledger = CommandStore::read(place, stack, environment, lenient.as_ref()).await?;
    let unsealed = ledger.as_ref().filter(|ledger| ledger.sealed.is_none() && !ledger.is_blank());
    if let (Some(key), Some(ledger)) = (key, unsealed) {
        let marks =
            HighWaterMarkStore::new(&project.settings, Some(key.clone()), place, (stack, environment));
        if marks.saw_macs(Some(ledger))? {
            return Err(about_environment(environment, MacError::MissingMacs.into()));
        }
        Ui::write_error(&format!(
            "warning: ledger of environment `{environment}` not authenticated: it has no MACs. Add them with: stead \
             state seal -e {environment}"
        ));
    }
    Ok(ledger)
}

fn about_environment(environment: &Name, error: StoreError) -> CliFailure {
    let failure = CliFailure::from(error);
    CliFailure { message: format!("environment `{environment}`: {}", failure.message), ..failure }
}

/// Returns what a ledger owns, and where.
fn owned_objects(ledger: &Ledger) -> Vec<(ObjectKey, Name)> {
    let LedgerIdentity { stack, environment, .. } = &ledger.identity;
    let of = |(address, entry): (&Address, &Entry)| {
        let whose = Name::new(format!("{address} of {stack}/{environment}"));
        let objects = entry.current.iter().chain(&entry.deposed);
        objects.map(|object| (object.key(&entry.kind), whose.clone())).collect::<Vec<_>>()
    };
    ledger.entries.iter().flat_map(of).collect()
}

/// Returns the ledgers of other stacks in the directory that was named for all of them, or beside the other stacks
/// that use the built-in cloud of the repository.
fn neighbor_ledgers(project: &LoadedStack) -> Vec<(LedgerLocation, Name, Name)> {
    let settings = &project.settings;
    if settings.cloud == CloudEndpoint::Local {
        return neighbours_in_local_cloud(project);
    }
    let Some(Ok(LedgerLocation::Directory(all))) = settings.backend.as_deref().map(LedgerLocation::parse)
    else {
        return Vec::new();
    };
    // What is no directory, or not there yet, holds no ledgers.
    let within = |path: &Path| stack_files::entry_names(path, is_legal_segment).unwrap_or_default();
    let mut found = Vec::new();
    for stack in within(&all).into_iter().filter(|name| *name != project.stack.name) {
        let place = all.join(&stack);
        let environments = within(&place).into_iter().map(Name::new);
        found.extend(
            environments.map(|name| (LedgerLocation::Directory(place.clone()), Name::new(&stack), name)),
        );
    }
    found
}

fn neighbours_in_local_cloud(project: &LoadedStack) -> Vec<(LedgerLocation, Name, Name)> {
    let cloud = embedded_cloud::data_directory(&project.directory);
    let root = SharedRoot::find_root(&project.directory, false).root;
    let own = stack_files::real_path(&project.directory);
    let mut found = Vec::new();
    for stack in repository_walk::find_stacks(&project.settings, &root) {
        let is_other = stack_files::real_path(&stack.directory) != own;
        let same_cloud = stack_files::real_path(&embedded_cloud::data_directory(&stack.directory))
            == stack_files::real_path(&cloud);
        let Some(header) = stack.header.filter(|_| is_other && same_cloud) else { continue };
        let place = stack.directory.join(".stead/local");
        let environments = stack_files::entry_names(&place, is_legal_segment).unwrap_or_default();
        let environments = environments.into_iter().map(Name::new);
        found.extend(
            environments.map(|name| (LedgerLocation::Directory(place.clone()), header.name.clone(), name)),
        );
    }
    found
}

/// Opens the ledger for writing.
///
/// # Errors
/// When it is locked, damaged, or cannot be written.
pub(in crate::cli) async fn open_journal(
    project: &LoadedStack,
    connection: &StackConnection,
    who: &str,
    expected: ExpectedLedger,
) -> Result<CommandJournal, CliFailure> {
    let place = &connection.place;
    let marks = high_water_marks(project, place)?;
    check_found(project, place, &marks, expected).await?;
    let terms = LedgerOpenOptions {
        identity: &new_identity(project),
        effect: connection.bounds.effect,
        force: None,
    };
    let journal = open_at(&project.settings, who, place, &terms).await?;
    let checked = check_newest(&journal, &marks, expected);
    match checked {
        Ok(()) => Ok(journal),
        Err(failure) => close_after(journal, Err(failure)).await,
    }
}

/// Looks before a ledger would begin whether one must be there.
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

/// Refuses a ledger that is older than the last one seen here, or another one; moves the mark to one that is not.
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

/// Refuses an open ledger with MACs that is older than the last one seen here, or another one.
///
/// # Errors
/// When it is.
pub(in crate::cli) fn check_unrolled(
    project: &LoadedStack,
    place: &LedgerLocation,
    journal: &CommandJournal,
) -> Result<(), CliFailure> {
    let (ledger, marks) = (journal.ledger(), high_water_marks(project, place)?);
    if ledger.sealed.is_none() {
        return Ok(());
    }
    marks
        .detect_rollback(Some((&ledger, &journal.trail())))?
        .map_or(Ok(()), |objection| Err(objection.into()))
}

/// Moves the high-water marks to a ledger's last record; says so if they cannot be moved.
pub(in crate::cli) fn advance_marks(marks: &HighWaterMarkStore, journal: &CommandJournal) {
    if let Err(error) = marks.advance_marks(&journal.ledger(), &journal.trail()) {
        Ui::write_error(&format!("An older ledger would not be noticed here: {error:#}"));
    }
}

impl From<RollbackDetected> for CliFailure {
    fn from(objection: RollbackDetected) -> Self {
        let what = format!("{}: {}", objection.what, objection.means);
        Self::new(Exit::OutOfDate, what).help(objection.remedy)
    }
}

/// Returns the identity of a stack's ledger that is born now.
pub(in crate::cli) fn new_identity(project: &LoadedStack) -> LedgerIdentity {
    LedgerIdentity::new_random(&project.stack.name, &project.stack.environment.name, &SystemRandom)
}

/// Returns this process as the holder of a ledger.
pub(in crate::cli) fn lock_holder(who: &str) -> LeaseHolder {
    let (session, since) = (SystemRandom.uuid(), SystemClock.now());
    LeaseHolder { session, who: who.to_owned(), process: process::current_process(), since }
}

/// Opens a ledger for writing wherever it is.
///
/// # Errors
/// When it is locked, damaged, or cannot be written.
pub(in crate::cli) async fn open_at(
    settings: &Settings,
    who: &str,
    place: &LedgerLocation,
    terms: &LedgerOpenOptions<'_>,
) -> Result<CommandJournal, CliFailure> {
    open_with(seal_key(settings)?.as_ref(), who, place, terms).await
}

/// Opens a ledger for writing with a key, wherever it is.
///
/// # Errors
/// When it is locked, damaged, or cannot be written.
pub(in crate::cli) async fn open_with(
    key: Option<&MacKey>,
    who: &str,
    place: &LedgerLocation,
    terms: &LedgerOpenOptions<'_>,
) -> Result<CommandJournal, CliFailure> {
    let opening = StoreOptions {
        identity: terms.identity,
        holder: lock_holder(who),
        now: SystemClock.now(),
        effect: terms.effect,
        is_dead: &process::is_dead,
        force: terms.force,
        seal: key,
    };
    let store = CommandStore::open(place, SystemClock, &opening).await?;
    let journal = Journal::open(store).await?;
    if journal.ledger().sealed.is_some() && journal.ledger().is_blank() {
        Ui::write_error("The ledger's lines bear MACs from here on: nobody writes it without the key.");
    }
    Ok(journal)
}

/// Does something while the ledger is open and nothing is sent: the lock is kept, and a stop signal
/// ends the work where it stands.
///
/// # Errors
/// When the lock is lost, a signal came, or the work fails.
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

/// Ends what was done under an open ledger: sums it up and gives the lock back, whatever came before.
/// What went wrong first is what is told.
///
/// # Errors
/// What went wrong before, or else while closing.
pub(in crate::cli) async fn close_after<T>(
    journal: CommandJournal,
    done: Result<T, CliFailure>,
) -> Result<T, CliFailure> {
    let closed = close_ledger(journal).await;
    done.and_then(|done| closed.map(|()| done))
}

/// Sums the journal up and gives the lock back; after a failed write only the latter, as far as that
/// goes: then everything was said already.
///
/// # Errors
/// When the summary cannot be written, or the lock not be given back.
pub(in crate::cli) async fn close_ledger(journal: CommandJournal) -> Result<(), CliFailure> {
    match journal.close().await {
        Ok(()) | Err(StoreError::Poisoned) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
