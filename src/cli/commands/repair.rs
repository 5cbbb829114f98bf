//! `stead state verify` and `stead state repair`: check the stored ledger, and restore what is intact in a damaged
//! one. Only a ledger in a directory is repaired, and its damaged files are kept: a backend has backups of its own.

use clap::Args;

use crate::cli::command_context::CommandContext;
use crate::cli::ledger::high_water_mark::RollbackDetected;
use crate::cli::ledger::inspection::{self, LedgerReadResult};
use crate::cli::ledger::ledger_io;
use crate::cli::ledger::open::{self, CommandStore};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::stack::unit_header::UnitHeader;
use crate::cloud::system_clock::SystemClock;
use crate::ledger::integrity::invariants;
use crate::ledger::integrity::repair::{PreparedRepair, RepairOptions};
use crate::ledger::integrity::verify::{self, VerificationReport};
use crate::ledger::journal::error::{MacError, StoreError, WRITTEN_BY_NEWER};
use crate::ledger::stores::location::LedgerLocation;
use crate::model::clock::Clock;
use crate::report::json;
use crate::report::views::ledger_check as page;
use crate::report::views::ledger_check::{LedgerCheckReport, LedgerFlaw, LostRecords};

/// Command-line arguments of `stead state repair`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  stead state repair\n\nDamaged files are kept aside, never deleted.")]
pub struct StateRepairArgs {
    /// Do not prompt for confirmation
    #[arg(long)]
    pub yes: bool,
}

/// Verifies all stored records, digests and checkpoints of the ledger. Returns `Exit::Failed` if one is damaged.
///
/// # Errors
/// When it cannot be read at all.
pub(super) async fn verify_ledger(
    session: &CommandContext,
    unit: &UnitHeader<'_>,
    place: &LedgerLocation,
) -> Result<Exit, CliFailure> {
    let mut checked = report_if_unproven(read_checked(unit, place).await?);
    let objection = if checked.flaws.is_empty() { unlike_last_time(unit, place).await? } else { None };
    if let Some(RollbackDetected { what, .. }) = objection {
        checked.flaws.push(LedgerFlaw { place: place.to_string(), reason: what.to_owned() });
    }
    session.ui.write_result(&if session.ui.json {
        json::check_document(&checked)
    } else {
        page::check_page(&checked, session.ui.style)
    });
    if checked.flaws.is_empty() {
        return Ok(Exit::Done);
    }
    if is_newer(&checked) {
        session.ui.write_message(UPGRADE);
        return Ok(Exit::Failed);
    }
    match objection {
        Some(objection) => session.ui.write_message(objection.remedy),
        None => session.next("state repair", "shows what can be restored"),
    }
    Ok(Exit::Failed)
}

/// What to do with a ledger that a newer version wrote.
const UPGRADE: &str = "Upgrade stead on this machine: a repair would drop what the newer version recorded.";

/// Returns whether a newer version wrote a part of the ledger.
fn is_newer(checked: &LedgerCheckReport) -> bool {
    checked.flaws.iter().any(|flaw| flaw.reason.contains(WRITTEN_BY_NEWER))
}

/// Returns the problem of an undamaged ledger that lacks the MACs, or is older, than this machine has seen. `None`
/// if there is none, or this machine has seen no MACs on it.
async fn unlike_last_time(
    unit: &UnitHeader<'_>,
    place: &LedgerLocation,
) -> Result<Option<RollbackDetected>, CliFailure> {
    if !ledger_io::high_water_marks(unit, place)?.saw_macs(None)? {
        return Ok(None);
    }
    ledger_io::detect_rollback(unit, place).await
}

/// Verifies all stored records of a ledger, and returns the findings. In a directory these are all damage; on a
/// backend, damage is an error of the read, and the findings are contradictions in the ledger that was read.
///
/// # Errors
/// When it cannot be read at all, or lost its MACs.
pub(super) async fn read_checked(
    unit: &UnitHeader<'_>,
    place: &LedgerLocation,
) -> Result<LedgerReadResult<LedgerCheckReport>, CliFailure> {
    let environment = &unit.environment;
    if let LedgerLocation::Directory(directory) = place {
        let key = open::seal_key(unit.settings)?;
        let read = CommandStore::read(place, &unit.stack, environment, key.as_ref()).await;
        if let Err(error @ StoreError::Sealed(MacError::MissingMacs)) = read {
            // This error is not damage, so there is nothing to repair.
            return Err(error.into());
        }
        let report = verify::check_directory(directory, environment, key.as_ref())?;
        return Ok(LedgerReadResult { unproven: report.unproven, found: checked_report(report, place) });
    }
    // Reading replays every record: it verifies the digest, the position in the chain, and
    // that the transition is legal.
    let LedgerReadResult { found: ledger, unproven } = inspection::inspect_ledger(unit, place).await?;
    let flaws = ledger.as_ref().map(invariants::find_contradictions).unwrap_or_default();
    let flaw = |reason| LedgerFlaw { place: place.to_string(), reason };
    let found = LedgerCheckReport {
        place: place.to_string(),
        serial: ledger.map_or(0, |ledger| ledger.serial),
        flaws: flaws.into_iter().map(flaw).collect(),
        ..LedgerCheckReport::default()
    };
    Ok(LedgerReadResult { found, unproven })
}

/// Returns the findings; prints a warning if the ledger is not authenticated.
fn report_if_unproven(looked: LedgerReadResult<LedgerCheckReport>) -> LedgerCheckReport {
    looked.warn_if_unproven();
    looked.found
}

fn checked_report(report: VerificationReport, place: &LedgerLocation) -> LedgerCheckReport {
    let flaw = |damage: verify::LedgerDamage| LedgerFlaw { place: damage.place, reason: damage.reason };
    LedgerCheckReport {
        place: place.to_string(),
        summaries: report.summaries,
        journals: report.journals,
        records: report.records,
        serial: report.serial,
        torn: report.torn,
        flaws: report.damages.into_iter().map(flaw).collect(),
    }
}

/// Shows what cannot be restored, asks for confirmation, and restores the rest; returns `Exit::Failed`
/// if the user declines.
///
/// # Errors
/// When the ledger is not in a directory, is locked, none of it is authenticated, or it cannot be written.
pub(super) async fn run(
    session: &CommandContext,
    args: &StateRepairArgs,
    unit: &UnitHeader<'_>,
    place: &LedgerLocation,
) -> Result<Exit, CliFailure> {
    let LedgerLocation::Directory(directory) = place else {
        return Err(CliFailure::new(
            Exit::Usage,
            format!("stead repairs only a ledger in a directory; this one is at {place}"),
        )
        .help("Restore a copy: stead state push FILE. Or restore the backend's own backup."));
    };
    let checked = report_if_unproven(read_checked(unit, place).await?);
    if checked.flaws.is_empty() {
        session.ui.report_done("The ledger is undamaged: nothing was changed.");
        return Ok(Exit::Done);
    }
    if is_newer(&checked) {
        return Err(CliFailure::new(Exit::Failed, "a newer version of stead wrote a part of the ledger")
            .help(UPGRADE)
            .help("Nothing was changed."));
    }
    let key = open::seal_key(&session.settings)?;
    let repair = PreparedRepair::prepare(&RepairOptions {
        directory,
        stack: &unit.stack,
        environment: &unit.environment,
        who: &session.who,
        now: SystemClock.now(),
        seal: key.as_ref(),
    })?;
    let losses: Vec<LostRecords> = repair
        .lost
        .iter()
        .map(|lost| LostRecords {
            place: lost.place.clone(),
            reason: lost.reason.clone(),
            records: lost.records.clone(),
        })
        .collect();
    let kept = repair.ledger().entries.len();
    session.ui.write_result(&if session.ui.json {
        json::repair_document(kept, &losses)
    } else {
        page::repair_page(kept, &losses, session.ui.style)
    });
    if !session.ui.confirm_action(args.yes, "Repair it so?").await? {
        return Ok(Exit::Failed);
    }
    let aside = repair.write()?;
    session.ui.write_message(&format!("Repaired. The damaged files are kept next to it: {aside}*."));
    session.next("plan", "compares it with the live objects");
    Ok(Exit::Done)
}
