//! The command line of `plan`, `show`, `apply` and `destroy`: what a plan covers, how it is saved,
//! and how its apply runs.

use std::time::Duration;

use clap::Args;

use super::global_flags::quote_shell_word;
use super::report::PlanReportArgs;
use super::values::{parse_adoption, parse_duration, parse_module_or_resource};
use super::workspace::{DeletionApproval, LossApproval, parse_deletion_approval, parse_loss_approval};
use crate::apply::context::DEFAULT_CONCURRENCY;
use crate::model::address::{Address, Name};
use crate::workspace::unit::UnitName;

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
    /// Allow replacing this object that holds data by an empty one, or all instances of this block; with --all, name its
    /// unit, too: shop/prod:vm.web; repeatable
    #[arg(long, value_name = "[UNIT:]ADDRESS", value_parser = parse_loss_approval)]
    pub replace: Vec<LossApproval>,
    /// Allow deleting this object, or all instances of this block, with its data, when no block declares it anymore; with
    /// --all, name its unit, too; repeatable
    #[arg(long, value_name = "[UNIT:]ADDRESS", value_parser = parse_loss_approval)]
    pub delete_data: Vec<LossApproval>,
    /// Allow this secret to overwrite the content of its sink, `vars.NAME` or a resource; repeatable
    #[arg(long = "overwrite-secret", value_name = "ADDRESS")]
    pub overwrite_secrets: Vec<Name>,
    /// Fail if stead.lock is missing, or lacks a name that the stack uses
    #[arg(long)]
    pub locked: bool,
    /// Override the deletion limit; with --all, only that of this unit if one is named; repeatable
    #[arg(long, value_name = "UNIT", num_args = 0..=1, require_equals = true, default_missing_value = "all", value_parser = parse_deletion_approval)]
    pub allow_deletes: Vec<DeletionApproval>,
}

impl PlanScopeArgs {
    /// Returns the flags as the user would type them, quoted for a shell, so that a suggested command has them.
    pub(in crate::cli) fn format_flags(&self) -> Vec<String> {
        let mut flags = Vec::new();
        let mut add = |name: &str, value: &str| flags.push(format!("{name} {}", quote_shell_word(value)));
        self.targets.iter().for_each(|address| add("--target", address.as_str()));
        self.exclude.iter().for_each(|address| add("--exclude", address.as_str()));
        for (address, id) in &self.adopt {
            let id = id.as_ref().map(|id| format!("={id}")).unwrap_or_default();
            add("--adopt", &format!("{address}{id}"));
        }
        self.overwrite_secrets.iter().for_each(|name| add("--overwrite-secret", name));
        flags.extend(self.locked.then(|| "--locked".to_owned()));
        flags.extend(self.format_approvals());
        flags
    }

    /// Returns the flags that approve what else blocks the plans, also of many units.
    pub(in crate::cli) fn format_approvals(&self) -> Vec<String> {
        let deletions = self.allow_deletes.iter().map(DeletionApproval::format_flag);
        let losses = self.losses();
        let losses = losses.map(|(flag, one)| format!("{flag} {}", quote_shell_word(&one.format_value())));
        deletions.chain(losses).collect()
    }

    /// Returns the approvals of objects with data, each with its flag.
    pub(in crate::cli) fn losses(&self) -> impl Iterator<Item = (&'static str, &LossApproval)> {
        let replacements = self.replace.iter().map(|approval| ("--replace", approval));
        replacements.chain(self.delete_data.iter().map(|approval| ("--delete-data", approval)))
    }

    /// Returns the command that applies a plan with this scope, without global flags: without its flags it would be another
    /// plan. `destroy` asks for the approvals that an apply takes as flags.
    pub(in crate::cli) fn format_command(&self, destroy: bool, with_leftovers: bool) -> String {
        let is_taken =
            |flag: &String| !destroy || flag.starts_with("--target") || flag.starts_with("--exclude");
        let leftovers = with_leftovers.then(|| "--with-leftovers".to_owned());
        let flags = self.format_flags().into_iter().filter(is_taken).chain(leftovers);
        let command = if destroy { "destroy" } else { "apply" };
        std::iter::once(command.to_owned()).chain(flags).collect::<Vec<_>>().join(" ")
    }

    /// Returns whether all deletions are approved, whatever their number.
    pub(in crate::cli) fn allows_all_deletions(&self) -> bool {
        self.allow_deletes.contains(&DeletionApproval::All)
    }

    /// Returns the units whose deletions are approved, whatever their number.
    pub(in crate::cli) fn units_with_deletions(&self) -> impl Iterator<Item = &UnitName> {
        self.allow_deletes.iter().filter_map(|approval| match approval {
            DeletionApproval::All => None,
            DeletionApproval::Unit(unit) => Some(unit),
        })
    }
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

/// Policies that a person overrides, and why; shared by the commands that apply.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct OverrideArgs {
    /// Apply although this policy denies it; repeatable, and recorded with the reason
    #[arg(long = "override", value_name = "POLICY", requires = "reason")]
    pub policies: Vec<Name>,
    /// Reason for overriding a policy; recorded in the ledger
    #[arg(long, value_name = "TEXT", requires = "policies", value_parser = parse_nonempty_reason)]
    pub reason: Option<String>,
}

impl OverrideArgs {
    /// Returns the flags as the user would type them, quoted for a shell.
    pub(in crate::cli) fn format_flags(&self) -> Vec<String> {
        let policies = self.policies.iter().map(|name| format!("--override {}", quote_shell_word(name)));
        let reason = self.reason.iter().map(|reason| format!("--reason {}", quote_shell_word(reason)));
        policies.chain(reason).collect()
    }
}

/// Parses the reason for an override; a blank one is refused, because the history records it.
fn parse_nonempty_reason(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("give a reason".to_owned()),
        text => Ok(text.to_owned()),
    }
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
