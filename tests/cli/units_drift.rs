//! Drift of many stacks: what differs, what is in no ledger of an account, and when that is not known.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::case::Case;

const NET: &str = "stead: 1\nstack: net\nenvironments: { dev: { vars: { cidr: 10.40.0.0/16 } }, prod: {} }\nvars: { cidr: { default: 10.30.0.0/16 } }\nvpc: { main: { name: \"main-${env}\", cidr: $vars.cidr } }\n";
const DISK: &str = "stead: 1\nstack: disk\nvolume: { v: { size: 10 } }\n";

/// Returns a repository with three units, all applied to one account.
fn applied() -> Case {
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("net/stead.yaml", NET)
        .file("disk/stead.yaml", DISK)
        .emulator();
    let plan = case.ok("plan --all --output json").json();
    case.ok(&format!("apply --all --expect {}", plan["fingerprint"].as_str().unwrap()));
    case
}

fn account(document: &Value) -> &Value {
    let accounts = document["accounts"].as_array().unwrap();
    assert_eq!(accounts.len(), 1, "{document:#}");
    &accounts[0]
}

#[test]
fn objects_in_no_ledger_are_listed_once_for_the_account() {
    let case = applied();
    let project = case.cloud().list("/api/v1/projects")[0]["id"].as_str().unwrap().to_owned();
    case.cloud().make("/api/v1/vpcs", &json!({ "name": "stray", "cidr": "10.99.0.0/24" }), &project);
    // A project that no stack uses is a part of the account, too.
    let made = case.cloud().control("POST", "/api/v1/projects", &json!({ "name": "theirs" }));
    let theirs = made["data"]["id"].as_str().unwrap().to_owned();
    case.cloud().make("/api/v1/volumes", &json!({ "name": "lost", "size": 10 }), &theirs);
    let before = case.cloud().last();
    let document = case.ok("drift --all --output json").json();
    let requests: Vec<String> = case
        .cloud()
        .requests()
        .into_iter()
        .filter(|(number, ..)| *number > before)
        .map(|(_, request, _)| request)
        .collect();
    for list in ["GET /api/v1/vpcs", "GET /api/v1/volumes", "GET /api/v1/vms", "GET /api/v1/ssh-keys"] {
        let count = requests.iter().filter(|request| request.split('?').next() == Some(list)).count();
        assert_eq!(count, 1, "{list}: {requests:#?}");
    }
    let found = account(&document);
    assert_eq!((&found["managed"], &found["not_known"]), (&json!(3), &json!([])), "{found:#}");
    let names: Vec<&str> =
        found["unmanaged"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 3, "{found:#}");
    assert!(["stray", "lost", "theirs"].iter().all(|name| names.contains(name)), "{found:#}");
    // A unit that is not selected owns its objects all the same.
    let part = case.ok("drift --all --stacks disk --output json").json();
    assert_eq!(account(&part)["unmanaged"], found["unmanaged"]);
    let run = case.ok("drift --all --report prom=drift.prom --report md=drift.md --exit-code");
    run.says(&["1 managed object", "3 unmanaged", "50% of 6 objects managed", "vpc stray"]);
    let metrics = std::fs::read_to_string(case.path("drift.prom")).unwrap();
    for sample in [
        format!("stead_account_unmanaged_objects{{account=\"{}\"}} 3", case.cloud().url),
        format!("stead_account_unmanaged_known{{account=\"{}\"}} 1", case.cloud().url),
        "stead_managed_resources{stack=\"disk\",env=\"default\",unit=\"disk/default\"} 1".to_owned(),
    ] {
        assert!(metrics.lines().any(|line| line == sample), "{sample}\n{metrics}");
    }
    assert!(!metrics.contains("stead_unmanaged_objects"), "{metrics}");
    let comment = std::fs::read_to_string(case.path("drift.md")).unwrap();
    assert!(comment.contains("3 unmanaged objects, 50% managed") && comment.contains("stray"), "{comment}");
}

#[test]
fn unmanaged_objects_are_not_known_while_a_ledger_cannot_be_read() {
    let case = applied();
    let project = case.cloud().list("/api/v1/projects")[0]["id"].as_str().unwrap().to_owned();
    case.cloud().make("/api/v1/vpcs", &json!({ "name": "stray", "cidr": "10.99.0.0/24" }), &project);
    // The ledger of a unit that is not selected.
    let folder = case.path("disk/.stead/ledger/default");
    let files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file() && std::fs::metadata(path).unwrap().len() > 100)
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect();
    for (path, _) in &files {
        std::fs::write(path, "{ not a ledger\n").unwrap();
    }
    let document = case.ok("drift --all --stacks net --output json").json();
    let found = account(&document);
    assert_eq!(found["unmanaged"], Value::Null, "{found:#}");
    let reasons = found["not_known"].to_string();
    assert!(reasons.contains("the ledger of disk/default cannot be read"), "{reasons}");
    let run = case.ok("drift --all --stacks net --report prom=drift.prom");
    run.says(&["unmanaged: not known", "the ledger of disk/default cannot be read"]);
    let metrics = std::fs::read_to_string(case.path("drift.prom")).unwrap();
    assert!(metrics.contains("stead_account_unmanaged_known{account="), "{metrics}");
    assert!(!metrics.contains("stead_account_unmanaged_objects{"), "{metrics}");
    // A selected unit whose ledger is damaged fails, and hides no other.
    let run = case.fails(1, "drift --all --output json");
    let units = run.json()["units"].to_string();
    assert!(units.contains("failed") && units.contains("unchanged"), "{units}");
    for (path, text) in &files {
        std::fs::write(path, text).unwrap();
    }
    // A directory whose stack cannot be read may have a ledger, too.
    case.write("bad/stead.yaml", "stead: 1\nstack: [\n");
    let document = case.fails(1, "drift --all --output json").json();
    assert!(account(&document)["not_known"].to_string().contains("the stack in bad cannot be read"));
    std::fs::remove_dir_all(case.path("bad")).unwrap();
    case.ok("drift --all").says(&["1 unmanaged"]);
}

#[test]
fn ledgers_of_other_stacks_in_the_same_backend_own_their_objects() {
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("disk/stead.yaml", DISK)
        .file("elsewhere/.git/HEAD", "ref: refs/heads/main\n")
        .file("elsewhere/stead.yaml", "stead: 1\nstack: other\nvolume: { o: { size: 20 } }\n")
        .emulator();
    let backend = format!("--backend file:{}", case.path("ledgers").display());
    case.ok(&format!("-C elsewhere apply --yes {backend}"));
    case.ok(&format!("-C disk apply --yes {backend}"));
    let document = case.ok(&format!("drift --all --output json {backend}")).json();
    let found = account(&document);
    assert_eq!((&found["managed"], &found["unmanaged"]), (&json!(2), &json!([])), "{found:#}");
    // Without that backend, the other stack's volume is in no ledger that this repository knows.
    let alone = Case::new()
        .file("disk/stead.yaml", "stead: 1\nstack: new\nvolume: { n: { size: 10 } }\n")
        .file(".git/HEAD", "ref: refs/heads/main\n");
    let mut command = alone.command("drift --all --output json");
    let output = command
        .env("STEAD_API_URL", &case.cloud().url)
        .env("STEAD_API_KEY", &case.cloud().key)
        .output()
        .unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(account(&document)["unmanaged"].as_array().unwrap().len(), 2, "{document:#}");
    // Nothing listens there: the unit fails, and its account says why nothing is known.
    let run = case.fails(1, "drift --all --output json --backend http://127.0.0.1:9/{stack}");
    let reasons = account(&run.json())["not_known"].to_string();
    assert!(reasons.contains("its objects were not read: disk/default"), "{reasons}");
}

#[test]
fn a_state_server_cannot_list_its_ledgers() {
    let case =
        Case::new().file(".git/HEAD", "ref: refs/heads/main\n").file("disk/stead.yaml", DISK).emulator();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // It has no ledger: no unit was applied.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 404 X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
    });
    let document =
        case.ok(&format!("drift --all --output json --backend http://{address}/{{stack}}")).json();
    let found = account(&document);
    assert_eq!((&found["units"], &found["unmanaged"]), (&json!(1), &Value::Null), "{found:#}");
    assert!(found["not_known"].to_string().contains("cannot list its ledgers"), "{found:#}");
}

#[test]
fn units_that_are_not_applied_as_configured_are_named() {
    let case = applied();
    case.edit("net/stead.yaml", "10.40.0.0/16", "10.41.0.0/16");
    case.write("new/stead.yaml", "stead: 1\nstack: new\nvolume: { n: { size: 10 } }\n");
    let document = case.ok("drift --all --exit-code --output json").json();
    assert_eq!(
        document["not_applied"],
        json!([
            { "stack": "net", "environment": "dev", "reason": "configuration_changed" },
            { "stack": "new", "environment": "default", "reason": "never_applied" },
        ]),
        "{document:#}"
    );
    case.ok("drift --all").says(&[
        "net/dev  not applied as configured: its configuration changed",
        "new/default  not applied as configured: it was never applied",
    ]);
    // Drift of one unit decides the exit code of all.
    let vpc = case.cloud().list("/api/v1/vpcs")[0]["id"].as_str().unwrap().to_owned();
    case.cloud().mutate("vpc", &vpc, &json!({ "name": "renamed" }));
    let run = case.fails(3, "drift --all --exit-code --output json");
    assert_eq!(run.json()["summary"]["drifted"], 1);
}
