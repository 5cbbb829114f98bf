//! The lock of a ledger that another process holds: it may be applying, so what a plan reads is a state between two. In: a unit
//! and its ledger. Out: the holder, and a note of the plan. Takes no lock, and fails no plan.

use super::ledger_io;
use crate::apply::context::TimingBounds;
use crate::cli::process::failure::CliFailure;
use crate::cli::stack::unit_header::UnitHeader;
use crate::ledger::state::entry::LedgerIdentity;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::stores::any_store;
use crate::ledger::stores::file::process;
use crate::ledger::stores::location::LedgerLocation;
use crate::ledger::stores::open_options::OpenOptions;
use crate::ledger::stores::shared::lease::{LeaseInfo, LeaseStatus};
use crate::plan::model::change::Plan;
use crate::plan::model::note::{NoteCode, PlanNote};

/// Returns the information about the lock; `None` if no process has taken it. Its status can still be free.
///
/// # Errors
/// When the backend cannot be read.
pub(in crate::cli) async fn read_lock(
    unit: &UnitHeader<'_>,
    place: &LedgerLocation,
) -> Result<Option<LeaseInfo>, CliFailure> {
    let identity = LedgerIdentity::new_placeholder(&unit.stack, &unit.environment);
    // Nothing is opened, so it does not matter who asks.
    let options = OpenOptions::new(&identity, ledger_io::lock_holder(""), TimingBounds::default().effect);
    let options = OpenOptions { is_dead: &process::is_dead, ..options };
    Ok(any_store::find_holder(place, &options).await?)
}

/// Returns whether a running process may hold the lock, so that an apply would fail.
pub(in crate::cli) fn is_in_the_way(held: Option<&LeaseInfo>) -> bool {
    held.is_some_and(|held| matches!(held.standing, LeaseStatus::Held(_)))
}

/// Adds a note if another process may be changing what the plan shows. A shared backend is asked only if the ledger has a
/// holder; a state server is not asked: it reports its lock only to a process that tries to take it.
pub(in crate::cli) async fn add_lock_note(
    unit: &UnitHeader<'_>,
    (place, ledger): (&LedgerLocation, &Ledger),
    plan: &mut Plan,
) {
    let is_asked = match place {
        LedgerLocation::Directory(_) => true,
        LedgerLocation::Http(_) => false,
        _ => ledger.holder.is_some(),
    };
    if !is_asked {
        return;
    }
    let Ok(held) = read_lock(unit, place).await else { return };
    let Some(held) = held.filter(|held| is_in_the_way(Some(held))) else { return };
    let holder = held.holder.in_words();
    plan.notes.push(PlanNote {
        code: NoteCode::LockHeld,
        text: format!("An apply may be running: the ledger is locked by {holder}."),
        help: "What was read may change before it ends: plan again after it.".to_owned(),
        source: None,
        address: None,
    });
}
