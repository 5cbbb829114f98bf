//! Policies: levels, overrides, facts of the environment, policies of the settings, and exposures.

use crate::case::Case;

const STACK: &str = "\
stead: 1
stack: shop
volume: { data: { size: 10 } }
policy:
  small: { on: volume, deny: \"${self.size > 15}\", message: Volumes are small here. }
";

fn with_size(case: &Case, size: u32) {
    case.write("stead.yaml", STACK.replace("size: 10", &format!("size: {size}")));
}

/// Returns a repository on a branch, with a stack that only `main` may change.
fn on_branch(branch: &str) -> Case {
    let stack = format!(
        "{STACK}  from_main: {{ deny: \"${{branch != 'main' && size(plan.changes) > 0}}\", message: Merge first. }}\n"
    );
    Case::new()
        .file("stead.yaml", stack)
        .file(".git/HEAD", format!("ref: refs/heads/{branch}\n"))
        .emulator()
}

#[test]
fn a_level_decides_what_a_denial_does() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    with_size(&case, 20);
    case.fails(4, "plan").says(&["small: Volumes are small here.", "--override small"]);
    case.edit("stead.yaml", "on: volume,", "on: volume, level: advisory,");
    let plan = case.ok("plan --output json").json();
    assert_eq!(
        (&plan["policy"][0]["verdict"], &plan["policy"][0]["level"]),
        (&"warn".into(), &"advisory".into())
    );
    case.ok("plan").says(&["POLICY small warns", "Volumes are small here."]);
    case.ok("validate").says(&["is valid", "S0297", "Volumes are small here."]);
    case.write(".git/HEAD", "ref: refs/heads/main\n");
    case.ok("validate --all --report junit=valid.xml").says(&["1 unit of 1 stack", "valid", "S0297"]);
    assert!(!std::fs::read_to_string(case.path("valid.xml")).unwrap().contains("<failure"));
    case.ok("apply --yes");
    with_size(&case, 25);
    case.edit("stead.yaml", "on: volume,", "on: volume, level: mandatory,");
    case.fails(4, "plan").says(&["it is mandatory, so nothing overrides it"]);
    case.fails(64, "apply --yes --override small --reason because").says(&["small is mandatory"]);
    case.edit("stead.yaml", "level: mandatory", "level: mandatry");
    case.fails(1, "plan").says(&["stead.yaml:5:", "did you mean `mandatory`?"]);
}

#[test]
fn an_override_works_for_destroy_and_for_many_units() {
    let case = Case::new().file(".git/HEAD", "ref: refs/heads/main\n").file("stead.yaml", STACK).emulator();
    case.ok("apply --yes");
    case.edit("stead.yaml", "${self.size > 15}", "${self.size > 5}");
    case.edit("stead.yaml", "size: 10", "size: 11");
    let plan = case.fails(4, "plan --all --output json").json();
    let fingerprint = plan["fingerprint"].as_str().unwrap();
    case.fails(4, "apply --all --yes");
    case.fails(64, "apply --all --yes --override smal --reason because").says(&["Did you mean small?"]);
    case.ok(&format!("apply --all --expect {fingerprint} --override small --reason because"));
    case.ok("history show").says(&["overridden", "small: because"]);
    case.edit("stead.yaml", "${self.size > 5}", "${self.action == 'delete'}");
    case.edit("stead.yaml", "size: 11 }", "size: 11, lifecycle: { on_remove: delete } }");
    case.ok("apply --yes");
    case.fails(4, "destroy --yes --confirm shop").says(&["stead destroy --override small"]);
    case.ok("destroy --yes --confirm shop --override small --reason done");
    case.ok("history show").says(&["overridden", "small: done"]);
}

#[test]
fn a_saved_plan_is_judged_again_by_the_branch_at_apply() {
    let case = on_branch("fix");
    case.fails(4, "plan -o held.plan").says(&["from_main: Merge first."]);
    let text = case.fails(4, "plan --output json -v");
    let result = &text.json()["policy"][1];
    assert_eq!(
        result["context"][0],
        serde_json::json!({"fact": "branch", "claimed": true, "value": "fix"})
    );
    case.write(".git/HEAD", "ref: refs/heads/main\n");
    let here = case.ok("plan --output json").json();
    assert_eq!(here["fingerprint"], text.json()["fingerprint"]);
    case.ok("apply held.plan");
    case.edit("stead.yaml", "size: 10", "size: 12");
    case.ok("plan -o open.plan");
    case.write(".git/HEAD", "ref: refs/heads/fix\n");
    case.fails(4, "apply open.plan").says(&["nothing was applied", "from_main: Merge first. Change what"]);
    let fingerprint =
        case.fails(4, "plan --output json").json()["fingerprint"].as_str().unwrap().to_owned();
    case.fails(4, &format!("apply --expect {fingerprint}"));
    case.edit(
        "stead.yaml",
        "policy:\n",
        "policy:\n  never: { deny: \"${plan.update > 0}\", message: Change nothing. }\n",
    );
    case.fails(4, "plan -o both.plan");
    // One override is not enough: the refusal names the other, and a command that works.
    case.fails(4, "apply both.plan --override from_main --reason agreed").says(&[
        "blocked by 1 problem",
        "never: Change nothing.",
        "stead apply both.plan --override from_main --override never --reason",
    ]);
    case.ok("apply both.plan --override from_main --override never --reason agreed");
}

#[test]
fn policies_of_the_settings_hold_for_every_stack() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    case.write("settings/settings.toml", "policies = [\"rules\"]\n");
    let rule = "stead: 1\npolicy:\n  tiny: { on: volume, level: mandatory, deny: \"${self.size > 5}\", message: Tiny only. }\n";
    case.write("settings/rules/tiny.stead.yaml", rule);
    let run = |args: &str| {
        let output = case.command(args).env("STEAD_CONFIG_DIR", case.path("settings")).output().unwrap();
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        (output.status.code().unwrap(), text)
    };
    let (code, text) = run("plan");
    assert!(
        code == 4 && text.contains("tiny: Tiny only.") && text.contains("tiny.stead.yaml"),
        "{code}\n{text}"
    );
    let (code, text) = run("apply --yes --override tiny --reason because");
    assert!(code == 64 && text.contains("mandatory"), "{code}\n{text}");
    // The same stack has the same fingerprint without the settings: they are not part of it.
    case.edit("stead.yaml", "small:", "tiny:");
    let (code, text) = run("plan");
    assert!(code == 1 && text.contains("have a policy `tiny` already"), "{code}\n{text}");
    case.edit("stead.yaml", "tiny:", "small:");
    case.write("settings/rules/tiny.stead.yaml", rule.replace("self.size > 5", "self.size > vars.most"));
    // A variable that the stack declares, one that it does not, and a local: the remedy is the same, and works.
    for read in ["vars.most", "vars.other", "locals.most"] {
        let condition = format!("self.size > {read}");
        case.write("settings/rules/tiny.stead.yaml", rule.replace("self.size > 5", &condition));
        let (code, text) = run("plan");
        assert!(code == 1 && text.contains("write the value itself"), "{code}\n{text}");
        assert!(text.contains("tiny.stead.yaml:3:") && !text.contains("declare it"), "{text}");
    }
    let condition = "unit == 'shop/default' && self.size > 50 || stack == '' && self.size > 6";
    case.write("settings/rules/tiny.stead.yaml", rule.replace("self.size > 5", condition));
    let (code, text) = run("validate");
    assert_eq!(code, 0, "{text}");
    // A missing directory would silently lift its policies.
    case.write("settings/file", "");
    for (directory, why) in [("nothing", "does not exist"), ("file", "is no directory")] {
        case.write("settings/settings.toml", format!("policies = [\"{directory}\"]\n"));
        let (code, text) = run("plan");
        assert!(code == 64 && text.contains(why) && text.contains("Correct the setting"), "{code}\n{text}");
        assert!(!text.contains("os error"), "{text}");
    }
}

#[test]
fn a_step_waits_for_the_values_that_a_policy_reads() {
    let stack = "\
stead: 1
stack: shop
vm: { web: { template: ubuntu-24.04, plan: std-1c-1g } }
volume: { data: { size: 10, vm: $vm.web } }
policy:
  loose: { on: volume, level: LEVEL, deny: \"${self.vm != ''}\", message: No attached volumes. }
";
    let case = Case::new().file("stead.yaml", stack.replace("LEVEL", "mandatory")).emulator();
    case.ok("plan").says(&["POLICY loose not evaluated yet"]);
    case.fails(6, "apply --yes").says(&["1 done, 1 failed", "loose: No attached volumes."]);
    case.write("stead.yaml", stack.replace("LEVEL", "overridable"));
    case.fails(4, "plan").says(&["loose: No attached volumes."]);
}

#[test]
fn exposures_warn_and_are_explained() {
    let stack = "\
stead: 1
stack: shop
vpc: { main: { cidr: 10.0.0.0/16 } }
database: { main: { plan: pg-1c-2g, public_access: true } }
";
    let case = Case::new().file("stead.yaml", stack).emulator();
    let plan = case.ok("plan --output json").json();
    assert_eq!(plan["changes"][0]["effects"][0]["code"], "exposure");
    assert_eq!(
        (&plan["policy"][0]["name"], &plan["policy"][0]["verdict"]),
        (&"X01".into(), &"warn".into())
    );
    case.ok("plan").says(&["! X01: it is public, and any address may connect", "POLICY X01 warns"]);
    case.ok("plan --report sarif=a.sarif --report md=a.md --report html=a.html -q");
    for (file, text) in [("a.sarif", "exposure/X01"), ("a.md", "X01"), ("a.html", "X01")] {
        assert!(std::fs::read_to_string(case.path(file)).unwrap().contains(text), "{file}");
    }
    case.ok("apply --yes");
    case.ok("drift").says(&["X01 warns"]);
    assert_eq!(case.ok("drift --output json").json()["exposures"][0]["name"], "X01");
    let allowed = "public_access: true, allow_exposure: [{ code: X01, reason: a demo, until: 2999-01-31 }]";
    case.edit("stead.yaml", "public_access: true", allowed);
    let plan = case.ok("plan --output json").json();
    assert_eq!(plan["policy"][0]["verdict"], "allowed");
    case.edit("stead.yaml", "code: X01", "code: X06");
    case.fails(1, "plan").says(&["S0277", "X06 is about vm", "codes are: X01, X02, X03"]);
    case.ok("explain X01").says(&["every address on the internet", "public_allowlist"]);
    case.ok("explain exposure").says(&["X01", "X06", "ports of a VM"]);
    case.ok("explain policy.now").says(&["Date of the service"]);
    case.ok("explain policy.plan.changes.effects").says(&["data_loss"]);
    case.fails(64, "explain policy.nov").says(&["Did you mean policy.now?"]);
    case.ok("explain policy").says(&["Facts in its condition", "actor", "now", "plan", "self"]);
    case.ok("explain policy.plan").says(&[
        "plan as a whole",
        "Facts inside",
        "plan.changes",
        "plan.due_now",
    ]);
    case.ok("explain policy.self").says(&["Facts inside", "self.action", "self.effects"]);
    case.write(
        "stead.yaml",
        "stead: 1\nstack: x\npolicy: { p: { deny: \"${quorum > 1}\", message: m } }\n",
    );
    case.fails(1, "validate").says(&["`quorum` is not available", "a policy reads actor, branch, env"]);
}

#[test]
fn a_policy_reads_the_key_of_an_instance_that_left_for_each() {
    let stack = |keys: &str| {
        format!(
            "stead: 1\nstack: s\nvm: {{ web: {{ for_each: {keys}, template: ubuntu-24.04, plan: std-1c-2g }} }}\n\
             database: {{ d: {{ plan: pg-1c-2g, users: {{ u: {{ for_each: {keys}, name: \"u_${{each.key}}\" }} }} }} }}\nvpc: {{ v: {{ cidr: 10.0.0.0/16 }} }}\n"
        )
    };
    let rule = "policy: { keep: { on: [vm, database_user, vpc], level: mandatory, deny: \"${self.action == 'delete' && self.key == 'b'}\", message: keep b } }\n";
    let case = Case::new().file("stead.yaml", stack("[a, b]") + rule).emulator();
    case.ok("apply --yes");
    case.write("stead.yaml", stack("[a]") + rule);
    let refused = case.fails(4, "apply --yes --delete-data vm.web.b --allow-deletes");
    for address in ["vm.web.b", "database.d.users.u.b"] {
        assert!(refused.all().contains(address), "{}", refused.all());
    }
    case.ok("ls").says(&["vm.web.b"]);
    // What has no key has none when it is deleted, either.
    case.write(
        "stead.yaml",
        stack("[a, b]").replace("vpc: { v: { cidr: 10.0.0.0/16 } }\n", "") + &rule.replace("'b'", "'v'"),
    );
    case.ok("plan").says(&["- vpc.v"]);
}

#[test]
fn a_fact_without_an_object_equals_null_and_has_attributes_that_do() {
    let case = Case::new().emulator();
    let plan = |policy: &str, exit: i32| {
        case.write(
            "stead.yaml",
            format!("stead: 1\nstack: g\nvolume: {{ a: {{ size: 20 }} }}\npolicy: {{ p: {policy} }}\n"),
        );
        case.fails(exit, "plan");
    };
    let denials = [
        ("{ on: volume, deny: \"${self.before == null}\", message: new }", 4, 0),
        ("{ on: volume, deny: \"${null != self.before && self.before.size < 30}\", message: old }", 0, 4),
        ("{ on: volume, deny: \"${self.before.size == null}\", message: new }", 4, 0),
        ("{ on: volume, deny: \"${self.before['size'] == null}\", message: new }", 4, 0),
        ("{ deny: \"${plan.changes.exists(c, c.before == null)}\", message: new }", 4, 0),
        ("{ deny: \"${plan.destroy && plan.changes.exists(c, c.after == null)}\", message: gone }", 0, 0),
    ];
    for (policy, new, _) in denials {
        plan(policy, new);
    }
    case.write("stead.yaml", "stead: 1\nstack: g\nvolume: { a: { size: 20 } }\n");
    case.ok("apply --yes");
    for (policy, _, old) in denials {
        plan(policy, old);
    }
    case.fails(4, "plan --destroy").says(&["p: gone"]);
}

#[test]
fn a_policy_on_kinds_that_reads_the_plan_is_refused_offline() {
    let case = Case::new().file(
        "stead.yaml",
        "stead: 1\nstack: g\nvolume: { a: { size: 20 } }\npolicy: { p: { on: volume, deny: \"${plan.create > 0}\", message: no } }\n",
    );
    case.fails(1, "validate").says(&["S0295", "only a policy without `on` reads", "stead.yaml:4"]);
    case.edit("stead.yaml", "plan.create > 0", "vars == null");
    case.fails(1, "validate").says(&["`vars` is read by name"]);
}

#[test]
fn explain_knows_the_attributes_below_a_fact() {
    let case = Case::new();
    case.ok("explain policy.self.plan")
        .says(&["planned value of the attribute plan", "database, node_pool, vm"]);
    case.ok("explain policy.self.before.size").says(&["live value of the attribute size", "volume"]);
    case.ok("explain policy.plan.changes.after.size").says(&["planned value"]);
    case.fails(64, "explain policy.self.nothing").says(&["unknown topic"]);
    for fact in ["self.effects", "plan.changes.effects"] {
        case.ok(&format!("explain policy.{fact}")).says(&["not part of the fingerprint"]);
    }
}

#[test]
fn a_blocker_says_what_the_environment_claims() {
    let stack = "stead: 1\nstack: g\nvolume: { a: { size: 20 }, b: { size: 30 } }\npolicy:\n  p: { deny: \"${branch != 'main'}\", message: Only main. }\n  q: { on: volume, level: mandatory, deny: \"${branch != 'main'}\", message: Only main. }\n  r: { on: volume, deny: \"${self.size > 1}\", message: Small. }\n";
    let case =
        Case::new().file(".git/HEAD", "ref: refs/heads/feature\n").file("stead.yaml", stack).emulator();
    for command in ["plan", "plan -v", "plan --all"] {
        let run = case.fails(4, command);
        let text = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        let claims = "(as the environment claims: branch feature)";
        assert!(text.contains(&format!("p: Only main. {claims}")), "{command}: {}", run.stdout);
        assert!(text.contains(&format!("q: Only main. {claims}")), "{command}: {}", run.stdout);
        assert!(!text.contains(&format!("Small. {claims}")), "{command}: {}", run.stdout);
    }
}
