//! The books of a stack: its ledger, its saved plans and its pinned catalog names, on the disk.

use std::path::Path;
use std::pin::pin;

use futures_util::future::{Either, select};

use super::connect::Connection;
use super::exit::Exit;
use super::failure::Failure;
use super::files;
use super::project::Project;
use crate::config::lock;
use crate::ledger::entry::{Identity, Ledger};
use crate::ledger::file::{FileStore, Opening};
use crate::ledger::journal::Journal;
use crate::ledger::store::{Store, StoreError};
use crate::model::catalog::Catalog;
use crate::model::clock::Clock;
use crate::plan::saved::SavedPlan;

/// Reads the ledger as plans see it, without taking its lock; an empty one when there is none.
///
/// # Errors
/// When it cannot be read or is damaged.
pub(super) fn read_ledger(project: &Project, connection: &Connection) -> Result<Ledger, Failure> {
    let stack = &project.stack;
    let found = FileStore::read(&connection.ledgers, &stack.name, &stack.environment.name)?;
    let unborn = || Ledger::new(Identity::unborn(&stack.name, &stack.environment.name));
    Ok(found.map_or_else(unborn, Ledger::for_plans))
}

/// Opens the ledger for writing.
///
/// # Errors
/// When it is locked, damaged, or cannot be written.
pub(super) async fn open_journal(
    project: &Project,
    connection: &Connection,
    who: &str,
) -> Result<Journal<FileStore>, Failure> {
    let stack = &project.stack;
    let random = connection.client.random();
    let store = FileStore::open(&Opening {
        directory: &connection.ledgers,
        identity: &Identity::fresh(&stack.name, &stack.environment.name, random),
        who,
        now: connection.client.clock().now(),
    })?;
    Ok(Journal::open(store).await?)
}

/// Does work while the ledger's place is kept.
///
/// # Errors
/// When the place is lost meanwhile.
pub(super) async fn kept<S: Store, T>(
    journal: &Journal<S>,
    work: impl Future<Output = T>,
) -> Result<T, Failure> {
    match select(pin!(work), pin!(journal.keep())).await {
        Either::Left((done, _)) => Ok(done),
        Either::Right((lost, _)) => Err(lost.into()),
    }
}

/// Sums the journal up, unless an earlier write failed: then everything was said already.
///
/// # Errors
/// When the summary cannot be written.
pub(super) async fn close(journal: Journal<FileStore>) -> Result<(), Failure> {
    match journal.close().await {
        Ok(()) | Err(StoreError::Poisoned) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Reads a saved plan.
///
/// # Errors
/// When the file is no plan, or was changed after it was written.
pub(super) fn saved_plan(path: &Path) -> Result<SavedPlan, Failure> {
    let shown = files::shown(path);
    let text = files::read_optional(path)?
        .ok_or_else(|| Failure::new(Exit::Failed, format!("there is no file {shown}")))?;
    SavedPlan::parse(&text).map_err(|error| {
        Failure::new(Exit::Failed, format!("{shown}: {error}")).help("Make it anew: stead plan -o FILE")
    })
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
    let mut lock = lock::pinned(&project.stack, catalog);
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
