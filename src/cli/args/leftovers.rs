//! `destroy`, and what becomes of objects that came of the stack's own.

use clap::Args;

use super::{Running, parse_module_or_resource};
use crate::model::address::{Address, Name};

/// For `destroy`, and for the plan of one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct Leftovers {
    /// When everything is destroyed: also delete the copies of the stack's objects (as `do backup` makes them) and the
    /// volumes of claims in its clusters, each listed in the plan
    #[arg(long, conflicts_with_all = ["targets", "exclude"])]
    pub with_leftovers: bool,
}

/// `destroy`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead destroy -e staging\n  stead destroy -e staging --yes --confirm shop\n  stead destroy -e staging --with-leftovers"
)]
pub struct Destroy {
    /// Do not ask; needs --confirm
    #[arg(long)]
    pub yes: bool,
    /// The stack's name, as consent
    #[arg(long, value_name = "STACK")]
    pub confirm: Option<Name>,
    /// How it runs.
    #[command(flatten)]
    pub running: Running,
    /// Only this resource and what needs it; repeatable
    #[arg(long = "target", value_name = "ADDRESS", value_parser = parse_module_or_resource)]
    pub targets: Vec<Address>,
    /// Not this resource or module; repeatable
    #[arg(long, value_name = "ADDRESS", value_parser = parse_module_or_resource)]
    pub exclude: Vec<Address>,
    /// What becomes of what came of it.
    #[command(flatten)]
    pub leftovers: Leftovers,
}
