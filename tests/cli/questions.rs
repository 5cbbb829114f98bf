//! Ambiguous intents, which only a user can resolve, and what is refused until then.
#![allow(clippy::disallowed_methods, reason = "tests drive real processes")]

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::case::{Case, Run};

const STACK: &str = "\
stead: 1
stack: story
vpc:
  main: { cidr: 10.1.0.0/16 }
volume:
  data: { size: 20 }
";

/// Short waiting bounds: an emulator on this machine shows every effect at once.
const BOUNDS: &str = "--effect-bound 100ms --listing-bound 100ms";

/// Loses the response to the volume's creation in a strict apply, which leaves an ambiguous intent.
fn asked() -> (Case, Value) {
    let flags = ["--fail", "POST /volumes=reset-after:1"];
    let case = Case::new().file("stead.yaml", STACK).emulator_with(&flags);
    let run = case.run(&format!("apply --yes --strict {BOUNDS}"));
    assert_eq!(run.code, 6, "{}\n{}", run.stdout, run.stderr);
    run.says(&["volume.data", "stead resolve"]);
    let listed: Value = serde_json::from_str(&case.ok("resolve --output json").stdout).unwrap();
    assert_eq!(listed["questions"].as_array().map(Vec::len), Some(1), "{listed}");
    (case, listed["questions"][0].clone())
}

fn text<'a>(question: &'a Value, field: &str) -> &'a str {
    question[field].as_str().unwrap_or_else(|| panic!("{question} has no {field}"))
}

/// Returns a handle with another last digit.
fn altered(handle: &str) -> String {
    let (rest, last) = handle.split_at(handle.len() - 1);
    format!("{rest}{}", if last == "0" { "1" } else { "0" })
}

#[test]
fn an_ambiguous_intent_is_listed_everywhere_and_resolved_by_its_prefix() {
    let (case, question) = asked();
    let (handle, id) = (text(&question, "handle"), question["candidates"][0].as_str().unwrap());
    assert!(handle.len() < 12 && text(&question, "operation").starts_with(handle), "{question}");
    for command in ["plan", "ls", "drift"] {
        let run = case.run(command);
        assert!(
            run.stderr.contains(&format!("stead resolve {handle} adopt {id}")),
            "{command}: {}",
            run.stderr
        );
    }
    assert_eq!(case.run("plan").code, 4);
    case.ok(&format!("resolve {handle}")).says(&[&format!("stead resolve {handle} surplus {id}")]);
    for (answer, told) in [
        (format!("resolve {handle} adopt nothing-has-this"), "there is no live volume"),
        (format!("resolve {} absent", altered(handle)), "there is no ambiguous intent"),
        ("resolve zz absent".to_owned(), "there is no ambiguous intent"),
    ] {
        let run = case.run(&answer);
        assert_eq!(run.code, 1, "{answer}");
        assert!(run.stderr.contains(told), "{answer}: {}", run.stderr);
    }
    case.ok(&format!("resolve {handle} adopt {id}"));
    case.ok("resolve").says(&["There is nothing to resolve."]);
    let before = case.cloud().last();
    case.ok(&format!("apply --yes {BOUNDS}"));
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new());
    assert_eq!(case.cloud().list("/api/v1/volumes").len(), 1);
}

#[test]
fn an_object_resolved_as_surplus_is_deleted_by_the_next_apply() {
    let (case, question) = asked();
    let id = question["candidates"][0].as_str().unwrap().to_owned();
    case.ok(&format!("resolve {} surplus {id}", text(&question, "handle")));
    case.ok("plan").says(&["volume.data"]);
    case.ok(&format!("apply --yes {BOUNDS}"));
    let live = case.cloud().list("/api/v1/volumes");
    assert_eq!(live.len(), 1);
    assert_ne!(live[0]["id"], id.as_str());
    case.ok("plan").says(&["No changes"]);
}

#[test]
fn an_object_that_holds_data_is_not_replaced_without_approval() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    case.ok("apply --yes");
    case.edit("stead.yaml", "size: 20", "size: 20, billing_type: subscription");
    let run = case.run("apply --yes");
    assert_eq!(run.code, 4, "{}\n{}", run.stdout, run.stderr);
    run.says(&["holds data", "--replace volume.data"]);
    assert_eq!(case.run("plan --replace volume.data").code, 0);
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap().path()) {
        let into = to.join(entry.file_name().unwrap());
        if entry.is_dir() { copy(&entry, &into) } else { fs::copy(&entry, &into).map(|_| ()).unwrap() }
    }
}

#[test]
fn an_older_ledger_is_rejected() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    case.ok("apply --yes");
    let (ledger, older) = (case.path(".stead/ledger"), case.path("older"));
    copy(&ledger, &older);
    case.edit("stead.yaml", "volume:\n", "volume:\n  more: { size: 5 }\n");
    case.ok("apply --yes");
    fs::remove_dir_all(&ledger).unwrap();
    fs::rename(&older, &ledger).unwrap();
    let before = case.cloud().last();
    let run: Run = case.run("plan");
    assert!(run.stderr.contains("warning: the ledger"), "{}", run.stderr);
    let run: Run = case.run("apply --yes");
    assert_eq!(run.code, 5, "{}\n{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("--accept-older-ledger"), "{}", run.stderr);
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new());
    assert_ne!(case.run("apply --yes --accept-older-ledger").code, 5);
}
