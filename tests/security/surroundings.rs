//! What a repository or a process list could reveal: the embedded emulator's address, a secret in an argument, a
//! missing lock.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests drive real processes")]

use std::io::Read;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use crate::case::{Case, Emulator};

const STACK: &str = "stead: 1\nstack: shop\nvpc: { main: { cidr: 10.0.0.0/16 } }\n";

/// Starts a listener that counts connections; returns its address and the count.
fn trap() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            counted.fetch_add(1, Ordering::SeqCst);
            let _ = stream.unwrap().read(&mut [0; 64]);
        }
    });
    (address, count)
}

#[test]
fn no_file_of_a_repository_sets_the_directory_of_the_embedded_cloud() {
    let (address, count) = trap();
    let case = Case::new().file("stead.yaml", STACK);
    let note = json!({ "address": address, "api_key": "x" }).to_string();
    case.write(".stead/cloud.address", &note);
    case.ok("plan --cloud local");
    // A note that an emulator left which was killed counts for nothing, either.
    let served = Emulator::start(&case.path(".stead"), &[]);
    let notes = case.path(".local/state/stead/emulators");
    let file = std::fs::read_dir(&notes).unwrap().next().unwrap().unwrap().path();
    drop(served);
    std::fs::write(&file, &note).unwrap();
    case.ok("plan --cloud local");
    assert!(!file.exists(), "whoever has the data's lock removes it");
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

#[test]
fn a_secret_in_an_argument_is_a_warning() {
    let case = Case::new().file(
        "stead.yaml",
        format!("{STACK}vars: {{ token: {{ type: secret }}, size: {{}} }}\noutputs: {{ a: $vars.token, b: $vars.size }}\n"),
    );
    let run = case.ok("validate --var token=canary --var size=1");
    run.says(&["a secret is given on the command line", "STEAD_VAR_TOKEN"]);
    assert!(!run.all().contains("canary"), "{}", run.all());
    let mut command = case.command("validate --var size=1");
    let run = crate::case::Run::of(&command.env("STEAD_VAR_TOKEN", "canary").output().unwrap());
    assert!(run.code == 0 && !run.all().contains("command line"), "{}", run.all());
}

#[test]
fn unpinned_names_are_a_warning_and_an_error_with_locked() {
    let stack = "stead: 1\nstack: shop\ndatabase: { main: { plan: pg-free } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.fails(1, "validate --locked").says(&["stead.lock is missing", "stead catalog update"]);
    let before = case.cloud().last();
    for args in ["plan --locked", "apply --yes --locked"] {
        case.fails(1, args).says(&["stead.lock is missing", "`stead catalog update`"]);
    }
    assert_eq!(case.cloud().mutations_since(before), [] as [&str; 0]);
    assert!(!case.ok("plan").all().contains("stead.lock"), "the first apply writes it");
    case.ok("apply --yes");
    case.ok("plan --locked");
    case.ok("validate --locked");
    std::fs::remove_file(case.path("stead.lock")).unwrap();
    case.ok("plan").says(&["warning: stead.lock is missing"]);
    case.fails(1, "plan --locked");
    case.ok("catalog update");
    case.ok("plan --locked");
}
