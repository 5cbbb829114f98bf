//! Messages are true and their advice works: each printed remedy is run.
#![allow(clippy::disallowed_methods, reason = "tests drive real processes")]

use serde_json::{Value, json};

use crate::case::Case;

const NETWORKS: &str = "\
stead: 1
stack: nets
vpc:
  a: { cidr: 10.1.0.0/16 }
  b: { cidr: 10.2.0.0/16 }
  c: { cidr: 10.3.0.0/16 }
";

#[test]
fn the_summary_of_a_targeted_plan_counts_only_the_targets() {
    let case = Case::new().file("stead.yaml", NETWORKS).emulator();
    case.ok("apply --yes");
    case.edit("stead.yaml", "10.2.0.0/16", "10.20.0.0/16");
    let run = case.ok("plan --target vpc.a");
    run.says(&["No changes", "1 resource as configured, 2 left out of this plan"]);
    assert!(!run.all().contains("is as configured"), "{}", run.all());
    case.ok("plan --exclude vpc.b").says(&["No changes", "2 resources as configured, 1 left out"]);
    case.ok("apply --yes --exclude vpc.b").says(&["2 resources as configured, 1 left out"]);
    case.ok("plan --target vpc.a --report md=out.md");
    let page = std::fs::read_to_string(case.path("out.md")).unwrap();
    assert!(page.contains("no changes, 1 resource as configured, 2 left out"), "{page}");
    assert_eq!(case.ok("plan --target vpc.a --output json").json()["summary"]["unchanged"], 1);
    case.edit("stead.yaml", "10.20.0.0/16", "10.2.0.0/16");
    case.ok("plan").says(&["nets/default is as configured", "3 resources"]);
}

#[test]
fn an_unused_replacement_approval_is_reported() {
    let case = Case::new().file("stead.yaml", NETWORKS).emulator();
    case.ok("apply --yes");
    let told = ["vpc.a is not replaced", "omit --replace"];
    case.ok("plan --replace vpc.a").says(&told);
    let plan = case.ok("plan --replace vpc.a --output json").json();
    assert_eq!(plan["notes"][0]["code"], "not_replaced", "{plan}");
    case.edit("stead.yaml", "10.1.0.0/16", "10.10.0.0/16");
    let run = case.ok("plan --replace vpc.a");
    assert!(!run.all().contains("is not replaced"), "{}", run.all());
    case.ok("apply --yes");
}

#[test]
fn accepting_drift_is_offered_only_where_the_file_can_express_the_value() {
    let stack = "stead: 1\nstack: s\nlocals: { big: 20 }\nvolume:\n  plain: { size: 20 }\n  \
                 sum: { size: \"${10 + 10}\" }\n  local: { size: $locals.big }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    for volume in case.cloud().list("/api/v1/volumes") {
        case.cloud().mutate("volume", volume["id"].as_str().unwrap(), &json!({ "size": 40 }));
    }
    let run = case.fails(3, "drift --exit-code");
    let offered: Vec<&str> = run.stdout.split("stead drift --accept ").skip(1).collect();
    assert_eq!(offered.len(), 1, "{}", run.all());
    assert!(offered[0].starts_with("volume.plain.size"), "{}", run.all());
    run.says(&["write 40 in the configuration"]);
    for refused in ["sum", "local"] {
        case.fails(1, &format!("drift --accept volume.{refused}.size --yes"));
    }
    case.ok("drift --accept volume.plain.size --yes");
    // What is written instead is what the other message says.
    case.edit("stead.yaml", "\"${10 + 10}\"", "40");
    case.edit("stead.yaml", "big: 20", "big: 40");
    case.ok("plan").says(&["No changes"]);
    case.ok("drift --exit-code");
}

#[test]
fn an_object_of_another_stack_is_not_offered_for_adoption() {
    let stack =
        |name: &str| format!("stead: 1\nstack: {name}\napp: {{ web: {{ type: worker, image: x:1 }} }}\n");
    let case =
        Case::new().file("one/stead.yaml", stack("one")).file("two/stead.yaml", stack("two")).emulator();
    let backend = format!("--backend file:{}", case.path("shared").display());
    case.ok(&format!("-C one {backend} apply --yes"));
    let run = case.fails(4, &format!("-C two {backend} plan"));
    run.says(&["exists already", "belongs to app.web of one/default", "rm ADDRESS", "--keep`)"]);
    assert!(!run.all().contains("--adopt"), "{}", run.all());
    // The remedy: it is let go of there, and taken over here.
    case.ok(&format!("-C one {backend} rm app.web --keep --yes"));
    case.ok(&format!("-C one {backend} apply --yes"));
    let id = case.cloud().list("/api/v1/apps/services")[0]["id"].as_str().unwrap().to_owned();
    let adopt = format!("--adopt app.web={id}");
    case.fails(4, &format!("-C two {backend} plan")).says(&["exists already", &adopt]);
    case.ok(&format!("-C two {backend} apply --yes {adopt}"));
    case.ok(&format!("-C two {backend} plan")).says(&["No changes"]);
}

#[test]
fn an_unconfirmed_object_is_reported_as_adopted() {
    let case = Case::new().file("stead.yaml", "stead: 1\nstack: s\nvpc: { main: { cidr: 10.1.0.0/16 } }\n");
    let case = case.emulator();
    case.cloud().faults(&["POST /vpcs=reset-after:1"]);
    let run = case.ok("apply --yes --effect-bound 1s --listing-bound 1s --output ndjson");
    let events: Vec<Value> = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ended = events.iter().find(|event| event["event"] == "succeeded").unwrap();
    assert_eq!(ended["done"], "adopted", "{}", run.stdout);
    let id = case.cloud().list("/api/v1/vpcs")[0]["id"].as_str().unwrap().to_owned();
    let adopt = format!("--adopt vpc.main={id}");
    let remedy = [
        "it may belong to someone else",
        "stead apply --adopt",
        &format!("vpc.main={id}"),
        "destroy afterwards",
    ];
    case.fails(4, "destroy --yes --confirm s").says(&remedy);
    case.fails(64, &format!("destroy --yes --confirm s {adopt}"));
    case.ok(&format!("apply --yes {adopt}"));
    case.ok("destroy --yes --confirm s");
    assert!(case.cloud().list("/api/v1/vpcs").is_empty());
}
