//! The OpenAPI document: the committed file is the printed one, it is complete, and each response of the story fits it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use stead::editor::openapi;
use stead::emulator::server::{EmulatorOptions, spawn_emulator};
use stead::kinds::REGISTRY;

use crate::driver::Exchange;
use crate::table::{rows, shape};

/// Returns every operation by method and path shape.
pub fn operations(document: &Value) -> BTreeMap<(String, String), &Value> {
    let paths = document["paths"].as_object().unwrap();
    paths
        .iter()
        .flat_map(|(path, operations)| {
            let operations = operations.as_object().unwrap().iter();
            operations
                .map(move |(method, operation)| ((method.to_ascii_uppercase(), shape(path)), operation))
        })
        .collect()
}

#[test]
fn the_committed_document_derives_from_the_tables() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/cloud.openapi.json");
    let derived = openapi::render_document(&REGISTRY);
    if std::env::var_os("STEAD_BLESS_GOLDEN").is_some_and(|value| value == "1") {
        std::fs::write(&path, &derived).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap();
    assert!(
        committed == derived,
        "`STEAD_BLESS_GOLDEN=1 cargo test --test endpoints document` renews schemas/cloud.openapi.json"
    );
}

#[test]
fn the_program_prints_the_document() {
    let printed = Command::new(env!("CARGO_BIN_EXE_stead")).args(["schema", "openapi"]).output().unwrap();
    assert!(printed.status.success());
    assert!(String::from_utf8(printed.stdout).unwrap() == openapi::render_document(&REGISTRY));
}

#[test]
fn the_emulator_serves_the_document_without_a_key() {
    let text = openapi::render_document(&REGISTRY);
    let running =
        spawn_emulator(EmulatorOptions { openapi: Some(text.clone()), ..EmulatorOptions::default() })
            .unwrap();
    let mut stream = TcpStream::connect(running.address).unwrap();
    stream
        .write_all(b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("application/json"), "{head}");
    assert!(body == text);
}

#[test]
fn the_document_contains_exactly_the_endpoints() {
    let document = openapi::build_document(&REGISTRY);
    let described: BTreeSet<_> = operations(&document).into_keys().collect();
    let table: BTreeSet<_> = rows().map(|row| (row.method.as_str().to_owned(), shape(row.path))).collect();
    assert_eq!(described.symmetric_difference(&table).collect::<Vec<_>>(), Vec::<&(String, String)>::new());
}

#[test]
fn the_document_is_consistent() {
    let document = openapi::build_document(&REGISTRY);
    let mut ids = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        let parts = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let parts: BTreeSet<_> = parts.collect();
        for (method, operation) in operations.as_object().unwrap() {
            assert!(
                ids.insert(operation["operationId"].as_str().unwrap()),
                "{method} {path}: {}",
                operation["operationId"]
            );
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let named: BTreeSet<_> = parameters
                .filter(|parameter| parameter["in"] == "path")
                .map(|parameter| parameter["name"].as_str().unwrap())
                .collect();
            assert_eq!(named, parts, "{method} {path}");
            let open = operation["security"] == json!([]);
            let public = path == "/health" || path == "/ready" || path.starts_with("/api/v1/public/");
            assert_eq!(open, public, "{path}");
        }
    }
    references(&document, &mut |reference| {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    });
}

fn references(value: &Value, found: &mut impl FnMut(&str)) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref") {
                found(reference);
            }
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

/// Returns the document with closed response schemas: a field that they do not name is an error. Readers of the
/// document must accept new fields; the emulator must not invent any.
fn closed(document: &Value) -> Value {
    let mut document = document.clone();
    let schemas = document["components"]["schemas"].as_object_mut().unwrap();
    schemas.iter_mut().filter(|(name, _)| !name.ends_with("Create")).for_each(|(_, schema)| close(schema));
    for operations in document["paths"].as_object_mut().unwrap().values_mut() {
        for operation in operations.as_object_mut().unwrap().values_mut() {
            close(&mut operation["responses"]);
        }
    }
    document
}

fn close(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.values_mut().for_each(close);
            if fields.get("properties").is_some_and(Value::is_object) {
                fields.insert("additionalProperties".to_owned(), json!(false));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// Returns the errors of a value under a schema of the document; empty if it is valid.
fn wrong(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let whole = json!({"components": document["components"], "allOf": [schema]});
    let validator = jsonschema::validator_for(&whole).unwrap();
    validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// Checks requests and answers against the document.
pub fn describes(exchanges: &[Exchange]) {
    let document = closed(&openapi::build_document(&REGISTRY));
    let operations = operations(&document);
    let json_of = |whole: &Value| whole["content"]["application/json"]["schema"].clone();
    let mut found = Vec::new();
    for exchange in exchanges.iter().filter(|exchange| !exchange.route.starts_with("/uploads/")) {
        let key = (exchange.method.as_str().to_owned(), shape(exchange.route));
        let operation = operations[&key];
        let responses = &operation["responses"];
        let status = exchange.status.to_string();
        let response = responses.get(&status).or_else(|| responses.get("2XX"));
        let Some(response) = response else {
            found.push(format!("{key:?} answers {status}"));
            continue;
        };
        for error in wrong(&document, &json_of(response), &exchange.answer) {
            found.push(format!("{key:?} answer {error}"));
        }
        if !exchange.body.is_null() {
            for error in wrong(&document, &json_of(&operation["requestBody"]), &exchange.body) {
                found.push(format!("{key:?} body {error}"));
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    assert!(found.is_empty(), "{}", found.join("\n"));
}
