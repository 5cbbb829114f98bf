//! Several changes of one app: back to back, and only the last roll-out is waited for.
#![allow(clippy::disallowed_methods, reason = "tests drive real processes")]

use serde_json::{Value, json};

use crate::case::Case;

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
fn the_image_and_the_variables_of_an_app_are_one_roll_out() {
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
    case.ok("plan").says(&["a new deployment takes the place", "env_vars change"]);
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
