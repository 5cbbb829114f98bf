//! Groups of equal changes, where a text of each has a part of its own.
#![allow(clippy::disallowed_methods, reason = "tests read the files that commands leave")]

use std::fs;

use crate::case::Case;

/// The name of a final snapshot ends with a part of the object's id.
#[test]
fn deletions_with_a_final_snapshot_are_one_group() {
    let stack = "stead: 1\nstack: s\nvm:\n  w:\n    for_each: [a, b, c, d]\n    name: \"s-${each.key}\"\n    template: ubuntu-24.04\n    plan: std-1c-2g\n    lifecycle: { final_snapshot: true }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    let plan = case.ok("plan --destroy");
    plan.says(&["vm.w (4 instances)", "s-{key}-final-{id}"]);
    assert!(!plan.all().contains("- vm.w.a"), "{}", plan.all());
    case.edit("stead.yaml", "ubuntu-24.04", "debian-12");
    case.ok("plan --replace vm.w").says(&["vm.w (4 instances)"]);
}

/// Beside the sum of a group, the price in the effect of one member is said to be that of each.
#[test]
fn the_price_in_an_effect_of_a_group_is_that_of_each_member() {
    let stack = "stead: 1\nstack: u\nvolume:\n  d: { for_each: [a, b, c], size: 10, name: \"d-${each.key}\", lifecycle: { on_remove: keep } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    case.ok("plan --destroy --report md=plan.md").says(&[
        "volume.d (3 instances)",
        "$3.00 a month",
        "$1.00 a month each",
    ]);
    let markdown = fs::read_to_string(case.path("plan.md")).unwrap();
    assert!(markdown.contains("a month each"), "{markdown}");
}

/// Whose value a secret is, and where that value comes from, an output does not know.
#[test]
fn an_output_with_another_secret_is_not_said_to_change_outside() {
    let stack = "stead: 1\nstack: t\nvars: { t: { type: secret } }\nvpc: { v: { cidr: 10.0.0.0/16 } }\noutputs: { t: $vars.t }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    let with = |value: &str, args: &str| case.command(args).env("STEAD_VAR_T", value).output().unwrap();
    assert!(with("the-first-one", "apply --yes").status.success());
    let plan = String::from_utf8(with("the-second-one", "plan").stdout).unwrap();
    assert!(plan.contains("it has another secret value") && !plan.contains("outside"), "{plan}");
}
