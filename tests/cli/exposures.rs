//! Exposures and policies of the settings: silencers in both languages, many units, and what a stack cannot lower.

use crate::case::{Case, Run};

const NETWORK: &str = "vpc: { main: { cidr: 10.0.0.0/16 } }\n";

/// Returns a stack with a public database and this silencer.
fn public(stack: &str, silencer: &str) -> String {
    format!(
        "stead: 1\nstack: {stack}\ndatabase: {{ main: {{ name: {stack}, plan: pg-1c-2g, public_access: true{silencer} }} }}\n"
    )
}

/// Returns the verdict on an exposure and its message.
fn verdict(results: &serde_json::Value, code: &str) -> (String, String) {
    let result = results.as_array().unwrap().iter().find(|one| one["name"] == code);
    let result = result.unwrap_or_else(|| panic!("no {code} in {results}"));
    let text = |key: &str| result[key].as_str().unwrap().to_owned();
    (text("verdict"), text("message"))
}

#[test]
fn a_silencer_in_kdl_allows_until_its_last_day_on_plan_and_drift() {
    let stack = "\
stead 1
stack shop
database main plan=pg-1c-2g public_access=#true {
  allow_exposure {
    - code=X01 reason=\"a demo\" until=\"2999-01-31\"
    - code=X03 reason=\"all clients use TLS\"
  }
}
";
    let case = Case::new().file("stead.kdl", stack).emulator();
    let plan = case.ok("plan --output json").json();
    assert_eq!(verdict(&plan["policy"], "X01").0, "allowed", "{plan}");
    assert!(verdict(&plan["policy"], "X01").1.contains("allowed until 2999-01-31: a demo"), "{plan}");
    assert!(!case.ok("plan").all().contains("X01"));
    case.ok("apply --yes");
    assert!(!case.ok("drift").all().contains("X01"));
    case.edit("stead.kdl", "2999-01-31", "2020-01-31");
    let ended = "POLICY X01 warns  database.main  it is public, and any address may connect; its allow_exposure ended";
    case.ok("plan").says(&["No changes", ended]);
    case.ok("drift").says(&[ended]);
    let drift = case.ok("drift --output json").json();
    assert_eq!(verdict(&drift["exposures"], "X01").0, "warn", "{drift}");
    case.edit("stead.kdl", "code=X01", "code=X99");
    case.fails(1, "plan").says(&["S0277", "X99", "stead.kdl:5", "did you mean `X01`?"]);
    case.edit("stead.kdl", "code=X99 reason=\"a demo\"", "code=X01");
    case.fails(1, "validate").says(&["S0277", "`reason`", "stead.kdl:5"]);
}

#[test]
fn each_unit_has_its_own_silencers() {
    let case = Case::new().file(".git/HEAD", "ref: refs/heads/main\n").emulator();
    case.write("a/stead.yaml", public("a", ", allow_exposure: [{ code: X01, reason: a demo }]"));
    case.write("b/stead.yaml", public("b", ""));
    let plan = case.ok("plan --all --output json").json();
    for unit in plan["units"].as_array().unwrap() {
        let wanted = if unit["stack"] == "a" { "allowed" } else { "warn" };
        assert_eq!(verdict(&unit["plan"]["policy"], "X01").0, wanted, "{unit}");
    }
    let text = case.ok("plan --all --report md=a.md --report sarif=a.sarif");
    assert_eq!(text.stdout.matches("POLICY X01 warns").count(), 1, "{}", text.stdout);
    let report = |file: &str| std::fs::read_to_string(case.path(file)).unwrap();
    assert_eq!(report("a.md").matches("**policy X01**").count(), 1, "{}", report("a.md"));
    assert!(report("a.sarif").contains("b/default: database.main: it is public"), "{}", report("a.sarif"));
    case.ok("apply --all --yes");
    let drift = case.ok("drift --all");
    assert_eq!(drift.stdout.matches("POLICY X01 warns").count(), 1, "{}", drift.stdout);
    case.edit("a/stead.yaml", "a demo", "a demo, until: 2020-01-31");
    let drift = case.ok("drift --all");
    assert_eq!(drift.stdout.matches("POLICY X01 warns").count(), 2, "{}", drift.stdout);
    case.edit("a/stead.yaml", "X01", "X44");
    case.fails(1, "plan --all").says(&["S0277", "a/stead.yaml:3"]);
}

#[test]
fn what_every_object_begins_with_is_one_line() {
    let machines = "vm:\n  web:\n    for_each: [a, b, c, d, e]\n    template: ubuntu-24.04\n    plan: std-1c-1g\n  own: { template: ubuntu-24.04, plan: std-1c-1g, allow_exposure: [{ code: X06, reason: no console }] }\n";
    let case = Case::new().file("stead.yaml", format!("stead: 1\nstack: shop\n{machines}")).emulator();
    let line = "POLICY X06 warns  vm.web.a, vm.web.b, vm.web.c and 2 more  its web console asks for no";
    let plan = case.ok("plan --report md=a.md --report html=a.html --report tfjson=a.json");
    plan.says(&[line]);
    // As a check of Terraform that fails and only warns.
    let tfjson = std::fs::read_to_string(case.path("a.json")).unwrap();
    let tfjson: serde_json::Value = serde_json::from_str(&tfjson).unwrap();
    let check = &tfjson["checks"][0];
    assert_eq!((&check["address"]["name"], &check["status"]), (&"X06".into(), &"fail".into()), "{check}");
    let display = |instance: &serde_json::Value| instance["address"]["to_display"].clone();
    let instances = check["instances"].as_array().unwrap();
    assert!(
        instances.iter().any(|one| display(one) == "vm.web[\"a\"]" && one["status"] == "fail"),
        "{check}"
    );
    assert!(instances.iter().any(|one| display(one) == "vm.own" && one["status"] == "pass"), "{check}");
    assert_eq!(plan.stdout.matches("POLICY X06").count(), 1, "{}", plan.stdout);
    let md = std::fs::read_to_string(case.path("a.md")).unwrap();
    let words =
        "**policy X06** (advisory) warns `vm.web.a`, `vm.web.b`, `vm.web.c` and 2 more: its web console";
    assert!(md.contains(words), "{md}");
    let html = std::fs::read_to_string(case.path("a.html")).unwrap();
    assert!(html.contains("and 2 more") && html.contains("all 5 resources"), "{html}");
    case.ok("apply --yes");
    let all =
        "POLICY X06 warns  vm.web.a, vm.web.b, vm.web.c, vm.web.d, vm.web.e  its web console asks for no";
    case.ok("plan -v").says(&["No changes", all]);
    case.ok("drift -v").says(&[all]);
    // Without changes, what every object begins with is a count, and the page stays one line.
    for command in ["plan", "drift"] {
        let quiet = case.ok(command);
        quiet.says(&["5 policy warnings, see -v"]);
        assert_eq!(quiet.stdout.lines().count(), 1, "{}", quiet.stdout);
    }
    // What a change does to an object is before what is true of every object.
    case.edit("stead.yaml", "std-1c-1g\n  own", "std-2c-4g\n  own");
    case.ok("plan --report md=a.md");
    let md = std::fs::read_to_string(case.path("a.md")).unwrap();
    let position = |text: &str| md.find(text).unwrap_or_else(|| panic!("no {text} in {md}"));
    assert!(position("are changed**") < position("**policy X06**"), "{md}");
}

#[test]
fn units_without_changes_show_what_their_policies_warn_of() {
    let machine = "vm: { w: { template: ubuntu-24.04, plan: std-1c-1g } }\n";
    let case = Case::new().file(".git/HEAD", "ref: refs/heads/main\n").emulator();
    case.write("a/stead.yaml", public("a", ""));
    case.write("b/stead.yaml", format!("stead: 1\nstack: b\n{NETWORK}{machine}"));
    case.ok("apply --all --yes");
    // What every object begins with is counted.
    for command in ["plan", "drift"] {
        let shown = case.ok(&format!("{command} --all --report md=a.md --report html=a.html"));
        shown.says(&["POLICY X01 warns  database.main", "1 policy warning, see -v"]);
        assert!(!shown.all().contains("X06"), "{}", shown.all());
        let md = std::fs::read_to_string(case.path("a.md")).unwrap();
        assert!(md.contains("**policy X01**") && !md.contains("**policy X06**"), "{md}");
        let html = std::fs::read_to_string(case.path("a.html")).unwrap();
        let visible = html.split("<script").next().unwrap();
        assert!(visible.contains("it is public, and any address may connect"), "{visible}");
    }
    case.ok("plan --all").says(&["No changes · b/default · 1 policy warning, see -v"]);
    case.ok("plan --all -v").says(&["POLICY X01 warns  database.main", "POLICY X06 warns  vm.w"]);
}

#[test]
fn policies_of_the_settings_hold_for_every_unit_and_no_stack_lowers_them() {
    let case = Case::new().file(".git/HEAD", "ref: refs/heads/main\n").emulator();
    let rule = "stead: 1\npolicy:\n  tiny: { on: vpc, level: mandatory, deny: \"${!self.cidr.endsWith('/16')}\", message: Only /16. }\n";
    case.write("settings/settings.toml", "policies = [\"rules\"]\n");
    case.write("settings/rules/tiny.stead.yaml", rule);
    let stack = |name: &str| format!("stead: 1\nstack: {name}\n{}", NETWORK.replace("main", name));
    case.write("a/stead.yaml", stack("a"));
    case.write("b/stead.yaml", stack("b").replace("10.0.0.0/16", "10.1.0.0/24"));
    let run = |args: &str| {
        Run::of(&case.command(args).env("STEAD_CONFIG_DIR", case.path("settings")).output().unwrap())
    };
    let plan = run("plan --all");
    assert_eq!(plan.code, 4, "{}", plan.all());
    plan.says(&["tiny: Only /16.", "it is mandatory, so nothing overrides it", "1 blocked"]);
    let refused = run("apply --all --yes --override tiny --reason because");
    assert_eq!(refused.code, 64, "{}", refused.all());
    refused.says(&["the policy tiny is mandatory"]);
    let applied = run("apply --all --yes");
    assert_eq!(applied.code, 6, "{}", applied.all());
    assert_eq!(case.cloud().list("/api/v1/vpcs").len(), 1, "the other unit is applied");
    // A policy of the same name would lower it: an error, and nothing is planned for the unit.
    let own = "policy: { tiny: { on: vpc, level: advisory, deny: \"${false}\", message: Fine. } }\n";
    case.write("b/stead.yaml", stack("b").replace("10.0.0.0/16", "10.1.0.0/24") + own);
    for command in ["plan --all", "validate --all", "-C b plan"] {
        let shadowed = run(command);
        assert_eq!(shadowed.code, 1, "{command}: {}", shadowed.all());
        shadowed.says(&["have a policy `tiny` already"]);
    }
    // Neither an override of its level in an environment's values, nor a silencer, has an effect on it.
    case.write(
        "b/stead.yaml",
        stack("b")
            .replace("10.0.0.0/16", "10.1.0.0/24")
            .replace(" } }", ", allow_exposure: [{ code: tiny, reason: no }] } }"),
    );
    run("plan --all").says(&["S0277"]);
}
