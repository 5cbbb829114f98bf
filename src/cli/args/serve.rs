//! The command line of what serves others: the built-in cloud, shells, and documents for other tools.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// `emulator`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead emulator --seed shop\n  stead emulator --seed objects=200\n  stead emulator --fail 'POST /vms=503:10%' --speed 60"
)]
pub struct EmulatorArgs {
    /// Port; 0 takes a free one
    #[arg(long, default_value_t = 8377)]
    pub port: u16,
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub bind: std::net::IpAddr,
    /// Listen beyond this machine, knowing that anyone with the key can reach it
    #[arg(long)]
    pub i_know: bool,
    /// Where its data is [default: .stead, the cloud that --cloud local uses]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Fill a new cloud: shop (what examples/shop makes), objects=N, or an export's file
    #[arg(long, value_name = "SPEC")]
    pub seed: Option<String>,
    /// Inject failures: 'POST /vms=503:10%'; repeatable
    #[arg(long, value_name = "SPEC")]
    pub fail: Vec<String>,
    /// Where the chance of injected failures begins
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub fault_seed: u64,
    /// Seconds of its clock for each second [default: 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub speed: Option<u32>,
    /// Limit no rates
    #[arg(long)]
    pub no_limiter: bool,
}

/// `completions`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead completions bash > ~/.local/share/bash-completion/completions/stead\n  stead completions zsh > ~/.zfunc/_stead\n  stead completions fish > ~/.config/fish/completions/stead.fish\n\nbash, zsh and fish also complete what the stack has: addresses, environments, actions and codes."
)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// `man`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  stead man plan | man -l -\n  stead man --out ~/.local/share/man/man1")]
pub struct ManArgs {
    /// The command, word by word; stead itself when left out
    #[arg(value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Write the pages of all commands into this directory
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub out: Option<PathBuf>,
}

/// `__complete`: what a completion script asks.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct CompleteArgs {
    /// Which word is being written; the program itself is word 0
    pub at: usize,
    /// The words
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<String>,
}

/// `schema`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead schema stack > stack.schema.json\n  stead schema openapi > cloud.openapi.json\n  \
    stead schema plan > plan.schema.json\n\n\
    An editor checks and completes a YAML file whose first line is\n  \
    # yaml-language-server: $schema=./stack.schema.json"
)]
pub struct SchemaArgs {
    /// Which document
    pub document: SchemaDocument,
}

/// A document that is made from what stead knows of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaDocument {
    /// The files of a stack, as JSON Schema, draft 7.
    Stack,
    /// The service's API, as OpenAPI 3.1.
    Openapi,
    /// What `plan` and `show` print with --output json.
    Plan,
    /// A line of what they print with --output ndjson.
    PlanEvent,
    /// A line of what `apply` and `destroy` print with --output ndjson.
    ApplyEvent,
    /// What `drift` prints.
    Drift,
    /// What `ls` prints.
    Ls,
    /// What `do` prints, and a line of it with --output ndjson.
    Do,
    /// What `catalog` prints.
    Catalog,
    /// What `cost` prints.
    Cost,
    /// What `test` prints.
    Test,
    /// What `validate` prints.
    Validate,
    /// What `history` prints.
    History,
    /// What `lock status` prints.
    Lock,
    /// What `recover` prints.
    Recover,
    /// What `secret get` prints.
    Secret,
}
