//! What a person and a program see of many stacks: one page, a stream of events, and lines in a log.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::case::Case;

const NET: &str = "stead: 1\nstack: net\nenvironments: { dev: { vars: { cidr: 10.40.0.0/16 } }, prod: {} }\nvars: { cidr: { default: 10.30.0.0/16 } }\nvpc: { main: { name: \"main-${env}\", cidr: $vars.cidr } }\noutputs: { vpc_id: $vpc.main, cidr: $vpc.main.cidr }\n";
const APP: &str = "stead: 1\nstack: app\nenvironments: { dev: {}, prod: {} }\nstacks: { net: ../net }\nvm: { web: { name: \"web-${env}\", template: ubuntu-24.04, plan: std-1c-1g, vpc: $stacks.net.vpc_id } }\n";

fn repository() -> Case {
    Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("net/stead.yaml", NET)
        .file("app/stead.yaml", APP)
}

/// Applies all units, then changes the network of production, and blocks that of development.
fn changed() -> Case {
    let case = repository().emulator();
    case.apply_all();
    case.edit("net/stead.yaml", "prod: {}", "prod: { vars: { cidr: 10.50.0.0/16 } }");
    case.write(
        "twin/stead.yaml",
        "stead: 1\nstack: twin\nvpc: { net: { cidr: 10.50.1.0/24, name: \"<i>twin\" } }\n",
    );
    case
}

fn read(case: &Case, name: &str) -> String {
    std::fs::read_to_string(case.path(name)).unwrap()
}

#[test]
fn one_page_has_the_graph_and_the_changes_of_each_unit() {
    let case = changed();
    case.fails(4, "plan --all --report html=all.html");
    let page = read(&case, "all.html");
    assert!(!case.path("all.app-prod.html").exists(), "one page for all units");
    assert_eq!(page.matches("<section class=\"unit\"").count(), 3, "those without changes have no section");
    // An address stands once for each unit that has it.
    assert!(page.contains("id=\"unit-0.vm.web\"") && page.contains("id=\"unit-1.vpc.main\""), "{page}");
    // Boxes of blocked units say so in words, not by color alone.
    assert!(page.matches("⊘ blocked").count() >= 3, "{page}");
    assert!(page.contains("default-src 'none'"), "{page}");
    let source = page.replace("http://www.w3.org/2000/svg", "");
    for address in ["src=", "http://", "https://", "<i>twin", "url("] {
        assert!(!source.contains(address), "{address}");
    }
    let mut ids: Vec<&str> =
        page.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "{ids:?}");
    for link in page.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(ids.contains(&link), "{link} leads nowhere");
    }
    let document = page.split("id=\"plan\">").nth(1).unwrap().split("</script>").next().unwrap();
    let document: Value = serde_json::from_str(document).unwrap();
    assert_eq!(document["units"].as_array().unwrap().len(), 5);
    case.ok("drift --all --report html=drift.html");
    assert!(read(&case, "drift.html").contains("0 unmanaged objects"), "{}", read(&case, "drift.html"));
}

#[test]
fn the_page_of_a_thousand_units_is_bounded() {
    let case = Case::new().file(".git/HEAD", "ref: refs/heads/main\n");
    let mut blocks = String::new();
    for number in 0..25 {
        let _ = writeln!(blocks, "  v{number}: {{ size: 10 }}");
    }
    for number in 0..100 {
        let names: Vec<String> = (0..10).map(|at| format!("e{at}: {{}}")).collect();
        let text = format!(
            "stead: 1\nstack: s{number}\nenvironments: {{ {} }}\nvolume:\n{}",
            names.join(", "),
            blocks.replace("size: 10", &format!("size: 10, name: \"s{number}-${{env}}-${{each}}\""))
        );
        case.write(&format!("s{number}/stead.yaml"), text.replace("-${each}", "-v"));
    }
    // Each name stands 25 times in a unit, so that all of them are blocked: the longest page.
    let run = case.run("plan --all --cloud local --report html=all.html -q");
    assert!(matches!(run.code, 0 | 4), "{}", run.stderr);
    let page = read(&case, "all.html");
    assert!(page.len() < 16_000_000, "{} bytes", page.len());
    assert!(page.contains("did not fit here") || page.len() < 8_000_000, "{} bytes", page.len());
    assert!(page.contains("units are too many to draw"));
    assert_eq!(page.matches("<th scope=\"row\"><a href=\"#unit-").count().min(1), 1);
}

#[test]
fn each_unit_of_a_stream_starts_and_ends_and_the_document_is_last() {
    let case = repository().emulator();
    let stream = case.ok("plan --all --output ndjson").stdout;
    let lines: Vec<Value> = stream.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (last, events) = lines.split_last().unwrap();
    let fingerprint = last["fingerprint"].as_str().unwrap();
    assert_eq!(last["units"].as_array().unwrap().len(), 4);
    assert!(events.iter().all(|event| event["unit"]["stack"].is_string()), "{stream}");
    case.cloud().faults(&["POST /vpcs=403:1"]);
    let run = case.fails(6, &format!("apply --all --expect {fingerprint} --output ndjson"));
    let lines: Vec<Value> = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (last, events) = lines.split_last().unwrap();
    let of = |event: &'static str| events.iter().filter(move |line| line["event"] == event);
    assert_eq!((of("unit_started").count(), of("unit_ended").count()), (3, 3), "{}", run.stdout);
    let skipped: Vec<&Value> = of("unit_skipped").collect();
    assert_eq!((skipped.len(), &skipped[0]["unit"]["stack"]), (1, &json!("app")), "{}", run.stdout);
    assert_eq!(skipped[0]["because"]["environment"], skipped[0]["unit"]["environment"]);
    // Events of a step stand between the start and the end of their unit.
    for (position, event) in events.iter().enumerate().filter(|(_, event)| event["event"] == "succeeded") {
        let is_own = |line: &&Value| line["unit"] == event["unit"];
        let before = events[..position].iter().filter(is_own).any(|line| line["event"] == "unit_started");
        let after = events[position..].iter().filter(is_own).any(|line| line["event"] == "unit_ended");
        assert!(before && after, "{event}");
    }
    let failed: Vec<&Value> = of("unit_ended").filter(|line| line["exit"] != 0).collect();
    assert_eq!(failed.len(), 1, "{}", run.stdout);
    assert_eq!(last["summary"]["units"], 4, "{last}");
    assert!(run.stderr.trim().is_empty(), "{}", run.stderr);
}

#[test]
fn a_log_says_how_many_units_are_done_and_which_run() {
    let case = repository().emulator();
    let plan = case.ok("plan --all --output json").json();
    let flags = format!("--expect {}", plan["fingerprint"].as_str().unwrap());
    let run = case.ok(&format!("apply --all {flags}"));
    let lines: Vec<&str> = run.stderr.lines().filter(|line| line.contains(" units done")).collect();
    assert_eq!(lines.len(), 5, "{}", run.stderr);
    assert_eq!(lines[0], "0 of 4 units done, running: net/dev, net/prod");
    assert!(lines[1].starts_with("1 of 4 units done, running: "), "{lines:?}");
    assert_eq!(lines[4], "4 of 4 units done");
    let quiet = case.ok(&format!("apply --all {flags} -q").replace(&flags, "-e dev --yes"));
    assert!(!quiet.stderr.contains("units done"), "{}", quiet.stderr);
}

/// Returns what axe finds on the page.
fn axe_findings(browser: &mut Browser, axe: &str) -> Vec<String> {
    browser.value(axe);
    let found = browser.value(
        "axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations.map((rule) =>
         rule.id + ': ' + rule.nodes.map((node) => node.target.join(' ')).join(', ')))",
    );
    found.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

#[test]
#[ignore = "needs Chromium and axe, as .ci/run installs them"]
fn the_page_of_many_units_is_read_by_keyboard_and_axe_finds_nothing() {
    let case = changed();
    case.fails(4, "plan --all --report html=all.html");
    case.ok("plan --all --stacks app --report html=app.html");
    case.run("-C app plan -e prod --report html=one.html");
    let axe = std::fs::read_to_string(std::env::var("STEAD_AXE").unwrap()).unwrap();
    let address = |name: &str| format!("file://{}", case.path(name).display());
    let mut browser = Browser::open(&address("all.html"));
    let shown = "[...document.querySelectorAll('.card')].filter((card) => !card.hidden).length";
    browser.until(&format!("{shown} === 3"));
    browser.press("j");
    browser.until("document.activeElement.closest('.card.at') !== null");
    browser.press("/");
    browser.value("(() => { const input = document.querySelector('nav input'); input.value = 'twin'; input.dispatchEvent(new Event('input')); })()");
    browser.until(&format!("{shown} === 1"));
    // The units of hidden changes are hidden, too; the name of a unit finds all its changes.
    browser.until("[...document.querySelectorAll('.unit')].filter((unit) => !unit.hidden).length === 1");
    browser.press("Escape");
    browser.value("(() => { const input = document.querySelector('nav input'); input.value = ''; input.dispatchEvent(new Event('input')); })()");
    browser.until(&format!("{shown} === 3"));
    // A box of the graph leads to its unit.
    browser.value("document.querySelector('.map a').focus()");
    browser.press("Enter");
    browser.until("location.hash.startsWith('#unit-')");
    let mut findings = Vec::new();
    for name in ["all.html", "app.html", "one.html"] {
        for (scheme, width) in [("light", 1280), ("dark", 1280), ("light", 390)] {
            browser.go(&address(name));
            let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
            browser.call("Emulation.setEmulatedMedia", &json!({ "features": features }));
            browser.call(
                "Emulation.setDeviceMetricsOverride",
                &json!({ "width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600 }),
            );
            let found = axe_findings(&mut browser, &axe);
            findings.extend(found.into_iter().map(|text| format!("{name} ({scheme}, {width}): {text}")));
            let wide = browser
                .value("document.documentElement.scrollWidth - document.documentElement.clientWidth");
            if wide.as_i64().unwrap() > 0 {
                findings.push(format!("{name}: {wide} pixels wider than {width}"));
            }
        }
    }
    assert!(findings.is_empty(), "{findings:#?}");
    let loaded: Vec<String> = browser
        .told("Network.requestWillBeSent")
        .iter()
        .map(|event| event["request"]["url"].as_str().unwrap().to_owned())
        .filter(|url| !url.starts_with("file://") && !url.starts_with("about:"))
        .collect();
    assert!(loaded.is_empty(), "{loaded:?}");
}

#[test]
fn a_plan_of_outputs_alone_is_counted_everywhere() {
    let case = repository().emulator();
    case.apply_all();
    case.edit("net/stead.yaml", "cidr: $vpc.main.cidr }", "cidr: $vpc.main.cidr, more: 1, other: 2 }");
    let shown = case.ok("plan --all --report md=all.md --report html=all.html");
    shown.says(&["PLAN   0 create · 0 update · 0 replace · 0 delete · 4 outputs", "next: "]);
    let markdown = read(&case, "all.md");
    assert!(markdown.contains("0 create · 4 outputs · $0.00/mo"), "{markdown}");
    assert!(markdown.contains("| replace | delete | outputs | $/mo | |"), "{markdown}");
    assert!(markdown.contains("| `net/prod` | 0 | 0 | 0 | 0 | 2 | $0.00 | with changes  |"), "{markdown}");
    let page = read(&case, "all.html");
    for part in [
        "<li>4 outputs</li>",
        "<th class=\"number\" scope=\"col\">outputs</th>",
        "<td class=\"number\">2</td>",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let document = case.ok("plan --all --output json").json();
    assert_eq!(document["summary"]["outputs"], 4, "{}", document["summary"]);
}

/// What is printed for a blocked set is true: an apply of it leaves out the blocked unit.
#[test]
fn a_saved_set_with_a_blocked_unit_has_no_next_command() {
    let data = "stead: 1\nstack: data\nvolume: { v: { size: 10 } }\n";
    let case = repository().file("data/stead.yaml", data).emulator();
    case.apply_all();
    case.write("data/stead.yaml", "stead: 1\nstack: data\nvpc: { b: { cidr: 10.90.0.0/16 } }\n");
    case.edit("net/stead.yaml", "cidr: $vpc.main.cidr }", "cidr: $vpc.main.cidr, more: 1 }");
    let blocked = case.fails(4, "plan --all -o set");
    blocked.says(&[
        "An apply of set leaves out data/default (blocked: holds_data). Correct that, and plan again.",
    ]);
    assert!(!blocked.all().contains("next:"), "{}", blocked.all());
    let applied = case.fails(6, "apply set");
    applied.says(&["data/default  blocked", "UNITS  1 blocked", "2 applied"]);
    assert!(
        case.cloud().list("/api/v1/volumes").len() == 1
            && case.ok("output -C net -e prod more").stdout == "1\n"
    );
    case.write("data/stead.yaml", data);
    case.edit("net/stead.yaml", "more: 1 }", "more: 2 }");
    case.ok("plan --all -o other").says(&["next: ", "apply other"]);
}

#[test]
fn a_saved_set_is_shown_and_compared_without_a_request() {
    let volume = |stack: &str, size: u32| {
        format!("stead: 1\nstack: {stack}\nvolume: {{ d: {{ name: {stack}, size: {size} }} }}\n")
    };
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("net/stead.yaml", "stead: 1\nstack: net\nvpc: { main: { cidr: 10.1.0.0/16 } }\noutputs: { id: $vpc.main }\n")
        .file("app/stead.yaml", "stead: 1\nstack: app\nstacks: { net: ../net }\nvm: { w: { template: ubuntu-24.04, plan: std-1c-1g, vpc: $stacks.net.id } }\n")
        .file("one/stead.yaml", volume("one", 10))
        .emulator();
    case.ok("plan --all -o old");
    let last = case.cloud().last();
    let planned = case.ok("plan --all --output json").json();
    let shown = case.ok("show old --report md=a.md --report html=a.html");
    shown.says(&["vm.w", "+ vpc.main", "one/default", "UNITS  3 with changes", "SIGNATURE"]);
    let document = case.ok("show old --output json").json();
    assert_eq!(document["fingerprint"], planned["fingerprint"]);
    let unit = |name: &str| {
        let units = document["units"].as_array().unwrap();
        units.iter().find(|unit| unit["stack"] == name).cloned().unwrap()
    };
    assert_eq!(unit("app")["directory"], "app");
    let md = std::fs::read_to_string(case.path("a.md")).unwrap();
    assert!(md.contains("stead apply old"), "{md}");
    let requests = case.cloud().requests().into_iter().filter(|(number, ..)| *number > last).count();
    case.write("one/stead.yaml", volume("one", 20));
    std::fs::remove_dir_all(case.path("app")).unwrap();
    case.write("two/stead.yaml", volume("two", 5));
    case.ok("plan --all -o new");
    let difference = case.ok("show new --against old");
    difference.says(&[
        "net/default  the plans decide the same",
        "one/default  1 resource decided differently",
        "volume.d",
        "two/default  was not reviewed: create volume.d",
        "app/default  was reviewed, and has no plan in this set",
    ]);
    let document = case.ok("show new --against old --output json").json();
    assert_eq!(document["nothing_to_do"], serde_json::json!(["app/default"]));
    let before = case.cloud().last();
    case.ok("show new");
    assert_eq!(case.cloud().requests().into_iter().filter(|(number, ..)| *number > before).count(), 0);
    assert!(requests > 0, "the plan sent some");
    std::fs::write(case.path("new/one.default.plan"), "{}").unwrap();
    case.fails(4, "show new").says(&["one.default.plan is not the plan that the manifest names"]);
    std::fs::create_dir(case.path("none")).unwrap();
    assert_ne!(case.run("show none").code, 0);
}
