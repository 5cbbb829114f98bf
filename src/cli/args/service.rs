//! The command line of the account: its key, its checks, and the catalog of the service.

use clap::{Args, Subcommand};
use rust_decimal::Decimal;

/// Command-line arguments of `stead login`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "The key is kept in credentials.json in $STEAD_CONFIG_DIR, $XDG_CONFIG_HOME/stead or ~/.config/stead,\nreadable by you only, and is sent to this one service; with --keychain in the system's keychain (macOS: the login\nkeychain; elsewhere the keyring of libsecret's secret-tool), and the file only records that. Keys come from, in this order: STEAD_API_KEY,\nkey_command of the profile, this file. No flag takes a key.\n\nExamples:\n  stead login --api-url https://api.example.com\n  stead login -p work --keychain\n  pass show stead | stead login --key-stdin"
)]
pub struct LoginArgs {
    /// Read the key from standard input instead of prompting for it
    #[arg(long)]
    pub key_stdin: bool,
    /// Store the key in the system's keychain instead of the file
    #[arg(long)]
    pub keychain: bool,
}

/// Command-line arguments of `stead doctor`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "It sends nothing but GETs, works without a stack, and exits with 1 when a check failed.\n--api exits with 1 when the service differs from what stead assumes; what it learns (the largest page,\nthe rate) is kept for this service and profile, and used from then on.\n\nExamples:\n  stead doctor\n  stead doctor --fix\n  stead doctor --api -p work\n  stead doctor --api --output json > contract.json"
)]
pub struct DoctorArgs {
    /// Compare the behavior of the service with the contract that stead assumes
    #[arg(long, conflicts_with = "fix")]
    pub api: bool,
    /// Fix what is safe to fix: the permissions of stead's own files
    #[arg(long)]
    pub fix: bool,
}

/// Command-line arguments of `stead catalog`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Tables of prices need no key.\n\nExamples:\n  stead catalog vm --min-cpu 2 --min-ram 4GB --max-price 30\n  stead catalog database --engine postgres --sort monthly_price\n  stead catalog templates --search ubuntu --output json\n  stead catalog update --check"
)]
pub struct CatalogArgs {
    /// Table to show, such as vm, regions, templates; lists all tables when omitted
    pub table: Option<String>,
    /// Minimum number of processor cores
    #[arg(long, value_name = "N", value_parser = parse_amount)]
    pub min_cpu: Option<Decimal>,
    /// Minimum memory, as 2048 (MB) or 2GB
    #[arg(long, value_name = "SIZE", value_parser = parse_megabytes)]
    pub min_ram: Option<Decimal>,
    /// Minimum storage, in GB
    #[arg(long, value_name = "GB", value_parser = parse_amount)]
    pub min_storage: Option<Decimal>,
    /// Only this database engine
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<String>,
    /// Maximum monthly price, in USD
    #[arg(long, value_name = "USD", value_parser = parse_amount)]
    pub max_price: Option<Decimal>,
    /// Only rows where a field has this value; repeatable
    #[arg(long = "where", value_name = "FIELD=VALUE", value_parser = parse_field_filter)]
    pub wheres: Vec<(String, String)>,
    /// Only names that contain this text
    #[arg(long, value_name = "TEXT")]
    pub search: Option<String>,
    /// Field to sort by; -FIELD sorts in descending order [default: monthly_price]
    #[arg(long, value_name = "FIELD", allow_hyphen_values = true)]
    pub sort: Option<String>,
    /// What to do with the pinned names
    #[command(subcommand)]
    pub action: Option<CatalogAction>,
}

/// Subcommands of `stead catalog`.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum CatalogAction {
    /// Pin the current ids and prices of the names that the stack uses, in stead.lock
    #[command(after_help = "Examples:\n  stead catalog update\n  stead catalog update --check")]
    Update(CatalogUpdateArgs),
}

/// Command-line arguments of `stead catalog update`.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct CatalogUpdateArgs {
    /// Write nothing; exit with 2 if something would change
    #[arg(long)]
    pub check: bool,
}

fn parse_amount(text: &str) -> Result<Decimal, String> {
    text.parse().map_err(|_| "expected a number, such as 2 or 0.5".to_owned())
}

fn parse_field_filter(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected the form FIELD=VALUE".to_owned()),
    }
}

/// Parses a size of memory, as a number of MB or with a unit, and returns MB.
fn parse_megabytes(text: &str) -> Result<Decimal, String> {
    let lower = text.to_ascii_lowercase();
    let (digits, factor) = match lower.trim_end_matches("ib").trim_end_matches('b') {
        rest if rest.ends_with('g') => (rest.trim_end_matches('g'), 1024),
        rest => (rest.trim_end_matches('m'), 1),
    };
    let number: Decimal = digits.trim().parse().map_err(|_| "expected the form 2048 or 2GB".to_owned())?;
    Ok(number * Decimal::from(factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_sizes_are_parsed_with_their_units() {
        let table =
            [("2048", 2048), ("2GB", 2048), ("2g", 2048), ("512MB", 512), ("1GiB", 1024), ("0.5gb", 512)];
        for (text, wanted) in table {
            assert_eq!(parse_megabytes(text).unwrap(), Decimal::from(wanted), "{text}");
        }
        assert!(parse_megabytes("much").is_err());
    }
}
