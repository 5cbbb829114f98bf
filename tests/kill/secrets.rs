//! Kept secrets under `kill -9`: an apply that stores them, a rekey and a rotation are killed at moments spread over
//! their run; the next runs find every value and replace none.

use std::fs;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::cloud::{STEAD, Served};

/// Kills of each command, spread over its duration.
const DEATHS: u32 = 10;

struct Story {
    directory: TempDir,
    served: Served,
    recipients: Vec<String>,
}

impl Story {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let served = Served::start(&directory.path().join("cloud"));
        let mut story = Self { directory, served, recipients: Vec::new() };
        for name in ["ada", "bob", "eve"] {
            let made = story.run(&format!("secret keygen --out {name}"));
            story.recipients.push(String::from_utf8(made.stdout).unwrap().trim().to_owned());
        }
        story
    }

    /// Writes the stack of one round, for these recipients.
    fn write(&self, round: u32, recipients: &[usize]) {
        let names: Vec<&str> = recipients.iter().map(|n| self.recipients[*n].as_str()).collect();
        let text = format!(
            "stead: 1\nstack: kill{round}\nsecrets: {{ recipients: [{}] }}\n\
             vars: {{ token: {{ type: secret, generate: 32, deliver_secret: {{ file: ./token{round} }} }} }}\n\
             project: {{ home: {{ name: \"home-{round}\" }} }}\n\
             api_key: {{ ci: {{ name: \"ci-{round}\", role: admin, deliver_secret: {{ file: ./key{round} }} }} }}\n\
             app: {{ web: {{ name: \"web-{round}\", type: web, repo: acme/shop, branch: main, port: 8080, env_vars: {{ T: \"k-${{vars.token}}\" }} }} }}\n",
            names.join(", ")
        );
        let path = self.directory.path().join("stead.yaml");
        // Each round is a stack of its own, with a ledger of its own.
        let stack = format!("stack: kill{round}\n");
        if !fs::read_to_string(&path).unwrap_or_default().contains(&stack) {
            let _ = fs::remove_dir_all(self.directory.path().join(".stead"));
        }
        fs::write(path, text).unwrap();
    }

    fn command(&self, args: &str) -> Command {
        let mut command = Command::new(STEAD);
        command.current_dir(self.directory.path()).args(args.split(' ')).stdin(Stdio::null()).env_clear();
        command
            .env("USER", "tester")
            .env("STEAD_STATE_DIR", self.directory.path().join("state"))
            .env("STEAD_AGE_IDENTITY", self.directory.path().join("ada"))
            .env("STEAD_API_URL", &self.served.url)
            .env("STEAD_API_KEY", &self.served.key);
        command
    }

    fn run(&self, args: &str) -> Output {
        self.command(args).output().unwrap()
    }

    #[track_caller]
    fn ok(&self, args: &str) -> String {
        let output = self.run(args);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{args}: {}\n{}", text(&output.stdout), text(&output.stderr));
        text(&output.stdout)
    }

    /// Runs a command and kills it after `after`; returns how long it ran.
    fn dies(&self, args: &str, after: Duration) -> Duration {
        let start = Instant::now();
        let mut child = self.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while child.try_wait().unwrap().is_none() && start.elapsed() < after {
            std::thread::sleep(Duration::from_millis(1));
        }
        // It may have ended just now.
        let _ = child.kill();
        child.wait().unwrap();
        start.elapsed()
    }

    fn value(&self, address: &str) -> String {
        self.ok(&format!("secret get {address} --show"))
    }

    /// Returns the secret that the service got for the app of a round; `None` if it has no such app.
    fn sent(&self, round: u32) -> Option<String> {
        let apps = self.served.get("/api/v1/apps/services?limit=100");
        let name = format!("web-{round}");
        let app = apps["data"].as_array().unwrap().iter().find(|app| app["name"] == name.as_str())?;
        let app = self.served.get(&format!("/api/v1/apps/services/{}", app["id"].as_str().unwrap()));
        Some(app["data"]["env_vars"]["T"].as_str().unwrap().to_owned())
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.directory.path().join(name)).unwrap()
    }

    /// Applies until a run succeeds. An API key whose secret was not received is lost: a rotation or an answer to the
    /// ambiguous intent replaces it.
    fn recover(&self) {
        let apply = "apply --yes --allow-deletes --effect-bound 250ms --listing-bound 50ms";
        for _ in 0..6 {
            let output = self.run(apply);
            if output.status.success() {
                return;
            }
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(!said.contains("vars.token is lost"), "{said}");
            if said.contains("secret_lost") {
                // The command that is printed, as it is printed.
                let (_, rotation) = said.split_once("replace it: ").unwrap();
                let words: Vec<&str> = rotation.split_whitespace().skip(1).collect();
                let sentence = words.iter().position(|word| word.ends_with('.')).unwrap();
                let rotation = words[..=sentence].join(" ");
                let rotation = rotation.trim_end_matches('.');
                let _ = self.run(&format!("{rotation} --yes --effect-bound 250ms --listing-bound 50ms"));
            } else if said.contains("in a response that was lost") {
                // The answer that is printed: another key takes its place.
                let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
                let (_, question) = words.split_once("stead resolve ").unwrap();
                let (number, _) = question.split_once(' ').unwrap();
                let (_, id) = question.split_once("surplus ").unwrap();
                let id = id.split(' ').next().unwrap();
                self.ok(&format!("resolve {number} surplus {id}"));
            } else if output.status.code() == Some(4) {
                // Found, not answered: somebody says that it is ours.
                assert!(said.contains("api_key.ci"), "{said}");
                let ledger: Value = serde_json::from_str(&self.ok("state pull")).unwrap();
                let id = ledger["ledger"]["entries"]["api_key.ci"]["current"]["id"].as_str().unwrap();
                let _ = self.run(&format!("{apply} --adopt=api_key.ci={id}"));
            }
        }
        panic!("{}", self.ok(apply));
    }

    /// Checks that sinks and ledger have the same values, and that the plan has no changes.
    fn reckon(&self, round: u32) {
        assert_eq!(self.value("vars.token"), self.file(&format!("token{round}")));
        assert_eq!(self.value("api_key.ci"), self.file(&format!("key{round}")));
        assert!(self.ok("plan").contains("No changes"));
    }
}

/// Returns the moments at which to kill a command that takes `whole`.
fn moments(whole: Duration) -> impl Iterator<Item = Duration> {
    (1..=DEATHS).map(move |n| whole * n / (DEATHS + 1))
}

#[test]
fn a_killed_apply_loses_no_generated_secret() {
    let story = Story::new();
    story.write(0, &[0, 1]);
    let start = Instant::now();
    story.ok("apply --yes --allow-deletes");
    for (round, after) in (1..).zip(moments(start.elapsed())) {
        story.write(round, &[0, 1]);
        story.dies("apply --yes --allow-deletes --effect-bound 250ms --listing-bound 50ms", after);
        let sent = story.sent(round);
        story.recover();
        story.reckon(round);
        if let Some(sent) = sent {
            assert_eq!(format!("{sent}\n"), format!("k-{}", story.value("vars.token")), "round {round}");
        }
    }
}

#[test]
fn a_killed_rekey_and_a_killed_rotation_are_finished() {
    let story = Story::new();
    story.write(0, &[0, 1]);
    story.ok("apply --yes --allow-deletes");
    let token = story.value("vars.token");
    story.write(0, &[0, 2]);
    let start = Instant::now();
    story.ok("secret rekey --yes");
    for (n, after) in moments(start.elapsed()).enumerate() {
        story.write(0, &[0, 1 + (n % 2)]);
        story.dies("secret rekey --yes", after);
        assert_eq!(story.value("vars.token"), token, "death {n}");
        story.ok("secret rekey --yes");
        assert_eq!(story.value("vars.token"), token, "death {n}");
        story.reckon(0);
    }
    let start = Instant::now();
    story.ok("secret rotate vars.token --yes");
    for (n, after) in moments(start.elapsed()).enumerate() {
        let before = story.value("vars.token");
        story.dies("secret rotate vars.token --yes --effect-bound 250ms --listing-bound 50ms", after);
        let now = story.value("vars.token");
        story.recover();
        if now != before {
            assert_eq!(
                story.value("vars.token"),
                now,
                "death {n}: a new value that was stored is the one in use"
            );
        }
        story.reckon(0);
    }
}
