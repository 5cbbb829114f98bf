//! Command-line arguments of the commands that work on the ledger: `lock`, `history`, `state` and `recover`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Command-line arguments of `stead lock`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead lock status -e prod\n  stead lock break --reason 'its runner is gone' -e prod"
)]
pub struct LockArgs {
    /// What to do with the lock
    #[command(subcommand)]
    pub action: LockAction,
}

/// Subcommands of `stead lock`.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum LockAction {
    /// Show who holds it, since when, and for how long; exits with 8 if it is held
    #[command(after_help = "Example:\n  stead lock status -e prod")]
    Status,
    /// Break it: the holder's open requests become ambiguous intents, and are never repeated
    Break(LockBreakArgs),
}

/// Command-line arguments of `stead lock break`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  stead lock break --reason 'its runner is gone' -e prod")]
pub struct LockBreakArgs {
    /// Reason; it is recorded in the history
    #[arg(long, value_name = "TEXT", value_parser = parse_reason)]
    pub reason: String,
    /// Do not prompt
    #[arg(long)]
    pub yes: bool,
}

/// Command-line arguments of `stead history`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  stead history -e prod\n  stead history show 1 --output json")]
pub struct HistoryArgs {
    /// Show one apply in full
    #[command(subcommand)]
    pub show: Option<HistoryAction>,
}

/// Subcommands of `stead history`.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum HistoryAction {
    /// Show one apply in full
    #[command(after_help = "Example:\n  stead history show 1")]
    Show {
        /// Number in the list; 1 is the latest apply
        #[arg(value_parser = parse_list_number)]
        number: NonZeroUsize,
    },
}

/// Command-line arguments of `stead state`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead state list\n  stead state pull -o ledger.json\n  stead state push ledger.json\n  stead state migrate --to s3://bucket/prefix\n  stead state seal\n  stead state verify"
)]
pub struct StateArgs {
    /// What to do with the ledger
    #[command(subcommand)]
    pub action: StateAction,
}

/// Subcommands of `stead state`.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum StateAction {
    /// List the objects that it owns, without a request to the service
    #[command(after_help = "Example:\n  stead state list --output json")]
    List,
    /// Export it as one document with its own digest
    Pull(StatePullArgs),
    /// Replace it by an exported document
    Push(StatePushArgs),
    /// Move it to another backend
    Migrate(StateMigrateArgs),
    /// Add MACs to a ledger without them, or replace their key
    Seal(StateSealArgs),
    /// Allow this directory to apply the stack of a ledger on a shared backend, too
    AdoptDirectory(AdoptDirectoryArgs),
    /// Verify every stored record, digest and checkpoint
    #[command(after_help = "Example:\n  stead state verify -e prod")]
    Verify,
    /// Repair a damaged ledger as far as possible
    Repair(StateRepairArgs),
}

/// Command-line arguments of `stead state pull`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Example:\n  stead state pull -o ledger.json\n\nThe document contains the key of the secrets' fingerprints, but no secret: keep it as private as the ledger."
)]
pub struct StatePullArgs {
    /// Output file, readable only by its owner; standard output when omitted
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Command-line arguments of `stead state push`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  stead state push ledger.json")]
pub struct StatePushArgs {
    /// A document written by `state pull`
    pub file: PathBuf,
    /// Push although the ledger has new records since the document was pulled
    #[arg(long)]
    pub force: bool,
    /// Do not prompt
    #[arg(long)]
    pub yes: bool,
}

/// Command-line arguments of `stead state migrate`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Example:\n  stead state migrate --to s3://bucket/prefix\n\nIt can be repeated after any interruption."
)]
pub struct StateMigrateArgs {
    /// New location: file:DIR, postgres://…, s3://bucket/prefix or https://…
    #[arg(long, value_name = "PLACE")]
    pub to: String,
    /// Overwrite an older copy of this ledger that was never used
    #[arg(long)]
    pub force: bool,
    /// Do not prompt
    #[arg(long)]
    pub yes: bool,
}

/// Command-line arguments of `stead state seal`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead state pull -o ledger-backup.json && stead state seal\n  STEAD_LEDGER_KEY=new.key stead state seal --previous-key old.key\n\nThe key is in the file that STEAD_LEDGER_KEY names. From then on the ledger is not read with that key unless MACs\nof it cover every record, and not written without it. It can be repeated after any interruption."
)]
pub struct StateSealArgs {
    /// Key of the present MACs; they are replaced by MACs under STEAD_LEDGER_KEY
    #[arg(long, value_name = "FILE")]
    pub previous_key: Option<PathBuf>,
    /// Do not prompt
    #[arg(long)]
    pub yes: bool,
}

/// Command-line arguments of `stead state adopt-directory`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead state adopt-directory -e prod\n  stead state adopt-directory --all --yes\n\nA ledger on a shared backend records the repository and the directory that it is applied from; plans from another\ndirectory are blocked. A move inside of the repository needs no adoption."
)]
pub struct AdoptDirectoryArgs {
    /// All stacks of the repository, in all environments (or the one of -e), after it was renamed or copied
    #[arg(long)]
    pub all: bool,
    /// Do not prompt
    #[arg(long)]
    pub yes: bool,
}

/// Command-line arguments of `stead state repair`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  stead state repair\n\nDamaged files are kept aside, never deleted.")]
pub struct StateRepairArgs {
    /// Do not prompt
    #[arg(long)]
    pub yes: bool,
}

/// Command-line arguments of `stead recover`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  stead recover -e prod\n  stead recover --yes && stead plan")]
pub struct RecoverArgs {
    /// Adopt unambiguous matches without a prompt, and list the rest
    #[arg(long)]
    pub yes: bool,
}

fn parse_list_number(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "expected a number of the list, from 1 on".to_owned())
}

fn parse_reason(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("give a reason, in a few words".to_owned()),
        text if text.len() > 500 => Err("a reason has 500 characters at most".to_owned()),
        text => Ok(text.to_owned()),
    }
}
