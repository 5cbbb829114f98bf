//! `stead test --all`: runs the tests of the selected stacks. A test names its own environment, so the tests of a stack run
//! once. A stack without tests is counted.

use std::path::Path;

use super::test_files::{directory_tests, run_files};
use crate::cli::args::workspace::UnitArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::files::write_files;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::output::Ui;
use crate::cli::workspace::review;
use crate::cli::workspace::unit_outputs::{self, UnitOutput};
use crate::cli::workspace::units::{SelectionRequest, Workspace};
use crate::report::json::{ResultStatus, TestSummary};
use crate::report::text::phrases::count_noun;
use crate::report::views::test_run::{self, TestResult, TestRunDocument};

/// Runs the tests of the selected stacks, and writes a JUnit report to `report`. Returns `Exit::Failed` if a test failed,
/// or no stack has one.
///
/// # Errors
/// When there is no stack, the selection is not accepted, or the report cannot be written. The failures of single stacks
/// are shown.
pub(super) fn test_all(
    session: &CommandContext,
    units: &UnitArgs,
    report: Option<&Path>,
) -> Result<Exit, CliFailure> {
    let selection = SelectionRequest::from(units);
    let workspace = Workspace::open(&session.settings, &session.unit_settings, &selection)?;
    let mut outputs: Vec<UnitOutput<'_, Vec<TestResult>>> =
        workspace.unreadable.iter().map(UnitOutput::of_unreadable).collect();
    let stacks = unit_outputs::selected_stacks(&workspace);
    for (stack, directory) in &stacks {
        let result = test_stack(session, &workspace.root.join(directory.as_str()));
        outputs.push(UnitOutput::of_stack(stack, directory, result));
    }
    unit_outputs::sort_worst_first(&mut outputs);
    let tests: Vec<TestResult> = outputs
        .iter()
        .filter_map(|output| output.result.as_ref().ok())
        .flat_map(|(tests, ..)| tests.iter().cloned())
        .collect();
    if let Some(path) = report {
        write_files::write_public(path, test_run::test_run_junit(&tests).as_bytes())?;
    }
    let is_untested = |output: &&UnitOutput<'_, Vec<TestResult>>| {
        output.result.as_ref().is_ok_and(|(tests, ..)| tests.is_empty())
    };
    let untested = outputs.iter().filter(is_untested).count();
    let ui = session.ui;
    if ui.json {
        let failed = tests.iter().filter(|test| !test.missed.is_empty()).count();
        let summary = TestSummary {
            stacks: outputs.len(),
            failed: unit_outputs::failed_count(&outputs),
            untested,
            tests_passed: tests.len() - failed,
            tests_failed: failed,
        };
        ui.write_result(&unit_outputs::document(&outputs, &summary, |tests| TestRunDocument::new(tests)));
    } else {
        ui.write_result(&test_run::test_run_page(&tests, ui.style));
        unit_outputs::print_failures(ui, &outputs);
    }
    let exit = unit_outputs::exit_of(&outputs);
    // A selection of changed stacks may have no stack, and so no test; that is no failure.
    let has_no_test = tests.is_empty() && !stacks.is_empty();
    if has_no_test && exit == Exit::Done {
        Ui::write_error("error: there is no test in the selected stacks: no *.test.yaml or *.test.kdl");
        Ui::write_error("  stead test --help shows what one looks like.");
    } else if untested > 0 {
        ui.hint(&format!("{} without tests", count_noun(untested, "stack")));
    }
    review::print_left_out(ui, &workspace);
    Ok(if exit == Exit::Done && has_no_test { Exit::Failed } else { exit })
}

fn test_stack(
    session: &CommandContext,
    directory: &Path,
) -> Result<(Vec<TestResult>, ResultStatus, Exit), CliFailure> {
    let tests = run_files(session, directory_tests(directory)?)?;
    let failed = tests.iter().any(|test| !test.missed.is_empty());
    let (status, exit) =
        if failed { (ResultStatus::Failed, Exit::Failed) } else { (ResultStatus::Done, Exit::Done) };
    Ok((tests, status, exit))
}
