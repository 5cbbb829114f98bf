//! Command-line arguments of `mv`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::args::values::parse_module_or_resource;
use crate::model::address::Address;

/// Command-line arguments of `stead mv`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead mv vm.frontend vm.web\n  stead mv vm.web.a vm.api\n  stead mv shop_eu shop_europe\n  stead mv database.main.users.old database.main.users.new --yes\n  stead mv database.main --to-stack ../data"
)]
pub struct MvArgs {
    /// The resource, one instance, a whole block with `for_each`, or a module
    #[arg(value_parser = parse_module_or_resource)]
    pub from: Address,
    /// New address: only the name may differ; for an instance, another key or a separate block
    #[arg(value_parser = parse_module_or_resource, required_unless_present = "to_stack")]
    pub to: Option<Address>,
    /// Move the block, with its objects, to the stack in this directory; it keeps its address
    #[arg(long, value_name = "DIR", conflicts_with = "to")]
    pub to_stack: Option<PathBuf>,
    /// Do not prompt for confirmation
    #[arg(long)]
    pub yes: bool,
}

impl MvArgs {
    /// Returns the new address within the stack; the old one for a move to another stack.
    #[must_use]
    pub fn new_address(&self) -> &Address {
        self.to.as_ref().unwrap_or(&self.from)
    }
}
