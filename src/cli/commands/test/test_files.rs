//! Runs the tests of some files. In: the paths of test files. Out: the result of each test.

use std::path::{Path, PathBuf};

use crate::cli::command_context::CommandContext;
use crate::cli::commands::testing::{self, AssertionFailure};
use crate::cli::files::stack_files;
use crate::cli::process::failure::CliFailure;
use crate::cli::stack::rewrite_files;
use crate::cloud::system_clock::SystemClock;
use crate::config::input::discovery;
use crate::config::test_file::{self, StackTest};
use crate::model::clock::Clock;
use crate::model::source::{Source, SourceId, Sources, Span};
use crate::report::views::test_run::{TestFailure, TestResult};

/// Runs the tests of some files.
///
/// # Errors
/// When a file cannot be read or has errors.
pub(super) fn run_files(
    session: &CommandContext,
    paths: Vec<PathBuf>,
) -> Result<Vec<TestResult>, CliFailure> {
    let mut tested = Vec::new();
    for path in paths {
        let source = rewrite_files::read_source(&path)?;
        let tests = test_file::read_tests(SourceId(0), &source)
            .map_err(|problems| rewrite_files::source_failure(&source, problems))?;
        for test in &tests {
            tested.push(run_test(session, &path, &source, test));
        }
    }
    Ok(tested)
}

/// Returns the test files of a directory, sorted by name.
pub(super) fn directory_tests(directory: &Path) -> Result<Vec<PathBuf>, CliFailure> {
    let names = stack_files::entry_names(directory, discovery::is_test_file)?;
    Ok(names.into_iter().map(|name| directory.join(name)).collect())
}

/// Runs one test on the stack in the directory of its file. A test that cannot be run counts as failed.
fn run_test(session: &CommandContext, path: &Path, source: &Source, test: &StackTest) -> TestResult {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let start = SystemClock.elapsed();
    let missed = testing::run(&session.settings, directory, test);
    let took = SystemClock.elapsed().saturating_sub(start);
    let missed = missed.unwrap_or_else(|failure| {
        vec![AssertionFailure { span: test.span, text: one_line_reason(&failure) }]
    });
    let mut sources = Sources::default();
    sources.add(source.clone());
    let place = |span: Span| sources.location_of(span);
    let miss = |missed: AssertionFailure| TestFailure { place: place(missed.span), text: missed.text };
    TestResult {
        name: test.name.to_string(),
        file: source.path.clone(),
        place: place(test.span),
        missed: missed.into_iter().map(miss).collect(),
        took,
    }
}

/// Returns on one line why a test could not be run, with the first diagnostic of an invalid stack.
fn one_line_reason(failure: &CliFailure) -> String {
    let problem = failure.rejected.as_ref().and_then(|rejected| {
        let problem = rejected.diagnostics.first()?;
        let place = problem.span().and_then(|span| rejected.sources.location_of(span));
        let place = place.map(|place| format!(" at {}:{}", place.file, place.line)).unwrap_or_default();
        Some(format!(": {} {}{place}", problem.code, problem.summary))
    });
    format!("{}{}", failure.message, problem.unwrap_or_default())
}
