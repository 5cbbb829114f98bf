//! Several changes of one app in one apply: they are sent one after the other, and only the last rollout is awaited.
#![allow(clippy::disallowed_methods, reason = "tests drive real processes")]

use serde_json::{Value, json};

use crate::case::{Case, Run};
use crate::lying::Liar;

const STACK: &str = "\
stead: 1
stack: s
app:
  ready: { type: web, image: \"x:1\", env_vars: { A: one } }
  built: { type: web, source_dir: app, env_vars: { A: one } }
";

fn change<'p>(plan: &'p Value, address: &str) -> &'p Value {
    plan["changes"].as_array().unwrap().iter().find(|one| one["address"] == address).unwrap()
}

#[test]
fn a_new_image_and_new_variables_of_an_app_are_one_deployment() {
    let case = Case::new().file("stead.yaml", STACK).file("app/main.py", "print(1)").emulator();
    case.ok("apply --yes");
    case.edit("stead.yaml", "x:1", "x:2");
    let alone = case.ok("plan --output json").json()["critical_path"]["seconds"].clone();
    let both = STACK.replace("x:1", "x:2").replace("A: one", "A: two");
    case.write("stead.yaml", both);
    case.write("app/main.py", "print(2)");
    let plan = case.ok("plan --output json").json();
    assert_eq!(plan["critical_path"]["seconds"], alone, "one roll-out's time");
    for (address, causes) in
        [("app.ready", "image and env_vars change"), ("app.built", "source_dir and env_vars change")]
    {
        let effects = change(&plan, address)["effects"].to_string();
        assert!(effects.contains(causes), "{effects}");
        assert_eq!(effects.matches("deploys").count(), 1, "{effects}");
    }
    case.ok("plan").says(&["a new deployment replaces", "env_vars change"]);
    let before = case.cloud().last();
    case.ok("apply --yes");
    let sent = case.cloud().requests();
    for app in case.cloud().list("/api/v1/apps/services") {
        let of_app = format!("/api/v1/apps/services/{}", app["id"].as_str().unwrap());
        let own: Vec<&str> = sent
            .iter()
            .filter(|(n, line, _)| *n > before && line.contains(&of_app))
            .map(|(_, line, _)| line.as_str())
            .collect();
        let changes = |line: &&str| {
            line.starts_with("PATCH ") || line.starts_with("POST ") && line.ends_with("/deployments")
        };
        let first = own.iter().position(changes).unwrap();
        let last = own.iter().rposition(changes).unwrap();
        assert_eq!(own.iter().filter(|line| changes(line)).count(), 2, "{own:?}");
        let waits = |line: &&&str| line.starts_with("GET ") && line.ends_with("/deployments");
        assert_eq!(own[first..last].iter().filter(waits).count(), 0, "{own:?}");
        assert!(own[last..].iter().any(|line| waits(&line)), "{own:?}");
        let deployments = case.cloud().list(&format!("{of_app}/deployments"));
        let states: Vec<&Value> = deployments.iter().map(|one| &one["status"]).collect();
        assert_eq!(states, [&json!("live"), &json!("superseded"), &json!("superseded")]);
    }
    case.ok("plan").says(&["No changes"]);
}

/// Speed at which a rollout that nothing waits for is still in progress when the apply ends.
const SLOWLY: &[&str] = &["--speed", "20"];

/// Returns an app whose creation ignores its start command, so that the same apply sends a call for it.
fn with_ignored_command() -> (Case, Liar) {
    let stack = "stead: 1\nstack: s\napp: { web: { type: web, image: \"x:1\", start_command: run } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator_with(SLOWLY);
    let liar = Liar::before(&case);
    liar.alter(|line, mut body| {
        if line == "POST /api/v1/apps/services" {
            body.as_object_mut().map(|fields| fields.remove("start_command"));
        }
        body
    });
    (case, liar)
}

fn deployments(case: &Case) -> Vec<Value> {
    let apps = case.cloud().list("/api/v1/apps/services");
    let of = |app: &Value| format!("/api/v1/apps/services/{}/deployments", app["id"].as_str().unwrap());
    apps.iter().flat_map(|app| case.cloud().list(&of(app))).collect()
}

#[test]
fn the_deployment_of_the_second_pass_is_waited_for() {
    let (case, liar) = with_ignored_command();
    let run = liar.run(&case, "apply --yes --listing-bound 100ms");
    assert_eq!(run.code, 0, "{}", run.all());
    let all = deployments(&case);
    assert_eq!(all.len(), 2, "the creation's and the call's: {all:?}");
    let is_over = |one: &Value| one["status"] == "live" || one["status"] == "superseded";
    assert!(all[0]["status"] == "live" && all.iter().all(is_over), "{all:?}");
    liar.run(&case, "plan").says(&["No changes"]);
}

#[test]
fn a_deployment_of_the_second_pass_that_fails_fails_the_step() {
    let (case, liar) = with_ignored_command();
    let mut apply = case.command("apply --yes --listing-bound 100ms");
    apply.env("STEAD_API_URL", &liar.url).stdout(std::process::Stdio::piped());
    let mut apply = apply.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let changes = |line: &String| line.starts_with("PATCH /api/v1/apps/services/");
    while !case.cloud().mutations_since(0).iter().any(changes) {
        assert!(apply.try_wait().unwrap().is_none(), "the apply ended without a second pass");
        std::thread::yield_now();
    }
    let all = deployments(&case);
    assert_eq!(all.len(), 2, "the creation's and the call's: {all:?}");
    let id = all[0]["id"].as_str().unwrap().to_owned();
    case.cloud().mutate("deployment", &id, &json!({ "status": "failed" }));
    let run = Run::of(&apply.wait_with_output().unwrap());
    assert_eq!(run.code, 1, "{}", run.all());
    run.says(&["app.web", &id, "failed"]);
    // The ledger says that the step is not done: the next apply asks how the roll-out ended.
    liar.run(&case, "plan").says(&["app.web", "no apply has seen it ready yet"]);
    let run = liar.run(&case, "apply --yes --listing-bound 100ms");
    assert_eq!(run.code, 1, "{}", run.all());
    case.ok("do redeploy app.web");
    assert_eq!(liar.run(&case, "apply --yes").code, 0);
    liar.run(&case, "plan").says(&["No changes"]);
}
