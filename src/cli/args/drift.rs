//! `drift`.

use clap::Args;

use super::report::PlanReports;
use crate::model::address::Name;

/// `drift`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead drift -e prod --exit-code\n  stead drift -e prod --accept database.main.storage_gb\n\n\
    What a look saw is kept in .stead/drift, names and times only: keep that directory between the runs of a cron, \
    and each tells what is new, since when the rest is there, and what is resolved."
)]
pub struct DriftArgs {
    /// Exit with 3 when there is drift
    #[arg(long, alias = "detailed-exitcode")]
    pub exit_code: bool,
    /// In a job of GitHub Actions or GitLab CI: open an issue of what is to decide, rewrite it while there is such,
    /// close it when there is none
    #[arg(long, conflicts_with = "accept")]
    pub issue: bool,
    /// What it leaves in files besides.
    #[command(flatten)]
    pub reports: PlanReports,
    /// Write the live value of this path into the configuration; shows the change, and asks
    #[arg(long, value_name = "PATH", conflicts_with = "exit_code")]
    pub accept: Option<Name>,
    /// Do not ask
    #[arg(long, requires = "accept")]
    pub yes: bool,
}
