//! What the API key may do is compared with a plan: a note on `plan`, a refusal before the first request on `apply`.

use serde_json::{Value, json};

use crate::case::{Case, Run};

const STACK: &str = "stead: 1\nstack: shop\nvpc:\n  main: { cidr: 10.1.0.0/16 }\nssh_key:\n  ops: { public_key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEr2LkYvnUiqdWE5pV9tiaFmvzJBlXCl3tY0pVzXyTn0 ops }\n";

/// Creates a key with a role that exists in every account; returns its secret.
fn key(case: &Case, role: &str, expires_at: Option<&str>) -> String {
    let roles = case.cloud().list("/api/v1/roles");
    let role = roles.iter().find(|row| row["slug"] == role).unwrap();
    key_with(case, &role["id"], expires_at)
}

fn key_with(case: &Case, role: &Value, expires_at: Option<&str>) -> String {
    let mut body = json!({"name": "limited", "role_id": role});
    if let Some(at) = expires_at {
        body["expires_at"] = at.into();
    }
    let made = case.cloud().control("POST", "/api/v1/api-keys", &body);
    made["data"]["secret"].as_str().unwrap().to_owned()
}

fn run_with(case: &Case, key: &str, args: &str) -> Run {
    Run::of(&case.command(args).env("STEAD_API_KEY", key).output().unwrap())
}

#[test]
fn a_missing_right_is_a_note_on_a_plan_and_refuses_an_apply() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    let viewer = key(&case, "viewer", None);
    let plan = run_with(&case, &viewer, "plan");
    assert_eq!(plan.code, 0, "{}", plan.all());
    plan.says(&["the API key lacks the right `networks:write` in the project", "create vpc.main"]);
    plan.says(&["next: stead apply  # with a key that has the missing right"]);
    let last = case.cloud().last();
    let refused = run_with(&case, &viewer, "apply --yes");
    assert_eq!(refused.code, 7, "{}", refused.all());
    refused.says(&["the API key lacks the right", "networks:write", "nothing was sent", "whoami"]);
    assert!(refused.all().contains("ssh_keys:write"), "{}", refused.all());
    assert_eq!(case.cloud().mutations_since(last), Vec::<String>::new());
    // The review of a plan that a read-only key made holds for the key that applies it.
    let reviewed = run_with(&case, &viewer, "plan --output json").json();
    assert!(reviewed["notes"].as_array().unwrap().iter().any(|note| note["code"] == "missing_right"));
    let fingerprint = reviewed["fingerprint"].as_str().unwrap().to_owned();
    case.ok(&format!("apply --expect {fingerprint}")).says(&["Applied: 2 done"]);
    assert!(!case.ok("plan").all().contains("lacks the right"));
}

#[test]
fn a_saved_plan_of_another_key_is_compared_with_the_key_that_applies_it() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    let viewer = key(&case, "viewer", None);
    case.ok("apply --yes");
    case.edit("stead.yaml", "cidr: 10.1.0.0/16", "cidr: 10.2.0.0/16");
    let saved = run_with(&case, &viewer, "plan -o next.plan");
    assert_eq!(saved.code, 0, "{}", saved.all());
    let last = case.cloud().last();
    let refused = run_with(&case, &viewer, "apply next.plan");
    assert_eq!(refused.code, 7, "{}", refused.all());
    refused.says(&["networks:write", "nothing was sent"]);
    assert_eq!(case.cloud().mutations_since(last), Vec::<String>::new());
    case.ok("apply next.plan").says(&["Applied"]);
    let refused = run_with(&case, &viewer, "destroy --yes --confirm shop");
    assert_eq!(refused.code, 7, "{}", refused.all());
}

#[test]
fn what_a_key_may_not_see_is_not_taken_for_gone() {
    let stack = "stead: 1\nstack: shop\nproject: { own: {} }\nvpc: { main: { cidr: 10.1.0.0/16 } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    // A key with every right, but with access to the default project only.
    let roles = case.cloud().list("/api/v1/roles");
    let owner = roles.iter().find(|row| row["slug"] == "owner").unwrap()["id"].clone();
    let made =
        case.cloud().control("POST", "/api/v1/api-keys", &json!({"name": "limited", "role_id": owner}));
    let projects = case.cloud().list("/api/v1/projects");
    let default = projects.iter().find(|row| row["is_default"] == true).unwrap()["id"].clone();
    let members = format!("/api/v1/projects/{}/members", default.as_str().unwrap());
    case.cloud().control("POST", &members, &json!({"api_key_id": made["data"]["id"], "role_id": owner}));
    let limited = made["data"]["secret"].as_str().unwrap();
    let words = ["`networks:read` in the project", "not known whether vpc.main is gone"];
    run_with(&case, limited, "plan").says(&words);
    for command in ["apply --yes", "destroy --yes --confirm shop"] {
        let refused = run_with(&case, limited, command);
        assert_eq!(refused.code, 7, "{command}: {}", refused.all());
        refused.says(&["the API key lacks the right", "nothing was sent"]);
    }
    // A drift check reports neither drift nor its absence.
    for command in ["drift --exit-code --report md=drift.md --report prom=drift.prom", "drift --all"] {
        let checked = run_with(&case, limited, command);
        assert_eq!(checked.code, 7, "{command}: {}", checked.all());
        checked.says(&words);
        let said = checked.all();
        assert!(!said.contains("no drift") && !said.contains("recreates"), "{command}: {said}");
    }
    let written = |name: &str| std::fs::read_to_string(case.path(name)).unwrap();
    assert!(written("drift.md").contains("1 object not readable"), "{}", written("drift.md"));
    let metrics = written("drift.prom");
    assert!(
        metrics.contains("class=\"not_readable\"} 1") && metrics.contains("class=\"gone\"} 0"),
        "{metrics}"
    );
    assert_eq!(case.ok("ls --output json").json()["resources"].as_array().unwrap().len(), 2);
    case.ok("plan").says(&["No changes"]);
    case.ok("drift --exit-code").says(&["no drift"]);
}

#[test]
fn a_right_that_is_not_known_passes_and_the_output_says_so() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    // A role that may not list keys: the service does not show what the key may do.
    let permissions =
        ["projects:read", "networks:read", "networks:write", "ssh_keys:read", "ssh_keys:write"];
    let role =
        case.cloud().control("POST", "/api/v1/roles", &json!({"name": "net", "permissions": permissions}));
    let hidden = key_with(&case, &role["data"]["id"], None);
    let plan = run_with(&case, &hidden, "plan");
    assert_eq!(plan.code, 0, "{}", plan.all());
    plan.says(&["does not show whether the API key has", "`networks:read`", "the service decides"]);
    let applied = run_with(&case, &hidden, "apply --yes");
    assert_eq!(applied.code, 0, "{}", applied.all());
    applied.says(&["does not show whether the API key has", "Applied: 2 done"]);
    let vpc = case.cloud().list("/api/v1/vpcs")[0]["id"].clone();
    case.cloud().delete(&format!("/api/v1/vpcs/{}", vpc.as_str().unwrap()));
    let checked = run_with(&case, &hidden, "drift");
    assert_eq!(checked.code, 0, "{}", checked.all());
    checked.says(&[
        "vpc.main",
        "gone",
        "does not show whether the API key has",
        "may not read is shown as gone",
    ]);
}

#[test]
fn a_key_that_expires_too_early_is_refused() {
    let database = "stead: 1\nstack: data\ndatabase:\n  main: { plan: pg-1c-2g }\n";
    let case = Case::new().file("stead.yaml", database).emulator_with(&["--speed", "1"]);
    let soon = (jiff::Timestamp::now() + jiff::SignedDuration::from_secs(30)).to_string();
    let expiring = key(&case, "owner", Some(&soon));
    run_with(&case, &expiring, "plan").says(&[
        "the API key expires at",
        "before the estimated time",
        "for longer",
    ]);
    let last = case.cloud().last();
    let refused = run_with(&case, &expiring, "apply --yes");
    assert_eq!(refused.code, 7, "{}", refused.all());
    refused.says(&["the API key expires at", "nothing was sent"]);
    assert_eq!(case.cloud().mutations_since(last), Vec::<String>::new());
    let later = (jiff::Timestamp::now() + jiff::SignedDuration::from_hours(2)).to_string();
    let valid = run_with(&case, &key(&case, "owner", Some(&later)), "plan");
    assert!(!valid.all().contains("expires at"), "{}", valid.all());
}

/// A key's rights in a project that does not exist yet cannot be shown: the note names the step, and no way to show them.
#[test]
fn an_unknown_right_in_a_new_project_names_its_step() {
    let stack = "stead: 1\nstack: tz\nproject:\n  p: { name: tzp, members: { m: { api_key: $api_key.k, role: viewer } } }\napi_key:\n  k: { name: tzk, role: viewer, expires_at: \"2027-06-01T00:00:00Z\", deliver_secret: { file: ./k } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    let plan = run_with(&case, &key(&case, "developer", None), "plan");
    plan.says(&[
        "does not show whether the API key has the right `members:write` in the project",
        "project.p, which is needed to create project.p.members.m",
    ]);
    assert!(!plan.all().contains("may list keys and roles"), "{}", plan.all());
}

/// The service decides when a key expires, and its clock is not that of the machine.
#[test]
fn the_expiry_of_a_key_is_compared_with_the_clock_of_the_service() {
    let database = "stead: 1\nstack: data\ndatabase:\n  main: { plan: pg-1c-2g }\n";
    let case = Case::new().file("stead.yaml", database).emulator_with(&["--speed", "1"]);
    case.cloud().control("POST", "/_emulator/clock", &serde_json::json!({ "advance_seconds": 86_400 }));
    let at = |seconds: i64| {
        (jiff::Timestamp::now() + jiff::SignedDuration::from_secs(86_400 + seconds)).to_string()
    };
    let expiring = key(&case, "owner", Some(&at(30)));
    run_with(&case, &expiring, "plan").says(&["the API key expires at", "before the estimated time"]);
    let last = case.cloud().last();
    let refused = run_with(&case, &expiring, "apply --yes");
    assert_eq!(refused.code, 7, "{}", refused.all());
    assert_eq!(case.cloud().mutations_since(last), Vec::<String>::new());
    let valid = run_with(&case, &key(&case, "owner", Some(&at(7_200))), "plan");
    assert!(!valid.all().contains("expires at"), "{}", valid.all());
}

#[test]
fn all_units_are_compared_before_the_first_request_of_any() {
    let case = Case::new().emulator();
    case.write(".git/HEAD", "ref: refs/heads/main\n");
    case.write("a/stead.yaml", "stead: 1\nstack: a\nvpc:\n  main: { cidr: 10.1.0.0/16 }\n");
    let key_stack = "stead: 1\nstack: b\nrole:\n  ops: { permissions: [\"networks:read\"] }\n";
    case.write("b/stead.yaml", key_stack);
    // It may do all of the first unit, and nothing of the second one.
    let developer = key(&case, "developer", None);
    let plan = run_with(&case, &developer, "plan --all");
    assert_eq!(plan.code, 0, "{}", plan.all());
    plan.says(&["the API key lacks the right `members:write`"]);
    let last = case.cloud().last();
    let refused = run_with(&case, &developer, "apply --all --yes");
    assert_eq!(refused.code, 7, "{}", refused.all());
    refused.says(&[
        "b/default: the API key lacks the right `members:write`",
        "create role.ops",
        "nothing was sent",
    ]);
    assert_eq!(case.cloud().mutations_since(last), Vec::<String>::new());
    case.ok("apply --all --yes");
}

#[test]
fn a_kind_that_a_key_may_not_list_fails_only_the_units_that_need_it() {
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("a/stead.yaml", "stead: 1\nstack: a\nvpc: { main: { cidr: 10.1.0.0/16 } }\n")
        .file("b/stead.yaml", "stead: 1\nstack: b\napi_key: { ci: { name: ci, role: viewer, deliver_secret: { file: secrets/ci } } }\n")
        .emulator();
    let body = json!({"name": "networks", "permissions": ["networks:read", "projects:read"]});
    let made = case.cloud().control("POST", "/api/v1/roles", &body);
    let limited = key_with(&case, &made["data"]["id"], None);
    let alone = run_with(&case, &limited, "plan -C a");
    assert_eq!(alone.code, 0, "{}", alone.all());
    let plan = run_with(&case, &limited, "plan --all --output json");
    assert_eq!(plan.code, 7, "{}", plan.all());
    let document = plan.json();
    for unit in document["units"].as_array().unwrap() {
        let (status, exit) = if unit["stack"] == "a" { ("changed", 0) } else { ("failed", 7) };
        assert_eq!((unit["status"].as_str(), unit["exit"].as_i64()), (Some(status), Some(exit)), "{unit}");
    }
}

#[test]
fn each_step_names_the_right_that_it_needs() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    let plan = case.ok("plan --output json").json();
    let rights: Vec<&Value> = plan["order"].as_array().unwrap().iter().map(|step| &step["right"]).collect();
    assert!(rights.contains(&&json!("networks:write")), "{plan:#}");
    assert!(rights.iter().all(|right| right.is_string()), "{plan:#}");
    case.ok("plan -vv").says(&["STEPS", "create vpc.main", "needs networks:write"]);
}
