//! A service that lies: responses are changed on their way from the emulator, and requests on their way to it. Foreign
//! objects are never touched, and owned ones never forgotten.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::case::{Case, Run};

const STACK: &str = "\
stead: 1
stack: shop
environments: { prod: { default: true } }
ssh_key: { mine: { public_key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGtD1m0Jt1pXcVb1cYc0oY2uJ4s8Zb3vQfV8sF3kXq5L a@b } }
vpc:
  a: { cidr: 10.1.0.0/16 }
  b: { cidr: 10.2.0.0/16 }
  c: { cidr: 10.3.0.0/16 }
  d: { cidr: 10.4.0.0/16 }
  e: { cidr: 10.5.0.0/16 }
  f: { cidr: 10.6.0.0/16 }
";

/// A lie: maps `(request line, status, body)` of a response to another status and body.
pub type Lie = fn(&str, u16, Value) -> (u16, Value);

/// Maps `(request line, body)` of a request to another body.
pub type Alteration = fn(&str, Value) -> Value;

/// A proxy between the command and the emulator.
pub struct Liar {
    pub url: String,
    lie: Arc<Mutex<Lie>>,
    alteration: Arc<Mutex<Alteration>>,
}

fn truth(_: &str, status: u16, body: Value) -> (u16, Value) {
    (status, body)
}

/// Reads a message: head and body; `None` if the connection ends.
fn message(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        bytes.push(byte[0]);
    }
    let head = String::from_utf8(bytes).unwrap();
    let length =
        head.to_lowercase().lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    Some((head, body))
}

/// Returns a request with another body, and its length in the head.
fn altered(line: &str, head: String, body: Vec<u8>, alteration: Alteration) -> (String, Vec<u8>) {
    let Ok(asked) = serde_json::from_slice(&body) else { return (head, body) };
    let body = alteration(line, asked).to_string().into_bytes();
    let is_length = |line: &&str| line.to_lowercase().starts_with("content-length: ");
    let length = head.lines().find(is_length).unwrap().to_owned();
    (head.replace(&length, &format!("content-length: {}", body.len())), body)
}

impl Liar {
    pub fn before(case: &Case) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let service = case.cloud().url.strip_prefix("http://").unwrap().to_owned();
        let lie: Arc<Mutex<Lie>> = Arc::new(Mutex::new(truth));
        let alteration: Arc<Mutex<Alteration>> = Arc::new(Mutex::new(|_, body| body));
        let (told, asked) = (lie.clone(), alteration.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, service) = (stream.unwrap(), service.clone());
                let (told, asked) = (told.clone(), asked.clone());
                std::thread::spawn(move || {
                    while let Some((head, body)) = message(&mut stream) {
                        let line = head.lines().next().unwrap().trim_end_matches(" HTTP/1.1").to_owned();
                        let (head, body) = altered(&line, head, body, *asked.lock().unwrap());
                        let mut behind = TcpStream::connect(&service).unwrap();
                        behind.write_all(head.as_bytes()).and_then(|()| behind.write_all(&body)).unwrap();
                        let Some((answer, body)) = message(&mut behind) else { return };
                        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
                        let (status, body) =
                            (*told.lock().unwrap())(&line, status, serde_json::from_slice(&body).unwrap());
                        let body = body.to_string();
                        let length = body.len();
                        let headers = format!("x-request-id: by-{status}\r\ncontent-length: {length}");
                        let answer = format!("HTTP/1.1 {status} X\r\n{headers}\r\n\r\n{body}");
                        if stream.write_all(answer.as_bytes()).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Self { url, lie, alteration }
    }

    pub fn alter(&self, alteration: Alteration) {
        *self.alteration.lock().unwrap() = alteration;
    }

    pub fn tell(&self, lie: Lie) {
        *self.lie.lock().unwrap() = lie;
    }

    pub fn run(&self, case: &Case, args: &str) -> Run {
        Run::of(&case.command(args).env("STEAD_API_URL", &self.url).output().unwrap())
    }
}

fn stand() -> (Case, Liar) {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    let liar = Liar::before(&case);
    assert_eq!(liar.run(&case, "apply --yes").code, 0);
    (case, liar)
}

fn ids(case: &Case) -> Vec<String> {
    case.cloud().list("/api/v1/vpcs").iter().map(|vpc| vpc["id"].as_str().unwrap().to_owned()).collect()
}

fn is_list(line: &str) -> bool {
    line.starts_with("GET /api/v1/vpcs?")
}

fn by_id(line: &str) -> bool {
    line.starts_with("GET /api/v1/vpcs/")
}

/// The emulator sends no id of a request; a service that does has it in the history.
#[test]
fn the_history_has_the_ids_that_the_service_gives_to_requests() {
    let (case, _liar) = stand();
    let run = case.ok("history show --output json").json();
    let resources = run["runs"][0]["resources"].as_array().unwrap();
    assert_eq!(resources.len(), 7);
    for resource in resources {
        assert_eq!(resource["requests"][0]["request_id"], "by-201", "{resource}");
    }
    case.ok("history show 1").says(&["POST /api/v1/vpcs 201 request by-201"]);
}

/// Objects are missing in lists only, or in reads by id only: neither alone proves a deletion.
#[test]
fn an_absence_that_only_lists_or_only_reads_show_is_not_believed() {
    let (case, liar) = stand();
    let seq = case.cloud().last();
    let lies: [Lie; 2] = [
        |line, status, body| {
            if is_list(line) { (200, serde_json::json!({"data": [], "total": 0})) } else { (status, body) }
        },
        |line, status, body| {
            if by_id(line) {
                (404, serde_json::json!({"error": "Not Found", "message": "no"}))
            } else {
                (status, body)
            }
        },
    ];
    for lie in lies {
        liar.tell(lie);
        let run = liar.run(&case, "plan");
        run.says(&["No changes"]);
        liar.run(&case, "apply --yes");
    }
    assert_eq!(case.cloud().mutations_since(seq), Vec::<String>::new());
    liar.tell(truth);
    liar.run(&case, "plan --exit-code").says(&["No changes"]);
}

/// An id that returns another object's record: only the object that stead created may be deleted.
#[test]
fn an_object_with_another_creation_time_is_not_deleted() {
    let (case, liar) = stand();
    let (before, seq) = (ids(&case), case.cloud().last());
    case.edit("stead.yaml", "  a: { cidr: 10.1.0.0/16 }\n", "");
    liar.tell(|line, status, mut body| {
        if by_id(line) {
            body["data"]["created_at"] = "2001-01-01T00:00:00Z".into();
        }
        (status, body)
    });
    let run = liar.run(&case, "apply --yes");
    assert_ne!(run.code, 0, "{}", run.all());
    assert_eq!(ids(&case), before);
    let deletes: Vec<_> =
        case.cloud().mutations_since(seq).into_iter().filter(|line| line.starts_with("DELETE")).collect();
    assert_eq!(deletes, Vec::<String>::new());
    liar.tell(truth);
    assert_eq!(liar.run(&case, "apply --yes").code, 0);
    assert_eq!(ids(&case).len(), before.len() - 1);
}

/// A missing file or a wrong environment would delete most of the stack.
#[test]
fn a_missing_file_or_a_wrong_environment_hits_the_deletion_limit() {
    let (case, liar) = stand();
    let (before, seq) = (ids(&case), case.cloud().last());
    for gone in
        ["  b: { cidr: 10.2.0.0/16 }\n", "  c: { cidr: 10.3.0.0/16 }\n", "  d: { cidr: 10.4.0.0/16 }\n"]
    {
        case.edit("stead.yaml", gone, "");
    }
    let run = liar.run(&case, "apply --yes");
    assert_eq!(run.code, 4, "{}", run.all());
    run.says(&["deletion_budget", "--allow-deletes"]);
    assert_eq!((ids(&case), case.cloud().mutations_since(seq)), (before, vec![]));
}

/// Foreign objects in every response: none of them is changed or deleted.
#[test]
fn foreign_objects_in_responses_are_never_changed_or_deleted() {
    let (case, liar) = stand();
    let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGtD1m0Jt1pXcVb1cYc0oY2uJ4s8Zb3vQfV8sF3kXq5M x@y";
    let stranger = case.cloud().control(
        "POST",
        "/api/v1/ssh-keys",
        &serde_json::json!({"name": "theirs", "public_key": key}),
    );
    let stranger = stranger["data"]["id"].as_str().unwrap().to_owned();
    let run = liar.run(&case, "destroy --yes --confirm shop");
    assert_eq!(run.code, 0, "{}", run.all());
    let left = case.cloud().list("/api/v1/ssh-keys");
    assert_eq!(left.iter().map(|key| key["id"].as_str().unwrap()).collect::<Vec<_>>(), [stranger]);
}
