//! Entry point of the program: parses arguments, merges settings, runs one command, and returns the exit code. Every
//! failure is printed here or by `CommandContext::report_failure`, also as a document for a program that asked for one.

pub mod command_line;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use self::command_line::{Cli, Command, Execution, OutputSupport, command_overview};
use super::args::{GlobalArgs, OutputFormat};
use super::command_context::CommandContext;
use super::commands;
use super::files::stack_files;
use super::process::env::EnvVariables;
use super::process::exit_code::Exit;
use super::process::failure::CliFailure;
use super::process::output::Ui;
use super::process::profile::Profiles;
use super::process::settings::unit_settings::UnitSettings;
use super::process::settings::{self, Settings};
use super::process::terminal::Terminal;
use super::process::{actor, panic_hook};
use super::stack::unit_profile;
use crate::cloud::system_clock::SystemClock;
use crate::model::clock::Clock;
use crate::report::json;
use crate::report::text::escape;

/// Runs the command line of this process, and returns its exit code.
#[must_use]
pub fn main() -> ExitCode {
    panic_hook::install_panic_hook();
    run().into()
}

/// Runs the command line; prints the failure of a command that returns one.
fn run() -> Exit {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let exit = print_usage(&error);
            if exit == Exit::Usage {
                for_programs(error.render().to_string().trim_end(), &Terminal::from_process().variables);
            }
            return exit;
        }
    };
    let terminal = Terminal::from_process();
    let MergedSettings { mut settings, mistake, profiles } = match read_settings(&cli, &terminal.variables)
    {
        Ok(found) => found,
        Err(error) => return report_wrong_settings(&error.to_string(), &terminal.variables),
    };
    settings.needs_secrets = cli.command.as_ref().is_none_or(|command| command.properties().needs_secrets);
    // Set before any file of the stack is read: the flag decides which of them may be read.
    match &cli.command {
        Some(Command::Plan(args)) => settings.set_trust(!args.untrusted),
        Some(Command::Validate(args)) => settings.set_trust(!args.untrusted),
        _ => {}
    }
    if settings.output == OutputFormat::Matrix && !matches!(cli.command, None | Some(Command::Stacks(_))) {
        Ui::write_error("error: only `stead stacks` has the output format `matrix`");
        Ui::write_error("  Use one of text, json and ndjson.");
        return Exit::Usage;
    }
    let tells = cli.command.as_ref().map_or(OutputSupport::Text, |command| command.properties().output);
    let asked = cli.global.output.is_some_and(|output| output != OutputFormat::Text);
    // Only the flag is an error: the variable is set for all commands of a session.
    if asked && cli.command.is_some() && tells == OutputSupport::Text {
        Ui::write_error("error: this command has only one output format, and takes no --output");
        Ui::write_error("  Leave it out. This command ignores STEAD_OUTPUT.");
        return Exit::Usage;
    }
    let ui = output_settings(&settings, &terminal, tells);
    let Some(command) = cli.command else {
        ui.write_result(command_overview());
        return Exit::Usage;
    };
    let variables = &terminal.variables;
    let (who, commit) = (actor::current_actor(variables), actor::ci_commit(variables));
    let unit_settings = UnitSettings::new(cli.global, terminal.variables.clone(), profiles);
    if !command.covers_units() {
        settings = match unit_profile::with_profile_of_unit(settings, &unit_settings) {
            Ok(settings) => settings,
            Err(error) => return report_wrong_settings(&error.to_string(), variables),
        };
    }
    let session = CommandContext { settings, ui, mistake, who, commit, unit_settings };
    match run_command(&session, &command) {
        Ok(exit) => exit,
        Err(failure) => session.report_failure(&failure),
    }
}

/// Returns the output settings of a command with these machine-readable formats.
fn output_settings(settings: &Settings, terminal: &Terminal, tells: OutputSupport) -> Ui {
    let programs = settings.output != OutputFormat::Text;
    let lines = settings.output == OutputFormat::Ndjson && tells != OutputSupport::Text;
    Ui {
        style: terminal.output_style(settings.color),
        message_style: terminal.error_style(settings.color),
        json: programs && tells != OutputSupport::Text && !(lines && tells == OutputSupport::Events),
        ndjson: lines && tells == OutputSupport::Events,
        one_line: lines,
        quiet: settings.quiet,
        verbose: settings.verbose,
        very_verbose: settings.very_verbose,
        // Prompts are written to standard error, so that a redirected result has none.
        interactive: terminal.input && terminal.error && !settings.no_input,
        live: terminal.is_live(settings.ci),
        shows: terminal.output,
    }
}

/// Reports that flags, variables or the settings file are wrong.
fn report_wrong_settings(message: &str, variables: &EnvVariables) -> Exit {
    Ui::write_error(&format!("error: {}", escape::escape_line(message)));
    for_programs(message, variables);
    Exit::Usage
}

/// Prints why there is no result as JSON, for programs that read only standard output. The command line or the
/// settings are invalid, so the output format is determined without them: the last `--output`, else `STEAD_OUTPUT`.
fn for_programs(message: &str, variables: &EnvVariables) {
    let mut form = variables.get("STEAD_OUTPUT").cloned();
    let mut words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    while let Some(word) = words.next() {
        match word.strip_prefix("--output") {
            Some("") => form = words.next(),
            Some(rest) => form = rest.strip_prefix('=').map(str::to_owned).or(form),
            None => {}
        }
    }
    let ended = json::CommandFailure {
        message,
        help: &[],
        rejected: None,
        exit: Exit::Usage.code(),
        differences: &[],
    };
    // A closed pipe is not an error.
    let _ = match form.as_deref() {
        Some("json") => write!(std::io::stdout(), "{}", ended.document()),
        Some("ndjson") => writeln!(std::io::stdout(), "{}", ended.event(SystemClock.now())),
        _ => Ok(()),
    };
}

/// The settings of a command, and what they were merged from.
struct MergedSettings {
    settings: Settings,
    /// Error of the settings file, for a command that reports it instead of failing; `None` if there is none.
    mistake: Option<String>,
    profiles: Profiles,
}

/// Merges flags, variables and profile. For `doctor`, which reports errors of the settings file, an invalid file is
/// ignored and its error is returned, too. For `docs` and `explain`, an error is a warning.
///
/// # Errors
/// When the file, a variable or a flag is invalid.
fn read_settings(cli: &Cli, variables: &EnvVariables) -> anyhow::Result<MergedSettings> {
    let read = read_settings_strictly(cli, variables);
    // The documentation explains the settings, also those that are wrong.
    let needs_none = matches!(cli.command, Some(Command::Docs(_) | Command::Explain(_)));
    match read {
        Err(error) if needs_none => {
            Ui::write_error(&format!("warning: {}", escape::escape_line(&error.to_string())));
            let output =
                GlobalArgs { output: cli.global.output, color: cli.global.color, ..GlobalArgs::default() };
            let none = Profiles::none("settings.toml");
            let settings = settings::merge(output, &EnvVariables::new(), &none)?;
            Ok(MergedSettings { settings, mistake: None, profiles: none })
        }
        read => read,
    }
}

fn read_settings_strictly(cli: &Cli, variables: &EnvVariables) -> anyhow::Result<MergedSettings> {
    let global = cli.global.clone();
    let mut read = stack_files::read_profiles(variables);
    if let (Err(_), Some(Command::Doctor(args))) = (&read, &cli.command)
        && args.fix
        && commands::doctor::mend_settings(variables)
    {
        read = stack_files::read_profiles(variables);
    }
    let merged = read.and_then(|profiles| {
        let settings = settings::merge(global, variables, &profiles)?;
        Ok(MergedSettings { settings, mistake: None, profiles })
    });
    match (merged, &cli.command) {
        (Err(error), Some(Command::Doctor(_))) => {
            let global = GlobalArgs { profile: None, ..cli.global.clone() };
            let mut bare = variables.clone();
            bare.remove("STEAD_PROFILE");
            let profiles = Profiles::none("settings.toml");
            let settings = settings::merge(global, &bare, &profiles);
            let mistake = Some(error.to_string());
            // An error that remains without the file does not come from the file.
            settings.map(|settings| MergedSettings { settings, mistake, profiles }).map_err(|_| error)
        }
        (merged, _) => merged,
    }
}

/// Runs a command, on a runtime of one thread if it needs one: the program waits for the service, and computes little.
fn run_command(session: &CommandContext, command: &Command) -> Result<Exit, CliFailure> {
    let pending = match (command.row().start)(session) {
        Execution::Ended(ended) => return ended,
        Execution::Async(pending) => pending,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(anyhow::Error::from)?;
    let ended = runtime.block_on(pending);
    // A blocking read of the terminal may still be pending, and its result is no longer needed.
    runtime.shutdown_background();
    ended
}

/// Prints help and version to standard output, and other messages as usage errors with exit code 64: clap's own,
/// 2, means `Exit::Changes` here.
fn print_usage(error: &clap::Error) -> Exit {
    let asked_for = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    let text = error.render().to_string();
    if asked_for || text.lines().all(|line| escape::page_line(line) == line) {
        // A closed pipe is not an error.
        let _ = error.print();
    } else {
        // The message quotes the command line, which can contain terminal escape sequences.
        text.lines().for_each(|line| Ui::write_error(&escape::page_line(line)));
    }
    if asked_for { Exit::Done } else { Exit::Usage }
}
