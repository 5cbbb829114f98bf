//! Command-line arguments of `ci`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// `ci`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead ci init github\n  stead plan -e prod --report md=plan.md; stead ci comment plan.md\n  stead apply -e prod --expect \"$(stead ci reviewed -e prod)\""
)]
pub struct CiArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: CiAction,
}

/// What `ci` does.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum CiAction {
    /// Write a pipeline for the stack: checks and plans for review, applies after the merge, a daily look for drift
    Init(CiInitArgs),
    /// Write a Markdown report into the pull or merge request: one comment for each stack and environment, rewritten
    Comment(CiCommentArgs),
    /// Print the fingerprint of the plan that was reviewed where this commit came from
    Reviewed(PullRequestArgs),
    /// Write a hook for git that checks the stack before every commit
    Hook(CiHookArgs),
}

/// `ci init`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead ci init github --install 'curl -fsSL https://example.com/stead.tar.gz | tar xz -C /usr/local/bin'\n  stead -C infra/shop ci init gitlab --image registry.example.com/stead:1"
)]
pub struct CiInitArgs {
    /// For which system
    pub system: CiSystem,
    /// The command that puts stead on a runner's PATH; without one the pipeline says that it is missing
    #[arg(long, value_name = "COMMAND")]
    pub install: Option<String>,
    /// The image that jobs run in
    #[arg(long, value_name = "IMAGE")]
    pub image: Option<String>,
    /// The branch whose merges are applied
    #[arg(long, value_name = "BRANCH", default_value = "main", value_parser = parse_branch)]
    pub branch: String,
    /// Overwrite a file that exists
    #[arg(long)]
    pub force: bool,
}

/// Reads a branch's name: it stands in patterns and conditions, where other signs would mean something else.
fn parse_branch(text: &str) -> Result<String, String> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./".contains(&b);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return Ok(text.to_owned());
    }
    Err("a branch's name is made of letters, digits and - _ . / here; write another one into the file by hand".to_owned())
}

/// A CI system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CiSystem {
    /// GitHub Actions.
    #[value(name = "github")]
    GitHub,
    /// GitLab CI.
    #[value(name = "gitlab")]
    GitLab,
}

/// `ci comment`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Example:\n  stead plan -e prod --report md=plan.md && stead ci comment plan.md || stead ci comment -e prod --failed\n\nIn a job of GitHub Actions it needs GITHUB_TOKEN and `permissions: { pull-requests: write }`; in GitLab CI a GITLAB_TOKEN with the scope `api`."
)]
pub struct CiCommentArgs {
    /// The report: what `--report md=FILE` wrote
    #[arg(required_unless_present = "failed")]
    pub file: Option<PathBuf>,
    /// Say that the plan failed, in place of the plan of an earlier commit
    #[arg(long, conflicts_with = "file")]
    pub failed: bool,
    /// Which pull or merge request.
    #[command(flatten)]
    pub number: PullRequestArgs,
}

/// `ci reviewed`, and which pull or merge request.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Example:\n  fingerprint=$(stead ci reviewed -e prod)\n  stead apply -e prod --expect \"$fingerprint\""
)]
pub struct PullRequestArgs {
    /// The pull or merge request [default: the job's, or the one that its commit came from]
    #[arg(long, value_name = "N")]
    pub number: Option<u64>,
    /// The number of the account whose comments count [default: the token's; `github-actions[bot]` for a token
    /// that may not ask]
    #[arg(long, value_name = "ID")]
    pub author: Option<u64>,
}

/// `ci hook`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  stead -C infra/shop ci hook")]
pub struct CiHookArgs {
    /// Overwrite a hook that exists
    #[arg(long)]
    pub force: bool,
}
