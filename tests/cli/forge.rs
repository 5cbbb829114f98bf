//! A server that speaks the APIs of GitHub and GitLab, and the commands of their jobs.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::case::{Case, Run};

/// The newest commit of the pull or merge request.
pub const HEAD: &str = "c0ffeec0ffeec0ffeec0ffeec0ffeec0ffeec0ff";

/// Id of the account that jobs of GitHub Actions write as.
pub const ACTIONS_BOT: u64 = 41_898_282;

/// The server's state, and its faults.
#[derive(Default)]
pub struct Known {
    /// Comments and issues, by the path that lists them.
    pub notes: Vec<(String, Value)>,
    /// The requests so far, as `POST /path body`.
    pub asked: Vec<String>,
    /// Makes the next change and closes the connection without a response.
    pub loses: bool,
    /// Number of requests that are still answered with 503.
    pub busy: usize,
    /// Whether every change is answered with 502 and not made.
    pub refuses: bool,
    /// Whether the token belongs to a person, who may read the own account.
    pub person: bool,
    /// Whether the token belongs to an app other than GitHub Actions.
    pub other_app: bool,
    /// Whether the pull request is not merged.
    pub open: bool,
    /// The newest commit of the pull request; `None` for `HEAD`.
    pub head: Option<&'static str>,
}

pub struct Forge {
    pub url: String,
    pub known: Arc<Mutex<Known>>,
}

impl Forge {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let known = Arc::new(Mutex::new(Known::default()));
        let served = known.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let Some((line, body)) = message(&mut stream) else { continue };
                let Some((status, body)) = served.lock().unwrap().answer(&line, &body) else { continue };
                let body = body.to_string();
                let wait = if status == 503 { "retry-after: 0\r\n" } else { "" };
                let head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\n{wait}");
                let _ = write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len());
            }
        });
        Self { url, known }
    }

    /// Returns the command as a job of GitHub Actions for pull request 7 runs it.
    pub fn hub(&self, case: &Case, args: &str) -> Command {
        let event = json!({ "pull_request": { "number": 7, "head": { "sha": HEAD } } });
        case.write("event.json", event.to_string());
        let mut command = case.command(args);
        command
            .env("GITHUB_EVENT_PATH", case.path("event.json"))
            .env("GITHUB_API_URL", &self.url)
            .env("GITHUB_SERVER_URL", "https://github.example")
            .env("GITHUB_REPOSITORY", "acme/infra")
            .env("GITHUB_REF", "refs/pull/7/merge")
            .env("GITHUB_TOKEN", "canary-token");
        for name in ["GITHUB_SHA", "CI_API_V4_URL"] {
            command.env_remove(name);
        }
        command
    }

    /// Returns the command as a job of GitLab CI for merge request 7 runs it.
    pub fn lab(&self, case: &Case, args: &str) -> Command {
        let mut command = case.command(args);
        command
            .env_remove("GITHUB_REPOSITORY")
            .env("CI_API_V4_URL", &self.url)
            .env("CI_PROJECT_ID", "42")
            .env("CI_PROJECT_URL", "https://gitlab.example/a/b")
            .env("CI_MERGE_REQUEST_IID", "7")
            .env("CI_COMMIT_SHA", HEAD)
            .env("GITLAB_TOKEN", "canary-token");
        command
    }

    pub fn notes(&self) -> Vec<Value> {
        self.known.lock().unwrap().notes.iter().map(|(_, note)| note.clone()).collect()
    }

    pub fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.known.lock().unwrap().asked)
    }

    pub fn add(&self, list: &str, note: Value) {
        self.known.lock().unwrap().notes.push((list.to_owned(), note));
    }
}

impl Known {
    fn answer(&mut self, line: &str, body: &[u8]) -> Option<(u16, Value)> {
        let mut words = line.split(' ');
        let (method, path) = (words.next()?, words.next()?.split('?').next()?);
        self.asked.push(format!("{method} {path}"));
        if self.busy > 0 {
            self.busy -= 1;
            return Some((503, json!({})));
        }
        let sent: Value = serde_json::from_slice(body).unwrap_or_default();
        if path == "/user" {
            let me = json!({ "id": 7, "login": "steady", "username": "steady", "type": "User" });
            return Some(if self.person { (200, me) } else { (403, json!({ "message": "not for apps" })) });
        }
        if path.contains("/commits/") {
            return Some((
                200,
                json!([{ "number": 7, "merge_commit_sha": "x", "merged_at": "t", "state": "merged" }]),
            ));
        }
        if path.ends_with("/pulls/7") || path.ends_with("/merge_requests/7") {
            let head = self.head.unwrap_or(HEAD);
            let (merged_at, state) = if self.open { (None, "opened") } else { (Some("t"), "merged") };
            let found = json!({ "number": 7, "head": { "sha": head }, "sha": head, "merged_at": merged_at, "state": state });
            return Some((200, found));
        }
        let answer = match method {
            "POST" | "PATCH" | "PUT" if self.refuses => (502, json!({})),
            "GET" => {
                let rows: Vec<_> = self
                    .notes
                    .iter()
                    .filter(|(list, note)| list == path && note["state"] != "closed")
                    .collect();
                return Some((200, rows.into_iter().map(|(_, note)| note.clone()).collect()));
            }
            "POST" => {
                let mut note = self.own(self.notes.len() + 1);
                merge(&mut note, sent);
                self.notes.push((path.to_owned(), note.clone()));
                (201, note)
            }
            _ => {
                let id: u64 = path.rsplit('/').next()?.parse().ok()?;
                let (_, note) = self.notes.iter_mut().find(|(_, note)| note["id"] == id)?;
                merge(note, sent);
                (200, note.clone())
            }
        };
        (!std::mem::take(&mut self.loses)).then_some(answer)
    }

    fn own(&self, id: usize) -> Value {
        let (name, account) = match (self.person, self.other_app) {
            (true, _) => ("steady", 7),
            (_, true) => ("reviews[bot]", 8),
            _ => ("github-actions[bot]", ACTIONS_BOT),
        };
        json!({
            "id": id, "number": id, "iid": id,
            "user": { "login": name, "id": account }, "author": { "username": name, "id": account },
        })
    }
}

fn merge(note: &mut Value, sent: Value) {
    let Value::Object(sent) = sent else { return };
    for (key, value) in sent {
        note[key] = value;
    }
    if note["state_event"] == "close" {
        note["state"] = json!("closed");
    }
}

fn message(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        bytes.push(byte[0]);
    }
    let head = String::from_utf8(bytes).unwrap();
    let has_token = ["authorization: Bearer canary-token", "private-token: canary-token"];
    assert!(has_token.iter().any(|header| head.contains(header)), "{head}");
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    Some((head.lines().next()?.to_owned(), body))
}

/// Runs a command with a secret in its environment, which must not appear in its output.
pub fn ran(mut command: Command, code: i32) -> Run {
    let run = Run::of(&command.env("STEAD_VAR_MAIL_KEY", "canary-mail").output().unwrap());
    assert_eq!(run.code, code, "{}", run.all());
    assert!(!run.all().contains("canary"), "{}", run.all());
    run
}
