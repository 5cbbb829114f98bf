//! The command line of `plan`, `show`, `apply` and `destroy`: what a plan covers, how it is saved,
//! and how its apply runs.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use jiff::SignedDuration;

use super::report::PlanReportArgs;
use super::values::{
    AutoApproval, parse_address, parse_adoption, parse_approval, parse_duration, parse_module_or_resource,
};
use crate::apply::context::DEFAULT_CONCURRENCY;
use crate::model::address::{Address, Name};
use crate::plan::artifact::binding;

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

/// Command-line arguments of `stead plan`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead plan -e prod\n  stead plan -o prod.plan && stead apply prod.plan\n  stead plan -o prod.plan --expires 12h --sign-key plan.pem\n  stead plan --exit-code --output json > plan.json"
)]
pub struct PlanArgs {
    /// Save the plan to this file, for a later apply
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Sign the saved plan with this Ed25519 private key in PEM form [env: STEAD_PLAN_SIGN_KEY]
    #[arg(long, value_name = "FILE", requires = "out")]
    pub sign_key: Option<PathBuf>,
    /// Reject the saved plan after this time, from 1m to 30d [default: 7d]
    #[arg(long, value_name = "TIME", requires = "out", value_parser = parse_lifetime)]
    pub expires: Option<SignedDuration>,
    /// Exit with 2 when there are changes
    #[arg(long, alias = "detailed-exitcode")]
    pub exit_code: bool,
    /// Report files to write in addition to the output.
    #[command(flatten)]
    pub reports: PlanReportArgs,
    /// Plan the deletion of all resources that are not protected
    #[arg(long)]
    pub destroy: bool,
    /// Whether objects derived from the stack's objects are deleted, too.
    #[command(flatten)]
    pub leftovers: LeftoverArgs,
    /// Treat the stack as untrusted, as in pull requests from forks: reads no file outside of it, runs nothing, writes
    /// only reports, prompts for no secret; requires STEAD_READONLY_API_KEY, and refuses STEAD_API_KEY
    #[arg(long, conflicts_with = "out")]
    pub untrusted: bool,
    /// Resources that the plan covers.
    #[command(flatten)]
    pub scope: PlanScopeArgs,
}

/// Command-line arguments of `stead show`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  stead show prod.plan")]
pub struct ShowArgs {
    /// The saved plan to show
    pub file: PathBuf,
    /// Verify the signature with one of these Ed25519 public keys in PEM form [env: STEAD_PLAN_VERIFY_KEY]
    #[arg(long, value_name = "FILE")]
    pub verify_key: Option<PathBuf>,
    /// Report files to write in addition to the output.
    #[command(flatten)]
    pub reports: PlanReportArgs,
}

/// Command-line arguments of `stead apply`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead apply -e staging\n  stead apply prod.plan\n  stead apply --yes=create,update\n  stead apply --expect $FINGERPRINT\n  stead apply prod.plan --expect $FINGERPRINT --verify-key plan.pub\n  stead apply --override budget --reason 'agreed with finance'\n\nA secret sink that is a program is defined in your own settings.toml, and reads the secret from standard input:\n  [profiles.default.sinks]\n  vault = [\"sh\", \"-c\", \"pass insert -m shop/$STEAD_ADDRESS\"]"
)]
pub struct ApplyArgs {
    /// A saved plan; it is applied unchanged or not at all
    #[arg(conflicts_with_all = ["targets", "exclude", "adopt", "replace", "delete_data", "allow_deletes"])]
    pub file: Option<PathBuf>,
    /// Apply the saved plan only if one of these Ed25519 public keys in PEM form signed it [env: STEAD_PLAN_VERIFY_KEY]
    #[arg(long, value_name = "FILE", requires = "file")]
    pub verify_key: Option<PathBuf>,
    /// Do not prompt; with kinds of change, only if the plan has no other kind
    #[arg(long, value_name = "KINDS", num_args = 0..=1, require_equals = true, default_missing_value = "all", value_parser = parse_approval)]
    pub yes: Option<AutoApproval>,
    /// Apply only if the plan has this fingerprint; counts as approval of the plan
    #[arg(long, value_name = "FINGERPRINT", value_parser = parse_fingerprint)]
    pub expect: Option<Name>,
    /// Apply although this policy denies it; repeatable, and recorded with the reason
    #[arg(long = "override", value_name = "POLICY", requires = "reason")]
    pub overrides: Vec<Name>,
    /// Reason for overriding a policy; recorded in the ledger
    #[arg(long, value_name = "TEXT", requires = "overrides", value_parser = parse_nonempty_reason)]
    pub reason: Option<String>,
    /// Parallelism, reports and time bounds of the run.
    #[command(flatten)]
    pub running: ExecutionArgs,
    /// Resources that the plan covers.
    #[command(flatten)]
    pub scope: PlanScopeArgs,
}

fn parse_nonempty_reason(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("give a reason".to_owned()),
        text => Ok(text.to_owned()),
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

/// Flag of `destroy` and `plan --destroy` for objects derived from the stack's own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct LeftoverArgs {
    /// When everything is destroyed: also delete backups of the stack's objects (made by `do backup`) and the volumes
    /// of claims in its clusters; the plan lists each of them
    #[arg(long, conflicts_with_all = ["targets", "exclude"])]
    pub with_leftovers: bool,
}

/// Command-line arguments of `stead destroy`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead destroy -e staging\n  stead destroy -e staging --yes --confirm shop\n  stead destroy -e staging --with-leftovers"
)]
pub struct DestroyArgs {
    /// Do not prompt; needs --confirm
    #[arg(long)]
    pub yes: bool,
    /// Name of the stack, as confirmation
    #[arg(long, value_name = "STACK")]
    pub confirm: Option<Name>,
    /// Parallelism, reports and time bounds of the run.
    #[command(flatten)]
    pub running: ExecutionArgs,
    /// Only this resource and what depends on it; repeatable
    #[arg(long = "target", value_name = "ADDRESS", value_parser = parse_module_or_resource)]
    pub targets: Vec<Address>,
    /// Leave out this resource or module; repeatable
    #[arg(long, value_name = "ADDRESS", value_parser = parse_module_or_resource)]
    pub exclude: Vec<Address>,
    /// Whether objects derived from the stack's objects are deleted, too.
    #[command(flatten)]
    pub leftovers: LeftoverArgs,
}

fn parse_parallelism(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if (1..=1024).contains(&n) => Ok(n),
        _ => Err("expected a number from 1 to 1024".to_owned()),
    }
}

/// Parses a full fingerprint. Eight digits are only for display: an attacker who writes two plans can make
/// their first eight digits equal.
fn parse_fingerprint(text: &str) -> Result<Name, String> {
    const FULL_FINGERPRINT_HINT: &str = "give the whole fingerprint, 64 hexadecimal digits: `stead plan --output json`, `stead plan -v` \
                         and the last line of a plan's Markdown report have it";
    let digits = text.trim().to_lowercase();
    let is_hex = |digits: &str| digits.bytes().all(|b| b.is_ascii_hexdigit());
    match digits.len() {
        64 if is_hex(&digits) => Ok(Name::new(&digits)),
        8 | 9 if is_hex(&digits.replacen('-', "", 1)) => Err(format!(
            "eight digits are for display only, for two plans can have the same eight; {FULL_FINGERPRINT_HINT}"
        )),
        _ => Err(format!("this is not the fingerprint of a plan; {FULL_FINGERPRINT_HINT}")),
    }
}

/// Parses the lifetime of a saved plan, within its limits.
fn parse_lifetime(text: &str) -> Result<SignedDuration, String> {
    let days = text.strip_suffix('d').and_then(|days| days.parse::<u16>().ok());
    let lifetime = match days {
        Some(days) => SignedDuration::from_hours(24 * i64::from(days)),
        None => text.parse().map_err(|_| "expected the form 90m, 12h or 7d".to_owned())?,
    };
    if binding::LIFETIME_RANGE.contains(&lifetime) {
        Ok(lifetime)
    } else {
        Err("expected a duration from 1m to 30d".to_owned())
    }
}
