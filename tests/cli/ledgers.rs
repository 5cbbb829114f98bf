//! The ledger itself: its location, its lock and its history; copied, moved, damaged, repaired.
#![allow(clippy::disallowed_methods, reason = "tests look at the files that commands leave")]

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::case::{Case, Run};

const STACK: &str = "\
stead: 1
stack: story
vpc:
  main: { cidr: 10.1.0.0/16 }
vm:
  web: { template: ubuntu-24.04, plan: std-1c-1g, vpc: $vpc.main }
";

const SMALL: &str = "stead: 1\nstack: story\nvpc:\n  main: { cidr: 10.1.0.0/16 }\n";

fn applied(stack: &str) -> Case {
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    case
}

/// Starts an apply and waits for its first mutating request.
fn applying(case: &Case) -> Child {
    let mut child =
        case.command("apply --yes").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while case.cloud().mutations_since(0).is_empty() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it sent anything");
        std::thread::yield_now();
    }
    child
}

#[test]
fn two_applies_of_one_ledger_exclude_each_other() {
    let case = Case::new().file("stead.yaml", STACK).emulator_with(&["--speed", "1"]);
    case.ok("lock status").says(&["file:./.stead/ledger is free"]);
    let mut first = applying(&case);
    let pid = first.id().to_string();
    case.fails(8, "apply --yes").says(&["locked by tester@", &pid, "lock status", "lock break"]);
    case.fails(8, "lock status").says(&["tester@", "has the lock", &pid, "as long as its process"]);
    let held = case.fails(8, "lock status --output json").json();
    assert_eq!((&held["lock"]["standing"], held["lock"]["process"].to_string()), (&"held".into(), pid));
    case.fails(8, "lock break --reason stuck --yes").says(&["end the process"]);
    case.fails(64, "lock break").says(&["--reason"]);
    case.ok("plan").says(&["vm.web"]);
    first.kill().unwrap();
    first.wait().unwrap();
    case.ok("lock status").says(&["is free"]);
    case.ok("lock break --reason stuck --yes").says(&["blocks no run"]);
}

#[test]
fn the_history_lists_actor_commit_and_outcome() {
    let sha = "0123456789abcdef0123456789abcdef01234567";
    let case = Case::new().file("stead.yaml", SMALL).emulator();
    case.ok("history").says(&["Nothing was applied yet"]);
    fs::create_dir_all(case.path(".git/refs/heads")).unwrap();
    case.write(".git/HEAD", "ref: refs/heads/main\n");
    case.write(".git/refs/heads/main", sha);
    case.ok("apply --yes");
    case.write("stead.yaml", STACK);
    case.cloud().faults(&["POST /vms=500:100"]);
    case.fails(1, "apply --yes --effect-bound 0s --listing-bound 0s");
    case.ok("history").says(&["OUTCOME", "partly", &sha[..12], "tester@", "done", &sha[..12]]);
    case.ok("history show 1").says(&["commit", sha, "plan", "outcome", "done", "1 done, 0 failed"]);
    let runs = case.ok("history --output json").json();
    assert_eq!(runs["runs"].as_array().unwrap().len(), 2);
    assert_eq!((&runs["runs"][0]["failed"], &runs["runs"][0]["outcome"]), (&1.into(), &"partly".into()));
    assert!(runs["runs"][1]["plan"].as_str().unwrap().len() > 8);
    case.fails(1, "history show 3").says(&["no run 3", "the last one is 2"]);
    case.fails(1, "history show 9999").says(&["no run 9999", "`stead history` lists"]);
    for bad in ["0", "x", "-1", "1.5"] {
        case.fails(64, &format!("history show {bad}"));
    }
    case.fails(64, "history show x").says(&["the number of a run"]);
}

#[test]
fn a_run_lists_what_it_did_to_each_resource() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    case.fails(1, "history show").says(&["nothing was applied yet"]);
    case.cloud().faults(&["POST /vms=402:1"]);
    case.fails(6, "apply --yes");
    case.cloud().faults(&[]);
    case.ok("apply --yes");
    case.ok("history show 1").says(&["number", "1", "approved by", "--yes", "outcome", "partly"]).says(&[
        "RESOURCE",
        "vm.web",
        "create",
        "failed",
        "vpc.main",
        "create",
        "done",
        "POST /api/v1/vms 402",
        "POST /api/v1/vpcs 201",
    ]);
    let last = case.ok("history show --output json").json();
    let run = &last["runs"][0];
    assert_eq!(
        (&run["n"], &run["approval"], &run["common_run"]),
        (&2.into(), &"--yes".into(), &Value::Null)
    );
    let resources = run["resources"].as_array().unwrap();
    let web = resources.iter().find(|resource| resource["address"] == "vm.web").unwrap();
    assert_eq!(
        (&web["action"], &web["result"], &web["error"]),
        (&"create".into(), &"done".into(), &Value::Null)
    );
    let request = json!([{"method": "POST", "path": "/api/v1/vms", "status": 201, "request_id": null}]);
    assert_eq!(web["requests"], request);
    assert!(web["took_ms"].as_u64().is_some());
    let fingerprint = {
        case.edit("stead.yaml", "std-1c-1g", "std-1c-2g");
        case.ok("plan --output json").json()["fingerprint"].as_str().unwrap().to_owned()
    };
    case.ok(&format!("apply --expect {fingerprint}"));
    case.ok("history show").says(&["number", "3", "approved by", "--expect", "vm.web", "update"]);
    // The list has no resources, and its numbers stay.
    let list = case.ok("history --output json").json();
    let numbers: Vec<u64> =
        list["runs"].as_array().unwrap().iter().map(|run| run["n"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [3, 2, 1]);
    assert!(list["runs"][0].get("resources").is_none());
}

#[test]
fn the_history_says_that_files_had_uncommitted_changes() {
    let case = Case::new().file("stead.yaml", SMALL).file("notes.txt", "one").emulator();
    let git = |words: &str| {
        let words = format!("-c user.name=ada -c user.email=ada@example.com {words}");
        let run = Command::new("git").current_dir(case.path(".")).args(words.split_whitespace()).output();
        assert!(run.unwrap().status.success(), "git {words}");
    };
    git("init -q");
    case.write(".gitignore", ".stead/\ncloud/\nstead.lock\nout/\n");
    git("add -A");
    git("commit -q -m first");
    case.write("notes.txt", "two");
    case.ok("apply --yes");
    let (clean, list) = (case.ok("history show 1"), case.ok("history"));
    clean.says(&["commit"]);
    assert!(!(clean.all() + &list.all()).contains("uncommitted"), "{}", clean.all());
    // The reports of one stack and of many name the commit of what they show, and whether it is all of it.
    let names_changes = || {
        ["plan", "plan --all", "drift"].map(|command| {
            case.ok(&format!("{command} --report md=out/a.md --report html=out/a.html"));
            ["out/a.md", "out/a.html"].map(|file| {
                let text = fs::read_to_string(case.path(file)).unwrap();
                assert!(text.contains("commit "), "{command}: {text}");
                text.contains("with uncommitted changes")
            })
        })
    };
    assert!(names_changes().concat().iter().all(|names| !names));
    case.edit("stead.yaml", "10.1.", "10.2.");
    assert!(names_changes().concat().iter().all(|names| *names), "{:?}", names_changes());
    case.ok("apply --yes --allow-deletes");
    case.ok("history show 2").says(&["commit", " (with uncommitted changes)", "plan"]);
    case.ok("history").says(&["OUTCOME", "(with uncommitted changes)", "\n"]);
    let runs = case.ok("history --output json").json();
    let dirty: Vec<&Value> = runs["runs"].as_array().unwrap().iter().map(|run| &run["dirty"]).collect();
    assert_eq!(dirty, [&Value::Bool(true), &Value::Bool(false)]);
}

#[test]
fn a_run_lists_the_outputs_that_it_changed() {
    let rest = "vars: { token: { type: secret } }\noutputs: { cidr: $vpc.main.cidr, token: $vars.token }\n";
    let case = Case::new().file("stead.yaml", format!("{SMALL}{rest}")).emulator();
    let run = |args: &str, token: &str| {
        let mut command = case.command(args);
        command.env("STEAD_VAR_token", token);
        let run = Run::of(&command.output().unwrap());
        assert_eq!(run.code, 0, "{}", run.all());
        run
    };
    run("apply --yes", "s3cret-one");
    let first = run("history show 1", "s3cret-one");
    first.says(&["OUTPUTS", "+ cidr  10.1.0.0/16", "+ token  (secret "]);
    case.edit("stead.yaml", "cidr: $vpc.main.cidr, ", "");
    run("apply --yes", "s3cret-two");
    let second = case.ok("history show");
    second.says(&["number", "2", "OUTPUTS", "- cidr  10.1.0.0/16", "~ token  (secret ", "→ (secret "]);
    let document = case.ok("history show --output json");
    let changed = document.json()["runs"][0]["outputs"].clone();
    assert_eq!(
        (&changed[0]["name"], &changed[0]["action"], &changed[0]["before"], &changed[0]["after"]),
        (&"cidr".into(), &"delete".into(), &"10.1.0.0/16".into(), &Value::Null)
    );
    let (before, after) = (&changed[1]["before"], &changed[1]["after"]);
    assert!(
        before["fingerprint"].is_string() && before["fingerprint"] != after["fingerprint"],
        "{changed}"
    );
    for run in [first, second, document] {
        assert!(!run.all().contains("s3cret"), "{}", run.all());
    }
    // The list has no outputs.
    assert!(case.ok("history --output json").json()["runs"][0].get("outputs").is_none());
}

#[test]
fn a_run_that_was_killed_lists_the_requests_that_it_began() {
    let case = Case::new().file("stead.yaml", STACK).emulator_with(&["--speed", "1"]);
    let mut killed = applying(&case);
    killed.kill().unwrap();
    killed.wait().unwrap();
    case.ok("history show 1").says(&[
        "outcome",
        "no end recorded",
        "No end of this run is recorded. These are the requests that it began:",
        "RESOURCE",
        "vpc.main  create",
    ]);
    let run = case.ok("history show 1 --output json").json()["runs"][0].clone();
    assert_eq!(
        (&run["begun"][0]["address"], &run["begun"][0]["action"], &run["begun"][0]["call"]),
        (&"vpc.main".into(), &"create".into(), &Value::Null)
    );
    assert!(["open", "done"].contains(&run["begun"][0]["outcome"].as_str().unwrap()), "{run}");
    // The next run determines what became of them.
    case.cloud().control("POST", "/_emulator/clock", &json!({ "speed": 1000 }));
    case.ok("apply --yes --effect-bound 0s --listing-bound 0s");
    case.ok("history show 1").says(&["no end recorded", "vpc.main  create", "done"]);
}

#[test]
fn stacks_share_a_ledger_directory_and_a_stack_can_require_one() {
    let case = Case::new().file("stead.yaml", format!("{SMALL}backend: required\n")).emulator();
    case.fails(64, "apply --yes").says(&["shared ledger", "STEAD_BACKEND"]);
    case.ok("apply --yes --backend file:shared");
    assert!(case.path("shared/story/default").is_dir());
    assert!(!case.path(".stead/ledger").exists());
    case.ok("apply --yes --backend file:shared").says(&["No changes"]);
    case.write(
        "stead.yaml",
        SMALL.replace("story", "other").replace("10.1", "10.2").replace("main", "side"),
    );
    case.ok("apply --yes --backend file:shared");
    case.ok("state list --backend file:shared").says(&["vpc.side"]);
    assert!(case.path("shared/other/default").is_dir());
    case.fails(64, "plan --backend nowhere").says(&["is not a ledger location", "file:DIR"]);
    let run = case.fails(64, "plan --backend postgres://me:hunter2@host/db");
    assert!(run.stderr.contains("STEAD_BACKEND") && !run.all().contains("hunter2"), "{}", run.stderr);
}

#[test]
fn a_ledger_is_pulled_and_pushed_and_never_rolled_back_silently() {
    use std::os::unix::fs::PermissionsExt;

    let case = applied(SMALL);
    let id = case.cloud().list("/api/v1/vpcs")[0]["id"].as_str().unwrap().to_owned();
    case.ok("state list").says(&["vpc.main", &id]);
    case.ok("state list -v").says(&["vpc.main", &id, "vpc"]);
    case.ok("state pull -o copy.json");
    assert_eq!(fs::metadata(case.path("copy.json")).unwrap().permissions().mode() & 0o777, 0o600);
    let printed = case.ok("state pull").stdout;
    assert_eq!(printed, fs::read_to_string(case.path("copy.json")).unwrap());
    case.ok("state push copy.json --yes").says(&["already"]);
    case.write("bent.json", printed.replacen(&id, "00000000-0000-4000-8000-000000000000", 1));
    case.fails(1, "state push bent.json --yes").says(&["bent.json is damaged", "digest"]);

    case.write("stead.yaml", STACK);
    case.ok("apply --yes");
    case.fails(1, "state push copy.json --yes").says(&["the copy is older", "--force"]);
    case.ok("state push copy.json --yes --backend file:elsewhere").says(&["is the ledger now"]);
    case.ok("state list --backend file:elsewhere").says(&["vpc.main"]);
    case.ok("state push copy.json --yes --force");
    case.ok("history").says(&["a copy at record"]);
    case.fails(4, "plan").says(&["vm.web", "--adopt"]);

    let other = applied(&SMALL.replace("10.1", "10.3"));
    other.write("copy.json", &printed);
    other.fails(1, "state push copy.json --yes").says(&["another lineage"]);
}

#[test]
fn a_migrated_ledger_leaves_a_pointer_to_its_new_location() {
    let case = applied(SMALL);
    case.fails(64, "state migrate --to file:new").says(&["--yes"]);
    case.ok("state migrate --to file:new --yes")
        .says(&["The ledger is at file:new/story now", "STEAD_BACKEND"]);
    case.fails(1, "apply --yes").says(&["was moved to file:new/story", "STEAD_BACKEND"]);
    case.fails(1, "plan").says(&["was moved to file:new/story"]);
    case.ok("state migrate --to file:new --yes").says(&["already"]);
    case.ok("apply --yes --backend file:new").says(&["No changes"]);
    case.ok("history --backend file:new").says(&["done"]);
}

#[test]
fn a_migration_killed_at_any_point_can_be_repeated() {
    let moments: [&dyn Fn(&Case) -> bool; 5] = [
        &|case| case.path("new/story/default/lock").exists(),
        &|case| case.path("new/story/default/journal-0.log").exists(),
        &|case| journals(case, "new/story/default").contains("\"pushed\""),
        &|case| journals(case, ".stead/ledger/default").contains("moved_away"),
        &|_| false,
    ];
    for moment in moments {
        let case = applied(SMALL);
        let mut child = case.command("state migrate --to file:new --yes").spawn().unwrap();
        while !moment(&case) && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        // It may have ended by itself.
        let _ = child.kill();
        child.wait().unwrap();
        case.ok("state migrate --to file:new --yes");
        case.fails(1, "plan").says(&["was moved to"]);
        case.ok("apply --yes --backend file:new").says(&["No changes"]);
        assert_eq!(case.cloud().list("/api/v1/vpcs").len(), 1);
    }
}

#[test]
fn a_migration_interrupted_after_the_copy_is_continued() {
    let case = applied(SMALL);
    case.ok("state pull -o copy.json");
    case.ok("state push copy.json --backend file:new");
    case.ok("state migrate --to file:new --yes").says(&["The ledger is at"]);
    let used = applied(SMALL);
    used.ok("state pull -o copy.json");
    used.ok("state push copy.json --backend file:new");
    used.write("stead.yaml", STACK);
    used.ok("apply --yes --backend file:new");
    used.fails(1, "state migrate --to file:new --yes").says(&["with other content", "--force"]);
    used.fails(4, "plan").says(&["exists already"]);
}

fn journals(case: &Case, directory: &str) -> String {
    let Ok(entries) = fs::read_dir(case.path(directory)) else { return String::new() };
    let logs = entries.flatten().map(|entry| entry.path());
    logs.filter(|path| path.extension().is_some_and(|end| end == "log"))
        .filter_map(|path| fs::read_to_string(path).ok())
        .collect()
}

/// Returns the newest file of the ledger whose name begins with `prefix`.
fn newest(case: &Case, prefix: &str) -> PathBuf {
    let all = fs::read_dir(case.path(".stead/ledger/default")).unwrap().map(|entry| entry.unwrap().path());
    let serial = |path: &PathBuf| {
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        stem.strip_prefix(prefix).and_then(|serial| serial.parse::<u64>().ok())
    };
    all.filter(|path| serial(path).is_some()).max_by_key(|path| serial(path)).unwrap()
}

fn flip(path: &PathBuf) {
    let mut bytes = fs::read(path).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 4;
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_record_of_a_newer_version_is_no_damage_and_is_not_repaired_away() {
    use sha2::{Digest, Sha256};

    let case = applied(STACK);
    // The line continues the newest checkpoint: its digest is the one that a newer version would have written.
    let (journal, checkpoint) = (newest(&case, "journal-"), newest(&case, "ledger-"));
    let before = fs::read(&journal).unwrap();
    assert!(before.is_empty(), "the apply ended with a checkpoint");
    let checkpoint: Value = serde_json::from_slice(&fs::read(checkpoint).unwrap()).unwrap();
    let last = checkpoint["head"].as_str().unwrap();
    let head: Vec<u8> =
        (0..32).map(|at| u8::from_str_radix(&last[2 * at..2 * at + 2], 16).unwrap()).collect();
    let json = r#"[{"of_the_future":{}}]"#;
    let digest = Sha256::new().chain_update(head).chain_update(json).finalize();
    let hex = digest.iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
    fs::write(&journal, format!("{:08x} {hex} {json}\n", json.len())).unwrap();
    for (code, args) in [(1, "apply --yes"), (1, "plan"), (1, "state verify"), (1, "state repair --yes")] {
        let run = case.fails(code, args);
        run.says(&["a newer version of stead wrote", "Upgrade stead on this machine"]);
        assert!(!run.all().contains("shows what can be restored"), "{}", run.all());
    }
    assert!(fs::read_to_string(&journal).unwrap().contains("of_the_future"), "nothing is dropped");
    fs::write(&journal, before).unwrap();
    case.ok("plan").says(&["No changes"]);
}

#[test]
fn a_flipped_byte_is_detected_and_repaired() {
    let case = applied(STACK);
    case.ok("state verify").says(&["is intact up to record"]);
    flip(&newest(&case, "ledger-"));
    let before = case.cloud().last();
    case.fails(1, "apply --yes").says(&["damaged", "state verify", "state repair"]);
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new());
    let found = case.fails(1, "state verify --output json").json();
    assert_eq!((&found["whole"], found["damages"].as_array().unwrap().len()), (&false.into(), 1));
    case.fails(64, "state repair").says(&["Everything can be restored: 2 resources", "--yes"]);
    case.ok("state repair --yes").says(&["Everything can be restored", "before-repair-"]);
    case.ok("state verify").says(&["is intact"]);
    case.ok("apply --yes").says(&["No changes"]);
    case.ok("history").says(&["it was repaired; 0 records"]);
    case.ok("state repair").says(&["undamaged: nothing was changed"]);
}

#[test]
fn help_shows_examples() {
    for command in
        ["lock", "history", "state", "state pull", "state push", "state migrate", "state repair", "recover"]
    {
        Case::new().ok(&format!("{command} --help")).says(&["xample", "stead"]);
    }
    let run: Run = Case::new().fails(64, "state migrat");
    run.says(&["migrate"]);
}
