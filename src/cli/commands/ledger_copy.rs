//! Functions that commands which copy or move a whole ledger share: the comparison of two ledgers, and the
//! record of a copy.

use crate::cli::command_context::CommandContext;
use crate::cli::ledger::ledger_io::CommandJournal;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cloud::system_clock::SystemClock;
use crate::ledger::journal::record::Record;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::stores::location::LedgerLocation;
use crate::model::clock::Clock;

/// Returns the failure for a missing ledger.
pub(super) fn missing_ledger(place: &LedgerLocation) -> CliFailure {
    CliFailure::new(Exit::Failed, format!("there is no ledger of the stack at {place}"))
        .help("Check -C, -e and STEAD_BACKEND; the first apply creates one.")
}

/// Replaces the content of an open ledger by a copy. The caller has checked that the copy is of this ledger.
///
/// # Errors
/// When the ledger cannot be written.
pub(super) async fn write_copy(
    session: &CommandContext,
    journal: &CommandJournal,
    copy: Ledger,
) -> Result<(), CliFailure> {
    let (ledger, who, at) = (Box::new(copy), session.who.clone(), SystemClock.now());
    Ok(journal.commit(&[Record::Pushed { ledger, who, at }]).await?)
}

/// Returns whether two ledgers have the same content. Serial numbers and locations are not compared: a
/// copy has its own.
pub(super) fn same_content(one: &Ledger, other: &Ledger) -> bool {
    one.identity == other.identity
        && one.entries == other.entries
        && one.intents == other.intents
        && one.watched == other.watched
        && one.secrets == other.secrets
        && one.questions == other.questions
        && one.applied_plans == other.applied_plans
        && one.history == other.history
}
