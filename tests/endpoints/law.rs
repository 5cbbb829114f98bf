//! Each endpoint of the table has a route in the emulator and a place in the client's tables, and there is no other.

use std::collections::{BTreeMap, BTreeSet};

use stead::emulator::world::{all_routes, route_template};
use stead::kinds::REGISTRY;
use stead::model::schema::{Method, Provenance};

use crate::table::{BESIDE, ELSEWHERE, parse, rows, shape};

type Key = (Method, String);

/// The table row that uses an endpoint, and whether the endpoint is documented or assumed there.
struct Home {
    place: String,
    provenance: Option<Provenance>,
}

/// Returns every endpoint of the client's tables with the rows that use it.
fn homes() -> BTreeMap<Key, Vec<Home>> {
    let mut found: BTreeMap<Key, Vec<Home>> = BTreeMap::new();
    let mut add = |method: Method, path: &str, place: String, provenance| {
        found.entry((method, shape(path))).or_default().push(Home { place, provenance });
    };
    for kind in REGISTRY.kinds {
        let name = kind.name;
        let api = kind.api;
        let declared = [
            ("create", Some(api.create)),
            ("read", api.read),
            ("list", Some(api.list)),
            ("delete", Some(api.delete)),
        ];
        for (verb, endpoint) in declared {
            if let Some(endpoint) = endpoint {
                add(endpoint.method, endpoint.path, format!("{name} {verb}"), Some(endpoint.provenance));
            }
        }
        for call in kind.calls() {
            let endpoint = call.endpoint;
            add(endpoint.method, endpoint.path, format!("{name} {}", call.name), Some(endpoint.provenance));
        }
        for grant in kind.attributes.iter().filter_map(stead::model::schema::Attribute::grant) {
            add(grant.method, grant.path, format!("{name} upload"), Some(grant.provenance));
        }
        for choices in kind.attributes.iter().filter_map(|attribute| attribute.choices) {
            add(choices.method, choices.path, format!("{name} choices"), Some(choices.provenance));
        }
        for action in kind.actions {
            if let Some(endpoint) = action.endpoint() {
                let place = format!("stead do {} on {name}", action.name);
                add(endpoint.method, endpoint.path, place, Some(endpoint.provenance));
            }
        }
    }
    for catalog in REGISTRY.catalogs {
        // Its mark is of the answer's shape, not of the path.
        add(Method::Get, catalog.path, format!("catalog {}", catalog.name), None);
    }
    found
}

fn keys(lines: &[(&'static str, &str)]) -> BTreeSet<Key> {
    lines
        .iter()
        .map(|(line, _)| {
            let (method, path) = parse(line);
            (method, shape(path))
        })
        .collect()
}

fn told(keys: impl Iterator<Item = Key>) -> Vec<String> {
    keys.map(|(method, path)| format!("{method} {path}")).collect()
}

const NONE: Vec<String> = Vec::new();

#[test]
fn the_table_has_each_endpoint_once() {
    let mut seen = BTreeSet::new();
    for row in rows() {
        assert!(seen.insert((row.method, shape(row.path))), "{} {} twice", row.method, row.path);
    }
    assert!(keys(ELSEWHERE).is_subset(&seen), "an exception that is no endpoint");
}

#[test]
fn every_endpoint_has_a_route_and_every_route_is_an_endpoint() {
    let table: BTreeSet<Key> = rows().map(|row| (row.method, shape(row.path))).collect();
    let served: BTreeSet<Key> = all_routes().map(|(method, path)| (method, shape(path))).collect();
    assert_eq!(told(table.difference(&served).cloned()), NONE, "without a route");
    let beside = keys(BESIDE);
    let unknown = served.difference(&table).filter(|key| !beside.contains(*key)).cloned();
    assert_eq!(told(unknown), NONE, "routes that no document names");
    assert!(beside.is_subset(&served));
    for row in rows() {
        let path = row.path.replace(['{', '}'], "");
        let found = route_template(row.method, &path).unwrap();
        assert_eq!(shape(found), shape(row.path), "another route answers for it");
    }
}

#[test]
fn endpoints_and_client_calls_correspond() {
    let homes = homes();
    let table: BTreeMap<Key, Provenance> =
        rows().map(|row| ((row.method, shape(row.path)), row.provenance)).collect();
    let elsewhere = keys(ELSEWHERE);
    let homeless =
        table.keys().filter(|key| !homes.contains_key(*key) && !elsewhere.contains(*key)).cloned();
    assert_eq!(told(homeless), NONE, "without a home in the client");
    let unknown = homes.keys().filter(|key| !table.contains_key(*key)).cloned();
    assert_eq!(told(unknown), NONE, "homes of no endpoint");
    let both = elsewhere.into_iter().filter(|key| homes.contains_key(key));
    assert_eq!(told(both), NONE, "an exception that has a home");
    let wrong: Vec<_> = homes
        .iter()
        .flat_map(|(key, homes)| homes.iter().map(move |home| (key, home)))
        .filter(|(key, home)| home.provenance.is_some_and(|mark| mark != table[*key]))
        .map(|((method, path), home)| format!("{method} {path} in {}: {:?}", home.place, home.provenance))
        .collect();
    assert_eq!(wrong, NONE, "marked as said where it is assumed, or the other way round");
}
