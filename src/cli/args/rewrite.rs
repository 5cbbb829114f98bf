//! Command-line arguments of the commands that rewrite files of a stack: `validate`, `fmt` and `convert`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};

use super::report::ProblemReportArgs;
use super::values::{FileSyntax, parse_address, parse_module_or_resource};
use crate::model::address::{Address, Name};

/// Command-line arguments of `stead validate`.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead validate\n  stead validate --fix\n  stead validate --output json"
)]
pub struct ValidateArgs {
    /// Apply every correction that is unambiguous; shows the change, and prompts
    #[arg(long)]
    pub fix: bool,
    /// Do not prompt
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
}

/// Command-line arguments of `stead fmt`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead fmt\n  stead fmt --check\n  stead fmt --diff shop.stead.yaml\n  stead fmt --prune\n  stead fmt - --format kdl < stead.kdl"
)]
pub struct FmtArgs {
    /// Files, or `-` for standard input; the stack's own files when omitted
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Write nothing; exit with 1 and list the files that would change
    #[arg(long)]
    pub check: bool,
    /// Show the changes as a diff
    #[arg(long)]
    pub diff: bool,
    /// Remove `moved`, `import` and `removed` entries that are done in every environment; shows the change
    #[arg(long, conflicts_with = "files")]
    pub prune: bool,
    /// Syntax of the text on standard input
    #[arg(long, default_value = "yaml")]
    pub format: FileSyntax,
}

/// Command-line arguments of `stead convert`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead convert --to kdl stead.yaml > stead.kdl\n  stead convert docker-compose.yml -o stead.yaml\n  stead convert --from render render.yaml --to kdl -o stead.kdl\n  stead convert --from app-spec .do/app.yaml"
)]
pub struct ConvertArgs {
    /// The file, or `-` for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Syntax of the result; for a stack's own file, the other syntax by default
    #[arg(long)]
    pub to: Option<FileSyntax>,
    /// Tool that the file belongs to [default: detected from its content]
    #[arg(long)]
    pub from: Option<SourceFormatChoice>,
    /// File to write to
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long)]
    pub force: bool,
}

/// Tool whose files `convert` reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SourceFormatChoice {
    /// File of Docker Compose, `compose.yaml`.
    Compose,
    /// Blueprint file of Render, `render.yaml`.
    Render,
    /// DigitalOcean's app spec, `.do/app.yaml`.
    AppSpec,
}

/// Command-line arguments of `stead import`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead import vm.web 5b1e09c2-…\n  stead import database.main.users.reporting reporting\n  stead import --all --secret SESSION --secrets-to ../secrets.yaml\n  stead import --all --project shop --observe\n  stead import --match-names"
)]
pub struct ImportArgs {
    /// Address for the object: its block is written (for a child, into its parent's) unless it exists
    #[arg(requires = "id", required_unless_present_any = ["all", "match_names"], value_parser = parse_address)]
    pub address: Option<Address>,
    /// Id of the object, or its name if no other object of the kind has it
    pub id: Option<Name>,
    /// Import all objects of the account, or of --project
    #[arg(long, conflicts_with_all = ["address", "match_names"])]
    pub all: bool,
    /// Find the objects of declared resources by their identifying attributes
    #[arg(long, conflicts_with = "address")]
    pub match_names: bool,
    /// Show what managing it would change; writes nothing
    #[arg(long)]
    pub observe: bool,
    /// Key of an environment map whose value is secret although it does not look like a secret: it becomes a variable;
    /// repeatable, `*` selects all
    #[arg(long, value_name = "KEY", conflicts_with = "match_names")]
    pub secret: Vec<String>,
    /// Write the live values of these variables to this file, readable only by you: use it with `--var-file FILE`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["match_names", "observe"])]
    pub secrets_to: Option<PathBuf>,
    /// Syntax of the written files
    #[arg(long, default_value = "yaml")]
    pub format: FileSyntax,
    /// Do not prompt
    #[arg(long)]
    pub yes: bool,
}

/// Command-line arguments of `stead mv`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead mv vm.frontend vm.web\n  stead mv vm.web.a vm.api\n  stead mv shop_eu shop_europe\n  stead mv database.main.users.old database.main.users.new --yes"
)]
pub struct MvArgs {
    /// The resource, one instance, a whole block with `for_each`, or a module
    #[arg(value_parser = parse_module_or_resource)]
    pub from: Address,
    /// New address: only the name may differ; for an instance, another key or a separate block
    #[arg(value_parser = parse_module_or_resource)]
    pub to: Address,
    /// Do not prompt
    #[arg(long)]
    pub yes: bool,
}

/// Command-line arguments of `stead rm`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead rm vm.legacy --keep\n  stead rm volume.scratch --delete --yes\n  stead rm shop_eu --keep"
)]
#[command(group(ArgGroup::new("fate").required(true).args(["keep", "delete"])))]
pub struct RmArgs {
    /// The resource, one instance, a whole block with `for_each`, or a module
    #[arg(value_parser = parse_module_or_resource)]
    pub address: Address,
    /// Keep the live object, and forget it
    #[arg(long)]
    pub keep: bool,
    /// Delete the object in the next apply
    #[arg(long)]
    pub delete: bool,
    /// Do not prompt
    #[arg(long)]
    pub yes: bool,
}
