//! The command line: the program, its commands, and the properties of each command. Help, completions, manual pages
//! and their tests derive from it.

use std::pin::Pin;

use clap::{CommandFactory, Parser, Subcommand};

use crate::cli::actions::command_line::DoArgs;
use crate::cli::args::GlobalArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::commands::{
    act, apply, catalog, ci, complete, completions, convert, cost, destroy, docs, doctor, drift, emulator,
    eval, explain, fmt, get, graph, history, import, init, lock, login, ls, lsp, man, mv, output, plan,
    recover, render, resolve, rm, runs, schema, secret, show, stacks, state, test, validate, version, why,
};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;

/// Overview that `stead` prints without a command.
const OVERVIEW: &str = "\
stead manages cloud resources from declarative files.

First steps:
  stead init --template shop my-shop           write an example stack, no account needed
  stead -C my-shop plan --cloud local          see what would happen, on the built-in cloud
  stead -C my-shop apply --cloud local         apply the plan, on the built-in cloud

stead --help lists every command; stead COMMAND --help explains one.
";

/// Examples and exit codes, for the end of the help.
const AFTER_HELP: &str = "\
Examples:
  stead init --template shop my-shop
  stead -C my-shop plan -e prod -o prod.plan
  stead -C my-shop apply prod.plan

Exit codes: 0 done, 1 failed, 2 changes and 3 drift (only with --exit-code), 4 blocked, 5 plan out of date, 6 partly \
applied, 7 refused by the account, 8 locked, 64 wrong usage, 130 interrupted. `stead docs exit-codes` says what to do.";

/// Help of `lsp`: how to configure the language server in editors.
const LSP_HELP: &str = "\
An editor starts it and speaks with it over standard input and output. Examples of settings:
  Helix, languages.toml:  [language-server.stead] command = \"stead\" args = [\"lsp\"]
  Neovim:  vim.lsp.config('stead', { cmd = { 'stead', 'lsp' }, filetypes = { 'yaml', 'kdl' } })
           vim.lsp.enable('stead')

It supports stead.yaml, stead.kdl, *.stead.yaml and *.stead.kdl; -e and --var-file set environment and variables:
  stead lsp -e prod";

/// Manages cloud resources from declarative files.
#[derive(Debug, Clone, PartialEq, Parser)]
#[command(name = "stead", version, after_help = AFTER_HELP, arg_required_else_help = false)]
#[command(propagate_version = false, max_term_width = 100)]
pub struct Cli {
    /// Flags that every command accepts.
    #[command(flatten)]
    pub global: GlobalArgs,
    /// The command to run; `None` prints the overview.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Returns the overview that `stead` prints without a command.
#[must_use]
pub const fn command_overview() -> &'static str {
    OVERVIEW
}

/// The commands of `stead`.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum Command {
    /// Write an example stack; needs no account
    Init(init::InitArgs),
    /// Check a stack without sending any request; with --fix, apply the safe corrections
    Validate(validate::ValidateArgs),
    /// Format files in the canonical form; comments are kept
    Fmt(fmt::FmtArgs),
    /// Convert a file to the other syntax, or another tool's file to a stack
    Convert(convert::ConvertArgs),
    /// Show the resolved configuration, and the source of each value
    Render(render::RenderArgs),
    /// Evaluate an expression
    Eval(eval::EvalArgs),
    /// Explain a kind, an attribute, a keyword, a function or a diagnostic code
    Explain(explain::ExplainArgs),
    /// Read or search the documentation; serve it, or write it as a web site
    Docs(docs::DocsArgs),
    /// Show the dependency graph
    Graph(graph::GraphArgs),
    /// Explain why a resource exists, what it depends on and what depends on it
    Why(why::WhyArgs),
    /// List the stacks of the repository in each environment, in the order of an apply
    Stacks(stacks::StacksArgs),
    /// List the runs that workers share; show or cancel one
    Runs(runs::RunsArgs),
    /// Run the stack's own tests on the built-in cloud, in memory
    Test(test::TestArgs),
    /// Show what an apply would change; sends only reads
    Plan(plan::PlanArgs),
    /// Show a saved plan again, without any request
    Show(show::ShowArgs),
    /// Plan, ask for approval, and apply the changes; or apply a saved plan
    Apply(apply::request::ApplyArgs),
    /// Delete the resources of a stack; a protected one blocks it
    Destroy(destroy::DestroyArgs),
    /// Compare the live objects with the last applied attributes
    Drift(drift::DriftArgs),
    /// Import live objects: write their configuration, and record them in the ledger
    Import(import::arguments::ImportArgs),
    /// Rename a resource, or move it to another stack: its block, the references and a `moved` entry
    Mv(mv::arguments::MvArgs),
    /// Remove a resource: its block, and forget or delete its object
    Rm(rm::RmArgs),
    /// List the managed resources
    Ls(ls::LsArgs),
    /// Print the outputs that the last apply recorded; sends no request
    Output(output::OutputArgs),
    /// Show the live attributes of one resource
    Get(get::GetArgs),
    /// Resolve an ambiguous intent: state which object a lost request created
    Resolve(resolve::ResolveArgs),
    /// Store an API key for a service, after it was verified
    Login(login::LoginArgs),
    /// Forget the stored API key
    #[command(after_help = "Example:\n  stead logout -p work")]
    Logout,
    /// Show what the service reports about the API key in use; never prints the key
    #[command(after_help = "Example:\n  stead whoami -p work --output json")]
    Whoami,
    /// Check key, service, clock, stack, ledger and lock; prints a remedy for each problem
    Doctor(doctor::DoctorArgs),
    /// Show plans, templates and prices; update the pinned names
    Catalog(catalog::CatalogArgs),
    /// Show the monthly cost of the stack, by resource
    Cost(cost::CostArgs),
    /// Run a one-off action on an object: reboot, restore, rotate, inspect
    Do(DoArgs),
    /// Rebuild a lost ledger from the configuration and the live objects
    Recover(recover::RecoverArgs),
    /// List past applies: actor, time, commit, plan and outcome
    History(history::HistoryArgs),
    /// Show who holds the ledger's lock, or break it
    Lock(lock::LockArgs),
    /// Inspect, copy, move, verify and repair the ledger
    State(state::StateArgs),
    /// Store, show, set and rotate the secrets that the ledger keeps encrypted
    Secret(secret::SecretArgs),
    /// Write a CI pipeline, and post comments on pull or merge requests
    Ci(ci::CiArgs),
    /// Serve the built-in cloud over HTTP
    Emulator(emulator::EmulatorArgs),
    /// Print schemas of files, API and output, for other tools
    Schema(schema::SchemaArgs),
    /// Help an editor write stacks: diagnostics, completion, hover, rename (Language Server Protocol)
    #[command(after_help = LSP_HELP)]
    Lsp,
    /// Write a completion script for a shell; it completes the stack's addresses, too
    Completions(completions::CompletionsArgs),
    /// Write manual pages: of stead, of a command, or all of them
    Man(man::ManArgs),
    /// Print candidates for a completion script
    #[command(name = "__complete", hide = true)]
    Complete(complete::CompleteArgs),
    /// Show the version of stead, of its language and of its formats
    #[command(after_help = "Examples:\n  stead version\n  stead version --output json")]
    Version,
}

/// Machine-readable output of a command, which `--output` selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputSupport {
    /// One document; with `ndjson`, on a single line.
    Document,
    /// One document with `json`; with `ndjson`, one event per line while the command runs.
    Events,
    /// None: the text is meant for other programs, or the command has its own protocol.
    Text,
}

/// Properties of a command that the dispatch needs before it runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandProperties {
    /// Machine-readable output formats of the command.
    pub output: OutputSupport,
    /// Whether the command needs the values of the stack's secrets: it sends them, compares them, or computes with
    /// them. All other commands must work without them, for example in a scheduled job or during a recovery.
    pub needs_secrets: bool,
}

/// A started command.
pub(super) enum Execution<'a> {
    /// The command needed no runtime, and has ended.
    Ended(CommandResult),
    /// The command waits for requests, child processes or prompts, and runs on the runtime.
    Async(Pin<Box<dyn Future<Output = CommandResult> + 'a>>),
}

/// The exit code of a command that ran, or the reason why it did not.
pub(super) type CommandResult = Result<Exit, CliFailure>;

/// One row of the table of commands: what holds of the command, and how to start it.
pub(super) struct CommandRow<'a> {
    /// What holds of the command as a whole.
    pub(super) properties: CommandProperties,
    /// Starts the command.
    pub(super) start: StartCommand<'a>,
}

/// The function that starts a command with its arguments.
type StartCommand<'a> = Box<dyn FnOnce(&'a CommandContext) -> Execution<'a> + 'a>;

/// Returns the row of a command that needs no runtime: it sends no request, starts no child process and does not
/// wait for a prompt.
fn ended<'a>(
    output: OutputSupport,
    needs_secrets: bool,
    run: impl FnOnce(&'a CommandContext) -> CommandResult + 'a,
) -> CommandRow<'a> {
    let start = Box::new(move |session| Execution::Ended(run(session)));
    CommandRow { properties: CommandProperties { output, needs_secrets }, start }
}

/// Returns the row of a command that runs on the runtime.
fn pending<'a, F: Future<Output = CommandResult> + 'a>(
    output: OutputSupport,
    needs_secrets: bool,
    run: impl FnOnce(&'a CommandContext) -> F + 'a,
) -> CommandRow<'a> {
    let start = Box::new(move |session| Execution::Async(Box::pin(run(session))));
    CommandRow { properties: CommandProperties { output, needs_secrets }, start }
}

impl Command {
    /// Returns the properties of the command with these arguments.
    #[must_use]
    pub fn properties(&self) -> CommandProperties {
        self.row().properties
    }

    /// Returns whether the command works on many units, each of which has settings of its own.
    pub(super) const fn covers_units(&self) -> bool {
        match self {
            Self::Validate(args) => args.units.all,
            Self::Fmt(args) => args.units.all,
            Self::Test(args) => args.units.all,
            Self::Plan(args) => args.units.all,
            Self::Apply(args) => args.units.all,
            Self::Destroy(args) => args.units.all,
            Self::Drift(args) => args.units.all,
            Self::Ls(args) => args.units.all,
            Self::Output(args) => args.units.all,
            Self::Cost(args) => args.units.all,
            Self::Stacks(_) | Self::Runs(_) => true,
            _ => false,
        }
    }

    /// Returns the row of the command in the table of commands.
    pub(super) fn row(&self) -> CommandRow<'_> {
        use OutputSupport::{Document, Events, Text};

        match self {
            Self::Init(args) => ended(Document, false, move |cx| init::run(cx, args)),
            Self::Validate(args) => pending(Document, true, move |cx| validate::run(cx, args)),
            Self::Fmt(args) => pending(Document, false, move |cx| fmt::run(cx, args)),
            Self::Convert(args) => ended(Document, false, move |cx| convert::run(cx, args)),
            Self::Render(args) => ended(Document, false, move |cx| render::run(cx, args)),
            Self::Eval(args) => ended(Document, true, move |cx| eval::run(cx, args)),
            Self::Explain(args) => ended(Document, false, move |cx| explain::run(cx, args)),
            Self::Docs(args) => pending(Document, false, move |cx| docs::run(cx, args, Cli::command())),
            Self::Graph(args) => ended(Document, false, move |cx| graph::run(cx, args)),
            Self::Why(args) => ended(Document, false, move |cx| why::run(cx, args)),
            Self::Stacks(args) => pending(Document, false, move |cx| stacks::run(cx, args)),
            Self::Runs(args) => pending(Document, false, move |cx| runs::run(cx, args)),
            Self::Test(args) if args.watch => {
                pending(Document, true, move |cx| test::watch_tests(cx, args))
            }
            Self::Test(args) => ended(Document, true, move |cx| test::run(cx, args)),
            Self::Plan(args) => pending(Events, !args.destroy, move |cx| plan::run(cx, args)),
            Self::Show(args) => ended(Events, false, move |cx| show::run(cx, args)),
            Self::Apply(args) => pending(Events, true, move |cx| apply::run(cx, args)),
            Self::Destroy(args) => pending(Events, false, move |cx| destroy::run(cx, args)),
            Self::Drift(args) => pending(Document, false, move |cx| drift::run(cx, args)),
            Self::Import(args) => pending(Document, true, move |cx| import::run(cx, args)),
            Self::Mv(args) => pending(Document, false, move |cx| mv::run(cx, args)),
            Self::Rm(args) => pending(Document, false, move |cx| rm::run(cx, args)),
            Self::Ls(args) => pending(Document, false, move |cx| ls::run(cx, args)),
            Self::Output(args) => pending(Document, false, move |cx| output::run(cx, args)),
            Self::Get(args) => pending(Document, false, move |cx| get::run(cx, args)),
            Self::Resolve(args) => pending(Document, false, move |cx| resolve::run(cx, args)),
            Self::Login(args) => pending(Document, false, move |cx| login::log_in(cx, args)),
            Self::Logout => ended(Document, false, login::log_out),
            Self::Whoami => pending(Document, false, login::show_account),
            Self::Doctor(args) => pending(Document, true, move |cx| doctor::run(cx, args)),
            Self::Catalog(args) => pending(Document, false, move |cx| catalog::run(cx, args)),
            Self::Cost(args) => pending(Document, false, move |cx| cost::run(cx, args)),
            Self::Do(args) => pending(Events, false, move |cx| act::run(cx, args)),
            Self::Recover(args) => pending(Document, true, move |cx| recover::run(cx, args)),
            Self::History(args) => pending(Document, false, move |cx| history::run(cx, args)),
            Self::Lock(args) => pending(Document, false, move |cx| lock::run(cx, args)),
            Self::State(args) => pending(Document, false, move |cx| state::run(cx, args)),
            Self::Secret(args) => pending(Document, args.is_rotation(), move |cx| secret::run(cx, args)),
            Self::Ci(args) => pending(Document, false, move |cx| ci::run(cx, args)),
            Self::Emulator(args) => pending(Document, false, move |cx| emulator::run(cx, args)),
            Self::Schema(args) => ended(Text, false, move |cx| Ok(schema::run(cx, args))),
            Self::Lsp => ended(Text, true, lsp::run),
            Self::Completions(args) => {
                ended(Text, false, move |cx| Ok(completions::run(cx, args, Cli::command())))
            }
            Self::Man(args) => ended(Text, false, move |cx| man::run(cx, args, Cli::command())),
            Self::Complete(args) => {
                ended(Text, false, move |cx| Ok(complete::run(cx, args, Cli::command())))
            }
            Self::Version => ended(Document, false, move |cx| Ok(version::run(cx))),
        }
    }
}

#[cfg(test)]
mod tests;
