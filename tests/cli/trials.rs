//! `stead test`: passing and failing tests of a stack, the locations of failures, and the output for CI.
#![allow(clippy::disallowed_methods, reason = "tests drive a real process, and look at its files")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::case::Case;

const STACK: &str = "\
stead: 1
stack: story
vars:
  size: { type: int, default: 20 }
volume:
  data: { size: $vars.size }
outputs: { size: $volume.data.size }
policy:
  small: { on: volume, deny: \"${self.size > 50}\", message: Too large. }
";

fn case(tests: &str) -> Case {
    Case::new().file("stead.yaml", STACK).file("story.test.yaml", tests)
}

#[test]
fn passed_tests_are_counted() {
    let case = case(
        "\
test:
  made:
    plan: { create: [volume.data], count: { update: 0, unchanged: 0 }, policy: { small: pass } }
    apply: { outputs: { size: 20 }, objects: { volume: 1 } }
  grown:
    given: { vars: { size: 40 }, applied: true }
    plan: { count: { unchanged: 1 } }
    apply: { outputs: { size: 40 } }
  too large:
    given: { vars: { size: 60 } }
    plan: { policy: { small: deny } }
  cannot shrink:
    given: { vars: { size: 20 }, applied: { vars: { size: 40 } } }
    plan: { blocks: [grow_only] }
  no number:
    given: { vars: { size: big } }
    plan: { problems: [S0253] }
",
    )
    .file("story.test.kdl", "test grown {\n    given { vars size=30; applied { vars size=20 } }\n    plan { update volume.data }\n    apply { outputs size=30 }\n}\n");
    case.ok("test").says(&["ok   grown", "story.test.kdl:1:6", "ok   made", "6 tests: 6 passed, 0 failed"]);
    assert!(!case.path(".stead").exists(), "nothing is left on the disk");
}

/// What was applied before was applied at another time and by other people: policies judge the change that is tested.
#[test]
fn the_initial_state_is_not_judged_by_policies() {
    let stack = "stead: 1\nstack: f\nproject: { p: { name: fp } }\npolicy:\n  frozen: { deny: \"${now < '2027-01-01T00:00:00Z'}\", message: Frozen. }\n  own: { deny: \"${actor != 'good@x'}\", message: Not yours. }\n";
    let tests = "\
test:
  later:
    given: { now: \"2027-02-01\", actor: \"good@x\", applied: true }
    plan: { count: { create: 0 }, policy: { frozen: pass, own: pass } }
  frozen:
    given: { now: \"2026-12-24\", actor: \"good@x\" }
    plan: { policy: { frozen: deny } }
";
    let case = Case::new().file("stead.yaml", stack).file("a.test.yaml", tests);
    case.ok("test").says(&["2 tests: 2 passed"]);
}

#[test]
fn a_failed_test_reports_its_location_and_its_difference() {
    let case = case(
        "\
test:
  wrong <everywhere>:
    given: { world: objects=3 }
    plan: { create: [volume.spare], monthly: 1000000, policy: { smal: pass } }
    apply: { outputs: { size: 30 }, objects: { volum: 1 } }
",
    );
    let run = case.fails(1, "test --report junit=out/report.xml");
    run.says(&[
        "FAIL wrong",
        "story.test.yaml:4:21  create: expected volume.spare, got volume.data; missing: volume.spare",
        "story.test.yaml:4:46  monthly: expected 1000000, got",
        "story.test.yaml:4:71  policy: the stack has no policy smal; did you mean small?",
        "story.test.yaml:5:31  output size: expected 30, got 20",
        "story.test.yaml:5:55  objects: there is no kind volum; did you mean volume?",
        "1 test: 0 passed, 1 failed",
    ]);
    let report = fs::read_to_string(case.path("out/report.xml")).unwrap();
    assert!(
        report.contains("name=\"wrong &lt;everywhere&gt;\"") && report.contains("failures=\"1\""),
        "{report}"
    );
    let json = case.fails(1, "test --output json").json();
    assert_eq!(json["failed"], 1);
    assert_eq!(json["tests"][0]["failures"][3]["line"], 5);
}

#[test]
fn a_stack_error_caused_by_a_test_names_the_entry_of_the_test() {
    let case = case("test: { a: { given: { vars: { siez: 1 } }, plan: { count: { create: 1 } } } }\n");
    let told = case.fails(1, "test").stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let wanted = "the stack has a problem: S0252 this variable is not declared in the test's given.vars: given.vars gives \
                  a value, on this line, to a variable that no `vars` block declares: did you mean `size`?";
    assert!(told.contains(wanted), "{told}");
    let case = case_of_file_named_given();
    let told = case.fails(1, "test").stdout;
    assert!(told.contains("given.stead.yaml:1:") && !told.contains("in the test's"), "{told}");
}

/// Returns a stack with a file that has the name of a test's input.
fn case_of_file_named_given() -> Case {
    case("test: { a: { plan: { count: { create: 1 } } } }\n").file("given.stead.yaml", "vmm: { a: {} }\n")
}

#[test]
fn an_invalid_test_file_is_an_error() {
    case("test: { a: { plan: { crate: [] } } }\n")
        .fails(1, "test")
        .says(&["S0220", "did you mean `create`?"]);
    Case::new()
        .file("stead.yaml", STACK)
        .fails(1, "test")
        .says(&["there are no tests in .", "*.test.yaml"]);
    let case = case("test: { a: { given: { world: nowhere.json }, plan: {} } }\n");
    case.fails(1, "test").says(&["FAIL a", "nowhere.json"]);
    case.fails(64, "test --report html=x").says(&["junit=PATH"]);
}

#[test]
fn completed_declarations_are_removed_when_no_environment_needs_them() {
    const MOVED: &str = "\
# since spring
moved:
  - { from: volume.old, to: volume.data }   # done
  - { from: volume.spare, to: volume.scratch }
removed: [{ from: volume.gone, action: forget }]
";
    let stack = "\
stead: 1
stack: story
environments: { a: { default: true }, b: {} }
volume:
  data: { size: 20 }
  spare: { size: 10, name: spare }
";
    let case = Case::new().file("stead.yaml", stack);
    case.ok("apply --yes --cloud local");
    case.ok("fmt --prune --cloud local").says(&["No declaration is obsolete"]);
    case.write("stead.yaml", stack.replace("  spare: {", "  scratch: {") + MOVED);
    case.fails(1, "fmt --prune --check --cloud local")
        .says(&["-   - { from: volume.old, to: volume.data }"]);
    case.ok("fmt --prune --cloud local").says(&["move of volume.old to volume.data is obsolete: removed"]);
    let text = || fs::read_to_string(case.path("stead.yaml")).unwrap();
    assert!(
        text().ends_with("# since spring\nmoved:\n  - { from: volume.spare, to: volume.scratch }\n"),
        "{}",
        text()
    );
    case.ok("apply --yes --cloud local");
    case.fails(64, "fmt --prune stead.yaml --cloud local");
    case.ok("fmt --prune --cloud local");
    assert!(!text().contains("moved"), "{}", text());
}

#[test]
fn a_watch_reruns_on_changes_and_exits_with_the_last_outcome() {
    let case = case("test:\n  made:\n    plan: { create: [volume.data] }\n");
    let mut command = case.command("test --watch");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut told = |words: &str| {
        let line = lines.find(|line| line.contains(words)).unwrap_or_else(|| panic!("no {words}"));
        assert!(!line.contains('\u{1b}'), "nothing is cleared where no terminal is: {line:?}");
    };
    told("1 passed, 0 failed");
    case.edit("story.test.yaml", "volume.data", "volume.spare");
    told("0 passed, 1 failed");
    case.edit(
        "stead.yaml",
        "  data: { size: $vars.size }\noutputs: { size: $volume.data.size }",
        "  spare: { size: $vars.size }",
    );
    told("1 passed, 0 failed");
    case.edit("stead.yaml", "size: $vars.size", "siez: $vars.size");
    told("0 passed, 1 failed");
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(1), "the last outcome");
}
