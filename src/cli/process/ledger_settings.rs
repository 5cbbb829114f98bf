//! Where a stack's ledger is kept: said by flag, variable or the user's settings, never by a stack.

use std::path::Path;

use super::exit_code::Exit;
use super::failure::CliFailure;
use super::settings::{CloudEndpoint, Settings};
use crate::config::stack::model::Stack;
use crate::ledger::stores::location::LedgerLocation;

/// Returns the place of a stack's ledger. The embedded cloud's is always beside the embedded cloud.
///
/// # Errors
/// When what was said names no place, or nothing was said and the stack demands it.
pub(in crate::cli) fn ledger_location(
    settings: &Settings,
    stack: &Stack,
    directory: &Path,
) -> Result<LedgerLocation, CliFailure> {
    place_of(settings, (&stack.name, stack.backend_required), directory)
}

/// Returns the place of the ledger of a stack with this name, which may refuse the local one.
///
/// # Errors
/// When what was said names no place, or nothing was said and the stack demands it.
pub(in crate::cli) fn place_of(
    settings: &Settings,
    (name, backend_required): (&str, bool),
    directory: &Path,
) -> Result<LedgerLocation, CliFailure> {
    if settings.cloud == CloudEndpoint::Local {
        return Ok(LedgerLocation::Directory(directory.join(".stead").join("local")));
    }
    match &settings.backend {
        Some(text) => parse_location(text, name),
        None if backend_required => Err(CliFailure::new(
            Exit::Usage,
            "the stack demands a shared ledger, and none is named",
        )
        .help(
            "Set STEAD_BACKEND (or --backend) to postgres://…, s3://bucket/prefix, https://… or file:DIR.",
        )),
        None => Ok(LedgerLocation::Directory(directory.join(".stead").join("ledger"))),
    }
}

/// Tells whether the ledger is where stacks of other directories keep theirs.
pub(in crate::cli) fn is_shared(settings: &Settings) -> bool {
    settings.cloud != CloudEndpoint::Local && settings.backend.is_some()
}

/// Reads a place that was named. Stacks may share a directory: each has its own below it.
///
/// # Errors
/// When it names none.
pub(in crate::cli) fn parse_location(text: &str, stack: &str) -> Result<LedgerLocation, CliFailure> {
    match LedgerLocation::parse(text) {
        Ok(LedgerLocation::Directory(directory)) => Ok(LedgerLocation::Directory(directory.join(stack))),
        Ok(place) => Ok(place),
        Err(bad) => Err(CliFailure::new(Exit::Usage, bad.to_string())),
    }
}
