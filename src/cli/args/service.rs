//! The command line of the account: its key, its checks, and the catalog of the service.

use clap::{Args, Subcommand};
use rust_decimal::Decimal;

/// `login`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "The key is kept in credentials.json in $STEAD_CONFIG_DIR, $XDG_CONFIG_HOME/stead or ~/.config/stead,\nreadable by you only, and is sent to this one service; with --keychain in the system's keychain (macOS: the login\nkeychain; elsewhere what secret-tool of libsecret reaches), and the file only says so. Keys come from, in this order: STEAD_API_KEY,\nkey_command of the profile, this file. No flag takes a key.\n\nExamples:\n  stead login --api-url https://api.example.com\n  stead login -p work --keychain\n  pass show stead | stead login --key-stdin"
)]
pub struct LoginArgs {
    /// Read the key from standard input instead of asking for it
    #[arg(long)]
    pub key_stdin: bool,
    /// Keep the key in the system's keychain, not in the file
    #[arg(long)]
    pub keychain: bool,
}

/// `doctor`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "It sends nothing but GETs, works without a stack, and exits with 1 when a check failed.\n--api exits with 1 when the service differs from what stead assumes; what it learns (the largest page,\nthe rate) is kept for this service and profile, and used from then on.\n\nExamples:\n  stead doctor\n  stead doctor --fix\n  stead doctor --api -p work\n  stead doctor --api --output json > contract.json"
)]
pub struct DoctorArgs {
    /// Compare what the service shows with what stead assumes of it
    #[arg(long, conflicts_with = "fix")]
    pub api: bool,
    /// Mend what can be mended without harm: the modes of stead's own files
    #[arg(long)]
    pub fix: bool,
}

/// `catalog`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Tables of prices need no key.\n\nExamples:\n  stead catalog vm --min-cpu 2 --min-ram 4GB --max-price 30\n  stead catalog database --engine postgres --sort monthly_price\n  stead catalog templates --search ubuntu --output json\n  stead catalog update --check"
)]
pub struct CatalogArgs {
    /// Which table, as vm, regions, templates; all of them are listed when left out
    pub table: Option<String>,
    /// At least so many processor cores
    #[arg(long, value_name = "N", value_parser = parse_amount)]
    pub min_cpu: Option<Decimal>,
    /// At least so much memory, as 2048 (MB) or 2GB
    #[arg(long, value_name = "SIZE", value_parser = parse_megabytes)]
    pub min_ram: Option<Decimal>,
    /// At least so much storage, in GB
    #[arg(long, value_name = "GB", value_parser = parse_amount)]
    pub min_storage: Option<Decimal>,
    /// Only this database engine
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<String>,
    /// At most so much a month, in USD
    #[arg(long, value_name = "USD", value_parser = parse_amount)]
    pub max_price: Option<Decimal>,
    /// Only where a field has this value; repeatable
    #[arg(long = "where", value_name = "FIELD=VALUE", value_parser = parse_field_filter)]
    pub wheres: Vec<(String, String)>,
    /// Only names with this in them
    #[arg(long, value_name = "TEXT")]
    pub search: Option<String>,
    /// By which field it is sorted; -FIELD puts the largest first [default: monthly_price]
    #[arg(long, value_name = "FIELD", allow_hyphen_values = true)]
    pub sort: Option<String>,
    /// What about the pinned names
    #[command(subcommand)]
    pub action: Option<CatalogAction>,
}

/// What about the pinned names.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum CatalogAction {
    /// Pin today's ids and prices of the names that the stack uses, in stead.lock
    #[command(after_help = "Examples:\n  stead catalog update\n  stead catalog update --check")]
    Update(CatalogUpdateArgs),
}

/// `catalog update`.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct CatalogUpdateArgs {
    /// Write nothing; exit with 2 when something would change
    #[arg(long)]
    pub check: bool,
}

fn parse_amount(text: &str) -> Result<Decimal, String> {
    text.parse().map_err(|_| "it is a number, as 2 or 0.5".to_owned())
}

fn parse_field_filter(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("it has the form FIELD=VALUE".to_owned()),
    }
}

/// Reads a size of memory in MB.
fn parse_megabytes(text: &str) -> Result<Decimal, String> {
    let lower = text.to_ascii_lowercase();
    let (digits, factor) = match lower.trim_end_matches("ib").trim_end_matches('b') {
        rest if rest.ends_with('g') => (rest.trim_end_matches('g'), 1024),
        rest => (rest.trim_end_matches('m'), 1),
    };
    let number: Decimal = digits.trim().parse().map_err(|_| "it has the form 2048 or 2GB".to_owned())?;
    Ok(number * Decimal::from(factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_memory() {
        let table =
            [("2048", 2048), ("2GB", 2048), ("2g", 2048), ("512MB", 512), ("1GiB", 1024), ("0.5gb", 512)];
        for (text, wanted) in table {
            assert_eq!(parse_megabytes(text).unwrap(), Decimal::from(wanted), "{text}");
        }
        assert!(parse_megabytes("much").is_err());
    }
}
