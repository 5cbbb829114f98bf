//! The results of commands that do the same for each unit or stack: `fmt`, `cost`, `ls` and `test` with `--all`. In: a result
//! or a failure for each. Out: a document or messages, worst first, and one exit code. A failure hides no other result.

use serde::Serialize;

use super::problems;
use super::review::unit_failure;
use super::units::{UnreadableStack, Workspace};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::output::Ui;
use crate::model::address::Name;
use crate::report::json::{self, ResultStatus, UnitResult};
use crate::workspace::unit::Unit;

/// The result of a command for one unit, or for one stack if environments make no difference.
pub(in crate::cli) struct UnitOutput<'w, R> {
    /// Name of the stack; `None` if its files cannot be read.
    pub(in crate::cli) stack: Option<&'w Name>,
    /// Name of the environment; `None` for the stack in all environments.
    pub(in crate::cli) environment: Option<&'w Name>,
    /// Directory relative to the root; `None` for a removed unit.
    pub(in crate::cli) directory: Option<&'w Name>,
    /// The result with its status and exit code, or why there is none.
    pub(in crate::cli) result: Result<(R, ResultStatus, Exit), CliFailure>,
}

impl<'w, R> UnitOutput<'w, R> {
    /// Returns the result for a unit.
    pub(in crate::cli) fn of_unit(
        unit: &'w Unit,
        result: Result<(R, ResultStatus, Exit), CliFailure>,
    ) -> Self {
        Self {
            stack: Some(&unit.name.stack),
            environment: Some(&unit.name.environment),
            directory: (!unit.is_removed).then_some(&unit.directory),
            result,
        }
    }

    /// Returns the result for a stack in all environments.
    pub(in crate::cli) fn of_stack(
        stack: &'w Name,
        directory: &'w Name,
        result: Result<(R, ResultStatus, Exit), CliFailure>,
    ) -> Self {
        Self { stack: Some(stack), environment: None, directory: Some(directory), result }
    }

    /// Returns the failure of a directory whose stack cannot be read.
    pub(in crate::cli) fn of_unreadable(unreadable: &'w UnreadableStack) -> Self {
        let result = Err(unreadable.failure.clone());
        Self { stack: None, environment: None, directory: Some(&unreadable.directory), result }
    }

    /// Returns the exit code that the command would have for this unit alone.
    pub(in crate::cli) fn exit(&self) -> Exit {
        match &self.result {
            Ok((_, _, exit)) => *exit,
            Err(failure) => failure.exit,
        }
    }

    /// Returns the name for messages: `stack/environment`, the stack, or the directory.
    fn display_name(&self) -> String {
        match (self.stack, self.environment) {
            (Some(stack), Some(environment)) => format!("{stack}/{environment}"),
            (Some(stack), None) => stack.to_string(),
            _ => self.directory.map(ToString::to_string).unwrap_or_default(),
        }
    }
}

/// Returns the selected stacks, each once, in the order in which their units are applied.
pub(in crate::cli) fn selected_stacks(workspace: &Workspace) -> Vec<(&Name, &Name)> {
    let mut stacks: Vec<(&Name, &Name)> = Vec::new();
    for (_, one) in workspace.selected_units() {
        if !stacks.iter().any(|(_, directory)| **directory == one.unit.directory) {
            stacks.push((&one.unit.name.stack, &one.unit.directory));
        }
    }
    stacks
}

/// Sorts results worst first, and by name.
pub(in crate::cli) fn sort_worst_first<R>(outputs: &mut [UnitOutput<'_, R>]) {
    outputs.sort_by_cached_key(|output| {
        let status = output.result.as_ref().map_or(ResultStatus::Failed, |(_, status, _)| *status);
        (output.exit().rank(), status, output.display_name())
    });
}

/// Returns the exit code of all results together.
pub(in crate::cli) fn exit_of<R>(outputs: &[UnitOutput<'_, R>]) -> Exit {
    Exit::of_units(&outputs.iter().map(UnitOutput::exit).collect::<Vec<_>>())
}

/// Returns how many results are missing or say that something is wrong.
pub(in crate::cli) fn failed_count<R>(outputs: &[UnitOutput<'_, R>]) -> usize {
    let failed = outputs.iter().filter(|output| {
        output.result.as_ref().map_or(true, |(_, status, _)| *status == ResultStatus::Failed)
    });
    failed.count()
}

/// Returns the JSON document of the results, in their order; `entry` returns the document of one.
pub(in crate::cli) fn document<'w, R, S: Serialize, D: Serialize>(
    outputs: &'w [UnitOutput<'w, R>],
    summary: &S,
    entry: impl Fn(&'w R) -> D,
) -> String {
    let units = outputs.iter().map(|output| {
        let place = (output.stack, output.environment, output.directory);
        match &output.result {
            Ok((result, status, exit)) => {
                UnitResult::new(place, (*status, exit.code()), Some(entry(result)))
            }
            Err(failure) => UnitResult::new(place, (ResultStatus::Failed, failure.exit.code()), None)
                .failed_because(unit_failure(failure)),
        }
    });
    json::unit_results_document(summary, &units.collect::<Vec<_>>())
}

/// Prints the failures of units without a result.
pub(in crate::cli) fn print_failures<R>(ui: Ui, outputs: &[UnitOutput<'_, R>]) {
    for output in outputs {
        if let Err(failure) = &output.result {
            problems::print_failure(ui, &output.display_name(), failure);
        }
    }
}
