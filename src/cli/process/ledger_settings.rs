//! Location of a stack's ledger: set by flag, variable or the user's settings, never by a stack, which could
//! otherwise read or write the ledger of another one.

use std::path::{Path, PathBuf};

use super::exit_code::Exit;
use super::failure::CliFailure;
use super::settings::{CloudEndpoint, Settings};
use crate::config::stack::model::Stack;
use crate::ledger::stores::location::{LedgerLocation, describe_location_choice};

/// Returns the location of a stack's ledger. With the built-in cloud it is always beside the cloud's data.
///
/// # Errors
/// When the configured backend is invalid, or none is configured and the stack requires one.
pub(in crate::cli) fn ledger_location(
    settings: &Settings,
    stack: &Stack,
    directory: &Path,
) -> Result<LedgerLocation, CliFailure> {
    place_of(settings, (&stack.name, stack.backend_required), directory)
}

/// Returns the ledger's location for a stack's name; a stack with `backend_required` refuses a local ledger.
///
/// # Errors
/// When the configured backend is invalid, or none is configured and the stack requires one.
pub(in crate::cli) fn place_of(
    settings: &Settings,
    (name, backend_required): (&str, bool),
    directory: &Path,
) -> Result<LedgerLocation, CliFailure> {
    if settings.cloud == CloudEndpoint::Local {
        return Ok(LedgerLocation::Directory(local_directory(settings, directory)));
    }
    match &settings.backend {
        Some(text) => parse_location(text, name),
        None if backend_required => {
            Err(CliFailure::new(Exit::Usage, "the stack requires a shared ledger, and none is configured")
                .help(format!("Set STEAD_BACKEND (or --backend) to {}.", describe_location_choice())))
        }
        None => Ok(LedgerLocation::Directory(local_directory(settings, directory))),
    }
}

/// Returns the directory of a stack's ledgers where no backend is used. `directory` is that of the stack.
pub(in crate::cli) fn local_directory(settings: &Settings, directory: &Path) -> PathBuf {
    let kind = if settings.cloud == CloudEndpoint::Local { "local" } else { "ledger" };
    directory.join(".stead").join(kind)
}

/// Returns what to add to the command line for the ledger of the built-in cloud, if the stack has one there and the settings
/// name another service: a command that finds no ledger says so.
pub(in crate::cli) fn built_in_hint(settings: &Settings, environment: &str) -> Option<&'static str> {
    let is_other = settings.cloud != CloudEndpoint::Local;
    let has_one = settings.dir.join(".stead").join("local").join(environment).is_dir();
    (is_other && has_one).then_some("It was applied to the built-in cloud: add --cloud local for that.")
}

/// Returns whether stacks of other directories can use the same backend: one is configured, and the cloud
/// is not built in.
pub(in crate::cli) fn is_shared(settings: &Settings) -> bool {
    settings.cloud != CloudEndpoint::Local && settings.backend.is_some()
}

/// Returns the setting of `STEAD_BACKEND` that leads to a location: `parse_location` backwards, for messages. The
/// location is shown as it is if it is not one of the stack.
pub(in crate::cli) fn backend_setting(location: &LedgerLocation, stack: &str) -> String {
    match location {
        LedgerLocation::Directory(directory) if directory.ends_with(stack) => {
            let shared = directory.parent().unwrap_or(directory);
            LedgerLocation::Directory(shared.to_owned()).to_string()
        }
        other => other.to_string(),
    }
}

/// Parses a configured backend. Stacks may share a directory, in which each has its own subdirectory.
///
/// # Errors
/// When it is not a valid backend.
pub(in crate::cli) fn parse_location(text: &str, stack: &str) -> Result<LedgerLocation, CliFailure> {
    match LedgerLocation::parse(text) {
        Ok(LedgerLocation::Directory(directory)) => Ok(LedgerLocation::Directory(directory.join(stack))),
        Ok(place) => Ok(place),
        Err(bad) => Err(CliFailure::new(Exit::Usage, bad.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_of_a_location_leads_to_the_location() {
        for text in ["file:/srv/ledgers", "s3://bucket/team", "postgres://me@db/stead", "https://h/{stack}"]
        {
            let location = parse_location(text, "edge").unwrap();
            assert_eq!(backend_setting(&location, "edge"), text);
        }
    }
}
