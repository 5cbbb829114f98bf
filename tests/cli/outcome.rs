//! Exit codes and final output of commands: refusals, rollouts, secrets in delivery, commands to copy.
#![allow(clippy::disallowed_methods, reason = "tests drive real processes")]

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::case::{Case, Run};

/// Short waiting bounds: an emulator on this machine shows every effect at once.
const BOUNDS: &str = "--effect-bound 100ms --listing-bound 100ms";

const VOLUME: &str = "stead: 1\nstack: story\nvolume: { data: { size: 20 } }\n";

#[test]
fn interrupted_deletions_are_retried_while_the_ledger_stays_locked() {
    let keys: Vec<String> = (0..40).map(|n| format!("k{n}")).collect();
    let volumes = format!("volume: {{ v: {{ for_each: [{}], size: 10 }} }}\n", keys.join(", "));
    let case = Case::new()
        .file("stead.yaml", format!("stead: 1\nstack: story\n{volumes}"))
        .emulator_with(&["--no-limiter"]);
    case.ok("apply --yes");
    case.cloud().faults(&["DELETE *=503:30%"]);
    let run = case.run(&format!("destroy --yes --confirm story {BOUNDS}"));
    assert!(!run.all().contains("Another process"), "{}", run.all());
    assert_ne!(run.code, 8, "{}", run.all());
}

#[test]
fn each_error_status_has_its_own_explanation() {
    let case = Case::new().file("stead.yaml", VOLUME).emulator();
    for (fault, words) in [
        ("POST /volumes=503", &["✗ volume.data  503", "has no room for this at", "then apply"]),
        ("POST /volumes=500", &["✗ volume.data  500", "An error occurred inside the", "then apply"]),
    ] {
        case.cloud().faults(&[fault]);
        let run = case.fails(1, &format!("apply --yes {BOUNDS}"));
        assert!(!run.all().contains("could not be reached"), "{}", run.all());
        let told = run.all().replace("x  volume.data", "✗ volume.data").replace('\n', " ");
        let told: Vec<&str> = told.split_whitespace().collect();
        for word in words {
            let word: Vec<&str> = word.split_whitespace().collect();
            assert!(told.windows(word.len()).any(|window| window == word), "{word:?} in {}", run.all());
        }
    }
    case.cloud().faults(&[]);
    let gone = "do start vm:0e8de2a1-8f0c-4a8e-8f55-000000000000";
    let run = case.run(gone);
    assert_eq!(run.code, 1, "{}", run.all());
    assert!(!run.all().contains("Plan again"), "{}", run.all());
    run.says(&["there is no vm"]);
}

#[test]
fn a_rate_limited_apply_reports_the_retries_and_gives_up_in_time() {
    let case = Case::new().file("stead.yaml", VOLUME).emulator();
    case.cloud().faults(&["POST /volumes=429:2"]);
    let run = case.ok("apply --yes --output ndjson");
    let lines: Vec<Value> = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let retried =
        lines.iter().find(|line| line["event"] == "retrying").unwrap_or_else(|| panic!("{}", run.stdout));
    assert!(retried["text"].as_str().unwrap().contains("POST /api/v1/volumes"), "{retried}");
    case.edit("stead.yaml", "size: 20", "size: 30");
    case.cloud().faults(&["PATCH *=429:2"]);
    case.ok("apply --yes").says(&["rate limited"]);
}

/// Applies an app on an emulator whose rollouts take seconds.
fn app() -> Case {
    let app = "app: { web: { type: web, image: nginx, port: 8080, env_vars: { A: one } } }\n";
    let case = Case::new()
        .file("stead.yaml", format!("stead: 1\nstack: story\nproject: {{ shop: {{}} }}\n{app}"))
        .emulator_with(&["--speed", "12"]);
    case.ok("apply --yes");
    case.edit("stead.yaml", "A: one", "A: two");
    case
}

fn deployments(case: &Case) -> Vec<Value> {
    let app = case.cloud().list("/api/v1/apps/services")[0]["id"].as_str().unwrap().to_owned();
    case.cloud().list(&format!("/api/v1/apps/services/{app}/deployments"))
}

fn begun(case: &Case, args: &str) -> Child {
    case.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for a change of the app, and returns the deployment that it starts.
fn second(case: &Case) -> String {
    let changes = |line: &String| line.starts_with("PATCH /api/v1/apps/services/");
    while !case.cloud().mutations_since(0).iter().any(changes) {
        std::thread::yield_now();
    }
    let all = deployments(case);
    assert!(all.len() > 1, "{all:?}");
    all[0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn an_update_of_an_app_is_done_when_its_deployment_is_live() {
    let case = app();
    case.ok("apply --yes").says(&["waiting, deployment", "app.web", "updated"]);
    let all = deployments(&case);
    assert_eq!((all.len(), &all[0]["status"]), (2, &json!("live")));
    case.ok("plan").says(&["No changes"]);
}

#[test]
fn a_database_link_is_done_when_its_deployment_is_live() {
    let text = |links: &str| {
        format!(
            "stead: 1\nstack: story\ndatabase: {{ main: {{ plan: pg-1c-2g }}, other: {{ plan: pg-1c-2g }} }}\n\
             app: {{ web: {{ type: web, image: nginx, port: 8080{links} }} }}\n"
        )
    };
    let case = Case::new().file("stead.yaml", text("")).emulator_with(&["--speed", "20"]);
    case.ok(&format!("apply --yes {BOUNDS}"));
    assert_eq!(deployments(&case).len(), 1);
    case.write("stead.yaml", text(", databases: [$database.main, $database.other]"));
    case.ok(&format!("apply --yes {BOUNDS}")).says(&["waiting, deployment"]);
    let all = deployments(&case);
    let live = all.iter().filter(|one| one["status"] == "live").count();
    assert_eq!((all.len(), live), (3, 1), "each link begins one: {all:?}");
    assert!(all.iter().all(|one| one["status"] == "live" || one["status"] == "superseded"), "{all:?}");
    // An unlinked app is deployed, too; one that goes is not waited for.
    case.write("stead.yaml", text(""));
    case.ok(&format!("apply --yes {BOUNDS}")).says(&["waiting, deployment"]);
    assert!(deployments(&case).iter().any(|one| one["status"] == "live"));
    case.ok("plan").says(&["No changes"]);
}

#[test]
fn a_plan_that_cannot_be_saved_prints_no_document() {
    let case = Case::example("minimal").emulator().file("file", "");
    for form in ["json", "ndjson"] {
        let run = case.fails(1, &format!("plan -o file/x.plan --output {form}"));
        assert!(!run.stdout.contains("fingerprint"), "{}", run.stdout);
    }
    let lines = case.ok("plan --output ndjson").stdout;
    let events: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (&events[0]["event"], &events.last().unwrap()["event"]),
        (&json!("plan"), &json!("outcome"))
    );
    assert_eq!(events.iter().filter(|event| event["event"] == "change").count(), 2);
}

#[test]
fn a_failed_deployment_fails_every_apply_until_one_is_live() {
    let case = app();
    let apply = begun(&case, "apply --yes");
    let id = second(&case);
    case.cloud().mutate("deployment", &id, &json!({ "status": "failed" }));
    let run = Run::of(&apply.wait_with_output().unwrap());
    assert_eq!(run.code, 1, "{}", run.all());
    let words: Vec<&str> = run.stdout.split_whitespace().collect();
    assert!(words.join(" ").contains("`stead do redeploy app.web` retries it"), "{}", run.all());
    run.says(&["app.web", &id, "failed"]);
    // The service shows the new value, and yet it does not run.
    case.ok("plan").says(&["app.web", "no apply has seen it ready yet"]);
    case.fails(1, "apply --yes").says(&[&id, "failed"]);
    case.ok("do redeploy app.web");
    case.ok("apply --yes");
    case.ok("plan").says(&["No changes"]);
}

#[test]
fn a_killed_apply_leaves_its_deployment_to_be_checked() {
    let case = app();
    let mut apply = begun(&case, "apply --yes");
    let id = second(&case);
    apply.kill().unwrap();
    apply.wait().unwrap();
    case.cloud().mutate("deployment", &id, &json!({ "status": "failed" }));
    case.fails(1, &format!("apply --yes {BOUNDS}")).says(&[&id, "failed"]);
}

#[test]
fn the_suggested_next_command_can_be_copied() {
    let case = Case::new()
        .file("my stack/stead.yaml", format!("{VOLUME}environments: {{ prod: {{}} }}\n"))
        .emulator();
    case.cloud().faults(&["POST /volumes=500"]);
    let flags = ["-C", "my stack", "-e", "prod", "--backend", "file:books"];
    let run = |words: &[&str]| Run::of(&case.command("").args(flags).args(words).output().unwrap());
    let bounds: Vec<&str> = BOUNDS.split(' ').collect();
    let failed = run(&[&["apply", "--yes"], &*bounds].concat());
    failed.says(&["next: fix what failed, then stead -C 'my stack' -e prod --backend file:books apply"]);
    run(&["plan"]).says(&["next: stead -C 'my stack' -e prod --backend file:books apply"]);
    case.cloud().faults(&[]);
    assert_eq!(run(&[&["apply", "--yes"], &*bounds].concat()).code, 0);
    let nobody = run(&["destroy"]);
    assert_eq!(nobody.code, 64);
    nobody.says(&["stead -C 'my stack' -e prod --backend file:books destroy --yes --confirm story"]);
    let unnamed = run(&["destroy", "--yes"]);
    assert_eq!(unnamed.code, 64);
    unnamed.says(&["destroys nothing", "destroy --yes --confirm story"]);
    case.cloud().faults(&["DELETE *=500"]);
    let stays = run(&[&["destroy", "--yes", "--confirm", "story"], &*bounds].concat());
    assert!(!stays.all().contains("Applied"), "{}", stays.all());
    stays.says(&[
        "then stead -C 'my stack' -e prod --backend file:books destroy --yes --confirm story: it deletes",
    ]);
    case.cloud().faults(&[]);
    run(&["destroy", "--yes", "--confirm", "story"]).says(&["Destroyed: 1 done"]);
}

#[test]
fn a_partly_applied_stack_is_not_reported_as_never_applied() {
    let two = "volume: { a: { size: 10 }, b: { size: 20, depends_on: [volume.a] } }\n";
    let case = Case::new().file("stead.yaml", format!("stead: 1\nstack: story\n{two}")).emulator();
    case.ok("plan").says(&["never applied"]);
    case.cloud().faults(&["POST /volumes=500:6"]);
    case.run(&format!("apply --yes {BOUNDS}"));
    let run = case.ok("plan");
    run.says(&["partly applied"]);
    assert!(!run.all().contains("never applied"), "{}", run.all());
    case.cloud().faults(&[]);
    case.ok("apply --yes");
    case.edit("stead.yaml", "size: 10", "size: 11");
    case.ok("plan").says(&["last applied"]);
}

#[test]
fn json_output_is_a_document_for_every_outcome() {
    let case = Case::new().file("stead.yaml", VOLUME).emulator();
    for (code, args) in [
        (64, "apply --output json"),
        (64, "destroy --output json"),
        (64, "destroy --yes --confirm other --output json"),
        (5, &*format!("apply --expect {} --output json", "0".repeat(64))),
        (64, "apply --expect 0000-0000 --output json"),
        (64, "plan --output=json --frobnicate"),
        (1, "apply none.plan --output json"),
        (64, "apply --override none --reason x --yes --output json"),
    ] {
        let json = case.fails(code, args).json();
        assert_eq!(
            (&json["error"]["exit"], json["schema_version"].is_u64()),
            (&json!(code), true),
            "{args}"
        );
        assert!(!json["error"]["message"].as_str().unwrap().is_empty(), "{args}: {json}");
        let lines = case.fails(code, &args.replace("json", "ndjson")).stdout;
        let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
        assert_eq!(last["event"], "error", "{args}");
    }
    case.edit("stead.yaml", "size: 20", "sise: 20");
    let json = case.fails(1, "apply --yes --output json").json();
    assert!(json["error"].is_object() && json["diagnostics"].is_array(), "{json}");
}

#[test]
fn a_second_interrupt_reports_the_requests_in_flight() {
    let case = Case::new().file("stead.yaml", VOLUME).emulator();
    case.cloud().faults(&["POST /volumes=delay-20s:1"]);
    let mut apply = begun(&case, "apply --yes --output json");
    let pid = apply.id().to_string();
    while case.cloud().mutations_since(0).is_empty() {
        std::thread::yield_now();
    }
    let stop = || Command::new("kill").args(["-INT", &pid]).status().unwrap();
    let mut told = BufReader::new(apply.stderr.take().unwrap());
    let mut said = String::new();
    stop();
    while !said.contains("Press Ctrl-C again to stop at once") {
        assert!(told.read_line(&mut said).unwrap() > 0, "{said}");
    }
    stop();
    told.read_to_string(&mut said).unwrap();
    let run = Run { stderr: said, ..Run::of(&apply.wait_with_output().unwrap()) };
    assert_eq!(run.code, 130, "{}", run.all());
    assert_eq!(run.json()["error"]["exit"], 130);
    run.says(&["the next run determines their outcome", "Continue with: stead apply"]);
}

#[test]
fn an_expected_fingerprint_counts_as_approval() {
    let case = Case::new().file("stead.yaml", VOLUME).emulator();
    let fingerprint = case.ok("plan --output json").json()["fingerprint"].as_str().unwrap().to_owned();
    case.fails(64, "apply --expect fingerprint").says(&["64 hexadecimal digits"]);
    let plain = fingerprint.to_uppercase();
    case.ok(&format!("apply --expect {plain}"));
    let before = case.cloud().last();
    case.ok(&format!("apply --expect {fingerprint}"))
        .says(&["Applied already: run 1, ", "Nothing was sent."]);
    let again = case.ok(&format!("apply --expect {fingerprint} --output ndjson"));
    let last: Value = serde_json::from_str(again.stdout.trim()).unwrap();
    assert_eq!((&last["event"], &last["exit"]), (&"outcome".into(), &0.into()), "{}", again.stdout);
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new());
}

#[test]
fn a_plan_is_not_called_applied_after_something_changed() {
    let about = |text: &str| {
        format!("stead: 1\nstack: story\nproject: {{ home: {{ name: home, description: {text} }} }}\n")
    };
    let case = Case::new().file("stead.yaml", about("one")).emulator();
    let fingerprint = case.ok("plan --output json").json()["fingerprint"].as_str().unwrap().to_owned();
    let again = format!("apply --expect {fingerprint}");
    case.ok(&again);
    let projects = case.cloud().list("/api/v1/projects");
    let id = projects.iter().find(|one| one["name"] == "home").unwrap()["id"].as_str().unwrap();
    // A live object that changed is something to do.
    case.cloud().mutate("project", id, &json!({ "description": "two" }));
    let drifted = case.fails(5, &again);
    assert!(!drifted.all().contains("Applied already"), "{}", drifted.all());
    // The configuration changed, and so did the object: nothing is to do, and the plan is not the one that was applied.
    case.write("stead.yaml", about("two"));
    let other = case.fails(5, &again);
    assert!(!other.all().contains("Applied already"), "{}", other.all());
    // Another run was the last one.
    case.write("stead.yaml", about("one"));
    case.ok("apply --yes");
    case.fails(5, &again).says(&["nothing is left to do"]);
}

#[test]
fn an_ambiguous_intent_is_resolved_by_a_command_that_can_be_copied() {
    let flags = ["--fail", "POST /volumes=reset-after:1"];
    let case = Case::new().file("here/stead.yaml", VOLUME).emulator_with(&flags);
    let run = case.fails(1, &format!("apply -C here --yes --strict {BOUNDS}"));
    assert!(!run.stdout.contains("volume.data  volume.data"), "{}", run.stdout);
    run.says(&["next: resolve the ambiguous requests, stead -C here resolve, then stead -C here apply"]);
    let listed = case.ok("resolve -C here --output json").json();
    let (handle, id) = (&listed["questions"][0]["handle"], &listed["questions"][0]["candidates"][0]);
    let answer = format!("resolve -C here {} adopt {}", handle.as_str().unwrap(), id.as_str().unwrap());
    case.ok("resolve -C here")
        .says(&[&format!("stead {}", answer.replace("resolve -C here", "-C here resolve"))]);
    assert_eq!(case.ok(&format!("{answer} --output json")).json()["answer"], "adopt");
    case.ok("apply -C here --yes");
}

/// What was due is computed by the service's time, like what is due: the machine's clock can be another.
#[test]
fn what_was_due_is_what_the_plan_said_by_the_time_of_the_service() {
    let volume = |stack: &str, size: u32| {
        format!(
            "stead: 1\nstack: {stack}\nvolume: {{ d: {{ name: {stack}, size: {size}, billing_type: subscription }} }}\n"
        )
    };
    let case = Case::new().file(".git/HEAD", "ref: refs/heads/main\n").emulator_with(&["--speed", "1"]);
    for stack in ["a", "b"] {
        case.write(&format!("{stack}/stead.yaml"), volume(stack, 50));
    }
    case.ok("apply --all --yes");
    case.cloud().control("POST", "/_emulator/clock", &serde_json::json!({ "advance_seconds": 864_000 }));
    for stack in ["a", "b"] {
        case.write(&format!("{stack}/stead.yaml"), volume(stack, 60));
    }
    let due = |text: &str, label: &str| {
        let at = text.find(label).unwrap_or_else(|| panic!("no {label} in {text}"));
        let words: Vec<&str> = text[at + label.len()..].split_whitespace().take(4).collect();
        words.join(" ")
    };
    let applied = case.ok("apply -C a --yes --report md=a.md");
    let planned = due(&applied.stdout, "due now: ");
    assert_eq!(due(&applied.stdout, "was due: "), planned, "{}", applied.stdout);
    let md = std::fs::read_to_string(case.path("a.md")).unwrap();
    assert!(due(&md, "was due: ").starts_with(&planned) && !md.contains("due now"), "{md}");
    let all = case.ok("apply --all --yes --report md=b.md --report html=b.html");
    assert_eq!(due(&all.stdout, "was due: "), planned, "{}", all.stdout);
    for file in ["b.md", "b.html"] {
        let report = std::fs::read_to_string(case.path(file)).unwrap();
        let visible = report.split("<script").next().unwrap();
        assert!(visible.contains("was due: ") && !visible.contains("due now"), "{visible}");
    }
}
