//! The command line of what serves others: the built-in cloud, shells, and documents for other tools.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Command-line arguments of `stead emulator`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead emulator --seed shop\n  stead emulator --seed objects=200\n  stead emulator --fail 'POST /vms=503:10%' --speed 60"
)]
pub struct EmulatorArgs {
    /// Port; 0 selects a free one
    #[arg(long, default_value_t = 8377)]
    pub port: u16,
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub bind: std::net::IpAddr,
    /// Listen on other than loopback addresses; anyone with the key can reach it
    #[arg(long)]
    pub i_know: bool,
    /// Data directory [default: .stead, the cloud that --cloud local uses]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Fill a new cloud: shop (the objects of examples/shop), objects=N, or an exported file
    #[arg(long, value_name = "SPEC")]
    pub seed: Option<String>,
    /// Inject failures: 'POST /vms=503:10%'; repeatable
    #[arg(long, value_name = "SPEC")]
    pub fail: Vec<String>,
    /// Seed of the random failures
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub fault_seed: u64,
    /// Speed of its clock, in seconds per real second [default: 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub speed: Option<u32>,
    /// Disable rate limits
    #[arg(long)]
    pub no_limiter: bool,
}

/// Command-line arguments of `stead completions`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead completions bash > ~/.local/share/bash-completion/completions/stead\n  stead completions zsh > ~/.zfunc/_stead\n  stead completions fish > ~/.config/fish/completions/stead.fish\n\nbash, zsh and fish also complete what the stack has: addresses, environments, actions and codes."
)]
pub struct CompletionsArgs {
    /// Shell to write the script for
    pub shell: clap_complete::Shell,
}

/// Command-line arguments of `stead man`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  stead man plan | man -l -\n  stead man --out ~/.local/share/man/man1")]
pub struct ManArgs {
    /// The command, word by word; stead itself when omitted
    #[arg(value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Write the pages of all commands into this directory
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub out: Option<PathBuf>,
}

/// Command-line arguments of `stead __complete`, which completion scripts run.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct CompleteArgs {
    /// Index of the word at the cursor; the program itself is word 0
    pub at: usize,
    /// All words of the command line
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<String>,
}

/// Command-line arguments of `stead schema`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead schema stack > stack.schema.json\n  stead schema openapi > cloud.openapi.json\n  \
    stead schema plan > plan.schema.json\n\n\
    An editor checks and completes a YAML file whose first line is\n  \
    # yaml-language-server: $schema=./stack.schema.json"
)]
pub struct SchemaArgs {
    /// Document to print
    pub document: SchemaDocument,
}

/// A schema that `stead schema` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaDocument {
    /// Files of a stack, as JSON Schema, draft 7.
    Stack,
    /// API of the service, as OpenAPI 3.1.
    Openapi,
    /// JSON output of `plan` and `show`.
    Plan,
    /// One line of the NDJSON output of `plan` and `show`.
    PlanEvent,
    /// One line of the NDJSON output of `apply` and `destroy`.
    ApplyEvent,
    /// JSON output of `drift`.
    Drift,
    /// JSON output of `ls`.
    Ls,
    /// JSON output of `do`, and one line of its NDJSON output.
    Do,
    /// JSON output of `catalog`.
    Catalog,
    /// JSON output of `cost`.
    Cost,
    /// JSON output of `test`.
    Test,
    /// JSON output of `validate`.
    Validate,
    /// JSON output of `history`.
    History,
    /// JSON output of `lock status`.
    Lock,
    /// JSON output of `recover`.
    Recover,
    /// JSON output of `secret get`.
    Secret,
}
