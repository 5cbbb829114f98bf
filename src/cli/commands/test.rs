//! `stead test`: runs the stack's own tests, on the built-in cloud in memory. In: test files. Out: the failed
//! expectations of each test. Reads no variable of the environment, so a test gives the same result on every machine.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::command_context::CommandContext;
use crate::cli::commands::testing::{self, AssertionFailure};
use crate::cli::files::file_watcher::{FileFingerprints, StopSignals};
use crate::cli::files::stack_files;
use crate::cli::files::write_files;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::settings::Settings;
use crate::cli::stack::project::LoadedStack;
use crate::cli::stack::rewrite_files;
use crate::cloud::system_clock::SystemClock;
use crate::config::input::discovery;
use crate::config::test_file::{self, StackTest};
use crate::model::clock::Clock;
use crate::model::source::{Source, SourceId, Sources, Span};
use crate::report::views::test_run::{self, TestFailure, TestResult};

/// Command-line arguments of `stead test`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "\
Each test plans, and perhaps applies, the stack of its file's directory on the built-in cloud: in memory, \
in virtual time, with the variables that it gives and no others.

  test:
    two machines in prod:
      given: { env: prod, vars: { size: small }, world: empty, applied: true }
      plan: { create: [vm.web.b], count: { update: 1 }, monthly: { max: 60 }, policy: { budget: pass } }
      apply: { outputs: { url: https://shop.example.com }, objects: { vm: 2 } }

given.world is empty, shop, objects=N or the file of an export; given.applied applies the stack first. \
A plan may be expected to fail: problems: [S0201], blocks: [grow_only]. After an apply, the next plan is \
empty.

Examples:
  stead test
  stead test shop.test.yaml --report junit=report.xml
  stead test --watch
  stead test --output json")]
pub struct TestArgs {
    /// Test files; every *.test.yaml and *.test.kdl of the stack's directory when omitted
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Write a JUnit report, as junit=PATH
    #[arg(long, value_name = "FORMAT=PATH", value_parser = parse_junit_path)]
    pub report: Option<PathBuf>,
    /// Run again when a file of the stack or of its tests changes, until Ctrl-C
    #[arg(long)]
    pub watch: bool,
}

/// Escape sequence that clears the terminal.
const CLEAR_SCREEN: &str = "\x1b[2J\x1b[H";

/// Runs tests and reports failed expectations. Returns `Exit::Failed` if one failed, or there are none in the files.
///
/// # Errors
/// When there are no test files, one cannot be read or has errors, or the report cannot be written.
pub(in crate::cli) fn run(session: &CommandContext, args: &TestArgs) -> Result<Exit, CliFailure> {
    let mut tested = Vec::new();
    for path in test_paths(session, args)? {
        let source = rewrite_files::read_source(&path)?;
        let tests = test_file::read_tests(SourceId(0), &source)
            .map_err(|problems| rewrite_files::source_failure(&source, problems))?;
        for test in &tests {
            tested.push(run_test(session, &path, &source, test));
        }
    }
    if let Some(path) = &args.report {
        write_files::write_public(path, test_run::test_run_junit(&tested).as_bytes())?;
    }
    let ui = &session.ui;
    ui.write_result(&if ui.json {
        test_run::test_run_document(&tested)
    } else {
        test_run::test_run_page(&tested, ui.style)
    });
    let failed = tested.iter().any(|test| !test.missed.is_empty());
    Ok(if failed || tested.is_empty() { Exit::Failed } else { Exit::Done })
}

/// Runs the tests, and again when one of their files changes. A stop signal ends the loop with the
/// outcome of the last run.
///
/// # Errors
/// When the process cannot watch for stop signals. A failed run is reported and does not end the loop.
pub(in crate::cli) async fn watch_tests(
    session: &CommandContext,
    args: &TestArgs,
) -> Result<Exit, CliFailure> {
    let ui = &session.ui;
    let mut stops = StopSignals::new().map_err(anyhow::Error::from)?;
    loop {
        let directories = watched_directories(session, args);
        // Taken before the run, so that a change during the run starts another one.
        let before = FileFingerprints::from_directories(&directories);
        let exit = run(session, args).unwrap_or_else(|failure| session.report_failure(&failure));
        ui.hint("Waiting for a change; Ctrl-C ends.");
        if !stops.or_change(&directories, &before).await {
            return Ok(exit);
        }
        if ui.live && ui.shows {
            ui.write_result(CLEAR_SCREEN);
        }
    }
}

/// Returns the directories of the test files, of the stack, and of its includes and modules, also of an invalid stack.
fn watched_directories(session: &CommandContext, args: &TestArgs) -> BTreeSet<PathBuf> {
    let settings = &session.settings;
    let parent = |path: &Path| match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    let mut found: BTreeSet<PathBuf> = args.files.iter().map(|path| parent(path)).collect();
    if found.is_empty() {
        found.insert(settings.dir.clone());
    }
    for dir in found.clone() {
        let sources = match LoadedStack::open(&Settings { dir, ..settings.clone() }) {
            Ok(project) => project.stack.sources,
            Err(CliFailure { rejected: Some(rejected), .. }) => rejected.sources,
            Err(_) => continue,
        };
        found.extend(sources.iter().map(|(_, source)| parent(Path::new(source.path.as_str()))));
    }
    found
}

/// Returns the given test files, else those of the stack's directory, sorted by name; none is an error.
fn test_paths(session: &CommandContext, args: &TestArgs) -> Result<Vec<PathBuf>, CliFailure> {
    if !args.files.is_empty() {
        return Ok(args.files.clone());
    }
    let directory = &session.settings.dir;
    let names = stack_files::entry_names(directory, discovery::is_test_file)?;
    if names.is_empty() {
        let text = format!(
            "there are no tests in {}: no *.test.yaml or *.test.kdl",
            stack_files::display_path(directory)
        );
        return Err(
            CliFailure::new(Exit::Failed, text).help("stead test --help shows what one looks like.")
        );
    }
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

/// Parses `junit=PATH`, the only report of tests.
fn parse_junit_path(text: &str) -> Result<PathBuf, String> {
    match text.split_once('=') {
        Some(("junit", path)) if !path.is_empty() => Ok(PathBuf::from(path)),
        _ => Err("write junit=PATH".to_owned()),
    }
}
