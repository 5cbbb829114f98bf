//! Command-line arguments of `import`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::args::values::{FileSyntax, parse_address};
use crate::model::address::{Address, Name};

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
    /// Do not prompt for confirmation
    #[arg(long)]
    pub yes: bool,
}
