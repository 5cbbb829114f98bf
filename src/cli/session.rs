//! `Session`: one command's settings and doors: its stack, its ledger, its cloud, its voice.

use super::args::Scope;
use super::connect::{Connection, Time};
use super::failure::Failure;
use super::files;
use super::project::Project;
use super::settings::{Cloud, DEFAULT_DIR, Settings};
use super::telling::Telling;
use super::ui::Ui;
use crate::plan::change::Plan;
use crate::plan::make::Options;
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

    /// Says which command comes next, with the flags that this one had; `why` follows it.
    pub(super) fn next(&self, command: &str, why: &str) {
        let settings = &self.settings;
        let mut words = vec!["stead".to_owned()];
        if settings.dir.as_os_str() != DEFAULT_DIR {
            words.extend(["-C".to_owned(), files::shown(&settings.dir)]);
        }
        if let Some(environment) = &settings.env {
            words.extend(["-e".to_owned(), environment.to_string()]);
        }
        if settings.cloud == Cloud::Local {
            words.push("--cloud local".to_owned());
        }
        words.push(command.to_owned());
        self.ui.next(format!("{} {why}", words.join(" ")).trim_end());
    }

    /// Returns what a plan is told besides the stack.
    pub(super) fn options(&self, scope: &Scope, destroy: bool) -> Options {
        Options {
            destroy,
            allow_deletes: scope.allow_deletes,
            targets: scope.targets.iter().cloned().collect(),
            excluded: scope.exclude.iter().cloned().collect(),
            replace: scope.replace.iter().cloned().collect(),
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

    /// Returns what tells of an apply while it runs.
    pub(super) fn telling<'a>(&self, connection: &'a Connection, plan: Option<&Plan>) -> Telling<'a, Time> {
        Telling::new(self.ui, connection.client.clock(), plan)
    }
}
