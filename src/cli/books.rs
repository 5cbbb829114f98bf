//! The books of a stack: its ledger and its pinned catalog names, on the disk.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::connect::{Connection, Time};
use super::elsewhere;
use super::exit::Exit;
use super::failure::Failure;
use super::files;
use super::interrupt::{self, Ended};
use super::project::Project;
use super::settings::{Cloud, Settings};
use super::ui::Ui;
use crate::cloud::system::{SystemClock, SystemRandom};
use crate::config::lock;
use crate::kinds::REGISTRY;
use crate::ledger::any::{self, AnyStore, Opening};
use crate::ledger::entry::{Entry, Identity, Ledger};
use crate::ledger::journal::Journal;
use crate::ledger::lease::Holder;
use crate::ledger::place::Place;
use crate::ledger::process;
use crate::ledger::seal::SealKey;
use crate::ledger::store::StoreError;
use crate::model::address::{Address, Name, is_legal_segment};
use crate::model::catalog::Catalog;
use crate::model::clock::{Clock, Random};
use crate::model::snapshot::ObjectKey;

/// The store of every command.
pub(super) type Shelf = AnyStore<Time>;
/// The journal of every command.
pub(super) type Book = Journal<Shelf>;

/// How a ledger is opened for writing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms<'a> {
    /// Whose ledger it is, if it is not there yet.
    pub(super) identity: &'a Identity,
    /// The bound within which a request of a displaced holder has its effect.
    pub(super) effect: Duration,
    /// Takes the lock from whoever has it, for this reason.
    pub(super) force: Option<&'a str>,
}

/// Reads the ledger as it is; `None` when there is none.
///
/// # Errors
/// When it cannot be read or is damaged.
pub(super) async fn find_ledger(project: &Project, place: &Place) -> Result<Option<Ledger>, Failure> {
    let looked = look(project, place).await?;
    looked.warn();
    Ok(looked.found)
}

/// Something that was read of a ledger.
#[derive(Debug)]
pub(super) struct Looked<T> {
    /// What was read.
    pub(super) found: T,
    /// Nothing proves who wrote it: its lines bear MACs, and no key was given.
    pub(super) unproven: bool,
}

impl<T> Looked<T> {
    /// Says so if nothing proves who wrote it.
    pub(super) fn warn(&self) {
        if self.unproven {
            Ui::complain(&format!("warning: {UNPROVEN}"));
        }
    }
}

/// What there is to say of a ledger whose writer nothing proves.
pub(super) const UNPROVEN: &str =
    "the ledger's lines bear MACs, and none was checked: STEAD_LEDGER_KEY names no key";

/// Reads the ledger as it is, and says nothing; `None` when there is none.
///
/// # Errors
/// When it cannot be read or is damaged.
pub(super) async fn look(project: &Project, place: &Place) -> Result<Looked<Option<Ledger>>, Failure> {
    let stack = &project.stack;
    let key = seal_key(&project.settings)?;
    let found = Shelf::read(place, &stack.name, &stack.environment.name, key.as_ref()).await?;
    let unproven = key.is_none() && found.as_ref().is_some_and(|ledger| ledger.sealed.is_some());
    Ok(Looked { found, unproven })
}

/// Returns the key that seals ledgers; `None` where none is named.
///
/// # Errors
/// When its file cannot be read, can be read by others, or is too short.
pub(super) fn seal_key(settings: &Settings) -> Result<Option<SealKey>, Failure> {
    let Some(path) = &settings.ledger_key else { return Ok(None) };
    let bytes = files::read_own_secret(path)?;
    SealKey::new(&bytes).map(Some).map_err(|error| {
        Failure::new(Exit::Failed, format!("{} is not used: {error}", files::shown(path)))
            .help("A key for ledgers: (umask 077; openssl rand -base64 48 > FILE)")
    })
}

/// Reads the ledger as plans see it, without taking its lock; an empty one when there is none.
///
/// # Errors
/// When it cannot be read or is damaged.
pub(super) async fn read_ledger(project: &Project, connection: &Connection) -> Result<Ledger, Failure> {
    let stack = &project.stack;
    let found = find_ledger(project, &connection.place).await?;
    let unborn = || Ledger::new(Identity::unborn(&stack.name, &stack.environment.name));
    Ok(found.map_or_else(unborn, Ledger::for_plans))
}

/// Returns what other ledgers own, and whose it is: those of the stack's other environments, of the stacks
/// that it reads, and of all that keep theirs in the same directory, database or bucket.
///
/// # Errors
/// When one cannot be read or is damaged.
pub(super) async fn foreign(
    project: &Project,
    place: &Place,
) -> Result<BTreeMap<ObjectKey, Name>, Failure> {
    let (stack, key) = (&project.stack, seal_key(&project.settings)?);
    let own = &stack.environment.name;
    let mut owned = BTreeMap::new();
    for other in stack.environments.iter().filter(|name| *name != own) {
        let ledger = Shelf::read(place, &stack.name, other, key.as_ref()).await?;
        owned.extend(ledger.iter().flat_map(belongings));
    }
    // Ledgers of others may be sealed with keys of others: what they own is asked, and nothing done by it.
    for (place, name, environment) in neighbours(project) {
        let ledger = Shelf::read(&place, &name, &environment, None).await?;
        owned.extend(ledger.iter().flat_map(belongings));
    }
    if !project.settings.untrusted {
        for (name, environment) in any::beside(place, (&stack.name, own)).await? {
            if name != stack.name.as_str() {
                let ledger = Shelf::read(place, &name, &environment, None).await?;
                owned.extend(ledger.iter().flat_map(belongings));
            }
        }
    }
    for (name, other) in stack.stacks.iter().filter(|_| !project.settings.untrusted) {
        let ledger = elsewhere::ledger(project, name, other).await?;
        let ledger = ledger
            .filter(|ledger| (&ledger.identity.stack, &ledger.identity.environment) != (&stack.name, own));
        owned.extend(ledger.iter().flat_map(belongings));
    }
    Ok(owned)
}

/// Returns what a ledger owns, and where.
fn belongings(ledger: &Ledger) -> Vec<(ObjectKey, Name)> {
    let Identity { stack, environment, .. } = &ledger.identity;
    let of = |(address, entry): (&Address, &Entry)| {
        let whose = Name::new(format!("{address} of {stack}/{environment}"));
        let objects = entry.current.iter().chain(&entry.deposed);
        objects.map(|object| (object.key(&entry.kind), whose.clone())).collect::<Vec<_>>()
    };
    ledger.entries.iter().flat_map(of).collect()
}

/// Returns the ledgers of other stacks in the directory that was named for all of them.
fn neighbours(project: &Project) -> Vec<(Place, Name, Name)> {
    let settings = &project.settings;
    let named = settings.backend.as_deref().filter(|_| settings.cloud != Cloud::Local);
    let Some(Ok(Place::Directory(all))) = named.map(Place::parse) else { return Vec::new() };
    // What is no directory, or not there yet, holds no ledgers.
    let within = |path: &Path| files::names(path, is_legal_segment).unwrap_or_default();
    let mut found = Vec::new();
    for stack in within(&all).into_iter().filter(|name| *name != project.stack.name) {
        let place = all.join(&stack);
        let environments = within(&place).into_iter().map(Name::new);
        found.extend(environments.map(|name| (Place::Directory(place.clone()), Name::new(&stack), name)));
    }
    found
}

/// Opens the ledger for writing.
///
/// # Errors
/// When it is locked, damaged, or cannot be written.
pub(super) async fn open_journal(
    project: &Project,
    connection: &Connection,
    who: &str,
) -> Result<Book, Failure> {
    let terms = Terms { identity: &fresh(project), effect: connection.bounds.effect, force: None };
    open_at(&project.settings, who, &connection.place, &terms).await
}

/// Returns the identity of a stack's ledger that is born now.
pub(super) fn fresh(project: &Project) -> Identity {
    Identity::fresh(&project.stack.name, &project.stack.environment.name, &SystemRandom)
}

/// Returns this process as the holder of a ledger.
pub(super) fn holder(who: &str) -> Holder {
    let (session, since) = (SystemRandom.uuid(), SystemClock.now());
    Holder { session, who: who.to_owned(), process: process::this(), since }
}

/// Opens a ledger for writing wherever it is.
///
/// # Errors
/// When it is locked, damaged, or cannot be written.
pub(super) async fn open_at(
    settings: &Settings,
    who: &str,
    place: &Place,
    terms: &Terms<'_>,
) -> Result<Book, Failure> {
    let key = seal_key(settings)?;
    let opening = Opening {
        identity: terms.identity,
        holder: holder(who),
        now: SystemClock.now(),
        effect: terms.effect,
        is_dead: &process::is_dead,
        force: terms.force,
        seal: key.as_ref(),
    };
    let store = Shelf::open(place, SystemClock, &opening).await?;
    let journal = Journal::open(store).await?;
    let (serial, sealed) = (journal.ledger().serial, journal.ledger().sealed.clone());
    // Someone who took the MACs away would have them begin anew.
    if sealed.is_some_and(|sealing| sealing.since + 1 >= serial) {
        Ui::complain("The ledger's lines bear MACs from here on: nobody writes it without the key.");
    }
    Ok(journal)
}

/// Does work while the ledger's place is kept.
///
/// # Errors
/// When the place is lost meanwhile.
pub(super) async fn kept<T>(journal: &Book, work: impl Future<Output = T>) -> Result<T, Failure> {
    while_kept(journal, async { Ok(work.await) }).await
}

/// Does something while the ledger is open and nothing is sent: the lock is kept, and a stop signal
/// ends the work where it stands.
///
/// # Errors
/// When the lock is lost, a signal came, or the work fails.
pub(super) async fn while_kept<T>(
    journal: &Book,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let kept = async {
        tokio::select! {
            done = work => done,
            lost = journal.keep() => Err(Failure::from(lost)),
        }
    };
    let at_once = Cell::new(true);
    match interrupt::watch(kept, &at_once, || {}, || {}).await.map_err(anyhow::Error::from)? {
        Ended::Finished(done) => done,
        Ended::Abandoned => Err(Failure::new(Exit::Interrupted, "interrupted").help("Nothing was sent.")),
    }
}

/// Ends what was done under an open ledger: sums it up and gives the lock back, whatever came before.
/// What went wrong first is what is told.
///
/// # Errors
/// What went wrong before, or else while closing.
pub(super) async fn close_after<T>(journal: Book, done: Result<T, Failure>) -> Result<T, Failure> {
    let closed = close(journal).await;
    done.and_then(|done| closed.map(|()| done))
}

/// Sums the journal up and gives the lock back; after a failed write only the latter, as far as that
/// goes: then everything was said already.
///
/// # Errors
/// When the summary cannot be written, or the lock not be given back.
pub(super) async fn close(journal: Book) -> Result<(), Failure> {
    match journal.close().await {
        Ok(()) | Err(StoreError::Poisoned) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Pins the catalog names that the stack uses and that are not pinned yet.
///
/// # Errors
/// When the lock file cannot be written.
pub(super) fn pin(
    project: &Project,
    connection: &Connection,
    catalog: &Catalog,
    pinned: Option<&Catalog>,
) -> Result<(), Failure> {
    let mut lock = lock::pinned(REGISTRY, &project.stack, catalog);
    let mut now = pinned.cloned().unwrap_or_default();
    now.extend_with(lock.catalog);
    if pinned.is_some_and(|before| before.tables == now.tables) || now.tables.is_empty() {
        return Ok(());
    }
    lock.catalog = now;
    let text = lock::write(&lock).map_err(|problem| Failure::new(Exit::Failed, problem.summary.clone()))?;
    files::write_public(&connection.lock_file, text.as_bytes())?;
    Ok(())
}
