//! The waterline: how far a ledger had come when this machine last saw it. An older copy that was put
//! back, or a fork of it, would make everything since then a second time.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::cli::files::stack_files;
use crate::cli::process::settings::{Cloud, Settings};
use crate::ledger::journal::mac::SealKey;
use crate::ledger::journal::trail::Trail;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::state::run_history::Run;
use crate::ledger::stores::any_store;
use crate::ledger::stores::location::Place;
use crate::model::address::Name;
use crate::model::hex::hex;

/// How far a ledger had come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::cli) struct Waterline {
    serial: u64,
    /// Its last run, and when that began.
    run: Option<(Uuid, Timestamp)>,
    /// When that ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ended: Option<Timestamp>,
    /// The record from which on its lines bear MACs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sealed: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lineage: Option<Uuid>,
    /// The digest of its lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    head: Option<String>,
    /// What tells the key of its MACs from another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<Name>,
    /// The MAC of all this, and of whose ledger it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mac: Option<String>,
}

/// What is wrong with a ledger that does not reach its waterline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) struct Objection {
    /// What.
    pub(in crate::cli) what: &'static str,
    /// What follows from it.
    pub(in crate::cli) means: &'static str,
    /// What to do.
    pub(in crate::cli) remedy: &'static str,
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

    const GONE: Self = Self {
        what: "the ledger that was last seen here is gone",
        means: "what it owned would be made a second time",
        remedy: "Put a copy back: stead state push FILE. Or rebuild it: stead recover. If it was deleted on purpose: \
                 --accept-older-ledger.",
    };

    const ANOTHER: Self = Self {
        what: "the ledger is not the one that was last seen here: it has another lineage",
        means: "it can own other objects, and a plan would change those",
        remedy: "Restore the one that was here. If it was rebuilt or begun again on purpose, compare the plan with the \
                 live objects, then: --accept-older-ledger.",
    };
}

impl Waterline {
    /// Returns a ledger's.
    fn of(ledger: &Ledger, trail: &Trail) -> Self {
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

    /// Tells what is wrong with a ledger that should be at this line or above it.
    fn objection(&self, ledger: &Ledger, trail: &Trail) -> Option<Objection> {
        if self.lineage.is_some_and(|lineage| lineage != ledger.identity.lineage) {
            // Without MACs nothing proves whose the mark is, either: the next apply replaces it.
            let objection = if ledger.is_blank() { Objection::GONE } else { Objection::ANOTHER };
            return self.sealed.map(|_| objection);
        }
        // Taken away and begun anew, they begin with another record.
        if !self.is_sealed_as(ledger) {
            return Some(Objection::UNSEALED);
        }
        if ledger.serial < self.serial {
            return Some(Objection::older("the ledger is older than the last one that was seen here"));
        }
        let unknown = "the ledger does not know the last apply that was seen here";
        let other = |head: &String| self.sealed.is_some() && trail.contradicts(self.serial, head);
        if self.head.as_ref().is_some_and(other) {
            return Some(Objection::older(
                "the ledger does not go on from the version that was last seen here",
            ));
        }
        let (run, at) = self.run?;
        // The oldest runs are forgotten after a while.
        let reaches_back = ledger.history.front().is_none_or(|oldest| oldest.at <= at);
        // Cut off after its beginning and gone on with, it has another end, or none.
        let ended = self.ended.filter(|_| self.sealed.is_some());
        let as_seen = |known: &Run| ended.is_none() || known.end.as_ref().map(|end| end.at) == ended;
        let knows = ledger.history.iter().any(|known| known.run == run && as_seen(known));
        (reaches_back && !knows).then_some(Objection::older(unknown))
    }

    /// Tells whether a ledger has the MACs that it had, or those of a key that took over from theirs.
    fn is_sealed_as(&self, ledger: &Ledger) -> bool {
        let Some(since) = self.sealed else { return true };
        let Some(now) = &ledger.sealed else { return false };
        let seen = |key: &Name, at: u64| at == since && self.key.as_ref().is_none_or(|known| known == key);
        seen(&now.key, now.since) || now.previous.iter().any(|former| seen(&former.key, former.since))
    }

    /// Returns what its MAC is made over.
    fn text(&self, whose: &str) -> anyhow::Result<Vec<u8>> {
        let mut text = serde_json::to_vec(&Self { mac: None, ..self.clone() })?;
        text.extend_from_slice(whose.as_bytes());
        Ok(text)
    }
}

/// Where the high-water marks of one ledger are kept on this machine: by its place, stack and environment, and by its
/// lineage, which stays the same when the ledger is moved by hand.
#[derive(Debug)]
pub(in crate::cli) struct Marks {
    /// `None`: this machine keeps nothing.
    state: Option<PathBuf>,
    key: Option<SealKey>,
    /// Place, stack and environment; `None` for the built-in cloud, whose ledger comes and goes with it.
    whose: Option<String>,
}

impl Marks {
    /// Returns the marks of a ledger; a key makes and checks their MACs.
    pub(in crate::cli) fn new(
        settings: &Settings,
        key: Option<SealKey>,
        place: &Place,
        owner: (&str, &str),
    ) -> Self {
        let place = match place {
            Place::Directory(directory) => Place::Directory(stack_files::full_path(directory)),
            place => place.clone(),
        };
        let whose = format!("{}\n{}\n{}", any_store::normalized(&place), owner.0, owner.1);
        let whose = Some(whose).filter(|_| settings.cloud != Cloud::Local);
        Self { state: settings.state.clone(), key, whose }
    }

    /// Tells what is wrong with the ledger that was found, or not found, where this machine saw one.
    ///
    /// # Errors
    /// When a mark is there but cannot be read, or was not written with the key.
    pub(in crate::cli) fn objection(
        &self,
        found: Option<(&Ledger, &Trail)>,
    ) -> anyhow::Result<Option<Objection>> {
        let filed = self.read_filed()?;
        let Some((ledger, trail)) = found else {
            return Ok(filed.and_then(|mark| mark.sealed).map(|_| Objection::GONE));
        };
        if let Some(objection) = filed.and_then(|mark| mark.objection(ledger, trail)) {
            return Ok(Some(objection));
        }
        let moved = self.read_lineage(ledger)?;
        Ok(moved.and_then(|mark| mark.objection(ledger, trail)))
    }

    /// Tells whether this machine saw MACs there.
    ///
    /// # Errors
    /// As `objection`.
    pub(in crate::cli) fn saw_macs(&self, ledger: Option<&Ledger>) -> anyhow::Result<bool> {
        let moved = ledger.map(|ledger| self.read_lineage(ledger)).transpose()?.flatten();
        Ok(self.read_filed()?.into_iter().chain(moved).any(|mark| mark.sealed.is_some()))
    }

    /// Tells whether this machine could notice an older version: it saw one, or the ledger is of no one's else.
    ///
    /// # Errors
    /// As `objection`.
    pub(in crate::cli) fn can_notice(&self, ledger: &Ledger) -> anyhow::Result<bool> {
        Ok(self.whose.is_none() || self.read_filed()?.is_some() || self.read_lineage(ledger)?.is_some())
    }

    /// Moves the marks to a ledger's last record.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(in crate::cli) fn remember(&self, ledger: &Ledger, trail: &Trail) -> anyhow::Result<()> {
        let Some(state) = &self.state else { return Ok(()) };
        let mark = Waterline::of(ledger, trail);
        // Elsewhere its lines have other digests.
        write(&of_lineage(state, ledger), &Waterline { head: None, ..mark.clone() })?;
        let Some(whose) = &self.whose else { return Ok(()) };
        let mut filed = mark;
        if let (Some(key), Some(_)) = (&self.key, &ledger.sealed) {
            filed.key = Some(key.id().clone());
            filed.mac = Some(key.of_mark(&filed.text(whose)?));
        }
        write(&of_place(state, whose), &filed)
    }

    fn read_filed(&self) -> anyhow::Result<Option<Waterline>> {
        let (Some(state), Some(whose)) = (&self.state, &self.whose) else { return Ok(None) };
        let path = of_place(state, whose);
        let Some(mark) = read(&path)? else { return Ok(None) };
        let Some(key) = self.key.as_ref().filter(|_| mark.sealed.is_some()) else { return Ok(Some(mark)) };
        // A mark of another key can be checked by the ledger alone, which says what its former keys were.
        let is_other = mark.key.as_ref().is_some_and(|id| id != key.id());
        if is_other || mark.mac.as_deref() == Some(key.of_mark(&mark.text(whose)?).as_str()) {
            return Ok(Some(mark));
        }
        anyhow::bail!(
            "the high-water mark of this ledger, {}, was changed: its MAC does not match. Remove the file only if you \
             know why; this machine cannot notice an older ledger then",
            stack_files::shown(&path)
        )
    }

    fn read_lineage(&self, ledger: &Ledger) -> anyhow::Result<Option<Waterline>> {
        self.state.as_ref().map_or(Ok(None), |state| read(&of_lineage(state, ledger)))
    }
}

fn of_lineage(state: &Path, ledger: &Ledger) -> PathBuf {
    state.join("ledgers").join(format!("{}.json", ledger.identity.lineage))
}

fn of_place(state: &Path, whose: &str) -> PathBuf {
    let name = hex(&Sha256::digest(whose.as_bytes()));
    state.join("ledgers").join("places").join(format!("{name}.json"))
}

fn read(path: &Path) -> anyhow::Result<Option<Waterline>> {
    let Some(text) = stack_files::read_optional(path)? else { return Ok(None) };
    let mark = serde_json::from_str(&text);
    mark.map(Some).map_err(|error| anyhow::anyhow!("{} is damaged: {error}", stack_files::shown(path)))
}

fn write(path: &Path, mark: &Waterline) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        stack_files::make_private_directory(folder)?;
    }
    stack_files::write_state(path, serde_json::to_string(mark)?.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::Global;
    use crate::cli::process::profile::Profiles;
    use crate::ledger::state::entry::{Identity, Sealing};
    use crate::ledger::state::run_history::{End, Origin, Tally};
    use crate::ledger::stores::file::store::{FileStore, Opening};

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
        let trail = Trail::default();
        let line = Waterline::of(&ledger(9, &[(1, 10), (2, 20)]), &trail);
        for (serial, runs, fits) in [
            (9, vec![(1, 10), (2, 20)], true),
            (12, vec![(1, 10), (2, 20), (3, 30)], true),
            (8, vec![(1, 10)], false),
            (9, vec![(1, 10)], false),
            (12, vec![(1, 10), (7, 25)], false),
            // The run is too long ago to be remembered.
            (900, vec![(8, 80), (9, 90)], true),
        ] {
            assert_eq!(line.objection(&ledger(serial, &runs), &trail).is_none(), fits, "{serial} {runs:?}");
        }
        assert_eq!(Waterline::of(&ledger(0, &[]), &trail).objection(&ledger(0, &[]), &trail), None);
    }

    #[test]
    fn seals_that_are_gone_or_begun_anew_are_objected_to() {
        let sealed = |since: Option<u64>| {
            let sealed = since.map(|since| Sealing { key: "1f".into(), since, previous: Vec::new() });
            Ledger { sealed, ..ledger(9, &[]) }
        };
        let objects = |line: Option<u64>, found: Option<u64>| {
            let trail = Trail::default();
            Waterline::of(&sealed(line), &trail).objection(&sealed(found), &trail)
                == Some(Objection::UNSEALED)
        };
        assert!(objects(Some(3), None) && objects(Some(3), Some(8)));
        assert!(!objects(Some(3), Some(3)) && !objects(None, Some(8)) && !objects(None, None));
    }

    fn settings(state: &Path) -> Settings {
        let variables = [("STEAD_STATE_DIR".to_owned(), state.display().to_string())].into();
        let profiles = Profiles::none("settings.toml");
        crate::cli::process::settings::merge(Global::default(), &variables, &profiles).unwrap()
    }

    fn key(n: u8) -> SealKey {
        SealKey::new(&[n; 32]).unwrap()
    }

    fn place(text: &str) -> Place {
        Place::parse(text).unwrap()
    }

    fn sealed(serial: u64, lineage: u128, key: &SealKey) -> Ledger {
        let mut ledger = ledger(serial, &[(1, 10)]);
        ledger.identity.lineage = Uuid::from_u128(lineage);
        let key = key.id().clone();
        Ledger { sealed: Some(Sealing { key, since: 2, previous: Vec::new() }), ..ledger }
    }

    #[test]
    fn a_mark_is_filed_by_place_stack_and_environment() {
        let state = tempfile::tempdir().unwrap();
        let settings = settings(state.path());
        let marks = |text: &str, owner| Marks::new(&settings, Some(key(1)), &place(text), owner);
        let (home, owner, trail) = ("postgres://me:a@db/x", ("shop", "prod"), Trail::default());
        let seen = sealed(9, 5, &key(1));
        assert!(!marks(home, owner).can_notice(&seen).unwrap());
        marks(home, owner).remember(&seen, &trail).unwrap();
        let (older, other) = (sealed(8, 5, &key(1)), sealed(9, 6, &key(1)));
        let what = |text: &str, owner, found: Option<&Ledger>| {
            let found = found.map(|ledger| (ledger, &trail));
            marks(text, owner).objection(found).unwrap().map(|objection| objection.what)
        };
        for same in [home, "postgresql://you:b@DB:5432/x?connect_timeout=3"] {
            assert_eq!(what(same, owner, Some(&seen)), None, "{same}");
            assert_eq!(what(same, owner, Some(&other)), Some(Objection::ANOTHER.what), "{same}");
            assert_eq!(what(same, owner, None), Some(Objection::GONE.what), "{same}");
            assert!(what(same, owner, Some(&older)).is_some(), "{same}");
            assert!(marks(same, owner).saw_macs(None).unwrap());
        }
        for (place, owner) in [
            ("postgres://db/y", owner),
            ("postgres://db:5433/x", owner),
            (home, ("shop", "dev")),
            (home, ("a", "prod")),
        ] {
            assert_eq!(what(place, owner, Some(&other)), None, "{place}");
            assert_eq!(what(place, owner, None), None, "{place}");
            // Moved by hand, it is known by its lineage.
            assert!(what(place, owner, Some(&older)).is_some(), "{place}");
        }
    }

    #[test]
    fn a_mark_that_was_changed_without_the_key_is_no_mark() {
        let state = tempfile::tempdir().unwrap();
        let settings = settings(state.path());
        let marks = |key: &SealKey, text: &str| {
            Marks::new(&settings, Some(key.clone()), &place(text), ("shop", "prod"))
        };
        let (one, trail, seen) = (key(1), Trail::default(), sealed(9, 5, &key(1)));
        marks(&one, "s3://b/p").remember(&seen, &trail).unwrap();
        let path = of_place(state.path(), marks(&one, "s3://b/p").whose.as_ref().unwrap());
        let text = stack_files::read_optional(&path).unwrap().unwrap();
        let found = || marks(&one, "s3://b/p").objection(Some((&seen, &trail)));
        assert_eq!(found().unwrap(), None);
        let mac = text.split(",\"mac\"").next().unwrap().to_owned() + "}";
        for changed in [text.replace("\"serial\":9", "\"serial\":1"), mac] {
            stack_files::write_private(&path, changed.as_bytes()).unwrap();
            assert!(found().unwrap_err().to_string().contains("its MAC does not match"));
        }
        // Another place's mark is none of this one's.
        stack_files::write_private(&path, text.as_bytes()).unwrap();
        let elsewhere = marks(&one, "s3://b/q");
        write(&of_place(state.path(), elsewhere.whose.as_ref().unwrap()), &read(&path).unwrap().unwrap())
            .unwrap();
        assert!(elsewhere.objection(Some((&seen, &trail))).is_err());
    }

    #[test]
    fn a_fork_is_told_by_the_end_of_the_last_apply() {
        let (mut seen, trail) = (sealed(9, 5, &key(1)), Trail::default());
        let at = Timestamp::from_second(20).unwrap();
        let end = End { at, complete: true, tally: Tally::default() };
        let cut_off = Ledger { serial: 12, ..seen.clone() };
        let open = Waterline::of(&seen, &trail);
        seen.history.back_mut().unwrap().end = Some(end);
        assert_eq!(open.objection(&Ledger { serial: 12, ..seen.clone() }, &trail), None, "it ended since");
        let mark = Waterline::of(&seen, &trail);
        assert_eq!(mark.objection(&Ledger { serial: 12, ..seen }, &trail), None);
        assert!(mark.objection(&cut_off, &trail).is_some());
        assert_eq!(
            Waterline { sealed: None, ..mark }.objection(&cut_off, &trail),
            None,
            "as ever without MACs"
        );
    }

    #[test]
    fn a_fork_is_told_by_its_digests() {
        let (seen, own) = (sealed(9, 5, &key(1)), key(1));
        let fork = Ledger { serial: 11, ..seen.clone() };
        let mark = Waterline { head: Some("aa".to_owned()), ..Waterline::of(&seen, &Trail::default()) };
        let state = tempfile::tempdir().unwrap();
        let directory = state.path().join("ledgers");
        let trail = trail_of(&directory, &own);
        assert!(mark.objection(&fork, &trail).is_some(), "it covers the mark and has another digest");
        assert_eq!(mark.objection(&fork, &Trail::default()), None, "it is not known");
        let unsealed = Waterline { sealed: None, ..mark };
        assert_eq!(unsealed.objection(&fork, &trail), None, "as ever without MACs");
    }

    /// The trail of a ledger of more than nine records.
    fn trail_of(directory: &Path, key: &SealKey) -> Trail {
        use crate::ledger::journal::record::Record;
        use crate::ledger::journal::store::Store;
        use futures_util::FutureExt;

        let identity = Identity::unborn("shop", "prod");
        let now = Timestamp::UNIX_EPOCH;
        let opening = Opening { directory, identity: &identity, who: "ada@host", now, seal: Some(key) };
        let store = FileStore::open(&opening).unwrap();
        for _ in 0..9 {
            let record = Record::Account { account: "a".into() };
            store.append(&[record]).now_or_never().unwrap().unwrap();
        }
        store.trail()
    }

    #[test]
    fn a_key_that_took_over_is_told_from_macs_that_were_begun_again() {
        let state = tempfile::tempdir().unwrap();
        let settings = settings(state.path());
        let marks = |key: SealKey| Marks::new(&settings, Some(key), &place("s3://b/p"), ("shop", "prod"));
        let (trail, seen) = (Trail::default(), sealed(9, 5, &key(1)));
        marks(key(1)).remember(&seen, &trail).unwrap();
        let mut changed = Ledger { serial: 11, ..seen.clone() };
        changed.seal_with(key(2).id());
        assert_eq!(marks(key(2)).objection(Some((&changed, &trail))).unwrap(), None);
        let mut begun = Ledger { serial: 11, sealed: None, ..seen };
        begun.seal_with(key(2).id());
        assert_eq!(marks(key(2)).objection(Some((&begun, &trail))).unwrap(), Some(Objection::UNSEALED));
    }

    #[test]
    fn the_golden_high_water_marks_are_read_and_written_as_before() {
        let golden = include_str!("../../../tests/golden/files/high-water-mark.json").trim_end();
        let marks: Vec<Waterline> = serde_json::from_str(golden).unwrap();
        assert_eq!(serde_json::to_string(&marks).unwrap(), golden);
    }
}
