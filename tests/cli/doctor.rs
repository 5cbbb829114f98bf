//! `doctor`: the checks in good and bad surroundings, and `--api` against the emulator, unchanged and behind a proxy
//! that changes its responses.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::case::{Case, Run};
use crate::lying::Liar;

const STACK: &str = "stead: 1\nstack: shop\nenvironments: { prod: { default: true } }\nvpc: { main: { cidr: 10.20.0.0/16 } }\n";

/// Returns the verdict of a check by its name; panics if it did not run.
fn verdict(run: &Run, name: &str) -> String {
    let document = run.json();
    let checks = document["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == name);
    check.unwrap_or_else(|| panic!("no check {name}: {}", run.stdout))["verdict"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn assumption(document: &Value, subject: &str) -> Value {
    let all = document["assumptions"].as_array().unwrap();
    all.iter().find(|row| row["subject"] == subject).unwrap_or_else(|| panic!("no {subject}")).clone()
}

#[test]
fn a_healthy_setup_passes_and_only_gets_are_sent() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    case.ok("apply --yes");
    let before = case.cloud().last();
    let run = case.ok("doctor");
    run.says(&["program", "service", "STEAD_API_KEY", "access", "shop/prod", "ledger", "It is free"]);
    assert!(!run.all().contains(&case.cloud().key), "the key is never shown");
    let told = case.ok("doctor --output json");
    for name in ["service", "key", "access", "stack", "project", "ledger", "lock", "pinned names"] {
        assert_eq!(verdict(&told, name), "ok", "{name}: {}", told.stdout);
    }
    case.run("doctor --api");
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new());
}

#[test]
fn doctor_works_without_a_service_and_with_the_built_in_one() {
    let case = Case::new();
    case.fails(1, "doctor").says(&["No service is configured", "STEAD_API_URL"]);
    let run = Case::new().ok("doctor --cloud local");
    run.says(&["built-in", "access", "There is none in this directory", "stead init"]);
}

#[test]
fn each_problem_is_a_failed_check_with_a_remedy() {
    let case =
        Case::new().file("stead.yaml", "stead: 1\nstack: shop\nvpc: { main: { cidr: 1 }\n").emulator();
    let mut command = case.command("doctor --output json");
    command.env("STEAD_API_KEY", "wrong-key");
    let run = Run::of(&command.output().unwrap());
    assert_eq!(run.code, 1);
    for (name, wanted) in
        [("access", "failed"), ("clock", "skipped"), ("stack", "failed"), ("ledger", "skipped")]
    {
        assert_eq!(verdict(&run, name), wanted, "{name}: {}", run.stdout);
    }
    let document = run.json();
    for check in document["checks"].as_array().unwrap().iter().filter(|check| check["verdict"] == "failed")
    {
        assert!(check["remedy"].is_string(), "{check}");
    }
    assert!(!run.all().contains("wrong-key"));
}

#[test]
fn doctor_fix_repairs_only_what_it_can_repair() {
    let case = Case::new().emulator();
    let folder = case.path(".config/stead");
    fs::create_dir_all(&folder).unwrap();
    let (keys, settings) = (folder.join("credentials.json"), folder.join("settings.toml"));
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for (path, text) in [(&keys, r#"{"schema_version": 1, "keys": []}"#), (&settings, "[profiles.work]\n")]
    {
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o666)).unwrap();
    }
    let run = case.fails(1, "doctor");
    run.says(&[
        "settings",
        "other users can write it",
        "key file",
        "Other users can access",
        "doctor --fix",
    ]);
    assert_eq!((mode(&keys), mode(&settings)), (0o666, 0o666), "looking mends nothing");
    let run = case.ok("doctor --fix");
    run.says(&["is valid", "had mode 0666", "make new ones"]);
    assert_eq!((mode(&keys), mode(&settings)), (0o600, 0o644));
    case.ok("doctor").says(&["readable by you only"]);
    fs::write(&settings, "[profiles.work]\napi_ulr = 'x'\n").unwrap();
    case.fails(1, "doctor --fix").says(&["did you mean `api_url`", "Correct the file"]);
    assert!(
        fs::read_to_string(&settings).unwrap().contains("api_ulr"),
        "what a person wrote is left alone"
    );
}

#[test]
fn the_emulator_conforms_to_the_contract() {
    let case = Case::new().emulator();
    for example in ["shop", "kubernetes", "apps", "databases", "team"] {
        let stack = Case::example(example);
        let mut command = stack.command("apply --yes");
        command.env("STEAD_API_URL", &case.cloud().url).env("STEAD_API_KEY", &case.cloud().key);
        let run = Run::of(&command.output().unwrap());
        assert_eq!(run.code, 0, "{example}: {}", run.all());
    }
    let run = case.run("doctor --api --output json");
    let document = run.json();
    let different: Vec<&Value> = document["assumptions"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["verdict"] == "different")
        .collect();
    assert!(different.is_empty(), "{different:#?}");
    assert_eq!(run.code, 0);
    assert!(document["requests"].as_u64().unwrap() < 300, "{}", document["requests"]);
}

/// Covers differences that a service could have, each with the assumption that detects it.
#[test]
fn a_service_difference_is_reported_and_the_capabilities_are_used() {
    let case = Case::new().file("stead.yaml", STACK).emulator_with(&["--seed", "objects=300"]);
    let liar = Liar::before(&case);
    liar.tell(|line, status, mut body| {
        let limit =
            line.split("limit=").nth(1).and_then(|rest| rest.split('&').next()?.parse::<usize>().ok());
        if limit.is_some_and(|limit| limit > 50) {
            return (400, json!({"error": "Bad Request", "message": "limit is at most 50"}));
        }
        for row in body["data"].as_array_mut().into_iter().flatten() {
            if row.get("ram").is_some() && row.get("price_per_hour").is_some_and(Value::is_string) {
                row["ram"] = "much".into();
            }
        }
        (status, body)
    });
    let through = |args: &str| {
        let mut command = case.command(args);
        Run::of(&command.env("STEAD_API_URL", &liar.url).output().unwrap())
    };
    let refused = through("plan");
    assert_ne!(refused.code, 0, "{}", refused.all());
    let run = through("doctor --api --output json");
    assert_eq!(run.code, 1, "{}", run.all());
    let document = run.json();
    let how = |subject: &str| assumption(&document, subject)["how"].as_str().unwrap_or_default().to_owned();
    assert!(how("largest page").contains("a limit of 100 is refused"), "{}", run.stdout);
    assert!(how("vm.ram").contains("text instead"), "{}", run.stdout);
    assert!(how("date header").contains("does not have it"), "{}", run.stdout);
    assert_eq!(document["page_limit"], 50);
    through("plan").says(&["vpc.main", "create"]);
    through("doctor").says(&["learned", "pages of 50 rows"]);
}

#[test]
fn doctor_lists_the_permissions_of_a_key() {
    let case = Case::new().emulator();
    let roles = case.cloud().list("/api/v1/roles");
    let admin = roles.iter().find(|role| role["slug"] == "admin").unwrap();
    let body = json!({"name": "ci", "role_id": admin["id"]});
    let made = case.cloud().control("POST", "/api/v1/api-keys", &body);
    let secret = made["data"]["secret"].as_str().unwrap().to_owned();
    let with = |name: &str, value: &str| {
        let mut command = case.command("doctor");
        command.env("STEAD_API_KEY", &secret).env(name, value);
        Run::of(&command.output().unwrap())
    };
    let run = with("STEAD_QUIET", "1");
    assert_eq!(run.code, 0, "{}", run.all());
    run.says(&["key ci", "The key does not expire", "Account role", "STEAD_READONLY_API_KEY"]);
    assert!(!run.all().contains(&secret));
    with("HTTPS_PROXY", "http://me:canary@proxy:3128").says(&["…@proxy:3128"]);
    let run = with("HTTPS_PROXY", "me:canary@proxy:3128");
    assert!(!run.all().contains("canary"), "{}", run.all());
}

#[test]
fn unmanaged_lists_children_and_no_built_in_roles() {
    let case = Case::example("shop").emulator();
    case.ok("apply --yes");
    let before = case.ok("ls --unmanaged --output json").json();
    let of = |document: &Value, kind: &str| {
        document["unmanaged"].as_array().unwrap().iter().filter(|row| row["kind"] == kind).count()
    };
    assert_eq!((of(&before, "role"), of(&before, "database_user")), (0, 0), "{before}");
    let database = case.cloud().list("/api/v1/databases")[0]["id"].as_str().unwrap().to_owned();
    case.cloud().control("POST", &format!("/api/v1/databases/{database}/users"), &json!({"name": "stray"}));
    for flags in ["", "--kind database_user"] {
        let after = case.ok(&format!("ls --unmanaged --output json {flags}")).json();
        assert_eq!(of(&after, "database_user"), 1, "{after}");
    }
}
