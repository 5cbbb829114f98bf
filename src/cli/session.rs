//! `Session`: one command's settings and doors: its stack, its ledger, its cloud, its voice.

use super::args::Scope;
use super::backend;
use super::connect::{Connection, Time};
use super::exit::Exit;
use super::failure::Failure;
use super::files;
use super::project::Project;
use super::settings::{Cloud, DEFAULT_DIR, Settings};
use super::telling::Telling;
use super::ui::Ui;
use crate::config::configured::configured;
use crate::ledger::place::Place;
use crate::model::address::Name;
use crate::model::expression::Expression;
use crate::plan::change::Plan;
use crate::plan::make::Options;
use crate::report::{diagnostics, escape, json};

/// One command's settings and doors.
pub(super) struct Session {
    /// What was asked for.
    pub(super) settings: Settings,
    /// Its voice.
    pub(super) ui: Ui,
    /// What is wrong with the user's settings file, for the command that tells of it.
    pub(super) slip: Option<String>,
    /// `user@host`, and the job in CI, for locks and journals.
    pub(super) who: String,
    /// The commit that the CI job says it checked out.
    pub(super) commit: Option<Name>,
}

impl Session {
    /// Tells why a command failed; returns its exit code.
    pub(super) fn complain(&self, failure: &Failure) -> Exit {
        let ui = &self.ui;
        if let Some(rejected) = &failure.rejected {
            if ui.json {
                ui.out(&json::diagnostics(&rejected.diagnostics, &rejected.sources));
            } else {
                let page = diagnostics::page(&rejected.diagnostics, &rejected.sources, ui.message_style);
                Ui::complain(page.trim_end());
            }
            return failure.exit;
        }
        Ui::complain(&format!("error: {}", escape::line(&failure.message)));
        for help in failure.help.iter().filter(|help| !help.is_empty()) {
            Ui::complain(&format!("  {}", escape::line(help)));
        }
        failure.exit
    }

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

    /// Reads the stack and evaluates an expression in it.
    ///
    /// # Errors
    /// All problems of the stack and the expression together.
    pub(super) fn evaluated(&self, text: &str) -> Result<Expression, Failure> {
        let project = Project::open_with(&self.settings, Some(text))?;
        let nothing = || Failure::new(Exit::Failed, "the expression has no value");
        let evaluated = project.stack.evaluated.as_ref().ok_or_else(nothing)?;
        Ok(configured(&project.stack, evaluated))
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
            ..Options::default()
        }
    }

    /// Returns the options of a command that only looks.
    pub(super) fn looking(&self) -> Options {
        Options { project: self.settings.project.clone(), only_looks: true, ..Options::default() }
    }

    /// Returns where the stack's ledger is kept.
    ///
    /// # Errors
    /// When what was said names no place, or nothing was said and the stack demands it.
    pub(super) fn place(&self, project: &Project) -> Result<Place, Failure> {
        backend::place(&self.settings, &project.stack, &project.directory)
    }

    /// Asks whether to go on, unless it was said beforehand.
    ///
    /// # Errors
    /// When nobody is there to answer.
    pub(super) async fn sure(&self, yes: bool, question: &str) -> Result<bool, Failure> {
        if yes {
            return Ok(true);
        }
        if !self.ui.interactive {
            return Err(Failure::new(Exit::Usage, "nobody is there to say yes")
                .help("Say it beforehand: --yes. Nothing was changed."));
        }
        let agreed = self.ui.agrees(question, None).await?;
        if !agreed {
            self.ui.say("Nothing was changed.");
        }
        Ok(agreed)
    }

    /// Connects to the cloud that was asked for.
    ///
    /// # Errors
    /// When no address or key is set, or the embedded cloud cannot start.
    pub(super) fn connect(&self, project: &Project) -> Result<Connection, Failure> {
        Connection::open(&self.settings, &project.stack, &project.directory)
    }

    /// Returns what tells of an apply while it runs.
    pub(super) fn telling<'a>(&self, connection: &'a Connection, plan: Option<&Plan>) -> Telling<'a, Time> {
        Telling::new(self.ui, connection.client.clock(), plan)
    }
}
