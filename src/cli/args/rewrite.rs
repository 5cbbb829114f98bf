//! The command line of what changes files of a stack.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::report::ProblemReports;
use super::values::Format;

/// `validate`.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead validate\n  stead validate --fix\n  stead validate --output json"
)]
pub struct Validate {
    /// Write the corrected text of every problem that surely means one; shows it, and asks
    #[arg(long)]
    pub fix: bool,
    /// Do not ask
    #[arg(long, requires = "fix")]
    pub yes: bool,
    /// Trust nothing in the stack, as for pull requests from strangers: reads no file besides it, and takes each secret
    /// as given
    #[arg(long, conflicts_with = "fix")]
    pub untrusted: bool,
    /// Refuse a stack without stead.lock
    #[arg(long)]
    pub locked: bool,
    /// What it leaves in files besides.
    #[command(flatten)]
    pub reports: ProblemReports,
}

/// `fmt`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead fmt\n  stead fmt --check\n  stead fmt --diff shop.stead.yaml\n  stead fmt --prune\n  stead fmt - --format kdl < stead.kdl"
)]
pub struct Fmt {
    /// Files, or `-` for standard input; the stack's own when left out
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Write nothing; exit with 1 and the list of files that would change
    #[arg(long)]
    pub check: bool,
    /// Show what changes
    #[arg(long)]
    pub diff: bool,
    /// Drop `moved`, `import` and `removed` entries that are done in every environment; shows what changes
    #[arg(long, conflicts_with = "files")]
    pub prune: bool,
    /// Syntax of standard input
    #[arg(long, default_value = "yaml")]
    pub format: Format,
}

/// `convert`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead convert --to kdl stead.yaml > stead.kdl\n  stead convert docker-compose.yml -o stead.yaml\n  stead convert --from render render.yaml --to kdl -o stead.kdl\n  stead convert --from app-spec .do/app.yaml"
)]
pub struct Convert {
    /// The file, or `-` for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Syntax of the result; the other one, of a stack's own file
    #[arg(long)]
    pub to: Option<Format>,
    /// What the file is [default: told by what stands in it]
    #[arg(long)]
    pub from: Option<Origin>,
    /// Write to this file
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Overwrite a file that exists
    #[arg(long)]
    pub force: bool,
}

/// Another tool's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Origin {
    /// Docker Compose.
    Compose,
    /// Render's blueprint, `render.yaml`.
    Render,
    /// DigitalOcean's app spec, `.do/app.yaml`.
    AppSpec,
}
