//! The context of one command: its settings, and factories for its stack, its ledger, its connection and its
//! output. Only `dispatch` and `commands` get it whole; functions below them take the parts that they use
//! where that is possible.

use std::cell::Cell;
use std::time::Duration;

use super::args::plan::PlanScopeArgs;
use super::args::report::ReportTarget;
use super::artifacts::report_files::{PlannedCommit, ReportFiles};
use super::files::git_origin;
use super::planning::progress::{ProgressReporter, wait_message};
use super::process::exit_code::Exit;
use super::process::failure::CliFailure;
use super::process::ledger_settings;
use super::process::output::Ui;
use super::process::settings::unit_settings::UnitSettings;
use super::process::settings::{CloudEndpoint, Settings};
use super::secrets::prompt;
use super::service::command_client::CommandClock;
use super::service::connection::StackConnection;
use super::stack::project::LoadedStack;
use super::workspace::git::working_tree;
use super::workspace::units::{RemovalRequest, SelectionRequest, Workspace};
use crate::cloud::system_clock::SystemClock;
use crate::config::stack::known_values::substitute_known_values;
use crate::ledger::stores::location::LedgerLocation;
use crate::model::address::Name;
use crate::model::clock::Clock;
use crate::model::diagnostic::Diagnostic;
use crate::model::expression::Expression;
use crate::model::source::Sources;
use crate::plan::inputs::PlanningOptions;
use crate::plan::model::change::Plan;
use crate::report::diagnostics;
use crate::report::json::CommandFailure;
use crate::report::text::escape;
use crate::workspace::changes::recorded_reads::RecordedReads;

/// Shortest retry delay of a request that is reported to the user; shorter ones are not noticed.
const REPORTED_RETRY_DELAY: Duration = Duration::from_secs(2);

/// Interval after a reported retry in which further ones are not reported.
const RETRY_REPORT_INTERVAL: Duration = Duration::from_secs(5);

/// Settings and factories of one command.
pub(super) struct CommandContext {
    /// Merged settings of the command.
    pub(super) settings: Settings,
    /// Output and prompts of the command.
    pub(super) ui: Ui,
    /// Error of the user's settings file, if the command reports it instead of failing; `None` if the file has none.
    pub(super) mistake: Option<String>,
    /// Actor of this process: `user@host`, or the CI job, as locks and journals record it.
    pub(super) who: String,
    /// Commit that the CI job reports as checked out; `None` outside of CI.
    pub(super) commit: Option<Name>,
    /// What the settings of each unit of a repository are merged from.
    pub(super) unit_settings: UnitSettings,
}

impl CommandContext {
    /// Returns the context of one unit of a command over many: with the unit's settings, and without prompts.
    pub(super) fn for_unit(&self, settings: &Settings) -> Self {
        Self {
            settings: settings.clone(),
            ui: Ui { interactive: false, ..self.ui },
            mistake: None,
            who: self.who.clone(),
            commit: self.commit.clone(),
            unit_settings: UnitSettings::default(),
        }
    }

    /// Opens the repository with the selected units, and finds the removed ones.
    ///
    /// # Errors
    /// When there is no stack, the selection is not accepted, or a unit to remove is none that was removed.
    pub(super) async fn open_workspace(
        &self,
        selection: &SelectionRequest<'_>,
        removal: RemovalRequest<'_>,
    ) -> Result<Workspace, CliFailure> {
        let opened = Workspace::open_with_removed(&self.settings, &self.unit_settings, selection, removal);
        Box::pin(opened).await
    }

    /// Prints why a command failed, as text to standard error and as a document with `--output json`;
    /// returns its exit code.
    pub(super) fn report_failure(&self, failure: &CliFailure) -> Exit {
        let ui = &self.ui;
        let failure = &failure.clone().for_stack(&self.settings);
        let ended = CommandFailure {
            message: &failure.message,
            help: &failure.help,
            rejected: failure.rejected.as_deref().map(|all| (&*all.diagnostics, &all.sources)),
            exit: failure.exit.code(),
            differences: &failure.differences,
        };
        // A program that reads standard output gets a document for a failure, too.
        if ui.ndjson {
            ui.write_result(&(ended.event(SystemClock.now()) + "\n"));
        } else if ui.json {
            ui.write_result(&ended.document());
        }
        if let Some(rejected) = &failure.rejected {
            if !ui.json {
                let page = diagnostics::diagnostics_page(
                    &rejected.diagnostics,
                    &rejected.sources,
                    ui.message_style,
                );
                Ui::write_error(page.trim_end());
            }
            return failure.exit;
        }
        Ui::write_error(&format!("error: {}", escape::escape_line(&failure.message)));
        for help in failure.help.iter().filter(|help| !help.is_empty()) {
            Ui::write_error(&format!("  {}", escape::escape_line(help)));
        }
        failure.exit
    }

    /// Reads and resolves the stack; prints its warnings.
    ///
    /// # Errors
    /// All errors of the stack together.
    pub(super) fn open(&self) -> Result<LoadedStack, CliFailure> {
        self.open_with(&self.settings)
    }

    /// Reads and resolves the stack with modified settings; prints its warnings.
    ///
    /// # Errors
    /// All errors of the stack together.
    pub(super) fn open_with(&self, settings: &Settings) -> Result<LoadedStack, CliFailure> {
        let project = LoadedStack::open(settings)?;
        self.print_warnings(&project.warnings, &project.stack.sources);
        Ok(project)
    }

    /// Prints warnings, except beside a JSON document, which has them.
    pub(super) fn print_warnings(&self, warnings: &[Diagnostic], sources: &Sources) {
        if !warnings.is_empty() && !self.ui.json {
            let text = diagnostics::diagnostics_page(warnings, sources, self.ui.message_style);
            self.ui.write_message(text.trim_end());
        }
    }

    /// Reads the stack and evaluates an expression in it. Prints no warnings.
    ///
    /// # Errors
    /// All errors of the stack and the expression together.
    pub(super) fn evaluate_expression(&self, text: &str) -> Result<Expression, CliFailure> {
        let project = LoadedStack::open_with(&self.settings, Some(text))?;
        let nothing = || CliFailure::new(Exit::Failed, "the expression has no value");
        let evaluated = project.stack.evaluated.as_ref().ok_or_else(nothing)?;
        Ok(substitute_known_values(&project.stack, evaluated))
    }

    /// Prints the next command, with the global flags of this one, followed by the reason `why` as a comment of a shell: the
    /// line can be copied as it is. Not printed with `--quiet`.
    pub(super) fn next(&self, command: &str, why: &str) {
        let why = if why.is_empty() { String::new() } else { format!("  # {why}") };
        self.ui.next(&format!("{}{why}", self.command_line(command)));
    }

    /// Returns the writer of the reports that the command line requests about plans; `reads` is what was read for them.
    pub(super) fn report_files<'a>(
        &'a self,
        wanted: &'a [ReportTarget],
        reads: impl IntoIterator<Item = &'a RecordedReads>,
    ) -> ReportFiles<'a> {
        let commit = if wanted.is_empty() { None } else { self.planned_commit(reads) };
        ReportFiles { commit, ..self.problem_reports(wanted) }
    }

    /// Returns the writer of the reports that the command line requests about the problems of a configuration.
    pub(super) const fn problem_reports<'a>(&'a self, wanted: &'a [ReportTarget]) -> ReportFiles<'a> {
        ReportFiles { ui: &self.ui, settings: &self.settings, commit: None, wanted }
    }

    /// Returns the commit that is checked out, with whether what was read differs from it; the commit that the CI job
    /// states where the directory shows none.
    pub(super) fn planned_commit<'a>(
        &self,
        reads: impl IntoIterator<Item = &'a RecordedReads>,
    ) -> Option<PlannedCommit> {
        let directory = &self.settings.dir;
        let id = git_origin::checked_out_commit(directory).or_else(|| self.commit.clone())?;
        let dirty = working_tree::has_uncommitted_changes(directory, &id, reads) == Some(true);
        Some(PlannedCommit { id, dirty })
    }

    /// Reads and resolves the stack, and prompts for missing secrets; if the stack has errors, writes them
    /// to the requested reports.
    ///
    /// # Errors
    /// All errors of the stack together; or a file that cannot be written.
    pub(super) fn open_or_report(&self, wanted: &[ReportTarget]) -> Result<LoadedStack, CliFailure> {
        let opened = prompt::prompt_missing_secrets(&self.settings, self.ui.interactive, |settings| {
            self.open_with(settings)
        });
        if let Err(CliFailure { rejected: Some(rejected), .. }) = &opened {
            self.problem_reports(wanted).write_problems((&rejected.diagnostics, &[]), &rejected.sources)?;
        }
        opened
    }

    /// Returns a command line with the global flags of this one, so that the user can copy it.
    pub(super) fn command_line(&self, command: &str) -> String {
        self.settings.command_line(command)
    }

    /// Returns the options of a plan that do not come from the stack.
    pub(super) fn options(&self, scope: &PlanScopeArgs, destroy: bool) -> PlanningOptions {
        PlanningOptions {
            destroy,
            allow_deletes: scope.allows_all_deletions(),
            targets: scope.targets.iter().cloned().collect(),
            excluded: scope.exclude.iter().cloned().collect(),
            replace: scope.replace.iter().map(|approval| approval.address.clone()).collect(),
            delete_data: scope.delete_data.iter().map(|approval| approval.address.clone()).collect(),
            adopt: scope.adopt.iter().filter_map(|(to, id)| Some((to.clone(), id.clone()?))).collect(),
            // `--adopt` without an id takes back a forgotten object; the ledger knows its id.
            taken_back: scope
                .adopt
                .iter()
                .filter(|(_, id)| id.is_none())
                .map(|(to, _)| to.clone())
                .collect(),
            overwrite_secrets: scope.overwrite_secrets.iter().cloned().collect(),
            project: self.settings.project.clone(),
            ..PlanningOptions::default()
        }
    }

    /// Returns the plan options of a read-only command: no targets, no overrides, no change that
    /// the plan could require.
    pub(super) fn read_only_options(&self) -> PlanningOptions {
        PlanningOptions {
            project: self.settings.project.clone(),
            only_looks: true,
            ..PlanningOptions::default()
        }
    }

    /// Returns the location of the stack's ledger.
    ///
    /// # Errors
    /// When the configured backend is invalid, or none is configured and the stack requires one.
    pub(super) fn ledger_location(&self, project: &LoadedStack) -> Result<LedgerLocation, CliFailure> {
        ledger_settings::ledger_location(&self.settings, &project.stack, &project.directory)
    }

    /// Connects to the service, or starts the built-in cloud, as configured; reports long retry
    /// delays. Sends no request.
    ///
    /// # Errors
    /// When no address or key is configured, or the built-in cloud cannot start.
    pub(super) fn connect(&self, project: &LoadedStack) -> Result<StackConnection, CliFailure> {
        let connection = StackConnection::open(&self.settings, &project.stack, &project.directory)?;
        // Otherwise a user who tries a backend with the built-in cloud believes that it works.
        if self.settings.cloud == CloudEndpoint::Local && self.settings.backend.is_some() {
            self.ui.hint(
                "note: the built-in cloud has a ledger of its own; the configured backend is not used",
            );
        }
        let (ui, last) = (self.ui, Cell::new(None::<Duration>));
        connection.client.on_wait(move |wait| {
            let now = SystemClock.elapsed();
            let soon = last.get().is_some_and(|told| now.saturating_sub(told) < RETRY_REPORT_INTERVAL);
            if wait.pause >= REPORTED_RETRY_DELAY && !soon {
                last.set(Some(now));
                ui.write_message(&escape::escape_line(&wait_message(wait)));
            }
        });
        Ok(connection)
    }

    /// Returns the reporter of an apply's progress; `plan` is `None` while open intents of an earlier run are resolved.
    pub(super) fn progress_reporter<'a>(
        &self,
        connection: &'a StackConnection,
        plan: Option<&Plan>,
    ) -> ProgressReporter<'a, CommandClock> {
        let client = &connection.client;
        let now = || client.service_time().unwrap_or_else(|| client.clock().now());
        ProgressReporter::new(self.ui, (client.clock(), connection.speed), plan).with_service_time(now)
    }
}
