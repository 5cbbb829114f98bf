//! Command-line arguments of `secret`. Each action is one variant here and one arm in `cli/commands/secret.rs`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::plan::ExecutionArgs;
use super::values::{AutoApproval, parse_adoption, parse_approval};
use crate::model::address::{Address, Name};

/// Command-line arguments of `stead secret`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead secret keygen --out ~/stead-identity\n  stead secret get vars.token --to ./token\n  \
                  stead secret rotate api_key.ci -e prod"
)]
pub struct SecretArgs {
    /// What to do with the stored secrets
    #[command(subcommand)]
    pub action: SecretAction,
}

/// Subcommands of `stead secret`.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum SecretAction {
    /// Generate an age identity in a new file, and print its recipient
    Keygen(SecretKeygenArgs),
    /// Show the metadata of one stored secret, or of all; its value with --show or --to
    Get(SecretGetArgs),
    /// Store the value of a secret, read from standard input; it must match the fingerprint in the ledger
    Set(SecretSetArgs),
    /// Accept an edited expression over secrets whose value equals the last applied one, so that a plan shows no change
    Same(SecretSameArgs),
    /// Encrypt all stored secrets to the stack's current recipients
    Rekey(SecretRekeyArgs),
    /// Replace a secret by a new value: plan, prompt, apply, and drop the old value
    Rotate(SecretRotateArgs),
}

/// Command-line arguments of `stead secret keygen`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  stead secret keygen --out ~/stead-identity")]
pub struct SecretKeygenArgs {
    /// New file; an existing one is not overwritten
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

/// Command-line arguments of `stead secret get`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  stead secret get\n  stead secret get vars.token --show\n  \
                        stead secret get api_key.ci --to ./ci-key")]
pub struct SecretGetArgs {
    /// The secret: vars.NAME of a generated variable, else the resource; lists all secrets when omitted
    #[arg(value_name = "ADDRESS", value_parser = parse_secret_address)]
    pub address: Option<Name>,
    /// Print the value; requires the identity
    #[arg(long, requires = "address")]
    pub show: bool,
    /// Write the value to a new file that only you can read; requires the identity
    #[arg(long, value_name = "FILE", requires = "address", conflicts_with = "show")]
    pub to: Option<PathBuf>,
}

/// Command-line arguments of `stead secret set`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  stead secret set vars.token < ./token")]
pub struct SecretSetArgs {
    /// The secret: vars.NAME of a generated variable, else the resource
    #[arg(value_name = "ADDRESS", value_parser = parse_secret_address)]
    pub address: Name,
    /// Allow overwriting a sink that holds another value
    #[arg(long = "overwrite-secret", value_name = "ADDRESS")]
    pub overwrite_secrets: Vec<Name>,
}

/// Command-line arguments of `stead secret same`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  stead secret same app.web.env_vars -e prod")]
pub struct SecretSameArgs {
    /// The attribute with the edited expression
    #[arg(value_name = "ADDRESS.ATTRIBUTE", value_parser = parse_attribute)]
    pub attribute: (Address, Name),
}

/// Command-line arguments of `stead secret rekey`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  STEAD_AGE_IDENTITY=~/stead-identity stead secret rekey -e prod")]
pub struct SecretRekeyArgs {
    /// Do not prompt
    #[arg(long)]
    pub yes: bool,
}

/// Command-line arguments of `stead secret rotate`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  stead secret rotate vars.token -e prod")]
pub struct SecretRotateArgs {
    /// The secret: vars.NAME of a generated variable, else the resource
    #[arg(value_name = "ADDRESS", value_parser = parse_secret_address)]
    pub address: Name,
    /// Do not prompt; with kinds of change, only if the plan has no other kind
    #[arg(long, value_name = "KINDS", num_args = 0..=1, require_equals = true, default_missing_value = "all", value_parser = parse_approval)]
    pub yes: Option<AutoApproval>,
    /// Confirm that an object found after a lost response is yours, before it is replaced
    #[arg(long, value_name = "ADDRESS=ID", value_parser = parse_adoption)]
    pub adopt: Vec<(Address, Option<Name>)>,
    /// Parallelism, reports and time bounds of the run.
    #[command(flatten)]
    pub running: ExecutionArgs,
}

fn parse_attribute(text: &str) -> Result<(Address, Name), String> {
    let (address, attribute) = text
        .rsplit_once('.')
        .ok_or_else(|| "expected ADDRESS.ATTRIBUTE, as in app.web.env_vars".to_owned())?;
    let address = Address::parse(address)
        .map_err(|error| format!("{error}; expected ADDRESS.ATTRIBUTE, as in app.web.env_vars"))?;
    Ok((address, attribute.into()))
}

fn parse_secret_address(text: &str) -> Result<Name, String> {
    Address::parse(text).map(|address| address.as_str().into()).map_err(|error| error.to_string())
}
