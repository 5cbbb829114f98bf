//! Policies that the plan cannot decide: they are decided before a step with the values that the step sends, or denied in
//! the plan where they never could be. Nothing is deleted before a policy over its replacement is decided.

use serde_json::Value::Null;

use crate::case::Case;

/// Returns a case with a stack of these blocks.
fn stack(blocks: &str) -> Case {
    Case::new().file("stead.yaml", format!("stead: 1\nstack: late\n{blocks}")).emulator()
}

const NETWORK: &str = "vpc: { two: { cidr: 10.2.0.0/16 } }\n\
    vm: { web: { template: ubuntu-24.04, plan: std-1c-1g, vpc: $vpc.two } }\n";

#[test]
fn a_mandatory_policy_over_what_only_the_change_shows_blocks_the_plan() {
    let machine = "vm: { web: { template: ubuntu-24.04, plan: std-1c-1g } }\n";
    for policy in [
        r#"policy: { p: { level: mandatory, deny: "${plan.changes.exists(c, c.kind == 'vm' && c.after.public_ipv4_address != 'x')}", message: no } }"#,
        r#"policy: { p: { on: vm, level: mandatory, deny: "${self.public_ipv4_address != 'x'}", message: no } }"#,
    ] {
        let case = stack(&format!("{machine}{policy}\n"));
        case.fails(4, "apply --yes").says(&["it is mandatory", "a value that it needs is known"]);
        assert!(case.cloud().list("/api/v1/vms").is_empty());
    }
}

#[test]
fn a_value_that_is_not_set_is_the_default_before_the_step_as_in_a_plan() {
    let case = stack(
        r#"vm: { one: { template: ubuntu-24.04, plan: std-1c-1g } }
database:
  main:
    plan: pg-1c-2g
    public_access: true
    public_allowlist: "${vm.one.status == 'active' ? null : ['203.0.113.0/24']}"
policy:
  open: { on: database, level: mandatory, deny: "${self.public_access && self.public_allowlist == []}", message: All. }
"#,
    );
    case.fails(6, "apply --yes").says(&["open: All."]);
    assert!(case.cloud().list("/api/v1/databases").is_empty());
}

#[test]
fn a_reference_is_the_id_before_the_step_as_in_a_plan() {
    let policy = r#"policy: { p: { on: vm, level: mandatory, deny: "${self.vpc.startsWith('zzz')}", message: no } }"#;
    stack(&format!("{NETWORK}{policy}\n")).ok("apply --yes").says(&["Applied: 2 done"]);
    let policy = policy.replace("startsWith('zzz')", "contains('-')");
    let case = stack(&format!("{NETWORK}{policy}\n"));
    case.fails(6, "apply --yes").says(&["p: no"]);
    assert!(case.cloud().list("/api/v1/vms").is_empty());
}

#[test]
fn the_old_object_stays_until_a_policy_over_the_new_one_is_decided() {
    let blocks = |policy: &str| {
        let machine = "vm: { web: { template: ubuntu-24.04, plan: std-1c-1g, vpc: $vpc.one, lifecycle: { replace: delete_first } } }";
        format!("vpc: {{ one: {{ cidr: 10.1.0.0/16 }} }}\n{machine}\n{policy}\n")
    };
    let case = stack(&blocks(""));
    case.ok("apply --yes");
    let machine = case.cloud().list("/api/v1/vms")[0]["id"].clone();
    let policy =
        r#"policy: { p: { on: vm, level: mandatory, deny: "${self.vpc.contains('-')}", message: no } }"#;
    let moved = blocks(policy)
        .replace("$vpc.one", "$vpc.two")
        .replace("16 } }", "16 }, two: { cidr: 10.2.0.0/16 } }");
    case.write("stead.yaml", format!("stead: 1\nstack: late\n{moved}"));
    case.fails(6, "apply --yes")
        .says(&["not decided before the old object is deleted", "Nothing was sent"]);
    case.fails(4, "apply --yes").says(&["p: no"]);
    assert_eq!(case.cloud().list("/api/v1/vms")[0]["id"], machine);
    case.edit("stead.yaml", "contains('-')", "contains('!')");
    case.ok("apply --yes").says(&["Applied: 1 done"]);
    assert_ne!(case.cloud().list("/api/v1/vms")[0]["id"], machine);
}

#[test]
fn a_policy_over_a_secret_that_is_not_known_yet_blocks_the_plan() {
    let case = stack(
        r#"vpc: { two: { cidr: 10.2.0.0/16 } }
vm: { web: { template: ubuntu-24.04, plan: std-1c-1g, user_data: "${vpc.two.id}" } }
policy: { p: { on: vm, level: mandatory, deny: "${self.user_data.contains('-')}", message: no } }
"#,
    );
    case.fails(4, "apply --yes").says(&["p:"]);
    assert!(case.cloud().list("/api/v1/vpcs").is_empty());
}

#[test]
fn an_override_of_a_policy_that_a_step_decides_is_recorded() {
    let policy = r#"policy: { connected: { on: vm, deny: "${self.vpc != null}", message: No network. } }"#;
    let case = stack(&format!("{NETWORK}{policy}\n"));
    case.ok("apply --yes --override connected --reason migration").says(&["overridden: connected"]);
    case.ok("history show").says(&["connected", "migration"]);
}

#[test]
fn an_override_that_no_step_needed_is_not_recorded() {
    let policy = r#"policy: { alone: { on: vm, deny: "${self.vpc == null}", message: No network. } }"#;
    let case = stack(&format!("{NETWORK}{policy}\n"));
    case.ok("plan").says(&["POLICY alone not evaluated yet"]);
    case.ok("apply --yes --override alone --reason migration").says(&["POLICY alone passed"]);
    let run = case.ok("history show --output json").json();
    assert_eq!((&run["runs"][0]["overridden"], &run["runs"][0]["reason"]), (&Null, &Null), "{run}");
    assert_eq!(run["runs"][0]["policies"][0]["verdict"], "pass", "{run}");
    assert!(!case.ok("history show").all().contains("migration"));
}

#[test]
fn a_policy_over_effects_applies_to_a_deletion() {
    let case = stack(
        "database: { a: { plan: pg-free }, b: { plan: pg-free } }\npolicy: { keep: { on: database, \
         level: mandatory, deny: \"${'data_loss' in self.effects}\", message: Data. } }\n",
    );
    case.ok("apply --yes");
    case.edit("stead.yaml", ", b: { plan: pg-free }", "");
    case.fails(4, "apply --yes --delete-data database.b").says(&["keep: Data."]);
}

#[test]
fn a_replacement_whose_deletion_fails_is_partly_applied_and_its_old_object_stays_under_the_policies() {
    let stack = "stead: 1\nstack: shop\nvpc: { main: { cidr: 10.1.0.0/16 } }\nvm:\n  web:\n    template: ubuntu-24.04\n    plan: std-1c-1g\n    vpc: $vpc.main\n    lifecycle: { replace: create_first }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    case.edit("stead.yaml", "ubuntu-24.04", "ubuntu-22.04");
    case.cloud().faults(&["DELETE /vms/*=403:100%"]);
    case.fails(6, "apply --yes").says(&["Partly applied: 0 done, 1 failed"]);
    case.cloud().faults(&[]);
    case.write(
        "stead.yaml",
        format!("{stack}policy:\n  kept: {{ on: vm, level: mandatory, deny: \"${{self.action == 'delete'}}\", message: No deletion. }}\n").replace("24.04", "22.04"),
    );
    let plan = case.fails(4, "plan --output json").json();
    assert_eq!(plan["changes"][0]["action"], "delete", "{plan}");
    assert_eq!(plan["changes"][0]["effects"][0]["code"], "data_loss", "{plan}");
    case.fails(4, "apply --yes").says(&["kept: No deletion."]);
    assert_eq!(case.cloud().list("/api/v1/vms").len(), 2);
    case.write("stead.yaml", stack.replace("24.04", "22.04"));
    case.ok("apply --yes").says(&["Deleted objects with their data: vm.web"]);
}

/// Policies that are decided before the step of the volume, and two that never are.
const DECIDED: &str = r#"vm: { web: { template: ubuntu-24.04, plan: std-1c-1g } }
volume: { data: { size: 10, vm: $vm.web } }
policy:
  passes: { on: volume, level: mandatory, deny: "${self.vm == ''}", message: Attach it. }
  warns: { on: volume, level: advisory, deny: "${self.vm != ''}", message: Attached. }
  over: { on: volume, deny: "${self.vm != ''}", message: Bound. }
  never: { on: vm, level: advisory, deny: "${self.public_ipv4_address != 'x'}", message: Odd address. }
  of_plan: { deny: "${plan.changes.exists(c, c.kind == 'vm' && c.after.public_ipv4_address != 'x')}", message: Odd. }
"#;

/// Returns the name, the verdict and the deciding step of each result.
fn results(policies: &serde_json::Value) -> Vec<(String, String, String)> {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let policies = policies.as_array().unwrap().iter();
    policies
        .map(|one| (text(&one["name"]), text(&one["verdict"]), text(&one["before"]["address"])))
        .collect()
}

fn expected(rows: &[[&str; 3]]) -> Vec<(String, String, String)> {
    rows.iter().map(|[a, b, c]| ((*a).to_owned(), (*b).to_owned(), (*c).to_owned())).collect()
}

const DECISIONS: [[&str; 3]; 5] = [
    ["never", "unknown", ""],
    ["over", "overridden", "volume.data"],
    ["passes", "pass", "volume.data"],
    ["warns", "warn", "volume.data"],
    ["of_plan", "unknown", ""],
];

#[test]
fn the_end_of_an_apply_and_its_reports_say_how_each_policy_was_decided() {
    let case = stack(DECIDED);
    let reports = "--report md=a.md --report json=a.json --report junit=a.xml --report sarif=a.sarif --report html=a.html";
    let run = case.ok(&format!("apply --yes --override over --reason agreed {reports}"));
    run.says(&[
        "POLICY over overridden  volume.data  Bound. (before create volume.data)",
        "POLICY never not decided  vm.web  No step waits for a value that it needs: Odd address.",
        "POLICY of_plan not decided  No step waits for a value that it needs: Odd.",
        "POLICY warns warns  volume.data  Attached. (before create volume.data)",
        "POLICY passes passed  volume.data (before create volume.data)",
    ]);
    let text = |file: &str| std::fs::read_to_string(case.path(file)).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text("a.json")).unwrap();
    assert_eq!(results(&json["outcome"]["policies"]), expected(&DECISIONS), "{json}");
    let parts: [(&str, &[&str]); 4] = [
        (
            "a.md",
            &[
                "**policy over** (overridable) denied the step, and was overridden `volume.data`: Bound. (before create volume.data)",
                "**policy passes** (mandatory) passed `volume.data` (before create volume.data)",
                "**policy never** (advisory) was not decided `vm.web`: No step waits",
            ],
        ),
        (
            "a.html",
            &["(overridable) denied the step, and was overridden", "(mandatory) passed", "was not decided"],
        ),
        (
            "a.xml",
            &[
                "<testcase name=\"policy/passes volume.data\"",
                "<skipped message=\"No step waits for a value that it needs: Odd address.\"/>",
            ],
        ),
        (
            "a.sarif",
            &[
                "volume.data: Bound. (before create volume.data) (overridable: it denied the step, and was overridden)",
                "\"ruleId\": \"policy/warns\"",
                "(advisory: it was not decided)",
            ],
        ),
    ];
    for (file, words) in parts {
        let text = text(file);
        assert!(!text.contains("not evaluated yet"), "{file}: {text}");
        for word in words {
            assert!(text.contains(word), "{file}: {word}\n{text}");
        }
    }
    case.ok("history show").says(&["POLICY", "overridden", "create volume.data", "of_plan", "unknown"]);
    let history = case.ok("history show --output json").json();
    assert_eq!(history["runs"][0]["policies"][1]["before"], "create volume.data", "{history}");
}

#[test]
fn an_apply_that_a_policy_stops_says_which_were_not_decided() {
    let blocks =
        DECIDED.replace("level: advisory, deny: \"${self.vm", "level: mandatory, deny: \"${self.vm");
    let late = "snapshot: { copy: { volume: $volume.data } }\n\
        policy: { later: { on: snapshot, level: mandatory, deny: \"${self.volume == ''}\", message: Later. } }\n";
    let case = stack(&blocks).file("late.stead.yaml", late);
    let lines = case.fails(6, "apply --yes --override over --reason agreed --output ndjson").stdout;
    let last: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    let found = results(&last["policies"]);
    for row in expected(&[["warns", "deny", "volume.data"], ["later", "unknown", ""]]) {
        assert!(found.contains(&row), "{row:?} in {last}");
    }
    assert!(last.to_string().contains("A step that it waits for was not run: Later."), "{last}");
}

#[test]
fn all_policies_of_a_step_are_decided_although_the_first_denies_it() {
    let policies = r#"policy:
  first: { on: vm, level: mandatory, deny: "${self.vpc != null}", message: No network. }
  second: { on: vm, level: mandatory, deny: "${self.vpc.contains('-')}", message: No dash. }
  third: { on: vm, level: mandatory, deny: "${self.vpc == ''}", message: A network. }
"#;
    let case = stack(&format!("{NETWORK}{policies}"));
    let lines = case.fails(6, "apply --yes --output ndjson").stdout;
    let last: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    let decided = [["first", "deny", "vm.web"], ["second", "deny", "vm.web"], ["third", "pass", "vm.web"]];
    assert_eq!(results(&last["policies"]), expected(&decided), "{last}");
    let run = case.fails(4, "apply --yes");
    run.says(&["first: No network.", "second: No dash."]);
}

#[test]
fn an_apply_of_many_units_says_how_each_policy_was_decided() {
    let case = stack(DECIDED).file(".git/HEAD", "ref: refs/heads/main\n");
    let result = case.ok("apply --all --yes --override over --reason agreed --output json").json();
    assert_eq!(results(&result["units"][0]["policies"]), expected(&DECISIONS), "{result}");
    case.ok("history show").says(&["overridden", "create volume.data"]);
    let case = stack(DECIDED).file(".git/HEAD", "ref: refs/heads/main\n");
    let run = case.ok("apply --all --yes --override over --reason agreed");
    run.says(&["late/default\nPOLICY over overridden  volume.data", "POLICY never not decided  vm.web"]);
}
