//! Figures against a running emulator: a plan of many live objects, an apply under the limiter, and
//! the emulator's own speed.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::figure;
use super::stacks::{self, STEAD};
use super::time::run;

/// A running `stead emulator`.
pub struct Emulator {
    child: Child,
    pub url: String,
    pub key: String,
}

impl Emulator {
    /// Starts one with its data in a directory.
    pub fn start(data: &Path, flags: &[&str]) -> Self {
        Self::start_with(&mut Command::new(STEAD), data, flags)
    }

    fn start_with(command: &mut Command, data: &Path, flags: &[&str]) -> Self {
        let mut child = command
            .args(["emulator", "--port", "0", "--output", "json", "--data"])
            .arg(data)
            .args(flags)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let text = |name: &str| said[name].as_str().unwrap().to_owned();
        Self { child, url: text("url"), key: text("api_key") }
    }

    /// What a `stead` process needs to find it.
    pub fn environment(&self) -> [(&'static str, String); 2] {
        [("STEAD_API_URL", self.url.clone()), ("STEAD_API_KEY", self.key.clone())]
    }

    /// Sends a request and returns its JSON.
    pub fn request(&self, method: &str, path: &str, body: &Value) -> Value {
        let mut stream = TcpStream::connect(self.url.strip_prefix("http://").unwrap()).unwrap();
        let body = if body.is_null() { String::new() } else { body.to_string() };
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.key,
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 2"), "{head}\n{body}");
        serde_json::from_str(body).unwrap()
    }

    /// `(requests, 429 answers, requests that could change something)` after a number.
    pub fn since(&self, seq: u64) -> (usize, usize, usize, u64) {
        let (mut all, mut limited, mut changing, mut last) = (0, 0, 0, seq);
        loop {
            let log = self.request("GET", &format!("/_emulator/requests?since={last}"), &Value::Null);
            let rows = log["data"]["requests"].as_array().unwrap();
            let Some(end) = rows.last() else { return (all, limited, changing, last) };
            all += rows.len();
            limited += rows.iter().filter(|row| row["status"] == 429).count();
            changing += rows.iter().filter(|row| row["method"] != "GET").count();
            last = end["seq"].as_u64().unwrap();
        }
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// A plan without a change over 1,000 live objects, limiter on, 40 ms of latency.
pub fn plan_live() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("stead.yaml"), stacks::listed_yaml(1_000)).unwrap();
    let cloud = Emulator::start(&directory.path().join("cloud"), &["--speed", "1000"]);
    run(STEAD, &["apply", "--yes", "-q"], directory.path(), &cloud.environment());
    let faults = json!({ "rules": ["*=delay-40ms"] });
    cloud.request("POST", "/_emulator/faults", &faults);
    let mut walls = vec![];
    let (mut requests, mut limited) = (0, 0);
    for _ in 0..5 {
        // The service's burst budget is whole again a minute after its first request.
        std::thread::sleep(Duration::from_secs(2));
        let (_, _, _, before) = cloud.since(0);
        walls.push(run(STEAD, &["plan", "--exit-code"], directory.path(), &cloud.environment()).wall);
        let (sent, refused, changing, _) = cloud.since(before);
        assert_eq!(changing, 0, "a plan only reads");
        requests = requests.max(sent);
        limited += refused;
    }
    walls.sort_by(f64::total_cmp);
    figure("no-change plan, 1,000 objects: requests", &requests.to_string(), "<= 15");
    figure("no-change plan, 1,000 objects: seconds, median of 5", &format!("{:.2}", walls[2]), "< 1");
    figure("no-change plan, 1,000 objects: 429 answers", &limited.to_string(), "0");
}

/// An apply of 300 objects under the limiter, over the least time that any client needs.
pub fn apply() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("stead.yaml"), stacks::yaml(300)).unwrap();
    let cloud = Emulator::start(&directory.path().join("cloud"), &["--speed", "20"]);
    let plan = Command::new(STEAD)
        .args(["plan", "--output", "json"])
        .current_dir(directory.path())
        .envs(cloud.environment())
        .output()
        .unwrap();
    let plan: Value = serde_json::from_slice(&plan.stdout).unwrap();
    let path = plan["critical_path"]["seconds"].as_f64().unwrap() / 20.0;
    // A fresh window: the plan above spent from the same budget.
    std::thread::sleep(Duration::from_secs(61));
    let (_, _, _, before) = cloud.since(0);
    let wall = run(STEAD, &["apply", "--yes", "-q"], directory.path(), &cloud.environment()).wall;
    let (sent, refused, changing, _) = cloud.since(before);
    let floor = |requests: usize| {
        let mut seconds = 0_usize;
        while 30 * (seconds + 1) + 60 * (seconds / 60 + 1) < requests {
            seconds += 1;
        }
        seconds as f64
    };
    let bound = path.max(floor(changing));
    figure("apply of 300: seconds", &format!("{wall:.1}"), "");
    figure(
        "apply of 300: requests, of these changing, 429s",
        &format!("{sent}, {changing}, {refused}"),
        "",
    );
    let rate = path.max(changing as f64 / 30.0);
    figure("apply of 300: over max(path, changing / 30)", &format!("{:.2}", wall / rate), "<= 1.15");
    // Stricter: what the burst budget of a fresh minute lets through besides.
    figure(
        "apply of 300: over the burst's floor of all requests",
        &format!("{:.2}", wall / path.max(floor(sent))),
        "",
    );
    figure("apply of 300: over the burst's floor of changing ones", &format!("{:.2}", wall / bound), "");
}

/// How many requests a second the emulator answers on one core.
pub fn emulator() {
    let directory = tempfile::tempdir().unwrap();
    let mut pinned = Command::new("taskset");
    pinned.args(["-c", "0", STEAD]);
    let cloud = Emulator::start_with(
        &mut pinned,
        &directory.path().join("cloud"),
        &["--seed", "objects=2000", "--no-limiter"],
    );
    let list = json!(null);
    let vms = cloud.request("GET", "/api/v1/vms?limit=1", &list);
    let id = vms["data"][0]["id"].as_str().unwrap().to_owned();
    for (what, path) in [
        ("GET one VM", format!("/api/v1/vms/{id}")),
        ("GET a page of 20 VMs", "/api/v1/vms?limit=20".to_owned()),
    ] {
        let rate = rate(&cloud, &path);
        figure(
            &format!("emulator on one core: {what}, requests a second"),
            &format!("{rate:.0}"),
            ">= 5,000",
        );
    }
}

/// Requests a second over one kept-alive connection, 16 requests in flight, from another core.
fn rate(cloud: &Emulator, path: &str) -> f64 {
    const IN_FLIGHT: usize = 16;
    const ROUNDS: usize = 1_000;
    let mut stream = TcpStream::connect(cloud.url.strip_prefix("http://").unwrap()).unwrap();
    stream.set_nodelay(true).unwrap();
    let one = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {}\r\n\r\n", cloud.key);
    let batch = one.repeat(IN_FLIGHT);
    let mut reader = BufReader::with_capacity(1 << 20, stream.try_clone().unwrap());
    let start = Instant::now();
    for _ in 0..ROUNDS {
        stream.write_all(batch.as_bytes()).unwrap();
        for _ in 0..IN_FLIGHT {
            answer(&mut reader);
        }
    }
    (IN_FLIGHT * ROUNDS) as f64 / start.elapsed().as_secs_f64()
}

fn answer(reader: &mut BufReader<TcpStream>) {
    let mut length = 0;
    let mut line = String::new();
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        if line == "\r\n" {
            break;
        }
        assert!(!line.starts_with("HTTP/1.1") || line.starts_with("HTTP/1.1 200"), "{line}");
        if let Some((_, value)) = line.to_ascii_lowercase().split_once("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    std::io::copy(&mut reader.take(length), &mut std::io::sink()).unwrap();
}
