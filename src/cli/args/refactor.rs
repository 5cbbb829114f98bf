//! `mv` and `rm`.

use clap::{ArgGroup, Args};

use super::values::parse_module_or_resource;
use crate::model::address::Address;

/// `mv`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead mv vm.frontend vm.web\n  stead mv vm.web.a vm.api\n  stead mv shop_eu shop_europe\n  stead mv database.main.users.old database.main.users.new --yes"
)]
pub struct Mv {
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
pub struct Rm {
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
