//! The high-water mark: the newest version of a ledger that this machine has seen. With an older copy, or a fork, an
//! apply would repeat every change since then. In: a ledger and the digests of its records. Out: the problem, if the
//! ledger is not the one of the mark or a continuation of it. The mark of a ledger with MACs has a MAC, too,
//! so that a change of its content is detected; a deleted mark is not.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::cli::files::{stack_files, write_files};
use crate::cli::process::settings::{CloudEndpoint, Settings};
use crate::ledger::journal::mac::MacKey;
use crate::ledger::journal::trail::HeadHistory;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::state::run_history::Run;
use crate::ledger::stores::any_store;
use crate::ledger::stores::location::LedgerLocation;
use crate::model::address::Name;
use crate::model::crypto::hex::encode_hex;

/// State of a ledger when this machine last saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::cli) struct HighWaterMark {
    /// Number of its last record.
    serial: u64,
    /// Id and start time of its last run; `None` if nothing was applied.
    run: Option<(Uuid, Timestamp)>,
    /// End time of that run; `None` while it was open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ended: Option<Timestamp>,
    /// Number of the first record with a MAC; `None` for a ledger without MACs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sealed: Option<u64>,
    /// `None` in a mark of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lineage: Option<Uuid>,
    /// Digest of its last record, which covers all before it; `None` in the mark under the lineage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    head: Option<String>,
    /// Id of the MAC key; `None` for a mark without a MAC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<Name>,
    /// MAC over the mark and the identity of the ledger; `None` for a ledger without MACs, or without the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mac: Option<String>,
}

/// Problem of a ledger that is older than its high-water mark, has lost its MACs or is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) struct RollbackDetected {
    /// How the ledger differs from its high-water mark, as a clause.
    pub(in crate::cli) what: &'static str,
    /// Consequence of applying with this ledger, as a clause.
    pub(in crate::cli) means: &'static str,
    /// Advice for the user, as sentences.
    pub(in crate::cli) remedy: &'static str,
}

impl RollbackDetected {
    /// What the next command waits for, beside it.
    pub(in crate::cli) const NEXT_CONDITION: &str =
        "once the newer ledger is restored, or this one is accepted";

    /// Returns the warning of a plan, as sentences: an apply refuses such a ledger.
    pub(in crate::cli) fn describe(&self) -> String {
        format!("{}: {}. An apply refuses it. {}", self.what, self.means, self.remedy)
    }

    const fn older_version(what: &'static str) -> Self {
        Self {
            what,
            means: "objects created since then are not in it, and would be created a second time",
            remedy: "Restore the newer one; or accept this one knowingly: --accept-older-ledger.",
        }
    }

    const MACS_MISSING: Self = Self {
        what: "the ledger's records no longer have the MACs that they had when this machine last saw it",
        means: "everyone who can write to its location can have changed any of them",
        remedy: "Restore a copy that has them; or review the plan, and accept the ledger knowingly: --accept-older-ledger.",
    };

    const LEDGER_MISSING: Self = Self {
        what: "the ledger that this machine last saw does not exist any more",
        means: "its objects would be created a second time",
        remedy: "Restore a copy: stead state push FILE. Or rebuild it: stead recover. If it was deleted on purpose: --accept-older-ledger.",
    };

    const OTHER_LEDGER: Self = Self {
        what: "the ledger is not the one that this machine last saw: it has another lineage",
        means: "it can own other objects, and a plan would change those",
        remedy: "Restore the previous one. If it was rebuilt or replaced on purpose, compare the plan with the live objects, then: --accept-older-ledger.",
    };
}

impl HighWaterMark {
    /// Returns the mark of a ledger, without a MAC.
    fn from_ledger(ledger: &Ledger, trail: &HeadHistory) -> Self {
        Self {
            serial: ledger.serial,
            run: ledger.history.back().map(|run| (run.run, run.at)),
            ended: ledger.history.back().and_then(|run| run.end.as_ref()).map(|end| end.at),
            sealed: ledger.sealed.as_ref().map(|sealing| sealing.since),
            lineage: Some(ledger.identity.lineage),
            head: trail.head(),
            key: None,
            mac: None,
        }
    }

    /// Returns the problem of a ledger that should be at this mark or newer; `None` if there is none. A deleted or
    /// replaced ledger is a problem only if the mark has MACs.
    fn detect_ledger_rollback(&self, ledger: &Ledger, trail: &HeadHistory) -> Option<RollbackDetected> {
        if self.lineage.is_some_and(|lineage| lineage != ledger.identity.lineage) {
            // Without MACs the mark is not authenticated, either: the next apply replaces it.
            let objection = if ledger.is_blank() {
                RollbackDetected::LEDGER_MISSING
            } else {
                RollbackDetected::OTHER_LEDGER
            };
            return self.sealed.map(|_| objection);
        }
        // A ledger that was deleted and created again has another first MAC record.
        if !self.is_sealed_as(ledger) {
            return Some(RollbackDetected::MACS_MISSING);
        }
        if ledger.serial < self.serial {
            return Some(RollbackDetected::older_version(
                "the ledger is older than the last one that this machine saw",
            ));
        }
        let unknown = "the ledger does not contain the last apply that this machine saw";
        let other = |head: &String| self.sealed.is_some() && trail.contradicts(self.serial, head);
        if self.head.as_ref().is_some_and(other) {
            return Some(RollbackDetected::older_version(
                "the ledger does not continue from the version that this machine last saw",
            ));
        }
        let (run, at) = self.run?;
        // The history drops its oldest runs after a while.
        let reaches_back = ledger.history.front().is_none_or(|oldest| oldest.at <= at);
        // A ledger that was truncated and continued has another end of the run, or none.
        let ended = self.ended.filter(|_| self.sealed.is_some());
        let as_seen = |known: &Run| ended.is_none() || known.end.as_ref().map(|end| end.at) == ended;
        let knows = ledger.history.iter().any(|known| known.run == run && as_seen(known));
        (reaches_back && !knows).then_some(RollbackDetected::older_version(unknown))
    }

    /// Returns whether a ledger has the MACs of the mark, or those of a later key; true for a mark without MACs.
    fn is_sealed_as(&self, ledger: &Ledger) -> bool {
        let Some(since) = self.sealed else { return true };
        let Some(now) = &ledger.sealed else { return false };
        let seen = |key: &Name, at: u64| at == since && self.key.as_ref().is_none_or(|known| known == key);
        seen(&now.key, now.since) || now.previous.iter().any(|former| seen(&former.key, former.since))
    }

    /// Returns the bytes that the MAC covers: the mark, and the location, stack and environment that it belongs to.
    fn mac_input(&self, whose: &str) -> anyhow::Result<Vec<u8>> {
        let mut text = serde_json::to_vec(&Self { mac: None, ..self.clone() })?;
        text.extend_from_slice(whose.as_bytes());
        Ok(text)
    }
}

/// The stored high-water marks of one ledger: one under its location, stack and environment, one under its lineage,
/// which stays the same when the ledger is moved by hand.
#[derive(Debug)]
pub(in crate::cli) struct HighWaterMarkStore {
    /// State directory; `None` if this machine stores no marks, and detects nothing.
    state: Option<PathBuf>,
    key: Option<MacKey>,
    /// Location, stack and environment; `None` for the built-in cloud, whose ledger is deleted together with it.
    whose: Option<String>,
}

impl HighWaterMarkStore {
    /// Returns the marks of a ledger; `key` creates and verifies their MACs, `None` for a ledger without them.
    /// `owner` is stack and environment.
    pub(in crate::cli) fn new(
        settings: &Settings,
        key: Option<MacKey>,
        place: &LedgerLocation,
        owner: (&str, &str),
    ) -> Self {
        let place = match place {
            LedgerLocation::Directory(directory) => {
                LedgerLocation::Directory(stack_files::full_path(directory))
            }
            place => place.clone(),
        };
        let whose = format!("{}\n{}\n{}", any_store::normalize_location(&place), owner.0, owner.1);
        let whose = Some(whose).filter(|_| settings.cloud != CloudEndpoint::Local);
        Self { state: settings.state.clone(), key, whose }
    }

    /// Returns the problem of a present ledger, or of a missing one (`None`), that this machine has seen before;
    /// `None` if there is none.
    ///
    /// # Errors
    /// When a mark exists but cannot be read, or its MAC does not match.
    pub(in crate::cli) fn detect_rollback(
        &self,
        found: Option<(&Ledger, &HeadHistory)>,
    ) -> anyhow::Result<Option<RollbackDetected>> {
        let filed = self.read_filed()?;
        let Some((ledger, trail)) = found else {
            return Ok(filed.and_then(|mark| mark.sealed).map(|_| RollbackDetected::LEDGER_MISSING));
        };
        if let Some(objection) = filed.and_then(|mark| mark.detect_ledger_rollback(ledger, trail)) {
            return Ok(Some(objection));
        }
        let moved = self.read_lineage(ledger)?;
        Ok(moved.and_then(|mark| mark.detect_ledger_rollback(ledger, trail)))
    }

    /// Returns whether this machine has seen MACs in this ledger; without the ledger, whether it has seen
    /// them at its location.
    ///
    /// # Errors
    /// Those of `detect_rollback`.
    pub(in crate::cli) fn saw_macs(&self, ledger: Option<&Ledger>) -> anyhow::Result<bool> {
        let moved = ledger.map(|ledger| self.read_lineage(ledger)).transpose()?.flatten();
        Ok(self.read_filed()?.into_iter().chain(moved).any(|mark| mark.sealed.is_some()))
    }

    /// Returns whether this machine could detect an older version: it has a mark, or the ledger belongs
    /// to the built-in cloud.
    ///
    /// # Errors
    /// Those of `detect_rollback`.
    pub(in crate::cli) fn can_notice(&self, ledger: &Ledger) -> anyhow::Result<bool> {
        Ok(self.whose.is_none() || self.read_filed()?.is_some() || self.read_lineage(ledger)?.is_some())
    }

    /// Sets the marks to a ledger's last record; the caller has checked that it is not older.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(in crate::cli) fn advance_marks(&self, ledger: &Ledger, trail: &HeadHistory) -> anyhow::Result<()> {
        let Some(state) = &self.state else { return Ok(()) };
        let mark = HighWaterMark::from_ledger(ledger, trail);
        // After a migration its records have other digests, so the mark of the lineage has none.
        write_mark(&of_lineage(state, ledger), &HighWaterMark { head: None, ..mark.clone() })?;
        let Some(whose) = &self.whose else { return Ok(()) };
        let mut filed = mark;
        if let (Some(key), Some(_)) = (&self.key, &ledger.sealed) {
            filed.key = Some(key.id().clone());
            filed.mac = Some(key.of_mark(&filed.mac_input(whose)?));
        }
        write_mark(&of_place(state, whose), &filed)
    }

    /// Reads the mark under the location, and verifies its MAC; `None` if there is none.
    fn read_filed(&self) -> anyhow::Result<Option<HighWaterMark>> {
        let (Some(state), Some(whose)) = (&self.state, &self.whose) else { return Ok(None) };
        let path = of_place(state, whose);
        let Some(mark) = read_mark(&path)? else { return Ok(None) };
        let Some(key) = self.key.as_ref().filter(|_| mark.sealed.is_some()) else { return Ok(Some(mark)) };
        // A mark under another key can be verified only by the ledger, which records its former keys.
        let is_other = mark.key.as_ref().is_some_and(|id| id != key.id());
        if is_other || mark.mac.as_deref() == Some(key.of_mark(&mark.mac_input(whose)?).as_str()) {
            return Ok(Some(mark));
        }
        anyhow::bail!(
            "the high-water mark of this ledger, {}, was changed: its MAC does not match. Remove the file only if you \
             know why; this machine cannot notice an older ledger then",
            stack_files::display_path(&path)
        )
    }

    /// Reads the mark under the lineage, which has no MAC; `None` if there is none.
    fn read_lineage(&self, ledger: &Ledger) -> anyhow::Result<Option<HighWaterMark>> {
        self.state.as_ref().map_or(Ok(None), |state| read_mark(&of_lineage(state, ledger)))
    }
}

fn of_lineage(state: &Path, ledger: &Ledger) -> PathBuf {
    state.join("ledgers").join(format!("{}.json", ledger.identity.lineage))
}

/// The name is a digest, because a location can contain any character and be longer than a file name.
fn of_place(state: &Path, whose: &str) -> PathBuf {
    let name = encode_hex(&Sha256::digest(whose.as_bytes()));
    state.join("ledgers").join("places").join(format!("{name}.json"))
}

fn read_mark(path: &Path) -> anyhow::Result<Option<HighWaterMark>> {
    let Some(text) = stack_files::read_optional(path)? else { return Ok(None) };
    let mark = serde_json::from_str(&text);
    mark.map(Some)
        .map_err(|error| anyhow::anyhow!("{} is damaged: {error}", stack_files::display_path(path)))
}

fn write_mark(path: &Path, mark: &HighWaterMark) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        stack_files::make_private_directory(folder)?;
    }
    write_files::write_state(path, serde_json::to_string(mark)?.as_bytes())
}

#[cfg(test)]
mod tests;
