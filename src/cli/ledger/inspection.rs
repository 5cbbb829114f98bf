//! Inspection of a ledger: it is read without its lock and its high-water mark, and nothing is required of it. In: a unit, also one
//! whose configuration has errors. Out: its ledger, and whether it is authenticated.

use super::open::{CommandStore, seal_key};
use crate::cli::process::failure::CliFailure;
use crate::cli::process::output::Ui;
use crate::cli::stack::unit_header::UnitHeader;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::stores::location::LedgerLocation;

/// Data from a ledger, with its authentication status.
#[derive(Debug)]
pub(in crate::cli) struct LedgerReadResult<T> {
    /// The data that was read.
    pub(in crate::cli) found: T,
    /// Whether the records are not authenticated: they have MACs, but no key is configured.
    pub(in crate::cli) unproven: bool,
}

impl<T> LedgerReadResult<T> {
    /// Prints a warning if the ledger is not authenticated.
    pub(in crate::cli) fn warn_if_unproven(&self) {
        if self.unproven {
            Ui::write_error(&format!("warning: {UNPROVEN}"));
        }
    }
}

/// Warning for a ledger that is not authenticated.
pub(in crate::cli) const UNPROVEN: &str = "ledger not authenticated: `STEAD_LEDGER_KEY` is not set";

/// Reads the ledger without its lock and without warnings; `found` is `None` if it does not exist.
///
/// # Errors
/// When it cannot be read, is damaged, or has no MACs although a key is configured.
pub(in crate::cli) async fn inspect_ledger<'a>(
    unit: impl Into<UnitHeader<'a>>,
    place: &LedgerLocation,
) -> Result<LedgerReadResult<Option<Ledger>>, CliFailure> {
    let unit = unit.into();
    let key = seal_key(unit.settings)?;
    let found = CommandStore::read(place, &unit.stack, &unit.environment, key.as_ref()).await?;
    let unproven = key.is_none() && found.as_ref().is_some_and(|ledger| ledger.sealed.is_some());
    Ok(LedgerReadResult { found, unproven })
}

/// Reads the ledger of a unit at its configured location, also of one whose configuration has errors, as `inspect_ledger` does.
///
/// # Errors
/// When its location cannot be known, or it cannot be read.
pub(in crate::cli) async fn inspect_unit(unit: &UnitHeader<'_>) -> Result<Option<Ledger>, CliFailure> {
    Ok(inspect_ledger(unit, &unit.ledger_location()?).await?.found)
}
