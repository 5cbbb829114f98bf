//! `Session`: one command's settings and doors: its stack, its ledger, its cloud, its voice.

use std::path::Path;

use super::args::Scope;
use super::connect::{Connection, Time};
use super::exit::Exit;
use super::failure::Failure;
use super::files;
use super::project::Project;
use super::settings::Settings;
use super::telling::Telling;
use super::ui::Ui;
use crate::config::lock;
use crate::ledger::entry::{Identity, Ledger};
use crate::ledger::file::{FileStore, Opening};
use crate::ledger::journal::Journal;
use crate::model::catalog::Catalog;
use crate::model::clock::Clock;
use crate::plan::change::Plan;
use crate::plan::make::Options;
use crate::plan::saved::SavedPlan;
use crate::report::diagnostics;

/// One command's settings and doors.
pub(super) struct Session {
    /// What was asked for.
    pub(super) settings: Settings,
    /// Its voice.
    pub(super) ui: Ui,
    /// `user@host`, for locks and journals.
    pub(super) who: String,
}

impl Session {
    /// Reads and resolves the stack; says its warnings.
    ///
    /// # Errors
    /// All its problems together.
    pub(super) fn open(&self) -> Result<Project, Failure> {
        let project = Project::open(&self.settings)?;
        if !project.warnings.is_empty() && !self.ui.json {
            let text = diagnostics::page(&project.warnings, &project.stack.sources, self.ui.message_style);
            self.ui.say(text.trim_end());
        }
        Ok(project)
    }

    /// Returns what a plan is told besides the stack.
    pub(super) fn options(&self, scope: &Scope, destroy: bool) -> Options {
        Options {
            destroy,
            allow_deletes: scope.allow_deletes,
            targets: scope.targets.iter().cloned().collect(),
            excluded: scope.exclude.iter().cloned().collect(),
            adopt: scope.adopt.iter().cloned().collect(),
            project: self.settings.project.clone(),
        }
    }

    /// Returns the options of a command that only looks.
    pub(super) fn looking(&self) -> Options {
        Options { project: self.settings.project.clone(), ..Options::default() }
    }

    /// Connects to the cloud that was asked for.
    ///
    /// # Errors
    /// When no address or key is set, or the embedded cloud cannot start.
    pub(super) fn connect(&self, project: &Project) -> Result<Connection, Failure> {
        Connection::open(&self.settings, &project.directory)
    }

    /// Reads the ledger without taking its lock; an empty one when there is none.
    ///
    /// # Errors
    /// When it cannot be read or is damaged.
    pub(super) fn read_ledger(
        &self,
        project: &Project,
        connection: &Connection,
    ) -> Result<Ledger, Failure> {
        let stack = &project.stack;
        let found = FileStore::read(&connection.ledgers, &stack.name, &stack.environment.name)?;
        let unborn = || Ledger::new(Identity::unborn(&stack.name, &stack.environment.name));
        Ok(found.map_or_else(unborn, |ledger| ledger.for_plans()))
    }

    /// Opens the ledger for writing.
    ///
    /// # Errors
    /// When it is locked, damaged, or cannot be written.
    pub(super) async fn open_journal(
        &self,
        project: &Project,
        connection: &Connection,
    ) -> Result<Journal<FileStore>, Failure> {
        let store = FileStore::open(&Opening {
            directory: &connection.ledgers,
            identity: &identity(project, connection),
            who: &self.who,
            now: connection.client.clock().now(),
        })?;
        Ok(Journal::open(store).await?)
    }

    /// Reads a saved plan.
    ///
    /// # Errors
    /// When the file is no plan, or was changed after it was written.
    pub(super) fn saved_plan(&self, path: &Path) -> Result<SavedPlan, Failure> {
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
        &self,
        connection: &Connection,
        project: &Project,
        catalog: &Catalog,
        pinned: Option<Catalog>,
    ) -> Result<(), Failure> {
        let mut lock = lock::pinned(&project.stack, catalog);
        let before = pinned.clone().unwrap_or_default();
        let mut now = before.clone();
        now.extend_with(lock.catalog);
        if now.tables == before.tables {
            return Ok(());
        }
        lock.catalog = now;
        let text =
            lock::write(&lock).map_err(|problem| Failure::new(Exit::Failed, problem.summary.clone()))?;
        files::write_public(&connection.lock_file, text.as_bytes())?;
        Ok(())
    }

    /// Returns what tells of an apply while it runs.
    pub(super) fn telling<'a>(&self, connection: &'a Connection, plan: Option<&Plan>) -> Telling<'a, Time> {
        Telling::new(self.ui, connection.client.clock(), plan)
    }
}

/// Returns the identity of a ledger that is not there yet.
fn identity(project: &Project, connection: &Connection) -> Identity {
    let stack = &project.stack;
    Identity::fresh(&stack.name, &stack.environment.name, connection.client.random())
}
