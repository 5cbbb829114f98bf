//! Moves between a stack's ledger and those of other stacks: found for a plan, and made by an apply.
//!
//! A plan reads the other ledgers without a lock. An apply ends the transfers that an earlier run left open, plans as if
//! the declared moves were made, and makes them after the approval, with both ledgers open, if the entries are still
//! those of the plan.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use uuid::Uuid;

use super::ledger_io::{self, CommandJournal, LedgerOpenOptions};
use super::open::{self, CommandStore};
use super::other_ledgers;
use super::transfer_peers::{PeerStack, RecordedPeers};
use crate::apply::protocol::transfer::closing::Side;
use crate::apply::protocol::transfer::requirements::{MoveRefusal, check_move};
use crate::apply::protocol::transfer::runner::{
    FinishedMove, MoveEnd, MoveEnding, MoveError, MoveRequest, finish_between, finish_open_moves,
    move_between,
};
use crate::cli::files::stack_files;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::output::Ui;
use crate::cli::service::connection::StackConnection;
use crate::cli::stack::project::LoadedStack;
use crate::cloud::system_clock::{SystemClock, SystemRandom};
use crate::config::load::LoadFailure;
use crate::config::stack::declarations::{TransferDeclaration, TransferDirection};
use crate::ledger::journal::replay::transfers::pending_entries;
use crate::ledger::state::entry::LedgerIdentity;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::state::transfer::{LedgerPeer, Transfer, TransferStatus};
use crate::ledger::stores::location::LedgerLocation;
use crate::model::address::Address;
use crate::model::clock::{Clock, Random};
use crate::model::diagnostic::Diagnostic;
use crate::plan::inputs::PlanningOptions;
use crate::plan::model::transfers::ImpossibleMove;
use crate::plan::model::transfers::{StackMove, StackTransfers, interrupted_moves};
use crate::workspace::conflicts::transfer_claims::counterpart_entry;

/// Returns the diagnostics of the declared moves that do not fit the other stack; none for an untrusted stack, which may not
/// name another one.
pub(in crate::cli) fn declaration_problems(project: &LoadedStack) -> Vec<Diagnostic> {
    if project.settings.untrusted {
        return Vec::new();
    }
    let transfers = project.stack.declarations.transfers.iter();
    transfers
        .filter_map(|transfer| PeerStack::find(project, transfer).err().map(|problem| *problem))
        .collect()
}

/// Returns the options of a plan with the moves between the stack and others, and with the objects on their way as
/// another ledger's.
///
/// # Errors
/// When a declared move does not fit the other stack, or its ledger cannot be read.
pub(in crate::cli) async fn with_transfers<'o>(
    project: &LoadedStack,
    ledger: &Ledger,
    options: &'o PlanningOptions,
) -> Result<Cow<'o, PlanningOptions>, CliFailure> {
    let declared = &project.stack.declarations.transfers;
    if declared.is_empty() && !ledger.transfers.is_open() {
        return Ok(Cow::Borrowed(options));
    }
    let mut options = options.clone();
    options.transfers.blocked = interrupted_moves(ledger);
    Arc::make_mut(&mut options.foreign).extend(other_ledgers::objects_between_ledgers(ledger));
    for transfer in declared {
        // A destroy creates nothing, so it needs nothing from another stack.
        if !(options.destroy && transfer.direction == TransferDirection::Incoming) {
            add_transfer(project, ledger, transfer, &mut options.transfers).await?;
        }
    }
    Ok(Cow::Owned(options))
}

async fn add_transfer(
    project: &LoadedStack,
    ledger: &Ledger,
    transfer: &TransferDeclaration,
    found: &mut StackTransfers,
) -> Result<(), CliFailure> {
    let own = transfer.own_address();
    let is_done = match transfer.direction {
        TransferDirection::Outgoing => !ledger.entries.keys().any(|address| address.is_within(own)),
        TransferDirection::Incoming => ledger.entries.contains_key(own),
    };
    if is_done || ledger.transfers.holding(own).is_some() {
        return Ok(());
    }
    if project.settings.untrusted {
        found.blocked.push(untrusted_move(transfer));
        return Ok(());
    }
    let peer = find_peer(project, transfer)?;
    let mut other = read_peer(&peer).await?;
    if let Some(lost) = lost_transfer(ledger, &other, transfer) {
        found.blocked.push(lost);
        return Ok(());
    }
    forget_withdrawn(ledger, &mut other);
    let (source, target) = match transfer.direction {
        TransferDirection::Outgoing => (ledger, &other),
        TransferDirection::Incoming => (&other, ledger),
    };
    let moves: BTreeMap<Address, Address> = source
        .entries
        .keys()
        .filter_map(|address| Some((address.clone(), transfer.new_address(address)?)))
        .collect();
    if moves.is_empty() {
        return Ok(());
    }
    // A ledger that does not exist yet has no lineage, and a plan hides that of an empty one.
    let told = Ledger { identity: distinct_identity(source, target), ..target.clone() };
    if let Err(refusal) = check_move(source, &told, &moves) {
        let MoveRefusal { help, .. } = refusal;
        let (address, text, span) = (own.clone(), format!("{refusal}."), Some(transfer.span));
        found.blocked.push(ImpossibleMove { address, text, help: help.to_owned(), span });
        return Ok(());
    }
    if !peer.has_entry {
        found.blocked.push(one_sided_move(project, &peer, transfer));
        return Ok(());
    }
    found.moves.push(StackMove {
        direction: transfer.direction,
        peer: peer.label(),
        content: Box::new(pending_entries(
            source,
            &trial_transfer(&peer, &other, &moves, found.moves.len()),
        )),
        moves,
        span: transfer.span,
    });
    Ok(())
}

/// Returns why a move is not planned for an untrusted stack.
fn untrusted_move(transfer: &TransferDeclaration) -> ImpossibleMove {
    let own = transfer.own_address();
    ImpossibleMove {
        address: own.clone(),
        text: format!(
            "{own} moves between two stacks, and with --untrusted stead reads no other stack's ledger."
        ),
        help: "Plan it without --untrusted.".to_owned(),
        span: Some(transfer.span),
    }
}

/// Returns the problem of a move that the other stack does not declare: its plan would delete the object, or create a
/// second one.
fn one_sided_move(
    project: &LoadedStack,
    peer: &PeerStack,
    transfer: &TransferDeclaration,
) -> ImpossibleMove {
    let TransferDeclaration { from, to, direction, shown, .. } = transfer;
    let would = match direction {
        TransferDirection::Outgoing => "create a second object",
        TransferDirection::Incoming => "delete the object",
    };
    let entry = counterpart_entry(*direction, (from, to), &peer.way_back(project));
    ImpossibleMove {
        address: transfer.own_address().clone(),
        text: format!(
            "{} has no `moved` entry for the move of {from} to {to}, so its plan would {would}.",
            peer.label()
        ),
        help: format!("Add the entry `{entry}` to `moved` in `{shown}`, or remove this one."),
        span: Some(transfer.span),
    }
}

/// Finds the other stack of a declaration; its failure shows the declaration.
fn find_peer(project: &LoadedStack, transfer: &TransferDeclaration) -> Result<PeerStack, CliFailure> {
    PeerStack::find(project, transfer).map_err(|problem| {
        let sources = project.stack.sources.clone();
        CliFailure::from(Box::new(LoadFailure::new(sources, vec![*problem])))
    })
}

/// Removes the transfers from the other ledger that a new move withdraws first, once both ledgers are open.
fn forget_withdrawn(own: &Ledger, other: &mut Ledger) {
    let status = |id: &Uuid| own.transfers.status(*id);
    other.transfers.outgoing.retain(|id, one| one.is_given() || status(id) == TransferStatus::Received);
    other.transfers.incoming.retain(|id, _| status(id) != TransferStatus::Absent);
}

/// Returns the problem of resources that the other ledger gave to this one, which does not know of it: an older copy of
/// this ledger was restored. The resource must not be created again.
fn lost_transfer(own: &Ledger, other: &Ledger, transfer: &TransferDeclaration) -> Option<ImpossibleMove> {
    let given = other.transfers.outgoing.values().filter(|one| one.is_given());
    let mut lost = given.filter(|one| {
        let LedgerPeer { stack, environment, .. } = &one.transfer.peer;
        (stack, environment) == (&own.identity.stack, &own.identity.environment)
            && own.transfers.status(one.transfer.id) == TransferStatus::Absent
            && one.given.keys().any(|address| address.is_within(&transfer.from))
    });
    lost.next().map(|_| ImpossibleMove {
        address: transfer.own_address().clone(),
        text: format!(
            "The ledger of {}/{} has given {} to this one, which does not know the move: an older copy was restored.",
            other.identity.stack, other.identity.environment, transfer.from
        ),
        help: "Restore a newer copy of this ledger: stead state push FILE.".to_owned(),
        span: Some(transfer.span),
    })
}

/// Returns the identity of the target, which differs from that of the source also before its ledger exists.
fn distinct_identity(source: &Ledger, target: &Ledger) -> LedgerIdentity {
    let same_lineage = source.identity.lineage == target.identity.lineage;
    let same_stack = (&source.identity.stack, &source.identity.environment)
        == (&target.identity.stack, &target.identity.environment);
    if same_lineage && !same_stack {
        return LedgerIdentity { lineage: Uuid::max(), ..target.identity.clone() };
    }
    target.identity.clone()
}

/// Returns a transfer that only a plan makes, in memory. Its id distinguishes it from the plan's other ones.
fn trial_transfer(
    peer: &PeerStack,
    other: &Ledger,
    moves: &BTreeMap<Address, Address>,
    number: usize,
) -> Transfer {
    let LedgerIdentity { stack, environment, .. } = other.identity.clone();
    let location = peer.place.to_string();
    Transfer {
        id: Uuid::from_u128(number as u128 + 1),
        peer: LedgerPeer { lineage: Uuid::max(), stack, environment, location, directory: None },
        moves: moves.clone(),
        who: String::new(),
        at: jiff::Timestamp::UNIX_EPOCH,
    }
}

/// Reads the ledger of the other stack; an empty one if it does not exist.
async fn read_peer(peer: &PeerStack) -> Result<Ledger, CliFailure> {
    let (name, environment) = (&peer.stack.name, &peer.stack.environment.name);
    let key = open::seal_key(&peer.settings)?;
    let read = CommandStore::read(&peer.place, name, environment, key.as_ref()).await;
    let read = read.map_err(|error| {
        let failure = CliFailure::from(error);
        CliFailure { message: format!("{}: {}", peer.label(), failure.message), ..failure }
    })?;
    let unborn = || Ledger::new(LedgerIdentity::new_placeholder(name, environment));
    Ok(read.unwrap_or_else(unborn))
}

/// Returns whether the first objects of a ledger come from another stack: a plan that was made before the ledger existed compares
/// their secrets by the key of the ledger that they leave.
pub(in crate::cli) fn are_first_objects(project: &LoadedStack, ledger: &Ledger) -> bool {
    let mut transfers = project.stack.declarations.transfers.iter();
    ledger.equals_none() && transfers.any(|transfer| transfer.direction == TransferDirection::Incoming)
}

/// Ends the transfers that an earlier run left open in a ledger that is open for writing, and reports how.
///
/// # Errors
/// When the ledger cannot be written. A transfer whose other ledger cannot be used stays open, and blocks the plan.
pub(in crate::cli) async fn finish_interrupted(
    (ui, who): (&Ui, &str),
    project: &LoadedStack,
    connection: &StackConnection,
    journal: &CommandJournal,
) -> Result<(), CliFailure> {
    if !journal.ledger().transfers.is_open() {
        return Ok(());
    }
    let peers = RecordedPeers { project, who, effect: connection.bounds.effect };
    for finished in finish_open_moves(journal, &peers).await? {
        ui.write_message(&describe_ending(&finished));
    }
    Ok(())
}

/// Returns a message about the end of an interrupted move.
fn describe_ending(finished: &FinishedMove) -> String {
    let FinishedMove { transfer, side, ending } = finished;
    let peer = &transfer.peer;
    let (verb, addresses) = match side {
        Side::Source => ("to", transfer.moves.keys().collect::<Vec<_>>()),
        Side::Target => ("from", transfer.moves.values().collect()),
    };
    let first = addresses.first().map(|address| address.as_str()).unwrap_or_default();
    let more =
        if addresses.len() > 1 { format!(" and {} more", addresses.len() - 1) } else { String::new() };
    let what = format!("the interrupted move of {first}{more} {verb} {peer}");
    match ending {
        MoveEnding::Completed => format!("Completed {what}."),
        MoveEnding::Withdrawn => format!("Took back {what}: it had not begun there."),
        MoveEnding::Open(error) => {
            format!(
                "warning: cannot end {what}: {error}. Apply again when that ledger is free, or apply {peer}."
            )
        }
        MoveEnding::PeerMissing => format!(
            "warning: cannot end {what}: its ledger is not at {}. If it was moved or deleted, restore a copy there \
             (stead state push), and apply again.",
            peer.location
        ),
        MoveEnding::Contradiction => format!(
            "warning: cannot end {what}: the ledger of {peer} does not know the move. An older copy of it was \
             restored; restore a newer one (stead state push), and apply again."
        ),
    }
}

/// Makes the moves of a plan, each with both ledgers open.
///
/// # Errors
/// When the other ledger is held or cannot be written, or the entries are not those of the plan any more.
pub(in crate::cli) async fn make_moves(
    (ui, who): (&Ui, &str),
    project: &LoadedStack,
    connection: &StackConnection,
    journal: &CommandJournal,
    planned: &StackTransfers,
) -> Result<(), CliFailure> {
    for one in &planned.moves {
        let declared =
            project.stack.declarations.transfers.iter().find(|transfer| transfer.span == one.span);
        let Some(transfer) = declared else { continue };
        let peer = find_peer(project, transfer)?;
        let identity =
            LedgerIdentity::new_random(&peer.stack.name, &peer.stack.environment.name, &SystemRandom);
        let terms = LedgerOpenOptions {
            identity: &identity,
            effect: connection.bounds.effect,
            force: None,
            vouched: &[],
        };
        let opened = ledger_io::open_at(&peer.settings, who, &peer.place, &terms).await;
        let other = opened.map_err(|failure| CliFailure {
            message: format!("{}: {}", peer.label(), failure.message),
            ..failure
        })?;
        // Not interrupted by a signal: a move that begins also ends.
        let done = make_move((ui, who), project, connection, (journal, &other), (&peer, one)).await;
        ledger_io::close_after(other, done).await?;
    }
    Ok(())
}

async fn make_move(
    (ui, who): (&Ui, &str),
    project: &LoadedStack,
    connection: &StackConnection,
    (journal, other): (&CommandJournal, &CommandJournal),
    (peer, planned): (&PeerStack, &StackMove),
) -> Result<(), CliFailure> {
    let marks = super::high_water_mark::HighWaterMarkStore::new(
        &peer.settings,
        open::seal_key(&peer.settings)?,
        &peer.place,
        (&peer.stack.name, &peer.stack.environment.name),
    );
    let rollback = marks.detect_rollback(Some((&other.ledger(), &other.trail())))?;
    if let Some(objection) = rollback {
        return Err(objection.into());
    }
    finish_between(journal, other).await?;
    let (to_peer, to_own) = peer.directories(project);
    let own_end = MoveEnd { journal, location: recorded_location(&connection.place), directory: to_own };
    let peer_end = MoveEnd { journal: other, location: recorded_location(&peer.place), directory: to_peer };
    let (source, target) = match planned.direction {
        TransferDirection::Outgoing => (&own_end, &peer_end),
        TransferDirection::Incoming => (&peer_end, &own_end),
    };
    let is_planned = {
        let found = pending_entries(&source.journal.ledger(), &planned.content.transfer);
        found.entries.keys().eq(planned.content.entries.keys())
            && found.entries.iter().all(|(to, entry)| {
                planned.content.entries.get(to).is_some_and(|known| known.current == entry.current)
            })
    };
    if !is_planned {
        return Err(CliFailure::new(
            Exit::OutOfDate,
            format!("the ledger of {} changed after the plan was made", peer.label()),
        )
        .help("Nothing was moved. Plan again."));
    }
    let request =
        MoveRequest { id: SystemRandom.uuid(), moves: &planned.moves, who, at: SystemClock.now() };
    move_between(source, target, &request).await.map_err(move_failure)?;
    ledger_io::advance_marks(&marks, other);
    let count = planned.moves.len();
    let what = if count == 1 { "1 resource".to_owned() } else { format!("{count} resources") };
    let way = match planned.direction {
        TransferDirection::Outgoing => "to",
        TransferDirection::Incoming => "from",
    };
    ui.write_message(&format!("Moved {what} {way} {}.", planned.peer));
    Ok(())
}

fn move_failure(error: MoveError) -> CliFailure {
    match error {
        MoveError::Refused(refusal) => {
            CliFailure::new(Exit::OutOfDate, refusal.to_string()).help(refusal.help)
        }
        MoveError::Ledger(error) => CliFailure::from(error)
            .help("The object belongs to one of the two stacks. The next apply of either ends the move."),
    }
}

/// Returns a location as the other ledger records it: absolute, and without a password.
fn recorded_location(place: &LedgerLocation) -> String {
    match place {
        LedgerLocation::Directory(directory) => {
            LedgerLocation::Directory(stack_files::full_path(directory)).to_string()
        }
        other => other.to_string(),
    }
}
