//! `login` and `doctor`.

use clap::Args;

/// `login`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "The key is kept in credentials.json in $STEAD_CONFIG_DIR, $XDG_CONFIG_HOME/stead or ~/.config/stead,\nreadable by you only, and is sent to this one service; with --keychain in the system's keychain (macOS: the login\nkeychain; elsewhere what secret-tool of libsecret reaches), and the file only says so. Keys come from, in this order: STEAD_API_KEY,\nkey_command of the profile, this file. No flag takes a key.\n\nExamples:\n  stead login --api-url https://api.example.com\n  stead login -p work --keychain\n  pass show stead | stead login --key-stdin"
)]
pub struct Login {
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
pub struct Doctor {
    /// Compare what the service shows with what stead assumes of it
    #[arg(long, conflicts_with = "fix")]
    pub api: bool,
    /// Mend what can be mended without harm: the modes of stead's own files
    #[arg(long)]
    pub fix: bool,
}
