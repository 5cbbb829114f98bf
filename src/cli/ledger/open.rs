//! The store of a ledger and the key that its records are authenticated with.

use std::path::Path;

use crate::cli::files::stack_files;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::Failure;
use crate::cli::process::settings::Settings;
use crate::cli::service::connection::Time;
use crate::cli::stack::project::Project;
use crate::ledger::journal::mac::SealKey;
use crate::ledger::stores::any_store::AnyStore;
use crate::ledger::stores::location::Place;

/// The store of every command.
pub(in crate::cli) type Shelf = AnyStore<Time>;

/// Returns the key that seals ledgers; `None` where none is named.
///
/// # Errors
/// When its file cannot be read, can be read by others, or is too short.
pub(in crate::cli) fn seal_key(settings: &Settings) -> Result<Option<SealKey>, Failure> {
    settings.ledger_key.as_deref().map(key_of_file).transpose()
}

/// Returns the key for a command that decides nothing by what a ledger says: none for one without MACs.
///
/// # Errors
/// When the ledger cannot be read or is damaged.
pub(in crate::cli) async fn key_as_found(
    project: &Project,
    place: &Place,
) -> Result<Option<SealKey>, Failure> {
    let Some(key) = seal_key(&project.settings)? else { return Ok(None) };
    let (stack, lenient) = (&project.stack, key.accepting_unsealed());
    let found = Shelf::read(place, &stack.name, &stack.environment.name, Some(&lenient)).await?;
    Ok(found.is_none_or(|found| found.sealed.is_some() || found.is_blank()).then_some(key))
}

/// Reads a key that seals ledgers.
///
/// # Errors
/// When its file cannot be read, can be read by others, or is too short.
pub(in crate::cli) fn key_of_file(path: &Path) -> Result<SealKey, Failure> {
    let bytes = stack_files::read_own_secret(path)?;
    SealKey::new(&bytes).map_err(|error| {
        Failure::new(Exit::Failed, format!("{} is not used: {error}", stack_files::display_path(path)))
            .help("A key for ledgers: (umask 077; openssl rand -base64 48 > FILE)")
    })
}
