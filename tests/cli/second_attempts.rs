//! What an apply that ended in the middle counts, and what a second attempt of it does.

use serde_json::Value;

use crate::case::Case;

fn report(case: &Case, name: &str) -> String {
    std::fs::read_to_string(case.path(name)).unwrap()
}

/// A stack whose VM and volume were applied; then the VM is removed and the volume grows, which the service refuses once.
fn half_deleted(all: bool) -> Case {
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file(
            "x/stead.yaml",
            "stead: 1\nstack: x\nvm: { a: { template: ubuntu-24.04, plan: std-1c-1g } }\nvolume: { v: { size: 10 } }\n",
        )
        .emulator();
    case.ok("-C x apply --yes");
    case.edit("x/stead.yaml", "vm: { a: { template: ubuntu-24.04, plan: std-1c-1g } }\n", "");
    case.edit("x/stead.yaml", "size: 10", "size: 20");
    if all {
        case.ok("plan --all --delete-data x/default:vm.a -o set");
    }
    case.cloud().faults(&["POST /volumes/**=403:2", "PATCH /volumes/**=403:2"]);
    case
}

#[test]
fn an_apply_with_an_approved_deletion_goes_on_after_the_deletion() {
    let plan = "plan --all --delete-data x/default:vm.a --output json";
    for way in ["--delete-data x/default:vm.a", "", "set"] {
        let case = half_deleted(true);
        let fingerprint = case.ok(plan).json()["fingerprint"].as_str().unwrap().to_owned();
        let first = format!("apply --all --delete-data x/default:vm.a --expect {fingerprint}");
        let command = match way {
            "set" => "apply set".to_owned(),
            flags => format!("apply --all {flags} --expect {fingerprint}"),
        };
        case.fails(6, if way == "set" { &command } else { &first });
        case.cloud().faults(&[]);
        assert!(case.cloud().list("/api/v1/vms").is_empty());
        case.ok(&command);
        assert_eq!(case.cloud().list("/api/v1/volumes")[0]["size"], 20, "{way}");
        let again = case.ok(&command);
        assert!(!again.all().contains("failed"), "{}", again.all());
        case.ok("plan --all --exit-code");
    }
    let case = half_deleted(false);
    let run = case.fails(6, "-C x apply --delete-data vm.a --yes");
    run.says(&["next:", "--delete-data vm.a"]);
    case.cloud().faults(&[]);
    case.ok("-C x apply --delete-data vm.a --yes");
    case.ok("-C x plan --exit-code");
    // An address that no run changed is a mistake, as before.
    case.fails(64, "-C x plan --delete-data vm.b").says(&["no resource vm.b"]);
}

#[test]
fn what_the_ledger_alone_records_counts_as_done_where_another_step_fails() {
    let stack = "stead: 1\nstack: e\nvm: { b: { template: ubuntu-24.04, plan: std-1c-1g, lifecycle: { on_remove: keep } } }\nvolume: { v: { size: 100 } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    case.cloud().faults(&["DELETE /volumes/**=403:1"]);
    let reports = ["md", "junit", "json", "prom"].map(|format| format!("--report {format}=out.{format}"));
    let run = case.fails(6, &format!("destroy --yes --confirm e {}", reports.join(" ")));
    run.says(&["Partly destroyed: 1 done, 1 failed", "done", "vm.b", "stays", "volume.v"]);
    let document: Value = serde_json::from_str(&report(&case, "out.json")).unwrap();
    assert_eq!(document["outcome"]["done"], serde_json::json!(["vm.b"]));
    assert!(report(&case, "out.prom").contains("outcome=\"done\"} 1"));
    assert!(!report(&case, "out.junit").contains("<skipped"));
    assert!(!report(&case, "out.md").contains("skipped"));
    let history = case.ok("history --output json").json();
    assert_eq!(history["runs"][0]["done"], 1, "{history:#}");
}

#[test]
fn an_adoption_that_changes_the_object_is_approved_as_an_update_too() {
    let case = Case::new().emulator();
    let stack = |plan: &str| {
        format!("stead: 1\nstack: k\nvm: {{ ad: {{ name: f-b, template: ubuntu-24.04, plan: {plan} }} }}\n")
    };
    case.write("stead.yaml", stack("std-1c-1g"));
    case.ok("apply --yes");
    let id = case.cloud().list("/api/v1/vms")[0]["id"].as_str().unwrap().to_owned();
    std::fs::remove_dir_all(case.path(".stead")).unwrap();
    case.write("stead.yaml", stack("std-2c-4g"));
    let last = case.cloud().last();
    let run = case.fails(4, &format!("apply --yes=create --adopt vm.ad={id}"));
    run.says(&["--yes does not cover what the adoption changes in vm.ad", "Add `update` to --yes"]);
    assert_eq!(case.cloud().mutations_since(last), Vec::<String>::new());
    case.ok(&format!("apply --yes=create,update --adopt vm.ad={id}"));
}

#[test]
fn a_set_without_the_plan_of_a_unit_that_failed_is_not_done() {
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("a/stead.yaml", "stead: 1\nstack: a\nvpc: { n: { cidr: 10.1.0.0/16 } }\n")
        .file("b/stead.yaml", "stead: 1\nstack: b\nvpc: { n: { cidr: wrong } }\n")
        .emulator();
    case.fails(1, "plan --all -o set");
    let run = case.fails(6, "apply set");
    run.says(&["The set has no plan of b/default: planning failed there."]);
    case.fails(1, "apply set").says(&["b/default"]);
}

#[test]
fn a_set_is_the_same_as_its_own_comment() {
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("a/stead.yaml", "stead: 1\nstack: a\nvpc: { n: { cidr: 10.1.0.0/16 } }\n")
        .file("b/stead.yaml", "stead: 1\nstack: b\nvpc: { o: { cidr: 10.2.0.0/16 } }\n")
        .emulator();
    case.apply_all();
    case.edit("a/stead.yaml", "vpc: { n", "vpc: { m: { cidr: 10.3.0.0/16 }, n");
    case.ok("plan --all -o set --report md=set.md");
    let found = case.ok("show set --against set.md --output json").json();
    assert_eq!(
        (&found["same"], &found["nothing_to_do"]),
        (&true.into(), &serde_json::json!([])),
        "{found:#}"
    );
    // What the later set lacks is named.
    case.edit("b/stead.yaml", "vpc: { o", "vpc: { p: { cidr: 10.4.0.0/16 }, o");
    case.ok("plan --all --report md=both.md");
    let found = case.ok("show set --against both.md --output json").json();
    assert_eq!(found["nothing_to_do"], serde_json::json!(["b/default"]), "{found:#}");
}

#[test]
fn drift_that_no_apply_reverts_is_shown_among_many_units() {
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("a/stead.yaml", "stead: 1\nstack: a\nvolume: { m: { size: 10 } }\n")
        .file("b/stead.yaml", "stead: 1\nstack: b\nvpc: { n: { cidr: 10.2.0.0/16 } }\n")
        .emulator();
    case.apply_all();
    let id = case.cloud().list("/api/v1/volumes")[0]["id"].as_str().unwrap().to_owned();
    case.cloud().mutate("volume", &id, &serde_json::json!({"size": 15}));
    case.ok("plan --all").says(&[
        "DRIFT",
        "volume.m.size",
        "cannot be reverted",
        "No changes",
        "b/default",
    ]);
}

#[test]
fn a_comment_of_many_units_counts_what_is_moved_and_forgotten() {
    let kept = "vm: { b: { template: ubuntu-24.04, plan: std-1c-1g, lifecycle: { on_remove: keep } } }\n";
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("a/stead.yaml", format!("stead: 1\nstack: a\n{kept}"))
        .emulator();
    case.apply_all();
    case.edit("a/stead.yaml", kept, "");
    case.ok("plan --all --report md=out.md");
    let comment = report(&case, "out.md");
    assert!(
        comment.contains("0 create · 1 forget") && comment.contains("with changes · 1 forget"),
        "{comment}"
    );
}

#[test]
fn a_lookup_may_name_its_project() {
    let case = Case::new()
        .file(
            "net/stead.yaml",
            "stead: 1\nstack: net\nproject: { p: { name: netproj } }\nvpc: { main: { name: mainnet, cidr: 10.9.0.0/16, project: $project.p } }\n",
        )
        .file(
            "app/stead.yaml",
            "stead: 1\nstack: app\ndata: { vpc: { b: { name: mainnet, project: netproj } } }\noutputs: { id: $data.vpc.b }\n",
        )
        .emulator();
    case.ok("-C net apply --yes");
    case.ok("-C app plan").says(&["id"]);
    case.edit("app/stead.yaml", "project: netproj", "project: other");
    case.fails(1, "-C app plan").says(&["there is no vpc with", "project `other`"]);
}

#[test]
fn a_final_snapshot_of_an_earlier_attempt_is_named_and_billed() {
    let stack = "stead: 1\nstack: s\nvolume: { v: { name: s-v, size: 100, lifecycle: { final_snapshot: true } } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    case.cloud().faults(&["DELETE /volumes/**=403:1"]);
    let run = case.fails(6, "destroy --yes --confirm s");
    run.says(&["next: fix what failed, then stead destroy --yes --confirm s"]);
    case.cloud().faults(&[]);
    let plan = case.ok("plan --destroy");
    plan.says(&["so does the one that an earlier attempt made", "$5.00 a month", "COST   $15.00 → $10.00"]);
    case.ok("destroy --yes --confirm s");
    assert_eq!(case.cloud().list("/api/v1/snapshots").len(), 2);
}
