//! The documentation as a user gets it: pages in the terminal, a search, a site in a directory and on this machine, and
//! the picture of a plan in the README. The site is opened in a real browser, and checked with axe.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};

use regex::Regex;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::case::Case;

#[test]
fn a_topic_is_a_page_a_search_or_an_error_with_a_correction() {
    let case = Case::new();
    case.ok("docs").says(&[
        "Tutorials",
        "first-stack",
        "reference/exit-codes",
        "next: stead docs first-stack",
    ]);
    case.ok("docs exit-codes").says(&["Exit codes", "130", "interrupted"]);
    case.ok("docs /how-to/test-a-stack.html").says(&["Test a stack"]);
    case.ok("docs plan").says(&["stead plan", "other pages of this name: reference/documents/plan"]);
    case.ok("docs rename without replacement")
        .says(&["how-to/rename-without-replacement", "next: stead docs"]);
    case.ok("docs frist-stack").says(&["did you mean `stead docs first-stack`?"]);
    case.ok("docs stead state migrate").says(&["stead state: stead state migrate", "--to"]);
    case.ok("docs database.plan").says(&["database.plan", "stead catalog database"]);
    case.ok("docs reference/kinds/database#plan").says(&["database: plan"]);
    case.ok("docs STEAD_BACKEND").says(&["Settings and environment variables"]);
    case.fails(64, "explain 5").says(&["`stead docs exit-codes`"]);
    case.fails(64, "explain STEAD_BACKEND").says(&["`stead docs settings`"]);
    case.fails(64, "explain zzz").says(&["stead docs WORDS"]);
    assert_eq!(case.ok("docs --output json plan").json()["pages"].as_array().unwrap().len(), 2);
    case.ok("docs how-to").says(&["How-to guides", "test-a-stack"]);
    case.ok("docs -- --target").says(&["reference/commands"]);
    let mut broken = case.command("docs exit-codes");
    let output = broken.env("STEAD_PROFILE", "nope").env("STEAD_COLOR", "blue").output().unwrap();
    assert!(output.status.success() && String::from_utf8(output.stdout).unwrap().contains("interrupted"));
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("warning: "));
    case.fails(64, "docs qqqqqqq")
        .says(&["no page has the name or the words", "`stead docs` lists the pages."]);
    let found = case.ok("docs --output json drift every night").json();
    assert_eq!(found["pages"][0]["address"], "how-to/drift-as-a-cron", "{found}");
    assert!(found["pages"][0]["text"].is_null() && found["query"] == "drift every night");
    let page = case.ok("docs --output json S0201").json();
    assert!(page["pages"][0]["text"].as_str().unwrap().contains("S0201"), "{page}");
}

#[test]
fn explain_prints_the_address_of_a_page_below_the_copy_that_a_setting_names() {
    let case = Case::new();
    case.ok("explain R0301 --web").says(&[
        "http://127.0.0.1:8378/reference/diagnostics/R0301.html",
        "stead docs --serve",
        "STEAD_DOCS_URL",
    ]);
    for (subject, path) in [
        ("database.plan", "reference/kinds/database.html#plan"),
        ("lifecycle.protect", "reference/language/lifecycle.html#protect"),
        ("cidr_subnet", "reference/functions.html#cidr_subnet"),
        ("data_loss", "reference/plan-codes/data_loss.html"),
    ] {
        let mut command = case.command(&format!("explain {subject} --web"));
        let output = command.env("STEAD_DOCS_URL", "https://docs.example.com/stead/").output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(printed, format!("https://docs.example.com/stead/{path}\n"));
        assert!(output.stderr.is_empty());
    }
    for wrong in ["http://x?y=1", "ftp://example.com", "not a url", "javascript:alert(1)", "https://"] {
        let mut command = case.command("explain R0301 --web");
        let output = command.env("STEAD_DOCS_URL", wrong).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(printed.starts_with("http://127.0.0.1:8378/"), "{printed}");
        assert!(String::from_utf8(output.stderr).unwrap().contains("STEAD_DOCS_URL is"));
    }
    case.ok("explain exists").says(&["blocks: the plan is shown, and what the blocker concerns"]);
    case.ok("explain exists()").says(&["written"]);
    case.ok("explain policy")
        .says(&["`policy` is also a code of plans: stead docs reference/plan-codes/policy"]);
}

#[test]
fn a_site_is_written_only_where_nothing_is_lost() {
    let case = Case::new();
    case.ok("docs --out site").says(&["Wrote the documentation", "next: open site/index.html"]);
    let page = fs::read_to_string(case.path("site/how-to/test-a-stack.html")).unwrap();
    assert!(page.contains("<title>Test a stack · stead</title>"), "{page}");
    case.ok("docs --out site");
    case.write("mine/notes.txt", "mine");
    case.fails(1, "docs --out mine")
        .says(&["mine has files that are not of an earlier site", "Nothing was written"]);
    assert_eq!(fs::read_dir(case.path("mine")).unwrap().count(), 1);
}

/// A running `stead docs --serve`, ended when dropped.
struct Served {
    child: Child,
    address: String,
}

impl Served {
    fn start(case: &Case) -> Self {
        let mut child = case.command("docs --serve --port 0").stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
        Self { child, address }
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.address)
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_documentation_is_served_on_this_machine_only_and_ends_with_a_signal() {
    let case = Case::new();
    let mut served = Served::start(&case);
    assert!(served.address.starts_with("127.0.0.1:"), "{}", served.address);
    let page = served.get("/");
    assert!(
        page.starts_with("HTTP/1.1 200") && page.contains("content-security-policy: default-src 'none'"),
        "{page}"
    );
    assert!(served.get("/reference/kinds/vm.html").contains("<h1>vm</h1>"));
    assert!(served.get("/how-to/test-a-stack").contains("location: /how-to/test-a-stack.html"));
    assert!(served.get("/../../etc/passwd").starts_with("HTTP/1.1 404"));
    let port = served.address.rsplit(':').next().unwrap().to_owned();
    case.fails(1, &format!("docs --serve --port {port}"))
        .says(&["cannot be used", "--port 0 selects a free port"]);
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(i32::try_from(served.child.id()).unwrap()).unwrap(),
        rustix::process::Signal::INT,
    )
    .unwrap();
    assert!(served.child.wait().unwrap().success());
}

/// Replaces what differs from run to run in the picture of a plan.
fn without_times(picture: &str) -> String {
    let mut text = picture.to_owned();
    for (pattern, stand_in) in [
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "id"),
        (r"\b[0-9a-f]{8}\b", "id"),
        (r"\b[0-9a-f]{4}-[0-9a-f]{4}\b", "fingerprint"),
        (r"\b198\.18\.\d+\.\d+", "address"),
        (r"\d{1,2} [A-Z][a-z]{2} \d{4} *", "date "),
    ] {
        text = Regex::new(pattern).unwrap().replace_all(&text, stand_in).into_owned();
    }
    text
}

#[test]
fn the_picture_in_the_readme_is_the_plan_that_the_readme_describes() {
    // The clock of the other tests' emulator is so fast that the nightly backup would be made meanwhile.
    let case = Case::example("shop");
    case.ok("apply --cloud local --yes");
    case.edit("shop.stead.yaml", "template: ubuntu-24.04", "template: debian-12");
    case.ok("plan --cloud local --report svg=plan.svg");
    let drawn = fs::read_to_string(case.path("plan.svg")).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/guide/site/plan.svg");
    if std::env::var_os("STEAD_BLESS_GOLDEN").is_some_and(|value| value == "1") {
        fs::write(&path, &drawn).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap();
    assert!(
        without_times(&committed) == without_times(&drawn),
        "`STEAD_BLESS_GOLDEN=1 cargo test --test cli documentation::` draws it again"
    );
    assert!(
        !drawn.contains("http://") || drawn.matches("http://").count() == 1,
        "only the name space: {drawn}"
    );
}

#[test]
fn the_diagnostic_in_the_readme_is_the_one_that_is_printed() {
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let shown =
        readme.split("$ stead validate -C examples/shop\n").nth(1).unwrap().split("```").next().unwrap();
    let stack = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/shop/shop.stead.yaml");
    let stack = fs::read_to_string(stack).unwrap();
    let case = Case::new()
        .file("examples/shop/shop.stead.yaml", stack.replacen("vpc: $vpc.main\n", "vpc: $vpc.mian\n", 1))
        .file("examples/shop/payment-key.example", "a key");
    let run = case.fails(1, "validate -C examples/shop");
    let lines = |text: &str| text.lines().map(str::trim_end).map(str::to_owned).collect::<Vec<_>>();
    // Behind it are the number of errors and the next command.
    assert!(lines(&run.stderr).starts_with(&lines(shown)), "{}", run.stderr);
}

/// The site in a directory, opened as files.
fn open_site(case: &Case, path: &str) -> String {
    format!("file://{}/{path}", case.path("site").display())
}

/// Returns axe's script: `.ci/run` names a copy in `STEAD_AXE`.
fn axe_script() -> String {
    let path = std::env::var("STEAD_AXE").expect("STEAD_AXE names axe.min.js, as .ci/run has it");
    fs::read_to_string(path).unwrap()
}

fn set_scheme(browser: &mut Browser, scheme: &str) {
    let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
    browser.call("Emulation.setEmulatedMedia", &json!({"features": features}));
}

fn set_width(browser: &mut Browser, width: u32) {
    browser.call(
        "Emulation.setDeviceMetricsOverride",
        &json!({"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600}),
    );
}

/// The pages that are looked at: all written ones, and one of each form of the reference.
fn pages_to_check(case: &Case) -> Vec<String> {
    let all = case.ok("docs --output json").json();
    let addresses =
        all["pages"].as_array().unwrap().iter().map(|page| page["address"].as_str().unwrap().to_owned());
    let sample = [
        "reference/the-language",
        "reference/kinds/index",
        "reference/kinds/database",
        "reference/language/lifecycle",
        "reference/functions",
        "reference/diagnostics/S0201",
        "reference/plan-codes/holds_data",
        "reference/commands/plan",
        "reference/commands/state",
        "reference/documents/plan",
        "reference/exit-codes",
        "reference/settings",
        "reference/limits",
        "reference/emulator",
        "reference/stores",
        "reference/report-formats",
    ];
    let mut pages: Vec<String> = addresses
        .filter(|page| !page.starts_with("reference/") || sample.contains(&page.as_str()))
        .collect();
    pages.push("search".to_owned());
    assert!(pages.len() > 50, "{pages:?}");
    pages
}

#[test]
#[ignore = "needs Chromium and axe, as .ci/run installs them"]
fn axe_finds_nothing_in_light_and_dark_and_no_page_is_wider_than_a_phone() {
    let (case, axe) = (Case::new(), axe_script());
    case.ok("docs --out site");
    let mut browser = Browser::open("about:blank");
    let mut findings = Vec::new();
    for page in pages_to_check(&case) {
        browser.go(&open_site(&case, &format!("{page}.html")));
        browser.value(&axe);
        for (scheme, width) in [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 320)] {
            set_scheme(&mut browser, scheme);
            set_width(&mut browser, width);
            // The page's script follows the width.
            browser.until(
                "[...document.querySelectorAll('pre, .table')].every((block) =>
                 block.scrollWidth <= block.clientWidth || block.tabIndex === 0)",
            );
            let violations = browser.value(
                "axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations.map((rule) =>
                 rule.id + ': ' + rule.nodes.map((node) => node.target.join(' ')).join(', ')))",
            );
            for violation in violations.as_array().unwrap() {
                findings.push(format!("{page} ({scheme}): {}", violation.as_str().unwrap()));
            }
            let overflow = browser
                .value("document.documentElement.scrollWidth - document.documentElement.clientWidth");
            if overflow.as_i64().unwrap() > 0 {
                findings.push(format!("{page}: {overflow} pixels wider than the screen of {width}"));
            }
        }
    }
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
}

#[test]
#[ignore = "needs Chromium, as .ci/run installs it"]
fn the_search_of_the_site_finds_what_the_terminal_finds() {
    let case = Case::new();
    case.ok("docs --out site");
    let mut browser = Browser::open(&open_site(&case, "how-to/test-a-stack.html"));
    let questions = include_str!("../guide/questions.txt").lines().filter(|line| !line.starts_with('#'));
    let mut asked = 0;
    for question in
        questions.map(|line| line.split(" | ").next().unwrap()).chain(["nod", "zzzz qqqq", "S02"])
    {
        let script = format!(
            "steadFind({}).then((found) => found.slice(0, 10).map((page) => page.address))",
            json!(question)
        );
        let in_browser = browser.value(&script);
        let mut command = case.command("docs --output json");
        let output = command.args(question.split(' ')).output().unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let in_terminal: Vec<Value> = document["pages"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|page| page["address"].clone())
            .collect();
        assert_eq!(in_browser, json!(in_terminal), "{question}");
        asked += 1;
    }
    assert_eq!(asked, 46);
}

#[test]
#[ignore = "needs Chromium, as .ci/run installs it"]
fn the_site_is_used_with_the_keyboard_and_loads_only_its_own_files() {
    let case = Case::new();
    case.ok("docs --out site");
    let mut browser = Browser::open(&open_site(&case, "index.html"));
    browser.press("/");
    browser.until("document.activeElement.id === 'search'");
    browser.call("Input.insertText", &json!({"text": "rename without"}));
    browser.until("document.querySelectorAll('#suggestions [role=option]').length > 2");
    browser.press("ArrowDown");
    browser.until("document.querySelector('#suggestions [aria-selected=true]')?.id === 'suggestion-0'");
    browser.press("Enter");
    browser.until(
        "location.pathname.endsWith('/how-to/rename-without-replacement.html') && document.readyState === 'complete'",
    );
    browser.press("/");
    browser.until("document.activeElement.id === 'search'");
    browser.call("Input.insertText", &json!({"text": "exit code"}));
    browser.until("!document.getElementById('suggestions').hidden");
    browser.press("Escape");
    browser.until("document.getElementById('suggestions').hidden && document.getElementById('search').value === 'exit code'");
    browser.press("Enter");
    browser.until(
        "location.pathname.endsWith('/search.html') && document.querySelectorAll('.results li').length > 3",
    );
    let first = browser.value("document.querySelector('.results a').textContent");
    assert_eq!(first, "Exit codes");
    let errors = browser.told("Runtime.exceptionThrown");
    assert!(errors.is_empty(), "{errors:?}");
    for request in browser.told("Network.requestWillBeSent") {
        let url = request["request"]["url"].as_str().unwrap();
        assert!(url.starts_with("file://") || url.starts_with("data:"), "{url}");
    }
}

#[test]
#[ignore = "needs Chromium, as .ci/run installs it"]
fn the_served_site_runs_under_its_content_policy() {
    let case = Case::new();
    let served = Served::start(&case);
    let mut browser = Browser::open(&format!("http://{}/how-to/test-a-stack.html", served.address));
    let found = browser.value("steadFind('exit code').then((found) => found[0].address)");
    assert_eq!(found, "reference/exit-codes");
    browser.go(&format!("http://{}/search.html?q=drift", served.address));
    browser.until("document.querySelectorAll('.results li').length > 3");
    let entries = browser.told("Log.entryAdded");
    assert!(entries.is_empty(), "{entries:?}");
}
