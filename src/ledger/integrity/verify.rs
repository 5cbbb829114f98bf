//! Verification of a ledger directory: every digest, every transition, every stored checkpoint, and whether they agree.

use std::collections::BTreeMap;
use std::path::Path;

use super::invariants;
use crate::ledger::journal::chain::{self, ChainHead};
use crate::ledger::journal::error::StoreError;
use crate::ledger::journal::mac::{MacKey, MacVerifier, check_ledger};
use crate::ledger::journal::record::Record;
use crate::ledger::journal::replay::load_ledger;
use crate::ledger::journal::{checkpoint, line};
use crate::ledger::state::ledger::Ledger;
use crate::ledger::stores::file::dir_handle::{DirHandle, file_error};
use crate::ledger::stores::file::lock;
use crate::ledger::stores::file::store::{journal_name, serial_of, summary_name};

/// The result of a verification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerificationReport {
    /// Number of stored checkpoints.
    pub summaries: usize,
    /// Number of stored journals.
    pub journals: usize,
    /// Number of replayed records.
    pub records: usize,
    /// The serial of the last proven record.
    pub serial: u64,
    /// The last line is incomplete; it was never acknowledged.
    pub torn: bool,
    /// Its lines have MACs, and there was no key to verify them.
    pub unproven: bool,
    /// Description of the detected inconsistencies.
    pub damages: Vec<LedgerDamage>,
}

/// An inconsistency in a stored ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerDamage {
    /// The path of the file, with the line number.
    pub place: String,
    /// Description of the detected inconsistencies.
    pub reason: String,
}

/// The files of a ledger directory.
pub(in crate::ledger) struct LedgerFiles<'k> {
    /// The MAC key of the ledger, if it has one.
    pub key: Option<&'k MacKey>,
    pub summaries: BTreeMap<u64, Vec<u8>>,
    pub journals: BTreeMap<u64, Vec<u8>>,
}

/// A ledger, and the digest of all lines up to that state.
pub(in crate::ledger) type ReplayPoint = (Ledger, ChainHead);

/// Verifies all files that a directory has of an environment's ledger, without changing anything.
///
/// # Errors
/// When it cannot be read at all.
pub fn check_directory(
    directory: &Path,
    environment: &str,
    key: Option<&MacKey>,
) -> Result<VerificationReport, StoreError> {
    let place = lock::ledger_directory(directory, environment)?;
    match DirHandle::open_private_dir(&place) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(VerificationReport::default()),
        folder => Ok(LedgerFiles::read(&folder.map_err(file_error("read", &place))?, key)?.verify_all()),
    }
}

impl<'k> LedgerFiles<'k> {
    /// Reads all files of the ledger from a directory.
    pub fn read(folder: &DirHandle, key: Option<&'k MacKey>) -> Result<Self, StoreError> {
        let mut found = Self { key, summaries: BTreeMap::new(), journals: BTreeMap::new() };
        for name in folder.names().map_err(file_error("read", folder.path()))? {
            let (kept, serial) = if let Some(serial) = serial_of(&name, "ledger-", ".json") {
                (&mut found.summaries, serial)
            } else if let Some(serial) = serial_of(&name, "journal-", ".log") {
                (&mut found.journals, serial)
            } else {
                continue;
            };
            let bytes = folder.read(&name).map_err(file_error("read", &folder.path().join(&name)))?;
            kept.extend(bytes.map(|bytes| (serial, bytes)));
        }
        Ok(found)
    }

    /// Returns every serial that occurs in a file name, in order.
    pub fn serials(&self) -> Vec<u64> {
        let mut serials: Vec<u64> = self.summaries.keys().chain(self.journals.keys()).copied().collect();
        serials.sort_unstable();
        serials.dedup();
        serials
    }

    /// Reads a checkpoint and verifies its own digest and MAC.
    pub fn read_checkpoint(&self, serial: u64) -> Option<Result<ReplayPoint, String>> {
        let bytes = self.summaries.get(&serial)?;
        Some(match checkpoint::parse(bytes, &mut MacVerifier::new(self.key)) {
            Err(reason) => Err(reason.to_owned()),
            Ok((ledger, _)) if ledger.serial != serial => {
                Err("its record number does not match its file name".to_owned())
            }
            Ok((ledger, head)) => match invariants::find_contradictions(&ledger).into_iter().next() {
                Some(flaw) => Err(flaw),
                None => Ok((ledger, head)),
            },
        })
    }

    fn verify_all(&self) -> VerificationReport {
        let mut report = VerificationReport {
            summaries: self.summaries.len(),
            journals: self.journals.len(),
            ..VerificationReport::default()
        };
        let serials = self.serials();
        let (mut point, mut sealed) = (None, Ok(()));
        for serial in &serials {
            let base = self.starting_point(*serial, point, &mut report);
            // The MACs of the later lines do not cover the checkpoint.
            sealed = base.as_ref().map_or(Ok(()), |(ledger, _)| check_ledger(ledger, self.key));
            point = self.replay_journal(*serial, base, serials.last() == Some(serial), &mut report);
        }
        let has_macs = point.as_ref().is_some_and(|(ledger, _)| ledger.sealed.is_some());
        report.unproven = has_macs && self.key.is_none();
        let whole = point.as_ref().map_or(Ok(()), |(ledger, _)| check_ledger(ledger, self.key));
        if let Err(error) = sealed.and(whole) {
            report.add_damage("the ledger".to_owned(), error.to_string());
        }
        report.serial = point.map_or(0, |(ledger, _)| ledger.serial);
        report
    }

    /// Returns the ledger at the start of a journal; the checkpoint must agree with the records before it.
    fn starting_point(
        &self,
        serial: u64,
        before: Option<ReplayPoint>,
        report: &mut VerificationReport,
    ) -> Option<ReplayPoint> {
        let mut damaged = |reason: String| report.add_damage(summary_name(serial), reason);
        match self.read_checkpoint(serial) {
            Some(Ok(point)) => {
                if before.is_some_and(|before| !is_consistent(&before, &point)) {
                    damaged("it does not agree with the records before it".to_owned());
                }
                Some(point)
            }
            Some(Err(reason)) => {
                damaged(reason);
                before.filter(|(ledger, _)| ledger.serial == serial)
            }
            None if serial == 0 => None,
            None => {
                let reason = "the checkpoint that it continues is missing".to_owned();
                report.add_damage(journal_name(serial), reason);
                before.filter(|(ledger, _)| ledger.serial == serial)
            }
        }
    }

    /// Replays a journal; `None` when its final state is not certain.
    fn replay_journal(
        &self,
        serial: u64,
        base: Option<ReplayPoint>,
        last: bool,
        report: &mut VerificationReport,
    ) -> Option<ReplayPoint> {
        let Some(bytes) = self.journals.get(&serial) else { return base };
        let (ledger, before) = match base {
            Some((ledger, head)) => (Some(ledger), head),
            None if serial == 0 => (None, chain::first_head()),
            None => return None,
        };
        let name = journal_name(serial);
        let mut seals = match &ledger {
            Some(ledger) => MacVerifier::from_ledger(self.key, ledger),
            None => MacVerifier::new(self.key),
        };
        let lines = match line::decode_lines(bytes, before, &mut seals) {
            Ok(lines) => lines,
            Err(damage) => {
                report.add_damage(format!("{name}, line {}", damage.line), damage.reason.to_owned());
                return None;
            }
        };
        if lines.whole < bytes.len() {
            if !last {
                report.add_damage(name.clone(), "its end is missing".to_owned());
            }
            report.torn = last;
        }
        report.records += lines.records.len();
        if ledger.is_none() && lines.records.is_empty() {
            return None;
        }
        let summed = ledger.map(|ledger| Record::Condensed(Box::new(ledger)));
        match load_ledger(summed.into_iter().chain(lines.records)) {
            Ok(ledger) => Some((ledger, lines.head)),
            Err(error) => {
                report.add_damage(name, error.to_string());
                None
            }
        }
    }
}

/// Returns whether a checkpoint agrees with the records before it. MACs, or a new key, may begin with it; earlier
/// versions neither recorded that there were entries nor numbered runs.
fn is_consistent((before, head): &ReplayPoint, (ledger, summed): &ReplayPoint) -> bool {
    let (sealed, had_entries) = (ledger.sealed.clone(), ledger.had_entries);
    let mut before = Ledger { sealed, had_entries, ..before.clone() };
    if ledger.last_run == 0 {
        before.last_run = 0;
        before.history.iter_mut().for_each(|run| run.number = 0);
    }
    head == summed && before == *ledger
}

impl VerificationReport {
    fn add_damage(&mut self, place: String, reason: String) {
        self.damages.push(LedgerDamage { place, reason });
    }
}
