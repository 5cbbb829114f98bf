//! Reuse: modules, includes, lookups, other stacks' outputs, and the commands that explain them.

use serde_json::Value;

use crate::case::Case;

const NETWORK: &str = "stead: 1\nstack: network\nvpc: { main: { cidr: 10.30.0.0/16 } }\nvars: { token: { type: secret, default: canary-77 } }\noutputs: { vpc_id: $vpc.main, cidr: $vpc.main.cidr, token: $vars.token }\n";

#[test]
fn a_stack_reads_the_outputs_of_another() {
    let case = Case::new().emulator().file(".git", "").file("network/stead.yaml", NETWORK).file(
        "shop/stead.yaml",
        "stead: 1\nstack: shop\nstacks: { net: ../network }\nvm: { web: { template: ubuntu-24.04, plan: std-1c-1g, vpc: $stacks.net.vpc_id } }\noutputs: { where: \"in ${stacks.net.cidr}\" }\n",
    );
    case.ok("validate -C shop");
    case.fails(1, "plan -C shop").says(&["S0321", "was not applied yet", "apply that stack first"]);
    case.ok("apply -C network --yes");
    let ledger: String = ["network/.stead/ledger"].iter().map(|dir| all_below(&case.path(dir))).collect();
    assert!(ledger.contains("vpc_id") && !ledger.contains("canary-77"), "{ledger}");
    let plan = case.ok("plan -C shop --output json").json();
    case.ok("apply -C shop --yes").says(&["in 10.30.0.0/16"]);
    case.ok("plan -C shop --exit-code");
    let fingerprint = |plan: &Value| plan["fingerprint"].as_str().unwrap().to_owned();
    assert!(!fingerprint(&plan).is_empty());
    for place in ["file:books", "file:./others"] {
        case.fails(1, &format!("plan -C shop --backend {place}")).says(&["was not applied yet"]);
    }
    case.ok("state migrate -C network --to file:books --yes");
    case.fails(4, "plan -C shop --backend file:books").says(&["exists already"]);
    case.edit("shop/stead.yaml", "../network", "../nowhere");
    case.fails(1, "plan -C shop").says(&["there is no stack in this directory", "stead.yaml:3:16"]);
    std::fs::create_dir_all(case.path("nowhere/stead.yaml")).unwrap();
    case.fails(1, "plan -C shop").says(&["cannot be read as a stack", "nowhere/stead.yaml: "]);
    case.edit("shop/stead.yaml", "../nowhere", "../network");
    case.edit("shop/stead.yaml", "$stacks.net.vpc_id", "$stacks.net.vpcid");
    case.fails(1, "plan -C shop --backend file:books")
        .says(&["no such output", "did you mean `$stacks.net.vpc_id`?"]);
    case.edit("shop/stead.yaml", "$stacks.net.vpcid", "$stacks.net.token");
    case.fails(1, "plan -C shop --backend file:books").says(&["secret", "fingerprint"]);
}

fn all_below(path: &std::path::Path) -> String {
    let Ok(entries) = std::fs::read_dir(path) else {
        return std::fs::read_to_string(path).unwrap_or_default();
    };
    entries.map(|entry| all_below(&entry.unwrap().path())).collect()
}

#[test]
fn an_unmanaged_object_is_looked_up_and_left_alone() {
    let shop = "stead: 1\nstack: shop\ndata: { vpc: { net: { name: main } } }\nvm: { web: { template: ubuntu-24.04, plan: std-1c-1g, vpc: $data.vpc.net } }\noutputs: { cidr: \"${data.vpc.net.cidr}\" }\n";
    let case = Case::new().emulator().file("network/stead.yaml", NETWORK).file("shop/stead.yaml", shop);
    case.ok("validate -C shop");
    case.fails(1, "plan -C shop").says(&["S0321", "there is no vpc with name `main`"]);
    case.ok("apply -C network --yes");
    case.ok("apply -C shop --yes").says(&["10.30.0.0/16"]);
    case.ok("plan -C shop --exit-code");
    case.ok("destroy -C shop --yes --confirm shop");
    assert_eq!(case.cloud().list("/api/v1/vpcs").len(), 1);
    case.edit("shop/stead.yaml", "{ name: main }", "{ cidr: 10.30.0.0/16, name: mian }");
    case.fails(1, "plan -C shop").says(&["Found: main"]);
    case.write(
        "network/more.stead.yaml",
        "data: { vpc: { own: { name: main } } }\noutputs: { own: $data.vpc.own }\n",
    );
    case.fails(1, "plan -C network").says(&["finds an object that this stack manages", "$vpc.main"]);
}

#[test]
fn modules_are_confined_and_addressed() {
    let case = Case::example("regions").emulator();
    case.ok("apply --yes --target sites.north.vpc.own").says(&["sites.north.vpc.own"]);
    case.ok("apply --yes");
    case.ok("ls").says(&["sites.north.vm.gate", "sites.south.vm.web"]);
    case.ok("get sites.north.vpc.own").says(&["10.41.0.0/16"]);
    case.fails(4, "plan -e live").says(&["sites.north.vm.web", "std-2c-4g"]);
    let other = Case::new().file("m/stead.yaml", "vars: { a: {} }\nvpc: { v: { cidr: $vars.a } }\n").file(
        "s/stead.yaml",
        "stead: 1\nstack: s\nuse: { m: { source: ../m, with: { a: 10.0.0.0/33 } } }\n",
    );
    other.fails(1, "validate -C s").says(&["S0312", "`--allow-"]);
    other.fails(1, "validate -C s --allow-outside").says(&["S0224", "m/stead.yaml:2", "used here as m"]);
    let shown = other.fails(1, "validate -C s --allow-outside --output json").json();
    assert_eq!(shown["diagnostics"][0]["labels"][1]["text"], "used here as m", "{shown}");
}

#[test]
fn render_why_shows_which_source_set_a_value() {
    let case = Case::example("regions");
    case.ok("render").says(&["sites.north.vm.web.plan", "std-1c-1g"]);
    case.ok("render -e live --why sites.north.vm.web.plan").says(&[
        "sites.north.vm.web.plan = std-2c-4g",
        "written at modules/site/stead.yaml:",
        "given by use.sites",
        "in the module sites.north, used at stead.yaml:",
    ]);
    case.fails(64, "render --why sites.north.vm.web.plam").says(&["did you mean sites.north.vm.web.plan?"]);
    let document = case.ok("render --output json").json();
    let values = document["values"].as_array().unwrap();
    assert!(
        values.iter().any(|value| value["path"] == "vpc.hub.cidr" && value["value"] == "10.40.0.0/16"),
        "{document}"
    );
    assert_eq!(case.ok("eval 1+2").stdout, "3\n");
    assert_eq!(case.ok("eval $locals.plans.small").stdout, "std-1c-1g\n");
    case.ok("eval $use.sites.north.address")
        .says(&["$sites.north.vm.web.public_ipv4_address", "known only after"]);
    case.fails(1, "eval $locals.plns").says(&["did you mean `plans`?"]);
    case.write(
        "secret.stead.yaml",
        "vars: { s: { type: secret, default: canary-5 } }\noutputs: { s: $vars.s }\n",
    );
    for command in ["eval $vars.s", "eval --output json $vars.s", "render", "render --output json"] {
        let run = case.ok(command);
        assert!(!run.all().contains("canary-5") && run.all().contains("secret"), "{}", run.all());
    }
}

#[test]
fn a_stack_has_several_projects() {
    let stack = "stead: 1\nstack: two\nproject: { a: {}, b: {} }\nuse: { m: { for_each: { a: $project.a, b: $project.b }, source: ./m, with: { project: $each.value, cidr: \"${each.key == 'a' ? '10.1.0.0/16' : '10.2.0.0/16'}\" } } }\n";
    let module = "vars: { project: {}, cidr: { type: cidr } }\nvpc: { v: { cidr: $vars.cidr, project: $vars.project } }\n";
    let case = Case::new().emulator().file("stead.yaml", stack).file("m/stead.yaml", module);
    case.ok("apply --yes");
    case.ok("plan --exit-code").says(&["No changes"]);
    let projects: std::collections::BTreeSet<String> =
        case.cloud().list("/api/v1/vpcs").iter().map(|vpc| vpc["project_id"].to_string()).collect();
    assert_eq!(projects.len(), 2, "{projects:?}");
    case.edit("m/stead.yaml", ", project: $vars.project", "");
    case.fails(1, "validate").says(&["S0275", "does not name its project", "used here as m.a"]);
}

#[test]
fn an_untrusted_stack_reads_no_file_outside_the_repository() {
    let case = Case::new()
        .emulator()
        .file(".git", "")
        .file("network/stead.yaml", NETWORK)
        .file("shared/x.stead.yaml", "locals: { cidr: 10.5.0.0/16 }\n")
        .file("shared/.env", "canary-9")
        .file("shop/stead.yaml", "stead: 1\nstack: shop\ninclude: [../shared/x.stead.yaml]\nvpc: { v: { cidr: $locals.cidr } }\n");
    case.ok("plan -C shop --untrusted").says(&["10.5.0.0/16"]);
    case.edit("shop/stead.yaml", "x.stead.yaml", ".env");
    let refused = case.fails(1, "plan -C shop --untrusted --allow-outside");
    assert!(!refused.all().contains("canary-9"), "{}", refused.all());
    case.edit("shop/stead.yaml", ".env", "x.stead.yaml");
    case.ok("apply -C network --yes");
    case.edit(
        "shop/stead.yaml",
        "vpc: {",
        "stacks: { net: ../network }\noutputs: { c: $stacks.net.cidr }\nvpc: {",
    );
    case.fails(1, "plan -C shop --untrusted")
        .says(&["with --untrusted, stead does not read another stack's ledger"]);
}

#[test]
fn a_whole_module_is_a_target() {
    let stack = "stead: 1\nstack: s\nuse: { m: { source: ./m } }\nvolume: { o: { size: 9 } }\n";
    let case = Case::new()
        .file("stead.yaml", stack)
        .file("m/stead.yaml", "volume: { v: { size: 9 }, w: { size: 9 } }\n");
    let addresses = |flags: &str| {
        let plan = case.ok(&format!("plan --cloud local --output json {flags}")).json();
        let changes = plan["changes"].as_array().unwrap().iter();
        let mut found: Vec<String> =
            changes.map(|one| one["address"].as_str().unwrap().to_owned()).collect();
        found.sort();
        found
    };
    assert_eq!(addresses("--target m"), ["m.volume.v", "m.volume.w"]);
    assert_eq!(addresses("--target m.volume.v"), ["m.volume.v"]);
    assert_eq!(addresses("--exclude m"), ["volume.o"]);
    case.fails(64, "plan --cloud local --target mod").says(&["no resource mod in this stack"]);
    case.fails(64, "plan --cloud local --target M");
}

#[test]
fn policies_without_live_values_are_evaluated_offline() {
    let stack = "stead: 1
stack: s
vars: { most: { type: int, default: 15 } }
volume: { a: { size: 10 }, b: { size: 20 } }
vm: { w: { template: ubuntu-24.04, plan: std-1c-1g } }
policy:
  small: { on: volume, deny: \"${self.size > vars.most}\", message: Volumes are small here. }
  named: { on: vm, deny: \"${self.public_ipv4_address == 'x'}\", message: Known later. }
  where: { deny: \"${plan.env == 'prod'}\", message: Not in prod. }
  cost: { deny: \"${plan.monthly_after > 0.0}\", message: Nothing costs. }
environments: { dev: { default: true }, prod: { vars: { most: 30 } } }
";
    let case = Case::new().file("stead.yaml", stack);
    let run = case.fails(1, "validate");
    run.says(&["S0297", "small: Volumes are small here.", "volume.b is denied", "--override small"]);
    assert!(!run.all().contains("volume.a is") && !run.all().contains("costs"), "{}", run.all());
    let told = case.fails(1, "validate -e prod --output json").json();
    let told = told["diagnostics"].as_array().unwrap();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0]["detail"], "where: Not in prod.");
    case.edit("stead.yaml", "size: 20", "size: 12");
    case.ok("validate");
    case.fails(4, "plan --cloud local").says(&["cost: Nothing costs."]);
}

const WHYS: &str = "\
stead: 1
stack: whys
project: { p: {} }
vars: { most: { type: int, default: 2 }, key: { type: secret } }
environments: { dev: { default: true, vars: { most: 3 } }, prod: {} }
locals: { host: a.example.com }
vpc: { main: { cidr: 10.0.0.0/16 } }
vm: { web: { for_each: [a, b], template: ubuntu-24.04, plan: std-1c-2g, vpc: $vpc.main } }
app:
  web:
    type: web
    repo: acme/shop
    branch: main
    port: 80
    domains: [$locals.host]
    autoscaling: { min_replicas: 1, max_replicas: $vars.most, metric: concurrency, target: 80 }
    env_vars: { HOST: $locals.host, KEY: $vars.key }
  worker: { type: worker, repo: $app.web.repo, branch: main, start_command: run }
";

#[test]
fn render_why_explains_nested_values_variables_and_instances() {
    let case = Case::new().file("stead.yaml", WHYS).file("v.yaml", "key: canary-key\n");
    for (path, words) in [
        (
            "app.web.autoscaling.max_replicas",
            &["= 3", "stead.yaml:16", "vars.most, set by environments.dev"][..],
        ),
        ("app.web.autoscaling.target", &["= 80", "stead.yaml:16"]),
        ("vars.most", &["vars.most = 3", "stead.yaml:5", "set by environments.dev"]),
        ("vars.key", &["vars.key = (secret)"]),
        ("locals.host", &["a.example.com", "stead.yaml:6"]),
        ("vm.web.a.plan", &["vm.web.a.plan = std-1c-2g"]),
        ("vm.web.plan", &["vm.web.a.plan", "vm.web.b.plan"]),
        ("app.web.env_vars.HOST", &["app.web.env_vars.HOST = a.example.com", "stead.yaml:17"]),
        ("app.worker.repo", &["app.worker.repo = acme/shop"]),
        ("app.web.domains", &["app.web.domains.a-example-com.domain"]),
    ] {
        let run = case.ok(&format!("render --var-file v.yaml --why {path}"));
        run.says(words);
        assert!(!run.all().contains("canary"), "{path}");
    }
    let plain = case.ok("render --var-file v.yaml --why app.web.autoscaling.target");
    assert!(!plain.all().contains("vars.most"), "{}", plain.all());
    case.ok("eval --var-file v.yaml $app.worker.repo").says(&["acme/shop"]);
    case.fails(64, "render --var-file v.yaml --why vars.mots").says(&["did you mean vars.most?"]);
}

#[test]
fn resources_of_other_environments_are_validated_too() {
    let stack = "\
stead: 1
stack: two
environments: { dev: { default: true }, prod: {} }
vpc:
  main: { cidr: 10.0.0.0/16 }
volume:
  v: { when: \"${env == 'prod'}\", size: $vpc.main.cidr }
  w: { when: \"${env == 'prod'}\", size: 10, vm: $vm.nope }
";
    let case = Case::new().file("stead.yaml", stack);
    case.fails(1, "validate").says(&[
        "stead.yaml:7",
        "In the environment prod",
        "stead.yaml:8",
        "2 errors",
    ]);
    let told = case.fails(1, "validate --output json").json();
    assert_eq!(told["diagnostics"].as_array().unwrap().len(), 2);
    case.ok("validate -e dev");
    case.edit("stead.yaml", "$vpc.main.cidr", "10");
    case.edit("stead.yaml", ", vm: $vm.nope", "");
    case.ok("validate").says(&["two/dev is valid"]);
}

#[test]
fn validate_fix_makes_only_safe_edits_in_the_syntax_of_the_file() {
    let case = Case::new().file(
        "stead.kdl",
        "stead 1\nstack mended\nvpc main cidr=\"10.0.0.1/16\" { lifecycle { protcet #true; }; }\nvpc other cidr=\"10.1.0.0/16\" protect=#true\n",
    );
    case.fails(1, "validate --fix --yes").says(&["lifecycle protect=#true"]);
    let text = std::fs::read_to_string(case.path("stead.kdl")).unwrap();
    for kept in ["cidr=\"10.0.0.0/16\"", "protect #true", "cidr=\"10.1.0.0/16\" protect=#true"] {
        assert!(text.contains(kept), "{kept}: {text}");
    }
    let case =
        Case::new().file("stead.yaml", "stead: 1\nstack: unsure\nvpk: { main: { cidr: 10.0.0.0/16 } }\n");
    case.fails(1, "validate --fix --yes").says(&["no safe fixes", "did you mean `vpc`?"]);
}
