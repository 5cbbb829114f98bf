//! A real browser: headless Chromium, driven over the DevTools protocol through a pipe.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

const INSTALL: &str = "install Chromium: apt-get install chromium";
/// Timeout of one answer: a browser that hangs fails the test.
const PATIENCE: Duration = Duration::from_mins(1);

/// A browser with one page.
pub struct Browser {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    calls: u64,
    session: Option<String>,
    /// The events that the browser sent.
    events: Vec<Value>,
    /// Directory of the browser's profile, removed with the browser.
    _profile: TempDir,
}

impl Browser {
    /// Starts a browser and opens an address.
    pub fn open(url: &str) -> Self {
        let profile = TempDir::new().unwrap();
        // The protocol's pipes are the third and the fourth; here they are what the test holds.
        let mut child = Command::new("sh")
            .args(["-c", "exec chromium \"$@\" 3<&0 4>&1 </dev/null >/dev/null", "sh"])
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-dev-shm-usage",
            ])
            .args(["--remote-debugging-pipe", "--window-size=1280,900"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = child.stdout.take().unwrap();
        let (sender, messages) = channel();
        thread::spawn(move || {
            for message in BufReader::new(output).split(0).map_while(Result::ok) {
                if sender.send(serde_json::from_slice(&message).unwrap()).is_err() {
                    break;
                }
            }
        });
        let input = child.stdin.take().unwrap();
        let mut browser =
            Self { child, input, messages, calls: 0, session: None, events: Vec::new(), _profile: profile };
        let target =
            browser.call("Target.createTarget", &json!({"url": "about:blank"}))["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", &json!({"targetId": target, "flatten": true}));
        browser.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser.go(url);
        browser
    }

    /// Sends a command; returns its result.
    #[track_caller]
    pub fn call(&mut self, method: &str, params: &Value) -> Value {
        self.ask(method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, Value> {
        self.calls += 1;
        let mut message = json!({"id": self.calls, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        // The pipe breaks when there is no such program.
        let sent = write!(self.input, "{message}\0").and_then(|()| self.input.flush());
        sent.expect(INSTALL);
        loop {
            let mut message = self.messages.recv_timeout(PATIENCE).expect(INSTALL);
            if message["id"] == self.calls {
                return match message.get("error") {
                    Some(error) => Err(error.clone()),
                    None => Ok(message["result"].take()),
                };
            }
            self.events.push(message);
        }
    }

    /// Opens a URL and waits until the page is loaded.
    pub fn go(&mut self, url: &str) {
        self.call("Page.navigate", &json!({"url": url}));
        self.until(&format!("location.href === {} && document.readyState === 'complete'", json!(url)));
    }

    /// Returns the value of an expression on the page, or of the promise that it returns; panics if it throws.
    pub fn value(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let mut answer = self.call("Runtime.evaluate", &params);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].take()
    }

    /// Waits until an expression is true; panics after 20 seconds.
    #[track_caller]
    pub fn until(&mut self, expression: &str) {
        let script = format!(
            "new Promise((done) => {{
                const end = Date.now() + 20000;
                const look = () => {{
                    let holds = false;
                    try {{ holds = Boolean({expression}); }} catch {{ }}
                    if (holds || Date.now() > end) done(holds || (document.body?.innerText ?? 'no page'));
                    else setTimeout(look, 20);
                }};
                look();
            }})"
        );
        let params = json!({"expression": script, "awaitPromise": true, "returnByValue": true});
        // A page that is on its way out takes the promise along: the next one is asked again.
        let answer = (0..10).find_map(|_| self.ask("Runtime.evaluate", &params).ok());
        let outcome = answer.expect("the page comes to rest")["result"]["value"].take();
        assert!(outcome == true, "not so: {expression}\n{outcome}");
    }

    /// Presses a key.
    pub fn press(&mut self, key: &str) {
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            "Escape" => (27, ""),
            "ArrowDown" => (40, ""),
            "j" => (74, "j"),
            "/" => (191, "/"),
            _ => panic!("{key}"),
        };
        for kind in ["keyDown", "keyUp"] {
            let mut params = json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code});
            if kind == "keyDown" && !text.is_empty() {
                params["text"] = text.into();
            }
            self.call("Input.dispatchKeyEvent", &params);
        }
    }

    /// Returns the parameters of all events of a kind so far.
    pub fn told(&self, method: &str) -> Vec<&Value> {
        self.events.iter().filter(|event| event["method"] == method).map(|event| &event["params"]).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It ends with its first process.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
