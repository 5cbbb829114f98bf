//! Policies that the plan cannot decide: they are decided before a step with the values that the step sends, or denied in
//! the plan where they never could be. Nothing is deleted before a policy over its replacement is decided.

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
