//! Command-line arguments of `mv`.

use clap::Args;

use crate::cli::args::values::parse_module_or_resource;
use crate::model::address::Address;

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
    /// Do not prompt for confirmation
    #[arg(long)]
    pub yes: bool,
}
