//! Writes the requested reports. They use only data that the command has read already: no request is sent for them.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

use crate::cli::args::report::ReportTarget;
use crate::cli::files::{stack_files, write_files};
use crate::cli::ledger::stack_origin;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::output::Ui;
use crate::cli::process::settings::Settings;
use crate::config::stack::model::Stack;
use crate::kinds::REGISTRY;
use crate::model::address::Name;
use crate::model::diagnostic::Diagnostic;
use crate::model::source::Sources;
use crate::plan::artifact::drift_history::DriftHistoryDiff;
use crate::plan::model::change::Plan;
use crate::plan::model::resource_values::PlanValues;
use crate::report::review::{
    PlanReview, RepositoryRoot, ReviewDiagnostics, ReviewFormat, ReviewSubject, ReviewedCommit, UnitsReport,
};
use crate::report::units::review::{UnitReview, UnitsReview};
use crate::report::views::drift::{DriftReport, OtherProjectCounts};
use crate::workspace::unit::UnitName;

/// Additional data about a plan, for its reports.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct ReportContext<'a> {
    /// The stack of the plan; `None` for a saved plan.
    pub(in crate::cli) stack: Option<&'a Stack>,
    /// The command that applies exactly this plan, without the other flags of this command line.
    pub(in crate::cli) command: Option<&'a str>,
    /// Details of the changes, and the outcome of an apply.
    pub(in crate::cli) told: ReviewSubject<'a>,
    /// The values of all resources; `None` where no report needs them, and for a saved plan.
    pub(in crate::cli) values: Option<&'a PlanValues>,
}

impl<'a> ReportContext<'a> {
    /// Returns the data for the plan of a stack.
    pub(in crate::cli) const fn from_stack(stack: &'a Stack) -> Self {
        Self { stack: Some(stack), command: None, told: ReviewSubject::Plan, values: None }
    }

    /// Returns the data for the plan of a stack, with the values of its resources; these are empty unless a report shows them.
    pub(in crate::cli) const fn with_values(stack: &'a Stack, values: &'a PlanValues) -> Self {
        Self { values: Some(values), ..Self::from_stack(stack) }
    }
}

/// The commit of the files that were planned.
#[derive(Debug, Clone)]
pub(in crate::cli) struct PlannedCommit {
    /// Its id: of the commit on disk, since a variable of a CI job can name a merge commit.
    pub(in crate::cli) id: Name,
    /// Whether files that were read are known to differ from it.
    pub(in crate::cli) dirty: bool,
}

impl PlannedCommit {
    fn to_reviewed(&self) -> ReviewedCommit<'_> {
        ReviewedCommit { id: &self.id, dirty: self.dirty }
    }
}

/// Returns the first file of a unit.
type FirstFileOf<'a> = &'a dyn Fn(&UnitName) -> String;

/// Writer of the report files that a command line requests.
pub(in crate::cli) struct ReportFiles<'a> {
    pub(in crate::cli) ui: &'a Ui,
    pub(in crate::cli) settings: &'a Settings,
    /// The commit of the files that were planned; `None` where none is known.
    pub(in crate::cli) commit: Option<PlannedCommit>,
    /// Format and path of each report.
    pub(in crate::cli) wanted: &'a [ReportTarget],
}

impl ReportFiles<'_> {
    /// Writes the reports of a plan and prints the path of each; other users can read the files.
    ///
    /// # Errors
    /// When a file cannot be written. Reports before it in the list are written.
    pub(in crate::cli) fn write_plan(
        &self,
        plan: &Plan,
        about: ReportContext<'_>,
    ) -> Result<(), CliFailure> {
        self.rewrite_plan(plan, about)?;
        for (format, path) in self.wanted {
            let path = plan_path(path, plan);
            let path = stack_files::display_path(&path);
            self.ui.write_message(&format!("wrote the {format} report to {path}"));
        }
        Ok(())
    }

    /// Writes the same reports again after an apply, with its outcome; prints no message, because the first write did.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(in crate::cli) fn rewrite_plan(
        &self,
        plan: &Plan,
        about: ReportContext<'_>,
    ) -> Result<(), CliFailure> {
        let is_run = matches!(about.told, ReviewSubject::Run(_));
        // A report that describes only the plan is written before the apply.
        for (format, path) in self.wanted.iter().filter(|(format, _)| !is_run || format.has_outcome()) {
            write_files::write_public(
                &plan_path(path, plan),
                self.plan_text(*format, plan, about).as_bytes(),
            )?;
        }
        Ok(())
    }

    /// Writes the reports of many units and prints the path of each. A format that shows one plan only gets a file for
    /// each unit, with the unit's name before the extension. `home` returns a unit's first file; `command` applies exactly
    /// these plans, without the other flags of this command line.
    ///
    /// # Errors
    /// When a file cannot be written. Reports before it in the list are written.
    pub(in crate::cli) fn write_units(
        &self,
        review: &UnitsReview<'_>,
        home: FirstFileOf<'_>,
        command: Option<&str>,
    ) -> Result<(), CliFailure> {
        self.render_units((review, home, command), &mut |format, path, text| {
            self.write_report(format, path, text)
        })
    }

    fn write_report(&self, format: ReviewFormat, path: &Path, text: &str) -> Result<(), CliFailure> {
        write_files::write_public(path, text.as_bytes())?;
        let path = stack_files::display_path(path);
        self.ui.write_message(&format!("wrote the {format} report to {path}"));
        Ok(())
    }

    /// Writes the same reports again after an apply, with its outcome; prints no message, because the first write did.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(in crate::cli) fn rewrite_units(
        &self,
        review: &UnitsReview<'_>,
        home: FirstFileOf<'_>,
    ) -> Result<(), CliFailure> {
        let with_outcome: Vec<ReportTarget> =
            self.wanted.iter().filter(|(format, _)| format.has_outcome()).cloned().collect();
        let files = ReportFiles { wanted: &with_outcome, commit: self.commit.clone(), ..*self };
        files.render_units((review, home, None), &mut |_, path, text| {
            Ok(write_files::write_public(path, text.as_bytes())?)
        })
    }

    /// Renders the reports of many units, and writes each with `write`, before the next one is rendered.
    fn render_units(
        &self,
        (review, home, command): (&UnitsReview<'_>, FirstFileOf<'_>, Option<&str>),
        write: &mut dyn FnMut(ReviewFormat, &Path, &str) -> Result<(), CliFailure>,
    ) -> Result<(), CliFailure> {
        if self.wanted.is_empty() {
            return Ok(());
        }
        let root = repository_root(self.settings.docs_url.as_deref());
        let command = command.map(|command| self.settings.command_line(command));
        let homes: Vec<String> =
            review.units().iter().map(|unit| unit.name.unit().map(home).unwrap_or_default()).collect();
        let memory = DriftHistoryDiff::default();
        let drifts: Vec<Option<DriftReport<'_>>> =
            review.units().iter().map(|unit| unit_drift(review, unit, &memory)).collect();
        let mut plans = BTreeMap::new();
        for (position, unit) in review.units().iter().enumerate() {
            let Some(plan) = unit.plan else { continue };
            let reviewed = PlanReview {
                plan,
                registry: REGISTRY,
                root: &root,
                commit: self.commit.as_ref().map(PlannedCommit::to_reviewed),
                home: &homes[position],
                command: None,
                told: match (unit.run, &drifts[position]) {
                    (Some(ran), _) => ReviewSubject::Run(ran),
                    (None, Some(found)) => ReviewSubject::Drift(found),
                    (None, None) => ReviewSubject::Plan,
                },
                values: unit.values,
            };
            plans.insert(position, reviewed);
        }
        let report =
            UnitsReport { review, plans, root: &root, registry: REGISTRY, command: command.as_deref() };
        for (format, path) in self.wanted {
            if let Some(text) = format.render_units(&report) {
                write(*format, path, &text)?;
                continue;
            }
            for (position, plan) in &report.plans {
                let Some(name) = review.units()[*position].name.unit() else { continue };
                let path = unit_path(path, name);
                write(*format, &path, &format.render_plan(plan))?;
            }
        }
        Ok(())
    }

    /// Returns a plan's report in one format.
    pub(in crate::cli) fn plan_text(
        &self,
        format: ReviewFormat,
        plan: &Plan,
        about: ReportContext<'_>,
    ) -> String {
        let root = repository_root(self.settings.docs_url.as_deref());
        let command = about.command.map(|command| self.settings.command_line(command));
        let first = about.stack.and_then(|stack| stack.sources.iter().next());
        let reviewed = PlanReview {
            plan,
            registry: REGISTRY,
            root: &root,
            commit: self.commit.as_ref().map(PlannedCommit::to_reviewed),
            home: first.map_or("", |(_, source)| source.path.as_str()),
            command: command.as_deref(),
            told: about.told,
            values: about.values,
        };
        format.render_plan(&reviewed)
    }

    /// Writes reports of diagnostics. The file of a format that cannot show diagnostics is deleted.
    ///
    /// # Errors
    /// When a file cannot be written or deleted.
    pub(in crate::cli) fn write_problems(
        &self,
        (diagnostics, units): (&[Diagnostic], &[String]),
        sources: &Sources,
    ) -> Result<(), CliFailure> {
        let root = repository_root(self.settings.docs_url.as_deref());
        let problems = ReviewDiagnostics { diagnostics, units, sources, root: &root };
        for (format, path) in self.wanted {
            if let Some(text) = format.render_problems(&problems) {
                self.write_report(*format, path, &text)?;
            } else {
                // A report of an earlier run must not be taken for one of this run.
                stack_files::remove_report(path)?;
                self.ui.write_message(&format!("{format} is not written: there is no plan to report"));
            }
        }
        Ok(())
    }
}

/// Returns the results of a unit's drift check; `None` if the review is not one, or the unit has no plan.
pub(in crate::cli) fn unit_drift<'a>(
    review: &UnitsReview<'a>,
    unit: &UnitReview<'a>,
    memory: &'a DriftHistoryDiff,
) -> Option<DriftReport<'a>> {
    let (found, plan, name) = (review.drift?, unit.plan?, unit.name.unit()?);
    Some(DriftReport {
        stack: &name.stack,
        environment: &name.environment,
        drift: &plan.drift,
        unmanaged: &[],
        managed: found.managed.get(name).copied().unwrap_or_default(),
        elsewhere: OtherProjectCounts { by_account: true, ..OtherProjectCounts::default() },
        memory,
        notes: &plan.notes,
        exposures: &plan.policy,
        verbose: false,
    })
}

/// Returns whether a report's path names a directory: it ends with `/`.
fn is_directory(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// Returns the path of a report of one plan: in a directory, the file is named after the stack.
fn plan_path(path: &Path, plan: &Plan) -> PathBuf {
    let (stack, environment) = (plan.base.stack.clone(), plan.base.environment.clone());
    if is_directory(path) { unit_path(path, &UnitName { stack, environment }) } else { path.to_owned() }
}

/// Returns the path of a unit's own report: `plan.json` becomes `plan.shop-prod.json`, and in the directory `plans/` it is
/// `plans/shop.prod.json`.
fn unit_path(path: &Path, unit: &UnitName) -> PathBuf {
    if is_directory(path) {
        return path.join(format!("{}.{}.json", unit.stack, unit.environment));
    }
    let name = format!("{}-{}", unit.stack, unit.environment);
    let extension = path.extension().map(|extension| extension.to_string_lossy().into_owned());
    match extension {
        Some(extension) => path.with_extension(format!("{name}.{extension}")),
        None => path.with_extension(name),
    }
}

/// Returns the root of the repository that contains the working directory; `documentation` is the address of a published
/// copy of the documentation.
pub(in crate::cli) fn repository_root(documentation: Option<&str>) -> RepositoryRoot {
    let documentation = documentation.unwrap_or_default().to_owned();
    let nowhere = || RepositoryRoot { documentation: documentation.clone(), ..RepositoryRoot::default() };
    let Ok(here) = env::current_dir() else { return nowhere() };
    let text = |path: &Path| path.to_string_lossy().trim_end_matches('/').to_owned();
    match here.ancestors().find(|above| stack_files::path_exists(&above.join(".git"))) {
        Some(repository) => RepositoryRoot {
            here: here.strip_prefix(repository).map(text).unwrap_or_default(),
            repository: text(repository),
            name: stack_origin::repository_name(repository).unwrap_or_default(),
            documentation,
        },
        None => RepositoryRoot { repository: text(&here), ..nowhere() },
    }
}
