//! Bad input of every kind: one clear error each, the right exit code, and nothing is lost or sent.
#![allow(clippy::disallowed_methods, reason = "tests make files that nobody should have")]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::case::Case;

const STACK: &str = "stead: 1\nstack: bad\nproject:\n  home: { name: home }\n";

/// Name of the case, stack file, and the words of its only error.
const FILES: &[(&str, &[u8], &[&str])] = &[
    ("unknown key", b"stead: 1\nstack: s\nvpc:\n  main: { cdir: 10.0.0.0/16 }\n", &["cdir", "stead.yaml:4:11", "cidr"]),
    ("duplicate key", b"stead: 1\nstack: s\nstack: t\n", &["stack", "stead.yaml"]),
    ("wrong type", b"stead: 1\nstack: s\nvolume:\n  v: { size: big }\n", &["number", "stead.yaml:4:14", "size"]),
    ("not UTF-8", b"stead: 1\nstack: \xff\n", &["UTF-8", "stead.yaml"]),
    ("cycle", b"stead: 1\nstack: s\nlocals:\n  a: $locals.b\n  b: $locals.a\n", &["a", "b"]),
    ("missing variable", b"stead: 1\nstack: s\nvars:\n  x: { type: string }\n", &["x", "--var", "STEAD_VAR_X"]),
    ("unknown reference", b"stead: 1\nstack: s\nvpc: { main: { cidr: 10.0.0.0/16 } }\nvm: { a: { template: t, plan: p, vpc: $vpc.mian } }\n", &["vpc.mian", "stead.yaml:4", "$vpc.main"]),
    ("overlap", b"stead: 1\nstack: s\nvpc: { a: { cidr: 10.0.0.0/16 }, b: { cidr: 10.0.1.0/24 } }\n", &["R0101", "stead.yaml:3"]),
];

#[test]
fn each_bad_file_produces_exactly_one_error() {
    for (name, text, words) in FILES {
        let case = Case::new().file("stead.yaml", text);
        let run = case.fails(1, "validate");
        run.says(words);
        let json = case.fails(1, "validate --output json").json();
        let errors: Vec<_> = json["diagnostics"].as_array().unwrap().iter().collect();
        assert_eq!(errors.len(), 1, "{name}: {json:#}");
    }
}

#[test]
fn a_missing_or_unreadable_stack_gets_a_remedy() {
    let case = Case::new();
    case.fails(1, "validate").says(&["no stack", "stead init"]);
    case.fails(1, "validate -C nowhere").says(&["nowhere"]);
    fs::create_dir(case.path("stead.yaml")).unwrap();
    case.fails(1, "validate").says(&["stead.yaml"]);
    let empty = Case::new().file("stead.yaml", "");
    empty.fails(1, "validate").says(&["stead: 1"]);
}

#[test]
fn expansion_bombs_and_deep_nesting_end_quickly_in_one_error() {
    let bomb: String = std::iter::once("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned())
        .chain((1..12).map(|i| {
            let last = i - 1;
            format!("a{i}: &a{i} [{}]\n", vec![format!("*a{last}"); 10].join(", "))
        }))
        .collect();
    let deep_flow = format!("stead: {}1{}\n", "[".repeat(10_000), "]".repeat(10_000));
    let deep_block = (0..10_000).map(|i| " ".repeat(i) + "a:").collect::<Vec<_>>().join("\n");
    let deep_kdl = format!("{}{}\n", "a {".repeat(10_000), "}".repeat(10_000));
    let many = "x: y\n".repeat(10_000_000);
    for (file, text) in [
        ("stead.yaml", bomb),
        ("stead.yaml", deep_flow),
        ("stead.yaml", deep_block),
        ("stead.kdl", deep_kdl),
        ("stead.yaml", many),
    ] {
        let case = Case::new().file(file, &text);
        let json = case.fails(1, "validate --output json").json();
        let problems = json["diagnostics"].as_array().unwrap();
        let bounds = problems.iter().filter(|problem| problem["code"] != "S0106").count();
        assert_eq!(bounds, 1, "{json:#}");
        assert!(problems.len() <= 2, "{json:#}");
    }
}

#[test]
fn an_unknown_environment_lists_the_known_ones() {
    let case = Case::new()
        .file("stead.yaml", "stead: 1\nstack: s\nenvironments: { staging: { default: true }, prod: {} }\n");
    case.fails(1, "validate -e prdo").says(&["prdo", "prod"]);
}

#[test]
fn usage_errors_exit_with_64_and_a_suggestion() {
    let case = Case::new();
    case.fails(64, "plam").says(&["plan"]);
    case.fails(64, "plan --exitcode").says(&["--exit-code"]);
    let stack = Case::new().file("stead.yaml", STACK).emulator();
    stack.fails(64, "apply").says(&["--yes"]);
}

#[test]
fn a_rejected_api_key_exits_with_7_and_is_never_printed() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    let output = case.command("plan").env("STEAD_API_KEY", "canary-wrong-key").output().unwrap();
    let all =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(7), "{all}");
    assert!(all.contains("401") && !all.contains("canary-wrong-key"), "{all}");
    let none = case.command("plan").env_remove("STEAD_API_KEY").output().unwrap();
    assert_eq!(none.status.code(), Some(7));
    assert!(String::from_utf8_lossy(&none.stderr).contains("STEAD_API_KEY"));
}

#[test]
fn every_malformed_response_ends_in_one_error() {
    for fault in ["truncate", "malformed"] {
        let case = Case::new().file("stead.yaml", STACK).emulator();
        case.cloud().faults(&[&format!("GET /projects={fault}:1")]);
        case.ok("plan");
        let before = case.cloud().last();
        case.cloud().faults(&[&format!("POST /projects={fault}:1")]);
        case.ok("apply --yes --effect-bound 0s --listing-bound 0s");
        let posts = case.cloud().mutations_since(before);
        assert_eq!(posts, ["POST /api/v1/projects"], "a lost answer is looked up, not sent again");
        let named = case.cloud().list("/api/v1/projects").iter().filter(|p| p["name"] == "home").count();
        assert_eq!(named, 1);
    }
}

#[test]
fn an_insufficient_balance_has_a_clear_error_message() {
    let case = Case::new()
        .file(
            "stead.yaml",
            "stead: 1\nstack: bad\nvm:\n  a: { template: ubuntu-24.04, plan: std-1c-1g, billing_type: subscription }\n",
        )
        .emulator();
    case.cloud().mutate("account", "account", &json!({ "balance": 0 }));
    let run = case.run("apply --yes");
    assert!(run.code == 7 || run.code == 6, "{}", run.all());
    run.says(&["402", "balance"]);
}

#[test]
fn a_read_only_directory_is_refused_before_any_request() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    fs::create_dir(case.path(".stead")).unwrap();
    fs::write(case.path(".stead/ledger"), "a file where a directory should be").unwrap();
    let before = case.cloud().last();
    case.fails(1, "apply --yes").says(&[".stead/ledger"]);
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new());
}

#[test]
fn a_damaged_journal_blocks_all_changes() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    case.ok("apply --yes");
    let folder = case.path(".stead/ledger/default");
    let mut damaged = 0;
    for entry in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
        let mut bytes = fs::read(&entry).unwrap();
        if bytes.len() > 40 && entry.extension().is_some_and(|e| e == "log" || e == "json") {
            bytes[20] ^= 1;
            fs::write(&entry, bytes).unwrap();
            damaged += 1;
        }
    }
    assert!(damaged > 0);
    let before = case.cloud().last();
    case.fails(1, "apply --yes").says(&["damaged"]);
    case.fails(1, "plan").says(&["damaged"]);
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new());
}

#[test]
fn the_second_of_two_applies_names_the_holder() {
    let case = Case::new()
        .file("stead.yaml", "stead: 1\nstack: bad\nvm:\n  a: { template: ubuntu-24.04, plan: std-1c-1g }\n")
        .emulator_with(&["--speed", "5"]);
    let mut first = case.command("apply --yes").stdout(std::process::Stdio::null()).spawn().unwrap();
    while case.cloud().mutations_since(0).is_empty() {
        std::thread::yield_now();
    }
    case.fails(8, "apply --yes").says(&["tester@", &first.id().to_string()]);
    assert!(first.wait().unwrap().success());
}

#[test]
fn a_plan_during_an_apply_says_that_the_ledger_is_locked() {
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("stead.yaml", "stead: 1\nstack: bad\nvm:\n  a: { template: ubuntu-24.04, plan: std-1c-1g }\n")
        .emulator_with(&["--speed", "2"]);
    let mut first = case.command("apply --yes").stdout(std::process::Stdio::null()).spawn().unwrap();
    while case.cloud().mutations_since(0).is_empty() {
        assert!(first.try_wait().unwrap().is_none(), "it ended before it asked for the VM");
        std::thread::yield_now();
    }
    let process = format!("process {}", first.id());
    for command in ["plan", "drift", "plan --all", "drift --all"] {
        let run = case.run(command);
        run.says(&["An apply may be running: the ledger is locked by tester@", &*process]);
        assert!(!run.all().contains("partly applied"), "{command}: {}", run.all());
        assert!(!run.all().contains("stopped"), "{command}: {}", run.all());
    }
    // The object that is being created is in no ledger yet, and not unmanaged.
    case.run("drift --all").says(&["not known", "an apply of bad/default may be running"]);
    let plan = case.run("plan --output json").json();
    assert_eq!(plan["notes"][0]["code"], "lock_held", "{plan}");
    assert!(first.wait().unwrap().success());
    let plan = case.ok("plan --output json").json();
    assert_eq!(plan["notes"].as_array().map(Vec::len), Some(0), "{plan}");
}

#[test]
fn the_ledger_is_private() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    case.ok("apply --yes");
    for entry in fs::read_dir(case.path(".stead/ledger/default")).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o077, 0, "{:?}", entry.path());
    }
}

#[test]
fn secrets_appear_in_no_output_and_no_file() {
    let stack = "\
stead: 1
stack: secret
vars:
  token: { type: secret }
vm:
  a:
    template: ubuntu-24.04
    plan: std-1c-1g
    user_data: \"token=${vars.token}\"
";
    let canary = "canary-5f2c9e";
    let case = Case::new().file("stead.yaml", stack).emulator();
    let mut seen = String::new();
    for args in [
        "validate",
        "plan",
        "plan --output json",
        "plan -o plan.json -v",
        "show plan.json",
        "apply --yes --output ndjson",
        "plan -v",
        "ls --output json",
        "get vm.a",
        "drift",
    ] {
        let output = case.command(args).env("STEAD_VAR_TOKEN", canary).output().unwrap();
        assert!(output.status.success(), "{args}: {}", String::from_utf8_lossy(&output.stderr));
        seen += &String::from_utf8_lossy(&output.stdout);
        seen += &String::from_utf8_lossy(&output.stderr);
    }
    seen += &fs::read_to_string(case.path("plan.json")).unwrap();
    for entry in fs::read_dir(case.path(".stead/ledger/default")).unwrap() {
        seen += &String::from_utf8_lossy(&fs::read(entry.unwrap().path()).unwrap());
    }
    assert!(!seen.contains(canary), "{seen}");
    assert!(!seen.contains(&case.cloud().key), "the key");
    let output = case.command("plan --exit-code").env("STEAD_VAR_TOKEN", canary).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "an unchanged secret is no change");
    let output = case.command("plan --exit-code").env("STEAD_VAR_TOKEN", "other").output().unwrap();
    assert_eq!(output.status.code(), Some(2), "a changed secret is one");
}

#[test]
fn a_stack_without_a_default_environment_is_checked_in_all_of_them() {
    let stack = "stead: 1\nstack: s\nenvironments: { prod: { vars: { cidr: 10.1.0.0/16 } }, staging: {} }\n\
                 vars: { cidr: { type: string, default: 10.2.0.0/16 } }\nvpc: { net: { cidr: $vars.cidr } }\n";
    let case = Case::new().file("stead.yaml", stack);
    case.ok("validate").says(&["s is valid in all environments: prod, staging", "-e prod"]);
    assert_eq!(case.ok("validate --output json").json()["diagnostics"], serde_json::json!([]));
    case.ok("plan -e prod --cloud local");
    // What is wrong in one that is not the first is told with its name.
    case.edit("stead.yaml", "staging: {}", "staging: { vars: { cidr: 10.2.0.0/99 } }");
    case.fails(1, "validate").says(&["In the environment staging"]);
    case.edit("stead.yaml", "10.2.0.0/99", "10.3.0.0/16");
    // Formatting looks into the ledgers of all of them.
    case.edit("stead.yaml", "vpc:", "moved: [{ from: vpc.old, to: vpc.net }]\nvpc:");
    case.ok("fmt --prune");
    case.ok("validate --fix --yes");
    // What is about one environment still asks which.
    case.fails(1, "plan --cloud local").says(&["no environment is chosen"]);
}
