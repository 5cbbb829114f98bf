//! Runs transfers between two ledgers that are open for writing, and ends those that an earlier run left open.
//!
//! In: journals over any stores. Out: the ledgers with the objects in exactly one of them. A kill between any two records
//! leaves a transfer that `finish_open_moves` ends from either ledger. Sends no request to the service.

use std::collections::BTreeMap;
use std::pin::pin;

use futures_util::future::{Either, select};
use jiff::Timestamp;
use thiserror::Error;
use uuid::Uuid;

use super::closing::{Side, closing_records};
use super::requirements::{MoveRefusal, check_move};
use crate::ledger::journal::error::StoreError;
use crate::ledger::journal::handle::Journal;
use crate::ledger::journal::record::Record;
use crate::ledger::journal::replay::transfers::pending_entries;
use crate::ledger::journal::store::Store;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::state::transfer::{LedgerPeer, Transfer, TransferStatus};
use crate::model::address::{Address, Name};

/// One end of a move: an open ledger, and how the other end finds it again.
pub struct MoveEnd<'j, S> {
    /// The open ledger.
    pub journal: &'j Journal<S>,
    /// Its location in the notation of the settings, without a password.
    pub location: String,
    /// The directory of its stack relative to the directory of the other end's stack, if it is known.
    pub directory: Option<Name>,
}

impl<S: Store> MoveEnd<'_, S> {
    /// Returns this end as the other ledger records it.
    fn to_peer(&self) -> LedgerPeer {
        let ledger = self.journal.ledger();
        LedgerPeer {
            lineage: ledger.identity.lineage,
            stack: ledger.identity.stack.clone(),
            environment: ledger.identity.environment.clone(),
            location: self.location.clone(),
            directory: self.directory.clone(),
        }
    }
}

/// What is moved, and by whom.
#[derive(Debug, Clone, Copy)]
pub struct MoveRequest<'a> {
    /// A new id.
    pub id: Uuid,
    /// New addresses in the target by the addresses in the source, with those of all children.
    pub moves: &'a BTreeMap<Address, Address>,
    /// The actor, as `user@host`.
    pub who: &'a str,
    /// The time by the actor's clock.
    pub at: Timestamp,
}

/// Why a move did not take place, or why its end is not known.
#[derive(Debug, Error)]
pub enum MoveError {
    /// It is not possible; nothing was written.
    #[error(transparent)]
    Refused(#[from] MoveRefusal),
    /// A ledger could not be written. The next run ends the move.
    #[error(transparent)]
    Ledger(#[from] StoreError),
}

/// Moves entries from one ledger to the other.
///
/// # Errors
/// When the move is not possible, a ledger cannot be written, or a lease is lost. After an error of a ledger, the
/// objects belong to one of the two ledgers, and the next run finds out to which.
pub async fn move_between<S: Store, T: Store>(
    source: &MoveEnd<'_, S>,
    target: &MoveEnd<'_, T>,
    request: &MoveRequest<'_>,
) -> Result<(), MoveError> {
    check_move(&source.journal.ledger(), &target.journal.ledger(), request.moves)?;
    keep_both(source.journal, target.journal, write_transfer(source, target, request)).await
}

/// Runs work while both leases are renewed; the loss of one ends it.
async fn keep_both<S: Store, T: Store, R>(
    source: &Journal<S>,
    target: &Journal<T>,
    work: impl Future<Output = Result<R, MoveError>>,
) -> Result<R, MoveError> {
    let (one, other) = (pin!(source.keep_lease()), pin!(target.keep_lease()));
    match select(pin!(work), select(one, other)).await {
        Either::Left((done, _)) => done,
        Either::Right((Either::Left((lost, _)) | Either::Right((lost, _)), _)) => Err(lost.into()),
    }
}

async fn write_transfer<S: Store, T: Store>(
    source: &MoveEnd<'_, S>,
    target: &MoveEnd<'_, T>,
    request: &MoveRequest<'_>,
) -> Result<(), MoveError> {
    let transfer = |peer| Transfer {
        id: request.id,
        peer,
        moves: request.moves.clone(),
        who: request.who.to_owned(),
        at: request.at,
    };
    let id = request.id;
    let offer = transfer(target.to_peer());
    source.journal.commit(&[Record::TransferOffered(Box::new(offer))]).await?;
    // After the offer is durable: from here on nothing changes the entries.
    let pending = pending_entries(&source.journal.ledger(), &transfer(source.to_peer()));
    target.journal.commit(&[Record::TransferPending(Box::new(pending))]).await?;
    source.journal.commit(&[Record::TransferGiven { transfer: id }]).await?;
    target.journal.commit(&[Record::TransferOwned { transfer: id }]).await?;
    source.journal.commit(&[Record::TransferSettled { transfer: id }]).await?;
    Ok(())
}

/// Finds the other ledger of a transfer.
pub trait PeerLedgers {
    /// The store of the other ledger.
    type Store: Store;

    /// Reads the other ledger without its lock; `None` if there is none.
    fn read(&self, peer: &LedgerPeer) -> impl Future<Output = Result<Option<Ledger>, StoreError>>;

    /// Opens the other ledger for writing; an error if another process holds it, or there is none.
    fn open(&self, peer: &LedgerPeer) -> impl Future<Output = Result<Journal<Self::Store>, StoreError>>;
}

/// How a transfer that an earlier run left open has ended.
#[derive(Debug)]
pub enum MoveEnding {
    /// The target owns the objects.
    Completed,
    /// The source keeps the objects.
    Withdrawn,
    /// It is still open: the other ledger could not be read or written.
    Open(StoreError),
    /// It is still open: the other ledger does not exist any more, or is another one at the same location.
    PeerMissing,
    /// It is still open: the source has given the objects away, and the target does not have them.
    Contradiction,
}

/// A transfer that an earlier run left open.
#[derive(Debug)]
pub struct FinishedMove {
    /// The transfer as this ledger records it.
    pub transfer: Transfer,
    /// The role of this ledger.
    pub side: Side,
    /// Its end.
    pub ending: MoveEnding,
}

/// Ends every transfer that is open in a ledger, from this ledger's side, as far as the other ledgers can be read.
///
/// Call it before anything is planned. A transfer that stays open holds its addresses: no plan and no record can change
/// them.
///
/// # Errors
/// When this ledger cannot be written.
pub async fn finish_open_moves<S: Store, P: PeerLedgers>(
    journal: &Journal<S>,
    peers: &P,
) -> Result<Vec<FinishedMove>, StoreError> {
    let mut found = Vec::new();
    // Not in the loop's head: the ledger must not stay borrowed over an await.
    let open = open_transfers(&journal.ledger());
    for (transfer, side) in open {
        let ending = finish_one(journal, peers, &transfer, side).await?;
        found.push(FinishedMove { transfer, side, ending });
    }
    Ok(found)
}

/// Ends every transfer between two ledgers that are both open for writing.
///
/// # Errors
/// When one of them cannot be written. For a transfer that only the first one has open, the error is its ending.
pub async fn finish_between<S: Store, T: Store>(
    one: &Journal<S>,
    other: &Journal<T>,
) -> Result<Vec<FinishedMove>, StoreError> {
    let (mine, theirs) = (one.ledger().identity.lineage, other.ledger().identity.lineage);
    let between = |ledger: &Ledger, peer: Uuid| {
        let mut open = open_transfers(ledger);
        open.retain(|(transfer, _)| transfer.peer.lineage == peer);
        open
    };
    let mut found = Vec::new();
    let open = between(&one.ledger(), theirs);
    for (transfer, side) in open {
        let ending = write_closing(one, other, transfer.id, side).await?;
        found.push(FinishedMove { transfer, side, ending });
    }
    // What is open in the second ledger only, seen from the first one.
    let open = between(&other.ledger(), mine);
    for (transfer, side) in open {
        let ending = write_closing(other, one, transfer.id, side).await?;
        found.push(FinishedMove { transfer, side, ending });
    }
    Ok(found)
}

fn open_transfers(ledger: &Ledger) -> Vec<(Transfer, Side)> {
    let outgoing = ledger.transfers.outgoing.values().map(|one| (one.transfer.clone(), Side::Source));
    let incoming = ledger.transfers.incoming.values().map(|one| (one.transfer.clone(), Side::Target));
    outgoing.chain(incoming).collect()
}

/// Returns the status in the source and in the target, of which `own` is the given side.
fn in_order(side: Side, own: TransferStatus, other: TransferStatus) -> (TransferStatus, TransferStatus) {
    match side {
        Side::Source => (own, other),
        Side::Target => (other, own),
    }
}

async fn finish_one<S: Store, P: PeerLedgers>(
    journal: &Journal<S>,
    peers: &P,
    transfer: &Transfer,
    side: Side,
) -> Result<MoveEnding, StoreError> {
    let id = transfer.id;
    let other = match peers.read(&transfer.peer).await {
        Ok(Some(ledger)) if ledger.identity.lineage == transfer.peer.lineage => ledger,
        Ok(_) => return Ok(MoveEnding::PeerMissing),
        Err(error) => return Ok(MoveEnding::Open(error)),
    };
    let own = journal.ledger().transfers.status(id);
    let (source, target) = in_order(side, own, other.transfers.status(id));
    let Ok(steps) = closing_records(id, source, target) else { return Ok(MoveEnding::Contradiction) };
    // What the other ledger still has to record after this one, it records when it is opened next.
    let ahead: Vec<Record> =
        steps.iter().take_while(|(at, _)| *at == side).map(|(_, record)| record.clone()).collect();
    let waits_for_other = ahead.len() < steps.iter().filter(|(at, _)| *at == side).count();
    if !waits_for_other {
        journal.commit(&ahead).await?;
        return Ok(ending_of(&steps));
    }
    let peer = match peers.open(&transfer.peer).await {
        Ok(peer) if peer.ledger().identity.lineage == transfer.peer.lineage => peer,
        Ok(peer) => {
            let closed = peer.close().await;
            return Ok(closed.map_or_else(MoveEnding::Open, |()| MoveEnding::PeerMissing));
        }
        Err(error) => return Ok(MoveEnding::Open(error)),
    };
    // Under its lease: before it, the status could still change.
    let ending = write_closing(journal, &peer, id, side).await;
    match (ending, peer.close().await) {
        (Ok(ending), Ok(()) | Err(StoreError::Poisoned)) => Ok(ending),
        (Ok(_), Err(error)) => Ok(MoveEnding::Open(error)),
        (Err(error), _) => Err(error),
    }
}

/// Writes the closing records of a transfer to both ledgers, in their order. Fails only if `own` cannot be written.
async fn write_closing<S: Store, T: Store>(
    own: &Journal<S>,
    other: &Journal<T>,
    id: Uuid,
    side: Side,
) -> Result<MoveEnding, StoreError> {
    let (source, target) =
        in_order(side, own.ledger().transfers.status(id), other.ledger().transfers.status(id));
    let Ok(steps) = closing_records(id, source, target) else { return Ok(MoveEnding::Contradiction) };
    for (at, record) in &steps {
        if *at == side {
            own.commit(std::slice::from_ref(record)).await?;
        } else {
            match other.commit(std::slice::from_ref(record)).await {
                Ok(()) => {}
                Err(error) => return Ok(MoveEnding::Open(error)),
            }
        }
    }
    Ok(ending_of(&steps))
}

/// Returns how a transfer ends with these records.
fn ending_of(steps: &[(Side, Record)]) -> MoveEnding {
    let goes_back = steps.iter().any(|(_, record)| matches!(record, Record::TransferWithdrawn { .. }));
    if goes_back { MoveEnding::Withdrawn } else { MoveEnding::Completed }
}
