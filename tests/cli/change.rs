//! Stories of change: in place, replaced, drifted, removed, protected, killed, destroyed.
#![allow(clippy::disallowed_methods, reason = "tests drive real processes")]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::case::Case;

const STACK: &str = "\
stead: 1
stack: story
vpc:
  main: { cidr: 10.1.0.0/16 }
vm:
  web:
    template: ubuntu-24.04
    plan: std-1c-1g
    vpc: $vpc.main
volume:
  data: { size: 20, vm: $vm.web }
backup_schedule:
  nightly: { vm: $vm.web, frequency: daily, hour: 3 }
outputs:
  address: $vm.web.public_ipv4_address
";

const LINKED: &str = "\
stead: 1
stack: links
vpc:
  main: { cidr: 10.1.0.0/16 }
vm:
  web: { template: ubuntu-24.04, plan: std-1c-1g }
volume:
  data: { size: 20, vm: $vm.web }
database:
  main: { plan: pg-1c-2g, vpc: $vpc.main }
";

fn applied() -> Case {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    case.ok("apply --yes").says(&["vpc.main", "vm.web", "address"]);
    case
}

fn no_changes(case: &Case) {
    let before = case.cloud().last();
    case.ok("apply --yes").says(&["No changes"]);
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new());
}

#[test]
fn an_attribute_is_updated_in_place() {
    let case = applied();
    case.edit("stead.yaml", "size: 20", "size: 30");
    case.ok("plan").says(&["volume.data", "size", "20", "30", "stead.yaml:11"]);
    let before = case.cloud().last();
    case.ok("apply --yes");
    let sent = case.cloud().mutations_since(before);
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert!(sent[0].starts_with("PATCH /api/v1/volumes/"), "{sent:?}");
    no_changes(&case);
}

#[test]
fn changing_an_immutable_attribute_replaces_and_the_plan_shows_it() {
    let case = applied();
    let old = case.cloud().list("/api/v1/vms")[0]["id"].clone();
    case.edit("stead.yaml", "ubuntu-24.04", "debian-12");
    case.ok("plan").says(&["vm.web", "REPLACE", "template", "ubuntu-24.04", "debian-12"]);
    case.ok("apply --yes");
    let vms = case.cloud().list("/api/v1/vms");
    assert_eq!(vms.len(), 1);
    assert_ne!(vms[0]["id"], old);
    assert_eq!(case.cloud().list("/api/v1/volumes")[0]["vm_id"], vms[0]["id"]);
    assert_eq!(case.cloud().list("/api/v1/backup-schedules")[0]["vm_id"], vms[0]["id"]);
    no_changes(&case);
}

#[test]
fn a_link_removed_by_hand_is_drift_and_is_recreated() {
    let case = Case::new().file("stead.yaml", LINKED).emulator();
    case.ok("apply --yes");
    let (volume, database) =
        (case.cloud().list("/api/v1/volumes").remove(0), case.cloud().list("/api/v1/databases").remove(0));
    let of =
        |record: &serde_json::Value, field: &str| record[field].as_str().unwrap_or_default().to_owned();
    let detach = format!("/api/v1/volumes/{}/detach", of(&volume, "id"));
    case.cloud().make(&detach, &json!({}), &of(&volume, "project_id"));
    case.cloud().delete(&format!("/api/v1/databases/{}/vpc", of(&database, "id")));
    let (vm, vpc) = (of(&volume, "vm_id"), of(&database, "vpc_id"));
    case.fails(3, "drift --exit-code").says(&[
        "database.main.vpc",
        &vpc,
        "(not set)",
        "volume.data.vm",
        &vm,
        "(not set)",
    ]);
    case.ok("plan").says(&["database.main", "vpc"]).says(&["volume.data", "vm"]);
    let before = case.cloud().last();
    case.ok("apply --yes");
    let sent = case.cloud().mutations_since(before);
    assert!(sent.iter().any(|sent| sent.ends_with("/attach")), "{sent:?}");
    assert!(sent.iter().any(|sent| sent.ends_with("/vpc")), "{sent:?}");
    assert_eq!(sent.len(), 2, "{sent:?}");
    assert_eq!(case.cloud().list("/api/v1/volumes")[0]["vm_id"], volume["vm_id"]);
    case.ok("drift --exit-code");
    no_changes(&case);
}

#[test]
fn drift_is_detected_classified_and_reverted() {
    let case = applied();
    let schedule = case.cloud().list("/api/v1/backup-schedules")[0]["id"].as_str().unwrap().to_owned();
    case.cloud().mutate("backup_schedule", &schedule, &json!({ "hour": 7 }));
    case.fails(3, "drift --exit-code").says(&["backup_schedule.nightly", "hour", "3", "7"]);
    case.ok("plan").says(&["hour", "7", "3"]);
    case.ok("apply --yes");
    assert_eq!(case.cloud().list("/api/v1/backup-schedules")[0]["hour"], 3);
    case.ok("drift --exit-code");
}

#[test]
fn an_attribute_that_is_not_declared_is_not_managed() {
    let case = applied();
    let schedule = case.cloud().list("/api/v1/backup-schedules")[0]["id"].as_str().unwrap().to_owned();
    case.cloud().mutate("backup_schedule", &schedule, &json!({ "retention": 21 }));
    no_changes(&case);
    case.edit("stead.yaml", "hour: 3", "hour: 3, retention: null");
    case.ok("apply --yes");
    assert_eq!(case.cloud().list("/api/v1/backup-schedules")[0]["retention"], 7);
    no_changes(&case);
}

#[test]
fn a_removed_block_is_a_deletion_and_protect_forbids_it() {
    let case = applied();
    case.edit("stead.yaml", "size: 20, vm: $vm.web", "size: 20, vm: $vm.web, lifecycle: { protect: true }");
    case.ok("apply --yes");
    let kept = std::fs::read_to_string(case.path("stead.yaml")).unwrap();
    let block = "volume:\n  data: { size: 20, vm: $vm.web, lifecycle: { protect: true } }\n";
    case.edit("stead.yaml", block, "");
    let before = case.cloud().last();
    case.fails(4, "apply --yes").says(&["volume.data", "protect"]);
    case.fails(4, "destroy --yes --confirm story").says(&["volume.data", "protect"]);
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new());
    case.write("stead.yaml", kept.replace(", lifecycle: { protect: true }", ""));
    case.ok("apply --yes");
    case.edit("stead.yaml", "volume:\n  data: { size: 20, vm: $vm.web }\n", "");
    let before = case.cloud().last();
    let refused = ["volume.data", "holds data", "No copy of it survives", "--delete-data volume.data"];
    case.fails(4, "apply --yes --allow-deletes").says(&refused);
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new());
    case.ok("apply --yes --delete-data volume.data").says(&["volume.data"]);
    assert_eq!(case.cloud().list("/api/v1/volumes").len(), 0);
    no_changes(&case);
}

#[test]
fn deletions_above_the_limit_need_allow_deletes() {
    let case = applied();
    case.write("stead.yaml", "stead: 1\nstack: story\nvpc: { main: { cidr: 10.1.0.0/16 } }\n");
    case.fails(4, "apply --yes").says(&["3 of 4", "--allow-deletes"]);
    case.fails(4, "apply --yes --allow-deletes").says(&["--delete-data vm.web"]);
    case.ok("apply --yes --allow-deletes --delete-data vm.web --delete-data volume.data");
    assert_eq!(case.cloud().list("/api/v1/vms").len(), 0);
}

#[test]
fn an_object_deleted_by_hand_is_recreated() {
    let case = applied();
    let schedule = case.cloud().list("/api/v1/backup-schedules")[0]["id"].as_str().unwrap().to_owned();
    case.cloud().delete(&format!("/api/v1/backup-schedules/{schedule}"));
    case.fails(3, "drift --exit-code").says(&["backup_schedule.nightly", "gone"]);
    case.ok("apply --yes");
    assert_eq!(case.cloud().list("/api/v1/backup-schedules").len(), 1);
    no_changes(&case);
}

#[test]
fn shrinking_a_grow_only_attribute_is_rejected_before_any_call() {
    let case = applied();
    case.edit("stead.yaml", "size: 20", "size: 10");
    let before = case.cloud().last();
    case.fails(4, "apply --yes").says(&["volume.data", "size", "grow"]);
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new());
}

#[test]
fn an_apply_killed_at_any_moment_can_be_repeated() {
    for requests in [1_u64, 3, 5, 7] {
        let case = Case::new().file("stead.yaml", STACK).emulator_with(&["--speed", "20"]);
        let mut child = case.command("apply --yes --effect-bound 1s --listing-bound 1s").spawn().unwrap();
        while case.cloud().mutations_since(0).len() < requests.min(4).try_into().unwrap()
            && child.try_wait().unwrap().is_none()
        {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        case.ok("apply --yes --effect-bound 1s --listing-bound 1s");
        for (path, count) in [("vpcs", 1), ("vms", 1), ("volumes", 1), ("backup-schedules", 1)] {
            assert_eq!(case.cloud().list(&format!("/api/v1/{path}")).len(), count, "{path}");
        }
        no_changes(&case);
    }
}

#[test]
fn a_failed_step_skips_its_dependents_only() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    case.cloud().faults(&["POST /vms=500:100"]);
    let run = case.fails(6, "apply --yes --effect-bound 0s --listing-bound 0s");
    run.says(&["vm.web", "skipped", "volume.data"]);
    assert_eq!(case.cloud().list("/api/v1/vpcs").len(), 1);
    case.cloud().faults(&[]);
    case.ok("apply --yes --effect-bound 0s --listing-bound 0s");
    assert_eq!(case.cloud().list("/api/v1/vms").len(), 1);
    no_changes(&case);
}

#[test]
fn a_stop_signal_drains_running_steps_and_the_next_apply_resumes() {
    let case = Case::new().file("stead.yaml", STACK).emulator_with(&["--speed", "20"]);
    let child = case.command("apply --yes").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while case.cloud().mutations_since(0).is_empty() {
        std::thread::yield_now();
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    case.ok("apply --yes");
    assert_eq!(case.cloud().list("/api/v1/vms").len(), 1);
    no_changes(&case);
}

/// The first signal lets running steps finish; the second ends the process, and the next apply continues from the
/// journal.
#[test]
fn a_second_stop_signal_ends_at_once_and_the_journal_suffices() {
    // Here a machine takes as long as in life: nobody waits for it.
    let case = Case::new().file("stead.yaml", STACK).emulator_with(&["--speed", "1"]);
    let mut child =
        case.command("apply --yes").stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let asked = |line: &String| line == "POST /api/v1/vms";
    while !case.cloud().mutations_since(0).iter().any(asked) {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it asked for the machine");
        std::thread::yield_now();
    }
    let pid = child.id().to_string();
    let stop = || assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    stop();
    let said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let mut said = said.skip_while(|line| !line.contains("Press Ctrl-C again to stop at once"));
    assert!(said.next().is_some());
    stop();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let machines = case.cloud().list("/api/v1/vms");
    assert_eq!(machines.len(), 1);
    assert_ne!(machines[0]["status"], "running", "it did not wait for the machine");
    case.ok("lock status").says(&["is free"]);
    case.cloud().control("POST", "/_emulator/clock", &json!({"speed": 1000}));
    case.ok("apply --yes");
    assert_eq!(case.cloud().list("/api/v1/vms").len(), 1, "what was asked for was found");
    no_changes(&case);
}

/// Two writers of one attribute that overwrite each other: the plan names the attribute after a few applies.
#[test]
fn competing_writers_of_one_attribute_are_reported() {
    let stack = "stead: 1\nstack: story\nproject: { home: { name: home, description: ours } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    let home = case.cloud().list("/api/v1/projects").into_iter().find(|one| one["name"] == "home");
    let id = home.unwrap()["id"].as_str().unwrap().to_owned();
    let told = "project.home.description differs again";
    for again in 0..3 {
        case.cloud().mutate("project", &id, &json!({"description": "theirs"}));
        let tells = again == 2;
        for args in ["plan", "drift", "apply --yes"] {
            assert_eq!(case.ok(args).stderr.contains(told), tells, "{args}, time {again}");
        }
    }
    case.ok("plan").says(&["No changes"]);
    assert!(!case.ok("plan").all().contains(told), "what is as it should be is no contest");
}

#[test]
fn an_existing_object_is_adopted_on_request_and_never_duplicated() {
    let stack = "stead: 1\nstack: story\nvpc:\n  main: { cidr: 10.1.0.0/16 }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    let id = case.cloud().list("/api/v1/vpcs")[0]["id"].as_str().unwrap().to_owned();
    std::fs::remove_dir_all(case.path(".stead")).unwrap();
    case.fails(4, "apply --yes").says(&["vpc.main", "--adopt", &id]);
    case.ok(&format!("apply --yes --adopt vpc.main={id}")).says(&["adopt", "1 done"]);
    assert_eq!(case.cloud().list("/api/v1/vpcs").len(), 1);
    no_changes(&case);
}

#[test]
fn foreign_keys_of_an_open_map_stay_until_the_map_is_exclusive() {
    const STACK: &str = "stead: 1
stack: story
vars: { word: { type: secret, from_file: ./word } }
project: { p: {} }
app: { web: { type: web, image: nginx, port: 80, env_vars: { A: one, TOKEN: $vars.word } } }
";
    let case = Case::new().file("stead.yaml", STACK).file("word", "s3cret").emulator();
    case.ok("apply --yes");
    let app = || {
        let path = case.cloud().list("/api/v1/apps/services")[0]["id"].as_str().unwrap().to_owned();
        (path.clone(), case.cloud().control("GET", &format!("/api/v1/apps/services/{path}"), &json!(null)))
    };
    let keys = || {
        let found = app().1["data"]["env_vars"].as_object().cloned().unwrap_or_default();
        found.keys().cloned().collect::<Vec<_>>()
    };
    let by_hand = json!({ "env_vars": { "A": "one", "TOKEN": "s3cret", "HAND": "canary-of-hers" } });
    case.cloud().mutate("app", &app().0, &by_hand);
    case.ok("drift --exit-code").says(&["1 unmanaged key", "? app.web.env_vars.HAND"]);
    case.ok("plan").says(&["No changes"]);
    assert!(!case.ok("plan -v").says(&["env_vars.HAND"]).all().contains("canary"));
    // The secret beside it comes from the configuration, and takes nothing away.
    case.edit("stead.yaml", "A: one", "A: two");
    case.ok("plan -o one.plan -vv --report json=plan.json --report html=plan.html --report tfjson=tf.json");
    // What was set by hand is in no output, and what changes of it after the plan is seen all the same.
    let theirs = json!({ "env_vars": { "A": "one", "TOKEN": "s3cret", "HAND": "another-canary" } });
    case.cloud().mutate("app", &app().0, &theirs);
    case.fails(5, "apply one.plan --yes").says(&["app.web changed since the plan was made"]);
    case.cloud().mutate("app", &app().0, &by_hand);
    assert!(!case.ok("get app.web").says(&["HAND"]).all().contains("canary"));
    case.ok("apply one.plan --yes");
    assert_eq!(app().1["data"]["env_vars"]["HAND"], "canary-of-hers");
    assert_eq!(keys(), ["A", "HAND", "TOKEN"]);
    // What the emulator keeps is the cloud itself.
    let mut left = vec![case.path(".")];
    while let Some(path) = left.pop() {
        if path.ends_with("cloud") {
            continue;
        }
        if path.is_dir() {
            left.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            assert!(!text.contains("canary"), "{}", path.display());
        }
    }
    case.edit("stead.yaml", "A: two", "exclusive: true, A: two");
    let plan = case.ok("plan");
    plan.says(&["env_vars.HAND", "(removed)"]);
    assert!(!plan.all().contains("canary"), "{}", plan.all());
    case.ok("apply --yes");
    assert_eq!(keys(), ["A", "TOKEN"]);
    case.ok("plan").says(&["No changes"]);
}

#[test]
fn an_adoption_keeps_the_foreign_keys_of_an_open_map() {
    const STACK: &str = "stead: 1
stack: story
vars: { word: { type: secret, from_file: ./word } }
project: { p: {} }
app: { web: { type: web, image: nginx, port: 80, env_vars: { A: one, TOKEN: $vars.word } } }
";
    let case = Case::new().file("stead.yaml", STACK).file("word", "s3cret").emulator();
    case.ok("apply --yes");
    let app = case.cloud().list("/api/v1/apps/services")[0]["id"].as_str().unwrap().to_owned();
    let by_hand = json!({ "env_vars": { "A": "one", "TOKEN": "s3cret", "HAND": "canary-of-hers" } });
    case.cloud().mutate("app", &app, &by_hand);
    let project = case.cloud().list("/api/v1/projects").into_iter().find(|one| one["name"] == "p").unwrap();
    // Nobody has begun a ledger: no key makes a fingerprint of anything.
    std::fs::remove_dir_all(case.path(".stead")).unwrap();
    case.edit("stead.yaml", "A: one", "A: two");
    let adopt = format!("--adopt project.p={} --adopt app.web={app}", project["id"].as_str().unwrap());
    case.ok(&format!("plan -o a.plan {adopt}"));
    assert!(!std::fs::read_to_string(case.path("a.plan")).unwrap().contains("canary"));
    case.ok("apply a.plan");
    let found = case.cloud().control("GET", &format!("/api/v1/apps/services/{app}"), &json!(null));
    let wanted = json!({ "A": "two", "TOKEN": "s3cret", "HAND": "canary-of-hers" });
    assert_eq!(found["data"]["env_vars"], wanted);
    no_changes(&case);
}

#[test]
fn ids_of_other_resources_have_names_and_do_not_split_a_group() {
    let stack = "stead: 1\nstack: shop\nvpc: { main: { cidr: 10.1.0.0/16 } }\nvm:\n  web:\n    for_each: [a, b, c]\n    template: ubuntu-24.04\n    plan: std-1c-1g\n    vpc: $vpc.main\nvolume:\n  data:\n    for_each: [a, b, c]\n    size: 10\n    vm: ${vm.web[each.key]}\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    case.edit("stead.yaml", "vm: ${vm.web[each.key]}", "vm: null");
    // Each volume is detached from its own VM.
    let plan = case.ok("plan");
    plan.says(&["volume.data (3 instances)", "vm.web.{key} → (removed)"]);
    assert!(!plan.all().contains("volume.data.b  "), "{}", plan.all());
    case.edit("stead.yaml", "vm: null", "vm: ${vm.web[each.key]}");
    case.edit("stead.yaml", "size: 10", "size: 20");
    let verbose = case.ok("plan -v").all();
    let line =
        verbose.lines().find(|line| line.contains("vm.web.a (")).unwrap_or_else(|| panic!("{verbose}"));
    assert!(line.contains(")  unchanged"), "{verbose}");
}

#[test]
fn removing_a_block_does_not_resolve_its_drift() {
    let stack =
        "stead: 1\nstack: shop\nproject:\n  home: { description: ours }\n  other: { description: ours }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    let projects = case.cloud().list("/api/v1/projects");
    let home =
        projects.iter().find(|one| one["name"] == "home").unwrap()["id"].as_str().unwrap().to_owned();
    case.cloud().mutate("project", &home, &json!({"description": "theirs"}));
    case.fails(3, "drift --exit-code").says(&["project.home.description", "ours", "theirs"]);
    case.edit("stead.yaml", "  home: { description: ours }\n", "");
    let checked = case.fails(3, "drift --exit-code");
    checked.says(&["1 difference", "project.home.description", "ends with the object"]);
    assert!(!checked.all().contains("resolved, was"), "{}", checked.all());
    case.ok("apply --yes --allow-deletes");
    case.ok("drift --exit-code").says(&["no drift"]);
}

#[test]
fn an_update_leaves_alone_what_nothing_can_set_back_and_does_not_say_that_it_was_sent() {
    let stack = |link: &str| {
        format!(
            "stead: 1\nstack: s\nvm: {{ web: {{ template: ubuntu-24.04, plan: std-1c-1g }} }}\nvolume: {{ data: {{ size: 27{link} }} }}\n"
        )
    };
    let case = Case::new().file("stead.yaml", stack("")).emulator();
    case.ok("apply --yes");
    let id = case.cloud().list("/api/v1/volumes")[0]["id"].as_str().unwrap().to_owned();
    case.cloud().mutate("volume", &id, &json!({ "size": 77 }));
    case.write("stead.yaml", stack(", vm: $vm.web"));
    let drift = "≠ volume.data.size  27 → 77  cannot be reverted";
    case.ok("plan").says(&[drift, "~ volume.data  update in place"]);
    case.ok("apply --yes").says(&["Applied: 1 done"]);
    let after = case.ok("plan");
    after.says(&[drift, "No changes to make."]);
    assert!(!after.stdout.contains("does not keep"), "{}", after.stdout);
}

/// An attribute, or a key of a map, that is `null` has no value: it is neither sent nor recorded, and a key that somebody set is
/// removed.
#[test]
fn what_is_null_is_absent() {
    let stack = "stead: 1\nstack: a\n\
        app: { x: { name: x, type: worker, image: \"x:1\", instances: null, description: null, env_vars: { A: null, B: \"2\" } } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    let settled = || {
        let plan = case.ok("plan --exit-code");
        assert!(plan.stdout.contains("No changes") && !plan.stdout.contains("ledger"), "{}", plan.stdout);
    };
    settled();
    let id = case.cloud().list("/api/v1/apps/services")[0]["id"].as_str().unwrap().to_owned();
    let variables = || {
        let live = case.cloud().control("GET", &format!("/api/v1/apps/services/{id}"), &json!(null));
        live.to_string()
    };
    let shows = |wanted: &str, unwanted: &str| {
        let live = variables();
        assert!(live.contains(wanted) && !live.contains(unwanted), "{live}");
    };
    shows("\"B\":\"2\"", "\"A\":");
    case.cloud().mutate("app", &id, &json!({ "env_vars": { "A": "9", "B": "2" } }));
    case.fails(2, "plan --exit-code").says(&["env_vars.A  9 → (removed)"]);
    case.ok("apply --yes");
    shows("\"B\":\"2\"", "\"A\":");
    case.edit("stead.yaml", "B: \"2\"", "B: null");
    case.ok("apply --yes");
    shows("", "\"B\":");
    settled();
}
