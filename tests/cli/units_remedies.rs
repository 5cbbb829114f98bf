//! What commands over many stacks print when they refuse something: the reason, and remedies that work.

use std::fs;

use crate::case::{Case, Run};

fn volume(stack: &str) -> String {
    format!(
        "stead: 1\nstack: {stack}\nenvironments: {{ dev: {{}}, prod: {{}} }}\nvars: {{ size: {{ type: int, default: 20 }} }}\nvolume: {{ data: {{ name: \"{stack}-${{env}}\", size: $vars.size }} }}\n"
    )
}

/// Returns a repository with two stacks of two environments.
fn repository() -> Case {
    let case = Case::new().file(".git/HEAD", "ref: refs/heads/main\n");
    case.file("a/stead.yaml", volume("a")).file("b/stead.yaml", volume("b"))
}

/// Applies all units by the fingerprint of their plan.
fn apply(case: &Case) {
    let plan = case.ok("plan --all --output json").json();
    case.ok(&format!("apply --all --expect {}", plan["fingerprint"].as_str().unwrap()));
}

/// Returns the command that follows a text in a message.
fn command_after<'r>(run: &'r Run, text: &str) -> &'r str {
    let rest = run.stderr.split(text).nth(1).unwrap_or_else(|| panic!("no {text:?} in {}", run.stderr));
    rest.trim_start().strip_prefix("stead ").unwrap().lines().next().unwrap()
}

#[test]
fn a_unit_that_fails_when_it_is_planned_shows_its_problem() {
    let case = repository().emulator();
    case.write(
        "b/stead.yaml",
        volume("b") + "moved: [{ from: volume.data, to: volume.data, from_stack: ../a }]\n",
    );
    for command in ["plan --all", "apply --all -e dev --yes", "validate --all", "-C b validate -e dev"] {
        let run = case.run(command);
        assert_ne!(run.code, 0, "{command}: {}", run.all());
        run.says(&["S0290", "b/stead.yaml:6"]);
        assert_eq!(run.stderr.matches("S0290").count(), 1, "{command}: {}", run.stderr);
    }
    fs::remove_dir_all(case.path("a")).unwrap();
    case.fails(1, "plan --all").says(&["S0290", "There is no readable stack in `../a`"]);
    case.fails(1, "validate --all").says(&["S0290", "There is no readable stack in `../a`"]);
    case.fails(1, "-C b validate").says(&["S0290", "There is no readable stack in `../a`"]);
}

#[test]
fn a_destroy_without_a_terminal_names_the_commands_of_a_destroy() {
    let case = repository().emulator();
    apply(&case);
    let root = case.path("").file_name().unwrap().to_string_lossy().into_owned();
    for flags in ["", &format!(" --confirm {root}")] {
        let run = case.fails(64, &format!("destroy --all --stacks a{flags}"));
        run.says(&["confirmation is required", "plan --all --stacks a --destroy"]);
        assert!(!run.all().contains("apply"), "{}", run.all());
    }
    let refused = case.fails(64, "destroy --all --stacks a");
    let review = case.ok(command_after(&refused, "Review what is deleted:"));
    // The command that the review ends with works, and so does the one of the message.
    case.ok(command_after(&review, "next:")).says(&["2 applied"]);
    let refused = case.fails(64, "destroy --all -e dev --yes");
    case.ok(command_after(&refused, "Confirm with:")).says(&["1 applied"]);
    assert_eq!(case.cloud().list("/api/v1/volumes").len(), 1);
}
