//! The service of a scenario: an emulator process, and queries of its live objects over TCP.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// The binary under test.
pub const STEAD: &str = env!("CARGO_BIN_EXE_stead");

/// Collections that contain the stack's objects, and their kinds.
pub const COLLECTIONS: [(&str, &str); 4] =
    [("volumes", "volume"), ("vpcs", "vpc"), ("vms", "vm"), ("ssh-keys", "ssh_key")];

/// An emulator process; dropping it ends the process.
pub struct Served {
    child: Child,
    pub url: String,
    pub key: String,
}

impl Served {
    pub fn start(data: &Path) -> Self {
        Self::start_at_speed(data, "20000")
    }

    /// Starts an emulator whose clock runs faster than real time by a factor.
    pub fn start_at_speed(data: &Path, speed: &str) -> Self {
        let mut child = Command::new(STEAD)
            .args([
                "emulator",
                "--port",
                "0",
                "--output",
                "json",
                "--no-limiter",
                "--speed",
                speed,
                "--data",
            ])
            .arg(data)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let text = |name: &str| said[name].as_str().unwrap().to_owned();
        Self { child, url: text("url"), key: text("api_key") }
    }

    /// Returns `kind/id` of every live object that is not being deleted, and the number of objects by collection.
    pub fn live(&self) -> (BTreeSet<String>, Vec<(&'static str, u64)>) {
        let mut all = BTreeSet::new();
        let mut counts = Vec::new();
        for (collection, kind) in COLLECTIONS {
            let page = self.get(&format!("/api/v1/{collection}?limit=100"));
            let rows = page["data"].as_array().unwrap();
            assert!(rows.len() < 100, "{collection}: more than a page");
            let here = rows.iter().filter(|row| row["status"] != "deleting" && row["status"] != "deleted");
            let ids: Vec<String> =
                here.map(|row| format!("{kind}/{}", row["id"].as_str().unwrap())).collect();
            counts.push((collection, ids.len() as u64));
            all.extend(ids);
        }
        (all, counts)
    }

    pub fn get(&self, path: &str) -> Value {
        let host = self.url.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nX-API-Key: {}\r\nConnection: close\r\n\r\n",
            self.key
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head}\n{body}");
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {body}"))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
