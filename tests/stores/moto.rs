//! A real S3 server: moto, one for all tests of the binary.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use crate::wire::{self, Request};

/// What it says before it can be used.
const MISSING: &str = "moto is missing: pip install 'moto[server]' (python3 must find it)";

/// Returns the address of moto, which is started for the first who asks. It ends with this process, who
/// holds the other end of its standard input.
pub fn address() -> &'static str {
    static MOTO: OnceLock<(Child, String)> = OnceLock::new();
    let start = || {
        let mut child = Command::new("python3")
            .args(["-c", include_str!("moto.py")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect(MISSING);
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        assert!(!port.trim().is_empty(), "{MISSING}");
        (child, format!("http://127.0.0.1:{}", port.trim()))
    };
    &MOTO.get_or_init(start).1
}

/// Makes a bucket.
pub fn bucket(name: &str) {
    let host = address().trim_start_matches("http://").to_owned();
    let authorization = "AWS4-HMAC-SHA256 Credential=test/20261121/us-east-1/s3/aws4_request".to_owned();
    let headers = vec![("host".to_owned(), host), ("authorization".to_owned(), authorization)];
    let request =
        Request { method: "PUT".to_owned(), target: format!("/{name}"), headers, body: Vec::new() };
    let answer = wire::forward(address(), &request);
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
}
