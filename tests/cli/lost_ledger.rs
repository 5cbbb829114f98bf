//! A lost ledger, and commands that would take live objects for missing ones.
#![allow(clippy::disallowed_methods, reason = "tests remove the files that commands leave")]

use std::fs;

use serde_json::{Value, json};

use crate::case::Case;

const DATABASE: &str = "stead: 1\nstack: one\ndatabase:\n  main: { plan: pg-1c-2g }\n";

fn applied() -> Case {
    let case = Case::new().file("stead.yaml", DATABASE).emulator();
    case.ok("apply --yes");
    case
}

fn databases(case: &Case) -> usize {
    case.cloud().list("/api/v1/databases").len()
}

#[test]
fn without_its_ledger_a_destroy_refuses_and_suggests_recover() {
    let case = applied();
    fs::remove_dir_all(case.path(".stead")).unwrap();
    let refuses = |case: &Case| {
        for command in ["drift", "drift --exit-code", "destroy --yes --confirm one", "plan --destroy"] {
            case.fails(4, command).says(&["never recorded an object", "database.main", "stead recover"]);
        }
    };
    refuses(&case);
    // The refused commands left an empty ledger, and said nothing of what is live.
    case.fails(4, "apply --yes").says(&["exists already"]);
    refuses(&case);
    case.fails(4, "destroy --yes --confirm one --exclude database.main").says(&["stead recover"]);
    let document = case.fails(4, "plan --destroy --output json").json();
    assert_eq!(document["blocks"][0]["code"], "ledger_lost", "{document:#}");
    assert_eq!(databases(&case), 1);
    case.ok("recover --yes").says(&["database.main"]);
    case.ok("drift --exit-code");
    case.ok("destroy --yes --confirm one");
    assert_eq!(databases(&case), 0);
    case.ok("explain ledger_lost").says(&["stead recover"]);
}

#[test]
fn after_a_complete_destroy_a_foreign_object_may_reuse_the_name() {
    let case = applied();
    case.ok("destroy --yes --confirm one");
    let projects = case.cloud().list("/api/v1/projects");
    let plans = case.cloud().control("GET", "/api/v1/public/pricing/database", &Value::Null);
    let body = json!({ "name": "main", "plan_id": plans["data"][0]["id"], "engine": "postgres" });
    case.cloud().make("/api/v1/databases", &body, projects[0]["id"].as_str().unwrap());
    case.ok("drift --exit-code");
    case.ok("destroy --yes --confirm one").says(&["nothing left to destroy"]);
    case.fails(4, "plan").says(&["exists already"]);
    assert_eq!(databases(&case), 1, "it is the stranger's");
}

#[test]
fn a_stack_that_was_never_applied_has_nothing_to_destroy() {
    let case = Case::new().file("stead.yaml", DATABASE).emulator();
    case.ok("drift --exit-code");
    case.ok("destroy --yes --confirm one").says(&["nothing left to destroy"]);
    case.ok("destroy --yes --confirm one").says(&["nothing left to destroy"]);
}
