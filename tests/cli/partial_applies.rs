//! What an apply that ends in the middle says of itself: what was made, what is live, and what is kept.

use crate::case::{Case, Run};

const MACHINE: &str = "stead: 1\nstack: half\nvm: { a: { template: ubuntu-24.04, plan: std-1c-1g } }\n";

/// A replacement whose new object exists, and whose old one could not be deleted.
fn half_replaced() -> Case {
    let case = Case::new().file("stead.yaml", MACHINE).emulator_with(&["--fail", "DELETE /vms/{id}=402:1"]);
    case.ok("apply --yes");
    case.edit("stead.yaml", "ubuntu-24.04", "debian-12");
    case
}

#[test]
fn a_replacement_that_is_half_done_says_what_is_live() {
    let case = half_replaced();
    let reports = "--report md=out.md --report junit=out.xml";
    let run = case.fails(6, &format!("apply --yes --replace vm.a {reports}"));
    run.says(&["vm.a", "made before that: create; the old object and the new one are both live"]);
    assert_eq!(case.cloud().list("/api/v1/vms").len(), 2);
    for report in ["out.md", "out.xml"] {
        let text = std::fs::read_to_string(case.path(report)).unwrap();
        assert!(text.contains("made before that: create; the old object"), "{report}: {text}");
    }
}

#[test]
fn a_destroy_names_the_object_that_an_earlier_replacement_left() {
    let case = half_replaced();
    case.fails(6, "apply --yes --replace vm.a");
    let plan = case.ok("plan --destroy --output json").json();
    let older = plan["changes"][0]["effects"].as_array().unwrap().iter();
    let older: Vec<&str> = older.filter_map(|effect| effect["text"].as_str()).collect();
    let named = older.iter().filter(|text| text.contains("which an earlier replacement did not delete"));
    assert_eq!(named.count(), 1, "{plan:#}");
    case.ok("destroy --yes --confirm half")
        .says(&["is deleted, too, which an earlier replacement did not"]);
    assert!(case.cloud().list("/api/v1/vms").is_empty());
    // The deletion of a replacement's own old object is none of an earlier one.
    case.ok("apply --yes");
    case.edit("stead.yaml", "debian-12", "ubuntu-24.04");
    let plan = case.ok("plan --replace vm.a");
    assert!(!plan.all().contains("earlier replacement"), "{}", plan.all());
}

#[test]
fn a_resource_counts_once_in_every_report() {
    let stack = "stead: 1\nstack: counted\nvolume:\n  w: { size: 10, lifecycle: { final_snapshot: true } }\n  \
        k: { size: 10, lifecycle: { on_remove: keep } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    let run = case.ok("destroy --yes --confirm counted --report prom=out.prom --report md=out.md");
    run.says(&["1 delete", "1 forget", "Destroyed: 2 done"]);
    case.ok("history --output json");
    let history = case.ok("history --output json").json();
    assert_eq!(
        history["runs"][0]["tally"]["done"].as_u64().or(history["runs"][0]["done"].as_u64()),
        Some(2)
    );
    let metrics = std::fs::read_to_string(case.path("out.prom")).unwrap();
    assert!(metrics.contains("outcome=\"done\"} 2"), "{metrics}");
    // What outlives the destroy is in the comment, too, with its price.
    let comment = std::fs::read_to_string(case.path("out.md")).unwrap();
    assert!(comment.contains("stays live") && comment.contains(" a month"), "{comment}");
    // A forgotten object is billed and managed by no stack, so it is approved by its own word.
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    case.edit("stead.yaml", "  k: { size: 10, lifecycle: { on_remove: keep } }\n", "");
    case.fails(4, "apply --yes=create,update,replace,delete").says(&["forget"]);
    case.ok("apply --yes=forget").says(&["Applied: 1 done"]);
}

#[test]
fn a_built_in_object_is_not_offered_for_adoption() {
    let stack = "stead: 1\nstack: own\nrole: { r: { name: Developer, permissions: [\"apps:read\"] } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    let run = case.fails(4, "plan");
    run.says(&["exists", "role.r", "the service provides it in every account", "Choose another name"]);
    assert!(!run.all().contains("--adopt"), "{}", run.all());
}

#[test]
fn the_text_of_a_generated_secret_is_kept_by_an_apply_that_fails_later() {
    let case = Case::new();
    let recipient = case.ok("secret keygen --out ada").stdout.trim().to_owned();
    let stack = format!(
        "stead: 1\nstack: kept\nvars: {{ gen: {{ type: secret, generate: 32 }} }}\nvolume: {{ v: {{ size: 10 }} }}\n\
         vpc: {{ n: {{ cidr: 10.1.0.0/16 }} }}\noutputs: {{ gen: $vars.gen }}\nsecrets: {{ recipients: [{recipient}] }}\n"
    );
    let case = case.file("stead.yaml", stack).emulator_with(&["--fail", "POST /volumes=402:1"]);
    // Nothing of this run decrypts what an earlier one kept.
    case.fails(6, "apply --yes");
    case.ok("apply --yes");
    let mut command = case.command("output gen --show --raw");
    let run = Run::of(&command.env("STEAD_AGE_IDENTITY", case.path("ada")).output().unwrap());
    assert_eq!((run.code, run.stdout.trim().len()), (0, 32), "{}", run.all());
}
