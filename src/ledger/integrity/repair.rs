//! Repair of a ledger directory: restores the last good checkpoint and every proven line after it. Damaged
//! files are renamed, never deleted.

use std::path::Path;

use foldhash::HashMap;
use jiff::Timestamp;
use uuid::Uuid;

use super::fragments::{self, Fragment, FragmentMacs};
use super::verify::{LedgerFiles, ReplayPoint};
use crate::ledger::journal::chain::{self, ChainHead};
use crate::ledger::journal::error::{MacError, StoreError};
use crate::ledger::journal::excerpt::excerpt_ledger;
use crate::ledger::journal::mac::{MacKey, check_ledger, check_writable};
use crate::ledger::journal::record::Record;
use crate::ledger::journal::replay::apply_record;
use crate::ledger::journal::replay::{load_ledger, same_owner};
use crate::ledger::state::entry::MacState;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::state::run_history::{Incident, IncidentKind};
use crate::ledger::state::transfer::Transfer;
use crate::ledger::stores::file::dir_handle::{DirHandle, file_error};
use crate::ledger::stores::file::lock::{self, FileLock};
use crate::ledger::stores::file::store::{self, journal_name, summary_name};
use crate::model::address::Address;

/// A prepared repair, which holds the ledger's lock.
pub struct PreparedRepair {
    folder: DirHandle,
    /// Held as long as this exists; never read.
    _lock: FileLock,
    ledger: Ledger,
    head: ChainHead,
    seal: Option<MacKey>,
    /// The lines that cannot be restored.
    pub lost: Vec<LostLine>,
    names: Vec<String>,
}

/// A line that cannot be restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostLine {
    /// The path of the file, with the line number.
    pub place: String,
    /// The reason why it is lost.
    pub reason: String,
    /// Descriptions of its records, as far as they can be read.
    pub records: Vec<String>,
}

/// The ledger to repair, and the actor.
#[derive(Debug, Clone, Copy)]
pub struct RepairOptions<'a> {
    /// The directory with the stack's ledgers.
    pub directory: &'a Path,
    /// The stack whose ledger is repaired.
    pub stack: &'a str,
    /// The environment whose ledger is repaired.
    pub environment: &'a str,
    /// The actor, as `user@host`.
    pub who: &'a str,
    /// The time of the repair.
    pub now: Timestamp,
    /// The MAC key of the ledger, if it has one.
    pub seal: Option<&'a MacKey>,
}

impl PreparedRepair {
    /// Takes the ledger's lock and collects the proven records; writes nothing yet.
    ///
    /// # Errors
    /// When someone else has the lock, or nothing at all is proven.
    pub fn prepare(repairing: &RepairOptions<'_>) -> Result<Self, StoreError> {
        let place = lock::ledger_directory(repairing.directory, repairing.environment)?;
        let folder = DirHandle::open_private_dir(&place).map_err(file_error("read", &place))?;
        let lock = lock::take_file_lock(&folder, repairing.who, repairing.now)?;
        let material = LedgerFiles::read(&folder, repairing.seal)?;
        let mut salvaging = RepairProgress::default();
        let serials = material.serials();
        for serial in &serials {
            salvaging.salvage_serial(&material, *serial);
        }
        let RepairProgress { point, lost, sealed, uncovered, .. } = salvaging;
        // With another key no line can be proven, so report the wrong key instead of damage.
        check_writable(sealed.as_slice(), repairing.seal)?;
        let Some((mut ledger, head)) = point else {
            return Err(StoreError::Corrupt {
                place: place.display().to_string(),
                reason: "it has no checkpoint and no line that is proven".to_owned(),
            });
        };
        check_ledger(&ledger, repairing.seal)?;
        if let Some(error) = uncovered {
            return Err(error);
        }
        let identity = &ledger.identity;
        same_owner(&identity.stack, &identity.environment, repairing.stack, repairing.environment)?;
        // The new serial must be higher than any that a machine has seen, lost records included.
        let missing: usize = lost.iter().map(|lost| lost.records.len().max(1)).sum();
        let highest = serials.last().copied().unwrap_or(0).max(ledger.serial);
        ledger.serial = highest + missing as u64 + 1;
        let what = IncidentKind::Repaired { lost: missing };
        let (at, who) = (repairing.now, repairing.who.to_owned());
        ledger.incidents.push_back(Incident { at, who, what, reason: None });
        if let Some(key) = repairing.seal {
            // The line that began the MACs may be lost; every line that is written now has one.
            let sealing = MacState { key: key.id().clone(), since: ledger.serial, previous: Vec::new() };
            ledger.sealed.get_or_insert(sealing);
        }
        let summaries = material.summaries.keys().map(|serial| summary_name(*serial));
        let names = summaries.chain(material.journals.keys().map(|serial| journal_name(*serial))).collect();
        let seal = repairing.seal.cloned();
        Ok(Self { folder, _lock: lock, ledger, head, seal, lost, names })
    }

    /// Returns the ledger in its repaired state.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Writes the repaired ledger, then renames the old files; returns the common prefix of their new names. After a
    /// crash in between, the new ledger is valid, and another repair renames the rest.
    ///
    /// # Errors
    /// When a file cannot be written or renamed.
    pub fn write(self) -> Result<String, StoreError> {
        store::write_summary(&self.folder, &self.ledger, &self.head, self.seal.as_ref())?;
        let aside = format!("before-repair-{}-", self.ledger.serial);
        for name in &self.names {
            let renamed = self.folder.rename(name, &format!("{aside}{name}"));
            renamed.map_err(file_error("rename", &self.folder.path().join(name)))?;
        }
        self.folder.sync().map_err(file_error("write", self.folder.path()))?;
        Ok(aside)
    }
}

/// The state of a repair while it reads the files.
#[derive(Default)]
struct RepairProgress {
    point: Option<ReplayPoint>,
    lost: Vec<LostLine>,
    /// The address of each request.
    requests: HashMap<Uuid, Address>,
    /// The record that began the MACs, proven or not.
    sealed: Option<Record>,
    /// Set when the checkpoint it starts from was not written with the key.
    uncovered: Option<StoreError>,
}

impl RepairProgress {
    /// Reads the checkpoint of a serial and the journal after it.
    fn salvage_serial(&mut self, material: &LedgerFiles<'_>, serial: u64) {
        match material.read_checkpoint(serial) {
            // A checkpoint contains all earlier records, lost lines included.
            Some(Ok(point)) => {
                self.lost.clear();
                self.uncovered = check_ledger(&point.0, material.key).err();
                self.point = Some(point);
            }
            Some(Err(reason)) => {
                let reached = self.point.as_ref().map_or(0, |(ledger, _)| ledger.serial);
                if reached != serial {
                    let reason = format!("{reason}; the files before it end at record {reached}");
                    self.lost.push(LostLine { place: summary_name(serial), reason, records: Vec::new() });
                }
            }
            None => {}
        }
        let Some(bytes) = material.journals.get(&serial) else { return };
        let before = match &self.point {
            Some((ledger, head)) if ledger.serial == serial => *head,
            // After a gap, the journal's own digests prove it from its second line on.
            Some((_, head)) => *head,
            None => chain::first_head(),
        };
        let begun = self.point.as_ref().is_some_and(|(ledger, _)| ledger.sealed.is_some());
        let found = fragments::read_fragments(bytes, before, FragmentMacs::new(material.key, begun));
        if found.uncovered {
            self.uncovered = Some(MacError::MissingMacs.into());
        }
        for piece in &found.lines {
            self.add_fragment(piece, serial);
        }
        if let Some((_, head)) = &mut self.point {
            *head = found.head;
        }
    }

    fn add_fragment(&mut self, piece: &Fragment, serial: u64) {
        for record in &piece.records {
            if let Record::Intent(intent) = record {
                self.requests.insert(intent.op, intent.address.clone());
            }
            if let Record::Sealed { .. } = record {
                self.sealed = Some(record.clone());
            }
        }
        let place = format!("{}, line {}", journal_name(serial), piece.line);
        let refused = if piece.proven {
            match self.replay_line(&piece.records) {
                Ok(()) => return,
                Err(reason) => reason,
            }
        } else {
            piece.damage.unwrap_or("it is not proven").to_owned()
        };
        let records = piece.records.iter().map(|record| self.describe_record(record)).collect();
        self.lost.push(LostLine { place, reason: refused, records });
    }

    /// Applies the records of a proven line, all or none.
    fn replay_line(&mut self, records: &[Record]) -> Result<(), String> {
        let Some((ledger, _)) = &mut self.point else {
            let ledger = load_ledger(records.iter().cloned()).map_err(|error| error.to_string())?;
            self.point = Some((ledger, chain::first_head()));
            return Ok(());
        };
        let mut trial = excerpt_ledger(ledger, records);
        for record in records {
            apply_record(&mut trial, record)
                .map_err(|illegal| format!("without the lost records, {illegal}"))?;
        }
        for record in records {
            apply_record(ledger, record).map_err(|illegal| illegal.to_string())?;
        }
        Ok(())
    }

    /// Returns a short description of a record.
    fn describe_record(&self, record: &Record) -> String {
        let named = |op: &Uuid| self.requests.get(op).map_or_else(|| op.to_string(), ToString::to_string);
        match record {
            Record::Intent(intent) => format!("a request for {}", intent.address),
            Record::Bound { op, object } => format!("{} was bound to the object {}", named(op), object.id),
            Record::Closed { op, .. } => format!("the end of a request for {}", named(op)),
            Record::Answered { op, .. } => format!("the resolution of an intent for {}", named(op)),
            Record::Gone { address, id, .. } => format!("{address}: {id} did not exist any more"),
            Record::Applied { address, .. } | Record::Merged { address, .. } => {
                format!("the values that were applied to {address}")
            }
            Record::Adopted { address, .. } => format!("{address} was adopted"),
            Record::Forgotten { address } => format!("{address} was forgotten"),
            Record::Moved { moves } => {
                let moves = moves.iter().map(|(from, to)| format!("{from} was moved to {to}"));
                moves.collect::<Vec<_>>().join(", ")
            }
            Record::Asked(question) => format!("an ambiguous intent for {}", question.intent.address),
            Record::Begin { run, .. } => format!("the start of run {run}"),
            Record::Ended { run, .. } => format!("the end of run {run}"),
            Record::Account { .. } => "the account".to_owned(),
            Record::Took { .. } | Record::Released { .. } => "the lease".to_owned(),
            Record::Sealed { .. } => "the start of the MACs".to_owned(),
            Record::Born { .. } | Record::Condensed(_) | Record::Pushed { .. } => {
                "a whole ledger".to_owned()
            }
            Record::Generated { variable, .. } => format!("a secret was generated for {variable}"),
            Record::Delivered { target, .. } => format!("a secret was delivered to {target}"),
            Record::Noted(_) => "a note".to_owned(),
            Record::SecretRecipients { .. } => "the recipients of kept secrets".to_owned(),
            Record::SecretKept { address, .. } => format!("the kept secret {address}"),
            Record::SecretRotation { address, .. } => format!("the rotation of {address}"),
            Record::TransferOffered(transfer) => {
                format!("an offer of {} resources to {}", transfer.moves.len(), transfer.peer)
            }
            Record::TransferPending(incoming) => {
                let Transfer { moves, peer, .. } = &incoming.transfer;
                format!("{} resources that {peer} offered", moves.len())
            }
            Record::TransferGiven { .. } => "resources were given to another ledger".to_owned(),
            Record::TransferOwned { .. } => "resources were taken over from another ledger".to_owned(),
            Record::TransferWithdrawn { .. } | Record::TransferSettled { .. } => {
                "the end of a move between two ledgers".to_owned()
            }
            Record::MovedAway { to } => format!("the move to {to}"),
            Record::Reviewed(_) => "the review of many stacks".to_owned(),
            Record::ReviewDone { .. } => "the end of a review of many stacks".to_owned(),
            Record::Origins { .. } => "the directories and repositories that it is applied from".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
