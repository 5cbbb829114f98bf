//! The command line of what only shows: the configuration and what it is made of, the managed resources,
//! their cost and their drift.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::report::PlanReportArgs;
use crate::model::address::Name;

/// Command-line arguments of `stead render`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  stead render -e prod\n  stead render --why vm.web.a.plan\n  \
    stead render --output json")]
pub struct RenderArgs {
    /// Only this resource or value, with everything that set it: file, variable, environment, module
    #[arg(long, value_name = "PATH")]
    pub why: Option<String>,
}

/// Command-line arguments of `stead eval`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead eval '$locals.host'\n  stead eval -e prod 'vars.nodes.size() + 1'\n  \
    stead eval 'values(vm.web).map(v, v.name)'\n\nUnknown and secret values are shown as such."
)]
pub struct EvalArgs {
    /// A reference ($vars.x), or an expression with or without ${ and }
    #[arg(value_name = "EXPR", allow_hyphen_values = true)]
    pub expression: String,
}

/// Command-line arguments of `stead explain`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead explain database\n  stead explain database.plan\n  stead explain app.autoscaling.min_replicas\n  \
    stead explain R0301\n  stead explain lifecycle.protect\n  stead explain cidr_subnet\n  stead explain data_loss\n\nWithout a subject, it lists all subjects."
)]
pub struct ExplainArgs {
    /// A kind, KIND.ATTRIBUTE, a keyword, a function, or a code of a diagnostic or a plan
    #[arg(value_name = "SUBJECT")]
    pub subject: Option<String>,
}

/// Command-line arguments of `stead graph`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  stead graph\n  stead graph --format svg > stack.svg\n  \
    stead graph --focus database.main --depth 1\n  stead graph --format dot | dot -Tpng > stack.png")]
pub struct GraphArgs {
    /// Output format of the graph [default: tree]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<GraphFormat>,
    /// Only this resource, its dependencies and its dependents
    #[arg(long, value_name = "ADDRESS")]
    pub focus: Option<String>,
    /// Maximum distance from the focus
    #[arg(long, value_name = "N", requires = "focus")]
    pub depth: Option<usize>,
}

/// Output format of a dependency graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GraphFormat {
    /// A tree: each resource with its dependencies below it.
    Tree,
    /// A Mermaid flowchart, for Markdown.
    Mermaid,
    /// Graphviz source, for `dot`.
    Dot,
    /// An SVG image of the graph.
    Svg,
}

/// Command-line arguments of `stead why`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead why vm.web.a\n  stead why vm.web.a --plan prod.plan\n  stead why database.main --output json"
)]
pub struct WhyArgs {
    /// Address of the resource
    #[arg(value_name = "ADDRESS")]
    pub address: String,
    /// A saved plan: explain the change of the resource in it
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,
}

/// Command-line arguments of `stead ls`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  stead ls -o wide\n  stead ls --unmanaged --output json")]
pub struct LsArgs {
    /// Columns to print
    #[arg(short = 'o', value_name = "COLUMNS", default_value = "short")]
    pub columns: ListColumns,
    /// List unmanaged live objects of every kind, in the stack's projects and outside of projects
    #[arg(long)]
    pub unmanaged: bool,
    /// Also those of every other project of the account
    #[arg(long, requires = "unmanaged")]
    pub all_projects: bool,
    /// Only this kind; repeatable
    #[arg(long = "kind", value_name = "KIND")]
    pub kinds: Vec<Name>,
}

/// Selection of columns of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ListColumns {
    /// The most important columns only.
    Short,
    /// All columns of the list.
    Wide,
}

/// Command-line arguments of `stead get`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  stead get vm.web\n  stead get snapshot:0b7c…")]
pub struct GetArgs {
    /// The resource, or KIND:ID for an unmanaged object
    pub address: String,
}

/// Command-line arguments of `stead cost`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead cost -e prod\n  stead cost -e prod --vs staging\n  stead cost prod.plan\n  stead cost --offline"
)]
pub struct CostArgs {
    /// A saved plan; without it, the environment before and after an apply
    #[arg(value_name = "FILE", conflicts_with_all = ["vs", "offline"])]
    pub file: Option<PathBuf>,
    /// Compare with another environment, each after an apply
    #[arg(long, value_name = "ENV")]
    pub vs: Option<Name>,
    /// Send no request: use the configuration and the prices of the built-in cloud
    #[arg(long)]
    pub offline: bool,
}

/// Command-line arguments of `stead drift`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead drift -e prod --exit-code\n  stead drift -e prod --accept database.main.storage_gb\n\n\
    stead records the drift that it found in .stead/drift, names and times only: keep that directory between cron runs, \
    and each run reports new drift, since when the other drift exists, and what is resolved."
)]
pub struct DriftArgs {
    /// Exit with 3 if there is drift
    #[arg(long, alias = "detailed-exitcode")]
    pub exit_code: bool,
    /// In a job of GitHub Actions or GitLab CI: open an issue with the drift that needs a decision, update it while
    /// there is some, and close it when there is none
    #[arg(long, conflicts_with = "accept")]
    pub issue: bool,
    /// Report files to write in addition to the output.
    #[command(flatten)]
    pub reports: PlanReportArgs,
    /// Write the live value of this path into the configuration; shows the change, and prompts
    #[arg(long, value_name = "PATH", conflicts_with = "exit_code")]
    pub accept: Option<Name>,
    /// Do not prompt
    #[arg(long, requires = "accept")]
    pub yes: bool,
}
