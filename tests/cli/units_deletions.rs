//! The deletion limit over many units, and the approval of the deletions of one unit.

use serde_json::{Value, json};

use crate::case::{Case, Run};

fn stack(name: &str, networks: &[(&str, &str)]) -> String {
    let networks: Vec<String> = networks
        .iter()
        .map(|(key, cidr)| format!("{key}: {{ name: {name}-{key}, cidr: {cidr} }}"))
        .collect();
    format!("stead: 1\nstack: {name}\nvpc: {{ {} }}\n", networks.join(", "))
}

/// Returns a repository with three stacks of two networks, and one of four.
fn repository() -> Case {
    let case = Case::new().file(".git/HEAD", "ref: refs/heads/main\n").emulator();
    for number in 1..=3 {
        let (one, two) = (format!("10.{number}.0.0/24"), format!("10.{number}.1.0/24"));
        let name = format!("s{number}");
        case.write(&format!("{name}/stead.yaml"), stack(&name, &[("a", &one), ("b", &two)]));
    }
    case
}

/// Runs the command that a plan ends with.
fn run_next(case: &Case, plan: &Run) -> Run {
    let next = plan.stderr.lines().find_map(|line| line.strip_prefix("next: stead ")).unwrap();
    case.ok(next)
}

#[test]
fn deletions_of_many_units_together_are_limited() {
    let case = repository();
    run_next(&case, &case.ok("plan --all"));
    for number in 1..=3 {
        let (name, cidr) = (format!("s{number}"), format!("10.{number}.0.0/24"));
        case.write(&format!("{name}/stead.yaml"), stack(&name, &[("a", &cidr)]));
    }
    let last = case.cloud().last();
    let run = case.fails(4, "plan --all");
    run.says(&["deletion_budget", "3 of 6 managed objects of the selected units would be deleted: 1 of 2"]);
    let texts = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(texts.contains("1 of 2 in s1/default, 1 of 2 in s2/default, 1 of 2 in s3/default."), "{texts}");
    let document = case.fails(4, "plan --all --output json").json();
    for unit in document["units"].as_array().unwrap() {
        assert_eq!(unit["plan"]["blocks"][0]["code"], "deletion_budget", "{unit}");
    }
    case.fails(4, "apply --all --yes").says(&["deletion_budget"]);
    assert_eq!(case.cloud().mutations_since(last), Vec::<String>::new());
    // Two of them stay below the limit; so does the rest beside a unit that is named.
    case.ok("plan --all --stacks s1 --stacks s2");
    case.ok("plan --all --allow-deletes").says(&["next: stead apply --all --allow-deletes --expect"]);
    let plan = case.ok("plan --all --allow-deletes=s1/default");
    plan.says(&["next: stead apply --all --allow-deletes=s1/default --expect"]);
    run_next(&case, &plan).says(&["3 applied"]);
    case.ok("plan --all --exit-code");
}

#[test]
fn the_deletions_of_one_unit_are_approved_by_its_name() {
    let case = repository();
    let networks: Vec<(String, String)> =
        (0..4).map(|number| (format!("n{number}"), format!("10.9.{number}.0/24"))).collect();
    let networks: Vec<(&str, &str)> =
        networks.iter().map(|(key, cidr)| (key.as_str(), cidr.as_str())).collect();
    case.write("big/stead.yaml", stack("big", &networks));
    run_next(&case, &case.ok("plan --all"));
    case.write("big/stead.yaml", stack("big", &networks[..1]));
    case.fails(4, "plan --all").says(&["3 of 4 managed objects would be deleted"]);
    // The approval of another unit is none for this one.
    case.fails(4, "plan --all --allow-deletes=s1/default").says(&["deletion_budget"]);
    case.fails(64, "plan --all --allow-deletes=big/defualt").says(&["Did you mean `big/default`?"]);
    case.fails(64, "plan --all --allow-deletes=big").says(&["STACK/ENVIRONMENT"]);
    case.fails(64, "-C big plan --allow-deletes=big/default").says(&["needs --all"]);
    case.fails(64, "-C big apply --yes --allow-deletes=big/default").says(&["needs --all"]);
    let plan = case.ok("plan --all --allow-deletes=s1/default --allow-deletes=big/default");
    run_next(&case, &plan).says(&["1 applied"]);
    // Plain, it is for the stack that is planned.
    case.write("big/stead.yaml", "stead: 1\nstack: big\n");
    case.ok("-C big plan --allow-deletes");
}

#[test]
fn what_another_unit_manages_is_not_said_to_be_left_behind() {
    let net = |cidr: &str| {
        format!(
            "stead: 1\nstack: net\nvpc: {{ main: {{ cidr: {cidr} }} }}\noutputs: {{ vpc: $vpc.main }}\n"
        )
    };
    let data = "stead: 1\nstack: data\nstacks: { net: ../net }\ndatabase: { main: { name: orders, plan: pg-1c-2g, vpc: $stacks.net.vpc } }\n";
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("net/stead.yaml", net("10.1.0.0/16"))
        .file("data/stead.yaml", data)
        .emulator();
    case.ok("apply --all --yes");
    case.write("net/stead.yaml", net("10.2.0.0/16"));
    // The database moves to the new network in the same run.
    let plan = case.ok("plan --all");
    plan.says(&["data/default", "~ database.main  update in place"]);
    assert!(!plan.stdout.contains("is detached"), "{}", plan.stdout);
    // Neither is one in no ledger: the service keeps a network while something uses it.
    let id = |path: &str| case.cloud().list(path)[0]["id"].clone();
    let plans = case.cloud().control("GET", "/api/v1/public/pricing/database", &Value::Null);
    let body = json!({ "name": "stray", "engine": "postgres", "plan_id": plans["data"][0]["id"], "vpc_id": id("/api/v1/vpcs") });
    case.cloud().make("/api/v1/databases", &body, id("/api/v1/projects").as_str().unwrap());
    let plan = case.fails(4, "plan --all");
    plan.says(&["A VPC can be deleted only when no VM, database or cluster is in it."]);
    assert!(!plan.stdout.contains("is detached"), "{}", plan.stdout);
    let stray = loop {
        let databases = case.cloud().list("/api/v1/databases");
        let stray = databases.into_iter().find(|database| database["name"] == "stray").unwrap();
        if stray["status"] == "running" {
            break stray;
        }
    };
    case.cloud().delete(&format!("/api/v1/databases/{}", stray["id"].as_str().unwrap()));
    let root = case.path("").file_name().unwrap().to_string_lossy().into_owned();
    let before = case.ok("plan --all --destroy --output json").json();
    assert_eq!(before["cost"]["monthly_after"], 0.0, "{before}");
    case.ok("apply --all --yes");
    case.ok(&format!("destroy --all --yes --confirm {root}"));
}

#[test]
fn a_link_that_another_deletion_undid_does_not_stop_a_destroy() {
    let data = |link: &str| format!("stead: 1\nstack: data\n{link} }} }}\n");
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("web/stead.yaml", "stead: 1\nstack: web\nvm: { web: { template: ubuntu-24.04, plan: std-1c-1g } }\noutputs: { vm: $vm.web }\n")
        .file("data/stead.yaml", data("stacks: { web: ../web }\nvolume: { data: { size: 20, vm: $stacks.web.vm"))
        .emulator();
    case.ok("apply --all --yes");
    // The volume stays attached to the VM, and neither stack says so: both are destroyed at the same time.
    case.write("data/stead.yaml", data("volume: { data: { size: 20"));
    case.ok("apply --all --yes");
    let root = case.path("").file_name().unwrap().to_string_lossy().into_owned();
    case.ok(&format!("destroy --all --yes --confirm {root}")).says(&["2 applied"]);
    assert!(case.cloud().list("/api/v1/volumes").is_empty() && case.cloud().list("/api/v1/vms").is_empty());
}

/// What a reader has of an output may be a copy that no live object shows to be a use: a deletion waits for the unit that gives it
/// up in the same change.
#[test]
fn a_deletion_waits_for_a_unit_that_gives_up_an_output_in_the_same_change() {
    let web = "stead: 1\nstack: web\nvpc: { v: { cidr: 10.0.0.0/16 } }\n";
    let app = |value: &str| {
        format!("stead: 1\nstack: app\n{value} }} }} }}\n").replace(
            "ENV",
            "app: { a: { name: site, type: web, repo: a/b, branch: main, port: 8080, env_vars: { IP: ",
        )
    };
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file(
            "web/stead.yaml",
            format!("{web}vm: {{ v: {{ template: ubuntu-24.04, plan: std-1c-1g }} }}\noutputs: {{ ip: $vm.v.public_ipv4_address }}\n"),
        )
        .file("app/stead.yaml", app("stacks: { web: ../web }\nENV$stacks.web.ip"))
        .emulator();
    case.apply_all();
    case.write("web/stead.yaml", web.replace(" }\n", ", w: { cidr: 10.1.0.0/16 } }\n"));
    case.write("app/stead.yaml", app("ENV198.51.100.7"));
    let apply = || {
        let flag = "--delete-data web/default:vm.v";
        let plan = case.ok(&format!("plan --all {flag} --output json")).json();
        case.run(&format!("apply --all {flag} --expect {}", plan["fingerprint"].as_str().unwrap()))
    };
    case.cloud().faults(&["PATCH /apps/services/{id}=403:100"]);
    let failed = apply();
    assert_eq!(failed.code, 6, "{}", failed.all());
    assert_eq!(case.cloud().list("/api/v1/vms").len(), 1, "{}", failed.all());
    case.cloud().faults(&[]);
    // Its network was created, and its deletion was not made: no command says that all of it was applied.
    case.ok("-C web history").says(&["partly"]);
    case.ok("-C web plan --delete-data vm.v").says(&["web/default", "partly applied"]);
    case.run("drift --all")
        .says(&["web/default  not applied as configured: its last apply did not complete"]);
    let done = apply();
    assert_eq!(done.code, 0, "{}", done.all());
    assert!(case.cloud().list("/api/v1/vms").is_empty());
    let plan = case.ok("plan --all --exit-code");
    assert!(!plan.stdout.contains("partly applied"), "{}", plan.stdout);
    let history = case.ok("-C web history --output json").json();
    let ends: Vec<&Value> = history["runs"].as_array().unwrap().iter().map(|run| &run["outcome"]).collect();
    assert_eq!(ends.first(), Some(&&json!("done")), "{history}");
}
