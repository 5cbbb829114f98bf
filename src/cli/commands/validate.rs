//! `stead validate`: runs all checks that need no network, and applies safe fixes. Without `-e` it checks every
//! environment, since each can use other blocks.

mod all;

use std::path::PathBuf;

use clap::Args;

use crate::cli::args::global_flags::quote_shell_word;
use crate::cli::args::report::ProblemReportArgs;
use crate::cli::args::workspace::UnitArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::files::stack_files::{self, StackFiles};
use crate::cli::ledger::stack_transfers;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::settings::Settings;
use crate::cli::stack::project::{InitialEnvironment, LoadedStack};
use crate::cli::stack::rewrite_files::{self, FileRewrite};
use crate::cli::workspace::problems::loaded_diagnostics;
use crate::config::check::environments;
use crate::config::load::LoadFailure;
use crate::model::address::Name;
use crate::model::diagnostic::{Diagnostic, Severity, SuggestedEdit};
use crate::model::source::{Source, Sources};
use crate::plan::annotate::offline_policy;
use crate::report::json;
use crate::report::text::phrases::count_noun;

/// Command-line arguments of `stead validate`.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead validate\n  stead validate --fix\n  stead validate --output json\n  stead validate --all"
)]
pub struct ValidateArgs {
    /// Apply every correction that is unambiguous; shows the change, and prompts
    #[arg(long, conflicts_with = "all")]
    pub fix: bool,
    /// Do not prompt for confirmation
    #[arg(long, requires = "fix")]
    pub yes: bool,
    /// Treat the stack as untrusted, as in pull requests from forks: reads no file outside of it, and takes every
    /// secret as set
    #[arg(long, conflicts_with = "fix")]
    pub untrusted: bool,
    /// Fail if stead.lock is missing
    #[arg(long)]
    pub locked: bool,
    /// Report files to write in addition to the output.
    #[command(flatten)]
    pub reports: ProblemReportArgs,
    /// Stacks that the command covers.
    #[command(flatten)]
    pub units: UnitArgs,
}

/// Diagnostics of the other environments, by name.
type EnvironmentDiagnostics = Vec<(Name, Vec<Diagnostic>)>;

/// Maximum number of fix rounds. One fix can reveal the next error, and two fixes could undo each other.
const MAX_ROUNDS: usize = 100;

/// Checks the stack; with `--fix`, after applying the fixes. Returns `Exit::Failed` if it has errors.
///
/// # Errors
/// When the stack cannot be read, `stead.lock` is missing with `--locked`, a report cannot be written, or errors
/// remain with `--fix`.
pub(in crate::cli) async fn run(session: &CommandContext, args: &ValidateArgs) -> Result<Exit, CliFailure> {
    if args.units.all {
        let request =
            all::UnitsCheck { units: &args.units, locked: args.locked, reports: &args.reports.wanted };
        return all::validate_all(session, &request);
    }
    if args.fix {
        apply_fixes(session, args).await?;
    }
    if args.locked && !stack_files::path_exists(&session.settings.dir.join("stead.lock")) {
        return Err(CliFailure::new(Exit::Failed, "stead.lock is missing")
            .help("Pin the names with `stead catalog update`, and commit the file."));
    }
    let begun = LoadedStack::in_some_environment(&session.settings)?;
    let opened = session.open_with(&begun.settings).and_then(check_other_stacks);
    let opened = add_other_environments(session, opened, &begun);
    if let Some((diagnostics, sources)) = loaded_diagnostics(&opened) {
        session.problem_reports(&args.reports.wanted).write_problems((diagnostics, &[]), sources)?;
    }
    if session.ui.json {
        let Some((diagnostics, sources)) = loaded_diagnostics(&opened) else {
            return opened.map(|_| Exit::Done);
        };
        session.ui.write_result(&json::diagnostics_document(diagnostics, sources));
        let failed = diagnostics.iter().any(|problem| problem.severity == Severity::Error);
        return Ok(if failed { Exit::Failed } else { Exit::Done });
    }
    let project = match opened {
        Err(CliFailure { rejected: Some(rejected), .. }) if !args.fix => {
            return Ok(problems_told(session, *rejected));
        }
        opened => opened?,
    };
    let stack = &project.stack;
    if let Some(first) = begun.picked {
        let environments: Vec<&str> = stack.environments.iter().map(Name::as_str).collect();
        session.ui.write_result(&format!(
            "{} is valid in all environments: {}\n",
            stack.name,
            environments.join(", ")
        ));
        session.next(&format!("plan -e {first}"), "shows what would change in one");
        return Ok(Exit::Done);
    }
    session.ui.write_result(&format!(
        "{}/{} is valid: {}\n",
        stack.name,
        stack.environment.name,
        count_noun(stack.resources.len(), "resource")
    ));
    session.next("plan", "shows what would change");
    Ok(Exit::Done)
}

/// Checks the moves to and from other stacks against their blocks.
fn check_other_stacks(project: LoadedStack) -> Result<LoadedStack, CliFailure> {
    let diagnostics = stack_transfers::declaration_problems(&project);
    if diagnostics.is_empty() {
        return Ok(project);
    }
    Err(Box::new(LoadFailure::new(project.stack.sources, diagnostics)).into())
}

/// Adds the diagnostics of the other environments, and those of policies that need no live state; the result is a
/// failure if one of them is an error.
fn add_other_environments(
    session: &CommandContext,
    opened: Result<LoadedStack, CliFailure>,
    begun: &InitialEnvironment,
) -> Result<LoadedStack, CliFailure> {
    let (own, denials) = match &opened {
        Ok(project) => {
            // Denials are those of one environment, which the command must name if this one did not.
            let environment = begun.picked.as_ref().map(|name| format!("-e {} ", quote_shell_word(name)));
            let apply = format!("{}apply", environment.unwrap_or_default());
            let denials = offline_policy::offline_denials(&project.stack, &session.command_line(&apply));
            (project.warnings.clone(), denials)
        }
        Err(CliFailure { rejected: Some(rejected), .. }) => (rejected.diagnostics.clone(), Vec::new()),
        Err(_) => return opened,
    };
    let (chosen, others) = check_environments(session, begun)?;
    let found = environments::merge_problems(&chosen, own, &others);
    let is_error = |problem: &Diagnostic| problem.severity == Severity::Error;
    let has_errors = found.iter().chain(&denials).any(is_error);
    let found = found.into_iter().chain(denials.iter().cloned());
    match opened {
        // An advisory policy warns, and the stack is valid.
        Ok(mut project) if !has_errors => {
            session.print_warnings(&denials, &project.stack.sources);
            project.warnings.extend(denials);
            Ok(project)
        }
        Ok(project) => {
            // Warnings were printed when the stack was read; only the JSON document contains them again.
            let diagnostics = found.filter(|problem| session.ui.json || is_error(problem)).collect();
            Err(Box::new(LoadFailure::new(project.stack.sources, diagnostics)).into())
        }
        Err(mut failure) => {
            if let Some(rejected) = &mut failure.rejected {
                rejected.diagnostics = found.collect();
            }
            Err(failure)
        }
    }
}

/// Returns the chosen environment and the diagnostics of the others, none if the user chose one. Denials of policies
/// are reported only for the chosen one.
fn check_environments(
    session: &CommandContext,
    begun: &InitialEnvironment,
) -> Result<(Name, EnvironmentDiagnostics), CliFailure> {
    let settings = &session.settings;
    if let Some(chosen) = &settings.env {
        return Ok((chosen.clone(), Vec::new()));
    }
    let Some(header) = &begun.header else { return Ok(Default::default()) };
    let chosen = begun.picked.as_ref().unwrap_or(&header.default).clone();
    let mut others = Vec::new();
    for environment in header.environments.iter().filter(|name| **name != chosen).cloned() {
        let settings = Settings { env: Some(environment.clone()), ..settings.clone() };
        let problems = match LoadedStack::open(&settings).and_then(check_other_stacks) {
            Ok(_) => Vec::new(),
            Err(CliFailure { rejected: Some(rejected), .. }) => rejected.diagnostics,
            Err(failure) => return Err(failure),
        };
        others.push((environment, problems));
    }
    Ok((chosen, others))
}

/// Prints the diagnostics, and a hint if some have a safe fix; returns the exit code.
fn problems_told(session: &CommandContext, rejected: LoadFailure) -> Exit {
    let mends = rejected.diagnostics.iter().any(|problem| problem.fix.as_ref().is_some_and(|fix| fix.sure));
    let exit = session.report_failure(&CliFailure::from(Box::new(rejected)));
    if mends {
        session.next("validate --fix", "applies the safe fixes");
    }
    exit
}

/// Applies safe edits, round after round, and writes them after confirmation. Does nothing if a file cannot be decoded.
async fn apply_fixes(session: &CommandContext, args: &ValidateArgs) -> Result<(), CliFailure> {
    let before = stack_files::read_stack(&session.settings.dir)?;
    // A file that cannot be decoded cannot be edited; the check reports it.
    if !before.diagnostics.is_empty() {
        return Ok(());
    }
    let settings = LoadedStack::in_some_environment(&session.settings)?.settings;
    let mut texts: Vec<Source> = before.sources.iter().map(|(_, source)| source.clone()).collect();
    let mut known = usize::MAX;
    for _ in 0..MAX_ROUNDS {
        let problems = stack_problems(&settings, &texts)?;
        let errors = problems.iter().filter(|problem| problem.severity == Severity::Error).count();
        let fixes: Vec<&SuggestedEdit> =
            problems.iter().filter_map(|problem| problem.fix.as_ref()).filter(|fix| fix.sure).collect();
        // Without progress in the last round, one fix at a time: of several, one may make the others wrong.
        let Some(new) = fix_texts(&texts, &fixes, known <= errors) else { break };
        known = errors;
        texts = new;
    }
    let mut rewrites = Vec::new();
    for ((_, source), new) in before.sources.iter().zip(texts) {
        if source.text != new.text {
            let path = PathBuf::from(&source.path);
            rewrites.push(FileRewrite { path, before: source.clone(), after: new.text.to_string() });
        }
    }
    if rewrites.is_empty() {
        session.ui.write_message("There are no safe fixes.");
        return Ok(());
    }
    rewrite_files::write_rewrites(&session.ui, &rewrites, args.yes).await.map(drop)
}

/// Returns the diagnostics of a stack with these file contents; empty for a valid one without warnings.
fn stack_problems(settings: &Settings, texts: &[Source]) -> Result<Vec<Diagnostic>, CliFailure> {
    let mut sources = Sources::default();
    for source in texts {
        sources.add(source.clone());
    }
    match LoadedStack::from_files(settings, StackFiles { sources, diagnostics: Vec::new() }) {
        Ok(project) => Ok(project.warnings),
        Err(CliFailure { rejected: Some(rejected), .. }) => Ok(rejected.diagnostics),
        Err(failure) => Err(failure),
    }
}

/// Returns the file contents after the fixes that do not overlap; with `one`, only the first. `None` if none applies.
fn fix_texts(texts: &[Source], fixes: &[&SuggestedEdit], one: bool) -> Option<Vec<Source>> {
    let mut fixes: Vec<&SuggestedEdit> = fixes.to_vec();
    fixes.sort_by_key(|fix| fix.span);
    fixes.dedup();
    let mut new: Vec<String> = vec![String::new(); texts.len()];
    let mut at = vec![0_usize; texts.len()];
    let mut made = 0;
    for fix in fixes {
        let file = fix.span.source.0 as usize;
        let (start, end) = (fix.span.start as usize, fix.span.end as usize);
        let Some(text) = texts.get(file).map(|source| &*source.text) else { continue };
        let fits = start >= at[file] && text.get(start..end).is_some_and(|old| old != fix.replacement);
        if !fits || (one && made > 0) {
            continue;
        }
        new[file].push_str(text.get(at[file]..start)?);
        new[file].push_str(&fix.replacement);
        at[file] = end;
        made += 1;
    }
    for (file, source) in texts.iter().enumerate() {
        new[file].push_str(source.text.get(at[file]..)?);
    }
    let sources = texts.iter().zip(new).map(|(source, text)| Source::new(source.path.as_str(), text));
    (made > 0).then(|| sources.collect())
}
