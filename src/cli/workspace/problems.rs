//! Reports the problems of units: each once for a stack, with the environments that have it.

use std::collections::BTreeMap;

use super::loaded_unit::WorkspaceUnit;
use super::planned_units::UnitResults;
use super::units::Workspace;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::output::Ui;
use crate::cli::stack::project::LoadedStack;
use crate::config::check::environments;
use crate::model::address::Name;
use crate::model::diagnostic::{Diagnostic, Severity};
use crate::model::source::Sources;
use crate::report::diagnostics;
use crate::report::text::escape;
use crate::report::text::phrases::join_words;
use crate::workspace::unit::UnitName;

/// The problems of one stack in its selected environments.
pub(in crate::cli) struct StackProblems<'w> {
    /// The problems, each once.
    pub(in crate::cli) diagnostics: Vec<Diagnostic>,
    /// The files of the stack.
    pub(in crate::cli) sources: &'w Sources,
    /// The problems of each unit.
    units: Vec<(&'w UnitName, &'w [Diagnostic])>,
}

impl StackProblems<'_> {
    /// Returns the units that have a problem, as a phrase.
    fn units_with(&self, problem: &Diagnostic) -> String {
        let is_same = |one: &Diagnostic| one.code == problem.code && one.span() == problem.span();
        let having = self.units.iter().filter(|(_, found)| found.iter().any(is_same));
        let mut names: Vec<String> = having.map(|(name, _)| name.to_string()).collect();
        names.sort();
        join_words(names.iter(), MAX_NAMED_UNITS)
    }
}

/// Maximum number of units that a finding names.
const MAX_NAMED_UNITS: usize = 5;

/// Returns the problems and the files of a unit; `None` if it has none because its files could not be read.
pub(in crate::cli) fn unit_diagnostics(loaded: &WorkspaceUnit) -> Option<(&[Diagnostic], &Sources)> {
    loaded_diagnostics(&loaded.loaded)
}

/// Returns the problems of a stack that was loaded: warnings, or the errors that reject it. `None` if it has another failure.
pub(in crate::cli) fn loaded_diagnostics(
    loaded: &Result<LoadedStack, CliFailure>,
) -> Option<(&[Diagnostic], &Sources)> {
    match loaded {
        Ok(project) => Some((&project.warnings, &project.stack.sources)),
        Err(failure) => rejected_diagnostics(failure),
    }
}

/// Returns the errors of the configuration that a failure has, and their files; `None` if it has another cause.
fn rejected_diagnostics(failure: &CliFailure) -> Option<(&[Diagnostic], &Sources)> {
    failure.rejected.as_ref().map(|rejected| (rejected.diagnostics.as_slice(), &rejected.sources))
}

/// Returns the problems that the files of the selected units have, by stack, in the order of the directories.
pub(in crate::cli) fn stack_problems(workspace: &Workspace) -> Vec<StackProblems<'_>> {
    merge_by_stack(workspace, &|_, one| unit_diagnostics(one))
}

/// Returns the same problems, and those that were found only when the units were planned.
pub(in crate::cli) fn planning_problems<'w>(
    workspace: &'w Workspace,
    units: &'w UnitResults,
) -> Vec<StackProblems<'w>> {
    merge_by_stack(workspace, &|number, one| {
        let failure = units.get(&number).and_then(|planned| planned.as_ref().err());
        failure.and_then(rejected_diagnostics).or_else(|| unit_diagnostics(one))
    })
}

/// Merges the problems of the selected units by stack; `diagnostics_of` returns those of a unit.
fn merge_by_stack<'w>(
    workspace: &'w Workspace,
    diagnostics_of: &dyn Fn(usize, &'w WorkspaceUnit) -> Option<(&'w [Diagnostic], &'w Sources)>,
) -> Vec<StackProblems<'w>> {
    let mut stacks: BTreeMap<&Name, Vec<(usize, &WorkspaceUnit)>> = BTreeMap::new();
    for (number, one) in workspace.selected_units() {
        stacks.entry(&one.unit.directory).or_default().push((number, one));
    }
    let merged = stacks.into_values().filter_map(|units| {
        let mut having = Vec::new();
        let mut found = units.iter().filter_map(|(number, one)| {
            let (diagnostics, sources) = diagnostics_of(*number, one)?;
            having.push((&one.unit.name, diagnostics));
            Some((one.unit.name.environment.clone(), diagnostics.to_vec(), sources))
        });
        let (first, own, sources) = found.next()?;
        let others: Vec<_> = found.map(|(name, diagnostics, _)| (name, diagnostics)).collect();
        let diagnostics = environments::merge_problems(&first, own, &others);
        Some(StackProblems { diagnostics, sources, units: having })
    });
    merged.collect()
}

/// Returns all problems of the selected units, and of the directories that cannot be read; the units that have each, as a
/// phrase; and one set of files: each file once for a stack.
pub(in crate::cli) fn all_problems(workspace: &Workspace) -> (Vec<Diagnostic>, Vec<String>, Sources) {
    let (mut all, mut units, mut files) = (Vec::new(), Vec::new(), Sources::default());
    let mut add = |diagnostics: &[Diagnostic], sources: &Sources, whose: &dyn Fn(&Diagnostic) -> String| {
        let first = files.append(sources);
        units.extend(diagnostics.iter().map(whose));
        all.extend(diagnostics.iter().cloned().map(|problem| problem.in_appended(first)));
    };
    for problems in stack_problems(workspace) {
        add(&problems.diagnostics, problems.sources, &|problem| problems.units_with(problem));
    }
    for one in &workspace.unreadable {
        if let Some(rejected) = one.failure.rejected.as_deref() {
            add(&rejected.diagnostics, &rejected.sources, &|_| one.directory.to_string());
        }
    }
    for (whose, failure) in other_failures(workspace).filter(|(_, failure)| failure.rejected.is_none()) {
        let help: Vec<&str> =
            failure.help.iter().map(String::as_str).filter(|help| !help.is_empty()).collect();
        let problem = Diagnostic::error(UNIT_CODE, format!("{whose}: {}", failure.message));
        let problem = if help.is_empty() { problem } else { problem.help(help.join(" ")) };
        add(&[problem], &Sources::default(), &|_| whose.clone());
    }
    (all, units, files)
}

/// Code of a failure that has no place in a file, as in the reports of plans.
const UNIT_CODE: &str = "unit";

/// Returns the failures that are not among the problems of the selected units, each with the name of its unit or directory:
/// those of units without a location, and those of directories that cannot be read.
fn other_failures(workspace: &Workspace) -> impl Iterator<Item = (String, &CliFailure)> {
    let plain = workspace.selected_units().filter_map(|(_, one)| {
        let failure = one.loaded.as_ref().err().filter(|failure| failure.rejected.is_none())?;
        Some((one.unit.name.to_string(), failure))
    });
    plain.chain(workspace.unreadable.iter().map(|one| (one.directory.to_string(), &one.failure)))
}

/// Prints the problems of the selected units, the directories that cannot be read, and failures without a location.
/// Returns whether any is an error.
pub(in crate::cli) fn report_problems(ui: Ui, workspace: &Workspace) -> bool {
    let mut failed = false;
    for problems in stack_problems(workspace).iter().filter(|problems| !problems.diagnostics.is_empty()) {
        failed |= problems.diagnostics.iter().any(|problem| problem.severity == Severity::Error);
        print_diagnostics(ui, &problems.diagnostics, problems.sources);
    }
    for (whose, failure) in other_failures(workspace) {
        failed = true;
        print_failure(ui, &whose, failure);
    }
    failed
}

/// Prints the failure of a unit or a directory, which the message names once.
pub(in crate::cli) fn print_failure(ui: Ui, whose: &str, failure: &CliFailure) {
    if let Some(rejected) = &failure.rejected {
        print_diagnostics(ui, &rejected.diagnostics, &rejected.sources);
        return;
    }
    let is_named = failure.message.strip_prefix(whose).is_some_and(|rest| rest.starts_with([' ', ':']));
    let whose = if is_named { String::new() } else { format!("{whose}: ") };
    Ui::write_error(&format!("error: {whose}{}", escape::escape_line(&failure.message)));
    for help in failure.help.iter().filter(|help| !help.is_empty()) {
        Ui::write_error(&format!("  {}", escape::escape_line(help)));
    }
}

/// Prints problems with the snippets of their files.
pub(in crate::cli) fn print_diagnostics(ui: Ui, found: &[Diagnostic], sources: &Sources) {
    let page = diagnostics::diagnostics_page(found, sources, ui.message_style);
    Ui::write_error(page.trim_end());
}
