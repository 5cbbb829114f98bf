//! `Case`: a temporary directory with a stack, an emulator process of its own, and the real binary run on both.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests drive real processes")]

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The binary under test.
pub const STEAD: &str = env!("CARGO_BIN_EXE_stead");

/// A stack's directory, and its emulator if one was started. Dropping it ends the emulator.
pub struct Case {
    dir: TempDir,
    emulator: Option<Emulator>,
}

/// Exit code and output of a run of the binary.
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Case {
    /// Returns a case with an empty directory.
    pub fn new() -> Self {
        Self { dir: TempDir::new().unwrap(), emulator: None }
    }

    /// Returns a case with a copy of an example's files.
    pub fn example(name: &str) -> Self {
        let case = Self::new();
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name);
        copy(&from, case.dir.path());
        case
    }

    /// Writes a file.
    pub fn file(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        self.write(name, text);
        self
    }

    /// Writes a file, with its parent directories.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    /// Replaces the first occurrence of a string in a file; panics if there is none.
    pub fn edit(&self, name: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.path(name)).unwrap();
        assert!(text.contains(from), "{name} has no {from:?}");
        fs::write(self.path(name), text.replacen(from, to, 1)).unwrap();
    }

    /// Starts an emulator process whose clock runs 1,000 times as fast as real time.
    pub fn emulator(mut self) -> Self {
        self.emulator = Some(Emulator::start(&self.path("cloud"), &[]));
        self
    }

    /// Starts an emulator process with further flags.
    pub fn emulator_with(mut self, flags: &[&str]) -> Self {
        self.emulator = Some(Emulator::start(&self.path("cloud"), flags));
        self
    }

    /// Returns the emulator; panics if none was started.
    pub fn cloud(&self) -> &Emulator {
        self.emulator.as_ref().expect("this case has an emulator")
    }

    /// Writes a key pair for signing plans as `NAME.pem` and `NAME.pub`, in openssl's formats.
    pub fn signing_key(&self, name: &str, seed: u8) {
        let pem = |kind: &str, der: &[u8]| {
            format!("-----BEGIN {kind} KEY-----\n{}\n-----END {kind} KEY-----\n", STANDARD.encode(der))
        };
        let mut private = vec![0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
        private.extend([seed; 32]);
        let mut public = vec![0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0];
        public.extend(Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap().public_key().as_ref());
        self.write(&format!("{name}.pem"), pem("PRIVATE", &private));
        self.write(&format!("{name}.pub"), pem("PUBLIC", &public));
        fs::set_permissions(self.path(&format!("{name}.pem")), fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// Returns a path below the directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Returns the command, ready to run: in the directory, with a clean environment.
    pub fn command(&self, args: &str) -> Command {
        let mut command = Command::new(STEAD);
        command.current_dir(self.dir.path()).args(args.split_whitespace()).stdin(Stdio::null());
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("STEAD_")) {
            command.env_remove(name);
        }
        command.env_remove("CI").env("HOME", self.dir.path()).env("USER", "tester");
        if let Some(emulator) = &self.emulator {
            // A plan of a stack that is not trusted takes the other key, and refuses this one.
            let untrusted = args.split_whitespace().any(|word| word == "--untrusted");
            let name = if untrusted { "STEAD_READONLY_API_KEY" } else { "STEAD_API_KEY" };
            command.env("STEAD_API_URL", &emulator.url).env(name, &emulator.key);
        }
        command
    }

    /// Runs the binary; arguments are separated by blanks, without quotes.
    pub fn run(&self, args: &str) -> Run {
        Run::of(&self.command(args).output().unwrap())
    }

    /// Plans all units, and applies them with the plan's fingerprint.
    pub fn apply_all(&self) -> Run {
        let plan = self.ok("plan --all --output json").json();
        self.ok(&format!("apply --all --expect {}", plan["fingerprint"].as_str().unwrap()))
    }

    /// Runs the binary and expects exit code 0.
    pub fn ok(&self, args: &str) -> Run {
        let run = self.run(args);
        assert_eq!(run.code, 0, "stead {args}\n{}\n{}", run.stdout, run.stderr);
        run
    }

    /// Runs the binary and expects an exit code.
    pub fn fails(&self, code: i32, args: &str) -> Run {
        let run = self.run(args);
        assert_eq!(run.code, code, "stead {args}\n{}\n{}", run.stdout, run.stderr);
        run
    }
}

impl Run {
    /// Reads the result of a process; a signal counts as exit code -1.
    pub fn of(output: &Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout.clone()).unwrap(),
            stderr: String::from_utf8(output.stderr.clone()).unwrap(),
        }
    }

    /// Parses standard output as JSON; panics if it is not.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.stdout))
    }

    /// Returns both streams, for searches.
    pub fn all(&self) -> String {
        format!("{}\n{}", self.stdout, self.stderr)
    }

    /// Expects words in this order in standard output followed by standard error.
    pub fn says(&self, words: &[&str]) -> &Self {
        let all = self.all();
        let mut rest = all.as_str();
        for word in words {
            let at = rest.find(word).unwrap_or_else(|| panic!("no {word:?} (in this order) in:\n{all}"));
            rest = &rest[at + word.len()..];
        }
        self
    }
}

/// What an apply of an example writes into its directories: the ledger, delivered secrets and pinned names.
const WRITTEN: [&str; 3] = [".stead", "secrets", "stead.lock"];

/// Copies the files of a directory and its subdirectories, except for those that an apply wrote there: the README's first
/// command applies an example where it is.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.file_name().unwrap();
        if WRITTEN.iter().any(|written| name == *written) {
            continue;
        }
        if entry.is_file() {
            fs::copy(&entry, to.join(name)).unwrap();
        } else {
            copy(&entry, &to.join(name));
        }
    }
}

#[test]
fn an_example_that_was_applied_is_copied_as_it_was_before() {
    let names = |case: &Case| -> BTreeSet<OsString> {
        fs::read_dir(case.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    };
    let applied = Case::example("shop");
    let before = names(&applied);
    applied.ok("apply --cloud local --yes");
    let after = names(&applied);
    assert!(WRITTEN[..2].iter().all(|name| after.contains(OsStr::new(name))), "{after:?}");
    let copied = Case::new();
    copy(applied.dir.path(), copied.dir.path());
    // The directory is also the user's, who has a state directory then.
    let state = BTreeSet::from([OsString::from(".local")]);
    assert_eq!(&names(&copied) - &state, before);
}

/// A running `stead emulator`.
pub struct Emulator {
    child: Child,
    pub url: String,
    pub key: String,
}

impl Emulator {
    pub fn start(data: &Path, flags: &[&str]) -> Self {
        let mut child = Command::new(STEAD)
            .args(["emulator", "--port", "0", "--output", "json", "--data"])
            .arg(data)
            .args(if flags.contains(&"--speed") { &[][..] } else { &["--speed", "1000"][..] })
            .args(flags)
            // Where it notes its address: what uses the data of a stack looks there.
            .env("HOME", if data.ends_with(".stead") { data.parent().unwrap() } else { data })
            .env_remove("XDG_STATE_HOME")
            .env_remove("STEAD_STATE_DIR")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let text = |name: &str| said[name].as_str().unwrap().to_owned();
        Self { child, url: text("url"), key: text("api_key") }
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Deletes an object behind the client's back.
    pub fn delete(&self, path: &str) {
        let projects = self.list("/api/v1/projects");
        let default = projects.iter().find(|project| project["is_default"] == true).unwrap();
        let header = format!("X-Project-ID: {}\r\n", default["id"].as_str().unwrap());
        self.send("DELETE", path, &Value::Null, &header);
    }

    /// Creates an object in a project behind the client's back; returns the response.
    pub fn make(&self, path: &str, body: &Value, project: &str) -> Value {
        self.send("POST", path, body, &format!("X-Project-ID: {project}\r\n"))
    }

    /// Sends a request, usually to the emulator's own endpoints, and returns the response's JSON.
    pub fn control(&self, method: &str, path: &str, body: &Value) -> Value {
        self.send(method, path, body, "")
    }

    /// Sends a request, again after a 429, and returns the JSON of the response.
    fn send(&self, method: &str, path: &str, body: &Value, headers: &str) -> Value {
        loop {
            let (head, body) = self.exchange(method, path, body, headers);
            if head.starts_with("HTTP/1.1 429") {
                // These requests are counted with those of the program under test.
                std::thread::sleep(retry_after(&head));
                continue;
            }
            assert!(head.starts_with("HTTP/1.1 2"), "{method} {path}: {head}\n{body}");
            return serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"));
        }
    }

    fn exchange(&self, method: &str, path: &str, body: &Value, headers: &str) -> (String, String) {
        let host = self.url.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        let body = if body.is_null() { String::new() } else { body.to_string() };
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nX-API-Key: {}\r\nContent-Type: application/json\r\n\
             {headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.key,
            body.len()
        )
        .unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let text = String::from_utf8(answer).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    /// Returns every request to the service so far as `(seq, "METHOD /path", status)`.
    pub fn requests(&self) -> Vec<(u64, String, u64)> {
        let mut rows: Vec<(u64, String, u64)> = Vec::new();
        loop {
            let since = rows.last().map_or(0, |row| row.0);
            let page = self.control("GET", &format!("/_emulator/requests?since={since}"), &Value::Null);
            let page = page["data"]["requests"].as_array().unwrap();
            if page.is_empty() {
                return rows;
            }
            rows.extend(page.iter().map(|row| {
                let line = format!("{} {}", row["method"].as_str().unwrap(), row["path"].as_str().unwrap());
                (row["seq"].as_u64().unwrap(), line, row["status"].as_u64().unwrap())
            }));
        }
    }

    /// Returns the requests after number `seq` that are not reads.
    pub fn mutations_since(&self, seq: u64) -> Vec<String> {
        self.requests()
            .into_iter()
            .filter(|(n, line, _)| *n > seq && !line.starts_with("GET "))
            .map(|(_, line, _)| line)
            .collect()
    }

    /// Returns the number of the last request; 0 before the first.
    pub fn last(&self) -> u64 {
        self.requests().last().map_or(0, |(seq, _, _)| *seq)
    }

    /// Returns the objects of a collection, 100 at most.
    pub fn list(&self, path: &str) -> Vec<Value> {
        let page = self.control("GET", &format!("{path}?limit=100"), &Value::Null);
        page["data"].as_array().unwrap().clone()
    }

    /// Replaces the fault rules, such as `POST /vms=503:2`; an empty list clears them.
    pub fn faults(&self, rules: &[&str]) {
        self.control("POST", "/_emulator/faults", &json!({ "rules": rules }));
    }

    /// Changes a record behind the client's back.
    pub fn mutate(&self, kind: &str, id: &str, set: &Value) {
        self.control("POST", "/_emulator/mutate", &json!({ "kind": kind, "id": id, "set": set }));
    }
}

/// Returns the duration in the `Retry-After` header of a 429.
fn retry_after(head: &str) -> Duration {
    let header =
        head.lines().find_map(|line| line.strip_prefix("retry-after: ")).expect("429 has a Retry-After");
    Duration::from_secs(header.trim().parse().expect("whole seconds"))
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
