//! The command line, declared once: the parser, `--help`, completions, manual pages and their tests derive from it.

pub(super) mod actions;
mod books;
mod ci;
mod command_properties;
pub(super) mod global_flags;
mod inspect;
mod plan;
mod report;
mod rewrite;
mod secret;
mod serve;
mod service;
mod test;
mod values;

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

pub use self::actions::DoArgs;
pub use self::books::{
    AdoptDirectoryArgs, HistoryAction, HistoryArgs, LockAction, LockArgs, LockBreakArgs, RecoverArgs,
    StateAction, StateArgs, StateMigrateArgs, StatePullArgs, StatePushArgs, StateRepairArgs, StateSealArgs,
};
pub use self::ci::{CiAction, CiArgs, CiCommentArgs, CiHookArgs, CiInitArgs, CiSystem, PullRequestArgs};
pub use self::command_properties::OutputSupport;
pub use self::inspect::{
    CostArgs, DriftArgs, EvalArgs, ExplainArgs, GetArgs, GraphArgs, GraphFormat, ListColumns, LsArgs,
    RenderArgs, WhyArgs,
};
pub use self::plan::{
    ApplyArgs, DestroyArgs, ExecutionArgs, LeftoverArgs, PlanArgs, PlanScopeArgs, ShowArgs,
};
pub use self::report::{PlanReportArgs, ProblemReportArgs, ReportTarget};
pub use self::rewrite::{
    ConvertArgs, FmtArgs, ImportArgs, MvArgs, RmArgs, SourceFormatChoice, ValidateArgs,
};
pub use self::secret::{
    SecretAction, SecretArgs, SecretGetArgs, SecretKeygenArgs, SecretRekeyArgs, SecretRotateArgs,
    SecretSameArgs, SecretSetArgs,
};
pub use self::serve::{CompleteArgs, CompletionsArgs, EmulatorArgs, ManArgs, SchemaArgs, SchemaDocument};
pub use self::service::{CatalogAction, CatalogArgs, CatalogUpdateArgs, DoctorArgs, LoginArgs};
pub use self::test::TestArgs;
pub use self::values::{AutoApproval, ChangeKind, FileSyntax};
use crate::model::address::Name;

/// Overview that `stead` prints without a command.
const OVERVIEW: &str = "\
stead manages cloud resources from declarative files.

First steps:
  stead init --template shop my-shop           write an example stack, no account needed
  stead -C my-shop plan --cloud local          see what would happen, on the built-in cloud
  stead -C my-shop apply --cloud local         apply the plan, on the built-in cloud

stead --help lists every command; stead COMMAND --help explains one.
";

/// List of exit codes, for the end of the long help.
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

/// Flags that every command accepts. A flag takes precedence over its `STEAD_*` variable; `settings` merges them.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(next_help_heading = "Global options")]
pub struct GlobalArgs {
    /// Profile of the user's settings.toml [env: STEAD_PROFILE] [default: default]
    #[arg(short, long, global = true, value_name = "NAME")]
    pub profile: Option<Name>,
    /// Environment of the stack [env: STEAD_ENV]
    #[arg(short, long, global = true, value_name = "NAME")]
    pub env: Option<Name>,
    /// Directory of the stack [env: STEAD_DIR] [default: .]
    #[arg(short = 'C', long, global = true, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Variable, as NAME=VALUE; repeatable [env: STEAD_VAR_name]
    #[arg(long = "var", global = true, value_name = "NAME=VALUE", value_parser = parse_variable)]
    pub vars: Vec<(Name, String)>,
    /// File with variables, YAML or KDL; repeatable [env: STEAD_VAR_FILE]
    #[arg(long = "var-file", global = true, value_name = "FILE")]
    pub var_files: Vec<PathBuf>,
    /// Output format [env: STEAD_OUTPUT] [default: text]
    #[arg(long, global = true, value_name = "FORMAT")]
    pub output: Option<OutputFormat>,
    /// Use the built-in cloud instead of an account [env: STEAD_CLOUD]
    #[arg(long, global = true, value_name = "CLOUD")]
    pub cloud: Option<CloudChoice>,
    /// Address of the service [env: STEAD_API_URL]
    #[arg(long, global = true, value_name = "URL", conflicts_with = "cloud")]
    pub api_url: Option<String>,
    /// File with CA certificates to trust in addition to the system's [env: STEAD_CA_FILE]
    #[arg(long, global = true, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    /// Project, by name or id, of a stack without a project block [env: STEAD_PROJECT]
    #[arg(long, global = true, value_name = "PROJECT")]
    pub project: Option<Name>,
    /// Backend for ledgers: file:DIR, postgres://…, s3://bucket/prefix, https://… [env: STEAD_BACKEND]
    #[arg(long, global = true, value_name = "PLACE")]
    pub backend: Option<String>,
    /// Allow files, modules and stacks outside of the repository [env: STEAD_ALLOW_OUTSIDE]
    #[arg(long, global = true)]
    pub allow_outside: bool,
    /// Never prompt; fail where a prompt would be needed [env: STEAD_NO_INPUT, CI]
    #[arg(long, global = true)]
    pub no_input: bool,
    /// When to use colors [env: STEAD_COLOR] [default: auto]
    #[arg(long, global = true, value_name = "WHEN")]
    pub color: Option<ColorChoice>,
    /// Print no hints and no progress; results and warnings stay [env: STEAD_QUIET]
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print more: whole values, all locations, steps and requests; -vv: also times and the reasons of decisions [env:
    /// STEAD_VERBOSE]
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
}

/// Output format of a command's results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Text for a person.
    Text,
    /// A single JSON document.
    Json,
    /// One JSON event per line for commands that report progress, such as apply; else the document on one line.
    Ndjson,
}

/// Cloud that the command uses instead of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CloudChoice {
    /// The cloud built into the binary, with its data below `.stead/`.
    Local,
}

/// When to use colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// Colors if the terminal supports them.
    Auto,
    /// Colors even when the output is not a terminal.
    Always,
    /// No colors, even on a terminal.
    Never,
}

/// The commands of `stead`.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum Command {
    /// Write an example stack; needs no account
    Init(InitArgs),
    /// Check a stack without sending any request; with --fix, apply the safe corrections
    Validate(ValidateArgs),
    /// Format files in the canonical form; comments are kept
    Fmt(FmtArgs),
    /// Convert a file to the other syntax, or another tool's file to a stack
    Convert(ConvertArgs),
    /// Show the resolved configuration, and the source of each value
    Render(RenderArgs),
    /// Evaluate an expression
    Eval(EvalArgs),
    /// Explain a kind, an attribute, a keyword, a function or a diagnostic code
    Explain(ExplainArgs),
    /// Show the dependency graph
    Graph(GraphArgs),
    /// Explain why a resource exists, what it depends on and what depends on it
    Why(WhyArgs),
    /// Run the stack's own tests on the built-in cloud, in memory
    Test(TestArgs),
    /// Show what an apply would change; sends only reads
    Plan(PlanArgs),
    /// Show a saved plan again, without any request
    Show(ShowArgs),
    /// Plan, ask for approval, and apply the changes; or apply a saved plan
    Apply(ApplyArgs),
    /// Delete all resources that are not protected
    Destroy(DestroyArgs),
    /// Compare the live objects with the last applied attributes
    Drift(DriftArgs),
    /// Import live objects: write their configuration, and record them in the ledger
    Import(ImportArgs),
    /// Rename a resource: its block, the references and a `moved` entry
    Mv(MvArgs),
    /// Remove a resource: its block, and forget or delete its object
    Rm(RmArgs),
    /// List the managed resources
    Ls(LsArgs),
    /// Show the live attributes of one resource
    Get(GetArgs),
    /// Resolve an ambiguous intent: state which object a lost request created
    Resolve(ResolveArgs),
    /// Store an API key for a service, after it was verified
    Login(LoginArgs),
    /// Forget the stored API key
    #[command(after_help = "Example:\n  stead logout -p work")]
    Logout,
    /// Show what the service reports about the API key in use; never prints the key
    #[command(after_help = "Example:\n  stead whoami -p work --output json")]
    Whoami,
    /// Check key, service, clock, stack, ledger and lock; prints a remedy for each problem
    Doctor(DoctorArgs),
    /// Show plans, templates and prices; update the pinned names
    Catalog(CatalogArgs),
    /// Show the monthly cost of the stack, by resource
    Cost(CostArgs),
    /// Run a one-off action on an object: reboot, restore, rotate, inspect
    Do(DoArgs),
    /// Rebuild a lost ledger from the configuration and the live objects
    Recover(RecoverArgs),
    /// List past applies: actor, time, commit, plan and outcome
    History(HistoryArgs),
    /// Show who holds the ledger's lock, or break it
    Lock(LockArgs),
    /// Inspect, copy, move, verify and repair the ledger
    State(StateArgs),
    /// Store, show, set and rotate the secrets that the ledger keeps encrypted
    Secret(SecretArgs),
    /// Write a CI pipeline, and post comments on pull or merge requests
    Ci(CiArgs),
    /// Serve the built-in cloud over HTTP
    Emulator(EmulatorArgs),
    /// Print schemas of files, API and output, for other tools
    Schema(SchemaArgs),
    /// Help an editor write stacks: diagnostics, completion, hover, rename (Language Server Protocol)
    #[command(after_help = LSP_HELP)]
    Lsp,
    /// Write a completion script for a shell; it completes the stack's addresses, too
    Completions(CompletionsArgs),
    /// Write manual pages: of stead, of a command, or all of them
    Man(ManArgs),
    /// Print candidates for a completion script
    #[command(name = "__complete", hide = true)]
    Complete(CompleteArgs),
    /// Show version, commit and schema number
    #[command(after_help = "Examples:\n  stead version\n  stead version --output json")]
    Version,
}

/// Command-line arguments of `stead init`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  stead init\n  stead init --template shop --format kdl my-shop")]
pub struct InitArgs {
    /// Directory to write to
    #[arg(value_name = "DIR", default_value = ".")]
    pub into: PathBuf,
    /// Example to write; prompts for it on a terminal when omitted
    #[arg(long)]
    pub template: Option<StackTemplate>,
    /// Syntax of the files; prompts for it on a terminal when omitted
    #[arg(long)]
    pub format: Option<FileSyntax>,
    /// Overwrite files that exist
    #[arg(long)]
    pub force: bool,
}

/// An example stack that `init` writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum StackTemplate {
    /// One network and one virtual machine.
    #[default]
    Minimal,
    /// Machines, storage, backups and a database in two environments.
    Shop,
}

/// Command-line arguments of `stead resolve`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead resolve\n  stead resolve 3f0e8c52 adopt 5b1e09c2-…\n  stead resolve 3f0e8c52 absent"
)]
pub struct ResolveArgs {
    /// The first digits of the ambiguous intent's request, or its resource; all ambiguous intents when omitted
    pub operation: Option<String>,
    /// How to resolve the ambiguous intent
    #[command(subcommand)]
    pub answer: Option<ResolveAction>,
}

/// Resolution of an ambiguous intent.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum ResolveAction {
    /// It created this object; the resource owns it from now on
    #[command(after_help = "Example:\n  stead resolve 3f0e8c52 adopt 5b1e09c2-…")]
    Adopt {
        /// Id of the live object
        id: Name,
    },
    /// It created nothing so far; stead keeps checking for late effects
    #[command(after_help = "Example:\n  stead resolve 3f0e8c52 absent")]
    Absent,
    /// Forget the intent: whatever it created stays unmanaged
    #[command(after_help = "Example:\n  stead resolve 3f0e8c52 forget")]
    Forget,
    /// It created this object in addition to another one; the next plan deletes it
    #[command(after_help = "Example:\n  stead resolve 3f0e8c52 surplus 5b1e09c2-…")]
    Surplus {
        /// Id of the live object
        id: Name,
    },
}

fn parse_variable(text: &str) -> Result<(Name, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((Name::new(name), value.to_owned())),
        _ => Err("expected the form NAME=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests;
