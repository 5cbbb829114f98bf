//! Command-line arguments that several commands share, and the global flags. The doc comments of arguments are
//! the text of `--help`. `None` and an empty list mean that the flag is absent; `settings` then reads the
//! variable or the default.

pub(super) mod global_flags;
pub(super) mod plan;
pub(super) mod report;
pub(super) mod values;
pub(super) mod workspace;

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};

use crate::ledger::stores::location::location_patterns;
use crate::model::address::Name;

/// Flags that every command accepts. A flag takes precedence over its `STEAD_*` variable; `settings` merges them.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(next_help_heading = "Global options")]
pub struct GlobalArgs {
    /// Profile of the user's settings.toml [env: STEAD_PROFILE] [default: default]
    #[arg(short, long, global = true, value_name = "NAME")]
    pub profile: Option<Name>,
    /// Environment of the stack [env: STEAD_ENV]
    #[arg(short, long, global = true, value_name = "NAME")]
    pub env: Option<Name>,
    /// Directory of the stack [env: STEAD_DIR] [default: .]
    #[arg(short = 'C', long, global = true, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Variable, as NAME=VALUE; repeatable [env: STEAD_VAR_name]
    #[arg(long = "var", global = true, value_name = "NAME=VALUE", value_parser = parse_variable)]
    pub vars: Vec<(Name, String)>,
    /// File with variables, YAML or KDL; repeatable [env: STEAD_VAR_FILE]
    #[arg(long = "var-file", global = true, value_name = "FILE")]
    pub var_files: Vec<PathBuf>,
    /// Output format [env: STEAD_OUTPUT] [default: text]
    #[arg(long, global = true, value_name = "FORMAT")]
    pub output: Option<OutputFormat>,
    /// Use the built-in cloud instead of an account [env: STEAD_CLOUD]
    #[arg(long, global = true, value_name = "CLOUD")]
    pub cloud: Option<CloudChoice>,
    /// Address of the service [env: STEAD_API_URL]
    #[arg(long, global = true, value_name = "URL", conflicts_with = "cloud")]
    pub api_url: Option<String>,
    /// File with CA certificates to trust in addition to the system's [env: STEAD_CA_FILE]
    #[arg(long, global = true, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    /// Project, by name or id, of a stack without a project block [env: STEAD_PROJECT]
    #[arg(long, global = true, value_name = "PROJECT")]
    pub project: Option<Name>,
    /// Backend for ledgers; the help lists the forms of locations.
    #[arg(long, global = true, value_name = "PLACE", help = backend_help())]
    pub backend: Option<String>,
    /// Allow files, modules and stacks outside of the repository [env: STEAD_ALLOW_OUTSIDE]
    #[arg(long, global = true)]
    pub allow_outside: bool,
    /// Never prompt; fail where a prompt would be needed [env: STEAD_NO_INPUT, CI]
    #[arg(long, global = true)]
    pub no_input: bool,
    /// When to use colors [env: STEAD_COLOR] [default: auto]
    #[arg(long, global = true, value_name = "WHEN")]
    pub color: Option<ColorChoice>,
    /// Print no hints and no progress; results and warnings stay [env: STEAD_QUIET]
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print more: whole values, all locations, steps and requests; -vv: also times and the reasons of decisions [env:
    /// STEAD_VERBOSE]
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
}

/// Output format of a command's results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Text for a person.
    Text,
    /// A single JSON document.
    Json,
    /// One JSON event per line for commands that report progress, such as apply; else the document on one line.
    Ndjson,
    /// The matrix of a GitHub workflow; only `stacks` has it.
    #[value(hide = true)]
    Matrix,
}

/// Cloud that the command uses instead of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CloudChoice {
    /// The cloud built into the binary, with its data below `.stead/`.
    Local,
}

/// When to use colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// Colors if the terminal supports them.
    Auto,
    /// Colors even when the output is not a terminal.
    Always,
    /// No colors, even on a terminal.
    Never,
}

fn parse_variable(text: &str) -> Result<(Name, String), String> {
    match text.split_once('=') {
        // Printed commands have it in place of a value, which can be confidential.
        Some((name, "…")) => {
            Err(format!("`…` stands for the value in a printed command: write the value of {name}"))
        }
        Some((name, value)) if !name.is_empty() => Ok((Name::new(name), value.to_owned())),
        _ => Err("expected the form NAME=VALUE".to_owned()),
    }
}

fn backend_help() -> String {
    let patterns: Vec<_> = location_patterns().collect();
    format!("Backend for ledgers: {} [env: STEAD_BACKEND]", patterns.join(", "))
}
