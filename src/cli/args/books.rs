//! Command-line arguments of the commands that work on the ledger: `lock`, `history`, `state` and `recover`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `lock`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead lock status -e prod\n  stead lock break --reason 'its runner is gone' -e prod"
)]
pub struct LockArgs {
    /// What about it
    #[command(subcommand)]
    pub action: LockAction,
}

/// What about a lock.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum LockAction {
    /// Say who has it, since when, and for how long; exits with 8 when someone has
    #[command(after_help = "Example:\n  stead lock status -e prod")]
    Status,
    /// Take it from whoever has it: their open requests are asked about, never repeated
    Break(LockBreakArgs),
}

/// `lock break`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  stead lock break --reason 'its runner is gone' -e prod")]
pub struct LockBreakArgs {
    /// Why; the history keeps it
    #[arg(long, value_name = "TEXT", value_parser = parse_reason)]
    pub reason: String,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

/// `history`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  stead history -e prod\n  stead history show 1 --output json")]
pub struct HistoryArgs {
    /// One apply in full
    #[command(subcommand)]
    pub show: Option<HistoryAction>,
}

/// What of a history.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum HistoryAction {
    /// Show one apply in full
    #[command(after_help = "Example:\n  stead history show 1")]
    Show {
        /// Its number in the list; 1 is the last one
        #[arg(value_parser = parse_list_number)]
        number: NonZeroUsize,
    },
}

/// `state`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead state list\n  stead state pull -o ledger.json\n  stead state push ledger.json\n  stead state migrate --to s3://bucket/prefix\n  stead state seal\n  stead state verify"
)]
pub struct StateArgs {
    /// What to do with it
    #[command(subcommand)]
    pub action: StateAction,
}

/// What to do with a ledger.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum StateAction {
    /// List what it owns, without asking the service
    #[command(after_help = "Example:\n  stead state list --output json")]
    List,
    /// Write it whole, as one document with its own digest
    Pull(StatePullArgs),
    /// Put a document that was pulled in its place
    Push(StatePushArgs),
    /// Keep it elsewhere from now on
    Migrate(StateMigrateArgs),
    /// Add MACs to one that has none, or replace their key
    Seal(StateSealArgs),
    /// Let the ledger of a shared backend be applied from this directory, too
    AdoptDirectory(AdoptDirectoryArgs),
    /// Check every record, digest and summary that is kept
    #[command(after_help = "Example:\n  stead state verify -e prod")]
    Verify,
    /// Get back what can be got back of a damaged one
    Repair(StateRepairArgs),
}

/// `state pull`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Example:\n  stead state pull -o ledger.json\n\nThe document holds the key of the secrets' fingerprints, and no secret: keep it as private as the ledger."
)]
pub struct StatePullArgs {
    /// Where to, readable by its owner only; standard output when left out
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// `state push`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  stead state push ledger.json")]
pub struct StatePushArgs {
    /// A document of `state pull`
    pub file: PathBuf,
    /// Also when the ledger has gone on since the document was pulled
    #[arg(long)]
    pub force: bool,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

/// `state migrate`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Example:\n  stead state migrate --to s3://bucket/prefix\n\nIt can be repeated after any interruption."
)]
pub struct StateMigrateArgs {
    /// Where to: file:DIR, postgres://…, s3://bucket/prefix or https://…
    #[arg(long, value_name = "PLACE")]
    pub to: String,
    /// Also over an older copy of this ledger that was never used
    #[arg(long)]
    pub force: bool,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

/// `state seal`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead state pull -o ledger-backup.json && stead state seal\n  STEAD_LEDGER_KEY=new.key stead state seal --previous-key old.key\n\nThe key is in the file that STEAD_LEDGER_KEY names. From then on the ledger is not read with that key unless MACs\nof it cover every record, and not written without it. It can be repeated after any interruption."
)]
pub struct StateSealArgs {
    /// The key of the MACs that it has; those of STEAD_LEDGER_KEY take their place
    #[arg(long, value_name = "FILE")]
    pub previous_key: Option<PathBuf>,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

/// `state adopt-directory`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead state adopt-directory -e prod\n  stead state adopt-directory --all --yes\n\nA ledger on a shared backend remembers the repository and the directory that it is applied from; elsewhere plans\nare blocked. A move inside of the repository needs no adoption."
)]
pub struct AdoptDirectoryArgs {
    /// All stacks of the repository, in all environments (or the one of -e): after it was renamed or copied
    #[arg(long)]
    pub all: bool,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

/// `state repair`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  stead state repair\n\nDamaged files are kept aside, never deleted.")]
pub struct StateRepairArgs {
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

/// `recover`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  stead recover -e prod\n  stead recover --yes && stead plan")]
pub struct RecoverArgs {
    /// Take what is unambiguous without asking, and list the rest
    #[arg(long)]
    pub yes: bool,
}

fn parse_list_number(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "it is a number of the list, from 1 on".to_owned())
}

fn parse_reason(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("say why, in a few words".to_owned()),
        text if text.len() > 500 => Err("say it in 500 letters".to_owned()),
        text => Ok(text.to_owned()),
    }
}
