//! `stead lock`: shows who holds the ledger's lock, and breaks it. A broken lock is safe for the ledger, since the
//! former holder can write nothing more, but its requests in progress become ambiguous intents.

use std::time::Duration;

use clap::{Args, Subcommand};

use crate::apply::context::TimingBounds;
use crate::cli::command_context::CommandContext;
use crate::cli::ledger::held_lock::{is_in_the_way, read_lock};
use crate::cli::ledger::ledger_io::{self, LedgerOpenOptions};
use crate::cli::ledger::open;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::stack::unit_header::UnitHeader;
use crate::ledger::stores::location::LedgerLocation;
use crate::ledger::stores::shared::lease::{LeaseInfo, LeaseStatus};
use crate::report::json;
use crate::report::views::history::{self, LockHolder, LockStatus};

/// Command-line arguments of `stead lock`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead lock status -e prod\n  stead lock break --reason 'its runner is gone' -e prod"
)]
pub struct LockArgs {
    /// What to do with the lock
    #[command(subcommand)]
    pub action: LockAction,
}

/// Subcommands of `stead lock`.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum LockAction {
    /// Show who holds it, since when, and for how long; exits with 8 if it is held
    #[command(after_help = "Example:\n  stead lock status -e prod")]
    Status,
    /// Break it: the holder's open requests become ambiguous intents, and are never repeated
    Break(LockBreakArgs),
}

/// Command-line arguments of `stead lock break`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  stead lock break --reason 'its runner is gone' -e prod")]
pub struct LockBreakArgs {
    /// Reason; it is recorded in the history
    #[arg(long, value_name = "TEXT", value_parser = parse_reason)]
    pub reason: String,
    /// Do not prompt for confirmation
    #[arg(long)]
    pub yes: bool,
}

/// Shows or breaks the lock. `status` returns `Exit::Locked` if another process holds it.
///
/// # Errors
/// When the name or the environment of the stack is not known, the backend cannot be used, or the lock to break is that of a
/// local directory.
pub(in crate::cli) async fn run(session: &CommandContext, args: &LockArgs) -> Result<Exit, CliFailure> {
    let unit = UnitHeader::read(&session.settings)?;
    let place = unit.ledger_location()?;
    match &args.action {
        LockAction::Status => show_lock_status(session, &unit, &place).await,
        LockAction::Break(args) => break_lock(session, args, &unit, &place).await,
    }
}

async fn show_lock_status(
    session: &CommandContext,
    unit: &UnitHeader<'_>,
    place: &LedgerLocation,
) -> Result<Exit, CliFailure> {
    let held = read_lock(unit, place).await?;
    let holder = held.as_ref().map(to_lock_holder);
    let place = place.to_string();
    session.ui.write_result(&if session.ui.json {
        json::lock_document(holder.as_ref(), &place)
    } else {
        history::lock_page(holder.as_ref(), &place, session.ui.style)
    });
    Ok(if is_in_the_way(held.as_ref()) { Exit::Locked } else { Exit::Done })
}

/// Breaks a held lock after a prompt; one that is free or expired is left as it is.
async fn break_lock(
    session: &CommandContext,
    args: &LockBreakArgs,
    unit: &UnitHeader<'_>,
    place: &LedgerLocation,
) -> Result<Exit, CliFailure> {
    let held = read_lock(unit, place).await?;
    let Some(held) = held.as_ref().filter(|_| is_in_the_way(held.as_ref())) else {
        session.ui.report_done("The lock blocks no run: nothing was broken.");
        return Ok(Exit::Done);
    };
    let who = held.holder.in_words();
    // A lock of a local directory is a lock of the operating system: no other process can take it away.
    if matches!(place, LedgerLocation::Directory(_)) {
        return Err(CliFailure::new(Exit::Locked, format!("the ledger is locked by {who}"))
            .help("The process holds this lock itself: end the process, and the lock is released."));
    }
    session.ui.write_message(&format!(
        "{who} has the lock. If it still runs, it can record nothing more; its open requests"
    ));
    session
        .ui
        .write_message("become ambiguous intents, and their resources are frozen until you resolve them.");
    if !session.ui.confirm_action(args.yes, "Break the lock?").await? {
        return Ok(Exit::Failed);
    }
    let effect = TimingBounds::default().effect;
    let identity = ledger_io::new_identity(unit);
    let terms = LedgerOpenOptions { identity: &identity, effect, force: Some(&args.reason), vouched: &[] };
    let key = open::key_as_found(unit, place).await?;
    // Opening the ledger with a reason takes the lock away from its holder and records the incident.
    ledger_io::close_ledger(ledger_io::open_with(key.as_ref(), &session.who, place, &terms).await?).await?;
    session.ui.report_done("The lock is broken; the history keeps the reason.");
    session.next("plan", "shows what is open");
    Ok(Exit::Done)
}

/// Returns the holder for display. `left` is `None` if the lock does not expire by itself.
fn to_lock_holder(held: &LeaseInfo) -> LockHolder {
    let (standing, left) = match held.standing {
        LeaseStatus::HolderDead => (LockStatus::Dead, None),
        LeaseStatus::Free | LeaseStatus::Expired => (LockStatus::RunOut, None),
        LeaseStatus::Held(left) => (LockStatus::Held, Some(left).filter(|left| *left < Duration::MAX)),
    };
    LockHolder {
        who: held.holder.who.clone(),
        since: held.holder.since,
        process: held.holder.process.as_ref().map(|process| process.id),
        standing,
        renewed: held.renewed.map(|age| age.as_secs()),
        left: left.map(|left| left.as_secs()),
    }
}

/// Parses the reason for breaking a lock: not blank, at most 500 bytes.
fn parse_reason(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("give a reason, in a few words".to_owned()),
        text if text.len() > 500 => Err("a reason has 500 characters at most".to_owned()),
        text => Ok(text.to_owned()),
    }
}
