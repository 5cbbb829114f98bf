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

/// What `stead` alone prints.
const OVERVIEW: &str = "\
stead keeps an account on the cloud the way its configuration says.

Three ways in:
  stead init --template shop my-shop           write an example stack, no account needed
  stead -C my-shop plan --cloud local          see what would happen, on the built-in cloud
  stead -C my-shop apply --cloud local         make it so

stead --help lists every command; stead COMMAND --help explains one.
";

/// Exit codes, for the long help.
const AFTER_HELP: &str = "\
Examples:
  stead init --template shop my-shop
  stead -C my-shop plan -e prod -o prod.plan
  stead -C my-shop apply prod.plan

Exit codes: 0 done, 1 failed, 2 changes and 3 drift (only with --exit-code), 4 blocked, 5 plan out of
date, 6 partly applied, 7 refused by the account, 8 locked, 64 wrong usage, 130 interrupted.";

/// How editors are told of the language server.
const LSP_HELP: &str = "\
An editor starts it and speaks with it over standard input and output. Examples of settings:
  Helix, languages.toml:  [language-server.stead] command = \"stead\" args = [\"lsp\"]
  Neovim:  vim.lsp.config('stead', { cmd = { 'stead', 'lsp' }, filetypes = { 'yaml', 'kdl' } })
           vim.lsp.enable('stead')

It answers for stead.yaml, stead.kdl, *.stead.yaml and *.stead.kdl; -e and --var-file say what else decides:
  stead lsp -e prod";

/// Keeps an account on the cloud the way its configuration says.
#[derive(Debug, Clone, PartialEq, Parser)]
#[command(name = "stead", version, after_help = AFTER_HELP, arg_required_else_help = false)]
#[command(propagate_version = false, max_term_width = 100)]
pub struct Cli {
    /// Settings of every command.
    #[command(flatten)]
    pub global: GlobalArgs,
    /// What to do; `None` prints the overview.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Returns what `stead` without a command prints.
#[must_use]
pub const fn command_overview() -> &'static str {
    OVERVIEW
}

/// Settings of every command. A flag is stronger than its `STEAD_*` variable; `settings` merges them.
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
    /// How results are written [env: STEAD_OUTPUT] [default: text]
    #[arg(long, global = true, value_name = "FORMAT")]
    pub output: Option<OutputFormat>,
    /// Use the built-in cloud in place of an account [env: STEAD_CLOUD]
    #[arg(long, global = true, value_name = "CLOUD")]
    pub cloud: Option<CloudChoice>,
    /// Address of the service [env: STEAD_API_URL]
    #[arg(long, global = true, value_name = "URL", conflicts_with = "cloud")]
    pub api_url: Option<String>,
    /// File with certificates of authorities to trust besides the system's [env: STEAD_CA_FILE]
    #[arg(long, global = true, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    /// Project, by name or id, of a stack without a project block [env: STEAD_PROJECT]
    #[arg(long, global = true, value_name = "PROJECT")]
    pub project: Option<Name>,
    /// Where ledgers are kept: file:DIR, postgres://…, s3://bucket/prefix, https://… [env: STEAD_BACKEND]
    #[arg(long, global = true, value_name = "PLACE")]
    pub backend: Option<String>,
    /// Let files, modules and stacks be named outside of the repository [env: STEAD_ALLOW_OUTSIDE]
    #[arg(long, global = true)]
    pub allow_outside: bool,
    /// Never ask; what would be asked is an error [env: STEAD_NO_INPUT, CI]
    #[arg(long, global = true)]
    pub no_input: bool,
    /// When to use colours [env: STEAD_COLOR] [default: auto]
    #[arg(long, global = true, value_name = "WHEN")]
    pub color: Option<ColorChoice>,
    /// No hints and no progress; results and warnings stay [env: STEAD_QUIET]
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more: whole values, all places, steps and requests; -vv: times, and what it stands on
    /// [env: STEAD_VERBOSE]
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
}

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// For people.
    Text,
    /// One document.
    Json,
    /// One event a line where things happen, as apply does; else the document on one line.
    Ndjson,
}

/// Which cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CloudChoice {
    /// The one in the binary, with its data below `.stead/`.
    Local,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal that has them.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum Command {
    /// Write an example stack; needs no account
    Init(InitArgs),
    /// Check a stack without any request; with --fix, mend what is safe to mend
    Validate(ValidateArgs),
    /// Give files their canonical form, comments kept
    Fmt(FmtArgs),
    /// Write a file in the other syntax, or make a stack of another tool's file
    Convert(ConvertArgs),
    /// Show the resolved configuration, and what decided each value
    Render(RenderArgs),
    /// Try an expression
    Eval(EvalArgs),
    /// Tell all about a kind, an attribute, a word of the language, a function or a code
    Explain(ExplainArgs),
    /// Draw what waits for what
    Graph(GraphArgs),
    /// Tell why a resource is there, what it waits for and what waits for it
    Why(WhyArgs),
    /// Run the stack's own tests on the built-in cloud, in memory
    Test(TestArgs),
    /// Show what would happen; sends only reads
    Plan(PlanArgs),
    /// Show a saved plan again, without any request
    Show(ShowArgs),
    /// Plan, ask, and make it so; or apply a saved plan
    Apply(ApplyArgs),
    /// Remove everything that is not protected
    Destroy(DestroyArgs),
    /// Compare the live objects with the last apply
    Drift(DriftArgs),
    /// Take over live objects: write their configuration, and own them
    Import(ImportArgs),
    /// Give a resource another name: block, references and a `moved` entry
    Mv(MvArgs),
    /// Take a resource out: its block, and what becomes of its object
    Rm(RmArgs),
    /// List what is managed
    Ls(LsArgs),
    /// Show one resource as it is live
    Get(GetArgs),
    /// Answer what only a human can: which object a lost request made
    Resolve(ResolveArgs),
    /// Store an API key for a service, once it was tried
    Login(LoginArgs),
    /// Forget the stored API key
    #[command(after_help = "Example:\n  stead logout -p work")]
    Logout,
    /// Show what the service tells of the key in use; never the key
    #[command(after_help = "Example:\n  stead whoami -p work --output json")]
    Whoami,
    /// Check key, service, clock, stack, ledger and lock, with a remedy for each trouble
    Doctor(DoctorArgs),
    /// Show plans, templates and prices; pin their names anew
    Catalog(CatalogArgs),
    /// Tell what the stack costs a month, resource by resource
    Cost(CostArgs),
    /// Do something once: reboot, restore, rotate, look closer
    Do(DoArgs),
    /// Rebuild a lost ledger from the configuration and the live objects
    Recover(RecoverArgs),
    /// List past applies: who, when, which commit and plan, how it ended
    History(HistoryArgs),
    /// See who has the ledger's lock, or break it
    Lock(LockArgs),
    /// Look at the ledger itself, copy it, move it, check and repair it
    State(StateArgs),
    /// Keep, show, set and rotate the secrets that the ledger holds encrypted
    Secret(SecretArgs),
    /// Write a pipeline for CI, and what it leaves where code is reviewed
    Ci(CiArgs),
    /// Serve the built-in cloud
    Emulator(EmulatorArgs),
    /// Write what stead knows of the service, for other tools
    Schema(SchemaArgs),
    /// Help an editor write stacks: diagnostics, completion, hover, rename (Language Server Protocol)
    #[command(after_help = LSP_HELP)]
    Lsp,
    /// Write a completion script for a shell; it knows the stack's addresses, too
    Completions(CompletionsArgs),
    /// Write manual pages: of stead, of a command, or all of them
    Man(ManArgs),
    /// What a completion script asks
    #[command(name = "__complete", hide = true)]
    Complete(CompleteArgs),
    /// Show version, commit and schema number
    #[command(after_help = "Examples:\n  stead version\n  stead version --output json")]
    Version,
}

/// `init`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  stead init\n  stead init --template shop --format kdl my-shop")]
pub struct InitArgs {
    /// Where to write
    #[arg(value_name = "DIR", default_value = ".")]
    pub into: PathBuf,
    /// Which example; asked for on a terminal when left out
    #[arg(long)]
    pub template: Option<StackTemplate>,
    /// Which syntax; asked for on a terminal when left out
    #[arg(long)]
    pub format: Option<FileSyntax>,
    /// Overwrite files that exist
    #[arg(long)]
    pub force: bool,
}

/// An example stack.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum StackTemplate {
    /// One network, one machine.
    #[default]
    Minimal,
    /// Machines, storage, backups and a database in two environments.
    Shop,
}

/// `resolve`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead resolve\n  stead resolve 3f0e8c52 adopt 5b1e09c2-…\n  stead resolve 3f0e8c52 absent"
)]
pub struct ResolveArgs {
    /// The first digits of the question's request, or its resource; all open questions when left out
    pub operation: Option<String>,
    /// The answer
    #[command(subcommand)]
    pub answer: Option<ResolveAction>,
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum ResolveAction {
    /// It made this object, which is the resource's from now on
    #[command(after_help = "Example:\n  stead resolve 3f0e8c52 adopt 5b1e09c2-…")]
    Adopt {
        /// The live object's id
        id: Name,
    },
    /// It made nothing, or nothing yet: it stays watched for late effects
    #[command(after_help = "Example:\n  stead resolve 3f0e8c52 absent")]
    Absent,
    /// Whatever it made is left alone, and not asked about again
    #[command(after_help = "Example:\n  stead resolve 3f0e8c52 forget")]
    Forget,
    /// It made this object, which is one too many: the next plan deletes it
    #[command(after_help = "Example:\n  stead resolve 3f0e8c52 surplus 5b1e09c2-…")]
    Surplus {
        /// The live object's id
        id: Name,
    },
}

fn parse_variable(text: &str) -> Result<(Name, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((Name::new(name), value.to_owned())),
        _ => Err("it has the form NAME=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests;
