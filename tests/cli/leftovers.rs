//! What a destroy leaves behind: byproducts of the stack's objects, and unmanaged objects.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests drive real processes")]

use serde_json::json;

use crate::case::{Case, Run};

const HOME: &str = "\
stead: 1
stack: one
project: { home: { name: home } }
vpc: { main: { cidr: 10.1.0.0/16 } }
vm: { web: { template: ubuntu-24.04, plan: std-1c-1g, vpc: $vpc.main } }
cluster: { k: { version: \"1.31\", vpc: $vpc.main, node_pools: { batch: { plan: std-2c-4g, node_count: 2 } } } }
";

/// Returns the names of a collection's objects, sorted.
fn names(case: &Case, path: &str) -> Vec<String> {
    let all = case.cloud().list(path);
    let mut names: Vec<String> =
        all.iter().map(|one| one["name"].as_str().unwrap_or_default().to_owned()).collect();
    names.sort();
    names
}

fn id(case: &Case, address: &str) -> String {
    let listed = case.ok("ls --output json").json();
    let all = listed["resources"].as_array().unwrap();
    let one = all
        .iter()
        .find(|one| one["address"] == address)
        .unwrap_or_else(|| panic!("no {address}: {all:#?}"));
    one["id"].as_str().unwrap().to_owned()
}

/// Applies a stack with its own project, a backup made by `do`, and a claim's volume in its cluster.
fn with_byproducts() -> Case {
    let case = Case::new().file("stead.yaml", HOME).emulator();
    case.ok("apply --yes");
    case.ok("do backup vm.web --name before");
    case.cloud().mutate("cluster", &id(&case, "cluster.k"), &json!({"claims": {"shop/data-0": 20}}));
    while case.cloud().list("/api/v1/volumes").iter().all(|one| one["status"] != "in_use") {
        std::thread::yield_now();
    }
    case
}

#[test]
fn a_destroy_lists_the_blocking_byproducts_and_deletes_them_on_request() {
    let case = with_byproducts();
    let last = case.cloud().last();
    for args in ["plan --destroy", "destroy --yes --confirm one"] {
        case.fails(4, args).says(&[
            "before (",
            "less than an hour old",
            " a month",
            "pvc-",
            "are in it",
            "--with-leftovers",
        ]);
    }
    assert_eq!(case.cloud().mutations_since(last), Vec::<String>::new());
    // Each is listed before, with what it came of.
    let listed = case.ok("plan --destroy --with-leftovers");
    listed
        .says(&["backup.leftover-", "a copy of vm.web"])
        .says(&["volume.leftover-", "claimed in cluster.k"]);
    case.fails(64, "plan --with-leftovers").says(&["stead destroy --with-leftovers"]);
    case.fails(64, "plan --destroy --with-leftovers -o x.plan");
    case.ok("destroy --yes --confirm one --with-leftovers");
    for path in ["/api/v1/backups", "/api/v1/volumes", "/api/v1/vms", "/api/v1/k8s/clusters"] {
        assert_eq!(names(&case, path), Vec::<String>::new(), "{path}");
    }
    assert!(!names(&case, "/api/v1/projects").contains(&"home".to_owned()));
    case.ok("destroy --yes --confirm one --with-leftovers").says(&["nothing left to destroy"]);
}

/// A destroy that fails before it deletes a byproduct keeps it in the ledger, where no configuration declares it.
#[test]
fn byproducts_of_a_failed_destroy_do_not_block_an_apply() {
    let case = with_byproducts();
    case.cloud().faults(&["DELETE /backups/*=403"]);
    let bounds = "--effect-bound 100ms --listing-bound 100ms";
    let run = case.run(&format!("destroy --yes --confirm one --with-leftovers {bounds}"));
    assert!(run.code != 0, "{}", run.all());
    case.cloud().faults(&[]);
    let listed = case.ok("ls --output json").json();
    let addresses =
        listed["resources"].as_array().unwrap().iter().filter_map(|one| one["address"].as_str());
    let left: Vec<&str> = addresses.filter(|address| address.starts_with("backup.leftover-")).collect();
    let [left] = left[..] else { panic!("{left:?}") };
    let said = [left, "stays live and billed", "destroy --with-leftovers"];
    case.ok("plan").says(&said);
    case.ok(&format!("apply --yes {bounds}")).says(&said);
    assert_eq!(names(&case, "/api/v1/backups"), ["before"], "nothing asked for its deletion");
    assert_eq!(case.cloud().list("/api/v1/vms").len(), 1, "what is declared is made again");
    case.ok("plan --exit-code").says(&["No changes", left]);
    // A destroy without the flag deletes no leftover, either.
    case.fails(4, "destroy --yes --confirm one").says(&[left, "--with-leftovers"]);
    assert_eq!(names(&case, "/api/v1/backups"), ["before"]);
    case.ok("destroy --yes --confirm one --with-leftovers");
    assert_eq!(names(&case, "/api/v1/backups"), Vec::<String>::new());
}

#[test]
fn one_byproduct_is_deleted_by_its_address_or_forgotten() {
    let case = with_byproducts();
    case.ok("do backup vm.web --name again");
    case.cloud().faults(&["DELETE /backups/*=403"]);
    case.run("destroy --yes --confirm one --with-leftovers --effect-bound 100ms --listing-bound 100ms");
    case.cloud().faults(&[]);
    let plan = case.ok("plan").stdout;
    let mut left: Vec<&str> = plan
        .split_whitespace()
        .filter(|word| word.starts_with("backup.leftover-") && word.len() == 24)
        .collect();
    left.sort_unstable();
    left.dedup();
    let [first, second] = left[..] else { panic!("{plan}") };
    case.ok(&format!("apply --yes --delete-data {first}"));
    assert_eq!(case.cloud().list("/api/v1/backups").len(), 1);
    case.write("stead.yaml", format!("{HOME}removed: [{{ from: {second}, action: forget }}]\n"));
    case.ok("apply --yes");
    assert_eq!(case.cloud().list("/api/v1/backups").len(), 1, "it is only forgotten");
    case.write("stead.yaml", HOME);
    let plan = case.ok("plan --exit-code");
    assert!(!plan.all().contains("backup.leftover-"), "{}", plan.all());
}

#[test]
fn a_foreign_object_is_never_a_byproduct() {
    let case =
        Case::new().file("stead.yaml", "stead: 1\nstack: one\nvolume: { data: { size: 10 } }\n").emulator();
    case.ok("apply --yes");
    let volume = id(&case, "volume.data");
    case.ok("do snapshot volume.data --name mine");
    // Another stack of the same backend declares a snapshot of the same volume.
    case.write(
        "other/stead.yaml",
        format!("stead: 1\nstack: other\nsnapshot: {{ theirs: {{ volume: {volume} }} }}\n"),
    );
    let shared = |directory: &str, args: &str| {
        let mut command = case.command(args);
        command.current_dir(case.path(directory));
        command.env("STEAD_BACKEND", format!("file:{}", case.path("ledgers").display()));
        Run::of(&command.output().unwrap())
    };
    let migrate = format!("state migrate --yes --to file:{}", case.path("ledgers").display());
    case.ok(&migrate);
    let run = shared("other", "apply --yes");
    assert_eq!(run.code, 0, "{}", run.all());
    // By default the copy stays, and that is said; the other stack's is not mentioned.
    let run = shared("", "plan --destroy");
    run.says(&["mine (", "stays live and billed", "a copy of volume.data", "--with-leftovers"]);
    let text = run.all().split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(text.matches("stays live and billed").count(), 1, "{text}");
    let theirs = shared("other", "ls --output json").json();
    let theirs = theirs["resources"][0]["id"].as_str().unwrap().to_owned();
    let refused = shared("", &format!("do delete snapshot {theirs} --confirm {theirs}"));
    assert_eq!(refused.code, 4, "{}", refused.all());
    refused.says(&["is managed", "snapshot.theirs of other/"]);
    let run = shared("", "destroy --yes --confirm one --with-leftovers");
    assert_eq!(run.code, 0, "{}", run.all());
    assert_eq!(names(&case, "/api/v1/snapshots"), ["theirs"]);
}

#[test]
fn an_unmanaged_object_is_deleted_only_with_its_id_as_approval() {
    let case =
        Case::new().file("stead.yaml", "stead: 1\nstack: one\nvolume: { data: { size: 10 } }\n").emulator();
    case.ok("apply --yes");
    case.ok("do snapshot volume.data --name mine");
    let snapshot = case.cloud().list("/api/v1/snapshots")[0]["id"].as_str().unwrap().to_owned();
    let last = case.cloud().last();
    let volume = id(&case, "volume.data");
    case.fails(4, &format!("do delete volume {volume} --confirm {volume}"))
        .says(&["is managed", "volume.data"]);
    case.fails(64, "do delete volume.data").says(&["is a resource of the stack"]);
    case.fails(64, "do delete snapshot").says(&["do delete snapshot ID"]);
    case.fails(64, &format!("do delete snapshot {snapshot} --confirm {volume}"))
        .says(&["Nothing was sent"]);
    let refused = case.fails(64, &format!("do delete snapshot {snapshot}"));
    refused.says(&[
        "`mine` (less than an hour old",
        " a month",
        "its id was not repeated",
        "Nothing was sent",
    ]);
    case.fails(1, "do delete snapshot 00000000-0000-4000-8000-000000000000 --confirm 00000000-0000-4000-8000-000000000000")
        .says(&["there is no snapshot"]);
    assert_eq!(case.cloud().mutations_since(last), Vec::<String>::new());
    // The line that the refusal prints.
    let line = format!("do delete snapshot {snapshot} --confirm {snapshot}");
    assert!(refused.all().contains(&format!("stead {line}")), "{}", refused.all());
    case.ok(&line).says(&["Deleted snapshot", "`mine`"]);
    assert_eq!(case.cloud().list("/api/v1/snapshots").len(), 0);
    assert_eq!(case.cloud().list("/api/v1/volumes").len(), 1);
    case.ok("do delete --help").says(&["--confirm"]);
    case.ok("do --help").says(&["delete"]);
}

#[test]
fn what_a_destroy_keeps_managed_is_named_with_its_price() {
    let case = Case::new()
        .file(
            "stead.yaml",
            "stead: 1\nstack: s\nvolume: { m: { size: 20 } }\nsnapshot: { s: { volume: $volume.m, lifecycle: { on_remove: keep } } }\n",
        )
        .emulator();
    case.ok("apply --yes");
    case.ok("plan --destroy").says(&["volume.m stays live and managed by this stack, $2.00 a month"]);
}
