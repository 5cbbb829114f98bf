//! The waterline: how far a ledger had come when this machine last saw it. An older copy that was put
//! back, or a fork of it, would make everything since then a second time.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::files;
use crate::ledger::entry::Ledger;

/// How far a ledger had come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Waterline {
    serial: u64,
    /// Its last run, and when that began.
    run: Option<(Uuid, Timestamp)>,
    /// The record from which on its lines bear MACs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sealed: Option<u64>,
}

/// What is wrong with a ledger that does not reach its waterline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Objection {
    /// What.
    pub(super) what: &'static str,
    /// What follows from it.
    pub(super) means: &'static str,
    /// What to do.
    pub(super) remedy: &'static str,
}

impl Objection {
    const fn older(what: &'static str) -> Self {
        Self {
            what,
            means: "what was made since then is not in it, and would be made a second time",
            remedy: "Put the newer one back; or go on knowingly: --accept-older-ledger.",
        }
    }

    const UNSEALED: Self = Self {
        what: "the ledger's lines do not bear the MACs any more that they bore when it was last seen here",
        means: "whoever can write its place can have changed any of them",
        remedy: "Put a copy back that bears them; or look at the plan, and go on knowingly: --accept-older-ledger.",
    };
}

impl Waterline {
    /// Returns a ledger's.
    pub(super) fn of(ledger: &Ledger) -> Self {
        let run = ledger.history.back().map(|run| (run.run, run.at));
        let sealed = ledger.sealed.as_ref().map(|sealing| sealing.since);
        Self { serial: ledger.serial, run, sealed }
    }

    /// Tells what is wrong with a ledger that should be at this line or above it.
    pub(super) fn objection(&self, ledger: &Ledger) -> Option<Objection> {
        // Taken away and begun anew, they begin with another record.
        if self.sealed.is_some() && self.sealed != ledger.sealed.as_ref().map(|sealing| sealing.since) {
            return Some(Objection::UNSEALED);
        }
        if ledger.serial < self.serial {
            return Some(Objection::older("the ledger is older than the last one that was seen here"));
        }
        let (run, at) = self.run?;
        // The oldest runs are forgotten after a while.
        let reaches_back = ledger.history.front().is_none_or(|oldest| oldest.at <= at);
        let knows = ledger.history.iter().any(|known| known.run == run);
        let unknown = "the ledger does not know the last apply that was seen here";
        (reaches_back && !knows).then_some(Objection::older(unknown))
    }

    /// Reads the line of a lineage.
    ///
    /// # Errors
    /// When the file is there but is no waterline.
    pub(super) fn read(state: Option<&Path>, lineage: Uuid) -> anyhow::Result<Option<Self>> {
        let Some(path) = state.map(|state| file(state, lineage)) else { return Ok(None) };
        let Some(text) = files::read_optional(&path)? else { return Ok(None) };
        let line = serde_json::from_str(&text);
        line.map(Some).map_err(|error| anyhow::anyhow!("{} is damaged: {error}", files::shown(&path)))
    }

    /// Remembers the line of a lineage.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn write(&self, state: Option<&Path>, lineage: Uuid) -> anyhow::Result<()> {
        let Some(state) = state else { return Ok(()) };
        let path = file(state, lineage);
        if let Some(folder) = path.parent() {
            files::make_private_directory(folder)?;
        }
        files::write_private(&path, serde_json::to_string(self)?.as_bytes())
    }
}

fn file(state: &Path, lineage: Uuid) -> PathBuf {
    state.join("ledgers").join(format!("{lineage}.json"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::entry::{Identity, Sealing};
    use crate::ledger::history::{Origin, Run};

    fn ledger(serial: u64, runs: &[(u128, i64)]) -> Ledger {
        let mut ledger = Ledger::new(Identity::unborn("shop", "prod"));
        ledger.serial = serial;
        for (run, second) in runs {
            ledger.history.push_back(Run {
                run: Uuid::from_u128(*run),
                plan: Uuid::nil(),
                who: "ada@host".to_owned(),
                at: Timestamp::from_second(*second).unwrap(),
                origin: Origin::default(),
                end: None,
            });
        }
        ledger
    }

    #[test]
    fn an_older_ledger_or_a_fork_is_objected_to() {
        let line = Waterline::of(&ledger(9, &[(1, 10), (2, 20)]));
        for (serial, runs, fits) in [
            (9, vec![(1, 10), (2, 20)], true),
            (12, vec![(1, 10), (2, 20), (3, 30)], true),
            (8, vec![(1, 10)], false),
            (9, vec![(1, 10)], false),
            (12, vec![(1, 10), (7, 25)], false),
            // The run is too long ago to be remembered.
            (900, vec![(8, 80), (9, 90)], true),
        ] {
            assert_eq!(line.objection(&ledger(serial, &runs)).is_none(), fits, "{serial} {runs:?}");
        }
        assert_eq!(Waterline::of(&ledger(0, &[])).objection(&ledger(0, &[])), None);
    }

    #[test]
    fn seals_that_are_gone_or_begun_anew_are_objected_to() {
        let sealed = |since: Option<u64>| {
            let sealed = since.map(|since| Sealing { key: "1f".into(), since });
            Ledger { sealed, ..ledger(9, &[]) }
        };
        let objects = |line: Option<u64>, found: Option<u64>| {
            Waterline::of(&sealed(line)).objection(&sealed(found)) == Some(Objection::UNSEALED)
        };
        assert!(objects(Some(3), None) && objects(Some(3), Some(8)));
        assert!(!objects(Some(3), Some(3)) && !objects(None, Some(8)) && !objects(None, None));
    }

    #[test]
    fn a_line_is_found_again() {
        let state = tempfile::tempdir().unwrap();
        let (line, lineage) = (Waterline::of(&ledger(9, &[(1, 10)])), Uuid::from_u128(5));
        assert_eq!(Waterline::read(Some(state.path()), lineage).unwrap(), None);
        line.write(Some(state.path()), lineage).unwrap();
        assert_eq!(Waterline::read(Some(state.path()), lineage).unwrap(), Some(line));
        assert_eq!(Waterline::read(Some(state.path()), Uuid::nil()).unwrap(), None);
    }
}
