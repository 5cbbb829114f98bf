//! Reports that a run writes to files besides its output.
#![allow(clippy::disallowed_methods, reason = "tests read the files that commands leave")]

use std::fs;

use serde_json::{Value, json};
use stead::report::review::ReviewFormat;

use crate::browser::Browser;
use crate::case::Case;

/// Every format of a plan's report.
fn report_forms() -> impl Iterator<Item = &'static str> {
    ReviewFormat::ALL.iter().map(|format| format.name())
}

fn all() -> String {
    report_forms().fold(String::new(), |flags, form| flags + &format!(" --report {form}=out/report.{form}"))
}

/// Returns the example, changed after its apply: one VM is replaced and a volume grows.
fn changed() -> Case {
    let case = Case::example("shop").emulator();
    case.ok("apply --yes");
    case.edit("shop.stead.yaml", "template: ubuntu-24.04", "template: debian-12");
    case.edit(
        "shop.stead.yaml",
        "media_gb: { type: int, default: 100",
        "media_gb: { type: int, default: 150",
    );
    case
}

#[test]
fn one_run_writes_every_report_and_reads_once() {
    let case = changed();
    // What the limiter puts off is sent again, and says nothing of how much is read.
    let sent = || case.cloud().requests().iter().filter(|(_, _, status)| *status != 429).count();
    let start = sent();
    let plain = case.ok("plan");
    let middle = sent();
    let reported = case.ok(&format!("plan{}", all()));
    // The first plan after the edit asks for the catalog's other template, too.
    assert!(sent() - middle <= middle - start, "one set of reads");
    let body = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(body(&plain.stdout), body(&reported.stdout), "the text stays on standard output");
    let read = |form: &str| fs::read_to_string(case.path(&format!("out/report.{form}"))).unwrap();
    assert!(read("md").contains("`vm.web.a` is replaced"));
    assert!(read("html").starts_with("<!DOCTYPE html>"));
    for form in ["json", "tfjson", "sarif", "gitlab", "codequality"] {
        serde_json::from_str::<Value>(&read(form)).unwrap_or_else(|error| panic!("{form}: {error}"));
    }
    let log: Value = serde_json::from_str(&read("sarif")).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    let replaced = results
        .iter()
        .find(|result| result["message"]["text"].as_str().unwrap().starts_with("vm.web.a: replace"));
    let place = &replaced.unwrap()["locations"][0]["physicalLocation"];
    let text = fs::read_to_string(case.path("shop.stead.yaml")).unwrap();
    let line = usize::try_from(place["region"]["startLine"].as_u64().unwrap()).unwrap();
    assert!(text.lines().nth(line - 1).unwrap().contains("template: debian-12"), "{place}");
    assert!(read("prom").contains(
        "stead_changes{stack=\"shop\",env=\"staging\",unit=\"shop/staging\",action=\"replace\"} 2"
    ));
    case.ok("plan -o out/saved.plan");
    case.ok("show out/saved.plan --report md=out/saved.md").says(&["REPLACE"]);
    assert!(fs::read_to_string(case.path("out/saved.md")).unwrap().contains("`vm.web.a` is replaced"));
}

#[test]
fn a_drift_report_contains_only_drift() {
    let case = Case::example("shop").emulator();
    case.ok("apply --yes");
    let machine = case.cloud().list("/api/v1/vms")[0]["id"].as_str().unwrap().to_owned();
    case.cloud().mutate("vm", &machine, &json!({ "name": "renamed" }));
    case.fails(3, &format!("drift --exit-code{}", all()));
    let read = |form: &str| fs::read_to_string(case.path(&format!("out/report.{form}"))).unwrap();
    let page = read("md");
    assert!(
        page.contains("drift: 1 difference") && page.contains("vm.web.a.name: web-a → renamed"),
        "{page}"
    );
    assert!(!page.contains("session_key") && !page.contains("SESSION_KEY"), "{page}");
    assert!(read("prom").contains(
        "stead_drift{stack=\"shop\",env=\"staging\",unit=\"shop/staging\",class=\"unmanaged\"} 0"
    ));
    assert!(read("junit").contains("failures=\"1\""), "{}", read("junit"));
}

#[test]
fn the_reports_of_an_apply_contain_its_outcome() {
    let case = Case::example("minimal").emulator();
    let read = |form: &str| fs::read_to_string(case.path(&format!("out/report.{form}"))).unwrap();
    case.cloud().faults(&["POST /vms=500:100"]);
    let run = case.run(&format!("apply --yes{}", all()));
    assert_ne!(run.code, 0, "{}", run.all());
    assert!(read("md").contains("**`vm.web` failed**"), "{}", read("md"));
    let document: Value = serde_json::from_str(&read("json")).unwrap();
    assert_eq!(document["outcome"]["exit"], run.code);
    assert!(read("junit").contains("<failure message=\"500"), "{}", read("junit"));
    assert!(read("prom").contains("stead_apply_success{stack="));
    case.cloud().faults(&[]);
    case.ok(&format!("apply --yes{}", all()));
    assert!(read("md").contains("· applied: 1 done"), "{}", read("md"));
    assert!(read("html").contains("done in "), "{}", read("html"));
}

#[test]
fn drift_ignores_other_projects() {
    let case = Case::example("minimal").emulator();
    case.ok("apply --yes");
    for name in ["theirs", "others"] {
        let made = case.cloud().control("POST", "/api/v1/projects", &json!({ "name": name }));
        let id = made["data"]["id"].as_str().unwrap().to_owned();
        let cidr = if name == "theirs" { "10.98.0.0/24" } else { "10.99.0.0/24" };
        case.cloud().make("/api/v1/vpcs", &json!({ "name": name, "cidr": cidr }), &id);
    }
    let drift = case.ok("drift --output json").json();
    assert_eq!((&drift["unmanaged"], &drift["managed"]), (&json!([]), &json!(2)), "{drift}");
    let run = case.ok("ls --unmanaged");
    run.says(&["2 other projects of the account left out: --all-projects"]);
    assert!(!run.all().contains("theirs"), "{}", run.all());
    let all = case.ok("ls --unmanaged --all-projects").stdout;
    assert!(all.contains("theirs") && all.contains("others") && all.contains("vpc"), "{all}");
    // A stack with a project of its own is about that one, before it is there and afterwards.
    case.write(
        "own/stead.yaml",
        "stead: 1\nstack: own\nproject: { own: {} }\nvpc: { main: { cidr: 10.50.0.0/16 } }\n",
    );
    for _ in 0..2 {
        let run = case.ok("-C own drift");
        assert!(!run.all().contains("unmanaged,") && !run.all().contains(" vpc "), "{}", run.all());
        run.says(&["also in this account: 3 other projects"]);
        case.ok("-C own apply --yes");
    }
}

#[test]
fn a_drift_run_remembers_the_previous_one() {
    let case = Case::example("minimal").emulator();
    case.ok("apply --yes");
    let first = case.ok("drift --output json").json();
    assert_eq!(first["last_look"], Value::Null);
    let machine = case.cloud().list("/api/v1/vms")[0]["id"].as_str().unwrap().to_owned();
    case.cloud().mutate("vm", &machine, &json!({ "name": "by-hand" }));
    let project = case.cloud().list("/api/v1/vms")[0]["project_id"].as_str().unwrap().to_owned();
    case.cloud().make("/api/v1/vpcs", &json!({ "name": "stranger", "cidr": "10.98.0.0/24" }), &project);
    case.ok("drift").says(&["new 2, known 0, resolved 0", "vm.web.name", "NEW", "vpc stranger", "NEW"]);
    let again = case.ok("drift --output json").json();
    assert!(again["drift"][0]["first_seen"].is_string() && again["last_look"].is_string(), "{again}");
    case.ok("drift").says(&["new 0, known 2", "first seen just now"]);
    case.cloud().mutate("vm", &machine, &json!({ "name": "web" }));
    case.ok("drift --report md=drift.md").says(&["resolved 1", "vm.web.name  resolved, was first seen"]);
    assert!(
        fs::read_to_string(case.path("drift.md")).unwrap().contains("Resolved since the last check: 1")
    );
    assert!(!case.ok("drift").stdout.contains("resolved, was"), "it is told once");
    // A diary that is damaged, or cannot be written, keeps nobody from looking.
    let diary = fs::read_dir(case.path(".stead/drift")).unwrap().next().unwrap().unwrap().path();
    fs::write(&diary, "{").unwrap();
    assert_eq!(case.ok("drift --output json").json()["last_look"], Value::Null);
    fs::remove_dir_all(case.path(".stead/drift")).unwrap();
    case.write(".stead/drift", "a file");
    case.ok("drift").says(&["the next run cannot determine which drift is new"]);
}

#[test]
fn no_changes_is_one_line_with_every_report() {
    let case = Case::example("minimal").emulator();
    case.ok("apply --yes");
    let run = case.ok(&format!("plan{}", all()));
    assert_eq!(run.stdout.lines().count(), 1, "{}", run.stdout);
    run.says(&["No changes"]);
}

#[test]
fn secrets_are_in_no_report() {
    let case = changed();
    case.write("payment-key.example", "canary-in-the-mine");
    case.ok(&format!("plan{}", all()));
    for form in report_forms() {
        let text = fs::read_to_string(case.path(&format!("out/report.{form}"))).unwrap();
        assert!(!text.contains("canary"), "{form}");
    }
}

#[test]
fn configuration_errors_are_written_to_the_reports() {
    let case = Case::example("shop").emulator();
    case.edit("shop.stead.yaml", "vpc: $vpc.main\n    ssh_keys", "vpc: $vpc.mian\n    ssh_keys");
    for (command, code) in [("validate", 1), ("plan", 1)] {
        case.fails(
            code,
            &format!("{command} --report sarif=out/{command}.sarif --report junit=out/{command}.xml"),
        );
        let log = fs::read_to_string(case.path(&format!("out/{command}.sarif"))).unwrap();
        let log: Value = serde_json::from_str(&log).unwrap();
        let result = &log["runs"][0]["results"][0];
        assert_eq!((&result["ruleId"], &result["level"]), (&json!("S0201"), &json!("error")));
        let place = &result["locations"][0]["physicalLocation"];
        assert!(place["artifactLocation"]["uri"].as_str().unwrap().ends_with("shop.stead.yaml"));
        let text = fs::read_to_string(case.path("shop.stead.yaml")).unwrap();
        let at = |key: &str| usize::try_from(place["region"][key].as_u64().unwrap()).unwrap();
        let line = text.lines().nth(at("startLine") - 1).unwrap();
        assert_eq!(&line[at("startColumn") - 1..at("endColumn") - 1], "mian");
        let xml = fs::read_to_string(case.path(&format!("out/{command}.xml"))).unwrap();
        assert!(xml.contains("S0201"), "{xml}");
    }
    case.fails(64, "validate --report html=x").says(&["there is no report format html here", "junit"]);
    case.fails(64, "plan --report mdd=x").says(&["did you mean md?"]);
    case.fails(64, "plan --report md").says(&["FORMAT=PATH"]);
    let case = Case::example("minimal").emulator().file("file", "");
    case.fails(1, "plan --report md=file/x.md").says(&["file/x.md"]);
}

#[test]
#[ignore = "needs Chromium; .ci/run brings what it needs and runs it"]
fn the_html_report_filters_by_keyboard_and_loads_nothing() {
    let case = changed();
    case.ok("plan --report html=plan.html");
    let mut browser = Browser::open(&format!("file://{}", case.path("plan.html").display()));
    let shown = "[...document.querySelectorAll('.card')].filter((card) => !card.hidden).length";
    browser.until(&format!("{shown} === 4"));
    browser.value("document.querySelector('[data-filter=danger]').click()");
    browser.until(&format!("{shown} === 3"));
    browser.value("document.querySelector('[data-filter=all]').click()");
    browser.press("j");
    browser.until("document.querySelector('.card.at') !== null");
    browser.value(
        "(() => { const field = document.querySelector('nav input'); field.value = 'volume.media';
         field.dispatchEvent(new Event('input', { bubbles: true })); })()",
    );
    browser.until(&format!("{shown} >= 1 && {shown} < 4"));
    assert_eq!(
        browser.value("JSON.parse(document.getElementById('plan').textContent).stack"),
        json!("shop")
    );
    let asked = browser.told("Network.requestWillBeSent");
    let elsewhere: Vec<_> = asked
        .iter()
        .filter_map(|request| request["request"]["url"].as_str())
        .filter(|url| !url.starts_with("file:") && !url.starts_with("data:"))
        .collect();
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
}

/// Writes the page of a plan with many creations, some of them equal, and opens it.
fn many_changes(count: usize, size: &str) -> (Case, Browser) {
    let keys: Vec<String> = (0..count).map(|number| format!("n{number}")).collect();
    let stack = format!(
        "stead: 1\nstack: many\nvolume:\n  data:\n    for_each: [{}]\n    size: {size}\n",
        keys.join(", ")
    );
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("plan --report html=plan.html");
    let browser = Browser::open(&format!("file://{}", case.path("plan.html").display()));
    (case, browser)
}

#[test]
#[ignore = "needs Chromium; .ci/run brings what it needs and runs it"]
fn the_page_of_any_number_of_changes_opens_and_fits() {
    for count in [10, 500, 10_000] {
        let (case, mut browser) = many_changes(count, "10");
        let url = format!("file://{}", case.path("plan.html").display());
        // The first page pays for the start of the browser.
        browser.go("about:blank");
        browser.go(&url);
        let loaded = "performance.getEntriesByType('navigation')[0].loadEventEnd";
        browser.until(&format!("{loaded} > 0"));
        println!("{count} changes: the page is loaded after {} ms", browser.value(loaded));
        assert_eq!(browser.value("document.querySelectorAll('.card').length"), 1, "{count}");
        assert_eq!(browser.value("document.querySelectorAll('.members li').length"), count);
        for (width, scheme) in [(1280, "light"), (1280, "dark"), (360, "light"), (360, "dark")] {
            browser.call(
                "Emulation.setDeviceMetricsOverride",
                &json!({ "width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500 }),
            );
            let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
            browser.call("Emulation.setEmulatedMedia", &json!({ "features": [feature] }));
            browser.until("document.documentElement.scrollWidth <= window.innerWidth");
            browser
                .until("document.querySelector('.card').getBoundingClientRect().top < window.innerHeight");
        }
        // By keyboard alone: the first card is reached and closed.
        browser.press("j");
        browser.until("document.activeElement.closest('.card') !== null");
        browser.press("Enter");
        browser.until("document.querySelector('.card').open === false");
        let errors = browser.told("Runtime.exceptionThrown");
        assert!(errors.is_empty(), "{errors:?}");
    }
}
