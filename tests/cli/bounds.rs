//! Bounds on memory and processor time, whatever a stack or the service sends: the system kills a run that exceeds
//! them.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests drive real processes")]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;

use crate::case::{Case, Run, STEAD};

/// Kilobytes of address space that a run may have; its code and stacks are included.
const MEMORY: usize = 1 << 20;

/// Seconds of processor time. Wall clock time would depend on the load of the machine.
const WORK: usize = 60;

/// Runs the binary under the bounds.
fn bounded(case: &Case, args: &str, service: Option<&str>) -> Run {
    let plain = case.command("");
    let script = format!("ulimit -v {MEMORY} && ulimit -t {WORK} && exec {STEAD} {args}");
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(case.path(""));
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    if let Some(service) = service {
        command.env("STEAD_API_URL", service).env("STEAD_API_KEY", "key");
    }
    Run::of(&command.output().unwrap())
}

/// Stacks of a few lines that expand to a billion values, nest deeply, or exceed a limit, by name.
fn bombs() -> Vec<(&'static str, String)> {
    let mut aliases = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..12 {
        let last = n - 1;
        let line = format!("a{n}: &a{n} [{}]\n", vec![format!("*a{last}"); 10].join(", "));
        aliases.push_str(&line);
    }
    let deep = 100_000;
    vec![
        ("stead.yaml", aliases),
        ("stead.yaml", "- ".repeat(deep)),
        ("stead.yaml", format!("stead: {}1{}\n", "[".repeat(deep), "]".repeat(deep))),
        ("stead.yaml", format!("stead: {}1{}\n", "{a: ".repeat(deep), "}".repeat(deep))),
        ("stead.yaml", (0..2_000).map(|n| " ".repeat(n) + "a:\n").collect()),
        (
            "stead.yaml",
            format!(
                "stead: 1\nstack: s\nlocals: {{ a: \"${{{}1{}}}\" }}\n",
                "(".repeat(deep),
                ")".repeat(deep)
            ),
        ),
        ("stead.yaml", format!("stead: 1\nstack: s\nlocals: {{ a: \"${{1{}}}\" }}\n", " + 1".repeat(deep))),
        ("stead.yaml", "x: y\n".repeat(5_000_000)),
        ("stead.yaml", "a".repeat(20_000_000)),
        ("stead.kdl", format!("{}{}\n", "a {".repeat(deep), "}".repeat(deep))),
        ("stead.kdl", "a ".repeat(10_000_000)),
        ("stead.kdl", format!("a {}x{}\n", "/*".repeat(deep), "*/".repeat(deep))),
    ]
}

#[test]
fn no_stack_exceeds_the_time_and_memory_limits() {
    for (number, (file, text)) in bombs().into_iter().enumerate() {
        let case = Case::new().file(file, text);
        let run = bounded(&case, "validate", None);
        assert_eq!(run.code, 1, "bomb {number}: {}", run.stderr.chars().take(2_000).collect::<String>());
        assert!(run.all().len() < 100_000, "bomb {number} is told at length: {}", run.all().len());
    }
}

/// A bit stream as deflate packs it, least significant bit first.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    held: u32,
    count: u32,
}

impl Bits {
    fn put(&mut self, value: u32, width: u32) {
        self.held |= value << self.count;
        self.count += width;
        while self.count >= 8 {
            self.bytes.push(self.held.to_le_bytes()[0]);
            self.held >>= 8;
            self.count -= 8;
        }
    }
}

/// Returns a gzip file of `spaces` blanks, 258 of them in 13 bits (fixed Huffman codes).
fn squeezed(spaces: usize) -> Vec<u8> {
    let mut bits = Bits::default();
    // The last block, in the fixed code; a space; then copies of what stands one place before.
    bits.put(0b011, 3);
    bits.put((0x30 + 0x20_u32).reverse_bits() >> 24, 8);
    for _ in 0..spaces / 258 {
        bits.put(0b1100_0101_u32.reverse_bits() >> 24, 8);
        bits.put(0, 5);
    }
    bits.put(0, 7);
    bits.put(0, 8);
    let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    file.append(&mut bits.bytes);
    file
}

/// Starts a server that answers every request with the same response; returns its URL.
fn service(head: &'static str, body: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, body) = (stream.unwrap(), body.clone());
            std::thread::spawn(move || {
                let mut asked = [0; 16_384];
                while stream.read(&mut asked).is_ok_and(|count| count > 0) {
                    let head = format!("HTTP/1.1 200 OK\r\n{head}content-length: {}\r\n\r\n", body.len());
                    if stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body)).is_err() {
                        return;
                    }
                }
            });
        }
    });
    url
}

#[test]
fn no_response_exceeds_the_time_and_memory_limits() {
    let deep = 1_000_000;
    let rows =
        |row: &str, count| format!("{{\"data\":[{}],\"total\":{count}}}", vec![row; count].join(","));
    let answers = [
        ("content-encoding: gzip\r\n", squeezed(256 << 20)),
        ("", vec![b' '; 32 << 20]),
        ("", format!("{{\"data\":{}{}}}", "[".repeat(deep), "]".repeat(deep)).into_bytes()),
        ("", format!("{{\"data\":{}1{}}}", "{\"a\":".repeat(deep), "}".repeat(deep)).into_bytes()),
        ("", format!("{{\"data\":[{{\"id\":1{}}}]}}", "0".repeat(1_000_000)).into_bytes()),
        // The same page, whichever was asked for.
        ("", rows("{\"id\":\"a\",\"name\":\"b\"}", 100_000).into_bytes()),
    ];
    let stack = "stead: 1\nstack: s\nvpc: { main: { cidr: 10.0.0.0/16 } }\n";
    // At once: each waits between the times that it tries.
    std::thread::scope(|scope| {
        for (number, (head, body)) in answers.into_iter().enumerate() {
            scope.spawn(move || {
                let case = Case::new().file("stead.yaml", stack);
                let url = service(head, body);
                let run = bounded(&case, "plan", Some(&url));
                assert!((1..=10).contains(&run.code), "answer {number}: {}: {}", run.code, run.all());
                assert!(run.all().len() < 10_000, "answer {number} is told at length");
            });
        }
    });
}

/// Checks the encoder above: with invalid gzip the test would not reach the limit.
#[test]
fn the_gzip_encoder_of_the_test_writes_valid_gzip() {
    use std::process::Stdio;
    let mut gzip = Command::new("gzip");
    gzip.arg("-dc").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = gzip.spawn().unwrap();
    child.stdin.take().unwrap().write_all(&squeezed(2_580)).unwrap();
    let out = child.wait_with_output().unwrap().stdout;
    assert!(out.len() == 2_581 && out.iter().all(|byte| *byte == b' '), "{} bytes", out.len());
}
