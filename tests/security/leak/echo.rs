//! `Echo`: a proxy between the command and the emulator, which repeats the request in its responses.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::case::Case;
use crate::forms::{base64, forms};

/// How the proxy changes responses.
#[derive(Debug, Clone, Default)]
pub enum Mode {
    /// The emulator's responses, unchanged.
    #[default]
    Truth,
    /// This status for every request whose body contains a canary; the response repeats the body in one form, in
    /// the named field.
    Refuse { status: u16, form: usize, field: &'static str },
    /// This status for every request, with these strings in every form.
    Quote { status: u16, texts: Vec<String> },
    /// The emulator's responses, with these strings in every field that is text for people.
    Inside(Vec<String>),
    /// The emulator's responses, with this string as the status of VMs, for the next `times` responses.
    Status { text: String, times: usize },
}

/// Beginning of every canary that a body may hold.
pub const CANARY: &str = "cnry";

/// Fields of responses that are text for people.
const TEXTS: &[&str] = &["message", "error", "text", "log", "output", "details", "line"];

/// A service that repeats what it is sent.
pub struct Echo {
    /// Base URL of the proxy.
    pub url: String,
    mode: Arc<Mutex<Mode>>,
    /// Number of request bodies that were repeated.
    pub repeated: Arc<Mutex<usize>>,
}

/// Returns the number of forms of `Mode::Refuse`.
pub fn count() -> usize {
    forms("a canary").len() + 1
}

impl Echo {
    pub fn before(case: &Case) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let service = case.cloud().url.strip_prefix("http://").unwrap().to_owned();
        let (mode, repeated) = (Arc::<Mutex<Mode>>::default(), Arc::<Mutex<usize>>::default());
        let (now, counted) = (mode.clone(), repeated.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, service) = (stream.unwrap(), service.clone());
                let (now, counted) = (now.clone(), counted.clone());
                std::thread::spawn(move || serve(stream, &service, &now, &counted));
            }
        });
        Self { url, mode, repeated }
    }

    pub fn set(&self, mode: Mode) {
        *self.mode.lock().unwrap() = mode;
    }
}

fn serve(mut stream: TcpStream, service: &str, mode: &Mutex<Mode>, repeated: &Mutex<usize>) {
    while let Some((head, body)) = message(&mut stream) {
        let now = mode.lock().unwrap().clone();
        let sent = String::from_utf8_lossy(&body).into_owned();
        let (status, answer) = match now {
            Mode::Refuse { status, form, field } if sent.contains(CANARY) => {
                *repeated.lock().unwrap() += 1;
                (status, refusal(form, field, &sent))
            }
            Mode::Quote { status, texts } => {
                let key = head.lines().find(|line| line.to_lowercase().starts_with("x-api-key"));
                let all = texts.iter().map(|text| quoted(text)).collect::<String>();
                let message = format!("{}{all}", key.unwrap_or_default());
                (status, json!({"error": "Conflict", "message": message, "reason": all, all.clone(): all}))
            }
            now => match forward(&head, &body, service) {
                Some((status, mut answer)) => {
                    if let Mode::Status { text, times } = &now
                        && head.starts_with("GET /api/v1/vms")
                        && answer.to_string().contains("\"status\"")
                    {
                        answer = with_status(answer, text);
                        let left = times - 1;
                        let next = Mode::Status { text: text.clone(), times: left };
                        *mode.lock().unwrap() = if left == 0 { Mode::Truth } else { next };
                    }
                    if let Mode::Inside(texts) = now {
                        fill(&mut answer, &texts.iter().map(|text| quoted(text)).collect::<String>());
                    }
                    (status, answer)
                }
                None => return,
            },
        };
        let answer = answer.to_string();
        let length = answer.len();
        let head = format!("HTTP/1.1 {status} X\r\nretry-after: 0\r\ncontent-length: {length}\r\n\r\n");
        if stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(answer.as_bytes())).is_err() {
            return;
        }
    }
}

/// Returns an error body that repeats a request body in one form.
fn refusal(form: usize, field: &str, sent: &str) -> Value {
    let all = forms(sent);
    // The last one is half of it.
    let text = all.get(form).map_or_else(
        || sent[sent.ceil_char_boundary(sent.len() / 2)..].to_owned(),
        |(_, bytes)| String::from_utf8_lossy(bytes).into_owned(),
    );
    let mut refusal = json!({"error": "Bad Request", "message": "user_data or env_vars is wrong"});
    match field {
        "details" => refusal["details"] = json!({"fields": {text.clone(): [text]}}),
        "key" => refusal[text] = json!(1),
        field => refusal[field] = json!(text),
    }
    refusal
}

/// Returns a string in every encoding, base64 with other bytes before and after it.
fn quoted(text: &str) -> String {
    let whole = forms(text).into_iter();
    let whole = whole.filter(|(name, _)| !name.starts_with("backwards") && !name.starts_with("base64"));
    let mut all = String::new();
    for (_, bytes) in whole {
        all.extend([" [", &String::from_utf8_lossy(&bytes), "]"]);
    }
    for before in ["", "a", "ab"] {
        let coded = base64(format!("{before}{text}...").as_bytes());
        all.extend([" [", &coded, "] [", &coded.replace('+', "-").replace('/', "_"), "]"]);
    }
    all
}

fn with_status(mut json: Value, status: &str) -> Value {
    match &mut json {
        Value::Array(items) => items.iter_mut().for_each(|item| *item = with_status(item.take(), status)),
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                *value = if key == "status" { json!(status) } else { with_status(value.take(), status) };
            }
        }
        _ => {}
    }
    json
}

fn fill(json: &mut Value, text: &str) {
    match json {
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, text)),
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                if TEXTS.contains(&key.as_str()) && (value.is_string() || value.is_null()) {
                    *value = json!(text);
                } else {
                    fill(value, text);
                }
            }
        }
        _ => {}
    }
}

fn forward(head: &str, body: &[u8], service: &str) -> Option<(u16, Value)> {
    let mut behind = TcpStream::connect(service).ok()?;
    behind.write_all(head.as_bytes()).and_then(|()| behind.write_all(body)).ok()?;
    let (answer, body) = message(&mut behind)?;
    let status = answer.split(' ').nth(1)?.parse().ok()?;
    Some((status, serde_json::from_slice(&body).unwrap_or(Value::Null)))
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
