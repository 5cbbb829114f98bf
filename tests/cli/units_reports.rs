//! The reports of an apply of many stacks: one report of all units with what became of each, never that of one unit.

use std::fmt::Write as _;

use crate::case::Case;

const NET: &str = "stead: 1\nstack: net\nvpc:\n  main: { cidr: 10.40.0.0/16 }\n  other: { cidr: 10.41.0.0/16 }\noutputs: { vpc_id: $vpc.main, other: $vpc.other }\n";
const APP: &str = "stead: 1\nstack: app\nstacks: { net: ../net }\nvm: { web: { template: ubuntu-24.04, plan: std-1c-1g, vpc: $stacks.net.other } }\n";
const DATA: &str = "stead: 1\nstack: data\nvolume: { a: { size: 10 }, b: { size: 20 } }\n";

fn repository() -> Case {
    Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("net/stead.yaml", NET)
        .file("app/stead.yaml", APP)
        .file("data/stead.yaml", DATA)
        .emulator()
}

/// Flags for a report in each of these formats.
fn reports() -> String {
    ["md", "html", "json", "sarif", "junit", "codequality", "prom", "gitlab", "tfjson", "svg"].iter().fold(
        String::new(),
        |mut flags, form| {
            let _ = write!(flags, " --report {form}=out/all.{form}");
            flags
        },
    )
}

fn read(case: &Case, form: &str) -> String {
    std::fs::read_to_string(case.path(&format!("out/all.{form}"))).unwrap()
}

#[test]
fn reports_of_all_units_say_what_became_of_each() {
    let case = repository();
    case.cloud().faults(&["POST /vms=403:100%"]);
    let run = case.fails(6, &format!("apply --all --yes{}", reports()));
    assert_eq!(run.all().matches("wrote the md report").count(), 1, "{}", run.all());
    assert!(run.stderr.contains("2 of 3 units done, 1 failed"), "{}", run.stderr);
    let md = read(&case, "md");
    for part in ["3 units", "`net/default`", "`app/default`", "`data/default`", "1 failed · 2 applied"] {
        assert!(md.contains(part), "no {part} in {md}");
    }
    let rows =
        |word: &str| md.lines().filter(|line| line.starts_with("| +") && line.contains(word)).count();
    assert_eq!((rows("| done"), rows("| failed")), (4, 1), "{md}");
    assert!(md.contains("⛔ **`vm.web` failed**"), "{md}");
    let html = read(&case, "html");
    assert!(html.contains("net/default") && html.contains("data/default") && html.contains("failed"));
    let json: serde_json::Value = serde_json::from_str(&read(&case, "json")).unwrap();
    let units = json["units"].as_array().unwrap();
    let of = |name: &str| units.iter().find(|unit| unit["stack"] == name).unwrap();
    assert_eq!((&of("app")["status"], &of("net")["status"]), (&"failed".into(), &"applied".into()));
    assert_eq!(of("data")["plan"]["outcome"]["done"].as_array().unwrap().len(), 2, "{json}");
    assert_eq!(of("app")["plan"]["outcome"]["failed"][0]["address"], "vm.web", "{json}");
    let junit = read(&case, "junit");
    assert!(
        junit.contains("name=\"stead apply data/default\"") && junit.contains("failures=\"1\""),
        "{junit}"
    );
    for form in ["sarif", "codequality"] {
        assert!(read(&case, form).contains("app/default: vm.web: "), "{form}: {}", read(&case, form));
    }
    let metrics = read(&case, "prom");
    assert!(metrics.contains("data") && metrics.contains("app"), "{metrics}");
    // What describes a plan only is the plan's.
    assert!(read(&case, "gitlab").contains("\"create\":5"), "{}", read(&case, "gitlab"));
    assert!(
        case.path("out/all.app-default.tfjson").exists() && case.path("out/all.net-default.svg").exists()
    );
}

#[test]
fn what_two_phases_of_a_unit_did_is_one_result() {
    let case = repository();
    case.ok("apply --all --yes");
    // The network gets another VPC, and its old one waits for the application.
    case.edit("app/stead.yaml", "net.other", "net.vpc_id");
    case.write(
        "net/stead.yaml",
        NET.replace("other: { cidr: 10.41", "third: { cidr: 10.42").replace(", other: $vpc.other", ""),
    );
    let run = case.ok(&format!("apply --all --yes --replace app/default:vm.web{}", reports()));
    run.says(&["net/default deleted what waited"]);
    let md = read(&case, "md");
    for row in ["| `vpc.third` |", "| `vpc.other` |", "| `vm.web` |"] {
        let line = md.lines().find(|line| line.contains(row)).unwrap_or_else(|| panic!("no {row} in {md}"));
        assert!(line.contains("| done"), "{line}");
    }
    case.ok("plan --all --exit-code");
}

#[test]
fn a_unit_that_did_not_begin_is_a_failure_in_each_report() {
    let case = repository();
    case.cloud().faults(&["POST /vpcs=403:100%"]);
    case.fails(6, &format!("apply --all --yes{}", reports()));
    let junit = read(&case, "junit");
    let suite = junit.split("<testsuite ").find(|part| part.contains("app/default\"")).unwrap();
    assert!(suite.contains("failures=\"1\"") && suite.contains("it waits for net/default"), "{suite}");
    for form in ["sarif", "codequality", "md", "html"] {
        let text = read(&case, form);
        assert!(text.contains("it waits for net/default, which was not applied"), "{form}: {text}");
    }
    assert!(
        read(&case, "sarif").contains("app/default: skipped: it waits for"),
        "{}",
        read(&case, "sarif")
    );
}

#[test]
fn a_set_of_saved_plans_has_the_reports_of_all_units_and_a_worker_has_none() {
    let case = repository();
    case.ok("plan --all -o set");
    case.ok("apply set --report md=out/all.md");
    let md = read(&case, "md");
    assert!(md.contains("3 applied") && md.contains("`vm.web`") && md.contains("`volume.b`"), "{md}");
    let expected = "0".repeat(64);
    case.fails(64, &format!("apply --all --expect {expected} --join one --report md=out/worker.md"))
        .says(&["a worker writes no reports"]);
}

#[test]
fn a_stack_that_cannot_be_read_is_in_every_report() {
    let case = repository();
    case.ok("apply --all --yes");
    // Nothing but the stack that cannot be read is wrong.
    case.edit("app/stead.yaml", "stack: app", "  stack: [");
    let app = serde_json::json!([null, null, "app", "failed", 1]);
    for command in ["plan --all", "drift --all", "apply --all --yes"] {
        let reports = ["md", "html", "json", "sarif", "junit", "codequality"]
            .map(|form| format!(" --report {form}=out/all.{form}"))
            .concat();
        let run = case.fails(1, &format!("{command}{reports}"));
        run.says(&["app"]);
        let md = read(&case, "md");
        assert!(md.contains("| ⛔ | `app` |") && !md.contains("✅ stead"), "{command}: {md}");
        assert!(read(&case, "html").contains("data-unit=\"app\""), "{command}");
        let json: serde_json::Value = serde_json::from_str(&read(&case, "json")).unwrap();
        let first = &json["units"][0];
        let keys = ["stack", "environment", "directory", "status", "exit"];
        assert_eq!(serde_json::json!(keys.map(|key| &first[key])), app, "{command}");
        assert_eq!(
            (&json["summary"]["failed"], &json["summary"]["units"]),
            (&1.into(), &3.into()),
            "{json}"
        );
        assert!(first["error"]["diagnostics"][0]["code"].is_string(), "{first}");
        let sarif: serde_json::Value = serde_json::from_str(&read(&case, "sarif")).unwrap();
        let results = sarif["runs"][0]["results"].to_string();
        assert!(results.contains("app/stead.yaml") && results.contains("app: it has no plan"), "{results}");
        assert!(read(&case, "codequality").contains("app/stead.yaml"), "{command}");
        let junit = read(&case, "junit");
        assert!(junit.contains("name=\"stead app\"") || junit.contains("name=\"app\""), "{junit}");
    }
    let json = case.fails(1, "plan --all --output json").json();
    assert_eq!(json["units"][0]["directory"], "app", "{json}");
    // A selection of others leaves it out.
    let json = case.ok("plan --all --stacks data --output json").json();
    assert_eq!(json["units"].as_array().unwrap().len(), 1, "{json}");
}

#[test]
fn the_markdown_counts_what_has_no_known_price() {
    // Its size is known once the project is applied.
    let volume = "project: { NAME: {} }\nvolume: { NAME: { name: NAME, size: \"${project.NAME.created_at == '' ? 10 : 20}\" } }\n";
    let stack = |name: &str| format!("stead: 1\nstack: {name}\n{}", volume.replace("NAME", name));
    let case = Case::new().file(".git/HEAD", "ref: refs/heads/main\n").emulator();
    case.write("one/stead.yaml", stack("one"));
    case.write("two/stead.yaml", stack("two"));
    case.ok("plan --all --report md=all.md --report html=all.html")
        .says(&["2 resources without a known price, not counted"]);
    let said = "at least $0.00/mo · 2 resources without a known price, not counted";
    let md = std::fs::read_to_string(case.path("all.md")).unwrap();
    assert!(md.lines().any(|line| line.starts_with("### ") && line.contains(said)), "{md}");
    let html = std::fs::read_to_string(case.path("all.html")).unwrap();
    assert!(html.contains("2 resources without a known price, not counted"), "{html}");
    case.ok("cost --all").says(&["2 resources without a known price, not counted"]);
    case.ok("-C one plan --report md=one.md");
    let md = std::fs::read_to_string(case.path("one.md")).unwrap();
    let last = md.trim_end().lines().next_back().unwrap();
    assert!(last.contains("$0.00 → $0.00 a month · 1 resource without a known price, not counted"), "{md}");
    // The last line is still the one that names the plan.
    assert!(last.starts_with("<sub>`") && last.contains("apply --expect"), "{last}");
}

#[test]
fn the_reports_of_a_check_of_many_units_name_the_units_of_each_finding() {
    let stack = |name: &str, size: &str| {
        format!(
            "stead: 1\nstack: {name}\nenvironments: {{ dev: {{}}, prod: {{}} }}\nvolume: {{ v: {{ size: {size} }} }}\n"
        )
    };
    let case = Case::new().file(".git/HEAD", "ref: refs/heads/main\n");
    case.write("a/stead.yaml", stack("a", "$vars.size"));
    case.write("b/stead.yaml", stack("b", "'${env == \"prod\" ? vars.size : 10}'"));
    case.write("c/stead.yaml", "stead: 1\nstack: [\n");
    case.fails(1, "validate --all --report sarif=x.sarif --report junit=x.xml");
    let log = std::fs::read_to_string(case.path("x.sarif")).unwrap();
    let junit = std::fs::read_to_string(case.path("x.xml")).unwrap();
    let log: serde_json::Value = serde_json::from_str(&log).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    let unit = |result: &serde_json::Value| {
        let name = &result["locations"][0]["logicalLocations"][0]["name"];
        name.as_str().unwrap_or_default().to_owned()
    };
    let units: std::collections::BTreeSet<String> = results.iter().map(unit).collect();
    for name in ["a/dev, a/prod", "b/", "c"] {
        assert!(units.iter().any(|unit| unit.starts_with(name)), "{name} {units:?}");
        assert!(junit.contains(&format!("message=\"{name}")), "{name} {junit}");
    }
}
