//! The command line of `plan`, `show`, `apply` and `destroy`: what a plan covers, how it is saved,
//! and how its apply runs.

use std::time::Duration;

use clap::Args;

use super::report::PlanReportArgs;
use super::values::{parse_address, parse_adoption, parse_duration, parse_module_or_resource};
use crate::apply::context::DEFAULT_CONCURRENCY;
use crate::model::address::{Address, Name};

/// Limits a plan to some resources and permits dangerous changes; shared by every command that plans.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct PlanScopeArgs {
    /// Plan only this resource or module, and what it depends on; repeatable
    #[arg(long = "target", value_name = "ADDRESS", value_parser = parse_module_or_resource)]
    pub targets: Vec<Address>,
    /// Leave out this resource or module, and what depends on it; repeatable
    #[arg(long, value_name = "ADDRESS", value_parser = parse_module_or_resource)]
    pub exclude: Vec<Address>,
    /// Adopt a live object by id; without an id, an object that an earlier apply forgot; repeatable
    #[arg(long, value_name = "ADDRESS[=ID]", value_parser = parse_adoption)]
    pub adopt: Vec<(Address, Option<Name>)>,
    /// Allow replacing this object that holds data by an empty one; repeatable
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    pub replace: Vec<Address>,
    /// Allow deleting this object with its data, when no block declares it anymore; repeatable
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    pub delete_data: Vec<Address>,
    /// Allow this secret to overwrite the content of its sink, `vars.NAME` or a resource; repeatable
    #[arg(long = "overwrite-secret", value_name = "ADDRESS")]
    pub overwrite_secrets: Vec<Name>,
    /// Fail if stead.lock is missing, or lacks a name that the stack uses
    #[arg(long)]
    pub locked: bool,
    /// Override the deletion limit
    #[arg(long)]
    pub allow_deletes: bool,
}

/// Parallelism, reports and time bounds of an apply.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct ExecutionArgs {
    /// Maximum number of concurrent steps; requests keep to the service's rate limit anyway
    #[arg(long, value_name = "N", default_value_t = DEFAULT_CONCURRENCY, value_parser = parse_parallelism)]
    pub parallel: usize,
    /// Report files to write in addition to the output.
    #[command(flatten)]
    pub reports: PlanReportArgs,
    /// Time after which a sent request can no longer take effect [default: 60s; local cloud: 1s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub effect_bound: Option<Duration>,
    /// Time within which the service lists a new object [default: 10s; local cloud: 1s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub listing_bound: Option<Duration>,
    /// Assume no time bounds: the outcome of a lost request is always resolved by the user [env: STEAD_STRICT]
    #[arg(long)]
    pub strict: bool,
    /// Accept a ledger that is older than the last one seen on this machine, or a fork of it
    #[arg(long)]
    pub accept_older_ledger: bool,
}

/// Flag of `destroy` and `plan --destroy` for objects derived from the stack's own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct LeftoverArgs {
    /// When everything is destroyed: also delete backups of the stack's objects (made by `do backup`) and the volumes
    /// of claims in its clusters; the plan lists each of them
    #[arg(long, conflicts_with_all = ["targets", "exclude"])]
    pub with_leftovers: bool,
}

fn parse_parallelism(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if (1..=1024).contains(&n) => Ok(n),
        _ => Err("expected a number from 1 to 1024".to_owned()),
    }
}
