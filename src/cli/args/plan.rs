//! The command line of `plan`, `show`, `apply` and `destroy`: what a plan covers, how it is saved, and how its apply
//! runs.

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

/// What a plan covers, for every command that makes one.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct PlanScopeArgs {
    /// Only this resource, or this whole module, and what it needs; repeatable
    #[arg(long = "target", value_name = "ADDRESS", value_parser = parse_module_or_resource)]
    pub targets: Vec<Address>,
    /// Not this resource or module, nor what needs it; repeatable
    #[arg(long, value_name = "ADDRESS", value_parser = parse_module_or_resource)]
    pub exclude: Vec<Address>,
    /// Take over a live object by id; one that an apply let go of is taken back without; repeatable
    #[arg(long, value_name = "ADDRESS[=ID]", value_parser = parse_adoption)]
    pub adopt: Vec<(Address, Option<Name>)>,
    /// Let this object that holds data be replaced by an empty one; repeatable
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    pub replace: Vec<Address>,
    /// Let this object go with the data that it holds, now that no block declares it; repeatable
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    pub delete_data: Vec<Address>,
    /// Let this secret replace whatever its file or line holds, `vars.NAME` or a resource; repeatable
    #[arg(long = "overwrite-secret", value_name = "ADDRESS")]
    pub overwrite_secrets: Vec<Name>,
    /// Refuse to go on where stead.lock is missing, or lacks a name that the stack uses
    #[arg(long)]
    pub locked: bool,
    /// Allow more deletions than the budget does
    #[arg(long)]
    pub allow_deletes: bool,
}

/// `plan`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead plan -e prod\n  stead plan -o prod.plan && stead apply prod.plan\n  stead plan -o prod.plan --expires 12h --sign-key plan.pem\n  stead plan --exit-code --output json > plan.json"
)]
pub struct PlanArgs {
    /// Save the plan, to be applied as it is
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Sign the saved plan with this Ed25519 key, a private one in PEM form [env: STEAD_PLAN_SIGN_KEY]
    #[arg(long, value_name = "FILE", requires = "out")]
    pub sign_key: Option<PathBuf>,
    /// Refuse the saved plan after this time, from 1m to 30d [default: 7d]
    #[arg(long, value_name = "TIME", requires = "out", value_parser = parse_lifetime)]
    pub expires: Option<SignedDuration>,
    /// Exit with 2 when there are changes
    #[arg(long, alias = "detailed-exitcode")]
    pub exit_code: bool,
    /// What it leaves in files besides.
    #[command(flatten)]
    pub reports: PlanReportArgs,
    /// Plan the removal of everything that is not protected
    #[arg(long)]
    pub destroy: bool,
    /// What becomes of what came of it.
    #[command(flatten)]
    pub leftovers: LeftoverArgs,
    /// Trust nothing in the stack, as for pull requests from strangers: reads no file besides it, runs
    /// nothing, writes nothing but reports, asks for no secret; it needs STEAD_READONLY_API_KEY, and refuses STEAD_API_KEY
    #[arg(long, conflicts_with = "out")]
    pub untrusted: bool,
    /// What it covers.
    #[command(flatten)]
    pub scope: PlanScopeArgs,
}

/// `show`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  stead show prod.plan")]
pub struct ShowArgs {
    /// The saved plan
    pub file: PathBuf,
    /// Check that one of these Ed25519 keys, public ones in PEM form, signed it [env: STEAD_PLAN_VERIFY_KEY]
    #[arg(long, value_name = "FILE")]
    pub verify_key: Option<PathBuf>,
    /// What it leaves in files besides.
    #[command(flatten)]
    pub reports: PlanReportArgs,
}

/// `apply`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead apply -e staging\n  stead apply prod.plan\n  stead apply --yes=create,update\n  stead apply --expect $FINGERPRINT\n  stead apply prod.plan --expect $FINGERPRINT --verify-key plan.pub\n  stead apply --override budget --reason 'agreed with finance'\n\nSecrets that the stack hands to a sink go to a program of your own settings.toml, by its standard input:\n  [profiles.default.sinks]\n  vault = [\"sh\", \"-c\", \"pass insert -m shop/$STEAD_ADDRESS\"]"
)]
pub struct ApplyArgs {
    /// A saved plan; it is applied as it is or not at all
    #[arg(conflicts_with_all = ["targets", "exclude", "adopt", "replace", "delete_data", "allow_deletes"])]
    pub file: Option<PathBuf>,
    /// Apply the saved plan only if one of these Ed25519 keys, public ones in PEM form, signed it
    /// [env: STEAD_PLAN_VERIFY_KEY]
    #[arg(long, value_name = "FILE", requires = "file")]
    pub verify_key: Option<PathBuf>,
    /// Do not ask; with kinds of change, only if the plan has no others
    #[arg(long, value_name = "KINDS", num_args = 0..=1, require_equals = true, default_missing_value = "all", value_parser = parse_approval)]
    pub yes: Option<AutoApproval>,
    /// Apply only if the plan has this fingerprint; whoever names it agrees to the plan
    #[arg(long, value_name = "FINGERPRINT", value_parser = parse_fingerprint)]
    pub expect: Option<Name>,
    /// Apply although this policy says no; repeatable, and recorded with the reason
    #[arg(long = "override", value_name = "POLICY", requires = "reason")]
    pub overrides: Vec<Name>,
    /// Why a policy is overridden
    #[arg(long, value_name = "TEXT", requires = "overrides", value_parser = parse_nonempty_reason)]
    pub reason: Option<String>,
    /// How it runs.
    #[command(flatten)]
    pub running: ExecutionArgs,
    /// What it covers.
    #[command(flatten)]
    pub scope: PlanScopeArgs,
}

fn parse_nonempty_reason(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("say why".to_owned()),
        text => Ok(text.to_owned()),
    }
}

/// How an apply runs.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct ExecutionArgs {
    /// Steps at the same time, at most; requests are paced to the service's limiter anyway
    #[arg(long, value_name = "N", default_value_t = DEFAULT_CONCURRENCY, value_parser = parse_parallelism)]
    pub parallel: usize,
    /// What it leaves in files besides.
    #[command(flatten)]
    pub reports: PlanReportArgs,
    /// A request takes effect within this time of being sent, or never [default: 60s; local cloud: 1s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub effect_bound: Option<Duration>,
    /// A new object is listed within this time [default: 10s; local cloud: 1s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub listing_bound: Option<Duration>,
    /// Assume no bound on time: what became of a lost request is always asked [env: STEAD_STRICT]
    #[arg(long)]
    pub strict: bool,
    /// Go on with a ledger that is older than the last one seen here, or a fork of it
    #[arg(long)]
    pub accept_older_ledger: bool,
}

/// For `destroy`, and for the plan of one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct LeftoverArgs {
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
pub struct DestroyArgs {
    /// Do not ask; needs --confirm
    #[arg(long)]
    pub yes: bool,
    /// The stack's name, as consent
    #[arg(long, value_name = "STACK")]
    pub confirm: Option<Name>,
    /// How it runs.
    #[command(flatten)]
    pub running: ExecutionArgs,
    /// Only this resource and what needs it; repeatable
    #[arg(long = "target", value_name = "ADDRESS", value_parser = parse_module_or_resource)]
    pub targets: Vec<Address>,
    /// Not this resource or module; repeatable
    #[arg(long, value_name = "ADDRESS", value_parser = parse_module_or_resource)]
    pub exclude: Vec<Address>,
    /// What becomes of what came of it.
    #[command(flatten)]
    pub leftovers: LeftoverArgs,
}

fn parse_parallelism(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if (1..=1024).contains(&n) => Ok(n),
        _ => Err("it is a number from 1 to 1024".to_owned()),
    }
}

/// Reads a whole fingerprint. Eight digits are for display: somebody who writes two plans can make them agree there.
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
        _ => Err(format!("this is no fingerprint of a plan; {FULL_FINGERPRINT_HINT}")),
    }
}

/// Reads how long a saved plan can be applied.
fn parse_lifetime(text: &str) -> Result<SignedDuration, String> {
    let days = text.strip_suffix('d').and_then(|days| days.parse::<u16>().ok());
    let lifetime = match days {
        Some(days) => SignedDuration::from_hours(24 * i64::from(days)),
        None => text.parse().map_err(|_| "it has the form 90m, 12h or 7d".to_owned())?,
    };
    if binding::LIFETIME_RANGE.contains(&lifetime) {
        Ok(lifetime)
    } else {
        Err("it is from 1m to 30d".to_owned())
    }
}
