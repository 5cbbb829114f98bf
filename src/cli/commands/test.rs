//! `stead test`: runs the stack's own tests, on the built-in cloud in memory. In: test files. Out: the failed
//! expectations of each test. Reads no variable of the environment, so a test gives the same result on every machine.

mod all;
mod test_files;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;

use self::test_files::{directory_tests, run_files};
use crate::cli::args::workspace::UnitArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::files::file_watcher::{FileFingerprints, StopSignals};
use crate::cli::files::stack_files;
use crate::cli::files::write_files;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::settings::Settings;
use crate::cli::stack::project::LoadedStack;
use crate::report::views::test_run;

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
  stead test --output json
  stead test --all --report junit=report.xml")]
pub struct TestArgs {
    /// Test files; every *.test.yaml and *.test.kdl of the stack's directory when omitted
    #[arg(value_name = "FILE", conflicts_with = "all")]
    pub files: Vec<PathBuf>,
    /// Write a JUnit report, as junit=PATH
    #[arg(long, value_name = "FORMAT=PATH", value_parser = parse_junit_path)]
    pub report: Option<PathBuf>,
    /// Run again when a file of the stack or of its tests changes, until Ctrl-C
    #[arg(long, conflicts_with = "all")]
    pub watch: bool,
    /// Stacks that the command covers.
    #[command(flatten)]
    pub units: UnitArgs,
}

/// Escape sequence that clears the terminal.
const CLEAR_SCREEN: &str = "\x1b[2J\x1b[H";

/// Runs tests and reports failed expectations. Returns `Exit::Failed` if one failed, or there are none in the files.
///
/// # Errors
/// When there are no test files, one cannot be read or has errors, or the report cannot be written.
pub(in crate::cli) fn run(session: &CommandContext, args: &TestArgs) -> Result<Exit, CliFailure> {
    if args.units.all {
        return all::test_all(session, &args.units, args.report.as_deref());
    }
    let tested = run_files(session, test_paths(session, args)?)?;
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
    let paths = directory_tests(directory)?;
    if paths.is_empty() {
        let text = format!(
            "there are no tests in {}: no *.test.yaml or *.test.kdl",
            stack_files::display_path(directory)
        );
        return Err(
            CliFailure::new(Exit::Failed, text).help("stead test --help shows what one looks like.")
        );
    }
    Ok(paths)
}

/// Parses `junit=PATH`, the only report of tests.
fn parse_junit_path(text: &str) -> Result<PathBuf, String> {
    match text.split_once('=') {
        Some(("junit", path)) if !path.is_empty() => Ok(PathBuf::from(path)),
        _ => Err("write junit=PATH".to_owned()),
    }
}
