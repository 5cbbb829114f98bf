//! The emulator: an export, the rows of its store, its clock, and a fault plan.

use std::collections::BTreeMap;

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use serde_json::Value;
use stead::emulator::clock::VirtualClock;
use stead::emulator::control::read_export;
use stead::emulator::faults::FaultPlan;
use stead::emulator::store::WorldStore;
use stead::emulator::world::{RateTier, StoredRow, World, WorldSetup};

use crate::coverage::Coverage;
use crate::files;

const RECORDS: TableDefinition<&str, &[u8]> = TableDefinition::new("records");
const ABOUT: TableDefinition<&str, &[u8]> = TableDefinition::new("about");

const EXPORT: &str = "emulator-export.json";
const ROWS: &str = "emulator-rows.jsonl";

/// Returns the golden rows by key.
fn rows() -> BTreeMap<String, Vec<u8>> {
    let row = |line: &str| {
        let (key, value) = line.split_once('\t').unwrap();
        (key.to_owned(), value.as_bytes().to_vec())
    };
    files::read(ROWS).lines().map(row).collect()
}

fn export_of(world: &World) -> String {
    format!("{{\"format\":1,\"world\":{}}}\n", serde_json::to_string(world).unwrap())
}

#[test]
fn an_export_is_read_and_written_as_before() {
    let world = read_export(files::read(EXPORT).as_bytes()).unwrap();
    files::assert_same(EXPORT, &export_of(&world));
}

#[test]
fn the_golden_export_holds_every_kind_variant_and_field() {
    let mut coverage = Coverage::default();
    coverage.add(&read_export(files::read(EXPORT).as_bytes()).unwrap());
    coverage.assert_fields_are_complete();
    coverage.assert_variants::<RateTier>(None);
    // These enums are private: serde lists their variants when it meets an unknown one.
    for (name, at) in [
        ("AppType", "/world/apps/0/body/type"),
        ("Billing", "/world/vms/0/body/billing/type"),
        ("CapAction", "/world/spend_settings/0/body/cap_action"),
        ("Frequency", "/world/backup_schedules/0/body/frequency"),
        ("Mode", "/world/clusters/0/body/upgrade_mode"),
        ("Source", "/world/snapshots/0/body/source/type"),
        ("Subject", "/world/project_members/0/body/subject/type"),
    ] {
        let mut export: Value = serde_json::from_str(&files::read(EXPORT)).unwrap();
        *export.pointer_mut(at).unwrap() = "?".into();
        let error = read_export(export.to_string().as_bytes()).err().unwrap();
        let (_, listed) = error.split_once("expected ").unwrap_or_else(|| panic!("{name}: {error}"));
        let all: Vec<_> = listed.split('`').skip(1).step_by(2).collect();
        assert!(all.len() > 1, "{name}: {error}");
        let mut parts = at.split('/').skip(2);
        let (table, field) = (parts.next().unwrap(), at.split("/body").nth(1).unwrap());
        let world: Value = serde_json::from_str(&files::read(EXPORT)).unwrap();
        let records = world["world"][table].as_array().unwrap();
        let seen: Vec<_> = records
            .iter()
            .filter_map(|record| record["body"].pointer(field).and_then(Value::as_str))
            .collect();
        let missing: Vec<_> = all.iter().filter(|one| !seen.contains(one)).collect();
        assert!(missing.is_empty(), "the golden file has no {name} that is {missing:?}");
    }
}

#[test]
fn stored_rows_are_read_and_written_as_before() {
    let world = World::from_rows(rows()).unwrap();
    files::assert_same(EXPORT, &export_of(&world));
    // Every row that a world writes which has these records, but the keys', which stay this world's own.
    let setup = WorldSetup { seed: 0, api_key: "sk_test".to_owned(), tier: RateTier::Standard };
    let mut other = World::new(&setup, "2026-01-01T00:00:00Z".parse().unwrap());
    other.import(world).unwrap();
    let written: BTreeMap<_, _> =
        other.take_rows().into_iter().filter_map(|row| Some((row.key, row.value?))).collect();
    for (key, value) in rows().iter().filter(|(key, _)| key.contains('/')) {
        let text = |value: &[u8]| String::from_utf8(value.to_vec()).unwrap();
        let found = written.get(key).unwrap_or_else(|| panic!("{key} is not written"));
        assert_eq!(text(found), text(value), "{key}");
    }
    assert!(written.contains_key("account"));
}

#[test]
fn the_stores_tables_keep_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let clock_text = files::read("emulator-clock.json");
    let clock: VirtualClock = files::round_trip("emulator-clock.json");
    let path = folder.path().join("cloud.db");
    {
        let database = Database::create(&path).unwrap();
        let write = database.begin_write().unwrap();
        {
            let mut about = write.open_table(ABOUT).unwrap();
            about.insert("format", b"stead-cloud-1".as_slice()).unwrap();
            about.insert("clock", clock_text.as_bytes()).unwrap();
            let mut records = write.open_table(RECORDS).unwrap();
            for (key, value) in rows() {
                records.insert(key.as_str(), value.as_slice()).unwrap();
            }
        }
        write.commit().unwrap();
    }
    let (store, stored) = WorldStore::open(&path).unwrap();
    drop(store);
    assert_eq!(stored.rows.into_iter().collect::<BTreeMap<_, _>>(), rows());
    assert_eq!(stored.clock, Some(clock));

    let path = folder.path().join("other.db");
    let (store, _) = WorldStore::open(&path).unwrap();
    let all: Vec<_> =
        rows().into_iter().map(|(key, value)| StoredRow { key, value: Some(value) }).collect();
    store.write(&all, Some(clock)).unwrap();
    drop(store);
    let database = Database::open(&path).unwrap();
    let read = database.begin_read().unwrap();
    let records = read.open_table(RECORDS).unwrap();
    let found: BTreeMap<_, _> = records
        .iter()
        .unwrap()
        .map(|row| row.unwrap())
        .map(|(key, value)| (key.value().to_owned(), value.value().to_vec()))
        .collect();
    assert_eq!(found, rows());
    let about = read.open_table(ABOUT).unwrap();
    assert_eq!(about.get("format").unwrap().unwrap().value(), b"stead-cloud-1");
    assert_eq!(about.get("clock").unwrap().unwrap().value(), clock_text.trim_end().as_bytes());
}

#[test]
fn a_plan_of_faults_is_read_and_written_as_before() {
    let plan: FaultPlan = files::round_trip("emulator-faults.json");
    assert_eq!(plan.rules.len(), 11, "one of each fault");
}
