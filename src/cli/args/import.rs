//! `import`.

use std::path::PathBuf;

use clap::Args;

use super::values::{Format, parse_address};
use crate::model::address::{Address, Name};

/// `import`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead import vm.web 5b1e09c2-…\n  stead import database.main.users.reporting reporting\n  stead import --all --secret SESSION --secrets-to ../secrets.yaml\n  stead import --all --project shop --observe\n  stead import --match-names"
)]
pub struct Import {
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
    pub format: Format,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}
