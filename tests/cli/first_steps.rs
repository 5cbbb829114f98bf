//! A newcomer's first commands: no account, a stack from `init`, the embedded emulator, and its drift.
#![allow(clippy::disallowed_methods, reason = "tests look at the files that commands leave")]

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::json;

use crate::case::{Case, Emulator};

#[test]
fn stead_without_arguments_prints_three_examples() {
    let run = Case::new().fails(64, "");
    assert!(run.stdout.lines().count() <= 20, "{}", run.stdout);
    assert_eq!(run.stdout.lines().filter(|line| line.starts_with("  stead ")).count(), 3, "{}", run.stdout);
    for command in ["", "plan", "apply", "destroy", "emulator", "init", "resolve"] {
        Case::new().ok(&format!("{command} --help")).says(&["xample", "stead"]);
    }
}

#[test]
fn every_template_is_valid_applied_and_destroyed() {
    for template in ["minimal", "shop"] {
        for format in ["yaml", "kdl"] {
            let case = Case::new();
            case.ok(&format!("init --template {template} --format {format} my-stack"));
            case.fails(1, &format!("init --template {template} --format {format} my-stack"))
                .says(&["--force"]);
            case.ok("validate -C my-stack");
            case.ok("plan -C my-stack --cloud local").says(&["create"]);
            case.ok("apply -C my-stack --cloud local --yes");
            case.ok("apply -C my-stack --cloud local --yes").says(&["No changes"]);
            case.ok("destroy -C my-stack --cloud local --yes --confirm my-stack");
            let left = case.ok("ls -C my-stack --cloud local");
            if template == "minimal" {
                left.says(&["Nothing is managed"]);
                continue;
            }
            // The volume stays, as its block says, and so does the project that it is in: both are taken up again.
            left.says(&["project.shop"]);
            case.fails(4, "plan -C my-stack --cloud local --exit-code")
                .says(&["apply forgot it", "--adopt volume.media"]);
            case.ok("apply -C my-stack --cloud local --yes --adopt volume.media").says(&["Applied"]);
            case.ok("plan -C my-stack --cloud local").says(&["No changes"]);
        }
    }
}

#[test]
fn a_one_time_password_is_written_only_to_its_file() {
    let case = Case::new();
    case.ok("init --template shop my-stack");
    let run = case.ok("apply -C my-stack --cloud local --yes -v");
    let path = case.path("my-stack/secrets/reporting-staging");
    let password = std::fs::read_to_string(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(password.trim().len() >= 8);
    assert!(!run.all().contains(password.trim()));
    for entry in std::fs::read_dir(case.path("my-stack/.stead/local/staging")).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains(password.trim()));
    }
}

#[test]
fn a_stack_uses_the_emulator_that_is_served_in_its_directory() {
    let case = Case::example("minimal");
    case.ok("apply --cloud local --yes");
    let served = Emulator::start(&case.path(".stead"), &[]);
    let vm = served.list("/api/v1/vms")[0]["id"].as_str().unwrap().to_owned();
    served.mutate("vm", &vm, &json!({ "name": "renamed" }));
    case.fails(3, "drift --cloud local --exit-code").says(&["vm.web", "name", "renamed"]);
    drop(served);
    case.fails(3, "drift --cloud local --exit-code").says(&["renamed"]);
}

#[test]
fn piped_output_has_no_control_characters() {
    let case = Case::example("shop").emulator();
    for args in ["plan", "validate", "plan --output json", "ls"] {
        let run = case.ok(args);
        assert!(!run.all().contains('\u{1b}'), "{args}: {}", run.all());
    }
    let coloured = case.ok("plan --color always");
    assert!(coloured.stdout.contains('\u{1b}'));
    let apply = case.ok("apply --yes --output ndjson");
    let events: Vec<serde_json::Value> =
        apply.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert_eq!(events.last().unwrap()["event"], "outcome");
    assert_eq!(events.last().unwrap()["exit"], 0);
    let mut child = case.command("plan -v").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert!(!String::from_utf8_lossy(&ended.stderr).contains("panicked"));
}

#[test]
fn ndjson_output_contains_only_events() {
    let case = Case::example("minimal").emulator();
    for args in ["apply --yes --output ndjson", "apply --yes --output ndjson"] {
        for line in case.ok(args).stdout.lines() {
            serde_json::from_str::<serde_json::Value>(line)
                .unwrap_or_else(|error| panic!("{error}: {line}"));
        }
    }
}

#[test]
fn resolve_without_ambiguous_intents_reports_none() {
    let case = Case::example("minimal").emulator();
    case.ok("apply --yes");
    case.ok("resolve").says(&["nothing to resolve"]);
    case.fails(1, "resolve 3f0e8c52-0000-4000-8000-000000000000 absent").says(&["no ambiguous intent"]);
}

#[test]
fn a_backend_beside_the_built_in_cloud_is_said_to_be_unused() {
    let case = Case::example("minimal");
    let note = "the built-in cloud has a ledger of its own; the configured backend is not used";
    assert!(case.ok("plan --cloud local --backend s3://nowhere/x").stderr.contains(note));
    assert!(!case.ok("plan --cloud local").stderr.contains(note));
}

#[test]
fn the_stack_of_the_readme_is_applied_in_both_environments() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let stack = readme.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let case = Case::new().file("shop.stead.yaml", stack);
    case.ok("validate");
    for environment in ["staging", "prod"] {
        case.ok(&format!("apply --cloud local --yes -e {environment}"));
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let case = Case::new();
    case.ok("man --out man1").says(&["pages are in man1"]);
    let read = |name: &str| std::fs::read_to_string(case.path("man1").join(name)).unwrap();
    let page = read("stead-plan.1");
    assert!(page.contains(".TH stead-plan 1") && page.contains("\\-\\-report"), "{page}");
    assert!(page.contains("stead plan \\-e prod"), "the examples are there: {page}");
    for name in ["stead.1", "stead-ci-init.1", "stead-state-migrate.1"] {
        assert!(!read(name).is_empty());
    }
    assert!(!case.path("man1/stead-__complete.1").exists());
    assert_eq!(case.ok("man plan").stdout, page);
    case.fails(64, "man plam").says(&["stead has no command plam"]);
}
