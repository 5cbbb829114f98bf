//! The ledger store of the commands, and the key of its MACs, which only the user's settings name.

use std::path::Path;

use crate::cli::files::stack_files;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::settings::Settings;
use crate::cli::service::command_client::CommandClock;
use crate::cli::stack::unit_header::UnitHeader;
use crate::ledger::journal::mac::MacKey;
use crate::ledger::stores::any_store::AnyStore;
use crate::ledger::stores::location::LedgerLocation;

/// The store type of all commands.
pub(in crate::cli) type CommandStore = AnyStore<CommandClock>;

/// Returns the MAC key for ledgers; `None` if none is configured.
///
/// # Errors
/// When its file cannot be read, other users can read it, or the key is too short.
pub(in crate::cli) fn seal_key(settings: &Settings) -> Result<Option<MacKey>, CliFailure> {
    settings.ledger_key.as_deref().map(key_of_file).transpose()
}

/// Returns the key for a command that makes no decision based on the ledger, such as breaking its lock: `None` for a
/// ledger without MACs, or if none is configured.
///
/// # Errors
/// When the key or the ledger cannot be read, or the ledger is damaged.
pub(in crate::cli) async fn key_as_found(
    unit: &UnitHeader<'_>,
    place: &LedgerLocation,
) -> Result<Option<MacKey>, CliFailure> {
    let Some(key) = seal_key(unit.settings)? else { return Ok(None) };
    let lenient = key.accepting_unsealed();
    let found = CommandStore::read(place, &unit.stack, &unit.environment, Some(&lenient)).await?;
    Ok(found.is_none_or(|found| found.sealed.is_some() || found.is_blank()).then_some(key))
}

/// Reads a MAC key from a file.
///
/// # Errors
/// When the file cannot be read, other users can read it, or the key is too short.
pub(in crate::cli) fn key_of_file(path: &Path) -> Result<MacKey, CliFailure> {
    let bytes = stack_files::read_own_secret(path)?;
    MacKey::new(&bytes).map_err(|error| {
        CliFailure::new(Exit::Failed, format!("{} is not used: {error}", stack_files::display_path(path)))
            .help("A key for ledgers: (umask 077; openssl rand -base64 48 > FILE)")
    })
}
