//! `stead do`: one-off actions on objects, on the emulator.
#![allow(clippy::disallowed_methods, reason = "tests look at the files that commands leave")]

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::case::Case;

const STACK: &str = "\
stead: 1
stack: shop
environments: { prod: { default: true } }
vm: { web: { plan: std-1c-2g, template: ubuntu-24.04 }, other: { plan: std-1c-2g, template: ubuntu-24.04 } }
database: { main: { plan: pg-free, users: { app: {} } } }
";

fn applied() -> Case {
    let case = Case::new().emulator().file("stead.yaml", STACK);
    case.ok("apply --yes");
    case
}

fn id(case: &Case, address: &str) -> String {
    let rows = case.ok("ls --output json").json();
    let row = rows["resources"].as_array().unwrap().iter().find(|row| row["address"] == address).unwrap();
    row["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_disruptive_action_needs_approval_and_is_waited_for() {
    let case = applied();
    let before = case.cloud().last();
    case.fails(64, "do reboot vm.web").says(&[
        "it restarts",
        "Confirmation is required",
        "--yes",
        "Nothing was sent",
    ]);
    let mut in_ci = case.command("do stop vm.web");
    let in_ci = in_ci.env("CI", "true").output().unwrap();
    assert_eq!(in_ci.status.code(), Some(64));
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new());
    let run = case.ok("do reboot vm.web --yes --output json").json();
    assert_eq!((&run["action"], &run["status"]), (&json!("reboot"), &json!("active")));
    assert_eq!((&run["schema_version"], &run["address"]), (&json!(1), &json!("vm.web")));
    assert_eq!(case.cloud().mutations_since(before).len(), 1);
    let run = case.ok("do stop vm.web --yes");
    run.says(&["stop vm.web: done, stopped"]);
    assert!(!run.stderr.contains("is managed"), "nobody wrote its power: {}", run.stderr);
    case.ok("plan").says(&["No changes"]);
    case.fails(1, "do stop vm.web --yes").says(&["409", "Nothing was changed"]);
    let events = case.ok("do start vm.web --output ndjson");
    let events: Vec<Value> =
        events.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.last().unwrap()["event"], "ended");
    assert!(!events.last().unwrap()["status"].is_null());
    case.ok("plan").says(&["No changes"]);
}

#[test]
fn an_action_on_an_object_id_needs_no_stack() {
    let case = applied();
    let vm = id(&case, "vm.web");
    std::fs::remove_file(case.path("stead.yaml")).unwrap();
    case.ok(&format!("do reboot vm:{vm} --yes")).says(&[&format!("reboot vm:{vm}: done, active")]);
    case.fails(1, "do reboot vm:00000000-0000-4000-8000-000000000000 --yes").says(&["there is no vm"]);
    case.fails(1, "do reboot vm.web --yes").says(&["no stack"]);
    case.ok("do engines").says(&["ENGINE", "postgres"]);
    case.ok("do cidr-suggestions").says(&["CIDR", "10."]);
}

#[test]
fn a_misspelled_action_gets_a_suggestion() {
    let case = applied();
    for (line, words) in [
        ("do rebot vm.web", &["'reboot'"][..]),
        ("do reboot vm.wbe --yes", &["no resource vm.wbe in this stack; did you mean vm.web?"]),
        ("do reboot mv.web --yes", &["Did you mean vm?"]),
        ("do resume vm.web", &["a vm has no action resume", "It has: start, stop, reboot"]),
        ("do reboot vm --yes", &["which vm", "vm.NAME"]),
        ("do restore database.main --inplace", &["'--in-place'"]),
        ("do restore database.main --time noon", &["--time", "2026-10-14T12:00:00Z"]),
        ("do restore vm.web --yes", &["the source is missing", "--backup or --snapshot"]),
        ("do console database.main", &["QUERY is missing"]),
        ("do password database_user:app", &["database_user:PARENT/ID"]),
        ("do connection database.main --show", &["--show", "on a terminal", "--to FILE"]),
    ] {
        let run = case.run(line);
        assert!([1, 64].contains(&run.code), "{line}: {}", run.code);
        run.says(words);
    }
}

#[test]
fn secrets_in_action_output_are_hidden_until_requested() {
    let case = applied();
    let user = case.ok("do password database.main.users.app");
    user.says(&["name", "app", "password", "(hidden)", "--to FILE"]);
    let told = case.ok("do password database.main.users.app --to -");
    let password = told.stdout.trim().to_owned();
    assert!(password.len() >= 8 && told.stdout.lines().count() == 1, "{}", told.stdout);
    let shown = case.ok("do connection database.main --output json");
    let connection = shown.json();
    assert_eq!(connection["answer"]["password"], Value::Null);
    assert_eq!(connection["answer"]["user"], "owner");
    assert!(connection["hidden"].as_array().unwrap().contains(&json!("private.uri")));
    assert!(!shown.all().contains("://"), "{}", shown.all());
    case.ok("do connection database.main --field user").says(&["owner"]);
    case.fails(64, "do connection database.main --field password").says(&["secret"]);

    case.fails(64, "do rotate-password database.main.users.app").says(&["locked out"]);
    let run = case.ok("do rotate-password database.main.users.app --yes --to secrets/app");
    let path = case.path("secrets/app");
    let new = std::fs::read_to_string(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(new.trim() != password && new.trim().len() >= 8 && new.lines().count() == 1);
    assert!(!run.all().contains(new.trim()));
    assert_eq!(case.ok("do password database.main.users.app --to -").stdout, new);
    case.ok("history").says(&["rotate-password database.main.users.app: done", "tester@"]);
}

#[test]
fn a_database_is_restored_in_place_or_as_a_new_object() {
    let case = Case::new().emulator().file("stead.yaml", STACK.replace("pg-free", "pg-1c-2g"));
    case.ok("apply --yes");
    case.cloud().control("POST", "/_emulator/clock", &json!({ "advance_seconds": 200_000 }));
    let backups = case.ok("do backups database.main --csv");
    let rows: Vec<&str> = backups.stdout.lines().collect();
    assert!(rows[0].starts_with("id,created_at") && rows.len() > 1, "{}", backups.stdout);
    let backup = rows[1].split(',').next().unwrap();
    let made = case.ok(&format!("do restore database.main --backup {backup} --output json")).json();
    assert_eq!(made["answer"]["kind"], "database");
    assert_ne!(made["answer"]["id"], made["id"], "a new one");
    case.ok("ls --unmanaged").says(&[made["answer"]["id"].as_str().unwrap()]);
    let before = case.cloud().last();
    case.fails(64, &format!("do restore database.main --backup {backup} --in-place"))
        .says(&["is reset to that state"]);
    assert!(case.cloud().mutations_since(before).is_empty());
    let same =
        case.ok(&format!("do restore database.main --backup {backup} --in-place --yes --output json"));
    assert_eq!(same.json()["answer"]["id"], same.json()["id"]);
    case.ok("history").says(&["restore database.main: done", "restore database.main: done"]);
}

#[test]
fn a_snapshot_is_restored_only_to_its_own_machine() {
    let case = applied();
    let made = case.ok("do backup vm.web --output json").json();
    assert_eq!((&made["status"], &made["answer"]["kind"]), (&json!("completed"), &json!("backup")));
    let backup = made["answer"]["id"].as_str().unwrap().to_owned();
    let name = made["answer"]["attributes"]["name"].as_str().unwrap();
    assert!(name.starts_with("web-20"), "{name}");
    let snapshot = case.ok("do snapshot vm.web --name mine --output json").json();
    let snapshot = snapshot["answer"]["id"].as_str().unwrap().to_owned();
    case.fails(1, &format!("do restore vm.other --backup {backup} --yes"))
        .says(&["is of another vm", "Nothing was sent"]);
    case.ok(&format!("do restore vm.web --backup backup:{backup} --yes"))
        .says(&["restore vm.web: done, active"]);
    case.ok(&format!("do restore snapshot:{snapshot} --yes")).says(&["done"]);
    case.ok(&format!("do rename snapshot:{snapshot} --name renamed"));
    case.ok("ls --unmanaged --kind snapshot").says(&["snapshot", "renamed", "plan --adopt"]);
    let rows = case.ok("ls --unmanaged --output json").json();
    let kinds: Vec<&str> =
        rows["unmanaged"].as_array().unwrap().iter().filter_map(|row| row["kind"].as_str()).collect();
    assert!(
        kinds.contains(&"backup") && kinds.contains(&"snapshot") && !kinds.contains(&"vm"),
        "{kinds:?}"
    );
    case.fails(64, "ls --kind snapshto").says(&["Did you mean snapshot?"]);
    case.ok(&format!("get snapshot:{snapshot}")).says(&["snapshot", "name", "renamed"]);
    case.fails(64, "get vm").says(&["which vm"]);
    case.ok("plan").says(&["No changes"]);
}

#[test]
fn no_action_is_sent_twice_and_the_history_records_an_unknown_outcome() {
    let case = applied();
    case.cloud().faults(&["POST *=reset-after:1"]);
    let before = case.cloud().last();
    let run = case.fails(1, "do rotate-credentials database.main --yes");
    run.says(&["not known", "does not send it again", "stead get database.main"]);
    let sent = case.cloud().mutations_since(before);
    assert_eq!(sent.len(), 1, "{sent:?}");
    case.ok("history").says(&["rotate-credentials database.main: outcome unknown"]);
    case.ok("lock status").says(&["is free"]);
}

const WORKLOADS: &str = "\
stead: 1
stack: work
environments: { prod: { default: true } }
cluster: { jobs: { version: \"1.31\", node_pools: { a: { plan: std-2c-4g, node_count: 2 } } } }
app: { web: { type: web, image: \"nginx:1\" }, nightly: { type: job, image: \"busybox:1\" } }
";

#[test]
fn a_kubeconfig_is_written_only_where_requested() {
    let case = Case::new().emulator().file("stead.yaml", WORKLOADS);
    case.ok("apply --yes");
    case.fails(64, "do kubeconfig cluster.jobs").says(&["needs a destination", "--to FILE", "--merge"]);
    case.fails(64, "do kubeconfig cluster.jobs --to kc --expires-in 5").says(&["from 600 to 2592000"]);
    let run = case.ok("do kubeconfig cluster.jobs --to kc --expires-in 600");
    let text = std::fs::read_to_string(case.path("kc")).unwrap();
    let mode = |name: &str| std::fs::metadata(case.path(name)).unwrap().permissions().mode() & 0o777;
    assert!(text.contains("kind: Config") && !run.all().contains("token"), "{}", run.all());
    assert_eq!(mode("kc"), 0o600);
    std::fs::create_dir(case.path(".kube")).unwrap();
    case.write(
        ".kube/config",
        "apiVersion: v1\nkind: Config\nusers: [{name: mine, user: {}}]\ncurrent-context: mine\n",
    );
    case.ok("do kubeconfig cluster.jobs --merge");
    let merged = std::fs::read_to_string(case.path(".kube/config")).unwrap();
    assert!(merged.contains("name: mine") && merged.contains("clusters:"), "{merged}");
    assert!(
        merged.contains("current-context: mine") && merged.contains("name: work/prod/cluster.jobs"),
        "{merged}"
    );
    assert_eq!(mode(".kube/config"), 0o600);
    case.ok("do rotate-kubeconfig cluster.jobs --yes");
    let offered = case.ok("do upgrades cluster.jobs --csv");
    let version = offered.stdout.lines().nth(1).unwrap().split(',').next().unwrap().to_owned();
    case.fails(64, &format!("do upgrade cluster.jobs --version {version}")).says(&["--yes"]);
    case.ok(&format!("do upgrade cluster.jobs --version {version} --confirm-single-master --yes"))
        .says(&["version of cluster.jobs is managed"]);
    case.ok("do events cluster.jobs").says(&["CREATED_AT", "TYPE", "MESSAGE"]);
    case.ok("history").says(&["upgrade cluster.jobs: done", "rotate-kubeconfig cluster.jobs: done"]);
}

#[test]
fn the_exit_code_of_a_job_is_the_exit_code_of_the_command() {
    let case = Case::new().emulator().file("stead.yaml", WORKLOADS);
    case.ok("apply --yes");
    let run = case.ok("do run app.nightly --output ndjson");
    let events: Vec<Value> = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = events.last().unwrap();
    assert_eq!((&last["run"]["status"], &last["run"]["exit_code"]), (&json!("succeeded"), &json!(0)));
    assert!(events.iter().any(|event| event["event"] == "status"));
    case.ok("do runs app.nightly").says(&["TRIGGER", "manual"]);
    case.ok("do redeploy app.web").says(&["status", "live"]);
    case.ok("do pause app.web --yes").says(&["paused"]);
    case.ok("do resume app.web").says(&["live"]);
    case.ok("do usage --period current --service app.web").says(&["INSTANCE_HOURS", "total_usd"]);
    case.ok("do instances app.web").says(&["running"]);
    case.ok("do previews app.web").says(&["There are no entries"]);
    case.fails(1, "do delete-preview app.web --preview 00000000-0000-4000-8000-000000000000 --yes")
        .says(&["404"]);
    for line in [
        "do templates",
        "do github-connections",
        "do permissions",
        "do members",
        "do node-plans",
        "do plans",
    ] {
        case.ok(line);
    }
    case.ok("plan").says(&["No changes"]);
}
