//! Tests of high-water marks: older and forked ledgers, and the files that hold the marks.

use super::*;
use crate::cli::args::GlobalArgs;
use crate::cli::files::write_files;
use crate::cli::process::profile::Profiles;
use crate::ledger::state::entry::{LedgerIdentity, MacState};
use crate::ledger::state::holder::LeaseHolder;
use crate::ledger::state::run_history::{ResourceCounts, RunEnd};
use crate::ledger::stores::file::store::FileStore;
use crate::ledger::stores::open_options::OpenOptions;

fn ledger(serial: u64, runs: &[(u128, i64)]) -> Ledger {
    let mut ledger = Ledger::new(LedgerIdentity::new_placeholder("shop", "prod"));
    ledger.serial = serial;
    for (run, second) in runs {
        ledger.history.push_back(Run {
            run: Uuid::from_u128(*run),
            plan: Uuid::nil(),
            who: "ada@host".to_owned(),
            at: Timestamp::from_second(*second).unwrap(),
            ..Run::default()
        });
    }
    ledger
}

#[test]
fn an_older_or_forked_ledger_is_a_detected_rollback() {
    let trail = HeadHistory::default();
    let line = HighWaterMark::from_ledger(&ledger(9, &[(1, 10), (2, 20)]), &trail);
    for (serial, runs, fits) in [
        (9, vec![(1, 10), (2, 20)], true),
        (12, vec![(1, 10), (2, 20), (3, 30)], true),
        (8, vec![(1, 10)], false),
        (9, vec![(1, 10)], false),
        (12, vec![(1, 10), (7, 25)], false),
        // The history no longer reaches back to the run.
        (900, vec![(8, 80), (9, 90)], true),
    ] {
        assert_eq!(
            line.detect_ledger_rollback(&ledger(serial, &runs), &trail).is_none(),
            fits,
            "{serial} {runs:?}"
        );
    }
    assert_eq!(
        HighWaterMark::from_ledger(&ledger(0, &[]), &trail).detect_ledger_rollback(&ledger(0, &[]), &trail),
        None
    );
}

#[test]
fn missing_or_restarted_macs_are_a_detected_rollback() {
    let sealed = |since: Option<u64>| {
        let sealed = since.map(|since| MacState { key: "1f".into(), since, previous: Vec::new() });
        Ledger { sealed, ..ledger(9, &[]) }
    };
    let objects = |line: Option<u64>, found: Option<u64>| {
        let trail = HeadHistory::default();
        HighWaterMark::from_ledger(&sealed(line), &trail).detect_ledger_rollback(&sealed(found), &trail)
            == Some(RollbackDetected::MACS_MISSING)
    };
    assert!(objects(Some(3), None) && objects(Some(3), Some(8)));
    assert!(!objects(Some(3), Some(3)) && !objects(None, Some(8)) && !objects(None, None));
}

fn settings(state: &Path) -> Settings {
    let variables = [("STEAD_STATE_DIR".to_owned(), state.display().to_string())].into();
    let profiles = Profiles::none("settings.toml");
    crate::cli::process::settings::merge(GlobalArgs::default(), &variables, &profiles).unwrap()
}

fn key(n: u8) -> MacKey {
    MacKey::new(&[n; 32]).unwrap()
}

fn place(text: &str) -> LedgerLocation {
    LedgerLocation::parse(text).unwrap()
}

fn sealed(serial: u64, lineage: u128, key: &MacKey) -> Ledger {
    let mut ledger = ledger(serial, &[(1, 10)]);
    ledger.identity.lineage = Uuid::from_u128(lineage);
    let key = key.id().clone();
    Ledger { sealed: Some(MacState { key, since: 2, previous: Vec::new() }), ..ledger }
}

#[test]
fn a_high_water_mark_is_keyed_by_location_stack_and_environment() {
    let state = tempfile::tempdir().unwrap();
    let settings = settings(state.path());
    let marks = |text: &str, owner| HighWaterMarkStore::new(&settings, Some(key(1)), &place(text), owner);
    let (home, owner, trail) = ("postgres://me:a@db/x", ("shop", "prod"), HeadHistory::default());
    let seen = sealed(9, 5, &key(1));
    assert!(!marks(home, owner).can_notice(&seen).unwrap());
    marks(home, owner).advance_marks(&seen, &trail).unwrap();
    let (older, other) = (sealed(8, 5, &key(1)), sealed(9, 6, &key(1)));
    let what = |text: &str, owner, found: Option<&Ledger>| {
        let found = found.map(|ledger| (ledger, &trail));
        marks(text, owner).detect_rollback(found).unwrap().map(|objection| objection.what)
    };
    for same in [home, "postgresql://you:b@DB:5432/x?connect_timeout=3"] {
        assert_eq!(what(same, owner, Some(&seen)), None, "{same}");
        assert_eq!(what(same, owner, Some(&other)), Some(RollbackDetected::OTHER_LEDGER.what), "{same}");
        assert_eq!(what(same, owner, None), Some(RollbackDetected::LEDGER_MISSING.what), "{same}");
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
        // A ledger that was moved by hand is found by its lineage.
        assert!(what(place, owner, Some(&older)).is_some(), "{place}");
    }
}

#[test]
fn a_high_water_mark_changed_without_the_key_is_ignored() {
    let state = tempfile::tempdir().unwrap();
    let settings = settings(state.path());
    let marks = |key: &MacKey, text: &str| {
        HighWaterMarkStore::new(&settings, Some(key.clone()), &place(text), ("shop", "prod"))
    };
    let (one, trail, seen) = (key(1), HeadHistory::default(), sealed(9, 5, &key(1)));
    marks(&one, "s3://b/p").advance_marks(&seen, &trail).unwrap();
    let path = of_place(state.path(), marks(&one, "s3://b/p").whose.as_ref().unwrap());
    let text = stack_files::read_optional(&path).unwrap().unwrap();
    let found = || marks(&one, "s3://b/p").detect_rollback(Some((&seen, &trail)));
    assert_eq!(found().unwrap(), None);
    let mac = text.split(",\"mac\"").next().unwrap().to_owned() + "}";
    for changed in [text.replace("\"serial\":9", "\"serial\":1"), mac] {
        write_files::write_private(&path, changed.as_bytes()).unwrap();
        assert!(found().unwrap_err().to_string().contains("its MAC does not match"));
    }
    // The mark of another location is not used.
    write_files::write_private(&path, text.as_bytes()).unwrap();
    let elsewhere = marks(&one, "s3://b/q");
    write_mark(
        &of_place(state.path(), elsewhere.whose.as_ref().unwrap()),
        &read_mark(&path).unwrap().unwrap(),
    )
    .unwrap();
    assert!(elsewhere.detect_rollback(Some((&seen, &trail))).is_err());
}

#[test]
fn a_fork_is_detected_by_the_end_of_the_last_apply() {
    let (mut seen, trail) = (sealed(9, 5, &key(1)), HeadHistory::default());
    let at = Timestamp::from_second(20).unwrap();
    let end = RunEnd { at, complete: true, tally: ResourceCounts::default() };
    let cut_off = Ledger { serial: 12, ..seen.clone() };
    let open = HighWaterMark::from_ledger(&seen, &trail);
    seen.history.back_mut().unwrap().end = Some(end);
    assert_eq!(
        open.detect_ledger_rollback(&Ledger { serial: 12, ..seen.clone() }, &trail),
        None,
        "it ended since"
    );
    let mark = HighWaterMark::from_ledger(&seen, &trail);
    assert_eq!(mark.detect_ledger_rollback(&Ledger { serial: 12, ..seen }, &trail), None);
    assert!(mark.detect_ledger_rollback(&cut_off, &trail).is_some());
    assert_eq!(
        HighWaterMark { sealed: None, ..mark }.detect_ledger_rollback(&cut_off, &trail),
        None,
        "as ever without MACs"
    );
}

#[test]
fn a_fork_is_detected_by_its_digests() {
    let (seen, own) = (sealed(9, 5, &key(1)), key(1));
    let fork = Ledger { serial: 11, ..seen.clone() };
    let mark = HighWaterMark {
        head: Some("aa".to_owned()),
        ..HighWaterMark::from_ledger(&seen, &HeadHistory::default())
    };
    let state = tempfile::tempdir().unwrap();
    let directory = state.path().join("ledgers");
    let trail = trail_of(&directory, &own);
    assert!(
        mark.detect_ledger_rollback(&fork, &trail).is_some(),
        "it covers the mark and has another digest"
    );
    assert_eq!(mark.detect_ledger_rollback(&fork, &HeadHistory::default()), None, "it is not known");
    let unsealed = HighWaterMark { sealed: None, ..mark };
    assert_eq!(unsealed.detect_ledger_rollback(&fork, &trail), None, "as ever without MACs");
}

/// Returns the digests of a ledger of more than nine records.
fn trail_of(directory: &Path, key: &MacKey) -> HeadHistory {
    use crate::ledger::journal::record::Record;
    use crate::ledger::journal::store::Store;
    use futures_util::FutureExt;

    let identity = LedgerIdentity::new_placeholder("shop", "prod");
    let now = Timestamp::UNIX_EPOCH;
    let opening = OpenOptions {
        seal: Some(key),
        ..OpenOptions::new(
            &identity,
            LeaseHolder { session: Uuid::nil(), who: "ada@host".into(), process: None, since: now },
            std::time::Duration::ZERO,
        )
    };
    let store = FileStore::open(directory, &opening).unwrap();
    for _ in 0..9 {
        let record = Record::Account { account: "a".into() };
        store.append(&[record]).now_or_never().unwrap().unwrap();
    }
    store.trail()
}

#[test]
fn a_rotated_key_is_distinguished_from_restarted_macs() {
    let state = tempfile::tempdir().unwrap();
    let settings = settings(state.path());
    let marks =
        |key: MacKey| HighWaterMarkStore::new(&settings, Some(key), &place("s3://b/p"), ("shop", "prod"));
    let (trail, seen) = (HeadHistory::default(), sealed(9, 5, &key(1)));
    marks(key(1)).advance_marks(&seen, &trail).unwrap();
    let mut changed = Ledger { serial: 11, ..seen.clone() };
    changed.seal_with(key(2).id());
    assert_eq!(marks(key(2)).detect_rollback(Some((&changed, &trail))).unwrap(), None);
    let mut begun = Ledger { serial: 11, sealed: None, ..seen };
    begun.seal_with(key(2).id());
    assert_eq!(
        marks(key(2)).detect_rollback(Some((&begun, &trail))).unwrap(),
        Some(RollbackDetected::MACS_MISSING)
    );
}

#[test]
fn the_golden_high_water_marks_are_read_and_written_as_before() {
    let golden = include_str!("../../../../tests/golden/files/high-water-mark.json").trim_end();
    let marks: Vec<HighWaterMark> = serde_json::from_str(golden).unwrap();
    assert_eq!(serde_json::to_string(&marks).unwrap(), golden);
}
