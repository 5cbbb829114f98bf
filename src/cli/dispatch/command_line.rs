//! The command line: the program, its commands, and the properties of each command. Help, completions, manual pages
//! and their tests derive from it.

use clap::{Parser, Subcommand};

use crate::cli::actions::command_line::DoArgs;
use crate::cli::args::GlobalArgs;
use crate::cli::commands::{
    apply, catalog, ci, complete, completions, convert, cost, destroy, doctor, drift, emulator, eval,
    explain, fmt, get, graph, history, import, init, lock, login, ls, man, mv, plan, recover, render,
    resolve, rm, schema, secret, show, state, test, validate, why,
};

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

Exit codes: 0 done, 1 failed, 2 changes and 3 drift (only with --exit-code), 4 blocked, 5 plan out of
date, 6 partly applied, 7 refused by the account, 8 locked, 64 wrong usage, 130 interrupted.";

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
    /// Show the dependency graph
    Graph(graph::GraphArgs),
    /// Explain why a resource exists, what it depends on and what depends on it
    Why(why::WhyArgs),
    /// Run the stack's own tests on the built-in cloud, in memory
    Test(test::TestArgs),
    /// Show what an apply would change; sends only reads
    Plan(plan::PlanArgs),
    /// Show a saved plan again, without any request
    Show(show::ShowArgs),
    /// Plan, ask for approval, and apply the changes; or apply a saved plan
    Apply(apply::request::ApplyArgs),
    /// Delete all resources that are not protected
    Destroy(destroy::DestroyArgs),
    /// Compare the live objects with the last applied attributes
    Drift(drift::DriftArgs),
    /// Import live objects: write their configuration, and record them in the ledger
    Import(import::arguments::ImportArgs),
    /// Rename a resource: its block, the references and a `moved` entry
    Mv(mv::arguments::MvArgs),
    /// Remove a resource: its block, and forget or delete its object
    Rm(rm::RmArgs),
    /// List the managed resources
    Ls(ls::LsArgs),
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
    /// Show version, commit and schema number
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

impl Command {
    /// Returns the properties of the command with these arguments; the table has one row for each command.
    #[must_use]
    #[expect(clippy::match_same_arms, reason = "a table with one row for each command")]
    pub const fn properties(&self) -> CommandProperties {
        use OutputSupport::{Document, Events, Text};

        let (output, needs_secrets) = match self {
            Self::Init(_) => (Document, false),
            Self::Validate(_) => (Document, true),
            Self::Fmt(_) => (Document, false),
            Self::Convert(_) => (Document, false),
            Self::Render(_) => (Document, false),
            Self::Eval(_) => (Document, true),
            Self::Explain(_) => (Document, false),
            Self::Graph(_) => (Document, false),
            Self::Why(_) => (Document, false),
            Self::Test(_) => (Document, true),
            Self::Plan(args) => (Events, !args.destroy),
            Self::Show(_) => (Events, false),
            Self::Apply(_) => (Events, true),
            Self::Destroy(_) => (Events, false),
            Self::Drift(_) => (Document, false),
            Self::Import(_) => (Document, true),
            Self::Mv(_) => (Document, false),
            Self::Rm(_) => (Document, false),
            Self::Ls(_) => (Document, false),
            Self::Get(_) => (Document, false),
            Self::Resolve(_) => (Document, false),
            Self::Login(_) => (Document, false),
            Self::Logout => (Document, false),
            Self::Whoami => (Document, false),
            Self::Doctor(_) => (Document, true),
            Self::Catalog(_) => (Document, false),
            Self::Cost(_) => (Document, false),
            Self::Do(_) => (Events, false),
            Self::Recover(_) => (Document, true),
            Self::History(_) => (Document, false),
            Self::Lock(_) => (Document, false),
            Self::State(_) => (Document, false),
            Self::Secret(args) => (Document, matches!(args.action, secret::SecretAction::Rotate(_))),
            Self::Ci(_) => (Document, false),
            Self::Emulator(_) => (Document, false),
            Self::Schema(_) => (Text, false),
            Self::Lsp => (Text, true),
            Self::Completions(_) => (Text, false),
            Self::Man(_) => (Text, false),
            Self::Complete(_) => (Text, false),
            Self::Version => (Document, false),
        };
        CommandProperties { output, needs_secrets }
    }
}

#[cfg(test)]
mod tests;
