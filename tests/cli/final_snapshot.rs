//! `final_snapshot`: an object that holds data is copied before its deletion, and the copy stays.

use crate::case::Case;

const STACK: &str = "stead: 1
stack: shop
project: { shop: {} }
vm: { web: { template: ubuntu-24.04, plan: std-1c-2g, lifecycle: { final_snapshot: true } } }
";
const VOLUME: &str = "volume: { media: { size: 10, vm: $vm.web, lifecycle: { final_snapshot: true } } }\n";

fn snapshots(case: &Case) -> Vec<(String, String)> {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let all = case.cloud().list("/api/v1/snapshots");
    let mut found: Vec<_> = all.iter().map(|one| (text(&one["name"]), text(&one["status"]))).collect();
    found.sort();
    found
}

#[test]
fn a_final_snapshot_precedes_the_deletion_and_is_kept() {
    let case = Case::new().file("stead.yaml", STACK).file("volume.stead.yaml", VOLUME).emulator();
    case.ok("apply --yes");
    let id = case.cloud().list("/api/v1/volumes")[0]["id"].as_str().unwrap()[..8].to_owned();
    std::fs::remove_file(case.path("volume.stead.yaml")).unwrap();
    let name = format!("media-final-{id}");
    let says = format!("the snapshot {name} is created first and stays live, unmanaged and billed");
    case.ok("plan").says(&["- volume.media", &says, "$0.50 a month"]);
    // If it fails, nothing is deleted.
    case.cloud().faults(&["POST /snapshots=500:100"]);
    let failed = case.run("apply --yes --effect-bound 0s --listing-bound 0s");
    assert!([1, 6].contains(&failed.code), "{} {}", failed.code, failed.stdout);
    case.cloud().faults(&[]);
    assert_eq!(case.cloud().list("/api/v1/volumes")[0]["status"], "in_use");
    case.ok("apply --yes --effect-bound 0s --listing-bound 0s");
    assert_eq!(case.cloud().list("/api/v1/volumes").len(), 0);
    assert_eq!(snapshots(&case), [(name.clone(), "available".to_owned())]);
    case.ok("plan").says(&["No changes"]);
    case.ok("ls --unmanaged").says(&[&name]);
    // A replacement loses the old machine's data, too; and so does the end of it all.
    case.edit("stead.yaml", "ubuntu-24.04", "debian-12");
    case.ok("apply --yes");
    assert_eq!(snapshots(&case).len(), 2);
    case.ok("plan").says(&["No changes"]);
    case.ok("plan --destroy").says(&[
        "web-final-",
        "stays live",
        "the final snapshot of vm.web stays in it",
    ]);
    case.ok("destroy --yes --confirm shop");
    assert_eq!((case.cloud().list("/api/v1/vms").len(), snapshots(&case).len()), (0, 3));
    // The project stays this stack's: another destroy has nothing left to do, and the next apply goes on in it.
    case.ok("destroy --yes --confirm shop").says(&["nothing left to destroy"]);
    let project = || case.ok("ls --output json").json()["resources"][0]["id"].clone();
    let kept = project();
    case.ok("apply --yes");
    assert_eq!(project(), kept);
    case.ok("plan").says(&["No changes"]);
}

#[test]
fn final_snapshot_is_rejected_for_kinds_that_have_no_snapshots() {
    let case = Case::new().file(
        "stead.yaml",
        format!("{STACK}vpc: {{ a: {{ cidr: 10.0.0.0/16, lifecycle: {{ final_snapshot: true }} }} }}\n"),
    );
    case.fails(1, "validate").says(&["The data of a vpc cannot be copied before its deletion"]);
}
