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

#[test]
fn a_pattern_for_a_removed_stack_says_so() {
    let case = repository().emulator();
    apply(&case);
    fs::remove_file(case.path("a/stead.yaml")).unwrap();
    let root = case.path("").file_name().unwrap().to_string_lossy().into_owned();
    let run = case.fails(64, &format!("destroy --all --stacks a --yes --confirm {root}"));
    run.says(&["`a` matches only what was removed", "a/dev, a/prod"]);
    run.says(&["stead apply --all --remove a/dev --remove a/prod"]);
    // So does a pattern for directories; one for names selects them.
    case.fails(4, "plan --all --stacks a*").says(&["a/dev", "removed_unit", "--remove a/dev"]);
    for pattern in ["./a", "./a*"] {
        let run = case.fails(64, &format!("plan --all --stacks {pattern}"));
        run.says(&["matches only what was removed", "a/dev, a/prod", "--remove a/dev --remove a/prod"]);
    }
    case.ok("plan --all --remove a/dev --remove a/prod").says(&["2 with changes"]);
}

#[test]
fn a_variable_for_a_unit_that_does_not_exist_names_the_unit() {
    let case = repository();
    let run = case.fails(64, "validate --all --var a/prd:size=9");
    run.says(&["there is no unit `a/prd`", "Did you mean `a/prod:size`?"]);
    case.fails(64, "validate --all --var a/prod:sise=9")
        .says(&["a/prod does not declare it", "Did you mean `size`?"]);
    case.fails(64, "validate --all --var sise=9").says(&["no stack declares it", "Did you mean `size`?"]);
    case.ok("validate --all --var a/prod:size=9");
}

#[test]
fn a_unit_without_outputs_is_named_once() {
    let case = repository().emulator();
    let run = case.fails(1, "output --all");
    run.says(&["error: a/dev has no recorded outputs"]);
    assert!(!run.all().contains("a/dev: a/dev"), "{}", run.all());
    case.ok(command_after(&run, "Apply it first:").replace("apply", "apply --yes").as_str());
}

#[test]
fn an_object_that_exists_is_adopted_by_the_command_for_its_stack() {
    let case = Case::new().file(".git/HEAD", "ref: refs/heads/main\n").emulator();
    let stack = |environments: &str| {
        format!(
            "stead: 1\nstack: app\n{environments}vpc: {{ main: {{ name: main, cidr: 10.1.0.0/16 }} }}\n"
        )
    };
    case.write("app/stead.yaml", stack(""));
    case.ok("-C app apply --yes");
    fs::remove_dir_all(case.path("app/.stead")).unwrap();
    case.write("app/stead.yaml", stack("environments: { dev: {} }\n"));
    let plan = case.fails(4, "plan --all --output json").json();
    let help = plan["units"][0]["plan"]["blocks"][0]["help"].as_str().unwrap();
    let command = help.split("stead ").nth(1).unwrap_or_else(|| panic!("{help}"));
    case.ok(&format!("{} --yes", command.split(", ").next().unwrap()));
    case.ok("plan --all --exit-code");
}

/// Returns the first command of a text that was wrapped, with its flags.
fn command_in(text: &str, before: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let rest = text.split(before).nth(1).unwrap_or_else(|| panic!("no {before:?} in {text}"));
    let rest = rest.trim_start().strip_prefix("stead ").unwrap_or_else(|| panic!("no command in {rest}"));
    let rest = rest.split(" 1 error").next().unwrap();
    rest.split([';', '`']).next().unwrap().trim_end_matches('.').to_owned()
}

#[test]
fn a_stack_that_was_never_applied_is_applied_by_the_command_of_the_message() {
    let case = Case::new().file(".git/HEAD", "ref: refs/heads/main\n").emulator();
    let net = "stead: 1\nstack: net\nenvironments: { dev: {}, prod: {} }\nvpc: { main: { name: \"net-${env}\", cidr: 10.1.0.0/16 } }\noutputs: { vpc: $vpc.main }\n";
    case.write("net/stead.yaml", net);
    let app = "stead: 1\nstack: app\nenvironments: { dev: {}, prod: {} }\nstacks: { net: ../net }\nvolume: { data: { name: \"app-${env}\", size: 20 } }\noutputs: { vpc: $stacks.net.vpc }\n";
    case.write("app/stead.yaml", app);
    for command in ["plan --all --stacks app/prod", "-C app plan -e prod"] {
        let run = case.fails(1, command);
        run.says(&["S0321", "another stack was not applied yet"]);
        assert_eq!(command_in(&run.stderr, "apply that stack first:"), "-C net -e prod apply", "{command}");
    }
    case.ok("-C net -e prod apply --yes");
    case.ok("plan --all --stacks app/prod");
    // An output that the last apply did not record.
    case.edit("net/stead.yaml", "outputs: {", "outputs: { cidr: $vpc.main.cidr,");
    case.edit("app/stead.yaml", "$stacks.net.vpc", "$stacks.net.cidr");
    for command in ["plan --all --stacks app/prod", "-C app plan -e prod"] {
        let run = case.fails(1, command);
        assert_eq!(command_in(&run.stderr, "and apply that stack:"), "-C net -e prod apply", "{command}");
    }
}

#[test]
fn a_protected_object_is_left_out_by_the_command_of_its_blocker() {
    let case = Case::new().file(".git/HEAD", "ref: refs/heads/main\n").emulator();
    case.write("a/stead.yaml", "stead: 1\nstack: a\nvolume: { kept: { size: 20, lifecycle: { protect: true } }, other: { size: 20 } }\n");
    case.ok("-C a apply --yes");
    let root = case.path("").file_name().unwrap().to_string_lossy().into_owned();
    let run = case.fails(4, &format!("destroy --all --yes --confirm {root}"));
    let command = command_in(&run.stdout, "or leave it out with").split(". ").next().unwrap().to_owned();
    let command = command.split(" COST").next().unwrap().trim_end_matches('.').to_owned();
    assert_eq!(command, "-C ./a destroy --exclude volume.kept");
    case.ok(&format!("{command} --yes --confirm a")).says(&["1 done"]);
    // In one stack, the flag is one of the same command.
    case.fails(4, "-C a destroy --yes --confirm a").says(&["leave it out with", "--exclude volume.kept"]);
}

#[test]
fn a_flag_of_one_stack_is_refused_with_the_command_that_takes_it() {
    let case = repository().emulator();
    for (command, remedy) in [
        ("plan --all --target volume.data", "stead -C DIRECTORY plan --target volume.data"),
        (
            "plan --all --destroy --exclude volume.data",
            "stead -C DIRECTORY plan --destroy --exclude volume.data",
        ),
        ("apply --all --exclude volume.data", "stead -C DIRECTORY apply --exclude volume.data"),
    ] {
        case.fails(64, command).says(&[remedy, "add -e ENVIRONMENT"]);
        let works = remedy.strip_prefix("stead ").unwrap().replace("DIRECTORY", "a -e dev");
        let works = works.replace("apply", "apply --yes");
        case.ok(&works);
    }
}

#[test]
fn the_commands_of_a_blocker_name_the_stack() {
    let case = repository().emulator();
    case.edit("a/stead.yaml", "volume: {", "volume: { more: { name: \"more-${env}\", size: 20 },");
    apply(&case);
    let id = case.cloud().list("/api/v1/volumes").iter().find(|one| one["name"] == "a-dev").unwrap()["id"]
        .clone();
    fs::remove_dir_all(case.path("a/.stead")).unwrap();
    let plan = case.fails(4, "plan --all -e dev --output json").json();
    let unit = plan["units"].as_array().unwrap().iter().find(|unit| unit["stack"] == "a").unwrap();
    let help = unit["plan"]["blocks"][0]["help"].as_str().unwrap();
    assert!(help.contains("`stead -C ./a -e dev recover`"), "{help}");
    assert!(
        help.contains(&format!("stead -C ./a -e dev apply --adopt volume.data={}", id.as_str().unwrap())),
        "{help}"
    );
    let alone = case.fails(4, "-C a -e dev plan --output json").json();
    let help = alone["blocks"][0]["help"].as_str().unwrap();
    assert!(help.contains("`stead -C a -e dev recover`"), "{help}");
}

#[test]
fn a_directory_without_a_set_of_plans_says_what_it_is_and_how_a_set_is_made() {
    let case = repository().emulator();
    fs::create_dir(case.path("empty")).unwrap();
    case.write("other/notes.txt", "");
    case.ok("plan --all -o cut");
    fs::remove_file(case.path("cut/manifest.json")).unwrap();
    for (directory, what) in [
        ("empty", "it is empty"),
        ("other", "it has other files"),
        ("cut", "it has plans, and the manifest is missing"),
        ("a", "it is the directory of a stack"),
    ] {
        for command in ["apply", "show"] {
            let run = case.fails(1, &format!("{command} {directory}"));
            run.says(&[&format!("{directory} has no set of saved plans, no manifest.json: {what}")]);
            let remedy = command_in(&run.stderr, "Make a set:");
            if directory == "a" {
                assert!(remedy.starts_with("plan --all -o DIRECTORY"), "{remedy}");
                let alone = command_in(&run.stderr, "Or plan the stack:");
                case.ok(&format!("{alone} -e dev"));
            } else {
                case.ok(&remedy);
                case.ok(&format!("show {directory}"));
                fs::remove_file(case.path(&format!("{directory}/manifest.json"))).unwrap();
                let plans = fs::read_dir(case.path(directory)).unwrap().flatten().map(|entry| entry.path());
                let left = plans
                    .filter(|path| directory != "cut" && path.extension().is_some_and(|end| end == "plan"));
                left.for_each(|path| fs::remove_file(path).unwrap());
            }
        }
    }
    case.fails(1, "apply nowhere").says(&["there is no file nowhere", "stead plan --all -o DIRECTORY"]);
}

#[test]
fn the_deletion_of_data_is_approved_with_the_name_of_its_unit() {
    let case = repository().emulator();
    apply(&case);
    let before = case.cloud().list("/api/v1/volumes").len();
    case.edit("a/stead.yaml", "data: {", "other: {");
    let run = case.fails(4, "plan --all -e dev");
    run.says(&["holds_data", "--delete-data a/dev:volume.data."]);
    case.fails(64, "plan --all --delete-data volume.data")
        .says(&["--delete-data STACK/ENVIRONMENT:volume.data"]);
    case.fails(64, "plan --all --delete-data a/dve:volume.data").says(&["Did you mean `a/dev`?"]);
    case.fails(64, "-C a -e dev plan --delete-data a/dev:volume.data").says(&["which needs --all"]);
    let flag = "--delete-data a/dev:volume.data";
    let plan = case.ok(&format!("plan --all -e dev {flag}"));
    let next = plan.stderr.lines().find_map(|line| line.strip_prefix("next: stead ")).unwrap();
    assert!(next.contains(flag), "{next}");
    // A saved set has the approval.
    case.ok(&format!("plan --all -e dev {flag} -o set"));
    case.fails(5, &next.replace(&format!(" {flag}"), ""));
    case.ok("apply set").says(&["applied"]);
    assert_eq!(case.cloud().list("/api/v1/volumes").len(), before);
    case.ok("plan --all -e dev --exit-code");
}

/// An approval that names its unit already is printed as it is.
#[test]
fn the_remedy_of_a_policy_repeats_the_approvals_of_the_units() {
    let stack = |name: &str, more: &str| {
        format!(
            "stead: 1\nstack: {name}\n{more}\
             volume: {{ m: {{ for_each: [a, b], name: \"{name}-${{each.key}}\", size: 10 }} }}\n"
        )
    };
    let policy = "policy: { nodel: { deny: \"${plan.delete > 0}\", message: no deletes } }\n";
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("a/stead.yaml", stack("a", ""))
        .file("b/stead.yaml", stack("b", policy))
        .emulator();
    case.apply_all();
    case.edit("a/stead.yaml", "[a, b]", "[a]");
    case.edit("b/stead.yaml", "[a, b]", "[a]");
    let flags = "--delete-data a/default:volume.m --delete-data b/default:volume.m --allow-deletes";
    let plan = case.fails(4, &format!("plan --all {flags}"));
    let words = plan.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, rest) = words.split_once("Change what the policy denies, or: stead ").unwrap();
    let command = rest.split(" --reason").next().unwrap();
    assert!(
        command.contains("--delete-data a/default:volume.m --delete-data b/default:volume.m"),
        "{command}"
    );
    let mut args: Vec<&str> = command.split(' ').collect();
    args.extend(["--yes", "--reason", "intended"]);
    case.ok(&args.join(" "));
    assert_eq!(case.cloud().list("/api/v1/volumes").len(), 2);
}
