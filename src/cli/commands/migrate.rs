//! `stead state migrate`: moves the ledger to another backend. Every step can be repeated: the old location remains
//! authoritative until it records the new one, which is the last write.

use clap::Args;

use super::ledger_copy::{same_content, write_copy};
use crate::apply::context::TimingBounds;
use crate::cli::command_context::CommandContext;
use crate::cli::ledger::ledger_io::{self, CommandJournal, LedgerOpenOptions};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::ledger_settings;
use crate::cli::process::settings::CloudEndpoint;
use crate::cli::stack::unit_header::UnitHeader;
use crate::ledger::journal::record::Record;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::stores::location::{LedgerLocation, describe_location_choice};

/// Command-line arguments of `stead state migrate`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Example:\n  stead state migrate --to s3://bucket/prefix\n\nIt can be repeated after any interruption."
)]
pub struct StateMigrateArgs {
    /// New location; the help lists the forms of locations.
    #[arg(long, value_name = "PLACE", help = format!("New location: {}", describe_location_choice()))]
    pub to: String,
    /// Overwrite an older copy of this ledger that was never used
    #[arg(long)]
    pub force: bool,
    /// Do not prompt for confirmation
    #[arg(long)]
    pub yes: bool,
}

/// Moves the ledger to another location; returns `Exit::Failed` if the user declines.
///
/// # Errors
/// When either location cannot be used, the old one has no ledger or is outdated, or the new one holds something
/// else.
pub(super) async fn run(
    session: &CommandContext,
    args: &StateMigrateArgs,
    unit: &UnitHeader<'_>,
    from: &LedgerLocation,
) -> Result<Exit, CliFailure> {
    if session.settings.cloud == CloudEndpoint::Local {
        return Err(CliFailure::new(
            Exit::Usage,
            "the built-in cloud's ledger cannot be moved away from its data",
        )
        .help("Leave out --cloud local to move the ledger of a real account."));
    }
    let to = ledger_settings::parse_location(&args.to, &unit.stack)?;
    if to == *from {
        return Err(CliFailure::new(Exit::Usage, format!("the ledger is kept at {to} already")));
    }
    // A ledger that was moved to `to` by an interrupted run is an error of the read, and the success of this one.
    match ledger_io::find_ledger(unit, from).await {
        Ok(Some(_)) => {}
        Err(failure) if failure.moved.as_deref() == Some(to.to_string().as_str()) => {
            return confirm_migrated(session, unit, &to).await;
        }
        Err(failure) => return Err(failure),
        Ok(None) => {
            return Err(CliFailure::new(
                Exit::Failed,
                format!("there is no ledger of the stack at {from}"),
            )
            .help("There is nothing to move: set STEAD_BACKEND, and the first apply creates one there."));
        }
    }
    session.ui.write_message(&format!(
        "The ledger moves from {from} to {to}. It cannot be used at {from} afterwards."
    ));
    if !session.ui.confirm_action(args.yes, "Move it?").await? {
        return Ok(Exit::Failed);
    }
    let old = open_ledger_at(session, from, None, unit).await?;
    let done = match ledger_io::check_unrolled(unit, from, &old) {
        Ok(()) => Box::pin(under_both(session, args, unit, &old, (from, &to))).await,
        Err(failure) => Err(failure),
    };
    ledger_io::close_after(old, done).await?;
    session.ui.report_done(&format!("The ledger is at {to} now."));
    tell_next(session, unit, &to);
    Ok(Exit::Done)
}

/// Reports a migration that an earlier run completed without being able to report it; checks that the ledger exists.
async fn confirm_migrated(
    session: &CommandContext,
    unit: &UnitHeader<'_>,
    to: &LedgerLocation,
) -> Result<Exit, CliFailure> {
    if ledger_io::find_ledger(unit, to).await?.is_none() {
        return Err(CliFailure::new(
            Exit::Failed,
            format!("the ledger was moved to {to}, but does not exist there"),
        )
        .help("Somebody deleted it there: push a copy, or stead recover."));
    }
    session.ui.report_done(&format!("The ledger is at {to} already."));
    tell_next(session, unit, to);
    Ok(Exit::Done)
}

fn tell_next(session: &CommandContext, unit: &UnitHeader<'_>, to: &LedgerLocation) {
    let setting = ledger_settings::backend_setting(to, &unit.stack);
    let text = format!("From now on, everyone who applies this stack sets STEAD_BACKEND to {setting}.");
    session.ui.write_message(&text);
}

/// Opens a ledger for writing. A new one gets the identity of `ledger`, so that a copy keeps its lineage and its
/// key; `None` makes a fresh identity.
async fn open_ledger_at(
    session: &CommandContext,
    place: &LedgerLocation,
    ledger: Option<&Ledger>,
    unit: &UnitHeader<'_>,
) -> Result<CommandJournal, CliFailure> {
    let fresh = ledger_io::new_identity(unit);
    let identity = ledger.map_or(&fresh, |ledger| &ledger.identity);
    let terms =
        LedgerOpenOptions { identity, effect: TimingBounds::default().effect, force: None, vouched: &[] };
    ledger_io::open_at(&session.settings, &session.who, place, &terms).await
}

/// Copies the ledger, reads the copy back, and only then marks the old location as moved, while holding both locks.
async fn under_both(
    session: &CommandContext,
    args: &StateMigrateArgs,
    unit: &UnitHeader<'_>,
    old: &CommandJournal,
    (from, to): (&LedgerLocation, &LedgerLocation),
) -> Result<(), CliFailure> {
    let ledger = old.ledger().clone();
    let new = open_ledger_at(session, to, Some(&ledger), unit).await?;
    let moved = async {
        copy_ledger(session, args, &new, &ledger, to).await?;
        // A backend that loses a write must be noticed while the old ledger is still valid.
        let read = ledger_io::find_ledger(unit, to).await?;
        if !read.is_some_and(|read| same_content(&read, &ledger)) {
            return Err(CliFailure::new(
                Exit::Failed,
                format!("{to} does not return the data that was written to it"),
            )
            .help("The ledger stays where it was."));
        }
        old.commit(&[Record::MovedAway { to: to.to_string() }]).await.map_err(CliFailure::from)
    };
    let done = ledger_io::while_kept(&new, Box::pin(ledger_io::while_kept(old, Box::pin(moved)))).await;
    if done.is_ok() {
        // A ledger that is restored at the old location is older than the record of the move, so the mark refuses it.
        ledger_io::advance_marks(&ledger_io::high_water_marks(unit, from)?, old);
        ledger_io::advance_marks(&ledger_io::high_water_marks(unit, to)?, &new);
    }
    ledger_io::close_after(new, done).await
}

/// Writes the copy, unless an earlier run did.
///
/// # Errors
/// When the new location holds another ledger, or a different copy and `--force` is not given.
async fn copy_ledger(
    session: &CommandContext,
    args: &StateMigrateArgs,
    new: &CommandJournal,
    ledger: &Ledger,
    to: &LedgerLocation,
) -> Result<(), CliFailure> {
    let there = new.ledger().clone();
    if there.identity.lineage != ledger.identity.lineage {
        return Err(CliFailure::new(Exit::Failed, format!("{to} holds another ledger of this stack"))
            .help("Check that ledger first; stead does not overwrite it."));
    }
    if same_content(&there, ledger) {
        return Ok(());
    }
    if !ledger_io::is_empty(&there) && !args.force {
        return Err(CliFailure::new(
            Exit::Failed,
            format!("{to} contains a copy of this ledger with other content"),
        )
        .help("If it is left from an interrupted move and was never used: --force overwrites it."));
    }
    // The journal accepts only a copy that is not marked as moved.
    write_copy(session, new, Ledger { moved_to: None, ..ledger.clone() }).await
}
