//! Command-line arguments of the commands that rewrite files of a stack: `validate`, `fmt` and `convert`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};

use super::report::ProblemReportArgs;
use super::values::{FileSyntax, parse_address, parse_module_or_resource};
use crate::model::address::{Address, Name};

/// `validate`.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead validate\n  stead validate --fix\n  stead validate --output json"
)]
pub struct ValidateArgs {
    /// Write the corrected text of every problem that surely means one; shows it, and asks
    #[arg(long)]
    pub fix: bool,
    /// Do not ask
    #[arg(long, requires = "fix")]
    pub yes: bool,
    /// Trust nothing in the stack, as for pull requests from strangers: reads no file besides it, and takes each secret
    /// as given
    #[arg(long, conflicts_with = "fix")]
    pub untrusted: bool,
    /// Refuse a stack without stead.lock
    #[arg(long)]
    pub locked: bool,
    /// What it leaves in files besides.
    #[command(flatten)]
    pub reports: ProblemReportArgs,
}

/// `fmt`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead fmt\n  stead fmt --check\n  stead fmt --diff shop.stead.yaml\n  stead fmt --prune\n  stead fmt - --format kdl < stead.kdl"
)]
pub struct FmtArgs {
    /// Files, or `-` for standard input; the stack's own when left out
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Write nothing; exit with 1 and the list of files that would change
    #[arg(long)]
    pub check: bool,
    /// Show what changes
    #[arg(long)]
    pub diff: bool,
    /// Drop `moved`, `import` and `removed` entries that are done in every environment; shows what changes
    #[arg(long, conflicts_with = "files")]
    pub prune: bool,
    /// Syntax of standard input
    #[arg(long, default_value = "yaml")]
    pub format: FileSyntax,
}

/// `convert`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead convert --to kdl stead.yaml > stead.kdl\n  stead convert docker-compose.yml -o stead.yaml\n  stead convert --from render render.yaml --to kdl -o stead.kdl\n  stead convert --from app-spec .do/app.yaml"
)]
pub struct ConvertArgs {
    /// The file, or `-` for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Syntax of the result; the other one, of a stack's own file
    #[arg(long)]
    pub to: Option<FileSyntax>,
    /// What the file is [default: told by what stands in it]
    #[arg(long)]
    pub from: Option<SourceFormatChoice>,
    /// Write to this file
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Overwrite a file that exists
    #[arg(long)]
    pub force: bool,
}

/// Another tool's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SourceFormatChoice {
    /// Docker Compose.
    Compose,
    /// Render's blueprint, `render.yaml`.
    Render,
    /// DigitalOcean's app spec, `.do/app.yaml`.
    AppSpec,
}

/// `import`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead import vm.web 5b1e09c2-…\n  stead import database.main.users.reporting reporting\n  stead import --all --secret SESSION --secrets-to ../secrets.yaml\n  stead import --all --project shop --observe\n  stead import --match-names"
)]
pub struct ImportArgs {
    /// The resource that an object becomes: its block is written, a child's into its parent's, unless it is there
    #[arg(requires = "id", required_unless_present_any = ["all", "match_names"], value_parser = parse_address)]
    pub address: Option<Address>,
    /// The object's id, or its name where no other of the kind has it
    pub id: Option<Name>,
    /// Take over everything in the account, or in --project
    #[arg(long, conflicts_with_all = ["address", "match_names"])]
    pub all: bool,
    /// Find the objects of the blocks that are written, by what tells them apart
    #[arg(long, conflicts_with = "address")]
    pub match_names: bool,
    /// Show what managing it would change; write nothing
    #[arg(long)]
    pub observe: bool,
    /// Key of an environment whose value is a secret though it looks like none: a variable stands for it;
    /// repeatable, `*` is all
    #[arg(long, value_name = "KEY", conflicts_with = "match_names")]
    pub secret: Vec<String>,
    /// Write the live values of these variables into this file, which only you can read: `--var-file FILE` gives them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["match_names", "observe"])]
    pub secrets_to: Option<PathBuf>,
    /// Which syntax is written
    #[arg(long, default_value = "yaml")]
    pub format: FileSyntax,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

/// `mv`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead mv vm.frontend vm.web\n  stead mv vm.web.a vm.api\n  stead mv shop_eu shop_europe\n  stead mv database.main.users.old database.main.users.new --yes"
)]
pub struct MvArgs {
    /// The resource, one instance, a whole block with `for_each`, or a module
    #[arg(value_parser = parse_module_or_resource)]
    pub from: Address,
    /// Its new address: the same but for the name; of an instance, another key or a block of its own
    #[arg(value_parser = parse_module_or_resource)]
    pub to: Address,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

/// `rm`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead rm vm.legacy --keep\n  stead rm volume.scratch --delete --yes\n  stead rm shop_eu --keep"
)]
#[command(group(ArgGroup::new("fate").required(true).args(["keep", "delete"])))]
pub struct RmArgs {
    /// The resource, one instance, a whole block with `for_each`, or a module
    #[arg(value_parser = parse_module_or_resource)]
    pub address: Address,
    /// The object stays live; stead lets go of it
    #[arg(long)]
    pub keep: bool,
    /// The object goes with the next apply
    #[arg(long)]
    pub delete: bool,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}
