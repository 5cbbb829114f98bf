//! Reads and opens the ledger that holds the secrets; a missing one is an error, since opening would create it.

use crate::apply::context::TimingBounds;
use crate::cli::command_context::CommandContext;
use crate::cli::ledger::ledger_io::{self, CommandJournal, LedgerOpenOptions};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::stack::project::LoadedStack;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::stores::location::LedgerLocation;

/// Returns the failure for an address without a secret.
pub(super) fn no_such_secret(address: &str) -> CliFailure {
    CliFailure::new(Exit::Failed, format!("{address} is not a secret of this stack"))
        .help("stead secret get lists them: vars.NAME of a generated variable, or a resource whose secret is shown once.")
}

/// Reads the ledger; a missing one is an error.
pub(super) async fn read_existing_ledger(
    project: &LoadedStack,
    place: &LedgerLocation,
) -> Result<Ledger, CliFailure> {
    ledger_io::find_ledger(project, place)
        .await?
        .ok_or_else(|| crate::cli::commands::ledger_copy::missing_ledger(place))
}

/// Opens the ledger of a stack for writing; a missing one is an error.
pub(super) async fn open_existing_ledger(
    session: &CommandContext,
    project: &LoadedStack,
    place: &LedgerLocation,
) -> Result<CommandJournal, CliFailure> {
    read_existing_ledger(project, place).await?;
    let terms = LedgerOpenOptions {
        identity: &ledger_io::new_identity(project),
        effect: TimingBounds::default().effect,
        force: None,
        vouched: &[],
    };
    ledger_io::open_at(&session.settings, &session.who, place, &terms).await
}
