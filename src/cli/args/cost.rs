//! `cost`.

use std::path::PathBuf;

use clap::Args;

use crate::model::address::Name;

/// `cost`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead cost -e prod\n  stead cost -e prod --vs staging\n  stead cost prod.plan\n  stead cost --offline"
)]
pub struct Cost {
    /// A saved plan; without one, the environment as it is and as an apply would make it
    #[arg(value_name = "FILE", conflicts_with_all = ["vs", "offline"])]
    pub file: Option<PathBuf>,
    /// Compare with another environment: each as an apply would make it
    #[arg(long, value_name = "ENV")]
    pub vs: Option<Name>,
    /// Ask nobody: what the files say, at the prices of the built-in cloud
    #[arg(long)]
    pub offline: bool,
}
