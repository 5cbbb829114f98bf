//! `fmt`, `cost`, `ls` and `test` of many stacks: by unit, worst first, and no failure hides another result.

use serde_json::{Value, json};

use crate::case::Case;

const NET: &str = "stead: 1\nstack: net\nenvironments: { dev: { vars: { cidr: 10.40.0.0/16 } }, prod: {} }\nvars: { cidr: { default: 10.30.0.0/16 } }\nvpc: { main: { name: \"main-${env}\", cidr: $vars.cidr } }\noutputs: { vpc_id: $vpc.main }\n";
const APP: &str = "stead: 1\nstack: app\nenvironments: { dev: {}, prod: {} }\nstacks: { net: ../net }\nvm: { web: { name: \"web-${env}\", template: ubuntu-24.04, plan: std-1c-1g, vpc: $stacks.net.vpc_id } }\n";

fn repository() -> Case {
    Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("net/stead.yaml", NET)
        .file("app/stead.yaml", APP)
}

/// Returns the names of the units in a document, in its order.
fn names(document: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let units = document["units"].as_array().unwrap().iter();
    units.map(|unit| format!("{}/{}", text(&unit["stack"]), text(&unit["environment"]))).collect()
}

#[test]
fn files_of_all_stacks_are_formatted_once_and_a_syntax_error_changes_its_stack_only() {
    let case = repository();
    let ugly = NET.replace("stack: net", "stack:   net");
    case.write("net/stead.yaml", &ugly);
    case.write("net/more.stead.yaml", "volume:   { v: { size: 10 } }\n");
    case.write("bad/stead.yaml", "stead: 1\nstack:   bad\nvpc: { main: { cidr: 10.0.0.0/16 }\n");
    let read = |name: &str| std::fs::read_to_string(case.path(name)).unwrap();
    let document = case.fails(1, "fmt --all --check --output json").json();
    assert_eq!(document["summary"]["written"], false);
    assert_eq!(names(&document)[0], "-/-", "{document:#}");
    assert_eq!(read("net/stead.yaml"), ugly);
    // The selection narrows stacks, not environments: two units of `net` share its files.
    let document = case.fails(1, "fmt --all --check --stacks net --output json").json();
    let net = document["units"].as_array().unwrap().iter().find(|unit| unit["stack"] == "net").unwrap();
    assert_eq!(net["result"]["files"], json!(["net/more.stead.yaml", "net/stead.yaml"]), "{document:#}");
    assert_eq!((&net["status"], &net["exit"]), (&json!("changed"), &json!(1)));
    let run = case.fails(1, "fmt --all");
    assert!(
        run.stdout.contains("net/stead.yaml") && run.stderr.contains("bad/stead.yaml"),
        "{}",
        run.all()
    );
    assert!(
        read("net/stead.yaml").contains("stack: net") && read("bad/stead.yaml").contains("stack:   bad")
    );
    std::fs::remove_dir_all(case.path("bad")).unwrap();
    case.ok("fmt --all");
    assert_eq!(case.ok("fmt --all --check").stdout, "");
    case.write("net/stead.yaml", &ugly);
    case.ok("fmt --all --diff --stacks net").says(&["stack:   net", "stack: net"]);
    case.fails(64, "fmt --all net/stead.yaml").says(&["--all"]);
    case.fails(64, "fmt --stacks net").says(&["--all"]);
}

#[test]
fn costs_are_summed_and_a_failed_unit_is_counted() {
    let case = repository().emulator();
    let document = case.ok("cost --all --output json").json();
    assert_eq!(
        document["summary"],
        json!({ "units": 4, "failed": 0, "monthly_before": 0.0, "monthly_after": 10.0, "unpriced": 0 })
    );
    case.ok("cost --all").says(&["4 units", "app/dev", "$5.00", "total", "$10.00"]);
    case.ok("cost --all -v -e prod").says(&["app/prod", "vm.web", "2 units"]);
    // Offline, the outputs of other stacks are not needed.
    let offline = case.ok("cost --all --offline --output json").json();
    let summary = &offline["summary"];
    assert_eq!((&summary["monthly_before"], &summary["monthly_after"]), (&Value::Null, &json!(10.0)));
    case.edit("app/stead.yaml", "plan: std-1c-1g", "plan: std-1c-1g, nonsense: 1");
    let document = case.fails(1, "cost --all --output json").json();
    assert_eq!(names(&document), ["app/dev", "app/prod", "net/dev", "net/prod"]);
    assert_eq!(document["summary"]["failed"], 2);
    assert_eq!(document["units"][0]["error"]["diagnostics"][0]["severity"], "error");
    let run = case.fails(1, "cost --all");
    assert!(run.stdout.contains("net/prod") && run.stderr.contains("nonsense"), "{}", run.all());
    case.fails(64, "cost --all --vs prod").says(&["--all"]);
    case.fails(64, "cost --all --stacks nett").says(&["Did you mean `net`?"]);
}

#[test]
fn objects_of_all_units_are_listed_with_their_unit() {
    let case = repository().emulator();
    case.ok("ls --all").says(&["Nothing is managed yet."]);
    let plan = case.ok("plan --all --output json").json();
    case.ok(&format!("apply --all --expect {}", plan["fingerprint"].as_str().unwrap()));
    let before = case.cloud().last();
    let document = case.ok("ls --all --output json").json();
    let lists = case.cloud().requests().into_iter().filter(|(number, ..)| *number > before);
    let vpcs = lists.filter(|(_, request, _)| request.starts_with("GET /api/v1/vpcs")).count();
    assert_eq!(vpcs, 1, "the account is read once");
    assert_eq!(document["summary"], json!({ "units": 4, "failed": 0, "objects": 4 }));
    let run = case.ok("ls --all -e prod -o wide");
    run.says(&["UNIT", "ADDRESS", "app/prod", "vm.web", "net/prod", "vpc.main"]);
    assert!(!run.stdout.contains("dev"), "{}", run.stdout);
    assert_eq!(case.ok("ls --all --kind vm --output json").json()["summary"]["objects"], 2);
    case.fails(64, "ls --all --kind vmm").says(&["Did you mean vm?"]);
    // A shell completes stacks and units, also from a directory inside of the repository.
    for directory in ["", "-C app "] {
        let words = format!("stead {directory}ls --all --stacks ne");
        let at = words.split(' ').count() - 1;
        let offered = case.ok(&format!("__complete {at} {words}")).stdout;
        let offered: Vec<&str> = offered.lines().map(str::trim_end).collect();
        assert_eq!(offered, ["net", "net/dev", "net/prod"], "{directory}");
    }
    case.fails(64, "ls --all --unmanaged").says(&["--all"]);
    // A unit whose ledger is damaged is first, and hides nothing.
    let ledger = case.path("net/.stead/ledger/dev");
    for file in std::fs::read_dir(ledger).unwrap().map(|entry| entry.unwrap().path()) {
        if file.is_file() && std::fs::metadata(&file).unwrap().len() > 100 {
            std::fs::write(file, "{ not a ledger\n").unwrap();
        }
    }
    let document = case.fails(1, "ls --all --output json").json();
    assert_eq!(names(&document)[0], "net/dev", "{document:#}");
    assert_eq!(document["units"][0]["result"], Value::Null);
    assert_eq!(document["summary"]["objects"], 3, "{document:#}");
    // The unit that reads its outputs has its objects, selected with it or alone; the remedy names the stack.
    for (command, rows) in
        [("ls --all", "app/dev "), ("cost --all", "app/dev "), ("drift --all", "app/dev · no drift")]
    {
        let run = case.fails(1, command);
        run.says(&["net/dev", "stead -C ./net -e dev state verify", "stead -C ./net -e dev state repair"]);
        assert!(run.stdout.contains(rows), "{}", run.all());
        case.ok(&format!("{command} --stacks app")).says(&["app/dev"]);
    }
    case.fails(1, "plan --all --stacks app").says(&["net/dev", "stead -C ./net -e dev state repair"]);
    case.fails(1, "output --all").says(&["stead -C ./net -e dev state repair"]);
    case.fails(1, "-C net -e dev plan").says(&["stead -C net -e dev state repair"]);
    case.fails(1, "-C ./net -e dev state verify").says(&["is damaged"]);
}

#[test]
fn tests_of_all_stacks_run_and_a_broken_test_file_hides_no_other() {
    let case = repository();
    case.fails(1, "test --all").says(&["0 tests", "there is no test in the selected stacks"]);
    let test = "test:\n  one network:\n    given: { env: prod }\n    plan: { create: [vpc.main] }\n";
    case.write("net/net.test.yaml", test);
    let document = case.ok("test --all --output json --report junit=all.xml").json();
    let summary = json!({ "stacks": 2, "failed": 0, "untested": 1, "tests_passed": 1, "tests_failed": 0 });
    assert_eq!(document["summary"], summary);
    assert!(std::fs::read_to_string(case.path("all.xml")).unwrap().contains("one network"));
    case.write("net/second.test.yaml", test.replace("vpc.main", "vpc.other"));
    case.write("app/broken.test.yaml", "test: [\n");
    let document = case.fails(1, "test --all --output json").json();
    let summary = &document["summary"];
    assert_eq!(
        (&summary["tests_passed"], &summary["tests_failed"]),
        (&json!(1), &json!(1)),
        "{document:#}"
    );
    assert_eq!(names(&document), ["app/-", "net/-"]);
    assert!(document["units"][0]["error"]["diagnostics"][0]["code"].is_string(), "{document:#}");
    let run = case.fails(1, "test --all");
    assert!(run.stdout.contains("1 passed, 1 failed"), "{}", run.stdout);
    assert!(run.stderr.contains("app/broken.test.yaml"), "{}", run.stderr);
    std::fs::remove_file(case.path("net/second.test.yaml")).unwrap();
    case.ok("test --all --stacks net").says(&["1 test: 1 passed"]);
    case.fails(64, "test --all --watch").says(&["--all"]);
}

#[test]
fn the_units_of_an_apply_share_the_list_of_what_existed_before() {
    const UNITS: usize = 10;
    let case = Case::new().file(".git/HEAD", "ref: refs/heads/main\n").emulator_with(&[
        "--seed",
        "objects=4000",
        "--no-limiter",
    ]);
    for unit in 0..UNITS {
        let vms = ["one", "two"].map(|vm| {
            format!("  {vm}: {{ name: u{unit}-{vm}, template: ubuntu-24.04, plan: std-1c-1g }}\n")
        });
        let text = format!("stead: 1\nstack: u{unit}\nvm:\n{}", vms.concat());
        case.write(&format!("u{unit}/stead.yaml"), text);
    }
    let count_lists = |args: &str| {
        let last = case.cloud().last();
        case.ok(args);
        let requests = case.cloud().requests().into_iter();
        requests.filter(|(seq, line, _)| *seq > last && line == "GET /api/v1/vms").count()
    };
    let pages = count_lists("plan --all");
    assert!(pages > 5, "{pages}");
    let lists = count_lists("apply --all --yes");
    // One list for the plans, one for the plan of each unit, and one of what existed before the first creation, which is
    // read again if the run takes more than a minute.
    assert!(lists <= pages * (1 + UNITS + 3), "{lists} requests for lists of {pages} pages");
    assert_eq!(
        case.cloud().requests().iter().filter(|(_, line, _)| line == "POST /api/v1/vms").count(),
        2 * UNITS
    );
}

#[test]
fn a_report_of_a_check_has_what_has_no_place_in_a_file() {
    let stack = |name: &str| format!("stead: 1\nstack: {name}\nvolume: {{ d: {{ size: 10 }} }}\n");
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("a/stead.yaml", stack("a"))
        .file("b/stead.yaml", stack("b"));
    let reports = "--report junit=r.xml --report sarif=r.sarif";
    let read = |file: &str| std::fs::read_to_string(case.path(file)).unwrap();
    case.ok(&format!("validate --all {reports}"));
    assert!(read("r.xml").contains("the configuration is valid"), "{}", read("r.xml"));
    let run = case.fails(1, &format!("validate --all --locked {reports} --output json"));
    for text in [read("r.xml"), read("r.sarif"), run.stdout] {
        for unit in ["a/default", "b/default"] {
            assert!(
                text.contains(&format!("{unit}: ")) && text.contains("stead.lock is missing"),
                "{text}"
            );
        }
        assert!(!text.contains("the configuration is valid"), "{text}");
    }
    // A warning fails no test, and is in it.
    case.write("a/stead.yaml", stack("a").replace("size: 10", "size: 10, name: &unused d"));
    case.write(
        "b/stead.yaml",
        "stead: 1\nstack: b\nvars: { unused: { default: 1 } }\nvolume: { d: { size: 10 } }\n",
    );
    case.ok(&format!("validate --all {reports}"));
    let junit = read("r.xml");
    assert!(junit.contains("failures=\"0\"") && junit.contains("<system-out>"), "{junit}");
}

#[test]
fn a_command_over_units_that_all_failed_never_succeeds() {
    // No cloud is configured: a wrong setting of each unit.
    let case = repository();
    let root = case.path("").file_name().unwrap().to_string_lossy().into_owned();
    for command in [
        "plan --all",
        "plan --all --destroy",
        "drift --all",
        "apply --all -e prod --yes",
        "ls --all",
        "cost --all",
    ] {
        let run = case.fails(64, command);
        run.says(&["no cloud is configured"]);
        assert!(!run.all().contains("next: "), "{command}: {}", run.all());
    }
    case.fails(64, &format!("destroy --all --yes --confirm {root}")).says(&["no cloud is configured"]);
    let json = case.fails(64, "plan --all --output json").json();
    let exits: Vec<_> = json["units"].as_array().unwrap().iter().map(|unit| unit["exit"].clone()).collect();
    assert_eq!(exits, [64, 64, 64, 64]);
}
