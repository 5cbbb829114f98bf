//! The examples: each is planned and applied, has no changes afterwards, and is destroyed; both syntaxes agree.

use crate::case::Case;

/// Each example with its environments; all but the last are protected in part, so their objects stay.
const EXAMPLES: &[(&str, &[&str])] = &[
    ("minimal", &["default"]),
    ("minimal-kdl", &["default"]),
    ("regions", &["test"]),
    ("regions-kdl", &["test"]),
    ("shop", &["prod", "staging"]),
    ("shop-kdl", &["prod", "staging"]),
];

/// Returns the number of objects in each of some lists.
fn counts(case: &Case) -> Vec<(&'static str, usize)> {
    let lists = ["vms", "vpcs", "volumes", "databases", "backup-schedules", "ssh-keys"];
    lists.iter().map(|path| (*path, case.cloud().list(&format!("/api/v1/{path}")).len())).collect()
}

#[test]
fn every_example_is_applied_and_destroyed() {
    for (name, environments) in EXAMPLES {
        // One account for all: the environments of a stack stand beside each other.
        let case = Case::example(name).emulator();
        for environment in *environments {
            let flags = if *environment == "default" { String::new() } else { format!("-e {environment}") };
            let without = counts(&case);
            case.ok(&format!("validate {flags}"));
            case.fails(2, &format!("plan --exit-code {flags}"));
            case.ok(&format!("apply --yes {flags}"));
            let before = case.cloud().last();
            let again = case.ok(&format!("apply --yes {flags}"));
            assert!(again.stdout.starts_with("No changes"), "{name}: {}", again.stdout);
            assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new(), "{name}");
            case.ok(&format!("plan --exit-code {flags}")).says(&["No changes"]);
            case.ok(&format!("drift --exit-code {flags}"));
            if *environment == "prod" {
                case.fails(4, &format!("destroy --yes --confirm shop {flags}")).says(&["protect"]);
                continue;
            }
            let stack = name.trim_end_matches("-kdl");
            case.ok(&format!("destroy --yes --confirm {stack} {flags}"));
            assert_eq!(counts(&case), without, "{name}");
        }
    }
}

#[test]
fn both_syntaxes_produce_byte_identical_plans() {
    for (yaml, kdl) in [("minimal", "minimal-kdl"), ("regions", "regions-kdl"), ("shop", "shop-kdl")] {
        for flags in if yaml == "shop" { &["", "-e prod"][..] } else { &[""][..] } {
            let (yaml, kdl) = (Case::example(yaml).emulator(), Case::example(kdl));
            let plan = |case: &Case| {
                let mut command = case.command(&format!("plan --output json {flags}"));
                let cloud = yaml.cloud();
                let output =
                    command.env("STEAD_API_URL", &cloud.url).env("STEAD_API_KEY", &cloud.key).output();
                String::from_utf8(output.unwrap().stdout).unwrap()
            };
            let (left, right) = (plan(&yaml), plan(&kdl));
            assert!(left.contains("\"create\""), "{left}");
            assert_eq!(left, right);
        }
    }
}

#[test]
fn the_embedded_cloud_persists_between_commands() {
    let case = Case::example("minimal");
    case.ok("plan --cloud local").says(&["next: stead --cloud local apply"]);
    case.ok("apply --cloud local --yes").says(&["vm.web", "address"]);
    let again = case.ok("apply --cloud local --yes");
    assert_eq!(again.stdout.lines().count(), 1, "{}", again.stdout);
    case.ok("ls --cloud local").says(&["vm.web", "vpc.main"]);
}

#[test]
fn a_fleet_of_ten_stacks_is_one_plan_and_one_apply() {
    let case = Case::example("fleet").file(".git/HEAD", "").emulator();
    case.ok("validate --all").says(&["20 units of 10 stacks are valid"]);
    let waves = |case: &Case| -> Vec<u64> {
        let list = case.ok("stacks --output json").json();
        list["units"].as_array().unwrap().iter().map(|unit| unit["wave"].as_u64().unwrap()).collect()
    };
    assert_eq!(waves(&case).last(), Some(&2));
    let plan = case.ok("plan --all --output json").json();
    assert_eq!(plan["units"].as_array().unwrap().len(), 20);
    case.ok(&format!("apply --all --expect {}", plan["fingerprint"].as_str().unwrap()))
        .says(&["20 applied"]);
    let before = case.cloud().last();
    case.ok("plan --all --exit-code").says(&["20 without changes"]);
    // A wider network of development reaches every stack that uses it, and nothing of production.
    case.edit("network/stead.yaml", "10.110.0.0/16", "10.111.0.0/16");
    // The disks of the VMs in it are lost with them.
    case.fails(4, "plan --all").says(&["holds_data", "--replace "]);
    let help = case.fails(4, "plan --all --output json").json();
    let blocks = help["units"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|unit| unit["plan"]["blocks"].as_array().unwrap());
    let flags: String =
        blocks.filter(|block| block["code"] == "holds_data").fold(String::new(), |flags, block| {
            let (_, approval) = block["help"].as_str().unwrap().split_once("--replace ").unwrap();
            flags + " --replace " + approval.trim_end_matches('.')
        });
    let plan = case.ok(&format!("plan --all{flags} --output json")).json();
    for unit in plan["units"].as_array().unwrap() {
        let is_dev = unit["environment"] == "dev";
        assert!(is_dev || unit["status"] == "unchanged", "{unit}");
    }
    case.edit("network/stead.yaml", "10.111.0.0/16", "10.110.0.0/16");
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new());
    let root = case.path("").file_name().unwrap().to_string_lossy().into_owned();
    case.ok(&format!("destroy --all -e dev --yes --confirm {root}")).says(&["10 applied"]);
    // What the protected databases use stays, and so do they.
    case.fails(6, &format!("destroy --all -e prod --yes --confirm {root}"))
        .says(&["protect", "which uses what this unit has, cannot be destroyed"]);
    assert_eq!(case.cloud().list("/api/v1/vpcs").len(), 1);
}
