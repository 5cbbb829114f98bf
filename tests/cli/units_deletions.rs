//! The deletion limit over many units, and the approval of the deletions of one unit.

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
