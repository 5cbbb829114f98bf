//! The emulator's page in a real browser: it shows and changes objects, and runs no other script.

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::case::Case;

const STACK: &str = "\
stead: 1
stack: shop
environments: { prod: { default: true } }
vpc: { main: { cidr: 10.0.0.0/16 }, second: { cidr: 10.1.0.0/16 } }
database: { shop: { plan: pg-1c-2g, replica_count: 0 } }
";

fn applied() -> (Case, Browser) {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    case.ok("apply --yes");
    let browser = Browser::open(&format!("{}/", case.cloud().url));
    (case, browser)
}

/// Selects a kind, and waits until `objects` of it are shown.
fn kind(browser: &mut Browser, name: &str, objects: usize) {
    browser.until(&format!(
        "[...document.querySelectorAll('#kinds button')].find(b => b.firstChild.textContent === '{name}')"
    ));
    browser.value(&format!(
        "[...document.querySelectorAll('#kinds button')].find(b => b.firstChild.textContent === '{name}').click()"
    ));
    browser.until(&format!(
        "document.querySelector('#objects-title').textContent === 'Objects: {name}'
         && document.querySelectorAll('#rows tr').length === {objects}"
    ));
}

/// Opens the form of an object by its name.
fn edit(browser: &mut Browser, name: &str) {
    browser.value(&format!(
        "[...document.querySelectorAll('#rows button')].find(b => b.textContent === {}).click()",
        json!(name)
    ));
    browser.until("document.querySelector('#edit').open");
}

/// Sets a field of the form and dispatches the input event, as typing does.
fn fill(browser: &mut Browser, selector: &str, text: &str) {
    browser.value(&format!(
        "(() => {{ const field = document.querySelector({}); field.value = {};
         field.dispatchEvent(new Event('input', {{ bubbles: true }})); }})()",
        json!(selector),
        json!(text)
    ));
}

fn submit(browser: &mut Browser, form: &str) {
    browser.value(&format!("document.querySelector({}).requestSubmit()", json!(form)));
}

/// Checks that nothing was loaded from another host, and that the script had no error.
fn behaves(browser: &Browser, base: &str) {
    for sent in browser.told("Network.requestWillBeSent") {
        let url = sent["request"]["url"].as_str().unwrap();
        assert!(url.starts_with(base) || url.starts_with("data:") || url == "about:blank", "{url}");
    }
    assert!(browser.told("Network.requestWillBeSent").len() > 3);
    assert!(
        browser.told("Runtime.exceptionThrown").is_empty(),
        "{:?}",
        browser.told("Runtime.exceptionThrown")
    );
    let problems: Vec<_> = browser
        .told("Log.entryAdded")
        .into_iter()
        .filter(|told| told["entry"]["level"] == "error" && told["entry"]["source"] != "network")
        .collect();
    assert!(problems.is_empty(), "{problems:?}");
}

#[test]
#[ignore = "needs Chromium; .ci/run brings what it needs and runs it"]
fn the_page_lists_the_objects_and_an_edit_there_is_drift() {
    let (case, mut browser) = applied();
    kind(&mut browser, "vpc", 2);
    kind(&mut browser, "database", 1);
    browser.until(
        "document.querySelector('#rows tr').innerText.split('\\t').slice(0, 5).join('|')
         === 'shop|running|0.0260|19.00|hourly'",
    );
    browser.until("document.querySelector('#rate').textContent === '0.0260 USD'");
    browser.until("document.querySelector('#balance').textContent === '1000.00 USD'");
    // Another one, made while the page is open, appears.
    let project = case.cloud().list("/api/v1/projects")[0]["id"].as_str().unwrap().to_owned();
    browser.value(&format!(
        "fetch('/api/v1/databases', {{ method: 'POST', body: '{{\"name\":\"other\",\"plan_id\":101}}',
         headers: {{ 'X-API-Key': '{}', 'X-Project-ID': '{project}' }} }})",
        case.cloud().key
    ));
    browser.until("document.querySelectorAll('#rows tr').length === 2");
    browser.until("document.querySelector('#log').innerText.includes('POST\\t/api/v1/databases\\t201')");
    fill(&mut browser, "#find", "oth");
    browser.until("document.querySelector('#range').textContent === '1–1 of 1'");
    fill(&mut browser, "#find", "");
    browser.until("document.querySelectorAll('#rows tr').length === 2");
    edit(&mut browser, "shop");
    fill(&mut browser, "#field-replica_count", "two");
    submit(&mut browser, "#edit-form");
    browser.until("document.querySelector('#edit-problem').textContent.includes('must be JSON')");
    fill(&mut browser, "#field-replica_count", "2");
    submit(&mut browser, "#edit-form");
    browser.until("!document.querySelector('#edit').open");
    browser.until(
        "document.querySelector('#done').textContent.startsWith('Changed replica_count of database')",
    );
    browser.until("document.querySelector('#rows').innerText.includes('57.00')");
    case.fails(3, "drift --exit-code").says(&["database.shop", "replica_count", "0", "2"]);
    behaves(&browser, &case.cloud().url);
}

#[test]
#[ignore = "needs Chromium; .ci/run brings what it needs and runs it"]
fn faults_and_the_clock_are_set_on_the_page() {
    let (case, mut browser) = applied();
    kind(&mut browser, "vpc", 2);
    let status = format!(
        "fetch('/api/v1/vpcs', {{ headers: {{ 'X-API-Key': '{}' }} }}).then((answer) => answer.status)",
        case.cloud().key
    );
    assert_eq!(browser.value(&status), 200);
    fill(&mut browser, "#fault [name=path]", "/vpcs");
    submit(&mut browser, "#fault");
    browser.until("document.querySelector('#rules').innerText.includes('* /api/v1/vpcs=503:1')");
    assert_eq!(browser.value(&status), 503);
    assert_eq!(browser.value(&status), 200, "one request, as the form says");
    browser.until("document.querySelector('#log [data-tone=bad]').textContent === '503'");
    fill(&mut browser, "#fault [name=path]", "nowhere");
    submit(&mut browser, "#fault");
    browser.until("document.querySelector('#problem').textContent.includes('begin with')");
    browser.value("document.querySelector('#rules button').click()");
    browser.until("document.querySelectorAll('#rules li').length === 0");
    let now = |case: &Case| {
        let clock = case.cloud().control("GET", "/_emulator/clock", &Value::Null);
        (clock["data"]["now"].as_str().unwrap()[..10].to_owned(), clock["data"]["speed"].clone())
    };
    fill(&mut browser, "#set-speed [name=speed]", "1");
    submit(&mut browser, "#set-speed");
    browser.until("document.querySelector('#speed').textContent === '1×'");
    let (before, speed) = now(&case);
    assert_eq!(speed, 1.0);
    fill(&mut browser, "#advance [name=seconds]", "604800");
    submit(&mut browser, "#advance");
    browser.until("document.querySelector('#done').textContent.includes('moved ahead')");
    assert!(now(&case).0 > before);
    behaves(&browser, &case.cloud().url);
}

#[test]
#[ignore = "needs Chromium; .ci/run brings what it needs and runs it"]
fn hostile_names_are_displayed_and_not_executed() {
    let case = Case::new().emulator();
    let names = [
        "<img src=x onerror=window.ran=1>",
        "</script><script>window.ran=1</script>",
        "\"><svg onload=window.ran=1>",
        "javascript:window.ran=1",
        "\u{202e}gnp.exe",
        "__proto__",
    ];
    for name in names {
        case.cloud().control("POST", "/api/v1/projects", &json!({"name": name, "description": name}));
    }
    let mut browser = Browser::open(&format!("{}/", case.cloud().url));
    kind(&mut browser, "project", names.len() + 1);
    let shown = browser.value("[...document.querySelectorAll('#rows button')].map((b) => b.textContent)");
    for name in names {
        assert!(shown.as_array().unwrap().contains(&json!(name)), "{name}: {shown}");
        edit(&mut browser, name);
        assert_eq!(browser.value("document.querySelector('#field-name').value"), name);
        submit(&mut browser, "#edit-form");
        browser.until("!document.querySelector('#edit').open");
    }
    browser.until("document.querySelector('#log').children.length === 6");
    assert_eq!(browser.value("document.querySelectorAll('img, svg, script').length"), 1);
    // Nothing that comes in as markup or as a handler would run either.
    let put_in =
        "(() => { try { document.body.innerHTML = '<img src=x onerror=window.ran=1>'; return 'in'; }
        catch (error) { return error.name; } })()";
    assert_eq!(browser.value(put_in), "TypeError");
    browser.value(
        "(() => { const image = document.createElement('img'); image.setAttribute('src', 'data:,');
         try { image.setAttribute('onerror', 'window.ran = 1'); } catch { }
         document.body.append(image);
         return new Promise((done) => image.addEventListener('error', () => done(1))); })()",
    );
    assert_eq!(browser.value("window.ran === undefined"), true);
}

#[test]
#[ignore = "needs Chromium; .ci/run brings what it needs and runs it"]
fn the_page_works_with_the_keyboard_alone_in_light_and_dark_mode() {
    let (case, mut browser) = applied();
    kind(&mut browser, "vpc", 2);
    browser.value("document.activeElement.blur()");
    let mut seen = Vec::new();
    // Up to the first object; each stop on the way can be seen.
    while seen.last().is_none_or(|last: &String| last != "main") {
        browser.press("Tab");
        let stop = browser.value(
            "(() => { const at = document.activeElement;
             const box = at.getBoundingClientRect();
             return box.width > 0 && getComputedStyle(at).outlineStyle !== 'none'
                 ? at.textContent || at.id : `hidden: ${at.outerHTML}`; })()",
        );
        let stop = stop.as_str().unwrap().to_owned();
        assert!(!stop.starts_with("hidden") && seen.len() < 60, "{stop} after {seen:?}");
        seen.push(stop);
    }
    assert_eq!(seen[0], "Skip to the objects");
    // The focus stays where it is while the page looks again.
    let looks = browser.told("Network.requestWillBeSent").len();
    while browser.told("Network.requestWillBeSent").len() < looks + 8 {
        browser.value("new Promise((done) => setTimeout(done, 50))");
    }
    assert_eq!(browser.value("document.activeElement.textContent"), "main");
    browser.press("Enter");
    browser.until("document.querySelector('#edit').open");
    browser.press("Escape");
    browser.until("!document.querySelector('#edit').open");
    assert_eq!(browser.value("document.activeElement.textContent"), "main");
    // Every control says what it is.
    let nameless = browser.value(
        "[...document.querySelectorAll('button, input, select, textarea, a')].filter((control) =>
            !(control.textContent.trim() || control.labels?.length || control.getAttribute('aria-label')))
         .map((control) => control.outerHTML)",
    );
    assert_eq!(nameless, json!([]));
    let mut grounds = Vec::new();
    for scheme in ["light", "dark"] {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        browser.call("Emulation.setEmulatedMedia", &features);
        grounds.push(browser.value("getComputedStyle(document.body).backgroundColor"));
    }
    assert_ne!(grounds[0], grounds[1]);
    behaves(&browser, &case.cloud().url);
}

#[test]
#[ignore = "needs Chromium; .ci/run brings what it needs and runs it"]
fn pages_of_other_origins_cannot_change_the_emulator() {
    let (case, mut browser) = applied();
    let elsewhere = Case::new().emulator();
    let id = case.cloud().list("/api/v1/vpcs")[0]["id"].as_str().unwrap().to_owned();
    // Another page of this machine, and one without an origin.
    for page in [format!("{}/health", elsewhere.cloud().url), "data:text/html,<p>x".to_owned()] {
        browser.go(&page);
        for (call, body) in [
            ("mutate", json!({"kind": "vpc", "id": id, "set": {"name": "theirs"}})),
            ("reset", json!({})),
            ("faults", json!({"rules": ["*=500"]})),
            ("clock", json!({"advance_seconds": 1_000_000})),
        ] {
            browser.value(&format!(
                "fetch('{}/_emulator/{call}', {{ method: 'POST', mode: 'no-cors', body: {} }}).catch(() => null)",
                case.cloud().url,
                json!(body.to_string())
            ));
        }
        let read = format!(
            "fetch('{}/_emulator/export', {{ mode: 'no-cors' }})
             .then((answer) => answer.text(), () => '')",
            case.cloud().url
        );
        assert_eq!(browser.value(&read), "", "what comes is opaque");
    }
    let refused = browser.told("Network.responseReceived").into_iter().filter(|told| {
        let response = &told["response"];
        response["url"].as_str().unwrap().starts_with(&case.cloud().url) && response["status"] == 403
    });
    assert!(refused.count() >= 5, "the browser sent them, and the emulator refused");
    case.ok("drift --exit-code");
    assert_eq!(case.cloud().control("GET", "/_emulator/faults", &Value::Null)["data"]["rules"], json!([]));
}
