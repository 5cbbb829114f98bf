//! Claims of a review that were wrong: what a remedy applies, what policies judge, what differs from the last review, what is
//! due, and in which order requests were sent.
#![allow(clippy::disallowed_methods, reason = "tests read the files that commands leave")]

use serde_json::{Value, json};

use crate::case::{Case, Run};

const TWO: &str = "stead: 1\nstack: two\nvm:\n  a: { template: ubuntu-24.04, plan: std-1c-2g }\n  b: { template: ubuntu-24.04, plan: std-1c-2g }\n";

fn applied(text: &str) -> Case {
    let case = Case::new().file("stead.yaml", text).emulator();
    case.ok("apply --yes");
    case
}

/// Returns the command of a line that begins with a text, without the name of the program.
fn command_after(run: &Run, text: &str) -> String {
    let all = run.all();
    let line =
        all.lines().find_map(|line| line.trim().strip_prefix(text)).unwrap_or_else(|| panic!("{all}"));
    line.trim().strip_prefix("stead ").unwrap().to_owned()
}

#[test]
fn the_remedy_without_a_terminal_keeps_what_limits_the_apply() {
    let policy = "policy: { calm: { on: vm, deny: \"${self.action == 'replace'}\", message: No. } }\n";
    let case = applied(&format!("{TWO}{policy}"));
    let text = std::fs::read_to_string(case.path("stead.yaml")).unwrap();
    case.write("stead.yaml", text.replace("ubuntu-24.04", "debian-12"));
    let hint = "Confirm with a flag:";
    let reason = "apply --target vm.a --override calm --reason urgent";
    let refused = case.fails(64, reason);
    let command = command_after(&refused, hint);
    assert_eq!(command, format!("{reason} --yes"));
    case.ok(&command).says(&["vm.a", "Applied: 1 done"]);
    let plan = case.ok("plan --output json --exclude vm.b").json();
    assert_eq!(plan["changes"], json!([]));
    let refused = case.fails(64, "destroy --exclude vm.b");
    assert_eq!(command_after(&refused, hint), "destroy --exclude vm.b --yes --confirm two");
    let refused = case.fails(64, "destroy --target vm.a --yes");
    case.ok(&command_after(&refused, hint)).says(&["1 done"]);
    assert_eq!(case.cloud().list("/api/v1/vms").len(), 1);
}

#[test]
fn a_plan_of_a_part_says_so_in_each_format() {
    let case = applied(TWO);
    let text = std::fs::read_to_string(case.path("stead.yaml")).unwrap();
    case.write("stead.yaml", text.replace("plan: std-1c-2g", "plan: std-2c-4g"));
    let run = case.ok("plan --target vm.a --report md=p.md --report html=p.html --output json");
    assert_eq!(run.json()["summary"]["left_out"], json!(1));
    case.ok("plan --exclude vm.b").says(&["PLAN", "1 left out"]);
    for file in ["p.md", "p.html"] {
        let text = std::fs::read_to_string(case.path(file)).unwrap();
        assert!(text.contains("1 left out of this plan"), "{file}: {text}");
    }
    assert_eq!(case.ok("plan --output json").json()["summary"]["left_out"], json!(0));
}

#[test]
fn policies_and_exposures_judge_what_the_apply_leaves_alone() {
    let stack = "stead: 1\nstack: open\n\
        database: { qa: { engine: postgres, plan: pg-1c-2g, public_access: true, public_allowlist: [198.51.100.0/24], lifecycle: { ignore_drift: [public_allowlist] } } }\n\
        policy: { closed: { on: database, level: mandatory, deny: \"${self.public_access && size(self.public_allowlist) == 0}\", message: It needs an allowlist. } }\n";
    let case = applied(stack);
    case.ok("plan --exit-code");
    let id = case.cloud().list("/api/v1/databases")[0]["id"].as_str().unwrap().to_owned();
    case.cloud().mutate("database", &id, &json!({ "public_allowlist": [] }));
    let plan = case.fails(4, "plan --output json").json();
    let verdicts: Vec<(&Value, &Value)> =
        plan["policy"].as_array().unwrap().iter().map(|one| (&one["name"], &one["verdict"])).collect();
    assert!(verdicts.contains(&(&json!("closed"), &json!("deny"))), "{verdicts:?}");
    assert!(verdicts.contains(&(&json!("X01"), &json!("warn"))), "{verdicts:?}");
    case.fails(4, "apply --yes").says(&["closed", "It needs an allowlist."]);
    // What the apply sets is judged by what it sets.
    case.edit("stead.yaml", ", lifecycle: { ignore_drift: [public_allowlist] }", "");
    case.ok("apply --yes").says(&["Applied: 1 done"]);
    case.ok("plan --exit-code");
}

/// Plans with other fingerprints never decide the same.
#[test]
fn a_difference_that_only_the_fingerprint_covers_is_named() {
    let secret = "vars: { k: { type: secret, generate: 32, deliver_secret: { file: ./sec/k } } }\n";
    let app =
        "app: { a: { type: web, repo: acme/shop, branch: main, port: 8080, env_vars: { K: $vars.k } } }\n";
    let stack = format!("stead: 1\nstack: s\n{secret}{app}outputs: {{ x: 1 }}\n");
    let case = Case::new().file("stead.yaml", &stack).emulator();
    let plan =
        |name: &str| case.ok(&format!("plan -o {name}.plan --output json")).json()["fingerprint"].clone();
    let check = |one: &str, other: &str, words: &[&str]| {
        let (first, second) = (format!("{one}.plan"), format!("{other}.plan"));
        let shown = case.ok(&format!("show {second} --against {first}"));
        assert!(!shown.all().contains("the plans decide the same"), "{}", shown.all());
        shown.says(words);
        assert_eq!(
            case.ok(&format!("show {second} --against {first} --output json")).json()["same"],
            json!(false)
        );
    };
    // Before the first apply, no value has a fingerprint; nor has what is computed from it.
    case.edit("stead.yaml", "outputs: { x: 1 }", "outputs: { x: 1, url: \"https://${vars.k}@host/\" }");
    let computed = case.ok("plan");
    computed.says(&["url  (secret)"]);
    case.write("stead.yaml", &stack);
    let first = plan("first");
    case.edit("stead.yaml", "./sec/k }", "./sec/kk }");
    assert_ne!(plan("file"), first);
    check("first", "file", &["what is done for secrets", "./sec/k", "./sec/kk", "the configuration"]);
    let refused =
        case.fails(5, &format!("apply --expect {} --against first.plan", first.as_str().unwrap()));
    refused.says(&["what is done for secrets", "Nothing was sent"]);
    case.write("stead.yaml", &stack);
    case.ok("apply --yes");
    // What is recorded differs, and the plans set the same.
    case.edit("stead.yaml", "x: 1", "x: 3");
    let old = plan("old");
    case.edit("stead.yaml", "x: 3", "x: 2");
    case.ok("apply --yes");
    case.edit("stead.yaml", "x: 2", "x: 3");
    assert_ne!(plan("new"), old);
    check("old", "new", &["output x, recorded value", "1", "2", "the ledger changed"]);
    case.ok("apply --yes");
    plan("none");
    check("old", "none", &["output x, recorded value", "no change"]);
}

#[test]
fn what_the_command_line_left_out_is_no_change_of_a_live_object() {
    let case = applied(TWO);
    let text = std::fs::read_to_string(case.path("stead.yaml")).unwrap();
    case.write("stead.yaml", text.replace("plan: std-1c-2g", "plan: std-2c-4g"));
    case.ok("plan -o full.plan");
    case.ok("plan --target vm.a -o part.plan");
    for (new, old) in [("part", "full"), ("full", "part")] {
        let shown = case.ok(&format!("show {new}.plan --against {old}.plan"));
        shown.says(&["vm.b", "the selection of the command line changed"]);
        assert!(!shown.all().contains("live object"), "{}", shown.all());
    }
    // A policy of the user's settings is no live object either.
    case.write(
        "policies/org.stead.yaml",
        "stead: 1\npolicy: { org: { on: vm, deny: \"${true}\", message: Not now. } }\n",
    );
    case.write(
        "config/stead/settings.toml",
        format!("policies = [\"{}\"]\n", case.path("policies").display()),
    );
    let denied =
        case.command("plan -o denied.plan").env("XDG_CONFIG_HOME", case.path("config")).output().unwrap();
    assert_eq!(denied.status.code(), Some(4), "{denied:?}");
    let shown = case.ok("show denied.plan --against full.plan");
    shown.says(&["newly denied by the policy org", "the configuration or the live object changed"]);
}

#[test]
fn a_volume_that_is_resized_while_its_vm_is_replaced_is_due_once() {
    let stack = "stead: 1\nstack: due\n\
        vm: { v: { template: ubuntu-24.04, plan: std-1c-2g, lifecycle: { replace: delete_first } } }\n\
        volume: { d: { size: 100, vm: $vm.v, billing_type: subscription } }\n";
    let case = applied(stack);
    case.edit("stead.yaml", "size: 100", "size: 200");
    let alone = case.ok("plan --output json").json();
    case.edit("stead.yaml", "ubuntu-24.04", "debian-12");
    let both = case.ok("plan --output json").json();
    let due = |plan: &Value| {
        let changes = plan["changes"].as_array().unwrap();
        changes.iter().find(|one| one["address"] == "volume.d").unwrap()["cost"]["due_now"].clone()
    };
    assert!(due(&alone).as_f64().unwrap() > 0.0, "{alone}");
    assert_eq!(due(&alone), due(&both));
}

#[test]
fn the_history_has_requests_in_the_order_in_which_they_were_sent() {
    let stack = "stead: 1\nstack: h\nvolume: { h5: { size: 10, lifecycle: { final_snapshot: true } } }\n";
    let case = applied(stack);
    case.write("stead.yaml", "stead: 1\nstack: h\n");
    case.ok("apply --yes --delete-data volume.h5");
    let run = case.ok("history show 2 --output json").json();
    let requests = run["runs"][0]["resources"][0]["requests"].as_array().unwrap();
    let sent: Vec<String> = requests
        .iter()
        .map(|one| format!("{} {}", one["method"].as_str().unwrap(), one["path"].as_str().unwrap()))
        .collect();
    let position =
        |word: &str| sent.iter().position(|one| one.contains(word)).unwrap_or_else(|| panic!("{sent:?}"));
    assert!(position("POST") < position("DELETE"), "{sent:?}");
}

#[test]
fn a_policy_that_no_step_decides_does_not_promise_it() {
    let stack = "stead: 1\nstack: p\n\
        vpc: { n: { cidr: 10.4.0.0/16 } }\n\
        vm: { oa: { template: ubuntu-24.04, plan: std-1c-2g, vpc: $vpc.n } }\n\
        policy:\n  address: { on: vm, deny: \"${self.public_ipv4_address.startsWith('198.')}\", message: Not there. }\n  \
        network: { on: vm, deny: \"${self.vpc == 'none'}\", message: Not that. }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    let plan = case.ok("plan --output json").json();
    let message = |name: &str| {
        let all = plan["policy"].as_array().unwrap();
        let found = all.iter().find(|one| one["name"] == name && one["verdict"] == "unknown");
        found.unwrap_or_else(|| panic!("{all:?}"))["message"].as_str().unwrap().to_owned()
    };
    assert!(
        message("address").starts_with("It is decided neither here nor before a step"),
        "{}",
        message("address")
    );
    assert!(message("network").starts_with("It is evaluated once the values of"), "{}", message("network"));
    case.ok("apply --yes").says(&["address", "not decided"]);
}

#[test]
fn details_name_each_resource_of_a_policy_and_metrics_count_what_has_no_amount() {
    let stack = "stead: 1\nstack: m\nvm: { w: { for_each: [a, b, c, d, e], template: ubuntu-24.04, plan: std-1c-2g } }\n\
        policy: { soft: { on: vm, level: advisory, deny: \"${true}\", message: Look. } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    let named = "soft warns  vm.w.a, vm.w.b, vm.w.c";
    case.ok("plan -o m.plan --report prom=m.prom").says(&[&format!("{named} and 2 more  Look.")]);
    for command in ["plan -v", "show m.plan"] {
        case.ok(command).says(&[&format!("{named}, vm.w.d, vm.w.e  Look.")]);
    }
    let metrics = std::fs::read_to_string(case.path("m.prom")).unwrap();
    for name in ["stead_due_unknown{", "stead_unpriced_resources{"] {
        assert!(metrics.contains(name), "{name}: {metrics}");
    }
}

#[test]
fn an_output_without_a_value_blocks_the_plan() {
    let app = |variables: &str, output: &str| {
        format!(
            "stead: 1\nstack: min\napp: {{ a: {{ type: worker, repo: acme/x, branch: main, env_vars: {{ {variables} }} }} }}\n\
             outputs: {{ v: \"{output}\" }}\n"
        )
    };
    let case = Case::new().file("stead.yaml", app("P: plain", "$app.a.env_vars.P")).emulator();
    case.ok("apply --yes");
    assert_eq!(case.ok("output v").stdout.trim(), "plain");
    // Its expression fails now: without the blocker, readers would keep the old value.
    case.write("stead.yaml", app("Q: plain", "$app.a.env_vars.P"));
    let run = case.fails(4, "plan");
    run.says(&["expression", "The output `v` would have no value", "stead.yaml:4"]);
    case.fails(4, "apply --yes");
    // A plan of a part may leave it, and a destroy needs no outputs.
    case.ok("plan --target app.a");
    case.ok("plan --destroy");
    case.write("stead.yaml", app("Q: plain", "$app.a.env_vars.Q"));
    case.ok("apply --yes");
    assert_eq!(case.ok("output v").stdout.trim(), "plain");
    case.ok("plan --exit-code");
}

#[test]
fn policies_and_exposures_judge_no_resource_that_a_flag_leaves_out_and_that_does_not_exist() {
    let stack = "stead: 1\nstack: min\nvpc: { n: { cidr: 10.0.0.0/16 } }\n\
        vm: { w: { template: ubuntu-24.04, plan: std-2c-4g } }\n\
        policy: { std: { on: vm, level: mandatory, deny: \"${self.plan != 'std-2c-4g'}\", message: Only that one. } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("plan");
    for flags in ["--target vpc.n", "--exclude vm.w"] {
        let plan = case.ok(&format!("plan {flags}"));
        for word in ["std", "X06", "matched nothing"] {
            assert!(!plan.all().contains(word), "{flags}: {}", plan.all());
        }
    }
    case.ok("apply --target vpc.n --yes");
    // What exists is judged by what it has.
    case.edit("stead.yaml", "std-2c-4g } }", "std-1c-1g } }");
    case.fails(4, "plan").says(&["Only that one."]);
}

#[test]
fn a_printed_command_is_one_word_for_a_file_and_has_no_value_of_a_variable() {
    let stack = "stead: 1\nstack: min\nvars: { d: { type: string, default: x } }\n\
        project: { p: { name: alpha, description: $vars.d } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    let run = case.command("plan -o").arg("my plan").output().unwrap();
    let said = String::from_utf8(run.stderr).unwrap();
    assert!(said.contains("next: stead apply 'my plan'"), "{said}");
    case.ok("plan --var d=y").says(&["--var d=…"]);
    case.fails(64, "apply --var d=… --yes").says(&["stands for the value in a printed command", "of d"]);
}

#[test]
fn an_expression_over_a_secret_of_an_object_that_does_not_exist_is_secret() {
    let stack = "stead: 1\nstack: min\nvm: { y: { template: ubuntu-24.04, plan: std-1c-2g } }\n\
        app: { n: { type: worker, repo: acme/x, branch: main, env_vars: { C: \"${'x' + vm.y.user_data}\" } } }\n\
        outputs: { a: $vm.y.user_data, c: \"${'x' + vm.y.user_data}\", ip: \"${'x' + vm.y.public_ipv4_address}\" }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    let plan = case.ok("plan --output json --report tfjson=plan.tfjson").json();
    let secret = |name: &str| {
        let outputs = plan["outputs"].as_array().unwrap().iter();
        outputs.clone().find(|one| one["name"] == name).unwrap()["secret"].clone()
    };
    assert_eq!(
        (secret("a"), secret("c"), secret("ip")),
        (json!(true), json!(true), json!(false)),
        "{plan}"
    );
    let changes = plan["changes"].as_array().unwrap();
    let app = changes.iter().find(|change| change["address"] == "app.n").unwrap().to_string();
    assert!(app.contains("\"secret\":true"), "{app}");
    let text = std::fs::read_to_string(case.path("plan.tfjson")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["output_changes"]["c"]["after_sensitive"], json!(true), "{document}");
}
