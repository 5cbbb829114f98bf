//! Command-line arguments of `ci`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Command-line arguments of `stead ci`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead ci init github\n  stead plan -e prod --report md=plan.md; stead ci comment plan.md\n  stead apply -e prod --expect \"$(stead ci reviewed -e prod)\""
)]
pub struct CiArgs {
    /// Subcommand to run
    #[command(subcommand)]
    pub action: CiAction,
}

/// Subcommands of `stead ci`.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum CiAction {
    /// Write a pipeline for the stack: checks and plans in review, applies after the merge, a daily drift check
    Init(CiInitArgs),
    /// Post a Markdown report to the pull or merge request: one comment per stack and environment, updated in place
    Comment(CiCommentArgs),
    /// Print the fingerprint of the plan that was reviewed in the pull or merge request of this commit
    Reviewed(PullRequestArgs),
    /// Write a Git hook that validates the stack before every commit
    Hook(CiHookArgs),
}

/// Command-line arguments of `stead ci init`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead ci init github --install 'curl -fsSL https://example.com/stead.tar.gz | tar xz -C /usr/local/bin'\n  stead -C infra/shop ci init gitlab --image registry.example.com/stead:1"
)]
pub struct CiInitArgs {
    /// CI system of the pipeline
    pub system: CiSystem,
    /// Command that puts stead on a runner's PATH; without it, the pipeline fails with a message
    #[arg(long, value_name = "COMMAND")]
    pub install: Option<String>,
    /// Container image of the jobs
    #[arg(long, value_name = "IMAGE")]
    pub image: Option<String>,
    /// Branch whose merges are applied
    #[arg(long, value_name = "BRANCH", default_value = "main", value_parser = parse_branch)]
    pub branch: String,
    /// Overwrite an existing file
    #[arg(long)]
    pub force: bool,
}

/// Parses a branch name. Pipelines use it in patterns and conditions, so characters that are special there are refused.
fn parse_branch(text: &str) -> Result<String, String> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./".contains(&b);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return Ok(text.to_owned());
    }
    Err("a branch's name is made of letters, digits and - _ . / here; write another one into the file by hand".to_owned())
}

/// CI system that a pipeline is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CiSystem {
    /// GitHub Actions, configured by a workflow file.
    #[value(name = "github")]
    GitHub,
    /// GitLab CI, configured by a pipeline file.
    #[value(name = "gitlab")]
    GitLab,
}

/// Command-line arguments of `stead ci comment`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Example:\n  stead plan -e prod --report md=plan.md && stead ci comment plan.md || stead ci comment -e prod --failed\n\nIn a job of GitHub Actions it needs GITHUB_TOKEN and `permissions: { pull-requests: write }`; in GitLab CI a GITLAB_TOKEN with the scope `api`."
)]
pub struct CiCommentArgs {
    /// The report, as written by `--report md=FILE`
    #[arg(required_unless_present = "failed")]
    pub file: Option<PathBuf>,
    /// Report that the plan failed, replacing the plan of an earlier commit
    #[arg(long, conflicts_with = "file")]
    pub failed: bool,
    /// Pull or merge request to comment on.
    #[command(flatten)]
    pub number: PullRequestArgs,
}

/// Command-line arguments of `stead ci reviewed`, and of the choice of a pull or merge request.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Example:\n  fingerprint=$(stead ci reviewed -e prod)\n  stead apply -e prod --expect \"$fingerprint\""
)]
pub struct PullRequestArgs {
    /// Number of the pull or merge request [default: the job's, or the one that its commit came from]
    #[arg(long, value_name = "N")]
    pub number: Option<u64>,
    /// The number of the account whose comments count [default: the token's; `github-actions[bot]` for a token
    /// that may not ask]
    #[arg(long, value_name = "ID")]
    pub author: Option<u64>,
}

/// Command-line arguments of `stead ci hook`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  stead -C infra/shop ci hook")]
pub struct CiHookArgs {
    /// Overwrite an existing hook
    #[arg(long)]
    pub force: bool,
}
