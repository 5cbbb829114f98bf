//! The command line, declared once: parser, help, completions and their tests derive from it.

mod access;
pub(super) mod actions;
mod books;
mod catalog;
mod ci;
mod cost;
mod drift;
pub(super) mod global_flags;
mod import;
mod leftovers;
mod list;
mod needs;
mod refactor;
mod report;
mod rewrite;
mod saved;
mod schema;
mod secret;
mod serve;
mod tells;
mod test;
mod understand;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

pub use self::access::{Doctor, Login};
pub use self::actions::Do;
pub use self::books::{
    AdoptDirectory, Break, History, HistoryShow, Lock, LockAction, Migrate, Pull, Push, Recover, Repair,
    Seal, State, StateAction,
};
pub use self::catalog::{Catalog, CatalogAction, CatalogUpdate};
pub use self::ci::{Ci, CiAction, CiComment, CiHook, CiInit, CiNumber, System};
pub use self::cost::Cost;
pub use self::drift::DriftArgs;
pub use self::import::Import;
pub use self::leftovers::{Destroy, Leftovers};
pub use self::list::{Columns, Get, Ls};
pub use self::refactor::{Mv, Rm};
pub use self::report::{PlanReports, ProblemReports, Wanted};
pub use self::rewrite::{Convert, Fmt, Origin, Validate};
pub use self::schema::{Document, Schema};
pub use self::secret::{
    Secret, SecretAction, SecretGet, SecretKeygen, SecretRekey, SecretRotate, SecretSame, SecretSet,
};
pub use self::serve::{Complete, Completions, Emulator, Manual};
pub use self::tells::Tells;
pub use self::test::Test;
pub use self::understand::{Drawing, Eval, Explain, Graph, Render, Why};
use crate::apply::context::PARALLEL;
use crate::model::address::{Address, Name};

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
    pub global: Global,
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
pub struct Global {
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
    pub output: Option<Output>,
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
pub enum Output {
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
    Init(Init),
    /// Check a stack without any request; with --fix, mend what is safe to mend
    Validate(Validate),
    /// Give files their canonical form, comments kept
    Fmt(Fmt),
    /// Write a file in the other syntax, or make a stack of another tool's file
    Convert(Convert),
    /// Show the resolved configuration, and what decided each value
    Render(Render),
    /// Try an expression
    Eval(Eval),
    /// Tell all about a kind, an attribute, a word of the language, a function or a code
    Explain(Explain),
    /// Draw what waits for what
    Graph(Graph),
    /// Tell why a resource is there, what it waits for and what waits for it
    Why(Why),
    /// Run the stack's own tests on the built-in cloud, in memory
    Test(Test),
    /// Show what would happen; sends only reads
    Plan(PlanArgs),
    /// Show a saved plan again, without any request
    Show(Show),
    /// Plan, ask, and make it so; or apply a saved plan
    Apply(Apply),
    /// Remove everything that is not protected
    Destroy(Destroy),
    /// Compare the live objects with the last apply
    Drift(DriftArgs),
    /// Take over live objects: write their configuration, and own them
    Import(Import),
    /// Give a resource another name: block, references and a `moved` entry
    Mv(Mv),
    /// Take a resource out: its block, and what becomes of its object
    Rm(Rm),
    /// List what is managed
    Ls(Ls),
    /// Show one resource as it is live
    Get(Get),
    /// Answer what only a human can: which object a lost request made
    Resolve(Resolve),
    /// Store an API key for a service, once it was tried
    Login(Login),
    /// Forget the stored API key
    #[command(after_help = "Example:\n  stead logout -p work")]
    Logout,
    /// Show what the service tells of the key in use; never the key
    #[command(after_help = "Example:\n  stead whoami -p work --output json")]
    Whoami,
    /// Check key, service, clock, stack, ledger and lock, with a remedy for each trouble
    Doctor(Doctor),
    /// Show plans, templates and prices; pin their names anew
    Catalog(Catalog),
    /// Tell what the stack costs a month, resource by resource
    Cost(Cost),
    /// Do something once: reboot, restore, rotate, look closer
    Do(Do),
    /// Rebuild a lost ledger from the configuration and the live objects
    Recover(Recover),
    /// List past applies: who, when, which commit and plan, how it ended
    History(History),
    /// See who has the ledger's lock, or break it
    Lock(Lock),
    /// Look at the ledger itself, copy it, move it, check and repair it
    State(State),
    /// Keep, show, set and rotate the secrets that the ledger holds encrypted
    Secret(Secret),
    /// Write a pipeline for CI, and what it leaves where code is reviewed
    Ci(Ci),
    /// Serve the built-in cloud
    Emulator(Emulator),
    /// Write what stead knows of the service, for other tools
    Schema(Schema),
    /// Help an editor write stacks: diagnostics, completion, hover, rename (Language Server Protocol)
    #[command(after_help = LSP_HELP)]
    Lsp,
    /// Write a completion script for a shell; it knows the stack's addresses, too
    Completions(Completions),
    /// Write manual pages: of stead, of a command, or all of them
    Man(Manual),
    /// What a completion script asks
    #[command(name = "__complete", hide = true)]
    Complete(Complete),
    /// Show version, commit and schema number
    #[command(after_help = "Examples:\n  stead version\n  stead version --output json")]
    Version,
}

/// `init`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  stead init\n  stead init --template shop --format kdl my-shop")]
pub struct Init {
    /// Where to write
    #[arg(value_name = "DIR", default_value = ".")]
    pub into: PathBuf,
    /// Which example; asked for on a terminal when left out
    #[arg(long)]
    pub template: Option<Template>,
    /// Which syntax; asked for on a terminal when left out
    #[arg(long)]
    pub format: Option<Format>,
    /// Overwrite files that exist
    #[arg(long)]
    pub force: bool,
}

/// An example stack.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Template {
    /// One network, one machine.
    #[default]
    Minimal,
    /// Machines, storage, backups and a database in two environments.
    Shop,
}

/// A syntax.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// YAML.
    #[default]
    Yaml,
    /// KDL, version 2.
    Kdl,
}

/// What a plan covers, for every command that makes one.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct Scope {
    /// Only this resource, or this whole module, and what it needs; repeatable
    #[arg(long = "target", value_name = "ADDRESS", value_parser = parse_module_or_resource)]
    pub targets: Vec<Address>,
    /// Not this resource or module, nor what needs it; repeatable
    #[arg(long, value_name = "ADDRESS", value_parser = parse_module_or_resource)]
    pub exclude: Vec<Address>,
    /// Take over a live object by id; one that an apply let go of is taken back without; repeatable
    #[arg(long, value_name = "ADDRESS[=ID]", value_parser = parse_adoption)]
    pub adopt: Vec<(Address, Option<Name>)>,
    /// Let this object that holds data be replaced by an empty one; repeatable
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    pub replace: Vec<Address>,
    /// Let this object go with the data that it holds, now that no block declares it; repeatable
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    pub delete_data: Vec<Address>,
    /// Let this secret replace whatever its file or line holds, `vars.NAME` or a resource; repeatable
    #[arg(long = "overwrite-secret", value_name = "ADDRESS")]
    pub overwrite_secrets: Vec<Name>,
    /// Refuse to go on where stead.lock is missing, or lacks a name that the stack uses
    #[arg(long)]
    pub locked: bool,
    /// Allow more deletions than the budget does
    #[arg(long)]
    pub allow_deletes: bool,
}

/// `plan`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead plan -e prod\n  stead plan -o prod.plan && stead apply prod.plan\n  stead plan -o prod.plan --expires 12h --sign-key plan.pem\n  stead plan --exit-code --output json > plan.json"
)]
pub struct PlanArgs {
    /// Save the plan, to be applied as it is
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Sign the saved plan with this Ed25519 key, a private one in PEM form [env: STEAD_PLAN_SIGN_KEY]
    #[arg(long, value_name = "FILE", requires = "out")]
    pub sign_key: Option<PathBuf>,
    /// Refuse the saved plan after this time, from 1m to 30d [default: 7d]
    #[arg(long, value_name = "TIME", requires = "out", value_parser = saved::parse_lifetime)]
    pub expires: Option<jiff::SignedDuration>,
    /// Exit with 2 when there are changes
    #[arg(long, alias = "detailed-exitcode")]
    pub exit_code: bool,
    /// What it leaves in files besides.
    #[command(flatten)]
    pub reports: PlanReports,
    /// Plan the removal of everything that is not protected
    #[arg(long)]
    pub destroy: bool,
    /// What becomes of what came of it.
    #[command(flatten)]
    pub leftovers: Leftovers,
    /// Trust nothing in the stack, as for pull requests from strangers: reads no file besides it, runs
    /// nothing, writes nothing but reports, asks for no secret; it needs STEAD_READONLY_API_KEY, and refuses STEAD_API_KEY
    #[arg(long, conflicts_with = "out")]
    pub untrusted: bool,
    /// What it covers.
    #[command(flatten)]
    pub scope: Scope,
}

/// `show`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  stead show prod.plan")]
pub struct Show {
    /// The saved plan
    pub file: PathBuf,
    /// Check that one of these Ed25519 keys, public ones in PEM form, signed it [env: STEAD_PLAN_VERIFY_KEY]
    #[arg(long, value_name = "FILE")]
    pub verify_key: Option<PathBuf>,
    /// What it leaves in files besides.
    #[command(flatten)]
    pub reports: PlanReports,
}

/// `apply`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead apply -e staging\n  stead apply prod.plan\n  stead apply --yes=create,update\n  stead apply --expect $FINGERPRINT\n  stead apply prod.plan --expect $FINGERPRINT --verify-key plan.pub\n  stead apply --override budget --reason 'agreed with finance'\n\nSecrets that the stack hands to a sink go to a program of your own settings.toml, by its standard input:\n  [profiles.default.sinks]\n  vault = [\"sh\", \"-c\", \"pass insert -m shop/$STEAD_ADDRESS\"]"
)]
pub struct Apply {
    /// A saved plan; it is applied as it is or not at all
    #[arg(conflicts_with_all = ["targets", "exclude", "adopt", "replace", "delete_data", "allow_deletes"])]
    pub file: Option<PathBuf>,
    /// Apply the saved plan only if one of these Ed25519 keys, public ones in PEM form, signed it
    /// [env: STEAD_PLAN_VERIFY_KEY]
    #[arg(long, value_name = "FILE", requires = "file")]
    pub verify_key: Option<PathBuf>,
    /// Do not ask; with kinds of change, only if the plan has no others
    #[arg(long, value_name = "KINDS", num_args = 0..=1, require_equals = true, default_missing_value = "all", value_parser = parse_approval)]
    pub yes: Option<Consent>,
    /// Apply only if the plan has this fingerprint; whoever names it agrees to the plan
    #[arg(long, value_name = "FINGERPRINT", value_parser = saved::parse_fingerprint)]
    pub expect: Option<Name>,
    /// Apply although this policy says no; repeatable, and recorded with the reason
    #[arg(long = "override", value_name = "POLICY", requires = "reason")]
    pub overrides: Vec<Name>,
    /// Why a policy is overridden
    #[arg(long, value_name = "TEXT", requires = "overrides", value_parser = parse_nonempty_reason)]
    pub reason: Option<String>,
    /// How it runs.
    #[command(flatten)]
    pub running: Running,
    /// What it covers.
    #[command(flatten)]
    pub scope: Scope,
}

fn parse_nonempty_reason(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("say why".to_owned()),
        text => Ok(text.to_owned()),
    }
}

/// How an apply runs.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct Running {
    /// Steps at the same time, at most; requests are paced to the service's limiter anyway
    #[arg(long, value_name = "N", default_value_t = PARALLEL, value_parser = parse_parallelism)]
    pub parallel: usize,
    /// What it leaves in files besides.
    #[command(flatten)]
    pub reports: PlanReports,
    /// A request takes effect within this time of being sent, or never [default: 60s; local cloud: 1s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub effect_bound: Option<Duration>,
    /// A new object is listed within this time [default: 10s; local cloud: 1s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub listing_bound: Option<Duration>,
    /// Assume no bound on time: what became of a lost request is always asked [env: STEAD_STRICT]
    #[arg(long)]
    pub strict: bool,
    /// Go on with a ledger that is older than the last one seen here, or a fork of it
    #[arg(long)]
    pub accept_older_ledger: bool,
}

/// `resolve`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead resolve\n  stead resolve 3f0e8c52 adopt 5b1e09c2-…\n  stead resolve 3f0e8c52 absent"
)]
pub struct Resolve {
    /// The first digits of the question's request, or its resource; all open questions when left out
    pub operation: Option<String>,
    /// The answer
    #[command(subcommand)]
    pub answer: Option<Answer>,
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum Answer {
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

/// What `--yes` agrees to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Consent {
    /// Whatever the plan holds.
    All,
    /// Only these kinds of change.
    Only(BTreeSet<ChangeKind>),
}

/// A kind of change that `--yes` can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum ChangeKind {
    /// New objects, adopted ones included.
    Create,
    /// Changes in place, moves and forgetting included.
    Update,
    /// Replacements.
    Replace,
    /// Deletions.
    Delete,
}

fn parse_variable(text: &str) -> Result<(Name, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((Name::new(name), value.to_owned())),
        _ => Err("it has the form NAME=VALUE".to_owned()),
    }
}

fn parse_address(text: &str) -> Result<Address, String> {
    Address::parse(text).map_err(|error| error.to_string())
}

fn parse_module_or_resource(text: &str) -> Result<Address, String> {
    Address::parse_path(text).map_err(|error| error.to_string())
}

fn parse_adoption(text: &str) -> Result<(Address, Option<Name>), String> {
    match text.split_once('=') {
        None => Ok((parse_module_or_resource(text)?, None)),
        Some((_, "")) => Err("the id is missing behind the =".to_owned()),
        Some((path, id)) => Ok((parse_address(path)?, Some(Name::new(id)))),
    }
}

fn parse_approval(text: &str) -> Result<Consent, String> {
    if text == "all" {
        return Ok(Consent::All);
    }
    let kind = |word: &str| {
        ChangeKind::from_str(word, false)
            .map_err(|_| format!("`{word}` is none of create, update, replace, delete"))
    };
    text.split(',').map(kind).collect::<Result<_, _>>().map(Consent::Only)
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    let span: jiff::SignedDuration =
        text.parse().map_err(|_| "it has the form 90s, 5m or 1h".to_owned())?;
    Duration::try_from(span).map_err(|_| "it cannot be negative".to_owned())
}

fn parse_parallelism(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if (1..=1024).contains(&n) => Ok(n),
        _ => Err("it is a number from 1 to 1024".to_owned()),
    }
}

#[cfg(test)]
mod tests;
