//! The schema lets every example and every accepted configuration through, and refuses what is wrong.

#![allow(clippy::disallowed_methods, reason = "examples and the rule corpus are files")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use super::{CatalogSlugs, build_schema};
use crate::config::input::discovery::is_test_file;
use crate::config::keywords;
use crate::kinds::REGISTRY;
use crate::model::schema::{Kind, Presence, Type};

/// Takes what is wrong, in words, and what makes it so.
type Add<'a> = dyn FnMut(String, &dyn Fn(&mut Value)) + 'a;

/// Wrong files that are tried at least.
const WRONG: usize = 200;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn validator() -> Validator {
    let slugs = CatalogSlugs::from([("vm", vec!["std-1c-2g".to_owned()])]);
    jsonschema::draft7::new(&build_schema(&REGISTRY, &slugs)).unwrap()
}

fn yaml(text: &str) -> Value {
    let mut value: serde_yaml::Value = serde_yaml::from_str(text).unwrap();
    value.apply_merge().unwrap();
    serde_json::to_value(value).unwrap()
}

fn below(folder: &Path, into: &mut Vec<PathBuf>) {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            below(&path, into);
        } else if path.extension().is_some_and(|end| end == "yaml") {
            into.push(path);
        }
    }
}

/// Every YAML file of a stack in the examples and of `init`.
fn examples() -> Vec<(String, Value)> {
    let mut paths = Vec::new();
    below(&root().join("examples"), &mut paths);
    below(&root().join("src/cli/artifacts/scaffold"), &mut paths);
    paths.retain(|path| !is_test_file(&path.file_name().unwrap().to_string_lossy()));
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap().replace("STACK_NAME", "first");
        (path.display().to_string(), yaml(&text))
    };
    paths.into_iter().map(read).collect()
}

fn complaints(validator: &Validator, value: &Value) -> Vec<String> {
    validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn the_schema_is_valid_draft_7() {
    let schema = build_schema(&REGISTRY, &CatalogSlugs::new());
    assert!(jsonschema::meta::is_valid(&schema));
    let definitions: BTreeSet<_> = schema["definitions"].as_object().unwrap().keys().collect();
    let text = schema.to_string();
    for reference in text.split("\"#/definitions/").skip(1) {
        let name = reference.split('"').next().unwrap().to_owned();
        assert!(definitions.contains(&name), "{name}");
    }
}

/// The blocks of the language have the words of its table, and no others.
#[test]
fn every_block_of_the_schema_has_the_keywords_of_the_table() {
    let schema = build_schema(&REGISTRY, &CatalogSlugs::new());
    let has = |block: &Value| -> BTreeSet<String> {
        block["properties"].as_object().unwrap().keys().cloned().collect()
    };
    let table = |words| -> BTreeSet<String> { keywords::word_names(words).map(str::to_owned).collect() };
    let definitions = &schema["definitions"];
    for (block, words) in [
        (&definitions["variable"], keywords::VARIABLE),
        (&definitions["environment"], keywords::ENVIRONMENT),
        (&definitions["moved"], keywords::MOVED),
        (&definitions["import"], keywords::IMPORT),
        (&definitions["removed"], keywords::REMOVED),
        (&definitions["use"], keywords::USE),
        (&definitions["stack"]["anyOf"][1], keywords::STACK),
        (&definitions["timeouts"], keywords::TIMEOUTS),
        (&definitions["vm"]["properties"]["lifecycle"], keywords::LIFECYCLE),
        (&schema["properties"]["policy"]["additionalProperties"], keywords::POLICY),
    ] {
        assert_eq!(has(block), table(words));
    }
    let top = table(keywords::TOP).into_iter().chain(REGISTRY.top_level().map(|kind| kind.name.to_owned()));
    assert_eq!(has(&schema), top.collect());
    for word in keywords::word_names(keywords::BODY) {
        let known =
            definitions.as_object().unwrap().values().any(|kind| !kind["properties"][word].is_null());
        assert!(known, "{word}");
    }
}

#[test]
fn every_example_is_valid() {
    let validator = validator();
    let examples = examples();
    assert!(examples.len() > 8);
    for (path, value) in examples {
        assert_eq!(complaints(&validator, &value), Vec::<String>::new(), "{path}");
    }
}

/// What the rules accept is right by the schema too: it never refuses what stead takes.
#[test]
fn every_accepted_configuration_is_valid() {
    let validator = validator();
    let mut paths = Vec::new();
    below(&root().join("tests/corpus/rules"), &mut paths);
    let mut count = 0;
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let sections = text.split("--- # ").filter_map(|section| section.split_once('\n'));
        for (title, body) in sections {
            if title.trim() == "accepted" || title.trim() == "before" {
                let value = yaml(body);
                assert_eq!(complaints(&validator, &value), Vec::<String>::new(), "{}", path.display());
                count += 1;
            }
        }
    }
    assert!(count > 60, "{count}");
}

/// What is refused offline by one value's type, words or form is refused by the schema.
#[test]
fn an_invalid_single_value_violates_the_schema() {
    let validator = validator();
    let mut paths = Vec::new();
    below(&root().join("tests/corpus/rules"), &mut paths);
    // What takes more than a pattern: calendars, zones, whole networks, names that follow from a key.
    let deeper = [
        "S0223-port",
        "S0224-cidr",
        "S0224-cron",
        "S0224-everyone",
        "S0224-key",
        "S0224-network",
        "S0224-query",
        "S0224-user",
        "S0224-user_fnb",
        "S0224-zone",
    ];
    for path in paths {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let of_a_value = ["S0220", "S0223", "S0224", "S0225"].iter().any(|code| name.starts_with(code));
        if !of_a_value || deeper.contains(&name.as_str()) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let refused =
            text.split("--- # refused").nth(1).and_then(|section| section.split_once('\n')).unwrap().1;
        let refused = refused.split("--- #").next().unwrap();
        assert!(!complaints(&validator, &yaml(refused)).is_empty(), "{name}");
    }
}

/// One wrong file: what is wrong, and the file.
type Wrong = (String, Value);

/// Every way to write an example wrong, one at a time.
fn wrong_files(path: &str, file: &Value) -> Vec<Wrong> {
    let mut found = Vec::new();
    let mut add = |what: String, change: &dyn Fn(&mut Value)| {
        let mut changed = file.clone();
        change(&mut changed);
        assert!(changed != *file, "{path}: {what} changes nothing");
        found.push((format!("{path}: {what}"), changed));
    };
    add("an unknown block".into(), &|file| file["vmm"] = json!({}));
    for block in file.as_object().unwrap().keys() {
        add(format!("{block} misspelt"), &|file| {
            let file = file.as_object_mut().unwrap();
            let value = file.remove(block).unwrap();
            file.insert(format!("{block}x"), value);
        });
        add(format!("{block} is false"), &|file| file[block] = json!(false));
        let Some(kind) = REGISTRY.top_level().find(|kind| kind.name == block) else { continue };
        for name in file[block].as_object().into_iter().flat_map(Map::keys) {
            let pointer = format!("/{block}/{name}");
            add(format!("{pointer} is a list"), &|file| *file.pointer_mut(&pointer).unwrap() = json!([1]));
            wrong_body(kind, &pointer, file.pointer(&pointer).unwrap(), &mut add);
        }
    }
    found
}

fn wrong_body(kind: &Kind, pointer: &str, body: &Value, add: &mut Add<'_>) {
    let at = |key: &str| format!("{pointer}/{key}");
    let set = |add: &mut Add<'_>, key: &str, wrong: Value| {
        add(format!("{} is {wrong}", at(key)), &|file| {
            let body = file.pointer_mut(pointer).unwrap();
            if body.is_null() {
                *body = json!({});
            }
            body[key] = wrong.clone();
        });
    };
    set(add, "nonsense", json!(1));
    set(add, "lifecycle", json!({"protekt": true}));
    set(add, "lifecycle", json!({"on_remove": "leave"}));
    set(add, "lifecycle", json!({"timeouts": {"create": "10 minutes"}}));
    set(add, "lifecycle", json!({"ignore_drift": ["nonsense"]}));
    set(add, "when", json!("yes"));
    for attribute in kind.attributes {
        let written = body.get(attribute.name).is_some();
        if attribute.presence == Presence::Computed {
            set(add, attribute.name, json!("x"));
            continue;
        }
        if !written {
            continue;
        }
        if attribute.presence == Presence::Required {
            set(add, attribute.name, Value::Null);
            if attribute.name != "name" {
                add(format!("{} is missing", at(attribute.name)), &|file| {
                    file.pointer_mut(pointer).unwrap().as_object_mut().unwrap().remove(attribute.name);
                });
            }
        }
        set(add, attribute.name, wrong_value(&attribute.ty));
    }
    for child in REGISTRY.children(kind.name) {
        let (_, collection) = child.child_of().unwrap();
        if body.get(collection).is_some() {
            set(add, collection, json!("one"));
            set(add, collection, json!({"Not A Name": {}}));
        }
    }
}

fn wrong_value(ty: &Type) -> Value {
    match ty {
        Type::Boolean => json!("no"),
        Type::Integer { min, .. } => json!(min - 1),
        Type::Decimal => json!("much"),
        Type::Enum(_) | Type::Labelled(_) => json!("nonsense"),
        Type::Text { .. } | Type::Catalog(_) => json!(["a"]),
        Type::Reference(_) => json!("main"),
        Type::List(_) | Type::Set { .. } => json!("one"),
        Type::Map(_) => json!([]),
        Type::Record(_) => json!({"nonsense": 1}),
    }
}

/// Blocks of the language, written wrong.
fn wrong_blocks() -> Vec<Wrong> {
    let files = [
        json!({"stead": 2}),
        json!({"stack": "My Shop"}),
        json!({"backend": "optional"}),
        json!({"vars": {"a": {"typ": "int"}}}),
        json!({"vars": {"a": {"type": "integer"}}}),
        json!({"vars": {"a": {"type": "int", "default": "one"}}}),
        json!({"vars": {"a": {"type": "bool", "default": "yes"}}}),
        json!({"vars": {"a": {"type": "set(string)", "default": "one"}}}),
        json!({"vars": {"a": {"check": "self > 1"}}}),
        json!({"vars": {"A": {}}}),
        json!({"environments": {"prod": {"confirm": "twice"}}}),
        json!({"environments": {"prod": {"default": "yes"}}}),
        json!({"environments": {"prod": {"set": {"storage": 1}}}}),
        json!({"moved": {"from": "vm.a", "to": "vm.b"}}),
        json!({"moved": [{"from": "vm.a"}]}),
        json!({"moved": [{"from": "vm.a", "to": "$vm.b"}]}),
        json!({"import": [{"to": "vm.a"}]}),
        json!({"removed": [{"from": "vm.a", "action": "keep"}]}),
        json!({"policy": {"a": {"deny": "${true}"}}}),
        json!({"policy": {"a": {"deny": "true", "message": "No."}}}),
        json!({"policy": {"a": {"on": "vmm", "deny": "${true}", "message": "No."}}}),
        json!({"include": {"a": 1}}),
        json!({"include": ["$vars.file"]}),
        json!({"use": {"a": {"with": {}}}}),
        json!({"use": {"a": {"source": "../m", "vars": {}}}}),
        json!({"stacks": {"net": {"path": "../net"}}}),
        json!({"data": {"vm": {"a": {}}}}),
        json!({"data": {"vmm": {"a": {"name": "x"}}}}),
        json!({"vm": {"a": {"template": "x", "plan": "y", "deliver_secret": {"file": "k"}}}}),
        json!({"api_key": {"a": {"deliver_secret": {"env_file": "k"}}}}),
        json!({"ssh_key": {"a": {"public_key": "ssh-ed25519 AAAA", "project": "x"}}}),
    ];
    files.into_iter().enumerate().map(|(n, file)| (format!("block {n}: {file}"), file)).collect()
}

#[test]
fn wrong_files_are_refused() {
    let validator = validator();
    let examples = examples().into_iter().flat_map(|(path, file)| wrong_files(&path, &file));
    let wrong: Vec<Wrong> = examples.chain(wrong_blocks()).collect();
    assert!(wrong.len() >= WRONG, "{}", wrong.len());
    let passed: Vec<&str> =
        wrong.iter().filter(|(_, file)| validator.is_valid(file)).map(|(what, _)| what.as_str()).collect();
    assert_eq!(passed, Vec::<&str>::new(), "of {}", wrong.len());
}

#[test]
fn computed_values_match_the_schema() {
    let validator = validator();
    let file = json!({
        "vm": {"web": {
            "for_each": "$vars.nodes", "when": "${env == 'prod'}", "template": "$locals.image", "plan": "std-1c-2g",
            "vpc": "${vars.own ? vpc.main : null}", "ssh_keys": "$locals.keys",
        }},
        "database": {"main": {"plan": 102, "engine": "$vars.engine", "engine_version": 16, "storage_gb": "${vars.gb * 2}",
            "users": {"reporting": null}, "public_allowlist": ["$vars.office"]}},
        "api_key": {"ci": {"role": "developer", "projects": {"shop": "developer", "other": {"role": "$role.x"}}}},
    });
    assert_eq!(complaints(&validator, &file), Vec::<String>::new());
}
