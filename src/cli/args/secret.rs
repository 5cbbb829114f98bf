//! Command-line arguments of `secret`. Each action is one variant here and one arm in `cli/commands/secret.rs`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::plan::ExecutionArgs;
use super::values::{AutoApproval, parse_adoption, parse_approval};
use crate::model::address::{Address, Name};

/// `secret`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead secret keygen --out ~/stead-identity\n  stead secret get vars.token --to ./token\n  \
                  stead secret rotate api_key.ci -e prod"
)]
pub struct SecretArgs {
    /// What to do with it
    #[command(subcommand)]
    pub action: SecretAction,
}

/// What to do with kept secrets.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum SecretAction {
    /// Make an age identity in a new file, and print its recipient
    Keygen(SecretKeygenArgs),
    /// Show what is known of a kept secret, or of all; its value with --show or --to
    Get(SecretGetArgs),
    /// Give the ledger the value of a secret by standard input; it must be the one with the ledger's fingerprint
    Set(SecretSetArgs),
    /// Record a new expression over secrets that gives the value which was applied, so that a plan has no change
    Same(SecretSameArgs),
    /// Encrypt all kept secrets to the recipients that the stack names now
    Rekey(SecretRekeyArgs),
    /// Replace a secret by a new one: plan, ask, apply, and drop the one before
    Rotate(SecretRotateArgs),
}

/// `secret keygen`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  stead secret keygen --out ~/stead-identity")]
pub struct SecretKeygenArgs {
    /// The new file; one that exists is not touched
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

/// `secret get`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  stead secret get\n  stead secret get vars.token --show\n  \
                        stead secret get api_key.ci --to ./ci-key")]
pub struct SecretGetArgs {
    /// The secret: vars.NAME of a generated variable, else the resource; without it, all are listed
    #[arg(value_name = "ADDRESS", value_parser = parse_secret_address)]
    pub address: Option<Name>,
    /// Print the value; needs the identity
    #[arg(long, requires = "address")]
    pub show: bool,
    /// Write the value to a new file that only you can read; needs the identity
    #[arg(long, value_name = "FILE", requires = "address", conflicts_with = "show")]
    pub to: Option<PathBuf>,
}

/// `secret set`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  stead secret set vars.token < ./token")]
pub struct SecretSetArgs {
    /// The secret: vars.NAME of a generated variable, else the resource
    #[arg(value_name = "ADDRESS", value_parser = parse_secret_address)]
    pub address: Name,
    /// Let a sink that holds something else be replaced
    #[arg(long = "overwrite-secret", value_name = "ADDRESS")]
    pub overwrite_secrets: Vec<Name>,
}

/// `secret same`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  stead secret same app.web.env_vars -e prod")]
pub struct SecretSameArgs {
    /// The attribute whose expression was edited
    #[arg(value_name = "ADDRESS.ATTRIBUTE", value_parser = parse_attribute)]
    pub attribute: (Address, Name),
}

/// `secret rekey`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  STEAD_AGE_IDENTITY=~/stead-identity stead secret rekey -e prod")]
pub struct SecretRekeyArgs {
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

/// `secret rotate`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  stead secret rotate vars.token -e prod")]
pub struct SecretRotateArgs {
    /// The secret: vars.NAME of a generated variable, else the resource
    #[arg(value_name = "ADDRESS", value_parser = parse_secret_address)]
    pub address: Name,
    /// Do not ask; with kinds of change, only if the plan has no others
    #[arg(long, value_name = "KINDS", num_args = 0..=1, require_equals = true, default_missing_value = "all", value_parser = parse_approval)]
    pub yes: Option<AutoApproval>,
    /// Confirm that an object found after a lost answer is yours, before it is replaced
    #[arg(long, value_name = "ADDRESS=ID", value_parser = parse_adoption)]
    pub adopt: Vec<(Address, Option<Name>)>,
    /// How it runs.
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
