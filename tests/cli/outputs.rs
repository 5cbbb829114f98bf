//! Outputs as a part of a plan, and `stead output`.

use serde_json::{Value, json};

use crate::case::{Case, Run};

const NET: &str = "stead: 1\nstack: net\nvpc: { main: { name: main, cidr: 10.30.0.0/16 } }\noutputs:\n  id: $vpc.main\n  label: blue\n  count: 3\n  both: [$vpc.main.cidr, blue]\n";
const APP: &str = "stead: 1\nstack: app\nstacks: { net: ../net }\nvpc: { v: { name: \"v-${stacks.net.label}\", cidr: 10.98.0.0/16 } }\noutputs: { seen: $stacks.net.label }\n";

fn alone() -> Case {
    let case = Case::new().file("stead.yaml", NET).emulator();
    case.ok("apply --yes");
    case
}

fn repository() -> Case {
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("net/stead.yaml", NET)
        .file("app/stead.yaml", APP)
        .emulator();
    case.apply_all();
    case
}

/// Returns the outputs of a plan's document, each without what a test does not compare.
fn planned(case: &Case, code: i32, args: &str) -> Vec<Value> {
    let document = case.fails(code, &format!("{args} --output json")).json();
    document["outputs"].as_array().unwrap().clone()
}

fn output<'o>(outputs: &'o [Value], name: &str) -> &'o Value {
    outputs.iter().find(|output| output["name"] == name).unwrap_or_else(|| panic!("{name}: {outputs:?}"))
}

#[test]
fn outputs_alone_are_a_change_that_is_applied_without_a_request() {
    let case = alone();
    case.ok("plan --exit-code").says(&["No changes"]);
    assert!(planned(&case, 0, "plan --exit-code").is_empty());
    case.edit("stead.yaml", "label: blue", "label: green");
    case.edit("stead.yaml", "  count: 3\n", "  tags: [a]\n");
    let text = case.fails(2, "plan --exit-code --report md=plan.md --report html=plan.html");
    text.says(&["OUTPUTS", "- count  3", "~ label  blue → green", "+ tags   [a]", "3 outputs"]);
    assert!(!text.stdout.contains("No changes") && !text.stdout.contains("both"), "{}", text.stdout);
    for report in ["plan.md", "plan.html"] {
        let written = std::fs::read_to_string(case.path(report)).unwrap();
        assert!(written.contains("label") && written.contains("green"), "{report}: {written}");
    }
    let outputs = planned(&case, 2, "plan --exit-code");
    assert_eq!(
        output(&outputs, "label"),
        &json!({"name": "label", "action": "update", "before": "blue", "after": "green", "unknown": false,
            "secret": false, "cause": "config", "because": [], "readers": []})
    );
    let (count, tags) = (output(&outputs, "count"), output(&outputs, "tags"));
    assert_eq!(
        (&count["action"], &count["before"], &count["after"]),
        (&json!("delete"), &json!(3), &Value::Null)
    );
    assert_eq!(
        (&tags["action"], &tags["before"], &tags["after"]),
        (&json!("create"), &Value::Null, &json!(["a"]))
    );
    // A saved plan carries the change, and is applied like the plan.
    case.ok("plan -o saved.plan");
    case.ok("show saved.plan").says(&["~ label  blue → green"]);
    let fingerprint = case.ok("plan --output json").json()["fingerprint"].as_str().unwrap().to_owned();
    let before = case.cloud().requests().len();
    case.ok(&format!("apply --expect {fingerprint}")).says(&["Applied", "label", "green"]);
    let requests = case.cloud().requests();
    assert!(requests[before..].iter().all(|(_, request, _)| request.starts_with("GET ")), "{requests:?}");
    case.fails(5, "apply saved.plan");
    case.ok("plan --exit-code").says(&["No changes"]);
    assert_eq!(case.ok("output label --raw").stdout, "green");
    case.fails(1, "output count").says(&["recorded no output `count`"]);
    // The fingerprint covers the values.
    case.edit("stead.yaml", "label: green", "label: red");
    let red = case.ok("plan --output json").json()["fingerprint"].clone();
    case.edit("stead.yaml", "label: red", "label: pink");
    assert_ne!(red, case.ok("plan --output json").json()["fingerprint"]);
}

#[test]
fn an_output_is_unknown_only_because_of_a_planned_change() {
    let case = alone();
    case.edit("stead.yaml", "10.30.0.0/16", "10.31.0.0/16");
    let outputs = planned(&case, 2, "plan --exit-code");
    let names: Vec<&str> = outputs.iter().map(|output| output["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["both", "id"]);
    let (both, id) = (output(&outputs, "both"), output(&outputs, "id"));
    assert_eq!(
        (&id["unknown"], &id["cause"], &id["because"]),
        (&json!(true), &json!("upstream"), &json!(["vpc.main"]))
    );
    assert_eq!((&both["unknown"], &both["after"][0]), (&json!(false), &json!("10.31.0.0/16")));
    case.ok("plan").says(&["because vpc.main changes", "(known once vpc.main is applied)"]);
    case.ok("apply --yes");
    case.ok("plan --exit-code").says(&["No changes"]);
    assert_eq!(case.ok("output both --output json").json()["outputs"]["both"]["value"][0], "10.31.0.0/16");
}

#[test]
fn a_live_value_that_changed_is_a_change_and_an_empty_one_is_known() {
    let text = "stead: 1\nstack: s\nvm: { web: { template: ubuntu-24.04, plan: std-1c-1g } }\ndatabase: { main: { engine: postgres, engine_version: 16, plan: pg-1c-2g, storage_gb: 20 } }\noutputs: { ip: $vm.web.public_ipv4_address, plan: $vm.web.plan, host: $database.main.connection_host }\n";
    let case = Case::new().file("stead.yaml", text).emulator();
    let first = planned(&case, 0, "plan");
    assert_eq!(output(&first, "ip")["unknown"], json!(true));
    case.ok("apply --yes");
    case.ok("plan --exit-code").says(&["No changes"]);
    // The service shows no host of this database: that is a value.
    assert_eq!(case.ok("output host --raw").stdout, "");
    let id = case.cloud().list("/api/v1/vms")[0]["id"].as_str().unwrap().to_owned();
    case.cloud().mutate("vm", &id, &json!({"public_ipv4_address": "198.51.100.7"}));
    let outputs = planned(&case, 2, "plan --exit-code");
    let ip = output(&outputs, "ip");
    assert_eq!(
        (&ip["unknown"], &ip["after"], &ip["cause"]),
        (&json!(false), &json!("198.51.100.7"), &json!("outside"))
    );
    assert_eq!(outputs.len(), 1, "{outputs:?}");
    case.ok("apply --yes");
    assert_eq!(case.ok("output ip --raw").stdout, "198.51.100.7");
    case.ok("plan --exit-code").says(&["No changes"]);
}

#[test]
fn a_destroy_and_a_partial_plan_record_what_is_left() {
    let case = alone();
    case.ok("destroy --yes --confirm net");
    assert!(case.ok("output --output json").json()["outputs"].as_object().unwrap().is_empty());
    case.ok("plan --destroy --exit-code").says(&["nothing left to destroy"]);
    // A plan of one resource leaves alone what it does not reach.
    let case = Case::new()
        .file("stead.yaml", "stead: 1\nstack: s\nvpc: { a: { cidr: 10.1.0.0/16 }, b: { cidr: 10.2.0.0/16 } }\noutputs: { a: $vpc.a, b: $vpc.b }\n")
        .emulator();
    let outputs = planned(&case, 2, "plan --exit-code --target vpc.a");
    assert_eq!(outputs.iter().map(|output| &output["name"]).collect::<Vec<_>>(), ["a"]);
    case.ok("apply --yes --target vpc.a");
    case.ok("output a --raw");
    case.fails(1, "output b");
    case.ok("plan --exit-code --target vpc.a").says(&["No changes"]);
    case.ok("apply --yes");
    case.ok("output b --raw");
}

#[test]
fn a_removed_output_that_a_unit_reads_blocks_the_plan() {
    let case = repository();
    case.edit("net/stead.yaml", "label: blue", "label: green");
    let outputs = planned(&case, 0, "-C net plan");
    assert_eq!(output(&outputs, "label")["readers"], json!(["app/default"]));
    case.ok("-C net plan").says(&["read by app/default"]);
    let all = case.ok("plan --all");
    all.says(&["read by app/default"]);
    all.says(&["~ seen  blue → green"]);
    // What a stack with errors reads is not known.
    case.edit("app/stead.yaml", "cidr: 10.98.0.0/16", "cidr: 10.98.0.0/99");
    case.ok("-C net plan").says(&["may be read by app/default, whose configuration has errors"]);
    let outputs = planned(&case, 0, "-C net plan");
    let label = output(&outputs, "label");
    assert_eq!((&label["readers"], &label["possible_readers"]), (&json!([]), &json!(["app/default"])));
    case.edit("app/stead.yaml", "cidr: 10.98.0.0/99", "cidr: 10.98.0.0/16");
    case.edit("net/stead.yaml", "  label: green\n", "");
    let last = case.cloud().last();
    let says = ["output_read", "The output `label` would be removed, and app/default still reads it."];
    case.fails(4, "-C net plan").says(&says);
    case.fails(4, "-C net apply --yes").says(&says);
    let all = case.fails(1, "plan --all --output json").json();
    let net = all["units"].as_array().unwrap().iter().find(|unit| unit["stack"] == "net").unwrap();
    assert_eq!(
        (&net["status"], &net["plan"]["blocks"][0]["code"]),
        (&json!("blocked"), &json!("output_read"))
    );
    assert_eq!(case.cloud().mutations_since(last), Vec::<String>::new());
    // The remedy of the message.
    case.edit("app/stead.yaml", "v-${stacks.net.label}", "v-blue");
    case.edit("app/stead.yaml", "stacks: { net: ../net }\n", "");
    case.edit("app/stead.yaml", "outputs: { seen: $stacks.net.label }\n", "");
    case.ok("-C net apply --yes");
    case.apply_all();
    case.ok("plan --all --exit-code");
    case.fails(1, "-C app output seen").says(&["It recorded no outputs."]);
}

#[test]
fn outputs_of_many_units_are_applied_and_printed_by_unit() {
    let case = repository();
    case.ok("plan --all --exit-code");
    case.edit("net/stead.yaml", "count: 3", "count: 4");
    let document = case.fails(2, "plan --all --exit-code --output json").json();
    assert_eq!((&document["summary"]["outputs"], &document["summary"]["changed"]), (&json!(1), &json!(1)));
    let last = case.cloud().last();
    case.apply_all().says(&["1 applied"]);
    assert_eq!(case.cloud().mutations_since(last), Vec::<String>::new());
    case.ok("plan --all --exit-code");
    let printed = case.ok("output --all --output json").json();
    assert_eq!(printed["summary"], json!({"units": 2, "failed": 0, "outputs": 5}));
    let net = printed["units"].as_array().unwrap().iter().find(|unit| unit["stack"] == "net").unwrap();
    assert_eq!(net["result"]["outputs"]["count"], json!({"secret": false, "value": 4}));
    case.ok("output --all").says(&["app/default\n", "  seen  blue\n", "net/default\n", "  count  4\n"]);
    case.ok("output seen --all --stacks app").says(&["seen  blue"]);
    let some = case.fails(1, "output seen --all");
    some.says(&["seen  blue", "net/default", "recorded no output `seen`"]);
    case.write("new/stead.yaml", "stead: 1\nstack: new\n");
    let run = case.fails(1, "output --all --output json").json();
    assert_eq!(run["summary"]["failed"], json!(1));
}

#[test]
fn what_only_modules_give_is_recorded_by_the_first_apply() {
    let case = Case::example("regions").emulator();
    let first = case.ok("apply --yes");
    assert!(first.stdout.contains("all    ["), "{}", first.stdout);
    case.ok("plan --exit-code").says(&["No changes"]);
}

#[test]
fn one_output_is_written_as_it_is() {
    let case = alone();
    assert_eq!(case.ok("output count --raw").stdout, "3");
    assert_eq!(case.ok("output count").stdout, "3\n");
    let last = case.cloud().last();
    let id = case.cloud().list("/api/v1/vpcs")[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(case.ok("output id --raw").stdout, id);
    case.ok("output").says(&["both   [10.30.0.0/16, blue]\n", "label  blue\n"]);
    let document = case.ok("output --output json").json();
    assert_eq!((&document["stack"], &document["env"]), (&json!("net"), &json!("default")));
    assert_eq!(document["outputs"]["both"]["value"], json!(["10.30.0.0/16", "blue"]));
    assert_eq!(
        case.cloud().requests().iter().filter(|(seq, ..)| *seq > last).count(),
        1,
        "only the list of this test"
    );
    case.fails(64, "output both --raw").says(&["is a list", "--output json"]);
    case.fails(64, "output --raw").says(&["OUTPUT"]);
    case.fails(64, "output id --raw --output json").says(&["exclude each other"]);
    case.fails(1, "output lable").says(&["recorded no output `lable`", "Did you mean `label`?"]);
    case.edit("stead.yaml", "  label: blue\n", "  label: blue\n  later: 1\n");
    let run = case.fails(1, "output later");
    run.says(&["The configuration has it. Apply it: stead apply"]);
    case.ok("apply --yes");
    assert_eq!(case.ok("output later --raw").stdout, "1");
    let fresh = Case::new().file("stead.yaml", NET).emulator();
    fresh.fails(1, "output").says(&["net/default has no recorded outputs", "Apply it first: stead apply"]);
    let offered = case.ok("__complete 2 stead output");
    assert!(offered.stdout.lines().any(|line| line.trim_end() == "label"), "{}", offered.stdout);
}

#[test]
fn a_secret_output_is_planned_by_fingerprint_and_shown_only_on_request() {
    let text = "stead: 1\nstack: s\nvars: { key: { type: secret } }\nvpc: { main: { cidr: 10.1.0.0/16 } }\noutputs: { key: $vars.key, url: \"https://${vars.key}@x/\", open: 1 }\n";
    let case = Case::new().file("stead.yaml", text);
    let recipient = case.ok("secret keygen --out ada").stdout.trim().to_owned();
    let case = case.emulator();
    let run = |code: i32, value: &str, args: &str| {
        let mut command = case.command(args);
        let run = Run::of(
            &command
                .env("STEAD_VAR_key", value)
                .env("STEAD_AGE_IDENTITY", case.path("ada"))
                .output()
                .unwrap(),
        );
        assert_eq!(run.code, code, "stead {args}\n{}\n{}", run.stdout, run.stderr);
        assert!(args.contains("--show") || !run.all().contains(value), "{}", run.all());
        run
    };
    run(0, "first-canary", "apply --yes");
    run(0, "first-canary", "plan --exit-code").says(&["No changes"]);
    let plan = run(2, "second-canary", "plan --exit-code --output json").json();
    let outputs = plan["outputs"].as_array().unwrap().clone();
    assert_eq!(outputs.len(), 2, "{outputs:?}");
    for output in &outputs {
        assert_eq!(
            (&output["secret"], &output["unknown"], &output["cause"]),
            (&json!(true), &json!(false), &json!("outside"))
        );
        assert_ne!(output["before"], output["after"]);
    }
    assert!(output(&outputs, "key")["after"]["fingerprint"].is_string());
    // The ledger does not keep the text.
    run(0, "first-canary", "output").says(&["key   (secret ", "open  1"]);
    run(1, "first-canary", "output key --show").says(&["does not keep the text", "recipients"]);
    run(64, "first-canary", "output key --raw").says(&["is secret", "--show"]);
    // With recipients it does.
    case.write("stead.yaml", format!("{text}secrets: {{ recipients: [{recipient}] }}\n"));
    run(0, "second-canary", "apply --yes");
    assert_eq!(run(0, "second-canary", "output key --show --raw").stdout, "second-canary");
    let shown = run(0, "second-canary", "output --show --output json").json();
    assert_eq!(shown["outputs"]["url"], json!({"secret": true, "value": "https://second-canary@x/"}));
    assert_eq!(
        run(0, "second-canary", "output --output json").json()["outputs"]["key"]["value"],
        Value::Null
    );
    // The ledger keeps no text of a secret inside a list.
    case.edit("stead.yaml", "open: 1", "open: 1, pair: [$vars.key, 1]");
    run(0, "second-canary", "apply --yes");
    let pair = run(0, "second-canary", "output pair --output json").json();
    assert_eq!(pair["outputs"]["pair"], json!({"secret": true, "value": [null, 1]}));
    run(1, "second-canary", "output pair --show").says(&["with secrets inside", "an output for each"]);
    let shown = run(0, "second-canary", "output --show");
    assert_eq!(shown.stderr.matches("not authenticated").count(), 1, "{}", shown.stderr);
    case.edit("stead.yaml", ", pair: [$vars.key, 1]", "");
    // An output that is gone is gone from the kept secrets, too.
    case.edit("stead.yaml", "key: $vars.key, url", "url");
    let kept = || run(0, "second-canary", "secret get --output json").stdout;
    assert!(kept().contains("outputs.key"));
    run(0, "second-canary", "apply --yes");
    assert!(!kept().contains("outputs.key") && kept().contains("outputs.url"), "{}", kept());
    run(0, "second-canary", "plan --exit-code").says(&["No changes"]);
}

#[test]
fn an_output_that_is_null_is_saved_and_applied() {
    let stack = "stead: 1\nstack: shop\nvpc: { main: { cidr: 10.1.0.0/16 } }\noutputs: { nothing: null, id: $vpc.main }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    for (command, done) in
        [("plan -o null.plan", "apply null.plan"), ("plan --destroy -o null.plan", "apply null.plan")]
    {
        case.ok(command);
        case.ok("show null.plan").says(&["nothing"]);
        case.ok(done).says(&["1 done"]);
    }
}

#[test]
fn a_stack_on_the_built_in_cloud_alone_is_not_called_never_applied_without_a_hint() {
    let case = Case::new().file(
        "stead.yaml",
        "stead: 1\nstack: here\nvolume: { d: { size: 10 } }\noutputs: { id: $volume.d }\n",
    );
    let hint = "add --cloud local";
    for command in ["output", "history", "state pull"] {
        let run = case.run(command);
        assert!(!run.all().contains(hint), "{command}: {}", run.all());
    }
    case.ok("apply --cloud local --yes");
    case.fails(1, "output").says(&["was never applied", hint]);
    case.ok("history").says(&["Nothing was applied yet", hint]);
    case.fails(1, "state pull").says(&[hint]);
    for command in ["output", "history", "state pull"] {
        let run = case.ok(&format!("{command} --cloud local"));
        assert!(!run.all().contains(hint), "{command}: {}", run.all());
    }
}

#[test]
fn a_computed_value_that_a_planned_change_gives_another_one_is_not_known() {
    let stack = |plan: &str| {
        format!(
            "stead: 1\nstack: s\nvm: {{ w: {{ template: ubuntu-24.04, plan: {plan} }} }}\n\
             outputs: {{ cpu: $vm.w.cpu, ip: $vm.w.public_ipv4_address, changed: $vm.w.updated_at }}\n"
        )
    };
    let case = Case::new().file("stead.yaml", stack("std-1c-2g")).emulator();
    case.ok("apply --yes");
    case.write("stead.yaml", stack("std-2c-4g"));
    let plan = case.run("plan --output json --exit-code --report tfjson=a.json").json();
    let output = |name: &str| {
        let outputs = plan["outputs"].as_array().unwrap();
        outputs.iter().find(|output| output["name"] == name).unwrap_or(&Value::Null).clone()
    };
    for name in ["cpu", "changed"] {
        assert_eq!(output(name)["unknown"], true, "{plan:#}");
    }
    assert_ne!(output("ip")["unknown"], true, "it stays: {plan:#}");
    let tfjson = std::fs::read_to_string(case.path("a.json")).unwrap();
    let tfjson: Value = serde_json::from_str(&tfjson).unwrap();
    let changes = tfjson["resource_changes"].as_array().unwrap();
    let change = &changes.iter().find(|change| change["address"] == "vm.w").unwrap()["change"];
    assert_eq!(change["after_unknown"]["cpu"], true, "{change}");
    case.ok("apply --yes").says(&["cpu", "2"]);
}

#[test]
fn a_changed_secret_output_of_a_stack_without_resources_is_a_change() {
    let stack = "stead: 1\nstack: up\nvars: { pw: { type: secret } }\noutputs: { pw: $vars.pw, url: \"x${vars.pw}\" }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    let run = |secret: &str, args: &str| {
        Run::of(&case.command(args).env("STEAD_VAR_PW", secret).output().unwrap())
    };
    assert_eq!(run("value-number-1", "apply --yes").code, 0);
    assert_eq!(run("value-number-1", "plan --exit-code").code, 0);
    let plan = run("value-number-2", "plan --exit-code");
    assert_eq!(plan.code, 2, "{}", plan.all());
    plan.says(&["~ pw", "~ url", "2 outputs"]);
    assert_eq!(run("value-number-2", "apply --yes").code, 0);
    assert_eq!(run("value-number-2", "plan --exit-code").code, 0);
}

#[test]
fn documents_have_no_fingerprints_of_what_a_secret_is_computed_from() {
    let stack = "stead: 1\nstack: s\nvars: { s: { type: secret } }\nvpc: { main: { cidr: 10.1.0.0/16 } }\noutputs: { url: \"https://${vars.s}@db\" }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    let run = |args: &str| {
        let run = Run::of(&case.command(args).env("STEAD_VAR_S", "hunter2hunter2").output().unwrap());
        assert_eq!(run.code, 0, "{}", run.all());
        run
    };
    run("apply --yes");
    case.edit("stead.yaml", "@db", "@cache");
    let planned = run("plan --output json").json();
    let recorded = run("history show 1 --output json").json();
    for value in [
        &planned["outputs"][0]["before"],
        &planned["outputs"][0]["after"],
        &recorded["runs"][0]["outputs"][0]["after"],
    ] {
        let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["derived", "secret"], "{value}");
    }
    // The digests in a comment are under the ledger's key, of a decision, and short.
    run("plan --report md=plan.md -o old.plan");
    let comment = std::fs::read_to_string(case.path("plan.md")).unwrap();
    assert!(comment.contains("stead-digests") && !comment.contains("no digests"), "{comment}");
    case.edit("stead.yaml", "@cache", "@other");
    run("plan -o new.plan");
    run("show new.plan --against old.plan").says(&["url"]);
    run("show new.plan --against plan.md").says(&["1 output decided differently", "output url"]);
}

/// A recovery cannot depend on what is broken: of the files, the commands of the ledger need what names it.
#[test]
fn commands_of_the_ledger_need_no_values_and_no_valid_configuration() {
    let text = "stead: 1\nstack: net\nenvironments: { prod: {}, dev: {} }\nvars: { size: { type: int }, key: { type: secret } }\nvpc: { main: { cidr: 10.1.0.0/16 } }\noutputs: { label: blue, size: $vars.size }\n";
    let case = Case::new().file("stead.yaml", text).emulator();
    let applied =
        case.command("-e prod apply --yes --var size=3").env("STEAD_VAR_key", "k3y-of-a-test").output();
    assert!(applied.as_ref().unwrap().status.success(), "{applied:?}");
    let checked = |about: &str| {
        case.ok("-e prod output").says(&["label  blue", "size   3"]);
        assert_eq!(case.ok("-e prod output label --raw").stdout, "blue", "{about}");
        case.ok("-e prod history").says(&["done"]);
        case.ok("-e prod history show --output json").says(&["\"stack\": \"net\"", "\"env\": \"prod\""]);
        case.ok("-e prod state list").says(&["vpc.main"]);
        case.ok("-e prod state verify").says(&["intact"]);
        case.ok("-e prod state pull").says(&["\"vpc.main\""]);
        case.ok("-e prod lock status").says(&["is free"]);
        case.fails(1, "-e prod output lable").says(&["Did you mean `label`?"]);
        case.fails(1, "-e dev output").says(&["net/dev has no recorded outputs"]);
    };
    checked("variables without values");
    case.edit("stead.yaml", "cidr: 10.1.0.0/16", "cidr: 10.1.0.0/99, plan: [$vm.none]");
    case.fails(1, "-e prod plan --var size=3").says(&["error"]);
    checked("a configuration with errors");
    case.fails(1, "output").says(&["no environment is chosen", "stead.yaml:3"]);
    case.fails(1, "-e prdo history").says(&["did you mean `prod`?"]);
    case.write("stead.yaml", "stead: 1\nstack: [\n");
    case.fails(1, "-e prod output").says(&["stead.yaml:2"]);
}

#[test]
fn outputs_of_units_with_errors_and_of_removed_ones_are_printed() {
    let case = repository();
    case.edit("app/stead.yaml", "cidr: 10.98.0.0/16", "cidr: 10.98.0.0/99");
    case.fails(1, "plan --all").says(&["app/default"]);
    let printed = case.ok("output --all --output json").json();
    assert_eq!(printed["summary"], json!({"units": 2, "failed": 0, "outputs": 5}));
    case.write("app/stead.yaml", "");
    case.ok("stacks").says(&["app/default"]);
    case.ok("output --all").says(&["app/default", "  seen  blue"]);
    case.ok("output seen --all --stacks app/default").says(&["seen  blue"]);
}

#[test]
fn what_will_contain_a_secret_is_secret_before_it_is_known() {
    let app = "app: { a: { type: web, repo: acme/shop, branch: main, port: 8080, env_vars: { S: \"${vars.s}-${vpc.main.id}\", T: \"${vpc.main.id}\" } } }";
    let stack = format!(
        "stead: 1\nstack: s\nvars: {{ s: {{ type: secret }} }}\nvpc: {{ main: {{ cidr: 10.1.0.0/16 }} }}\n{app}\noutputs: {{ url: \"https://${{vars.s}}@${{vpc.main.id}}/\", open: \"${{vpc.main.id}}\", computed: \"${{vars.s + '@' + vpc.main.id}}\" }}\n"
    );
    let case = Case::new().file("stead.yaml", stack).emulator();
    let run = |args: &str| {
        let run = Run::of(&case.command(args).env("STEAD_VAR_S", "hunter2hunter2").output().unwrap());
        assert_eq!(run.code, 0, "{}", run.all());
        run
    };
    let planned = run("plan --output json --report tfjson=plan.json -o s.plan").json();
    let outputs = planned["outputs"].as_array().unwrap();
    for (name, secret) in [("url", true), ("computed", true), ("open", false)] {
        let output = output(outputs, name);
        assert_eq!((&output["unknown"], &output["secret"]), (&json!(true), &json!(secret)), "{output}");
    }
    assert_eq!(output(outputs, "url")["after"], json!({"unknown": ["vpc.main"], "secret": true}));
    let changes = planned["changes"].as_array().unwrap();
    let app = changes.iter().find(|change| change["address"] == "app.a").unwrap();
    let variables =
        app["attributes"].as_array().unwrap().iter().find(|one| one["path"] == "env_vars").unwrap();
    assert_eq!((&variables["secret"], &variables["unknown"]), (&json!(true), &json!(["vpc.main"])));
    run("plan").says(&[
        "open",
        "(known once vpc.main is applied)",
        "url",
        "(secret, known once vpc.main is applied)",
    ]);
    let document = std::fs::read_to_string(case.path("plan.json")).unwrap();
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["output_changes"]["url"]["after_sensitive"], json!(true));
    assert_eq!(document["output_changes"]["open"]["after_sensitive"], json!(false));
    let resources = document["resource_changes"].as_array().unwrap();
    let app = resources.iter().find(|one| one["address"].as_str().unwrap().contains("app.a")).unwrap();
    assert_eq!(app["change"]["after_sensitive"]["env_vars"], json!({"S": true}));
    run("apply s.plan");
    assert_eq!(
        run("output --output json").json()["outputs"]["url"],
        json!({"secret": true, "value": null})
    );
}

#[test]
fn an_id_in_a_computed_output_stays_what_an_apply_recorded() {
    let resources = "vpc:\n  main: { cidr: 10.30.0.0/16 }\n  group: { for_each: { a: 1, b: 2 }, cidr: \"10.3${each.value}.0.0/16\" }\nssh_key: { k: { public_key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ9Zqb5+w3qj4QzVAX2GRVjA8dR4Z0mP6G1b8y6q2vXc k } }\n";
    let forms = [
        "${[vpc.main.id, ssh_key.k.id]}",
        "${[vpc.main.id, vpc.main.name, vpc.main.cidr]}",
        "${ {'a': vpc.main.id, 'b': [ssh_key.k.id]} }",
        "${vpc.main.cidr != '' ? vpc.main.id : 'none'}",
        "${values(vpc.group).map(v, v.id)}",
        "id-${vpc.main.id}",
        "${vpc.main.id}",
    ];
    let outputs = forms.iter().enumerate().map(|(n, form)| format!("  o{n}: \"{form}\"\n"));
    let outputs = outputs.collect::<Vec<_>>().concat();
    let reader = "stead: 1\nstack: app\nstacks: { net: ../net }\nvm: { w: { template: ubuntu-24.04, plan: std-1c-1g, vpc: \"${stacks.net.o0[0]}\" } }\noutputs: { vpc: \"${[vm.w.vpc]}\" }\n";
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("net/stead.yaml", format!("stead: 1\nstack: net\n{resources}outputs:\n{outputs}"))
        .file("app/stead.yaml", reader)
        .emulator();
    case.ok("-C net apply --yes");
    let recorded = case.ok("-C net output --output json").json();
    assert!(!recorded.to_string().contains("null"), "{recorded:#}");
    case.ok("-C net plan --exit-code");
    // A reader that is planned together with its upstream unit gets the same value as one that is planned alone.
    case.fails(2, "-C app plan --exit-code").says(&["vm.w", "vpc "]);
    case.fails(2, "plan --all --exit-code").says(&["vm.w", "vpc "]);
    case.apply_all();
    assert_eq!(case.ok("-C net output --output json").json(), recorded);
    let vpc = &case.cloud().list("/api/v1/vms")[0]["vpc_id"];
    let ids: Vec<Value> = case.cloud().list("/api/v1/vpcs").iter().map(|vpc| vpc["id"].clone()).collect();
    assert!(ids.contains(vpc), "{vpc} {ids:?}");
    case.ok("plan --all --exit-code");
}

#[test]
fn every_attribute_is_the_same_alone_and_in_an_expression() {
    for example in ["databases", "shop"] {
        let case = Case::example(example).emulator();
        case.ok("apply --yes");
        let listed = case.ok("ls --output json").json();
        let mut references = Vec::new();
        for object in listed["resources"].as_array().unwrap() {
            let address = object["address"].as_str().unwrap();
            let live = case.ok(&format!("get {address} --output json")).json()["live"].clone();
            let names = live.as_object().unwrap().keys().map(String::as_str).filter(|name| *name != "id");
            references.extend(std::iter::once("id").chain(names).map(|name| format!("{address}.{name}")));
        }
        assert!(references.len() > 100, "{references:?}");
        let in_list = |reference: &String| {
            let mut parts = reference.split('.');
            let root = parts.next().unwrap().to_owned();
            parts.fold(root, |text, part| format!("{text}[\"{part}\"]"))
        };
        let outputs = references.iter().enumerate().map(|(number, reference)| {
            format!("  p{number}: ${reference}\n  l{number}: '${{[{}]}}'\n", in_list(reference))
        });
        case.write("law.stead.yaml", format!("outputs:\n{}", outputs.collect::<Vec<_>>().concat()));
        case.ok("apply --yes");
        case.ok("plan --exit-code");
        let recorded = case.ok("output --output json").json()["outputs"].clone();
        for (number, reference) in references.iter().enumerate() {
            let [alone, list] = ["p", "l"].map(|form| &recorded[format!("{form}{number}")]);
            assert_eq!(alone["secret"], list["secret"], "{reference}");
            if alone["secret"] != true {
                assert_eq!(json!([alone["value"]]), list["value"], "{reference}");
            }
        }
    }
}

/// The children of an object are resources of their own: as a whole they have no value, which an apply would find too late.
#[test]
fn a_collection_of_children_is_no_value() {
    let stack = "stead: 1\nstack: a\n\
        app: { x: { name: x, type: web, image: nginx, port: 80, size: app-s, domains: [d.example.com] } }\n\
        outputs: { all: \"${values(app.x.domains).map(d, d.domain)}\" }\n";
    let case = Case::new().file("stead.yaml", stack);
    let refused = case.fails(1, "validate");
    refused.says(&[
        "this is no attribute",
        "`domains` are resources of their own",
        "`domains.KEY.ATTRIBUTE`",
    ]);
    case.edit("stead.yaml", "values(app.x.domains).map(d, d.domain)", "app.x.domains");
    case.fails(1, "validate").says(&["`domains` are resources of their own"]);
}
